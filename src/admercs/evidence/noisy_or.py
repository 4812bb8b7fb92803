"""The noisy-or in log space: from likelihoods to evidence.

Evidence e = −log(1 − δ) adds up over independent views, so nothing is ever rounded to 1.

The paper's form: with v = λ + (1 − λ)(1 − ω) a view contributes −log(1 − γ v), and
log(1 − v) = log(1 − λ) + log ω.

Our form: before looking, the odds that a value is wrong are taken as a : 1; a wrong value can be anything, a
right one is as likely as ω says. The view contributes −log of the chance, after looking, that it is right:
log(1 + a (1/ω − 1)). Small oddities, which everybody has, hardly count, and large ones have no bound. A value is
judged by its leaf, perhaps by a wider context, and by the whole table, and the strongest of them speaks. An
anomalous context adds −log(1 − λ), at most 1.
"""

from __future__ import annotations

import math
from functools import lru_cache
from math import expm1, log1p
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from admercs._compile import kernel

# The most that a context alone can add: association must not drown what a row itself shows.
MAX_BLAME = 1.0
# What a wider context says counts with so much of the odds: the leaf may be right to differ from it.
WIDER_ODDS = 0.5
# Of the polynomial for everyday evidence; odd, as two sums run at the same time.
DEGREE = 13
# Rows weighed together: what is written down of all their columns stays in the cache.
TOGETHER = 256


class Weighing(NamedTuple):
    """How likelihoods become evidence."""

    gamma: float  # the paper's γ_δ; not used with odds
    odds: float  # our prior odds; 0 for the paper's form

    @property
    def needs_likelihood(self) -> bool:
        """Whether what a context adds to a row depends on how likely the row's value is there."""
        return self.odds == 0.0

    @property
    def series(self) -> NDArray[np.float64]:
        """The evidence of values that are not odd, see `odds_series`."""
        return odds_series(self.odds)


@lru_cache(maxsize=8)
def odds_series(odds: float) -> NDArray[np.float64]:
    """Return our evidence of ω ≥ 1/e as a polynomial: log(1 + a (1/ω − 1)) = u q(2 u − 1) with u = −log ω.

    Most values are in this range, and the logarithm of an exponential takes much longer. The polynomial is
    precise to some 1e-15. Its coefficients come with the highest power first.
    """

    def quotient(t: float) -> float:
        u = (t + 1) / 2
        return log1p(odds * expm1(u)) / u

    powers = chebyshev.cheb2poly(chebyshev.chebinterpolate(np.vectorize(quotient), DEGREE))
    series = np.zeros(DEGREE + 1)  # highest ones that vanish are left out
    series[-len(powers) :] = powers[::-1]
    return series


