"""Anomalous contexts: a table of their own beside the forest, and what they add to their rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.method.odds import log_complement, noisy_or
from admercs.method.settings import Feedback, NoisyOr, Odds
from admercs.trees.forest import Forest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Contexts(NamedTuple):
    """Contexts that may be anomalous, at most one for each row and tree, ascending by their node.

    A context is a leaf (or a group of a leaf, see `find_whole_leaves`), or the rows of a leaf whose
    target lies in a range.
    """

    leaf: NDArray[np.int32]  # node number in the forest
    low: Floats  # rows whose target (as a working value) is above this …
    high: Floats  # … and at most this; −inf and inf: all rows of the leaf, missing values too
    n: Ints  # training rows
    log_lambda: Floats  # log of the context's score λ
    redundant: NDArray[np.uint64]  # conditions of the leaf that can be left out, as bits
    member_ptr: Ints  # the first training rows of context k are member[ptr[k]:ptr[k + 1]]
    member: Ints

    @classmethod
    def none(cls) -> Contexts:
        """Return a table without any context."""
        floats, ints = np.empty(0), np.empty(0, np.int64)
        start = np.zeros(1, np.int64)
        bits = np.empty(0, np.uint64)
        return cls(np.empty(0, np.int32), floats, floats, ints, floats, bits, start, ints)

    def is_range(self, k: int) -> bool:
        """Say whether a context is a range of its leaf's target."""
        return bool(self.high[k] < np.inf or self.low[k] > -np.inf)

    def at(self, leaf: int) -> int:
        """Return the number of the context of a leaf, or -1."""
        k = int(np.searchsorted(self.leaf, leaf))
        return k if k < len(self.leaf) and self.leaf[k] == leaf else -1

    def members(self, k: int) -> Ints:
        """Return the first training rows of a context."""
        return self.member[self.member_ptr[k] : self.member_ptr[k + 1]]

    def take(self, some: NDArray[np.bool_]) -> Contexts:
        """Return some contexts, without their members."""
        return Contexts(
            self.leaf[some],
            self.low[some],
            self.high[some],
            self.n[some],
            self.log_lambda[some],
            self.redundant[some],
            np.zeros(int(some.sum()) + 1, np.int64),
            np.empty(0, np.int64),
        )

    def inside(self, k: int, x: Floats) -> NDArray[np.bool_]:
        """Say which rows of a context's leaf are in it, given their target."""
        if not self.is_range(k):
            return np.ones(len(x), np.bool_)
        return (x > self.low[k]) & (x <= self.high[k])


class ContextStep:
    """Adds to the rows of anomalous contexts what the contexts' scores are worth."""

    def __init__(
        self,
        contexts: Contexts,
        forest: Forest,
        feedback: Feedback,
        evidence: Odds | NoisyOr,
    ) -> None:
        self._contexts = contexts
        self._log_not_lambda = log_complement(contexts.log_lambda)
        self._feedback, self._evidence = feedback, evidence
        self._at = np.full(len(forest.feature), -1, np.int32)
        for k, node in enumerate(contexts.leaf):
            self._at[forest.below(node)] = k
        self._trees = sorted({forest.tree_of(node) for node in contexts.leaf})

    def apply(self, leaf: NDArray[np.int32], block: Floats, log_omega: Floats) -> Floats:
        """Return the context evidence of a block (columns x rows)."""
        out = np.zeros(block.shape)
        for tree in self._trees:
            number = self._at[leaf[tree]]
            rows = np.flatnonzero(number >= 0)
            number = number[rows]
            x = block[tree, rows]
            contexts = self._contexts
            whole = (contexts.low[number] == -np.inf) & (contexts.high[number] == np.inf)
            inside = whole | ((x > contexts.low[number]) & (x <= contexts.high[number]))
            rows, number = rows[inside], number[inside]
            out[tree, rows] = context_evidence(
                self._log_not_lambda[number], log_omega[tree, rows], self._feedback, self._evidence
            )
        return out


def context_evidence(
    log_not_lambda: Floats, log_omega: Floats, feedback: Feedback, evidence: Odds | NoisyOr
) -> Floats:
    """Return what contexts of scores λ add to rows whose values have likelihood ω there.

    Ours is −log(1 − λ), limited so that association does not drown what a row itself shows. The
    paper's is what λ adds to −log(1 − γ_δ v).
    """
    if isinstance(evidence, NoisyOr):
        gamma = evidence.gamma_delta
        return noisy_or(log_not_lambda + log_omega, gamma) - noisy_or(log_omega, gamma)
    most = np.inf if feedback.most is None else feedback.most
    return np.minimum(most, -log_not_lambda)
