"""The noisy-or in log space: from likelihoods to evidence.

Evidence e = −log(1 − δ) adds up over independent views, so nothing is ever rounded to 1.

The paper's form: with v = λ + (1 − λ)(1 − ω) a view contributes −log(1 − γ v), and
log(1 − v) = log(1 − λ) + log ω.

Our form: before looking, the odds that a value is wrong are taken as a : 1; a wrong value can be anything, a
right one is as likely as ω says. The view contributes −log of the chance, after looking, that it is right:
log(1 + a (1/ω − 1)). Small oddities, which everybody has, hardly count, and large ones have no bound. A value is
judged by its leaf and by the whole table, and the stronger of the two speaks. An anomalous context adds
−log(1 − λ), at most 1.
"""

from __future__ import annotations

from functools import lru_cache
from math import expm1, log1p
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from admercs._compile import kernel

# The most that a context alone can add: association must not drown what a row itself shows.
MAX_BLAME = 1.0
# Of the polynomial for everyday evidence; odd, see `odds_evidence`.
DEGREE = 13


class Weighing(NamedTuple):
    """How likelihoods become evidence."""

    gamma: float  # the paper's γ_δ; not used with odds
    odds: float  # our prior odds; 0 for the paper's form

    @property
    def needs_likelihood(self) -> bool:
        """Whether what a context adds to a row depends on how likely the row's value is there."""
        return self.odds == 0.0

    @property
    def series(self) -> tuple[float, ...]:
        """The evidence of values that are not odd, see `odds_series`."""
        return odds_series(self.odds)


@lru_cache(maxsize=8)
def odds_series(odds: float) -> tuple[float, ...]:
    """Return our evidence of ω ≥ 1/e as a polynomial: log(1 + a (1/ω − 1)) = u q(2 u − 1) with u = −log ω.

    Most values are in this range, and the logarithm of an exponential takes much longer. The polynomial is
    precise to some 1e-15. Its coefficients come with the highest power first.
    """

    def quotient(t: float) -> float:
        u = (t + 1) / 2
        return log1p(odds * expm1(u)) / u

    powers = chebyshev.cheb2poly(chebyshev.chebinterpolate(np.vectorize(quotient), DEGREE))
    powers = np.append(
        powers, np.zeros(DEGREE + 1 - len(powers))
    )  # highest ones that vanish are left out
    return tuple(float(c) for c in powers[::-1])


@kernel
def view_evidence(log_not_v, gamma):  # type: ignore[no-untyped-def]
    """Return −log(1 − γ v) from log(1 − v); never less than 0.

    log1p and expm1 keep full precision at both ends: v near 0 and v near 1. Most values are typical (v = 0)
    and cost nothing.
    """
    if log_not_v == 0.0:
        return 0.0
    if gamma == 1.0:
        return max(0.0, -log_not_v)
    return max(0.0, -np.log1p(gamma * np.expm1(log_not_v)))


@kernel
def odds_evidence(log_omega, odds, series):  # type: ignore[no-untyped-def]
    """Return log(1 + a (1/ω − 1)) from log ω; `series` is that of `odds_series`."""
    if log_omega < -1.0:
        return np.log((1.0 - odds) + odds * np.exp(-log_omega))
    t = -2.0 * log_omega - 1.0
    odd, even = 0.0, 0.0  # two sums at the same time
    for k in range(0, len(series), 2):
        odd = odd * (t * t) + series[k]
        even = even * (t * t) + series[k + 1]
    return (0.0 - log_omega) * (odd * t + even)


@kernel
def weigh_value(  # type: ignore[no-untyped-def]
    log_omega, log_omega_root, log_not_lambda, is_marginal, gamma, odds, series
):
    """Return the evidence of one value: from its pattern, its context and the whole table."""
    if odds > 0.0:
        context = min(MAX_BLAME, -log_not_lambda)
        # The less likely view has the stronger evidence; which one that is cannot be predicted.
        by_leaf = is_marginal or log_omega <= log_omega_root
        evidence = odds_evidence(log_omega if by_leaf else log_omega_root, odds, series)
        return evidence if by_leaf else 0.0, context, 0.0 if by_leaf else evidence
    context = view_evidence(log_not_lambda, gamma)
    both = view_evidence(log_not_lambda + log_omega, gamma)
    return both - context, context, 0.0


@kernel
def weigh_views(  # type: ignore[no-untyped-def]
    leaf,
    log_omega,
    log_omega_root,
    log_not_lambda,
    is_marginal,
    gamma,
    odds,
    series,
    pattern,
    context,
    marginal,
):
    """Turn the likelihoods of a block into evidence, split by where it comes from.

    Parameters
    ----------
    leaf, log_omega, log_omega_root : arrays, columns x rows
        The leaf of each row in each tree, and how likely its value is there and in the whole table.
    log_not_lambda : array, one per node
        log(1 − λ) of each leaf.
    is_marginal : array of bool, one per node
        Leaves that are judged by the whole table anyway.
    gamma, odds, series
        See `Weighing`.
    pattern, context, marginal : arrays, columns x rows
        Receive the evidence from a broken pattern, an anomalous context and the whole table.
    """
    n_columns, n_rows = leaf.shape
    for m in range(n_columns):
        for i in range(n_rows):
            node = leaf[m, i]
            pattern[m, i], context[m, i], marginal[m, i] = weigh_value(
                log_omega[m, i],
                log_omega_root[m, i],
                log_not_lambda[node],
                is_marginal[node],
                gamma,
                odds,
                series,
            )


@kernel
def weigh_cells(  # type: ignore[no-untyped-def]
    leaf,
    log_omega,
    log_omega_root,
    log_not_lambda,
    is_marginal,
    gamma,
    odds,
    series,
    position,
    cells,
):
    """Write the evidence of each attribute for each row of a block: rows x columns of the table.

    `position` is the place of each attribute in the table. The parameters are those of `weigh_views`.
    """
    n_columns, n_rows = leaf.shape
    for m in range(n_columns):
        for i in range(n_rows):
            node = leaf[m, i]
            pattern, context, marginal = weigh_value(
                log_omega[m, i],
                log_omega_root[m, i],
                log_not_lambda[node],
                is_marginal[node],
                gamma,
                odds,
                series,
            )
            cells[i, position[m]] = pattern + context + marginal


@kernel
def add_blame(log_omega, log_not_lambda, gamma, odds, rows, evidence):  # type: ignore[no-untyped-def]
    """Add to the rows of one leaf what its λ adds to their view of it."""
    for k in range(len(rows)):
        if odds > 0.0:
            evidence[rows[k]] += min(MAX_BLAME, -log_not_lambda)
        else:
            before = view_evidence(log_omega[k], gamma)
            evidence[rows[k]] += view_evidence(log_not_lambda + log_omega[k], gamma) - before


def log_complement(log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(1 − p) from log p.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_complement(np.log([0.25, 0.5]))).round(6)
    array([0.75, 0.5 ])
    """
    # Near p = 1 the difference is in expm1, near p = 0 in log1p.
    with np.errstate(divide="ignore"):
        near_one = np.log(-np.expm1(log_p))
        return np.where(log_p > -0.5, near_one, np.log1p(-np.exp(log_p)))
