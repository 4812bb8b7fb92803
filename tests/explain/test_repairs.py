"""What a value should have been, in words and as a frame of proposals."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles, make_orders
from admercs.explain.column_words import ColumnWords
from admercs.explain.repairs import rounded
from admercs.table.columns import Column

CITIES = np.array(["Berlin", "Hamburg", "Leipzig", "Dresden"])


def orders(n: int = 800) -> pd.DataFrame:
    """Make orders whose columns follow from each other, so that a wrong value can be told."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, n)
    net = (20.0 * (kind + 1) + rng.normal(scale=0.5, size=n)).round(2)
    day = np.datetime64("2024-01-01") + 60 * kind + rng.integers(0, 5, n)
    table = {
        "city": CITIES[kind],
        "net (EUR)": net,
        "total (EUR)": (1.19 * net + rng.normal(scale=0.2, size=n)).round(2),
        "items": kind + 1,
        "paid on": day.astype("M8[s]"),
    }
    return pd.DataFrame(table)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return orders()


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> ADMERCS:
    return ADMERCS().fit(table)


def with_error(table: pd.DataFrame, column: str, value: Any) -> pd.DataFrame:
    row = table[table["net (EUR)"] == 60.34].head(1).copy()
    row[column] = row[column].astype(object)
    row.loc[:, column] = [value]
    return row.infer_objects()


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("net (EUR)", 603.4, "EUR instead of 603.4 (10 times too large?)"),
        ("net (EUR)", -60.34, "EUR instead of -60.34 (wrong sign?)"),
        ("city", "Leipizg", "If city were Leipzig instead of Leipizg (typing error?)"),
        ("city", "Hamburg", "If city were Leipzig instead of Hamburg"),
        ("items", 1, "If items were 3 instead of 1"),
        ("paid on", pd.Timestamp("2023-05-02"), "instead of 2023-05-02 (a year too early?)"),
    ],
)
def test_sentences(model: ADMERCS, table: pd.DataFrame, column, value, sentence) -> None:
    row = model.explain(with_error(table, column, value), noun="orders")[0]
    assert row.repairs[0].column == column
    assert row.repair_text.endswith(", nothing about this order would be odd.")
    assert sentence in row.repair_text
    assert str(row).splitlines()[1] == f"  {row.repair_text}"
    assert row.reasons[0].target == column


def test_a_factor_is_told_whichever_of_the_typical_values_it_leads_to() -> None:
    orders = make_orders(0, as_frame="pandas")
    rows = orders.rows("weight in grams")
    told = ADMERCS().fit(orders.table).explain(orders.table.iloc[rows], noun="orders")
    for row, right in zip(told, orders.clean["weight (kg)"].iloc[rows], strict=True):
        repair = row.repairs[0]
        assert (repair.column, repair.slip) == ("weight (kg)", "1,000 times too large?")
        # Not 0, however far the wrong value is away.
        assert 0.4 < repair.expected / right < 2.5


def test_expected_values_are_values_of_the_column(model: ADMERCS, table: pd.DataFrame) -> None:
    def first(column: str, value: Any) -> Any:
        return model.explain(with_error(table, column, value))[0].repairs[0]

    assert first("city", "Hamburg").expected == "Leipzig"
    assert first("items", 1).expected == 3
    day = first("paid on", pd.Timestamp("2023-05-02"))
    assert isinstance(day.expected, dt.datetime)
    assert day.expected.time() == dt.time()
    net = first("net (EUR)", 600.0)
    assert net.expected == round(net.expected, 2) == pytest.approx(60, abs=1)
    low, high = net.typical.intervals[0]
    assert low <= net.expected <= high
    assert net.value == 600
    assert net.value_text == "600 EUR"


def test_an_ordinary_row_is_not_told_what_to_repair(model: ADMERCS, table: pd.DataFrame) -> None:
    rows = model.explain(table)
    assert sum(bool(row.repair_text) for row in rows) < 0.1 * len(rows)


