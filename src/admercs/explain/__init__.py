"""Explanations: reasons in words that add up to the score."""

from __future__ import annotations

from admercs.explain.model_findings import anomalous_contexts, describe_context, patterns
from admercs.explain.records import (
    Condition,
    Context,
    Explanations,
    Pattern,
    Reason,
    Repair,
    RowExplanation,
    SuspiciousValue,
    Typical,
)
from admercs.explain.scored_rows import SummedTable, score_rows

__all__ = [
    "Condition",
    "Context",
    "Explanations",
    "Pattern",
    "Reason",
    "Repair",
    "RowExplanation",
    "SummedTable",
    "SuspiciousValue",
    "Typical",
    "anomalous_contexts",
    "describe_context",
    "patterns",
    "score_rows",
]
