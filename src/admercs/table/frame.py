"""Reading a table, whatever library it comes from, one column at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse

from admercs.arrays import Array, Ints
from admercs.table.objects import from_objects
from admercs.table.values import RawColumn, from_times
from admercs.table.zones import zone_name

_OBJECTS = (nw.Object, nw.Unknown, nw.Time, nw.Categorical, nw.Enum)


class Frame:
    """A table that hands out its columns one by one and never copies itself as a whole.

    Columns of an array are called ``x0``, ``x1``, … ``named`` says whether the table has names,
    ``has_names`` whether all of them are strings, as scikit-learn's ``feature_names_in_`` demands.
    """

    def __init__(self, table: Array | nw.DataFrame[Any]) -> None:
        self._table: Any = table
        self.n_rows, self.n_columns = table.shape
        self.array = table if isinstance(table, np.ndarray) else None
        self.named = self.array is None
        in_table = None if isinstance(table, np.ndarray) else table.columns
        names = in_table or [f"x{j}" for j in range(self.n_columns)]
        self.names = list(map(str, names))
        self.has_names = self.named and all(isinstance(name, str) for name in names)
        self._known: dict[int, RawColumn] = {}

    def column(self, position: int, start: int = 0, stop: int | None = None) -> RawColumn:
        """Return a column, or the stretch ``start:stop`` of its rows.

        The kind is that of the whole column, whichever stretch is asked for. The values may be a
        view of the table: do not write into them.
        """
        stop = self.n_rows if stop is None else stop
        if position in self._known:
            return self._known[position].rows(start, stop)
        read = from_array if self.array is not None else from_series
        values, name = self._table[:, position], self.names[position]
        dtype = values.dtype
        if dtype in _OBJECTS if self.named else dtype.kind not in "fiub":
            # The kind of objects is only known after a look at each of them, once.
            self._known[position] = read(values, name)
            return self._known[position].rows(start, stop)
        return read(values if (start, stop) == (0, self.n_rows) else values[start:stop], name)

    def take(self, rows: Ints) -> Frame:
        """Return some of the rows as a table of their own."""
        return Frame(self._table[rows] if self.array is not None else self._table[rows.tolist()])

    def texts(self, position: int) -> nw.Series[Any] | None:
        """Return a column of text in the hands of its own library; None for any other column."""
        if not isinstance(self._table, nw.DataFrame):
            return None
        series: nw.Series[Any] = self._table[:, position]
        if series.dtype == nw.String:
            return series
        if series.implementation.is_polars() and series.dtype in (nw.Categorical, nw.Enum):
            return series.cast(nw.String)
        return None


class DictFrame(Frame):
    """A dict of columns: one-dimensional arrays or lists, all of the same length."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        check_names(columns)
        self._known = {k: _read_column(*each) for k, each in enumerate(columns.items())}
        self.names = [column.name for column in self._known.values()]
        sizes = {column.name: len(column.values) for column in self._known.values()}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"The columns differ in length: {sizes}")
        self.n_rows, self.n_columns = next(iter(sizes.values()), 0), len(sizes)
        self.array, self.named, self._table = None, True, None
        self.has_names = all(isinstance(name, str) for name in columns)
        self._columns = columns

    def take(self, rows: Ints) -> Frame:
        """Return some of the rows as a table of their own."""
        return DictFrame(
            {
                name: values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows]
                for name, values in self._columns.items()
            }
        )


