"""What becomes of a column."""

from __future__ import annotations

import datetime as dt
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from admercs.facets import prepare
from admercs.table import Schema, learn_schema, read_frame, summarise

pytestmark = pytest.mark.filterwarnings("ignore:.*set aside")


def learn(table: object, nominal: object = "auto") -> Schema:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return learn_schema(summarise(read_frame(table), nominal))


def test_one_warning_names_all_columns_that_are_set_aside():
    table = pd.DataFrame(
        {
            "value": np.arange(30.0),
            "id": [f"car {i}" for i in range(30)],
            "make": ["AD"] * 30,
            "note": [None] * 30,
        }
    )
    with pytest.warns(UserWarning, match="set aside") as caught:
        schema = learn_schema(summarise(read_frame(table)))
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "These 3 columns are set aside: 'id' (an identifier, 30 distinct values in 30 rows); "
        "'make' (the same value in every row: 'AD'); 'note' (no values)."
    )
    assert [column.name for column in schema.used] == ["value"]
    assert [column.role for column in schema.columns[1:]] == ["set aside"] * 3
    assert schema.columns[3].n_missing == 30


def test_identifiers():
    def roles(texts: list[str | None]) -> str:
        table = pd.DataFrame({"a": texts, "b": np.arange(len(texts))})
        return learn_schema(summarise(read_frame(table))).columns[0].role

    assert roles([f"t{i}" for i in range(10)]) == "nominal"  # ten rows say nothing
    assert roles([f"t{i}" for i in range(20)]) == "set aside"
    assert roles([f"t{i // 2}" for i in range(600)]) == "nominal"  # each occurs twice
    assert roles([f"t{i * 2 // 3}" for i in range(600)]) == "set aside"
    assert roles([f"t{i}" if i < 30 else None for i in range(600)]) == "set aside"


def test_an_identifier_that_the_user_wants_is_kept():
    table = pd.DataFrame({"id": [f"car {i}" for i in range(300)]})
    column = learn(table, ["id"]).used[0]
    assert len(column.categories) == 253
    assert column.n_grouped == 47


def test_numeric_identifiers_are_numbers():
    assert learn(pd.DataFrame({"id": np.arange(300)})).used[0].role == "numeric"


def test_the_same_value_or_missing_is_a_pattern():
    table = pd.DataFrame({"a": [5.0, None] * 10, "b": ["x", None] * 10})
    schema = learn(table)
    assert [column.role for column in schema.used] == ["numeric", "nominal"]
    assert schema.used[0].distinct == (5.0,)
    assert schema.used[1].categories == ("x",)
    assert learn(pd.DataFrame({"a": [5.0, None, None]})).used[0].distinct == (5.0,)


def test_few_distinct_numbers_that_repeat():
    def distinct(values: np.ndarray) -> tuple[float, ...]:
        return learn(np.asarray(values).reshape(-1, 1)).used[0].distinct

    assert distinct(np.arange(36) % 12) == tuple(map(float, range(12)))
    assert distinct(np.arange(39) % 13) == ()
    assert distinct(np.arange(35) % 12) == ()  # they hardly repeat
    assert distinct(np.arange(5.0)) == ()
    assert distinct(np.array([0.0, -0.0, 1.0] * 5)) == (0.0, 1.0)
    assert distinct(np.array([[0.1, np.nan, 0.3] * 5])) == (0.1, 0.3)


def test_categories_are_ordered_by_frequency_then_by_text():
    column = learn([["b"], ["a"], ["c"], ["c"], ["é"], ["Z"], ["a"], ["c"]]).used[0]
    assert column.categories == ("c", "a", "Z", "b", "é")


def test_rare_categories_share_a_code():
    texts = [f"t{i:03d}" for i in range(400) for _ in range(3 if i < 300 else 2)]
    schema = learn(pd.DataFrame({"a": texts}))
    column = schema.used[0]
    assert (len(column.categories), column.n_grouped) == (253, 147)
    new = read_frame(pd.DataFrame({"a": ["t000", "t252", "t253", "t399", "unseen", None]}))
    np.testing.assert_array_equal(prepare(new, schema).column(0), [1, 253, 254, 254, 254, np.nan])


@pytest.mark.parametrize(
    ("values", "categories", "display"),
    [
        ([3, 1, 3, None], (3, 1), "integer"),
        ([2**60 + 1, 2**60, 2**60 + 1, None], (2**60 + 1, 2**60), "integer"),
        ([0.5, 0.25, 0.5, None], (0.5, 0.25), "number"),
        ([True, False, True, None], (True, False), "boolean"),
        ([7, "7", "x", None], ("7", "x"), "text"),
        ([dt.date(2024, 5, 1), dt.date(2024, 1, 1), dt.date(2024, 5, 1), None],
         ("2024-05-01", "2024-01-01"), "date"),
        ([dt.datetime(2024, 5, 1, 12), dt.datetime(2024, 1, 1), dt.datetime(2024, 5, 1, 12), None],
         ("2024-05-01 12:00", "2024-01-01"), "datetime"),
        ([dt.time(12), dt.time(6, 30), dt.time(12), None], ("12:00:00", "06:30:00"), "time"),
        ([dt.timedelta(2), dt.timedelta(0, 5), dt.timedelta(2), None],
         ("2 days, 0:00:00", "0:00:05"), "duration"),
    ],
)  # fmt: skip
def test_anything_can_be_nominal(values, categories, display):
    table = np.array(values, dtype=object).reshape(-1, 1)
    schema = learn(table, [0])
    column = schema.used[0]
    assert (column.role, column.display) == ("nominal", display)
    assert column.categories == categories
    assert list(map(type, column.categories)) == list(map(type, categories))
    expected = [1, 2, 1, np.nan] if "7" not in categories else [1, 1, 2, np.nan]
    np.testing.assert_array_equal(prepare(read_frame(table), schema).column(0), expected)
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_nominal_by_name_and_position():
    table = pd.DataFrame({"a": [1, 2, 1], "b": [1, 2, 1], "c": [1, 2, 1]})
    roles = [column.role for column in learn(table, ["a", -1]).used]
    assert roles == ["nominal", "numeric", "nominal"]