def discount(log_omega: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log ω that a leaf would need to say as much as a wider context with this log ω.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(discount(np.log([1.0, 0.1]))).round(3)
    array([1.   , 0.182])
    """
    return -np.log1p(WIDER_ODDS * np.expm1(-log_omega))


def undiscount(log_omega: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what `discount` was given.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(undiscount(discount(np.log([1.0, 0.1])))).round(9)
    array([1. , 0.1])
    """
    return -np.log1p(np.expm1(-log_omega) / WIDER_ODDS)


def view_evidence(log_not_v: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """Return −log(1 − γ v) from log(1 − v); never less than 0.

    log1p and expm1 keep full precision at both ends: v near 0 and v near 1.
    """
    evidence = -log_not_v if gamma == 1.0 else -np.log1p(gamma * np.expm1(log_not_v))
    return np.maximum(0.0, evidence)


@kernel
def _weigh(  # type: ignore[no-untyped-def]
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
    parts,
):
    """Write the evidence of each value and of its context to `parts`; if that is empty, the sum to `cells`.

    One long function: small ones would each be compiled twice, on their own and as part of this one.
    """
    n_columns, n_rows = leaf.shape
    for tile in range(n_columns * -(-n_rows // TOGETHER)):
        m = np.uint64(tile % n_columns)
        start = tile // n_columns * TOGETHER
        # Unsigned indices: for signed ones numba asks each time whether they count from the end.
        for i in range(np.uint64(start), np.uint64(min(start + TOGETHER, n_rows))):
            node = np.uint64(leaf[m, i])
            view = log_omega[m, i]
            if odds > 0.0:
                context = min(MAX_BLAME, -log_not_lambda[node])
                # The less likely view has the stronger evidence; which one that is cannot be predicted.
                if not is_marginal[node]:
                    view = min(view, log_omega_root[m, i])
                if view < -1.0:
                    evidence = math.log((1.0 - odds) + odds * math.exp(-view))
                else:
                    t = -2.0 * view - 1.0
                    odd = 0.0  # two sums at the same time
                    even = 0.0
                    for k in range(0, DEGREE, 2):
                        odd = odd * (t * t) + series[k]
                        even = even * (t * t) + series[k + 1]
                    evidence = (0.0 - view) * (odd * t + even)
            else:
                # What `view_evidence` says of the context alone, and with the value.
                context = 0.0
                both = 0.0
                for log_not_v in (log_not_lambda[node], log_not_lambda[node] + view):
                    context = both
                    both = 0.0
                    if log_not_v != 0.0:  # most values are typical and cost nothing
                        both = (
                            -log_not_v
                            if gamma == 1.0
                            else -math.log1p(gamma * math.expm1(log_not_v))
                        )
                        both = max(0.0, both)
                evidence = both - context
            if len(parts) == 0:
                cells[i, position[m]] = evidence + context
            else:
                parts[0, m, i] = evidence
                parts[1, m, i] = context


def weigh_views(
    leaf: NDArray[np.int32],
    log_omega: NDArray[np.float64],
    log_omega_root: NDArray[np.float64],
    log_not_lambda: NDArray[np.float64],
    is_marginal: NDArray[np.bool_],
    weighing: Weighing,
) -> NDArray[np.float64]:
    """Turn the likelihoods of a block into evidence.

    Parameters
    ----------
    leaf, log_omega, log_omega_root : arrays, columns x rows
        The leaf of each row in each tree, and how likely its value is by contexts and in the whole table.
    log_not_lambda : array, one per node
        log(1 − λ) of each leaf.
    is_marginal : array of bool, one per node
        Leaves that are judged by the whole table anyway.
    weighing : Weighing

    Returns
    -------
    array of 2 x columns x rows
        The evidence from the value and from an anomalous context.
    """
    parts = np.empty((2, *leaf.shape))
    _weigh(
        leaf, log_omega, log_omega_root, log_not_lambda, is_marginal, *weighing, weighing.series,
        np.empty(0, np.int64), np.empty((0, 0)), parts,
    )  # fmt: skip
    return parts


def weigh_cells(
    leaf: NDArray[np.int32],
    log_omega: NDArray[np.float64],
    log_omega_root: NDArray[np.float64],
    log_not_lambda: NDArray[np.float64],
    is_marginal: NDArray[np.bool_],
    weighing: Weighing,
    position: NDArray[np.int64],
    cells: NDArray[np.float64],
) -> None:
    """Write the evidence of each attribute for each row of a block: rows x columns of the table.

    `position` is the place of each attribute in the table. The parameters are those of `weigh_views`.
    """
    _weigh(
        np.ascontiguousarray(leaf), log_omega, log_omega_root, log_not_lambda, is_marginal, *weighing,
        weighing.series, position, cells, np.empty((0, 0, 0)),
    )  # fmt: skip


def add_blame(
    log_omega: NDArray[np.float64],
    log_not_lambda: float,
    weighing: Weighing,
    rows: NDArray[np.int64],
    evidence: NDArray[np.float64],
) -> None:
    """Add to the rows of one leaf what its λ adds to their view of it."""
    if weighing.odds > 0.0:
        evidence[rows] += min(MAX_BLAME, -log_not_lambda)
    else:
        with_lambda = view_evidence(log_not_lambda + log_omega, weighing.gamma)
        evidence[rows] += with_lambda - view_evidence(log_omega, weighing.gamma)


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
