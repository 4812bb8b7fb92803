"""Columns of text that are numbers or dates are learned from as such, wherever the table is."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from admercs import ADMERCS
from admercs.method.settings import Method
from admercs.pipeline.fit import fit_model
from admercs.pipeline.model_file import save_model
from admercs.pipeline.rows import RowsInMemory
from admercs.table import read_frame
from admercs.table.readings import ReadingRules
from tests.rows_in_pieces import RowsInPieces

N = 600


@pytest.fixture(scope="module")
def typed() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 65, N)
    days = np.datetime64("2020-01-01", "s") + rng.integers(0, 900, N) * np.timedelta64(1, "D")
    return pd.DataFrame(
        {
            "age": age,
            "salary": (1000 + 50.0 * age + rng.normal(0, 100, N)).round(2),
            "day": days,
            "group": rng.choice(list("abc"), N),
        }
    )


@pytest.fixture(scope="module")
def written(typed) -> pd.DataFrame:
    """Return the same table with numbers and dates as text."""
    return typed.assign(
        salary=[f"€{x:,.2f}" for x in typed.salary],
        day=typed.day.dt.strftime("%d/%m/%Y"),
    )


@pytest.fixture(scope="module")
def dirty(written) -> pd.DataFrame:
    dirty = written.copy()
    dirty.loc[17, "salary"] = "n.a."
    dirty.loc[40, "day"] = "45/13/2020"
    return dirty


def test_text_that_is_numbers_gives_the_scores_of_numbers(typed, written):
    text, numbers = ADMERCS().fit(written), ADMERCS().fit(typed)
    # Dates are counted in other units.
    np.testing.assert_allclose(text.scores_, numbers.scores_, rtol=1e-12)
    assert [column.display for column in text.columns_] == ["integer", "number", "date", "text"]
    assert text.columns_[1].reading.form.prefix == "€"
    # A later table may hold numbers where this one held text.
    np.testing.assert_array_equal(text.anomaly_score(typed), text.scores_)


def test_what_cannot_be_read_is_evidence(dirty, tmp_path):
    model = ADMERCS().fit(dirty)
    assert set(np.argsort(-model.scores_)[:2]) == {17, 40}
    salary, day = model.columns_[1:3]
    assert (salary.n_unread, salary.n_missing, day.n_unread) == (1, 1, 1)
    cells = model.score_cells(dirty)
    assert cells[17].argmax() == 1
    assert cells[40].argmax() == 2
    assert 'a number (99.8%) as salary, but this row has "n.a."' in str(model.explain(dirty)[17])
    reason = str(model.explain(dirty)[40])
    assert 'but this row has "45/13/2020", which is no date' in reason
    rows = {row["row"]: row["values"] for row in model.report(dirty).to_dict()["rows"]}
    assert rows[17][1] == "n.a."
    assert rows[40][1] == dirty.salary[40]
    model.save(tmp_path / "m")
    again = ADMERCS.load(tmp_path / "m")
    np.testing.assert_array_equal(again.score_samples(dirty), model.score_samples(dirty))
    assert again.model_.schema == model.model_.schema


@pytest.mark.parametrize(
    "library",
    [pl.from_pandas, pa.Table.from_pandas, dict, lambda t: t.astype({"salary": object})],
)
def test_other_libraries_give_the_same(dirty, library):
    model, given = ADMERCS().fit(dirty), library(dirty)
    np.testing.assert_array_equal(ADMERCS().fit(given).scores_, model.scores_)
    np.testing.assert_array_equal(model.anomaly_score(given), model.scores_)


@pytest.mark.parametrize("cuts", [[300], [17, 18, 41], [0, 599]])
def test_pieces_give_the_model_of_the_whole(dirty, tmp_path, cuts):
    def saved(rows):
        model = replace(fit_model(rows, Method()).model, references=None)
        save_model(tmp_path / "m", model, EXTRA)
        return (tmp_path / "m").read_bytes()

    assert saved(RowsInPieces(dirty, cuts)) == saved(RowsInMemory(read_frame(dirty)))


EXTRA = {
    "parameters": {
        **ADMERCS().get_params(),
        "random_state": None,
        "verbose": 0,
    },
    "offset": -1.0,
    "suspicious_line": 1.0,
    "value_line": 1.0,
    "n_iter": 1,
}


def test_columns_of_several_types_are_what_most_of_their_cells_are(typed):
    cells = typed.salary.astype(object)
    cells[3], cells[5], cells[8] = "n.a.", None, "1,234.50"
    days = typed.day.dt.to_pydatetime().astype(object)
    days[7] = "soon"
    model = ADMERCS().fit(typed.assign(salary=cells, day=days))
    salary, day = model.columns_[1:3]
    assert (salary.role, salary.n_unread, salary.n_missing) == ("numeric", 1, 2)
    assert (day.role, day.display, day.n_unread) == ("numeric", "datetime", 1)
    # Where no kind prevails, each value is a category.
    half = ADMERCS().fit(typed.assign(salary=["a", 1] * (N // 2)))
    assert (half.columns_[1].role, half.columns_[1].categories) == ("nominal", ("1", "a"))


def test_what_the_user_knows_is_followed_and_remembered(written, typed, tmp_path):
    codes = written.assign(age=written.age.where(written.age != 30, -99))
    model = ADMERCS(missing=[-99, "a"]).fit(codes)
    assert model.columns_[0].n_missing == (codes.age == -99).sum() > 0
    assert model.columns_[3].categories == ("b", "c") or model.columns_[3].categories == ("c", "b")
    model.save(tmp_path / "m")
    again = ADMERCS.load(tmp_path / "m")
    assert again.model_.schema.rules == ReadingRules(missing=("-99", "a"))
    np.testing.assert_array_equal(again.anomaly_score(codes), model.scores_)
    for library in (pl.from_pandas, pa.Table.from_pandas, dict):
        np.testing.assert_array_equal(model.anomaly_score(library(codes)), model.scores_)
    early = written.assign(day="03/04/2021")
    early.loc[0, "day"] = "03/05/2021"
    for dayfirst, month in ((None, 3), (True, 4), (False, 3)):
        low = ADMERCS(dayfirst=dayfirst).fit(early).columns_[2].low
        assert (dt.date(1970, 1, 1) + dt.timedelta(low)).month == month
    with pytest.raises(ValueError, match="decimal"):
        ADMERCS(decimal=";").fit(typed)


def test_whole_numbers_in_texts_beside_huge_ones(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=100)})
    table["n"] = pd.Series([2**70, 1, "1", "2"] * 25, dtype=object)
    model = ADMERCS().fit(table)
    model.save(tmp_path / "m")
    scores = ADMERCS.load(tmp_path / "m").score_samples(table)
    np.testing.assert_array_equal(scores, model.score_samples(table))


@pytest.mark.parametrize("text", ["1e999", "9" * 400])
def test_texts_of_which_all_are_beyond_any_float(text, tmp_path):
    table = pd.DataFrame({"x": np.random.default_rng(0).normal(size=31)})
    table["huge"] = pd.Series([None] * 30 + [text], dtype=object)
    detector = ADMERCS().fit(table)
    assert detector.columns_[1].categories == (text,)
    detector.save(tmp_path / "m")
    again = ADMERCS.load(tmp_path / "m")
    for rows in (table, table.assign(huge="7")):
        np.testing.assert_array_equal(again.score_samples(rows), detector.score_samples(rows))
        assert len(again.explain(rows)) == 31


def test_codes_for_missing_values_that_a_type_cannot_hold():
    rng = np.random.default_rng(0)
    small = rng.integers(0, 200, 100).astype(np.uint8)
    small[3] = 255
    table = pd.DataFrame({"small": small, "long": rng.integers(0, 2**60, 100).astype(np.uint64)})
    model = ADMERCS(missing=[-999, 255, 2**80, "a"]).fit(table)
    assert [column.n_missing for column in model.columns_] == [1, 0]


def test_columns_that_are_to_be_nominal_stay_text(written):
    model = ADMERCS(nominal=["salary"]).fit(written)
    assert model.columns_[1].reading is None
    categories = written.assign(group=pd.Categorical(written.age.astype(str)))
    assert ADMERCS().fit(categories).columns_[3].role == "nominal"
    assert ADMERCS().fit(pl.from_pandas(categories)).columns_[3].role == "nominal"


@pytest.mark.parametrize(
    "texts",
    [
        ["x" * 10_000 + str(k) for k in range(N)],
        ["same"] * N,
        ["a\x00b", "1\x00", "\x00"] * (N // 3),
        ["שלום", "مرحبا", "🎉🎉"] * (N // 3),
        [f"🎉{k}" for k in range(N)],
        ["1"] * (N - 1) + ["9" * 500],
        ["", " "] * (N // 2),
        [f"{k}e308" for k in range(N)],
    ],
)
def test_odd_texts_neither_hang_nor_get_lost(typed, texts):
    table = typed.assign(text=texts)
    model = ADMERCS().fit(table)
    assert np.isfinite(model.scores_).all()
    assert model.report(table).to_dict()["rows"][0]["values"][4] in texts


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NaT, pd.NA, np.datetime64("NaT", "s")])
@pytest.mark.parametrize("kind", ["numbers", "dates"])
def test_gaps_change_nothing_about_the_kind_of_a_column(kind, nothing, tmp_path):
    """NaN is a number and NaT a date, but where texts are read they are gaps."""
    cells = [str(k) for k in range(N)]
    if kind == "dates":
        cells = pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d").tolist()
    # What begins with a zero is a code, however long.
    cells[7] = "0" * 20 + "1"
    cells[10:12] = nothing, nothing
    table = pd.DataFrame({"text": pd.Series(cells, dtype=object), "x": np.arange(N) % 7.0})
    model = ADMERCS().fit(table)
    (column, _), (facet,) = model.columns_, model.model_.schema.facets
    assert (column.display, column.n_missing, column.n_unread) == (
        {"numbers": "integer", "dates": "date"}[kind], 3, 1
    )  # fmt: skip
    assert facet.facet.kind == "kind"
    model.save(tmp_path / "model")
    batch = table.iloc[10:12]
    again = ADMERCS.load(tmp_path / "model")
    assert np.isfinite(again.score_samples(batch)).all()
    assert again.report(batch).to_dict()["n_rows"] == 2
    assert len(again.repair(batch).columns) == 9
    assert len(again.explain(batch)) == 2
