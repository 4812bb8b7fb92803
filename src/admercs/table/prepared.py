"""Working values: every used column of a table as float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.table.columns import Column
from admercs.table.frame import ArrayFrame, Frame
from admercs.table.objects import first_of_other_kind
from admercs.table.schema import Schema
from admercs.table.summary import Category, check_finite, text_category, time_category
from admercs.table.texts import encode_objects, encode_texts
from admercs.table.values import KIND_WORDS, TEMPORAL, Kind, RawColumn, describe

# Which kinds of values a column may hold in a new table, by the kind it held in the training table.
# A missing value turns a column of integers into floats in some libraries.
_FITS: dict[Kind, set[Kind]] = {
    "float": {"float", "integer", "boolean"},
    "integer": {"float", "integer", "boolean"},
    "boolean": {"float", "integer", "boolean"},
    "text": {"text"},
    "mixed": {"text", "mixed", "float", "integer", "boolean"},
    "date": {"date", "datetime"},
    "datetime": {"date", "datetime"},
    "time": {"time"},
    "duration": {"duration"},
    "empty": set(),
}

_PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class Prepared:
    """A table matched with a schema, ready to hand out its working values.

    Numeric columns are read from the table whenever they are asked for; of nominal columns the
    codes are kept, one byte a row.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_columns : int
        Number of used columns, M.
    """

    def __init__(self, frame: Frame, schema: Schema, positions: tuple[int, ...]) -> None:
        self.n_rows = frame.n_rows
        self.n_columns = len(schema.used)
        self._frame = frame
        self._schema = schema
        self._positions = positions
        self._codes: dict[int, NDArray[np.uint8]] = {}
        self._views: dict[int, RawColumn] = {}
        for m in range(self.n_columns):
            self._open(m)
        self._array = self._plain_array()

    def _open(self, m: int) -> None:
        column, kind = self._schema.used[m], self._kind(m)
        texts = self._frame.texts(self._positions[m]) if kind == "text" else None
        if texts is not None:
            known = _code_of_category(column)
            self._codes[m] = encode_texts(texts, known, len(known) + 1)
            return
        raw = self._frame.column(self._positions[m])
        _check_kind(raw, column, kind)
        if column.role == "nominal":
            self._codes[m] = _nominal_codes(raw, column, kind)
        elif not raw.values.flags.owndata:
            # The table's own memory: keeping hold of it costs nothing and makes blocks fast.
            self._views[m] = raw

    def _kind(self, m: int) -> Kind:
        return self._schema.kinds[self._schema.used[m].position]

    def _plain_array(self) -> NDArray[np.floating] | None:
        """Return the array itself if its rows can be copied without a look at their meaning."""
        frame = self._frame
        if not isinstance(frame, ArrayFrame) or frame.array.dtype.kind != "f" or self._codes:
            return None
        if any(column.origin or column.unit for column in self._schema.used):
            return None
        if self._positions == tuple(range(frame.n_columns)):
            return frame.array
        return None

    def column(self, m: int) -> NDArray[np.float64]:
        """Return the working values of used column ``m``; do not write into them."""
        return self._values(m, 0, self.n_rows)

    def block(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return the working values of the rows ``start:stop``, one C row per used column."""
        stop = min(stop, self.n_rows)
        if self._array is not None:
            block = np.array(self._array[start:stop].T, dtype=np.float64, order="C")
            if not np.isfinite(block).all():
                self._check_block(start, stop)
            return block
        block = np.empty((self.n_columns, max(0, stop - start)))
        for m in range(self.n_columns):
            block[m] = self._values(m, start, stop)
        return block

    def some(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the working values of some rows, in ascending order; each C row is a used column."""
        if self._array is not None:
            return np.array(self._array[rows].T, dtype=np.float64, order="C")
        block = np.empty((self.n_columns, len(rows)))
        start, stop = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        for m in range(self.n_columns):
            block[m] = self._values(m, start, stop)[rows - start]
        return block

    def _check_block(self, start: int, stop: int) -> None:
        for m in range(self.n_columns):
            check_finite(self._frame.column(self._positions[m], start, stop), start)

    def _values(self, m: int, start: int, stop: int) -> NDArray[np.float64]:
        column = self._schema.used[m]
        if m in self._codes:
            values = self._codes[m][start:stop].astype(np.float64)
            values[values == 0] = np.nan
            return values
        if m in self._views:
            raw = self._views[m].rows(start, stop)
        else:
            raw = self._frame.column(self._positions[m], start, stop)
        # One copy of a column that lies scattered in its table makes all that follows fast.
        raw = replace(raw, values=np.ascontiguousarray(raw.values))
        check_finite(raw, start)
        return numeric_values(raw, column)


def prepare(frame: Frame, schema: Schema) -> Prepared:
    """Match a table with the schema of a model.

    Parameters
    ----------
    frame : Frame
        The training table or a new one.
    schema : Schema
        The columns of the training table.

    Returns
    -------
    Prepared
        The working values, as whole columns or in blocks of rows.

    Raises
    ------
    ValueError
        Columns are missing or superfluous, a column holds another kind of values than the training
        table, or (once it is read) a value is infinite.

    Examples
    --------
    >>> from admercs.table import learn_schema, read_frame, summarise
    >>> table = read_frame([[1.5, "red"], [2.5, "blue"], [None, "red"]])
    >>> schema = learn_schema(summarise(table))
    >>> prepare(table, schema).block(0, 3)
    array([[1.5, 2.5, nan],
           [1. , 2. , 1. ]])
    """
    return Prepared(frame, schema, schema.check(frame))


def _check_kind(raw: RawColumn, column: Column, kind: Kind) -> None:
    fits = _FITS[kind]
    if raw.kind in fits or raw.kind == "empty":
        if bool(raw.time_zone) != bool(column.time_zone) and raw.kind in ("date", "datetime"):
            with_, without = (
                ("now has a", "had none") if raw.time_zone else ("now has no", "had one")
            )
            raise ValueError(
                f"Column {column.name!r} {with_} time zone, but {without} when the model was "
                "fitted: add or remove the time zone."
            )
        return
    if raw.is_missing().all():
        return
    row = first_of_other_kind(raw.values, fits) if raw.kind in ("mixed", "text") else -1
    if row < 0:
        row = int((~raw.is_missing()).argmax())
    shown = f": {describe(raw.values[row])} in row {row}" if raw.kind not in TEMPORAL else ""
    raise ValueError(
        f"Column {column.name!r} held {KIND_WORDS[kind]} when the model was fitted, but now holds "
        f"{KIND_WORDS[raw.kind]}{shown}. Turn the column into {KIND_WORDS[kind]}, or into missing "
        "values where that is not possible."
    )


def _nominal_codes(raw: RawColumn, column: Column, kind: Kind) -> NDArray[np.uint8]:
    """Return the code of each value: 0 missing, 1 … C the categories, C + 1 any other."""
    other = len(column.categories) + 1
    if kind in ("text", "mixed") or raw.kind == "empty":
        codes = _text_codes(raw, column, kind, other)
    else:
        codes = _number_codes(raw, column, kind, other)
    codes[raw.is_missing()] = 0
    return codes


def _code_of_category(column: Column) -> dict[Category, int]:
    return {value: code for code, value in enumerate(column.categories, start=1)}


def _text_codes(raw: RawColumn, column: Column, kind: Kind, other: int) -> NDArray[np.uint8]:
    values = raw.values
    if kind == "mixed":
        values = np.array(list(map(text_category, values)), dtype=object)
    return encode_objects(values, _code_of_category(column), other)


def _number_codes(raw: RawColumn, column: Column, kind: Kind, other: int) -> NDArray[np.uint8]:
    distinct, inverse = np.unique(raw.values, return_inverse=True)
    known = _code_of_category(column)
    category: Callable[[Any], Any] = (
        (lambda value: time_category(value, raw)) if kind in TEMPORAL else (lambda value: value)
    )
    codes = [known.get(category(value), other) for value in distinct.tolist()]
    return np.array(codes, dtype=np.uint8)[inverse]


def numeric_values(raw: RawColumn, column: Column) -> NDArray[np.float64]:
    """Return the working values of a numeric column."""
    if raw.kind == "empty":
        return np.full(len(raw.values), np.nan)
    if raw.kind in TEMPORAL and raw.unit != column.unit:
        values = _change_unit(raw, column)
    else:
        values = _shift(raw.values, column.origin)
    if raw.missing is not None:
        values[raw.missing] = np.nan
    return values


def _change_unit(raw: RawColumn, column: Column) -> NDArray[np.float64]:
    given, wanted = _PER_DAY[raw.unit], _PER_DAY[column.unit]
    if given > wanted:
        ratio = given // wanted
        return _shift(raw.values, column.origin * ratio) / ratio
    ratio = wanted // given
    whole, rest = divmod(column.origin, ratio)
    return _shift(raw.values, whole) * ratio - rest


def _shift(values: NDArray[Any], origin: int) -> NDArray[np.float64]:
    """Subtract an integer before the values become floats, so that no digit is lost."""
    if origin == 0 or values.dtype.kind not in "iu":
        floats = values.astype(np.float64, copy=values.dtype.kind != "f")
        return floats - origin if origin else floats
    # Counted from the smallest 64-bit integer, the values and the origin are unsigned and their
    # difference cannot overflow on either side.
    signed = values.dtype.kind == "i"
    unsigned = values.astype(np.int64).view(np.uint64) ^ np.uint64(2**63) if signed else values
    unsigned = unsigned.astype(np.uint64, copy=False)
    base = origin + 2**63 if signed else origin
    if not 0 <= base < 2**64:
        return values.astype(np.float64) - float(origin)
    above = unsigned >= np.uint64(base)
    difference = np.where(above, unsigned - np.uint64(base), np.uint64(base) - unsigned)
    return np.where(above, difference, -difference.astype(np.float64))
