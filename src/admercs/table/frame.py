"""Reading a table, whatever library it comes from, one column at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array

from admercs.arrays import FEW_ROWS, Array, Bools, Ints
from admercs.table.text_cells import TextCells
from admercs.table.values import RawColumn, from_objects, from_times, is_null, zone_name

_OBJECTS = (nw.Object, nw.Unknown, nw.Time, nw.Categorical, nw.Enum)
# What is read as Python's objects: categories, and integers wider than any of numpy's.
_PYTHON = (nw.Categorical, nw.Enum, nw.Int128, nw.UInt128)


class Frame:
    """A table that hands out its columns one by one and never copies itself as a whole."""

    def __init__(self, table: Array | nw.DataFrame[Any]) -> None:
        self._table: Any = table
        self.n_rows, self.n_columns = table.shape
        self.named = not isinstance(table, np.ndarray)
        made = [f"x{j}" for j in range(self.n_columns)]
        names = made if isinstance(table, np.ndarray) else table.columns
        self.names = list(map(str, names))
        # Whether all names are strings, as scikit-learn's feature_names_in_ demands.
        self.has_names = self.named and all(isinstance(name, str) for name in names)
        few = self.named and self.n_rows <= FEW_ROWS
        self._plain = _plain_columns(table) if few else {}
        self._known: dict[int, RawColumn] = {**self._plain}
        self._texts: dict[int, TextCells | None] = {}
        self.read: dict[int, tuple[Any, RawColumn]] = {}  # columns whose texts were read, and how

    def column(self, position: int, start: int = 0, stop: int | None = None) -> RawColumn:
        """Return a column, or the stretch ``start:stop`` of its rows; do not write into them."""
        stop = self.n_rows if stop is None else stop
        if position not in self._known:
            read = from_series if self.named else from_array
            values, name = self._table[:, position], self.names[position]
            if not _has_objects(values):
                whole = (start, stop) == (0, self.n_rows)
                return read(values if whole else values[start:stop], name)
            # The kind of objects is that of the whole column: each of them is looked at, once.
            self._known[position] = read(values, name)
        return self._known[position].rows(slice(start, stop))

    def some(self, position: int, rows: Ints) -> RawColumn:
        """Return some rows of a column, in ascending order."""
        stretch = self.column(position, int(rows[0]), int(rows[-1]) + 1)
        return stretch.rows(rows - rows[0])

    def read_as_mixed(self, position: int) -> None:
        """Take the values of a column for values of several types, whatever types these have."""
        if self.texts(position) is None and self.column(position).kind != "mixed":
            values = self._given(position)
            series = isinstance(values, nw.Series)
            values = text_objects(values) if series else values.astype(object)
            raw = RawColumn(self.names[position], "mixed", values, is_null(values))
            self._known[position] = raw

    def _given(self, position: int) -> Any:
        return self._table[:, position]

    def is_categorical(self, position: int) -> bool:
        """Return whether a column is nominal by its type in the table."""
        if not isinstance(self._table, nw.DataFrame):
            return False
        return self._table[:, position].dtype in (nw.Categorical, nw.Enum)

    def original(self, position: int) -> RawColumn:
        """Return a column as the table holds it."""
        return self.column(position)

    def take(self, rows: Ints) -> Frame:
        """Return some of the rows as a table of their own."""
        return Frame(self._table[rows.tolist() if self.named else rows])

    def texts(self, position: int) -> TextCells | None:
        """Return the cells of a column of texts; None for any other column."""
        if position not in self._texts:
            self._texts[position] = self._read_texts(position)
        return self._texts[position]

    def _read_texts(self, position: int) -> TextCells | None:
        if position not in self._known:
            values = self._table[:, position]
            if isinstance(values, nw.Series):
                is_known = values.implementation.is_polars()
                if is_known and values.dtype in (nw.Categorical, nw.Enum):
                    values = values.cast(nw.String)
                # To make a million Python objects takes longer than all else done with texts.
                if values.dtype == nw.String and (cells := TextCells.of_series(values)) is not None:
                    return cells
            if not _has_objects(values) and getattr(values, "dtype", None) != nw.String:
                return None
        raw = self.column(position)
        return TextCells.of(raw.values, raw.missing) if raw.kind == "text" else None


class DictFrame(Frame):
    """A dict of columns: one-dimensional arrays or lists, all of the same length."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        # A list may hold a number and a text: as objects each keeps its type.
        self._columns = {
            name: values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
            for name, values in columns.items()
        }
        for name, values in self._columns.items():
            if values.ndim != 1:
                raise ValueError(f"Column {name!r} has {values.ndim} dimensions: a column has one.")
        self.names = list(map(str, columns))
        sizes = {name: len(values) for name, values in self._columns.items()}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"The columns differ in length: {sizes}")
        self.n_rows, self.n_columns = next(iter(sizes.values()), 0), len(sizes)
        self.named, self._table = True, None
        self.has_names = all(isinstance(name, str) for name in columns)
        self._known = dict(enumerate(map(from_array, self._columns.values(), self.names)))
        self._texts, self.read = {}, {}

    def _given(self, position: int) -> Any:
        return [*self._columns.values()][position]

    def take(self, rows: Ints) -> Frame:
        """Return some of the rows as a table of their own."""
        return DictFrame({name: values[rows] for name, values in self._columns.items()})