def _read_column(name: Any, values: Any) -> RawColumn:
    """Read one column of a dict; a list may hold a number and a text, so it is read as objects."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ValueError(f"Column {name!r} has {array.ndim} dimensions: a column has one.")
    return from_array(array, str(name))


def check_names(names: Iterable[Any]) -> None:
    """Refuse names that are equal as text."""
    twice = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if twice:
        raise ValueError(f"Several columns are called {twice[0]!r}: give each its own name.")


def from_array(values: Array, name: str) -> RawColumn:
    """Read a one-dimensional numpy array."""
    kind = values.dtype.kind
    if kind == "f":
        # Half precision is slow to compute with, and a long double is wider than a working value.
        plain = values if values.itemsize in (4, 8) else values.astype(np.float64)
        return RawColumn(name, "float", plain)
    if kind in "iub":
        return RawColumn(name, "boolean" if kind == "b" else "integer", values)
    if kind in "UTO":
        return from_objects(values.astype(object, copy=False), name)
    if kind in "mM":
        return from_times(values, name)
    if kind == "c":
        raise ValueError(
            f"Complex data not supported\nColumn {name!r} holds complex numbers: give their real "
            "and imaginary parts as two columns."
        )
    raise _unusable(name, values.dtype)


def _unusable(name: str, dtype: object) -> TypeError:
    return TypeError(
        f"Column {name!r} has the type {dtype}, which cannot be used: turn it into numbers, text "
        "or dates, or leave the column out."
    )


def from_series(series: nw.Series[Any], name: str) -> RawColumn:
    """Read a narwhals series.

    Nulls are always taken from ``is_null``: what a library puts in their place in a numpy array
    differs, and integers that share a column with nulls would lose digits on the way through
    floats.
    """
    dtype = series.dtype
    if dtype.is_nested() or dtype == nw.Binary:
        raise TypeError(
            f"Column {name!r} holds nested values or bytes (its type is {dtype}), but an argument "
            "must be a string, a number or a date: turn it into columns of plain values, "
            "or leave it out."
        )
    if dtype == nw.Decimal:
        series = series.cast(nw.Float64)
    if dtype == nw.Decimal or dtype.is_float():
        return from_array(series.to_numpy(), name)
    missing = series.is_null().to_numpy() if series.null_count() else None
    if dtype.is_integer() or dtype == nw.Boolean:
        if missing is not None:
            series = series.fill_null(False if dtype == nw.Boolean else 0)
        return replace(from_array(series.to_numpy(), name), missing=missing)
    if isinstance(dtype, nw.Datetime):
        zone: Any = dtype.time_zone
        if zone and series.implementation.is_pandas():
            zone = series.to_native().dt.tz or zone  # the zone itself tells more than its name
        raw = from_array(series.to_numpy(), name)
        return replace(raw, kind="datetime", time_zone=zone_name(zone) if zone else "")
    if dtype == nw.String:
        return RawColumn(name, "text", series.to_numpy(), missing)
    if dtype in (nw.Date, nw.Duration, *_OBJECTS):
        values = series.to_numpy()
        if missing is not None and values.dtype == object:
            values = values.copy()  # what the library handed out may be its own memory
            values[missing] = None
        return replace(from_array(values, name), categorical=dtype in (nw.Categorical, nw.Enum))
    raise _unusable(name, dtype)


def read_frame(X: Any, *, allow_empty: bool = False) -> Frame:
    """Read a table from any of the usual containers.

    ``X`` is a two-dimensional numpy array, a list of rows, a pandas or polars data frame, a pyarrow
    table, a dict of columns, or anything else that narwhals can read. A polars ``LazyFrame`` is
    collected. A part of a larger table may have no rows (``allow_empty``). What is no such table
    raises a TypeError; one without rows or columns, or with two columns of one name, a ValueError.
    """
    if scipy.sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed, but dense data is required. Use '.toarray()' to convert it to "
            "a dense numpy array."
        )
    frame = _read_table(X) or Frame(_read_array(X))
    if frame.n_columns == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({frame.n_rows}, 0)) while a minimum of 1 is "
            "required."
        )
    if not allow_empty:
        check_rows(frame.n_rows, frame.n_columns)
    return frame


def check_rows(n_rows: int, n_columns: int) -> None:
    """Raise scikit-learn's ValueError for a table without rows."""
    if n_rows == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is "
            "required."
        )


def _read_table(X: Any) -> Frame | None:
    """Read a data frame or a dict; None for what narwhals does not know."""
    if isinstance(X, Mapping):
        return DictFrame(X)
    try:
        table = nw.from_native(X, allow_series=True)
        if isinstance(table, nw.LazyFrame) and table.implementation.is_polars():
            table = table.collect()
        names = [] if isinstance(table, nw.Series) else list(table.collect_schema().names())
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Two columns share a name: rename one. {error}") from error
    except TypeError:
        return None
    if isinstance(table, nw.Series):
        raise ValueError(_not_two_dimensional(1))
    if isinstance(table, nw.LazyFrame):
        raise TypeError(
            f"X is a lazy table ({type(X).__module__}.{type(X).__qualname__}): collect it into a "
            "pandas, polars or pyarrow table first."
        )
    check_names(names)
    return Frame(table)


def _not_two_dimensional(n_dim: int) -> str:
    if n_dim > 2:
        return f"Found array with dim {n_dim}. A table has 2: rows and columns."
    what = "1D array" if n_dim == 1 else "scalar array"
    return (
        f"Expected 2D array, got {what} instead.\nReshape your data either using array.reshape(-1, "
        "1) if your data has a single feature or array.reshape(1, -1) if it "
        "contains a single sample."
    )


def _read_array(X: Any) -> Array:
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array: use X.filled(np.nan) so that masked values are missing."
        )
    if isinstance(X, (str, bytes, set)) or X is None:
        raise TypeError(
            f"X is a {type(X).__name__}, but a table is needed: a numpy array, a pandas or polars "
            "DataFrame, a pyarrow Table, a dict of columns or a list of rows."
        )
    # A list of rows may hold a number and a text: as objects each keeps its type.
    as_rows = isinstance(X, (list, tuple))
    try:
        array = np.asarray(X, dtype=object if as_rows else None)
    except ValueError as error:
        raise ValueError(f"X is not a table, its rows differ in shape: {error}") from error
    if array.ndim == 1 and as_rows and any(isinstance(row, (list, tuple)) for row in array):
        raise ValueError("X is not a table: its rows differ in length.")
    if array.ndim != 2:
        raise ValueError(_not_two_dimensional(array.ndim))
    return array
