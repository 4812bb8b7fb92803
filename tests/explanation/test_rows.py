"""Reasons add up, are true, and read well."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from admercs import ADMERCS
from admercs.explanation import Explanations
from admercs.explanation.typical import region_text
from admercs.explanation.values import ColumnVoice
from admercs.table.columns import Column
from tests.explanation.conftest import mixed_table
from tests.explanation.truth import check_additive, check_all, each


@pytest.mark.parametrize("top", [0, 1, 3, None])
def test_reasons_add_up_to_the_score(model, table, top) -> None:
    explanations = model.explain(table, top=top)
    check_additive(explanations)
    scores = model.score_samples(table)
    assert np.allclose([row.evidence for row in explanations], -scores, rtol=1e-12, atol=1e-12)
    if top is not None:
        assert all(len(row.reasons) <= top for row in explanations)
    else:
        assert all(row.rest == 0 and row.n_rest == 0 for row in explanations)


def test_reasons_are_true_of_the_training_table(model, table) -> None:
    check_all(model.explain(table, top=None), table, table)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(60, 250))
def test_reasons_are_true_of_any_table(seed: int, n: int) -> None:
    table = mixed_table(seed, n)
    check_all(ADMERCS().fit(table).explain(table, top=None), table, table)


def test_reasons_are_true_of_new_rows(model, table) -> None:
    rows = mixed_table(7, 200)
    rng = np.random.default_rng(0)
    for name in rows.columns:
        rows[name] = rows[name].astype(object).where(rng.random(len(rows)) > 0.2, None)
    rows = rows.astype({"pay (kEUR)": float, "age": float, "shifts": float})
    rows["start"] = pd.to_datetime(rows["start"])
    rows.loc[::3, "job"] = "astronaut"
    rows["shifts"] += 0.5
    check_all(model.explain(rows, top=None), rows, table)


def test_a_global_outlier_is_compared_with_the_whole_table(model, table) -> None:
    first = model.explain(table.head(1), noun="people")[0].reasons[0]
    assert first.target == "pay (kEUR)"
    assert first.value == 400.25
    assert first.text.endswith("but this person has 400.25 kEUR.")


@pytest.mark.parametrize("noun", ["", " ", None])
def test_rows_that_are_called_nothing(model, table, noun) -> None:
    for tell in (model.patterns, lambda noun: model.explain(table.head(1), noun=noun)):
        with pytest.raises(ValueError, match="noun must say what rows are called"):
            tell(noun=noun)


def test_missing_values_have_a_sentence(model, table) -> None:
    row = table[table["night work"]].head(1).astype(object).assign(age=None).astype({"age": float})
    reasons = model.explain(row, top=None)[0].reasons
    said = next(reason for reason in each(reasons) if reason.target == "age")
    assert said.value is None
    assert said.value_text == "missing"
    assert "age recorded (100%), but here it is missing." in said.text


def test_unseen_categories_have_a_sentence(model, table) -> None:
    row = table.iloc[[10]].assign(job="astro <b>naut</b>")
    explanations = model.explain(row, top=None)
    said = next(reason for reason in each(explanations[0].reasons) if reason.target == "job")
    assert said.value == "astro <b>naut</b>"
    assert "job = astro <b>naut</b>, which was never seen in the training table." in said.text
    assert "<b>" not in explanations._repr_html_()
    assert "&lt;b&gt;naut" in explanations._repr_html_()
    assert "&lt;b&gt;naut" in said._repr_html_()
    assert model.patterns(1)[0].text in model.patterns(1)[0]._repr_html_()


def test_explaining_does_not_change_the_model(model, table) -> None:
    before = pickle.dumps(model)
    model.explain(table.head(20))
    assert pickle.dumps(model) == before


def test_explanations_are_frozen(model, table) -> None:
    row = model.explain(table.head(1))[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.score = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.reasons[0].evidence = 0.0


def test_bad_input(model, table) -> None:
    for top in (-1, 1.5, True):
        with pytest.raises(ValueError, match="top must be"):
            model.explain(table.head(1), top=top)
    for n in (-1, 2.5):
        with pytest.raises(ValueError, match="n must be a number of rows"):
            model.top(table, n)
    assert len(model.top(table, 0)) == 0
    assert model.explain(table.head(1), top=0)[0].reasons == ()
    with pytest.raises(IndexError, match="there is no explanation 5: 2 rows were explained"):
        model.explain(table.head(2))[5]
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.explain(table.head(0))
    with pytest.raises(NotFittedError):
        ADMERCS().explain(table)
    assert str(Explanations()) == ""
    assert Explanations().to_dict() == {"version": 1, "rows": []}


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
        "label", "score", "evidence", "percentile", "by_association", "reasons", "rest", "n_rest",
        "factor", "apart", "cells",
    ]  # fmt: skip
    reason = next(row["reasons"][0] for row in made["rows"] if row["reasons"])
    assert list(reason) == [
        "kind", "target", "value", "value_text", "conditions", "typical", "n", "likelihood",
        "evidence", "share", "context", "also", "rows", "text",
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


def test_text_of_a_row(model, table) -> None:
    lines = str(model.explain(table.head(1), top=1)[0]).splitlines()
    assert re.match(r"row 0   score 0\.\d+   more anomalous than 9", lines[0])
    assert lines[1].startswith("  1. All rows typically have pay ")
    assert lines[1].endswith("% of the evidence)")


def test_percentiles_follow_the_evidence(model, table) -> None:
    rows = sorted(model.explain(table, top=0), key=lambda row: row.evidence)
    percentiles = [row.percentile for row in rows]
    assert percentiles == sorted(percentiles)
    assert percentiles[-1] == 100
    assert abs(percentiles[len(rows) // 2] - 50) < 2


def test_rows_that_are_alike_are_not_more_anomalous_than_each_other() -> None:
    pets = pd.DataFrame({"pet": ["dog"] * 60 + ["cat"] * 30 + ["emu"] * 10})
    rows = ADMERCS().fit(pets).explain(pets)
    assert [rows[k].percentile for k in (0, 60, 90)] == pytest.approx([0, 60, 90], abs=1)


def test_a_value_shared_by_many_rows_is_said_as_it_is() -> None:
    rng = np.random.default_rng(0)
    loss = np.where(np.arange(2000) < 1900, 0, rng.integers(1400, 2500, 2000))
    table = pd.DataFrame({"loss": loss, "other": rng.normal(size=2000)})
    reason = ADMERCS().fit(table).explain(table.tail(1), top=1)[0].reasons[0]
    assert reason.typical.text == "loss 0"
    ((low, high),) = reason.typical.intervals
    assert low <= 0 <= high


@pytest.mark.parametrize(("seed", "dry"), [(1, 0.951), (33, 0.99), (37, 0.994)])
def test_zero_is_said_as_zero(seed, dry) -> None:
    rng = np.random.default_rng(seed)
    rain = np.where(rng.random(3000) < dry, 0.0, rng.exponential(size=3000))
    flood = ADMERCS().fit(rain[:, None]).explain([[1e9]])[0]
    assert flood.reasons[0].typical.text == "x0 0"


@pytest.mark.parametrize(
    ("own", "text"), [(49.0, "14 to 48"), (13.8, "14 to 49"), (30.0, "14 to 49")]
)
def test_a_region_looks_apart_from_a_value_next_to_it_without_needless_digits(own, text) -> None:
    voice = ColumnVoice(Column("age", 0, "numeric", "number"), "age", "", 1.0)
    assert region_text(voice, 13.86, 48.997, None if own == 30 else own) == text


def test_what_most_rows_lack_or_have_is_not_called_typical() -> None:
    table = pd.DataFrame({"cabin": ["a", "b", None] * 100, "fare": np.arange(300.0)})
    model = ADMERCS().fit(table)
    text = model.explain(table.iloc[[2]], top=1)[0].reasons[0].text
    assert text == "All rows mostly have cabin recorded (67%), but here it is missing."


def test_large_whole_numbers_keep_their_digits() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": 2**60 + rng.integers(0, 1000, 300), "x": rng.normal(size=300)})
    model = ADMERCS().fit(table)
    check_all(model.explain(table, top=None), table, table)
    reason = model.explain(table.assign(id=2**60 + 5000).head(1), top=1)[0].reasons[0]
    assert all(isinstance(end, int) for ends in reason.typical.intervals for end in ends)
    said = [int(text.replace(",", "")) for text in re.findall(r"1,152[\d,]+\d", reason.text)]
    assert said == sorted(said)
    assert said[-1] == 2**60 + 5000
