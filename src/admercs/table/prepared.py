"""Working values: every used column of a table as float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from admercs.arrays import Array, Bytes, Floats, Ints
from admercs.table.columns import Column
from admercs.table.frame import Frame
from admercs.table.objects import first_of_other_kind
from admercs.table.schema import Schema
from admercs.table.summary import Category, text_category, time_category
from admercs.table.texts import encode_objects, encode_texts
from admercs.table.values import KIND_WORDS, TEMPORAL, Kind, RawColumn, describe

# Which kinds of values a column may hold in a new table, by the kind it held in the training table.
# A missing value turns a column of integers into floats in some libraries.
_NUMBERS: set[Kind] = {"float", "integer", "boolean"}
_DATES: set[Kind] = {"date", "datetime"}
_TEXTS: set[Kind] = {"text", "mixed"}
_FITS: dict[Kind, set[Kind]] = {
    **dict.fromkeys(_NUMBERS, _NUMBERS),
    **dict.fromkeys(_DATES, _DATES),
    "text": {"text"},
    "mixed": _TEXTS | _NUMBERS,
    "time": {"time"},
    "duration": {"duration"},
}

_PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class Prepared:
    """A table matched with a schema, ready to hand out its working values.

    Numeric columns are read from the table whenever they are asked for; of nominal columns the
    codes are kept, one byte a row. ``n_columns`` counts the used columns.
    """

    def __init__(self, frame: Frame, schema: Schema, positions: tuple[int, ...]) -> None:
        self.n_rows = frame.n_rows
        self.n_columns = len(schema.used)
        self._frame = frame
        self._schema = schema
        self._positions = positions
        self._codes: dict[int, Bytes] = {}
        self._views: dict[int, RawColumn] = {}
        for m in range(self.n_columns):
            self._open(m)
        self._array = self._plain_array()

    def _open(self, m: int) -> None:
        column = self._schema.used[m]
        kind = self._schema.kinds[column.position]
        texts = self._frame.texts(self._positions[m]) if kind == "text" else None
        if texts is not None:
            known = _code_of_category(column)
            self._codes[m] = encode_texts(texts, known, len(known) + 1)
            return
        raw = self._frame.column(self._positions[m])
        if not _fits(raw, column, kind):
            self._codes[m] = np.zeros(self.n_rows, np.uint8)  # all missing
        elif column.role == "nominal":
            self._codes[m] = _nominal_codes(raw, column, kind)
        elif not raw.values.flags.owndata:
            # The table's own memory: keeping hold of it costs nothing and makes blocks fast.
            self._views[m] = raw

    def _plain_array(self) -> Array | None:
        """Return the array itself if its rows can be copied without a look at their meaning."""
        array, columns = self._frame.array, self._schema.used
        if array is None or array.dtype.kind != "f" or self._codes:
            return None
        in_order = self._positions == tuple(range(array.shape[1]))
        plain = in_order and not any(column.origin or column.unit for column in columns)
        return array if plain else None

    def column(self, m: int) -> Floats:
        """Return the working values of used column ``m``; do not write into them."""
        return self._values(m, 0, self.n_rows)

    def block(self, start: int, stop: int) -> Floats:
        """Return the working values of the rows ``start:stop``, one C row per used column."""
        stop = min(stop, self.n_rows)
        if self._array is not None:
            block = np.array(self._array[start:stop].T, dtype=np.float64, order="C")
            if not np.isfinite(block).all():
                for position in self._positions:
                    self._frame.column(position, start, stop).check_finite(start)
            return block
        block = np.empty((self.n_columns, max(0, stop - start)))
        for m in range(self.n_columns):
            block[m] = self._values(m, start, stop)
        return block

    def some(self, rows: Ints) -> Floats:
        """Return the working values of some rows in ascending order, one C row per used column."""
        if self._array is not None:
            return np.array(self._array[rows].T, dtype=np.float64, order="C")
        block = np.empty((self.n_columns, len(rows)))
        start, stop = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        for m in range(self.n_columns):
            block[m] = self._values(m, start, stop)[rows - start]
        return block

    def _values(self, m: int, start: int, stop: int) -> Floats:
        column = self._schema.used[m]
        if m in self._codes:
            values = self._codes[m][start:stop].astype(np.float64)
            values[values == 0] = np.nan
            return values
        if m in self._views:
            raw = self._views[m].rows(start, stop)
        else:
            raw = self._frame.column(self._positions[m], start, stop)
        raw = raw.contiguous()
        raw.check_finite(start)
        return numeric_values(raw, column)


def prepare(frame: Frame, schema: Schema) -> Prepared:
    """Match a table with the schema of a model.

    A ValueError is raised if columns are missing or superfluous, if a column holds another kind of
    values than the training table, or (once it is read) if a value is infinite.
    """
    return Prepared(frame, schema, schema.check(frame))


def _fits(raw: RawColumn, column: Column, kind: Kind) -> bool:
    """Return whether values can be read as those of a training column; False if all are missing."""
    kinds = _FITS[kind]
    other_zone = raw.kind in _DATES and bool(raw.time_zone) != bool(column.time_zone)
    fits = raw.kind in kinds and not other_zone
    if fits or raw.is_missing().all():
        return fits
    if raw.kind in kinds:
        given, before = ("now has a", "had none") if raw.time_zone else ("now has no", "had one")
        raise ValueError(
            f"Column {column.name!r} {given} time zone, but {before} when the model was fitted: "
            "add or remove the time zone."
        )
    row = first_of_other_kind(raw.values, kinds) if raw.kind in _TEXTS else -1
    if row < 0:
        row = int((~raw.is_missing()).argmax())
    shown = f": {describe(raw.values[row])} in row {row}" if raw.kind not in TEMPORAL else ""
    raise ValueError(
        f"Column {column.name!r} held {KIND_WORDS[kind]} when the model was fitted, but now holds "
        f"{KIND_WORDS[raw.kind]}{shown}. Turn the column into {KIND_WORDS[kind]}, or into missing "
        "values where that is not possible."
    )


def _code_of_category(column: Column) -> dict[Category, int]:
    return {value: code for code, value in enumerate(column.categories, start=1)}


def _nominal_codes(raw: RawColumn, column: Column, kind: Kind) -> Bytes:
    """Return the code of each value: 0 missing, 1 … C the categories, C + 1 any other."""
    known, other = _code_of_category(column), len(column.categories) + 1
    if kind in _TEXTS:
        values = raw.values
        if kind == "mixed":
            values = np.array(list(map(text_category, values)), dtype=object)
        codes = encode_objects(values, known, other)
    else:
        distinct, inverse = np.unique(raw.values, return_inverse=True)
        given: list[Any] = distinct.tolist()
        if kind in TEMPORAL:
            given = [time_category(value, raw) for value in given]
        codes = np.array([known.get(value, other) for value in given], np.uint8)[inverse]
    codes[raw.is_missing()] = 0
    return codes


def numeric_values(raw: RawColumn, column: Column) -> Floats:
    """Return the working values of a numeric column."""
    given, wanted = _PER_DAY.get(raw.unit, 1), _PER_DAY.get(column.unit, 1)
    if given == wanted:
        values = _shift(raw.values, column.origin)
    elif given > wanted:
        ratio = given // wanted
        values = _shift(raw.values, column.origin * ratio) / ratio
    else:
        ratio = wanted // given
        whole, rest = divmod(column.origin, ratio)
        values = _shift(raw.values, whole) * ratio - rest
    if raw.missing is not None:
        values[raw.missing] = np.nan
    return values


def _shift(values: Array, origin: int) -> Floats:
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
