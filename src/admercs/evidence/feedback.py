"""Rows and contexts inform each other: the iteration that finds anomalous contexts.

A context's score λ is high only if nearly all its rows are anomalous; a row in such a context is guilty by
association. In all but a few leaves λ is so small that it changes nothing, so after the first round only the
rows of the few suspicious leaves are looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.evidence.noisy_or import log_complement, view_evidence
from admercs.trees.forest import Forest

# Below this log λ the factor 1 − λ is 1 in double precision: the context changes no score.
NEGLIGIBLE = -37.0
# Sums over rows are kept in fixed point: exact in any order, and 2 ** 33 rows fit.
UNIT = float(1 << 24)
SMALLEST = -64.0

LeafLikelihood = Callable[[int, NDArray[np.int64]], NDArray[np.float64]]


class Feedback(NamedTuple):
    """The result of the iteration."""

    log_lambda: NDArray[np.float64]  # per node; −inf where negligible
    evidence: NDArray[np.float64]  # per row
    n_iter: int


@kernel
def add_terms(leaves, rows, terms, sums):  # type: ignore[no-untyped-def]
    """Add each row's term to the sums of all the leaves it is in."""
    for m in range(leaves.shape[0]):
        for k in range(len(rows)):
            sums[leaves[m, rows[k]]] += terms[k]


@kernel
def extra_evidence(log_omega, log_not_lambda, gamma, rows, evidence):  # type: ignore[no-untyped-def]
    """Add to the rows of one leaf what its λ adds to their view of it."""
    for k in range(len(rows)):
        before = view_evidence(log_omega[k], gamma)
        evidence[rows[k]] += view_evidence(log_not_lambda + log_omega[k], gamma) - before


def innocence_terms(
    evidence: NDArray[np.float64], gamma_lambda: float, typical: float
) -> NDArray[np.int64]:
    """Return each row's term log(1 − γ_λ (1 − δ)) of its contexts' log λ, in fixed point.

    `typical` is taken off the evidence first: with many attributes even ordinary rows gather some.
    """
    innocence = np.exp(-np.maximum(0.0, evidence - typical))
    with np.errstate(divide="ignore"):
        terms = np.log1p(-gamma_lambda * innocence)
    return np.rint(np.maximum(terms, SMALLEST) * UNIT).astype(np.int64)


def iterate(
    base: NDArray[np.float64],
    leaves: NDArray[np.int32],
    forest: Forest,
    leaf_likelihood: LeafLikelihood,
    *,
    gamma_delta: float,
    gamma_lambda: float,
    centred: bool,
    n_iter: int,
    tol: float,
    progress: Callable[[int, int], None] | None = None,
) -> Feedback:
    """Let contexts and rows inform each other until nothing changes.

    Parameters
    ----------
    base : ndarray of float64, one per row
        The evidence of each row while no context is suspected.
    leaves : ndarray of int32, shape (M, N)
        The leaf of each row in each tree.
    forest : Forest
        The trees.
    leaf_likelihood : callable
        ``leaf_likelihood(node, rows)`` returns log ω of these rows, all in leaf `node`.
    gamma_delta, gamma_lambda : float
        The noisy-or parameters.
    centred : bool
        Measure each row's guilt against the typical (median) row.
    n_iter : int
        Rounds of scoring the rows; with 1 no context is ever suspected.
    tol : float
        Stop when no λ changes by more.
    """
    evidence = base
    is_leaf = forest.feature < 0
    log_lambda = np.full(len(is_leaf), -np.inf)
    terms = np.zeros(len(base), np.int64)
    sums = np.zeros(len(is_leaf), np.int64)
    members: dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
    rounds = 1
    while rounds < n_iter:
        typical = float(np.median(evidence)) if centred else 0.0
        new_terms = innocence_terms(evidence, gamma_lambda, typical)
        changed = np.flatnonzero(new_terms != terms)
        add_terms(leaves, changed, (new_terms - terms)[changed], sums)
        terms = new_terms
        new_lambda = np.where(is_leaf, sums / UNIT, -np.inf)
        new_lambda[new_lambda < NEGLIGIBLE] = -np.inf
        moved = np.max(np.abs(np.exp(new_lambda) - np.exp(log_lambda)), initial=0.0)
        log_lambda = new_lambda
        rounds += 1
        evidence = base.copy()
        log_not_lambda = log_complement(log_lambda)
        for node in np.flatnonzero(log_lambda > -np.inf).tolist():
            if node not in members:
                rows = np.flatnonzero(leaves[forest.tree_of(node)] == node)
                members[node] = rows, leaf_likelihood(node, rows)
            rows, log_omega = members[node]
            extra_evidence(log_omega, log_not_lambda[node], gamma_delta, rows, evidence)
        if progress is not None:
            progress(rounds, n_iter)
        if moved <= tol:
            break
    return Feedback(log_lambda, evidence, rounds)