def _has_objects(values: Any) -> bool:
    """Return whether a column may hold values of several types."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind not in "fiub"
    # narwhals takes the type of the first hundred objects of pandas for that of all.
    is_object = values.implementation.is_pandas() and values.to_native().dtype == np.dtype(object)
    return is_object or values.dtype in _OBJECTS


def from_array(values: Array, name: str) -> RawColumn:
    """Read a one-dimensional numpy array."""
    kind = values.dtype.kind
    if kind == "f":
        # Half precision is slow to compute with, and a long double is wider than a working value.
        is_plain = values.itemsize in (4, 8)
        return RawColumn(name, "float", values if is_plain else values.astype(np.float64))
    if kind in "iub":
        return RawColumn(name, "boolean" if kind == "b" else "integer", values)
    if kind in "mM":
        return from_times(values, name)
    return from_objects(values.astype(object, copy=False), name)


def from_series(series: nw.Series[Any], name: str) -> RawColumn:
    """Read a narwhals series."""
    dtype = series.dtype
    if dtype.is_nested() or dtype == nw.Binary:
        raise TypeError(
            f"Column {name!r} holds nested values or bytes (its type is {dtype}), but an argument "
            "must be a string, a number or a date: turn it into columns of plain values, or leave "
            "it out."
        )
    try:
        missing, values = _numpy_of(series)
    except Exception as error:  # each library has its own
        raise ValueError(
            f"Column {name!r} of type {dtype} cannot be read ({error!s:.200}): turn it into "
            "numbers, texts or dates, or leave it out."
        ) from error
    if dtype == nw.String and not _has_objects(series):
        return RawColumn(name, "text", values, missing)
    read = from_array(values, name)
    if values.dtype.kind in "iub":
        return replace(read, missing=missing)
    if isinstance(dtype, nw.Datetime):
        zone: Any = dtype.time_zone
        if zone and series.implementation.is_pandas():
            zone = series.to_native().dt.tz or zone  # the zone itself tells more than its name
        return replace(read, kind="datetime", time_zone=zone_name(zone) if zone else "")
    return replace(read, categorical=dtype in (nw.Categorical, nw.Enum))


def _numpy_of(series: nw.Series[Any]) -> tuple[Bools | None, Array]:
    """Return which values of a series are missing, if that is not seen in them, and the values."""
    dtype = series.dtype
    if dtype == nw.Decimal or dtype.is_float():
        floats = series.cast(nw.Float64) if dtype == nw.Decimal else series
        return None, floats.to_numpy()
    # What a library puts in the place of nulls in a numpy array differs, and integers that share a
    # column with nulls would lose digits on the way through floats.
    missing = series.is_null().to_numpy() if series.null_count() else None
    if dtype == nw.String and not _has_objects(series):
        return missing, text_objects(series)
    if dtype not in _PYTHON and (dtype.is_integer() or dtype == nw.Boolean):
        if missing is not None:
            series = series.fill_null(False if dtype == nw.Boolean else 0)
        return missing, series.to_numpy()
    if dtype == nw.Time and series.implementation.is_pyarrow():
        # Times of day are counted in microseconds; Python's have no nanoseconds.
        import pyarrow as pa

        times = series.to_native().cast(pa.time64("us"), safe=False)
        series = nw.from_native(times, series_only=True)
    values = text_objects(series) if dtype in _PYTHON else series.to_numpy()
    if missing is not None and values.dtype == object:
        values = values.copy()  # what the library handed out may be its own memory
        values[missing] = None
    return missing, values


def text_objects(series: nw.Series[Any]) -> Array:
    """Return texts as objects: arrays of numpy's own texts lose NUL characters at their ends."""
    texts = np.empty(len(series), dtype=object)
    texts[:] = series.to_list()
    return texts


