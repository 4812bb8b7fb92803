"""The explanations: reasons in words that add up to the score (method, step 4)."""

from __future__ import annotations

from admercs.explanation.collection import Explanations
from admercs.explanation.contexts import anomalous_contexts, describe_context
from admercs.explanation.patterns import patterns
from admercs.explanation.reasons import (
    Condition,
    Context,
    Pattern,
    Reason,
    RowExplanation,
    Typical,
)
from admercs.explanation.rows import explain_rows

__all__ = [
    "Condition",
    "Context",
    "Explanations",
    "Pattern",
    "Reason",
    "RowExplanation",
    "Typical",
    "anomalous_contexts",
    "describe_context",
    "explain_rows",
    "patterns",
]
