"""Working values: every used column of a table as float64."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from admercs.arrays import FEW_ROWS, Array, Bytes, Floats, Ints
from admercs.table.columns import Column
from admercs.table.frame import Frame
from admercs.table.schema import Schema
from admercs.table.summary import text_category, time_category
from admercs.table.text_cells import TextCells
from admercs.table.values import PER_DAY, TEMPORAL, Kind, RawColumn, describe, first_of_other_kind

# Which kinds of values a column may hold in a new table, by the kind it held in the training table,
# where that is not the same. Some libraries turn integers into floats if a value is missing.
_NUMBERS: set[Kind] = {"float", "integer", "boolean"}
_DATES: set[Kind] = {"date", "datetime"}
_TEXTS: set[Kind] = {"text", "mixed"}
_FITS = dict.fromkeys(_NUMBERS, _NUMBERS) | dict.fromkeys(_DATES, _DATES)
_FITS["mixed"] = _TEXTS
# What a kind is called in a message.
_KIND_WORDS: dict[Kind, str] = {
    **dict.fromkeys(("float", "integer"), "numbers"),
    **dict.fromkeys(_DATES, "dates"),
    "boolean": "true/false values",
    "text": "text",
    "time": "times of day",
    "duration": "durations",
    "mixed": "values of several types",
}


class Prepared:
    """A table matched with a schema, ready to hand out its working values.

    The columns of `frame` are those of the schema, in its order, and behind them the facets.
    """

    def __init__(self, frame: Frame, schema: Schema) -> None:
        self.n_rows, self.n_columns = frame.n_rows, len(schema.used)
        self._frame, self._schema = frame, schema
        # Of nominal columns the codes are kept; numeric ones are read whenever they are asked for.
        self._codes: dict[int, Bytes] = {}
        self._views: dict[int, RawColumn] = {}
        # Columns of the table are looked at before the facets that are made of them.
        for m, column in sorted(enumerate(schema.used), key=lambda each: each[1].position):
            position = column.position
            kind = schema.kinds[position]
            if kind in _TEXTS and (texts := frame.texts(position)) is not None:
                self._codes[m] = _encode_texts(texts, column)
                continue
            raw = frame.column(position)
            if not _fits(raw, column, kind):
                self._codes[m] = np.zeros(self.n_rows, np.uint8)  # all missing
            elif column.role == "nominal":
                self._codes[m] = _nominal_codes(raw, column, kind)
            elif not raw.values.flags.owndata or self.n_rows <= FEW_ROWS:
                # The table's own memory: keeping hold of it costs nothing and makes blocks fast.
                self._views[m] = raw

    def arrange(self, schema: Schema) -> Prepared:
        """Return the same table for a schema that takes the used columns in another order."""
        place = {column.position: m for m, column in enumerate(self._schema.used)}
        order = [place[column.position] for column in schema.used]
        other = copy(self)
        other._schema = schema
        other._codes = {k: self._codes[m] for k, m in enumerate(order) if m in self._codes}
        other._views = {k: self._views[m] for k, m in enumerate(order) if m in self._views}
        return other

    def raw(self, position: int) -> RawColumn:
        """Return a column or facet by its position in the schema, as it is read."""
        return self._frame.column(position)

    def original(self, position: int) -> RawColumn:
        """Return a column or facet by its position in the schema, as the table holds it."""
        return self._frame.original(position)

    def column(self, m: int) -> Floats:
        """Return the working values of used column ``m``; do not write into them."""
        if m in self._codes:
            return self._coded(m, slice(0, self.n_rows))
        raw = self._raw(m, slice(0, self.n_rows)).contiguous()
        raw.check_finite()
        return numeric_values(raw, self._schema.used[m])

    def block(self, start: int, stop: int) -> Floats:
        """Return the working values of the rows ``start:stop``, one C row per used column."""
        return self.some(slice(start, min(stop, self.n_rows)))

    def some(self, rows: slice | Ints) -> Floats:
        """Return the working values of some rows in ascending order, one C row per used column."""
        n_rows = max(0, rows.stop - rows.start) if isinstance(rows, slice) else len(rows)
        block = np.empty((self.n_columns, n_rows))
        for m in range(self.n_columns if n_rows else 0):
            if m in self._codes:
                block[m] = self._coded(m, rows)
            else:
                block[m] = numeric_values(self._raw(m, rows), self._schema.used[m])
        # Rows that are picked come from a table that was read before.
        if isinstance(rows, slice) and np.isinf(block).any():
            for m in set(range(self.n_columns)) - set(self._codes):
                self._raw(m, rows).check_finite(rows.start)
        return block

    def _coded(self, m: int, rows: slice | Ints) -> Floats:
        values = self._codes[m][rows].astype(np.float64)
        values[values == 0] = np.nan
        return values

    def _raw(self, m: int, rows: slice | Ints) -> RawColumn:
        if m in self._views:
            return self._views[m].rows(rows)
        position = self._schema.used[m].position
        if isinstance(rows, slice):
            return self._frame.column(position, rows.start, rows.stop)
        return self._frame.some(position, rows)


def _fits(raw: RawColumn, column: Column, kind: Kind) -> bool:
    """Return whether values can be read as those of a training column; False if all are missing."""
    kinds = _FITS.get(kind, {kind})
    other_zone = raw.kind in _DATES and bool(raw.time_zone) != bool(column.time_zone)
    fits = raw.kind in kinds and not other_zone
    if fits or raw.is_missing().all():
        return fits
    if raw.kind in kinds:
        given, before = ("now has a", "had none") if raw.time_zone else ("now has no", "had one")
        told = f"{given} time zone, but {before} when the model was fitted"
        raise ValueError(f"Column {column.name!r} {told}: add or remove the time zone.")
    other = first_of_other_kind(raw.values, kinds) if raw.kind in _TEXTS else -1
    row = max(other, int((~raw.is_missing()).argmax()))
    shown = f": {describe(raw.values[row])} in row {row}" if raw.kind not in TEMPORAL else ""
    before, now = _KIND_WORDS[kind], _KIND_WORDS[raw.kind] + shown
    raise ValueError(
        f"Column {column.name!r} held {before} when the model was fitted, but now holds {now}. "
        f"Turn the column into {before}, or into missing values where that is not possible."
    )


def _nominal_codes(raw: RawColumn, column: Column, kind: Kind) -> Bytes:
    """Return the code of each value: 0 missing, 1 … C the categories, C + 1 any other."""
    if kind in _TEXTS:
        return _encode_texts(TextCells.of(map(text_category, raw.values), raw.missing), column)
    known, other = column.code_of, len(column.code_of) + 1
    distinct, inverse = np.unique(raw.values, return_inverse=True)
    given: list[Any] = distinct.tolist()
    if kind in TEMPORAL:
        given = [time_category(value, raw) for value in given]
    codes = np.array([known.get(value, other) for value in given], np.uint8)[inverse]
    codes[raw.is_missing()] = 0
    return codes


def _encode_texts(texts: TextCells, column: Column) -> Bytes:
    """Return the same codes of a column of texts."""
    codes = np.full(len(texts) + 1, len(column.code_of) + 1, np.uint8)
    place = texts.find([str(category) for category in column.categories])
    codes[place] = np.where(place < 0, codes[0], np.arange(1, len(place) + 1))
    codes[-1] = 0
    return codes[texts.code]


def numeric_values(raw: RawColumn, column: Column) -> Floats:
    """Return the working values of a numeric column."""
    given, wanted = PER_DAY.get(raw.unit, 1), PER_DAY.get(column.unit, 1)
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
    wide = np.int64 if values.dtype.kind == "i" else np.uint64
    if not np.iinfo(wide).min <= origin <= np.iinfo(wide).max:
        return values.astype(np.float64) - float(origin)
    # Nothing is lost to an overflow: differences are taken modulo 2**64, signs by comparing.
    above = values.astype(wide, copy=False).view(np.uint64) - np.uint64(origin % 2**64)
    return np.where(values >= origin, above, -(-above).astype(np.float64))
