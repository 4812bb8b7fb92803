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
from numpy.typing import NDArray

from admercs.method.settings import Feedback

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNIT = float(1 << 24)
"""Sums over rows are kept in fixed point: exact in any order, and 2 ** 33 rows fit."""

# Below this log λ the factor 1 − λ is 1 in double precision: the context changes no score.
NEGLIGIBLE = -37.0
SMALLEST = -64.0


class ExcessScale(NamedTuple):
    """How excess evidence is measured."""

    typical: float  # the evidence of a row without any excess
    unit: float  # the evidence beyond it that counts as one

    @classmethod
    def from_quantiles(cls, middle: float, high: float, feedback: Feedback) -> ExcessScale | None:
        """Return the scale, or None when no row stands out at all.

        Examples
        --------
        >>> ExcessScale.from_quantiles(1.0, 3.0, Feedback())
        ExcessScale(typical=1.0, unit=1.0)
        """
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


def context_terms(evidence: Floats, gamma_lambda: float, scale: ExcessScale) -> Ints:
    """Return each row's term log(1 − γ_λ exp(−excess)) of its contexts' log λ, in fixed point."""
    with np.errstate(divide="ignore"):
        terms = np.log1p(-gamma_lambda * np.exp(-scale.excess(evidence)))
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