def _plain_columns(table: Any) -> dict[int, RawColumn]:
    """Read numbers and texts of few rows of pandas: all other ways to them take far longer."""
    found: dict[int, RawColumn] = {}
    if not table.implementation.is_pandas():
        return found
    native = table.to_native()
    types = set(native.dtypes)
    if len(types) == 1 and isinstance(dtype := types.pop(), np.dtype) and dtype.kind in "fiub":
        columns = zip(native.to_numpy().T, map(str, native.columns), strict=True)
        return dict(enumerate(from_array(values, name) for values, name in columns))
    for position, (name, series) in enumerate(native.items()):
        dtype = series.dtype
        if isinstance(dtype, np.dtype):
            if dtype.kind in "fiub":
                found[position] = from_array(series.to_numpy(), str(name))
        elif dtype.name in ("str", "string"):
            values = series.to_numpy(object)
            missing = np.array([not isinstance(value, str) for value in values.tolist()])
            known = missing if missing.any() else None
            found[position] = RawColumn(str(name), "text", values, known)
    return found


def read_frame(X: Any, *, allow_empty: bool = False) -> Frame:
    """Read an array, a list of rows, a dict of columns or any data frame."""
    if scipy.sparse.issparse(X):
        check_array(X)  # raises scikit-learn's TypeError
    if isinstance(X, Mapping):
        frame: Frame = DictFrame(X)
    else:  # that an array is no data frame takes long to find out
        table = None if type(X) is np.ndarray else _read_table(X)
        frame = table or Frame(_read_array(X))
    if twice := [name for name, count in Counter(frame.names).items() if count > 1]:
        raise ValueError(f"Several columns are called {twice[0]!r}: give each its own name.")
    if not (allow_empty and frame.n_columns):
        check_shape(frame.n_rows, frame.n_columns)
    return frame


def check_shape(n_rows: int, n_columns: int) -> None:
    """Raise scikit-learn's ValueError for a table without rows or without columns."""
    if n_rows == 0 or n_columns == 0:
        found = f"0 {'sample' if n_columns else 'feature'}(s) (shape=({n_rows}, {n_columns}))"
        raise ValueError(f"Found array with {found} while a minimum of 1 is required.")


def _read_table(X: Any) -> Frame | None:
    """Read a data frame; None for what narwhals does not know."""
    try:
        table = nw.from_native(X, allow_series=True)
        if isinstance(table, nw.LazyFrame) and table.implementation.is_polars():
            table = table.collect()
        if isinstance(table, nw.DataFrame):
            return Frame(table)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Two columns share a name: rename one. {error}") from error
    except TypeError:
        return None
    if isinstance(table, nw.Series):
        return Frame(check_array(table.to_numpy(), dtype=None))
    name = f"{type(X).__module__}.{type(X).__qualname__}"
    raise TypeError(f"X is a lazy table ({name}): collect it into a data frame first.")


def _read_array(X: Any) -> Array:
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array: X.filled(np.nan) turns masked values into missing.")
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
    if array.ndim == 1 and (array.dtype.names or isinstance(next(iter(array), 0), Mapping)):
        raise TypeError("X is a list of records: pandas.DataFrame(X) makes a table of it.")
    return array if array.ndim == 2 else check_array(array, dtype=None)  # scikit-learn's errors