def test_nominal_dates_do_not_depend_on_the_unit():
    days = ["2024-05-01", "2024-05-02 06:00:00", "2024-05-01"]
    table = pd.DataFrame({"a": pd.to_datetime(days, format="mixed")})
    schema = learn(table.astype({"a": "M8[ns]"}), ["a"])
    for unit in ("s", "us", "ns"):
        frame = read_frame(table.astype({"a": f"M8[{unit}]"}))
        np.testing.assert_array_equal(prepare(frame, schema).column(0), [1, 2, 1])


def test_integers_beyond_floating_point_keep_their_digits():
    values = [2**60 + k for k in (0, 1, 2, 3, 500)] * 2
    for table in (
        pd.DataFrame({"a": pd.array([*values, None], dtype="Int64")}),
        pl.DataFrame({"a": [*values, None]}),
        np.array([*values, None], dtype=object).reshape(-1, 1),
    ):
        schema = learn(table)
        assert schema.used[0].origin == 2**60
        working = prepare(read_frame(table), schema).column(0)
        np.testing.assert_array_equal(working, [*(v - 2**60 for v in values), np.nan])


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_no_difference_of_integers_overflows(dtype):
    info = np.iinfo(dtype)
    table = np.array([[info.min], [info.max], [info.min + 1], [info.max - 2**40]], dtype=dtype)
    schema = learn(table)
    origin = schema.used[0].origin
    assert info.min in (origin, 0)
    working = prepare(read_frame(table), schema).column(0)
    assert working.tolist() == [float(int(v) - origin) for v in table[:, 0]]
    other = np.array([[0], [1]], dtype=np.int64 if dtype == np.uint64 else np.uint64)
    expected = [float(0 - origin), float(1 - origin)]
    assert prepare(read_frame(other), schema).column(0).tolist() == expected


def test_huge_unsigned_integers():
    values = np.array([[2**64 - 1], [2**64 - 5], [2**64 - 3], [2**64 - 5]], dtype=np.uint64)
    schema = learn(values)
    assert prepare(read_frame(values), schema).column(0).tolist() == [4, 0, 2, 0]
    lower = np.array([[2**64 - 9]], dtype=np.uint64)
    assert prepare(read_frame(lower), schema).column(0).tolist() == [-4]


def test_nanoseconds_keep_their_order():
    start = np.datetime64("2024-05-01T00:00:00.000000000", "ns").astype(np.int64)
    stamps = (start + np.array([0, 1, 2, 10**15, 10**15 + 1])).view("M8[ns]")
    for table in (stamps.reshape(-1, 1), pd.DataFrame({"a": stamps}), pl.DataFrame({"a": stamps})):
        schema = learn(table)
        assert schema.used[0].unit == "ns"
        working = prepare(read_frame(table), schema).column(0)
        assert working.tolist() == [0, 1, 2, 10**15, 10**15 + 1]


@pytest.mark.parametrize("fitted", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("new", ["D", "s", "ms", "us", "ns"])
def test_dates_in_another_unit(fitted, new):
    days = np.array(["2024-05-01", "2024-05-03", "2024-05-02"], dtype="M8[D]").reshape(-1, 1)
    schema = learn(days.astype(f"M8[{fitted}]"))
    expected = prepare(read_frame(days.astype(f"M8[{fitted}]")), schema).column(0)
    working = prepare(read_frame(days.astype(f"M8[{new}]")), schema).column(0)
    np.testing.assert_array_equal(working, expected)


def test_instants_do_not_depend_on_the_time_zone():
    stamps = pd.date_range("2024-10-26 22:00", periods=8, freq="h", tz="UTC")
    schema = learn(pd.DataFrame({"a": stamps}))
    local = pd.DataFrame({"a": stamps.tz_convert("Europe/Brussels")})
    np.testing.assert_array_equal(
        prepare(read_frame(local), schema).column(0),
        prepare(read_frame(pd.DataFrame({"a": stamps})), schema).column(0),
    )


@pytest.mark.parametrize("damage", [{}, {"columns": 3}, {"columns": [{"name": "a"}]}])
def test_a_damaged_description(damage):
    with pytest.raises(ValueError, match="description"):
        Schema.from_dict(damage)
    good = learn([[1.0], [2.0]]).to_dict()
    with pytest.raises(ValueError, match="description"):
        Schema.from_dict({**good, **damage, "kinds": []})
    good["columns"][0]["surprise"] = 1
    with pytest.raises(ValueError, match="surprise"):
        Schema.from_dict(good)


def test_a_column_with_a_million_categories_is_quickly_set_aside():
    table = pl.DataFrame({"id": np.arange(1_000_000).astype(str), "n": np.arange(1_000_000)})
    with pytest.warns(UserWarning, match="'id' .*more than 100,000 distinct values"):
        schema = learn_schema(summarise(read_frame(table)))
    assert [column.name for column in schema.used] == ["n"]
