"""Rows and contexts inform each other: the iteration that finds anomalous contexts.

A context's score λ is high only if nearly all its rows are anomalous; a row in such a context is guilty by
association. In all but a few leaves λ is so small that it changes nothing, so after the first round only the
rows of the few suspicious leaves are looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from admercs.evidence.noisy_or import Weighing, add_blame, log_complement
from admercs.evidence.rising import RisingQuantiles
from admercs.evidence.suspects import UNIT, Own, Yardstick, add_terms, find_guilt, find_yardstick
from admercs.trees.forest import Forest, Leaves, rows_within

# Below this log λ the factor 1 − λ is 1 in double precision: the context changes no score.
NEGLIGIBLE = -37.0
SMALLEST = -64.0
# Rows of one context are not independent witnesses: of a larger one only so many speak.
JURY_ROWS = 50

LeafLikelihood = Callable[[int, NDArray[np.int64]], NDArray[np.float64]]
# Per suspected leaf: its rows, and how likely their values are there (log ω).
Members = dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]]


class Feedback(NamedTuple):
    """The result of the iteration."""

    log_lambda: NDArray[np.float64]  # per node; −inf where negligible
    evidence: NDArray[np.float64]  # per row
    n_iter: int


def jury_share(feedback: str, n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return which share of its rows' innocence counts in the trial of contexts of n rows.

    The more rows a context has, the more ordinary ones are among them even if nearly all are anomalous, and in the
    paper's product each of them acquits.

    Examples
    --------
    >>> jury_share("relative", np.array([20, 100, 2000])), jury_share("paper", np.array([20, 2000]))
    (array([1.   , 0.5  , 0.025]), array([1., 1.]))
    """
    if feedback != "relative":
        return np.ones(len(n))
    return np.minimum(JURY_ROWS / np.maximum(n, 1), 1.0)


def innocence_terms(
    evidence: NDArray[np.float64], gamma_lambda: float, yardstick: Yardstick
) -> NDArray[np.int64]:
    """Return each row's term log(1 − γ_λ (1 − guilt)) of its contexts' log λ, in fixed point."""
    with np.errstate(divide="ignore"):
        terms = np.log1p(-gamma_lambda * np.exp(-find_guilt(evidence, yardstick)))
    return np.rint(np.maximum(terms, SMALLEST) * UNIT).astype(np.int64)


def own_sums(
    own: Own, evidence: NDArray[np.float64], gamma_lambda: float, yardstick: Yardstick
) -> NDArray[np.int64]:
    """Return for each narrow context the sum of its rows' terms, without what is set aside."""
    sums = [
        innocence_terms(left, gamma_lambda, measure).sum()
        for left, measure in (aside.left_of(evidence, yardstick) for aside in own.values())
    ]
    return np.array(sums, np.int64)


class Rows(Protocol):
    """The rows of a table as the iteration sees them: in memory as one piece, or as many pieces."""

    def quantile(self, level: float) -> float:
        """Return the least evidence that at least this share of the rows does not exceed."""
        ...

    def sums(self, gamma_lambda: float, yardstick: Yardstick) -> NDArray[np.int64]:
        """Return per node the sum of the `innocence_terms` of its rows."""
        ...

    def suspect(self, log_lambda: NDArray[np.float64]) -> None:
        """Compute the evidence anew, with these context scores."""
        ...


class Watched(NamedTuple):
    """The rows of a piece whose guilt matters: those in contexts that are tried."""

    rows: slice | NDArray[np.int64]
    leaves: Leaves | NDArray[np.int32] | list[NDArray[np.int32]]  # per tree that has such contexts


def watch(
    leaves: Leaves | NDArray[np.int32], n_rows: int, forest: Forest, tried: NDArray[np.bool_]
) -> Watched:
    """Find the rows of a piece that are in contexts that are tried."""
    if np.array_equal(tried, forest.feature < 0):
        return Watched(slice(None), leaves)
    rows, trees = rows_within(leaves, n_rows, forest.root, tried)
    return Watched(rows, [leaves[tree][rows] for tree in trees])


def change_terms(
    watched: Watched,
    evidence: NDArray[np.float64],
    terms: NDArray[np.int64],
    sums: NDArray[np.int64],
    gamma_lambda: float,
    yardstick: Yardstick,
) -> NDArray[np.int64]:
    """Return the terms of the watched rows of a piece; `sums` receives what changed since the last ones."""
    new_terms = innocence_terms(evidence[watched.rows], gamma_lambda, yardstick)
    changed = np.flatnonzero(new_terms != terms)
    change = (new_terms - terms)[changed]
    for tree in watched.leaves:
        add_terms(tree, changed, change, sums)
    return new_terms


def raise_evidence(
    base: NDArray[np.float64],
    members: Members,
    log_lambda: NDArray[np.float64],
    weighing: Weighing,
) -> NDArray[np.float64]:
    """Return the evidence of a piece's rows when its contexts are suspected that much."""
    evidence = base.copy()
    log_not_lambda = log_complement(log_lambda)
    for node in np.flatnonzero(log_lambda > -np.inf):
        rows, log_omega = members[int(node)]
        add_blame(log_omega, log_not_lambda[node], weighing, rows, evidence)
    return evidence


