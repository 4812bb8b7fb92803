"""A table in parts is the same as the table as a whole."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import admercs.table.summary as module
from admercs.facets import prepare
from admercs.table import learn_schema, read_frame, summarise
from admercs.table.summary import merge_summaries
from tests.table.conftest import N, make_columns, to_pandas, to_polars

pytestmark = pytest.mark.filterwarnings("ignore:.*set aside")


@cache
def table_of(make: Any) -> Any:
    return make(make_columns())


def parts_of(table: Any, cuts: list[int], n_rows: int) -> list[Any]:
    bounds = [0, *sorted(min(cut, n_rows) for cut in cuts), n_rows]
    return [table[start:stop] for start, stop in pairwise(bounds)]


def merged(parts: list[Any], nominal: Any = "auto") -> module.TableSummary:
    return merge_summaries(
        summarise(read_frame(part, allow_empty=True), nominal, partition)
        for partition, part in enumerate(parts)
    )


@settings(max_examples=6)
@given(st.lists(st.integers(0, N), max_size=6), st.randoms(use_true_random=False))
@pytest.mark.parametrize("make", [to_polars, to_pandas])
@pytest.mark.parametrize("nominal", ["auto", ["doors", "tax", "sold", "trip"]])
def test_parts_in_any_order_give_the_summary_of_the_whole(make, nominal, cuts, random):
    table = table_of(make)
    whole = merged([table], nominal)
    parts = parts_of(table, cuts, N)
    random.shuffle(parts)
    assert merged(parts, nominal) == whole
    assert learn_schema(merged(parts, nominal)) == learn_schema(whole)


numbers = st.one_of(st.none(), st.integers(-3, 3), st.floats(-1e6, 1e6, width=32))
texts = st.one_of(st.none(), st.sampled_from(["a", "ß", "日"]), st.text(max_size=2))


@settings(max_examples=200)
@given(st.lists(st.tuples(numbers, texts), min_size=2, max_size=40), st.data())
def test_parts_give_the_schema_and_the_values_of_the_whole(rows, data):
    schema_of = {"n": pl.Float64, "t": pl.String, "k": pl.Int64}
    table = pl.DataFrame([(*row, k) for k, row in enumerate(rows)], schema=schema_of, orient="row")
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=4))
    parts = parts_of(table, cuts, len(rows))
    whole = learn_schema(merged([table]))
    assert learn_schema(merged(parts)) == whole
    pieces = [prepare(read_frame(part, allow_empty=True), whole) for part in parts]
    values = np.concatenate([piece.block(0, len(rows)) for piece in pieces], axis=1)
    np.testing.assert_array_equal(values, prepare(read_frame(table), whole).block(0, len(rows)))


@settings(max_examples=10)
@given(st.permutations(range(N)))
def test_the_order_of_rows_does_not_matter(order):
    table = table_of(to_polars)
    assert merged([table[list(order)]]) == merged([table])


def test_too_many_distinct_values_are_given_up_together(monkeypatch):
    monkeypatch.setattr(module, "NOMINAL_CAP", 30)
    table = pd.DataFrame({"a": [f"t{i % 31}" for i in range(310)], "b": np.arange(310) % 31})
    whole = merged([table], ["b"])
    assert [column.counts for column in whole.columns] == [None, None]
    assert merged([table[:20], table[20:40], table[40:]], ["b"]) == whole
    fits = table[table["a"] != "t30"]
    assert len(merged([fits[:20], fits[20:]], ["b"]).columns[0].counts or {}) == 30


def test_numbers_are_remembered_up_to_a_cap():
    table = np.arange(256.0).reshape(-1, 1)
    assert len(merged([table[:100], table[50:]]).columns[0].counts or {}) == 256
    more = np.arange(257.0).reshape(-1, 1)
    assert merged([more[:100], more[50:]]).columns[0].counts is None
    assert merged([more]).columns[0].counts is None


def test_a_part_without_a_value_fits_to_anything():
    parts = [
        pd.DataFrame({"a": [np.nan, np.nan], "b": [None, None]}),
        pd.DataFrame({"a": ["x", "y"], "b": [True, False]}),
        pd.DataFrame({"a": np.empty(0), "b": np.empty(0)}),
    ]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        summary = merged([parts[k] for k in order])
        assert [column.kind for column in summary.columns] == ["text", "boolean"]
        assert [column.n_missing for column in summary.columns] == [2, 2]
        assert summary.n_rows == 4


def test_integers_and_floats_become_floats():
    one, other = pd.DataFrame({"a": [1, 2, 3]}), pd.DataFrame({"a": [1.5, np.nan, 3.0]})
    whole = merged([pd.concat([one, other])])
    assert merged([one, other]) == merged([other, one]) == whole
    assert whole.columns[0].kind == "float"


def test_nominal_numbers_and_texts_become_texts():
    one, other = pd.DataFrame({"a": [1, 2, 1]}), pd.DataFrame({"a": ["1", "x", None]})
    whole = merged([pd.concat([one, other])], ["a"])
    assert merged([one, other], ["a"]) == merged([other, one], ["a"]) == whole
    assert whole.columns[0].counts == {"1": 3, "2": 1, "x": 1}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"a": ["x"], "b": [1.0]}, "'a' of partition 1 is nominal .text., but numeric .integer."),
        ({"a": pd.to_datetime(["2024-01-01"]), "b": [1.0]}, "'a' of partition 1 is.*datetime"),
        ({"a": [1], "c": [1.0]}, r"Partition 1 lacks \['b'\]"),
        ({"a": [1], "b": [1.0], "c": [1]}, r"Partition 1 has the further columns \['c'\]"),
        ({"b": [1.0], "a": [1]}, "Partition 1 has its columns in another order"),
    ],
)
def test_parts_that_differ(other, message):
    first = pd.DataFrame({"a": [1, 2], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match=message):
        merged([first, pd.DataFrame(other)])


def test_dates_of_different_units_and_zones():
    stamps = pd.DataFrame({"a": pd.to_datetime(["2024-01-01"])}).astype("M8[us]")
    for other in (stamps.astype("M8[ns]"), stamps.assign(a=stamps["a"].dt.tz_localize("UTC"))):
        with pytest.raises(ValueError, match=r"'a' of partition 1 is numeric .datetime counted in"):
            merged([stamps, other])


def test_nothing_at_all():
    empty = merged([pd.DataFrame({"a": []}), pd.DataFrame({"a": []})])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        learn_schema(empty)
