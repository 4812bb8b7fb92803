"""Reading a table, whatever library it comes from, one column at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from admercs.table.objects import from_objects
from admercs.table.values import RawColumn, from_times

_ACCEPTED = "a numpy array, a pandas or polars DataFrame, a pyarrow Table or a list of rows"


class Frame(ABC):
    """A table that hands out its columns one by one and never copies itself as a whole.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    names : list of str
        Name of each column; ``x0``, ``x1``, … where the table has none.
    named : bool
        Whether the table itself names its columns.
    has_names : bool
        Whether all those names are strings, as scikit-learn's ``feature_names_in_`` demands.
    """

    n_rows: int
    names: list[str]
    named: bool
    has_names: bool

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    @abstractmethod
    def column(self, position: int, start: int = 0, stop: int | None = None) -> RawColumn:
        """Return a column, or the stretch ``start:stop`` of its rows.

        The kind is that of the whole column, whichever stretch is asked for. The values may be a
        view of the table: do not write into them.
        """

    def texts(self, position: int) -> nw.Series[Any] | None:
        """Return a column of text in the hands of its own library; None for any other column."""
        del position
        return None


class ArrayFrame(Frame):
    """A two-dimensional numpy array."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.n_rows = array.shape[0]
        self.names = [f"x{j}" for j in range(array.shape[1])]
        self.named = self.has_names = False
        self._known: dict[int, RawColumn] = {}

    def column(self, position: int, start: int = 0, stop: int | None = None) -> RawColumn:
        """Return a column, or the stretch ``start:stop`` of its rows."""
        stop = self.n_rows if stop is None else stop
        if self.array.dtype.kind in "fiub":
            return from_array(self.array[start:stop, position], self.names[position])
        # The kind of objects is only known after a look at each of them, once.
        if position not in self._known:
            self._known[position] = from_array(self.array[:, position], self.names[position])
        return self._known[position].rows(start, stop)


class TableFrame(Frame):
    """A table of any library that narwhals can read."""

    def __init__(self, table: nw.DataFrame[Any]) -> None:
        self._table = table
        self.n_rows = len(table)
        names = list(table.columns)
        self.names = [str(name) for name in names]
        self.named = True
        self.has_names = all(isinstance(name, str) for name in names)
        self._known: dict[int, RawColumn] = {}

    def column(self, position: int, start: int = 0, stop: int | None = None) -> RawColumn:
        """Return a column, or the stretch ``start:stop`` of its rows."""
        name = self.names[position]
        if position in self._known:
            return self._known[position].rows(start, self.n_rows if stop is None else stop)
        series = self._table[:, position]
        dtype = series.dtype
        if dtype in (nw.Object, nw.Unknown, nw.Time, nw.Categorical, nw.Enum):
            # These become Python objects and are looked at one by one, once.
            self._known[position] = from_series(series, name)
            return self.column(position, start, stop)
        if start == 0 and stop is None:
            return from_series(series, name)
        return from_series(series[start:stop], name)

    def texts(self, position: int) -> nw.Series[Any] | None:
        """Return a column of text in the hands of its own library; None for any other column."""
        series = self._table[:, position]
        if series.dtype == nw.String:
            return series
        if series.implementation.is_polars() and series.dtype in (nw.Categorical, nw.Enum):
            return series.cast(nw.String)
        return None


