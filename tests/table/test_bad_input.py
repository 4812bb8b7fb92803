"""Tables that cannot be used are refused with a message that names the column and what to do."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from admercs.facets import prepare
from admercs.table import learn_schema, read_frame, summarise


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (scipy.sparse.eye(3), TypeError, r"Sparse data.*toarray"),
        (scipy.sparse.csr_array(np.eye(3)), TypeError, "Sparse data"),
        (np.ones(3), ValueError, r"(?s)Expected 2D array, got 1D array instead.*Reshape your data"),
        (np.ones((2, 2, 2)), ValueError, "Found array with dim 3"),
        (np.array(5.0), ValueError, "Expected 2D array, got scalar array"),
        ([1, 2, 3], ValueError, "Reshape your data"),
        (pd.Series([1, 2]), ValueError, "Reshape your data"),
        (pl.Series([1, 2]), ValueError, "Reshape your data"),
        (np.ones((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
        (np.ones((0, 3)), ValueError, r"Found array with 0 sample\(s\)"),
        (pd.DataFrame({"a": []}), ValueError, r"Found array with 0 sample\(s\)"),
        ([], ValueError, "Expected 2D array"),
        ([[1, 2], [3]], ValueError, "rows differ"),
        ({"a": [1, 2], "b": [1]}, ValueError, "differ in length: {'a': 2, 'b': 1}"),
        ({"a": [[1, 2], [3, 4]]}, ValueError, "'a' has 2 dimensions"),
        ({"1": [1, 2], 1: [3, 4]}, ValueError, "are called '1'"),
        ({}, ValueError, r"0 feature\(s\)"),
        ({"a": []}, ValueError, r"Found array with 0 sample\(s\)"),
        ({1, 2}, TypeError, "X is a set"),
        ([{"a": 1, "b": 2}, {"a": 3, "b": 4}], TypeError, "a list of records: pandas.DataFrame"),
        (np.zeros(3, [("a", float), ("b", int)]), TypeError, "a list of records"),
        ("table.csv", TypeError, "X is a str"),
        (None, TypeError, "X is a NoneType"),
        (np.ma.masked_array(np.ones((2, 2))), TypeError, "masked array.*filled"),
        (pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]), ValueError, "(?s)share a name.*'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "(?s)share a name.*'a'"),
        (pd.DataFrame(np.ones((2, 2)), columns=["1", 1]), ValueError, "are called '1'"),
    ],
)
def test_not_a_table(X, error, message):
    with pytest.raises(error, match=message):
        read_frame(X)


def test_a_lazy_table_of_a_cluster_is_refused():
    dask = pytest.importorskip("dask.dataframe")
    table = dask.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=1)
    with pytest.raises(TypeError, match=r"lazy table.*collect"):
        read_frame(table)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([[1.0], [{"foo": "bar"}]], TypeError, r"'x0' holds {'foo': 'bar'} of type dict in row 1"),
        ([[1.0], [{"foo": "bar"}]], TypeError, "argument must be .* string.* number"),
        (pd.DataFrame({"a": [[1], [2]]}), TypeError, r"'a' holds \[1\] of type list in row 0"),
        (pl.DataFrame({"a": [[1], [2]]}), TypeError, r"'a' holds nested values.*List\(Int64\)"),
        (pl.DataFrame({"a": [{"b": 1}]}), TypeError, "'a' holds nested values"),
        (pl.DataFrame({"a": [b"1", b"2"]}), TypeError, "'a' holds nested values or bytes"),
        ([[b"1"], [b"2"]], TypeError, "decode it to text"),
        ([[1j], [2]], ValueError, "(?s)Complex data not supported.*'x0' holds 1j in row 0"),
        (np.ones((3, 2)) * 1j, ValueError, "(?s)Complex data not supported.*'x0'"),
        (
            np.ones(3, dtype=[("a", "f8")]).reshape(3, 1),
            TypeError,
            r"'x0' holds \(1.0,\) of type tuple in row 0",
        ),
        (pd.DataFrame({"a": [1j, 2]}), ValueError, "(?s)Complex data not supported.*'a'"),
        (pd.DataFrame({"a": pd.period_range("2020", periods=2)}), TypeError, "'a' holds Period"),
        ([[10**400], [1]], ValueError, "'x0' holds 1000.*too large"),
        (np.ones((2, 1), "m8[M]"), TypeError, "months or years"),
        (np.array([[1.0], [np.inf]]), ValueError, r"'x0' contains infinity \(inf in row 1\)"),
        (
            pl.DataFrame({"a": [-np.inf, None]}),
            ValueError,
            r"'a' contains infinity \(-inf in row 0",
        ),
    ],
)
def test_unusable_columns(X, error, message):
    with pytest.raises(error, match=message):
        summarise(read_frame(X))


@pytest.mark.parametrize("dtype", ["f4", "f8", "O"])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, lambda X: pd.DataFrame(X).astype("f8")])
def test_infinity_in_a_new_table(dtype, kind):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(dtype)
    schema = learn_schema(summarise(read_frame(kind(X))))
    X[37, 1] = -np.inf
    prepared = prepare(read_frame(kind(X)), schema)
    prepared.block(0, 37)
    for read in (lambda: prepared.block(30, 50), lambda: prepared.column(1)):
        with pytest.raises(ValueError, match=r"infinity \(-inf in row 37\)"):
            read()


def test_infinity_in_a_column_that_is_not_used_does_not_matter():
    X = pd.DataFrame({"a": [1.0, 2.0] * 5, "b": [5.0] * 10})
    with pytest.warns(UserWarning, match="set aside"):
        schema = learn_schema(summarise(read_frame(X)))
    new = X.assign(b=np.inf)
    assert prepare(read_frame(new), schema).block(0, 10).shape == (1, 10)


@pytest.mark.parametrize(
    ("nominal", "message"),
    [
        (["colour"], "nominal names 'colour'.*Did you mean 'color'"),
        (["zzz"], "nominal names 'zzz', which is not a column of the table.$"),
        ([2], "nominal names column 2, but the table has 2 columns"),
        ("color", "nominal must be 'auto' or a list"),
    ],
)
def test_nominal_names_columns_of_the_table(nominal, message):
    frame = read_frame(pd.DataFrame({"color": ["a", "b"], "n": [1, 2]}))
    with pytest.raises(ValueError, match=message):
        summarise(frame, nominal)


def _schema(**columns: object) -> tuple[pd.DataFrame, object]:
    table = pd.DataFrame(columns)
    return table, learn_schema(summarise(read_frame(table)))


@pytest.mark.parametrize(
    ("fitted", "new", "message"),
    [
        (
            [1.0, 2.0],
            ["1.0", "two"],
            r"'a' held numbers.*now holds text: '1.0' in row 0.*into numbers",
        ),
        ([1.0, 2.0], [1.0, "two"], r"'a' held numbers.*several types: 'two' in row 1"),
        (["x", "y"], [1, 2], r"'a' held text.*now holds numbers: 1 in row 0"),
        (["x", "y"], ["x", 7], r"'a' held text.*: 7 in row 1"),
        ([True, False], ["yes", "no"], r"'a' held true/false values.*'yes' in row 0"),
        ([1, 2], pd.to_datetime(["2024-01-01", "2024-01-02"]), "'a' held numbers.*holds dates"),
        (pd.to_datetime(["2024-01-01", "2024-01-02"]), [1, 2], "'a' held dates.*holds numbers"),
        (
            pd.to_datetime(["2024-01-01", "2024-01-02"]),
            pd.to_datetime(["2024-01-01", "2024-01-02"]).tz_localize("UTC"),
            "now has a time zone, but had none",
        ),
    ],
)
def test_a_column_that_changed_its_kind(fitted, new, message):
    _, schema = _schema(a=fitted)
    with pytest.raises(ValueError, match=message):
        prepare(read_frame(pd.DataFrame({"a": new})), schema)


@pytest.mark.parametrize(
    ("fitted", "new"),
    [
        ([1, 2], [1.5, None]),
        ([1.5, 2.5], [True, False]),
        ([True, False], [1, 0]),
        (["x", "y"], [None, None]),
        ([1.0, 2.0], [None, None]),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], pd.to_datetime(["2024-01-01", "2024-01-05"])),
    ],
)
def test_a_column_that_changed_its_type_but_not_its_meaning(fitted, new):
    _, schema = _schema(a=fitted)
    block = prepare(read_frame(pd.DataFrame({"a": new})), schema).block(0, 2)
    assert np.isnan(block[0]).tolist() == pd.isna(np.array(new, object)).tolist()


def test_columns_that_do_not_match():
    table, schema = _schema(a=[1.0, 2.0], b=[3.0, 4.0])
    with pytest.raises(
        ValueError, match=r"(?s)unseen at fit time:\n- c\n.*yet now missing:\n- b\n"
    ):
        prepare(read_frame(table.rename(columns={"b": "c"})), schema)
    with pytest.raises(ValueError, match=r"yet now missing:\n- a\n$"):
        prepare(read_frame(table[["b"]]), schema)
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- c\n$"):
        prepare(read_frame(table.assign(c=1)), schema)
    with pytest.raises(
        ValueError, match="X has 1 features, but ADMERCS is expecting 2 features as"
    ):
        prepare(read_frame(table[["b"]].to_numpy()), schema)


def test_names_on_one_side_only():
    table, schema = _schema(a=[1.0, 2.0], b=[3.0, 4.0])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but ADMERCS was"):
        values = prepare(read_frame(table.to_numpy()), schema).column(1)
    np.testing.assert_array_equal(values, [3.0, 4.0])
    schema = learn_schema(summarise(read_frame(table.to_numpy())))
    with pytest.warns(UserWarning, match="X has feature names, but ADMERCS was fitted without"):
        prepare(read_frame(table), schema)


def test_columns_in_another_order():
    table, schema = _schema(a=[1.0, 2.0], b=[3.0, 4.0], c=["x", "y"])
    expected = prepare(read_frame(table), schema).block(0, 2)
    for names in (["c", "b", "a"], ["b", "a", "c"]):
        np.testing.assert_array_equal(
            prepare(read_frame(table[names]), schema).block(0, 2), expected
        )


def test_no_column_can_be_used():
    with pytest.raises(ValueError, match=r"No column can be used: 'x0' .*every row: 0.0.*'x1'"):
        learn_schema(summarise(read_frame(np.zeros((5, 2)))))
    with pytest.raises(ValueError, match="only 1 sample"):
        learn_schema(summarise(read_frame([[1.0, "a"]])))
