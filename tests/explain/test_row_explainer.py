"""Reasons add up, are true, and read well."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from admercs import ADMERCS
from admercs.explain import Explanations
from admercs.explain.access import ModelAccess
from admercs.explain.stated_words import visible
from tests.explain.conftest import mixed_table
from tests.explain.truth import check_additive, check_all, each


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


@settings(max_examples=15, derandomize=True)
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
    assert "but this person has 400.25 kEUR. Job looks odd only because of it." in first.text


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
    assert "All rows: age is normally recorded (100%), but it is missing for this row." in said.text


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


def test_text_of_a_row(model, table) -> None:
    lines = str(model.explain(table.head(1), top=1)[0]).splitlines()
    assert re.match(r"row 0   score 0\.\d+   more anomalous than 9", lines[0])
    assert re.match(r"  If pay were about 2\d(\.\d)? kEUR instead of 400\.25, nothing", lines[1])
    assert lines[2].startswith("  1. All rows typically have pay ")
    assert lines[2].endswith("% of the evidence)")


def test_percentiles_follow_the_evidence(model, table) -> None:
    rows = sorted(model.explain(table, top=0), key=lambda row: row.evidence)
    percentiles = [row.percentile for row in rows]
    assert percentiles == sorted(percentiles)
    assert percentiles[-1] == 100
    assert abs(percentiles[len(rows) // 2] - 50) < 2


def test_the_last_digit_of_evidence_does_not_matter(model) -> None:
    access = ModelAccess(model.model_)
    most = model.model_.evidence_quantiles[-1]
    near = np.array([np.nextafter(most, 0), most, np.nextafter(most, 2 * most)])
    assert access.percentiles(near).tolist() == [100.0] * 3


def test_only_new_rows_are_more_anomalous_than_all_training_rows(model, table) -> None:
    assert not any(row.beyond_training for row in model.explain(table, top=0))
    oddest = max(model.explain(table, top=0), key=lambda row: row.evidence)
    assert "than all other rows of the table" in str(oddest)
    odder = table.loc[[oddest.label]].assign(**{"pay (kEUR)": 9e5, "age": 900})
    (row,) = model.explain(odder)
    assert row.beyond_training
    assert "more anomalous than all training rows" in str(row)


def test_rows_that_are_alike_are_not_more_anomalous_than_each_other() -> None:
    pets = pd.DataFrame({"pet": ["dog"] * 60 + ["cat"] * 30 + ["emu"] * 10})
    rows = ADMERCS().fit(pets).explain(pets)
    assert [rows[k].percentile for k in (0, 60, 90)] == pytest.approx([0, 60, 90], abs=1)


def test_large_whole_numbers_keep_their_digits() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": 2**60 + rng.integers(0, 1000, 300), "x": rng.normal(size=300)})
    model = ADMERCS().fit(table)
    check_all(model.explain(table, top=None), table, table)
    reason = model.explain(table.assign(id=2**60 + 5000).head(1), top=1)[0].reasons[0]
    assert all(isinstance(end, int) for ends in reason.typical.intervals for end in ends)
    said = [int(text.replace(",", "")) for text in re.findall(r"1,?152[\d,]+\d", reason.text)]
    assert said == sorted(said)
    assert said[-1] == 2**60 + 5000


def test_nothing_follows_where_either_of_two_values_may_be_wrong() -> None:
    model = ADMERCS().fit([["cat", "meow"], ["dog", "woof"]] * 100)
    row = model.explain([["cat", "woof"]])[0]
    assert len({repair.column for repair in row.repairs}) == 2
    assert row.reasons[0].text.endswith("x0 does not fit either.")


def test_a_row_is_not_said_to_be_like_itself() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(50, 5, 800)
    x[::40] = -300.0
    table = pd.DataFrame({"x": x, "y": -x, "z": rng.normal(size=800)})
    told = [
        (row.label, reason.rows)
        for row in ADMERCS().fit(table).explain(table.iloc[::40])
        for reason in row.reasons
        if reason.kind == "neighbours"
    ]
    assert told
    assert all(rows and label not in rows for label, rows in told)


def test_spaces_that_would_be_overlooked_are_shown_in_quotation_marks() -> None:
    texts = ["Sweden  Worcester", "Sweden ", "Sweden Worcester"]
    assert [visible(text) for text in texts] == ['"Sweden  Worcester"', '"Sweden "', texts[2]]