class RowsInMemory:
    """All rows of a table as one piece."""

    def __init__(
        self,
        base: NDArray[np.float64],
        leaves: Leaves | NDArray[np.int32],
        forest: Forest,
        leaf_likelihood: LeafLikelihood,
        weighing: Weighing,
        tried: NDArray[np.bool_],
        own: Own,
    ) -> None:
        self.evidence = base
        self._base = base
        self._leaves = leaves
        self._forest = forest
        self._leaf_likelihood = leaf_likelihood
        self._weighing = weighing
        self._own = own
        self._watched = watch(leaves, len(base), forest, tried)
        self._quantiles = RisingQuantiles(base, np.arange(len(base))[self._watched.rows])
        self._terms = np.zeros(len(base), np.int64)[self._watched.rows]
        self._sums = np.zeros(len(forest.feature), np.int64)
        self._members: Members = {}

    def quantile(self, level: float) -> float:
        """Return the least evidence that at least this share of the rows does not exceed."""
        return self._quantiles.inverted(level, self.evidence)

    def sums(self, gamma_lambda: float, yardstick: Yardstick) -> NDArray[np.int64]:
        """Return per node the sum of its rows' terms."""
        self._terms = change_terms(
            self._watched, self.evidence, self._terms, self._sums, gamma_lambda, yardstick
        )
        sums = self._sums.copy()
        sums[list(self._own)] = own_sums(self._own, self.evidence, gamma_lambda, yardstick)
        return sums

    def suspect(self, log_lambda: NDArray[np.float64]) -> None:
        """Compute the evidence anew."""
        for node in np.flatnonzero(log_lambda > -np.inf).tolist():
            if node not in self._members:
                rows = np.flatnonzero(self._leaves[self._forest.tree_of(node)] == node)
                # Where blame does not depend on it, nobody asks how likely their values are.
                asked = self._weighing.needs_likelihood
                self._members[node] = rows, self._leaf_likelihood(node, rows if asked else rows[:0])
        self.evidence = raise_evidence(self._base, self._members, log_lambda, self._weighing)


def iterate(
    base: NDArray[np.float64],
    leaves: Leaves | NDArray[np.int32],
    forest: Forest,
    leaf_likelihood: LeafLikelihood,
    *,
    weighing: Weighing,
    gamma_lambda: float,
    feedback: str,
    n_iter: int,
    tol: float,
    tried: NDArray[np.bool_] | None = None,
    own: Own | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Feedback:
    """Let contexts and rows inform each other until nothing changes.

    Parameters
    ----------
    base : ndarray of float64, one per row
        The evidence of each row while no context is suspected.
    leaves : Leaves, or ndarray of int32 of shape (M, N)
        The leaf of each row in each tree.
    forest : Forest
        The trees.
    leaf_likelihood : callable
        ``leaf_likelihood(node, rows)`` returns log ω of these rows, all in leaf `node`.
    weighing : Weighing
        How likelihoods become evidence.
    gamma_lambda : float
        How far a single ordinary row acquits a context.
    feedback : {"relative", "centred", "paper"}
        What a row's guilt is measured by, see `find_yardstick`.
    n_iter : int
        Rounds of scoring the rows; with 1 no context is ever suspected.
    tol : float
        Stop when no λ changes by more.
    tried : ndarray of bool, one per node, optional
        The contexts that may be suspected; all leaves if it is not given.
    own : dict, optional
        Narrow contexts, see `evidence.suspects`: their rows, and what these do not testify with.
    """
    if tried is None:
        tried = forest.feature < 0
    rows = RowsInMemory(base, leaves, forest, leaf_likelihood, weighing, tried, own or {})
    log_lambda, rounds = converge(
        rows, forest, tried, gamma_lambda, feedback, n_iter, tol, progress
    )
    return Feedback(log_lambda, rows.evidence, rounds)


def converge(
    rows: Rows,
    forest: Forest,
    tried: NDArray[np.bool_],
    gamma_lambda: float,
    feedback: str,
    n_iter: int,
    tol: float,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[NDArray[np.float64], int]:
    """Iterate over rows that may lie anywhere; return log λ per node and the number of rounds."""
    log_lambda = np.full(len(forest.feature), -np.inf)
    jury = jury_share(feedback, forest.n)
    rounds = 1
    if progress is not None:
        progress(rounds, n_iter)
    while rounds < n_iter and tried.any():
        yardstick = find_yardstick(feedback, rows.quantile)
        if yardstick is None:
            break
        sums = rows.sums(gamma_lambda, yardstick)
        # No context is condemned beyond the resolution of the sums: evidence stays finite.
        new_lambda = np.where(tried, jury * np.minimum(sums, -1) / UNIT, -np.inf)
        new_lambda[new_lambda < NEGLIGIBLE] = -np.inf
        moved = np.max(np.abs(np.exp(new_lambda) - np.exp(log_lambda)), initial=0.0)
        log_lambda = new_lambda
        rounds += 1
        rows.suspect(log_lambda)
        if progress is not None:
            progress(rounds, n_iter)
        if moved <= tol:
            break
    return log_lambda, rounds