def test_a_missing_value_has_a_repair(model: ADMERCS, table: pd.DataFrame) -> None:
    row = model.explain(with_error(table, "items", None).astype({"items": float}))[0]
    assert row.repairs[0].text.startswith("If items were recorded (3), ")
    assert row.repairs[0].value is None


def test_repairs_are_ready_for_json(model: ADMERCS, table: pd.DataFrame) -> None:
    row = model.explain(with_error(table, "paid on", pd.Timestamp("2023-05-02")))[0].to_dict()
    again = json.loads(json.dumps(row, allow_nan=False))
    assert again["repairs"][0]["column"] == "paid on"
    assert again["repairs"][0]["expected"].startswith("2024-0")


def test_proposals_come_in_the_library_of_the_table() -> None:
    cars = make_electric_vehicles(0, as_frame="pandas").table
    before = cars.copy(deep=True)
    model = ADMERCS().fit(cars)
    frame = model.repair(cars, noun="cars")
    pd.testing.assert_frame_equal(cars, before)
    assert list(frame.columns[:4]) == ["label", "column", "value", "expected"]
    assert len(frame) > 5
    flagged = model.predict(cars) < 0
    assert flagged[frame["label"]].all()
    assert (frame["evidence_removed"] > frame["evidence"] / 2).all()
    other = model.repair(pl.from_pandas(cars), noun="cars")
    assert other["text"].to_list() == frame["text"].to_list()
    columns = model.repair(cars.to_dict("list") | {"production date": cars["production date"]})
    assert columns["column"] == frame["column"].tolist()
    lazy = model.repair(dd.from_pandas(cars, npartitions=3), noun="cars")
    pd.testing.assert_frame_equal(lazy.compute().reset_index(drop=True), frame, check_dtype=False)


def test_a_look_alike_should_be_what_it_resembles() -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["Books", "Garden", "Kitchen"], 2000, p=[0.2, 0.3, 0.5]).astype(object)
    kind[7], kind[8] = "Bookz", "garden"
    table = pd.DataFrame({"kind": kind, "sum": rng.normal(size=2000)})
    model = ADMERCS().fit(table)
    first, second = model.explain(table.iloc[[7, 8]])
    assert first.repairs[0].expected == "Books"
    assert second.repairs[0].expected == "Garden"
    found = {value.label: value.expected for value in model.top_cells(table, 2)}
    assert found == {7: "Books", 8: "Garden"}


def test_a_cell_of_facets_is_told_by_the_one_that_is_odd() -> None:
    rng = np.random.default_rng(0)
    names = rng.choice(["ann", "bob", "eve", "kim"], 2000)
    mail = [f"{name}{k}@mail.com" for name, k in zip(names, range(2000), strict=True)]
    mail[9] = "ann_at_mail.com"
    table = pd.DataFrame({"mail": mail, "sum": rng.normal(size=2000)})
    row = ADMERCS().fit(table).explain(table.iloc[[9]])[0]
    assert row.repair_text.startswith("If mail were an e-mail address, ")
    assert "typically have an e-mail address" in row.reasons[0].text


def test_an_expected_value_is_the_one_that_most_rows_share_or_round() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    loss = np.where(np.arange(n) < 3900, 0, rng.integers(1400, 2500, n))
    weight = rng.normal(187_000, 50_000, n).round()
    table = pd.DataFrame({"loss": loss, "weight": weight})
    table.loc[0, "loss"], table.loc[1, "weight"] = 4356, 1_455_435
    first, second = ADMERCS().fit(table).explain(table.head(2))
    assert first.repairs[0].expected == 0
    assert first.repairs[0].slip == ""
    assert second.repairs[0].expected % 1000 == 0


def test_what_is_expected_lies_within_the_column() -> None:
    """The density of a column that is mostly 0 goes on below 0, where no value is."""
    loss = Column("loss", 0, "numeric", "integer", low=0.0, high=4356.0)
    words = ColumnWords(loss, "loss", "", 1.0)
    assert rounded(words, -10.2, (-20.0, 0.0)) == 0.0
    assert rounded(words, 4400.0, (4300.0, 4500.0)) == 4356.0
    assert rounded(words, 1902.3, (1800.0, 2000.0)) == 1900.0
