"""Every library's table reads the same."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from admercs.facets import prepare
from admercs.table import learn_schema, read_frame, summarise
from tests.table.conftest import KINDS, N, to_polars

pytestmark = pytest.mark.filterwarnings("ignore:.*set aside")


def test_kinds_and_missing_values_are_found(library, columns):
    frame = read_frame(library(columns))
    assert frame.n_rows == N
    for j, (name, kind) in enumerate(KINDS.items()):
        raw = frame.column(j)
        assert raw.kind == kind, name
        assert raw.is_missing().tolist() == [value is None for value in columns[name]], name


def test_names(library, columns):
    table = library(columns)
    frame = read_frame(table)
    if isinstance(table, (np.ndarray, list)):
        assert frame.names == [f"x{j}" for j in range(len(KINDS))]
        assert not frame.named
    else:
        assert frame.names == list(KINDS)
        assert frame.named
    assert frame.has_names == frame.named


def test_all_libraries_give_the_same_working_values(library, columns):
    reference = read_frame(to_polars(columns))
    schema = learn_schema(summarise(reference))
    expected = prepare(reference, schema).block(0, N)
    frame = read_frame(library(columns))
    own = learn_schema(summarise(frame))
    for column, other in zip(own.used, schema.used, strict=True):
        assert column == replace(other, name=column.name)
    prepared = prepare(frame, own)
    np.testing.assert_array_equal(prepared.block(0, N), expected)
    for m in range(prepared.n_columns):
        np.testing.assert_array_equal(prepared.column(m), expected[m])
    np.testing.assert_array_equal(prepared.block(13, 29), expected[:, 13:29])
    np.testing.assert_array_equal(prepared.block(50, 90), expected[:, 50:])
    for rows in ([], [7], [2, 3, 40, N - 1]):
        some = np.array(rows, np.int64)
        np.testing.assert_array_equal(prepared.some(some), expected[:, some])


def test_working_values_mean_what_they_should(columns):
    frame = read_frame(to_polars(columns))
    schema = learn_schema(summarise(frame))
    prepared = prepare(frame, schema)
    at = {column.name: m for m, column in enumerate(schema.used)}

    def value(name: str, row: int) -> float:
        return float(prepared.column(at[name])[row])

    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    microseconds = (columns["seen"][5] - epoch) // dt.timedelta(microseconds=1)
    assert value("seen", 5) + schema.used[at["seen"]].origin == microseconds
    assert schema.used[at["seen"]].time_zone == "Europe/Brussels"
    assert value("built", 0) == -31
    assert value("opens", 2) == (2 * 3600 + 30 * 60 + 1) * 1e6 + 2
    assert value("trip", 2) == 180e6 + 2
    assert value("tax", 3) == 0.75
    color = schema.used[at["couleur é"]]
    assert color.categories[int(value("couleur é", 3)) - 1] == "日本"


def test_categories_of_all_libraries():
    colors = ["red", "blue", None, "red", "grün"] * 6
    tables = [
        pd.DataFrame({"c": pd.Categorical(colors, categories=["grün", "blue", "red", "never"])}),
        pl.DataFrame({"c": pl.Series(colors, dtype=pl.Categorical)}),
        pl.DataFrame({"c": pl.Series(colors, dtype=pl.Enum(["grün", "blue", "red", "never"]))}),
        pa.table({"c": pa.array(colors).dictionary_encode()}),
        pd.DataFrame({"c": pd.array(colors, dtype="string")}),
        np.array(colors, dtype=object).reshape(-1, 1),
    ]
    for table in tables:
        frame = read_frame(table)
        column = learn_schema(summarise(frame)).used[0]
        assert column.role == "nominal"
        assert column.categories == ("red", "blue", "grün")
        assert column.n_missing == 6
        codes = prepare(frame, learn_schema(summarise(frame))).column(0)
        np.testing.assert_array_equal(codes[:5], [1, 2, np.nan, 1, 3])


def test_a_pandas_category_of_numbers_is_nominal():
    frame = read_frame(pd.DataFrame({"c": pd.Categorical([3, 1, None, 3] * 5)}))
    schema = learn_schema(summarise(frame))
    assert schema.used[0].role == "nominal"
    assert schema.used[0].categories == (3, 1)
    np.testing.assert_array_equal(prepare(frame, schema).column(0)[:4], [1, 2, np.nan, 1])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "i1", "u2", "i8", "u8", "?", ">f8", "O"])
def test_numpy_types(dtype):
    values = np.array([[0, 1], [1, 0], [1, 1]] * 5).astype(dtype)
    frame = read_frame(values)
    schema = learn_schema(summarise(frame))
    assert len(schema.used) == 2
    expected = "nominal" if dtype == "?" else "numeric"
    assert schema.used[0].role == expected
    assert prepare(frame, schema).block(0, 3).dtype == np.float64


def test_numpy_text_and_dates():
    assert read_frame(np.array([["a", "b"], ["c", "d"]])).column(0).kind == "text"
    dates = np.array([["2024-01", "NaT"], ["2024-03", "2024-02"]], dtype="M8[M]")
    raw = read_frame(dates).column(1)
    assert (raw.kind, raw.unit, raw.values[1]) == ("date", "D", 19754)
    minutes = read_frame(dates.astype("M8[m]")).column(0)
    assert (minutes.kind, minutes.unit) == ("datetime", "s")
    assert read_frame(np.ones((2, 1), dtype="m8[h]")).column(0).values.tolist() == [3600, 3600]


def test_columns_are_views_of_an_array():
    table = np.arange(12.0).reshape(4, 3)
    assert np.shares_memory(read_frame(table).column(1).values, table)
    frame = pd.DataFrame(table)
    assert np.shares_memory(read_frame(frame).column(1).values, frame.to_numpy())


@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_arrays_of_either_order(order):
    table = np.asarray(np.random.default_rng(0).normal(size=(30, 3)), order=order)
    table.setflags(write=False)
    frame = read_frame(table)
    schema = learn_schema(summarise(frame))
    block = prepare(frame, schema).block(4, 20)
    assert block.flags.c_contiguous
    np.testing.assert_array_equal(block, table[4:20].T)


def test_numbers_as_column_names():
    frame = read_frame(pd.DataFrame(np.ones((3, 2)), columns=[7, 3]))
    assert frame.names == ["7", "3"]
    assert frame.named
    assert not frame.has_names


def test_every_null_is_missing():
    values = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s"), 1.5]
    raw = read_frame(np.array(values, dtype=object).reshape(-1, 1)).column(0)
    assert raw.is_missing().tolist() == [True] * 6 + [False]
    assert raw.kind == "float"


def test_objects_of_one_column():
    def kind(*values: object) -> str:
        return read_frame([[value] for value in values]).column(0).kind

    stamp = pd.Timestamp("2024-05-01 12:00")
    assert kind(stamp, dt.datetime(2024, 1, 1)) == "datetime"
    assert kind(stamp.tz_localize("UTC"), stamp) == "mixed"
    assert kind(np.datetime64("2024-05-01T00:00:00.000000001"), stamp) == "datetime"
    assert kind(True, 1) == "mixed"
    assert kind(1, 2.5) == "float"
    assert kind(2**64 - 1, 0) == "integer"
    assert kind(2**64, -1) == "float"
    assert kind(None, None) == "empty"
    assert kind(dt.timedelta(1), pd.Timedelta(1, "s")) == "duration"


@pytest.mark.parametrize("name", ["count", "text", "", "日本"])
def test_texts_are_counted_and_encoded_by_their_own_library(library, name):
    texts = ["a", None, "b", "", "a", "ß"] * 3
    table = library({name: texts, "seen": [None] * 18, "tax": [None] * 18})
    frame = read_frame(table)
    schema = learn_schema(summarise(frame))
    assert schema.used[0].categories == ("a", "", "b", "ß")
    np.testing.assert_array_equal(prepare(frame, schema).column(0)[:6], [1, np.nan, 3, 2, 1, 4])


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_no_character_of_a_text_gets_lost(dtype):
    texts = ["a", "b", "\x00", "a\x00"]  # numpy's own texts end before a NUL character
    frame = read_frame(pl.DataFrame({"t": pl.Series(texts, dtype=dtype), "k": range(4)}))
    assert frame.column(0).values.tolist() == texts
    assert set(summarise(frame).columns[0].counts) == set(texts)
