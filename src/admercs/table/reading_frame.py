"""A table whose texts are read: as numbers, dates or times, and as missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from admercs.arrays import Array, Ints
from admercs.method.settings import Columns
from admercs.table.frame import Frame
from admercs.table.readings import Reading, ReadingRules, decide_reading, read_column, read_texts
from admercs.table.summary import ColumnSummary, TableSummary, summarise_column
from admercs.table.text_cells import TextCells
from admercs.table.values import RawColumn


@dataclass(frozen=True)
class TableReading:
    """How a table is read."""

    rules: ReadingRules = field(default_factory=ReadingRules)
    readings: Mapping[int, Reading] = field(default_factory=dict)  # by the position of the column

    def part(self, columns: Sequence[int]) -> TableReading:
        """Return how a table is read that has only some of the columns."""
        known = ((k, self.readings.get(position)) for k, position in enumerate(columns))
        readings = {k: reading for k, reading in known if reading is not None}
        return replace(self, readings=readings)

    def frame(self, frame: Frame) -> Frame:
        """Return a table as it is read."""
        return ReadingFrame(frame, self) if self.readings or self.rules.missing else frame

    def summarise(self, frame: Frame) -> tuple[ColumnSummary, ...]:
        """Summarise the columns that have a reading, in the order of the table."""
        read = self.frame(frame)
        return tuple(summarise_column(read, position, False) for position in sorted(self.readings))


class ReadingFrame(Frame):
    """A table as it is read."""

    def __init__(self, frame: Frame, how: TableReading) -> None:
        self._frame, self._how = frame, how
        self.n_rows, self.n_columns, self.names = frame.n_rows, frame.n_columns, frame.names
        self.named, self.has_names, self.read = frame.named, frame.has_names, frame.read

    def column(self, position: int, start: int = 0, stop: int | None = None) -> RawColumn:
        """Return a column, or the stretch ``start:stop`` of its rows; do not write into them."""
        stop = self.n_rows if stop is None else stop
        reading, rules = self._how.readings.get(position), self._how.rules
        if reading is None:
            return _without_tokens(self._frame.column(position, start, stop), rules)
        if self.read.get(position, (None,))[0] != (reading, rules):
            if (texts := self._frame.texts(position)) is not None:
                made = read_texts(self.names[position], texts, reading, rules)
            else:
                made = read_column(self._frame.column(position), reading, rules)
            self.read[position] = (reading, rules), made
        return self.read[position][1].rows(slice(start, stop))

    def is_categorical(self, position: int) -> bool:
        """Return whether a column is nominal by its type in the table."""
        return self._frame.is_categorical(position)

    def original(self, position: int) -> RawColumn:
        """Return a column as the table holds it."""
        return self._frame.original(position)

    def take(self, rows: Ints) -> Frame:
        """Return some of the rows as a table of their own."""
        return ReadingFrame(self._frame.take(rows), self._how)

    def texts(self, position: int) -> TextCells | None:
        """Return the cells of a column of texts; None for any other column."""
        texts = None if position in self._how.readings else self._frame.texts(position)
        return None if texts is None else texts.without(self._how.rules.missing)


def choose_readings(summary: TableSummary, settings: Columns) -> dict[int, Reading]:
    """Return how the texts of the columns are read that are numbers, dates or times."""
    found = {
        position: decide_reading(column.forms, settings)
        for position, column in enumerate(summary.columns)
        if column.forms is not None
    }
    return {position: reading for position, reading in found.items() if reading is not None}


def with_columns(
    summary: TableSummary, positions: Sequence[int], columns: Sequence[ColumnSummary]
) -> TableSummary:
    """Return the summary of a table with other summaries of some of its columns."""
    known = dict(zip(positions, columns, strict=True))
    found = tuple(known.get(position, each) for position, each in enumerate(summary.columns))
    return replace(summary, columns=found)


def _without_tokens(raw: RawColumn, rules: ReadingRules) -> RawColumn:
    """Return a column in which what stands for a missing value is missing."""
    if not rules.missing or raw.kind in ("empty", "boolean", "duration", "time"):
        return raw
    if raw.kind in ("text", "mixed"):
        tokens = set(rules.missing)
        absent = np.array([str(value) in tokens for value in raw.values.tolist()], bool)
    else:
        absent = np.isin(raw.values, _as_values(raw, rules.missing), kind="sort")
    if not absent.any():
        return raw
    if raw.kind == "float":
        return replace(raw, values=np.where(absent, np.nan, raw.values))
    return replace(raw, missing=raw.is_missing() | absent)


def _as_values(raw: RawColumn, tokens: Sequence[str]) -> Array:
    """Return the values of a column's kind that some texts stand for."""
    dtype, values = raw.values.dtype, []
    for token in tokens:
        # What the type of a column cannot hold is nowhere in it.
        with suppress(ValueError, OverflowError):
            if raw.kind in ("date", "datetime"):
                values.append(np.array(token, f"M8[{raw.unit}]").view(np.int64))
            else:
                value = float(token) if raw.kind == "float" else int(token)
                values.append(np.array(value, dtype))
    return np.array(values, dtype)
