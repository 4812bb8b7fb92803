"""Explanations: reasons in words that add up to the score."""

from __future__ import annotations

from admercs.explain.collection import Explanations
from admercs.explain.described_contexts import anomalous_contexts, describe_context
from admercs.explain.pattern_search import patterns
from admercs.explain.records import Condition, Context, Pattern, Reason, RowExplanation, Typical
from admercs.explain.scored_rows import ScoredRows, ScoredTable, score_rows

__all__ = [
    "Condition",
    "Context",
    "Explanations",
    "Pattern",
    "Reason",
    "RowExplanation",
    "ScoredRows",
    "ScoredTable",
    "Typical",
    "anomalous_contexts",
    "describe_context",
    "patterns",
    "score_rows",
]
