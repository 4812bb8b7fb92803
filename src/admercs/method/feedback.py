"""Feedback: contexts and rows inform each other.

Let e_i be the evidence of row i. Its excess is max(0, e_i − median) / unit, where the unit is half
the distance from the median to the 90% quantile. The score of context j is

    log λ_j = s_j Σ_{i in j} log(1 − γ_λ exp(−excess_i)),    s_j = min(1, 50 / n_j),

high only if nearly all its rows are anomalous. Rows of one context are not independent, so a large
context is scored as if it had fifty rows. A context adds evidence to its rows, and the rounds go
on until no score changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs.arrays import Floats, Ints, Keys, ShortInts
from admercs.method.odds import log_complement, noisy_or
from admercs.method.settings import Feedback, NoisyOr, Odds
from admercs.trees.forest import Forest

# Sums over rows are kept in fixed point: exact in any order, and 2 ** 33 rows fit.
UNIT = float(1 << 24)
# Below this log λ the factor 1 − λ is 1 in double precision: the context changes no score.
NEGLIGIBLE = -37.0
SMALLEST = -64.0


class ExcessScale(NamedTuple):
    """How excess evidence is measured."""

    typical: float  # the evidence of a row without any excess
    unit: float  # the evidence beyond it that counts as one

    @classmethod
    def from_quantiles(cls, middle: float, high: float, feedback: Feedback) -> ExcessScale | None:
        """Return the scale, or None when no row stands out at all."""
        typical = middle if feedback.centred else 0.0
        if feedback.spread is None:
            return cls(typical, 1.0)
        unit = (high - middle) / 2
        return cls(typical, unit) if unit > 0 else None

    def times(self, share: float) -> ExcessScale:
        """Return the scale for evidence of which only a share is counted."""
        return ExcessScale(share * self.typical, share * self.unit)

    def excess(self, evidence: Floats) -> Floats:
        """Return the excess evidence of rows."""
        return np.maximum(0.0, evidence - self.typical) / self.unit

    def capped(self, evidence: Floats, cap: float) -> Ints:
        """Return the excess evidence in fixed point, at most `cap`."""
        return np.rint(np.minimum(self.excess(evidence), cap) * UNIT).astype(np.int64)

    def terms(self, evidence: Floats, gamma_lambda: float) -> Ints:
        """Return each row's term log(1 − γ_λ exp(−excess)) of a context's log λ, in fixed point."""
        with np.errstate(divide="ignore"):
            terms = np.log1p(-gamma_lambda * np.exp(-self.excess(evidence)))
        return np.rint(np.maximum(terms, SMALLEST) * UNIT).astype(np.int64)


def log_scores(sums: Ints, n: Ints, feedback: Feedback) -> Floats:
    """Return log λ of contexts from the sums of their rows' terms; −inf where it is negligible."""
    size = feedback.effective_size
    share = np.ones(len(n)) if size is None else np.minimum(size / np.maximum(n, 1), 1.0)
    # No λ is 1: the sums have a finite resolution, and evidence stays finite.
    log_lambda = share * np.minimum(sums, -1) / UNIT
    return np.where(log_lambda < NEGLIGIBLE, -np.inf, log_lambda)


def mean_score(log_lambda: float, n: int, feedback: Feedback) -> float:
    """Return how anomalous the rows of a context are on average, from 0 to 1.

    λ is a product over the rows that count, so the same λ means more in a larger context; the
    geometric mean tells which share of the rows is anomalous.
    """
    size = n if feedback.effective_size is None else min(n, feedback.effective_size)
    mean = float(np.exp(log_lambda / max(1, size)))
    return 1.0 - (1.0 - mean) / feedback.gamma_lambda


class Contexts(NamedTuple):
    """Contexts that may be anomalous, at most one for each row and tree, ascending by their node.

    A context is a leaf (or a group of a leaf, see `find_whole_leaves`), or the rows of a leaf whose
    target lies in a range.
    """

    leaf: ShortInts  # node number in the forest
    low: Floats  # rows whose target (as a working value) is above this …
    high: Floats  # … and at most this; −inf and inf: all rows of the leaf, missing values too
    n: Ints  # training rows
    log_lambda: Floats  # log of the context's score λ
    redundant: Keys  # conditions of the leaf that can be left out, as bits
    member_ptr: Ints  # the first training rows of context k are member[ptr[k]:ptr[k + 1]]
    member: Ints

    @classmethod
    def none(cls) -> Contexts:
        """Return a table without any context."""
        floats, ints, bits = np.empty(0), np.empty(0, np.int64), np.empty(0, np.uint64)
        leaf, start = np.empty(0, np.int32), np.zeros(1, np.int64)
        return cls(leaf, floats, floats, ints, floats, bits, start, ints)

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


class ContextStep:
    """Adds to the rows of anomalous contexts what the contexts' scores are worth."""

    def __init__(
        self, contexts: Contexts, forest: Forest, feedback: Feedback, evidence: Odds | NoisyOr
    ) -> None:
        self._contexts, self._feedback, self._evidence = contexts, feedback, evidence
        self._log_not_lambda = log_complement(contexts.log_lambda)
        self._at = np.full(len(forest.feature), -1, np.int32)
        for k, node in enumerate(contexts.leaf):
            self._at[forest.below(node)] = k
        self._trees = sorted({forest.tree_of(node) for node in contexts.leaf})

    def apply(self, leaf: ShortInts, block: Floats, log_omega: Floats) -> Floats:
        """Return the context evidence of a block (columns x rows)."""
        out = np.zeros(block.shape)
        for tree in self._trees:
            number = self._at[leaf[tree]]
            rows = np.flatnonzero(number >= 0)
            number = number[rows]
            low, high = self._contexts.low[number], self._contexts.high[number]
            x = block[tree, rows]
            inside = ((low == -np.inf) & (high == np.inf)) | ((x > low) & (x <= high))
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
