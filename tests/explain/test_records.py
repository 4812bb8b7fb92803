"""The explanations of several rows: a sequence, a dict, a frame."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from admercs.explain import Explanations


def test_sequence(model, table) -> None:
    explanations = model.explain(table.head(5))
    assert [row.label for row in explanations] == [0, 1, 2, 3, 4]
    assert isinstance(explanations[1:3], Explanations)
    assert explanations[-1].label == 4
    assert [row.label for row in explanations[1:3]] == [1, 2]


def test_dict_is_ready_for_json(model, table) -> None:
    explanations = model.explain(table.tail(30), top=None)
    made = explanations.to_dict()
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["version"] == 1
    row = made["rows"][0]
    assert list(row) == [
        "label", "score", "evidence", "percentile", "reasons", "rest", "n_rest", "by_association",
        "cells", "repairs", "repair_text", "beyond_training",
    ]  # fmt: skip
    repair = next(row["repairs"][0] for row in made["rows"] if row["repairs"])
    assert list(repair) == [
        "column", "value", "value_text", "expected", "expected_text", "typical",
        "evidence_removed", "slip", "also", "text",
    ]  # fmt: skip
    reason = next(row["reasons"][0] for row in made["rows"] if row["reasons"])
    assert list(reason) == [
        "kind", "target", "value", "value_text", "conditions", "typical", "n", "likelihood",
        "evidence", "share", "context", "node", "also", "rows", "labels", "related",
        "expected_text", "text",
    ]  # fmt: skip


def test_frame_has_one_line_per_reason(model, table) -> None:
    explanations = model.explain(table.head(8))
    frame = explanations.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == sum(len(row.reasons) for row in explanations)
    assert frame.loc[0, "text"] == explanations[0].reasons[0].text
    assert isinstance(explanations.to_frame("polars"), pl.DataFrame)
    with pytest.raises(ValueError, match="'pandas' or 'polars'"):
        explanations.to_frame("excel")


def test_frame_is_of_the_kind_that_was_explained(model, table) -> None:
    explanations = model.explain(table.head(4))
    assert isinstance(dataclasses.replace(explanations, frame="polars").to_frame(), pl.DataFrame)
    assert isinstance(dataclasses.replace(explanations, frame="pandas").to_frame(), pd.DataFrame)


def test_explanations_are_frozen(model, table) -> None:
    row = model.explain(table.head(1))[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.score = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.reasons[0].evidence = 0.0


def test_every_field_of_the_schema_is_described(model, table) -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanations.md").read_text(encoding="utf-8")
    schema = page.split("## The schema of")[1]
    described = set(re.findall(r"`(\w+)`", schema))
    leaf = model.explain(table.head(1))[0].reasons[0].context
    made = [
        model.explain(table.head(40), top=None).to_dict(),
        model.describe_context(leaf).to_dict(),
    ]
    made += [pattern.to_dict() for pattern in model.patterns()]

    def fields(part):
        if isinstance(part, list):
            return {name for each in part for name in fields(each)}
        if not isinstance(part, dict):
            return set()
        inside = {name for key, value in part.items() if key != "cells" for name in fields(value)}
        return set(part) | inside

    assert fields(made) - {"version", "rows"} <= described