def from_array(values: NDArray[Any], name: str) -> RawColumn:
    """Read a one-dimensional numpy array.

    Examples
    --------
    >>> from_array(np.array([1, 2, 3], dtype=np.uint8), "doors").kind
    'integer'
    """
    kind = values.dtype.kind
    if kind == "f":
        # Half precision is slow to compute with, and a long double is wider than a working value.
        plain = values if values.itemsize in (4, 8) else values.astype(np.float64)
        return RawColumn(name, "float", plain)
    if kind in "iu":
        return RawColumn(name, "integer", values)
    if kind == "b":
        return RawColumn(name, "boolean", values)
    if kind in "UT":
        return from_objects(values.astype(object), name)
    if kind == "O":
        return from_objects(values, name)
    if kind in "mM":
        return from_times(values, name)
    if kind == "c":
        raise ValueError(
            f"Complex data not supported\nColumn {name!r} holds complex numbers: give their real "
            "and imaginary parts as two columns."
        )
    raise TypeError(
        f"Column {name!r} has the type {values.dtype}, which cannot be used: turn it into numbers, "
        "text or dates, or leave the column out."
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
        return from_array(series.cast(nw.Float64).to_numpy(), name)
    if dtype.is_float():
        return from_array(series.to_numpy(), name)
    missing = series.is_null().to_numpy() if series.null_count() else None
    if dtype.is_integer() or dtype == nw.Boolean:
        filled = (
            series if missing is None else series.fill_null(False if dtype == nw.Boolean else 0)
        )
        raw = from_array(filled.to_numpy(), name)
        return RawColumn(name, raw.kind, raw.values, missing)
    if isinstance(dtype, nw.Datetime):
        raw = from_array(series.to_numpy(), name)
        zone = dtype.time_zone or ""
        return RawColumn(name, "datetime", raw.values, raw.missing, raw.unit, zone)
    if dtype in (nw.Date, nw.Duration, nw.Time, nw.Object, nw.Unknown):
        return from_array(_without_nulls(series, missing), name)
    if dtype == nw.String:
        return RawColumn(name, "text", series.to_numpy(), missing)
    if dtype in (nw.Categorical, nw.Enum):
        return replace(from_array(_without_nulls(series, missing), name), categorical=True)
    raise TypeError(
        f"Column {name!r} has the type {dtype}, which cannot be used: turn it into numbers, text "
        "or dates, or leave the column out."
    )


def _without_nulls(series: nw.Series[Any], missing: NDArray[np.bool_] | None) -> NDArray[Any]:
    values: NDArray[Any] = series.to_numpy()
    if missing is None or values.dtype != object:
        return values
    values = values.copy()  # what the library handed out may be its own memory
    values[missing] = None
    return values


def read_frame(X: Any, *, allow_empty: bool = False) -> Frame:
    """Read a table from any of the usual containers.

    Parameters
    ----------
    X : array-like or data frame
        A two-dimensional numpy array, a list of rows, a pandas or polars data frame, a pyarrow
        table, or anything else that narwhals can read. A polars ``LazyFrame`` is collected.
    allow_empty : bool, default=False
        Whether a table without rows is fine, as a part of a larger one.

    Returns
    -------
    Frame
        The table, which reads its columns when they are asked for.

    Raises
    ------
    TypeError
        ``X`` is sparse, lazy, or no table at all.
    ValueError
        ``X`` is not two-dimensional, has no columns or no rows, holds complex numbers, or two of
        its columns share a name.

    Examples
    --------
    >>> frame = read_frame([[1, "red"], [2, "blue"]])
    >>> frame.names, frame.column(1).kind
    (['x0', 'x1'], 'text')
    """
    if scipy.sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed, but dense data is required. Use '.toarray()' to convert it to "
            "a dense numpy array."
        )
    frame = _read_table(X)
    if frame is None:
        frame = ArrayFrame(_read_array(X))
    if frame.n_columns == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({frame.n_rows}, 0)) while a minimum of 1 is "
            "required."
        )
    if frame.n_rows == 0 and not allow_empty:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {frame.n_columns})) while a minimum of 1 is "
            "required."
        )
    return frame


def _read_table(X: Any) -> Frame | None:
    """Read a data frame; None for what narwhals does not know."""
    try:
        table = nw.from_native(X, allow_series=True)
        if isinstance(table, nw.LazyFrame) and table.implementation.is_polars():
            table = table.collect()
        names = None if isinstance(table, nw.Series) else list(table.collect_schema().names())
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
    twice = [name for name, count in Counter(map(str, names or [])).items() if count > 1]
    if twice:
        raise ValueError(f"Several columns are called {twice[0]!r}: give each its own name.")
    return TableFrame(table)


def _not_two_dimensional(n_dim: int) -> str:
    if n_dim > 2:
        return f"Found array with dim {n_dim}. A table has 2: rows and columns."
    what = "1D array" if n_dim == 1 else "scalar array"
    return (
        f"Expected 2D array, got {what} instead.\nReshape your data either using array.reshape(-1, "
        "1) if your data has a single feature or array.reshape(1, -1) if it "
        "contains a single sample."
    )


def _read_array(X: Any) -> NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X is a masked array: use X.filled(np.nan) so that masked values are missing."
        )
    if isinstance(X, (str, bytes, dict, set)) or X is None:
        raise TypeError(f"X is a {type(X).__name__}, but a table is needed: {_ACCEPTED}.")
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
    if array.dtype.kind == "c":
        raise ValueError(
            "Complex data not supported\nGive real and imaginary parts as two columns."
        )
    if array.dtype.kind in "VS":
        raise TypeError(f"X is an array of {array.dtype}, but a table is needed: {_ACCEPTED}.")
    return array
