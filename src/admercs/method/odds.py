"""Evidence: from likelihoods to terms that add up.

Evidence e = −log(1 − δ) adds up over independent views, so nothing is ever rounded to 1.

Our form: before looking, the odds that a value is wrong are a : 1; a wrong value can be anything,
a right one is as likely as ω says. A value contributes −log of the chance, after looking, that it
is right: log(1 + a (1/ω − 1)). Small oddities, which every row has, hardly count, and large ones
have no bound. Of the views of a value (leaf, ancestor, whole table) the least likely one counts.
Where there are many columns a is less, or the sum of small oddities would hide a large one.

A missing value is none of the values of its column. Where nearly all rows of its leaf, or of an
ancestor, have one, it is an error more often than a rare value is: there the odds are (b / ω)², at
least a and at most 1. Gaps that others explain, such as tests that are left out together, have the
usual odds. In a table with categories, a gap in a column of which less than half is missing has a
least evidence all the same: it is no value of the column, whatever explains it.

The paper's form (noisy-or): with v = λ + (1 − λ)(1 − ω) a view contributes −log(1 − γ_δ v), where
log(1 − v) = log(1 − λ) + log ω.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import expm1, log1p

import numpy as np
from numpy.polynomial import chebyshev

from admercs._compile import kernel
from admercs.arrays import Bools, Bytes, Floats, Ints
from admercs.method.settings import NoisyOr, Odds
from admercs.method.views import MARGINAL, RELATION, BlockViews

# Of the polynomial for everyday evidence; odd, as two sums run at the same time.
DEGREE = 13
MOST = 700.0  # no exponential of more is a number
TOGETHER = 1 << 15  # values that are weighed together: they stay in the cache


def pattern_evidence(views: BlockViews, has_marginal: Bools, evidence: Odds | NoisyOr) -> Floats:
    """Return the evidence of the values of a block (columns x rows).

    Where the whole table finds a value less likely, its view replaces that in ``log_omega``, and
    ``speaker`` says so. `has_marginal` says of each column whether the table's view is another one
    than the leaf's. The memory of ``marginal`` is used for the result: a new array of that size
    costs as much time as filling it.
    """
    log_omega = views.log_omega
    gaps = list(_gaps(views))
    for m in np.flatnonzero(has_marginal).tolist():
        # A relation that speaks has the largest mark, and has silenced the table. Masks are slower.
        lower = (views.marginal[m] < log_omega[m]).view(np.uint8)
        np.maximum(views.speaker[m], np.uint8(MARGINAL) * lower, out=views.speaker[m])
        np.minimum(log_omega[m], views.marginal[m], out=log_omega[m])
    if isinstance(evidence, NoisyOr):
        return noisy_or(log_omega, evidence.gamma_delta)
    flat, out, series = log_omega.ravel(), views.marginal.ravel(), odds_series(evidence.odds)
    for start in range(0, len(flat), TOGETHER):
        some, weighed = flat[start : start + TOGETHER], out[start : start + TOGETHER]
        _weigh_everyday(some, series, weighed)
        odd = np.flatnonzero(some < -1.0)
        weighed[odd] = np.log((1.0 - evidence.odds) + evidence.odds * np.exp(-some[odd]))
    for m, rows, own in gaps:
        rarity = np.expm1(np.minimum(-own, MOST))
        grown = np.minimum(evidence.missing * (rarity + 1.0), 1.0) ** 2
        unexplained = np.log1p(np.maximum(grown, evidence.odds) * rarity)
        # What is less likely in the whole table is told of that.
        views.marginal[m, rows] = np.maximum(views.marginal[m, rows], unexplained)
    return views.marginal


def weigh(log_omega: Floats, odds: float, out: Floats) -> None:
    """Write the evidence of likelihoods by some odds into `out`."""
    series = odds_series(odds)
    for start in range(0, len(log_omega), TOGETHER):
        some, weighed = log_omega[start : start + TOGETHER], out[start : start + TOGETHER]
        _weigh_everyday(some, series, weighed)
        odd = np.flatnonzero(some < -1.0)
        weighed[odd] = np.log((1.0 - odds) + odds * np.exp(-some[odd]))


def raise_gaps(pattern: Floats, views: BlockViews, least: float, missing: Floats) -> None:
    """Let gaps have a least evidence, in place, in columns of which less than half is missing.

    `missing` is the share of each column. What is told then is the view of the whole table; how
    likely a gap is stays what its context says, as others than its own row go by that.
    """
    for m in np.flatnonzero((missing > 0) & (missing < 0.5)).tolist():
        rows = np.flatnonzero(np.isnan(views.block[m]) & (pattern[m] < least))
        pattern[m, rows], views.speaker[m, rows] = least, MARGINAL


def plain_evidence(
    pattern: Floats, log_omega: Floats, speaker: Bytes, block: Floats, odds: Odds, usual: Odds
) -> Floats:
    """Return evidence of values that has the usual odds, in wide tables and for missing values.

    What is said of a group of rows, or of rows like another, follows from this evidence: what is
    missing is an error of one row, and small oddities that many rows share are no chance. What a
    relation says has odds of its own. `pattern` is returned as it is where nothing differs.
    """
    plain = pattern
    if odds != usual:
        plain = np.empty_like(pattern)
        weigh(log_omega.ravel(), usual.odds, plain.ravel())
        # Of the views of a cell only the strongest counts; the others have no evidence.
        np.copyto(plain, pattern, where=(pattern == 0) | (speaker == RELATION))
    row = np.flatnonzero(np.isnan(block).any(axis=0)) if usual.missing else np.empty(0, np.int64)
    if not len(row):
        return plain
    by_odds = np.log1p(usual.odds * np.expm1(np.minimum(-log_omega[:, row], MOST)))
    some = plain[:, row]
    plain = plain.copy()
    plain[:, row] = np.where(np.isnan(block[:, row]), np.minimum(some, by_odds), some)
    return plain


def _gaps(views: BlockViews) -> Iterator[tuple[int, Ints, Floats]]:
    """Yield the rows where a column is missing, and what their contexts say."""
    for m, column in enumerate(views.block):
        rows = np.flatnonzero(np.isnan(column))
        if len(rows):
            yield m, rows, views.log_omega[m, rows]


def noisy_or(log_not_v: Floats, gamma: float) -> Floats:
    """Return −log(1 − γ v) from log(1 − v); never less than 0.

    log1p and expm1 keep full precision at both ends: v near 0 and v near 1.
    """
    logs = log_not_v if gamma == 1.0 else np.log1p(gamma * np.expm1(log_not_v))
    # 0 − x is never −0: which of 0 and −0 is the larger one would depend on the block.
    return np.maximum(0.0, 0.0 - logs)


@lru_cache(maxsize=8)
def odds_series(odds: float) -> Floats:
    """Return our evidence of ω ≥ 1/e as a polynomial: u q(2 u − 1) with u = −log ω.

    Most values are in this range, and the logarithm of an exponential takes much longer. The
    polynomial is precise to some 1e-15. Its coefficients come with the highest power first.
    """

    def quotient(t: float) -> float:
        u = (t + 1) / 2
        return log1p(odds * expm1(u)) / u

    powers = chebyshev.cheb2poly(chebyshev.chebinterpolate(np.vectorize(quotient), DEGREE))
    series = np.zeros(DEGREE + 1)  # highest ones that vanish are left out
    series[-len(powers) :] = powers[::-1]
    return series


@kernel
def _weigh_everyday(log_omega, series, out):  # type: ignore[no-untyped-def]
    # Without any branch: vector instructions take several values at a time.
    for i in range(np.uint64(len(log_omega))):
        view = log_omega[i]
        t = -2.0 * view - 1.0
        odd = 0.0  # two sums at the same time
        even = 0.0
        for k in range(0, DEGREE, 2):
            odd = odd * (t * t) + series[k]
            even = even * (t * t) + series[k + 1]
        out[i] = (0.0 - view) * (odd * t + even)


def log_complement(log_p: Floats) -> Floats:
    """Return log(1 − p) from log p."""
    # Near p = 1 the difference is in expm1, near p = 0 in log1p.
    with np.errstate(divide="ignore"):
        near_one = np.log(-np.expm1(log_p))
        return np.where(log_p > -0.5, near_one, np.log1p(-np.exp(log_p)))
