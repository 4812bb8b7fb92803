"""Scores in words."""

from __future__ import annotations

import pytest

from admercs.explain.records import score_text


@pytest.mark.parametrize(
    ("score", "text"), [(0.981, "0.98"), (0.9994, "0.9994"), (1 - 1e-12, "> 0.9999")]
)
def test_scores_do_not_look_perfect(score: float, text: str) -> None:
    assert score_text(score) == text
