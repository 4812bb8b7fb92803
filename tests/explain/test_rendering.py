"""Scores in words."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from admercs.explain.records import rank_text, score_text


@pytest.mark.parametrize(
    ("score", "text"), [(0.981, "0.98"), (0.9994, "0.9994"), (1 - 1e-12, "> 0.9999")]
)
def test_scores_do_not_look_perfect(score: float, text: str) -> None:
    assert score_text(score) == text


@pytest.mark.parametrize(
    ("percentile", "text"),
    [
        (100.0, "more anomalous than all other rows of the table"),
        (99.97, "more anomalous than 99.9% of the table"),
        (98.9, "more anomalous than 98% of the table"),
        (0.4, "among the least anomalous rows of the table"),
    ],
)
def test_rows_are_compared_with_the_table(percentile: float, text: str) -> None:
    row = SimpleNamespace(percentile=percentile, beyond_training=False)
    assert rank_text(row) == text
