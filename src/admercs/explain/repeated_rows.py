"""Values of keys that repeat in a table, and rows that are equal in all other columns.

Values are remembered as 64-bit hashes, so memory is bounded: what is repeated is found among the
first rows of a very large table, and told of all of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from admercs.arrays import Bools, Ints, Keys, scramble
from admercs.explain.column_words import join
from admercs.explain.scored_rows import ScoredTable, raw_texts
from admercs.explain.stated_words import often, shortened
from admercs.table.columns import Column
from admercs.table.schema import Schema
from admercs.table.values import RawColumn

MOST_ROWS = 1 << 23  # whose values are remembered
MOST_REPEATED = 100_000  # values that are told apart
NAMED, FIRST_ROWS = 3, 3  # repeated values that a sentence names, and rows of each
# Rows that repeat are a finding in a table of so many rows if at most this share of them does.
LEAST_ROWS, NATURAL_SHARE = 50, 0.01


class FirstRows:
    """In which row each value was seen first."""

    def __init__(self) -> None:
        self._runs: list[tuple[Keys, Ints]] = []  # values in ascending order, and their rows
        self._n = 0

    def add(self, values: Keys, rows: Ints) -> Ints:
        """Return for some values the row in which each was seen first, be it this one."""
        distinct, first, place = np.unique(values, return_index=True, return_inverse=True)
        found = rows[first]
        is_new = np.ones(len(distinct), np.bool_)
        for known, known_rows in self._runs:
            at = np.minimum(np.searchsorted(known, distinct), len(known) - 1)
            hit = known[at] == distinct
            found[hit], is_new = known_rows[at[hit]], is_new & ~hit
        if is_new.any() and self._n < MOST_ROWS:
            self._runs.append((distinct[is_new], found[is_new]))
            self._n += int(is_new.sum())
            # Runs grow in size, so that each value is merged a few times only.
            while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
                (a, row_a), (b, row_b) = self._runs[-2:]
                order = np.argsort(both := np.concatenate((a, b)), kind="stable")
                self._runs[-2:] = [(both[order], np.concatenate((row_a, row_b))[order])]
        return found[place]


@dataclass
class Repeated:
    """A value that repeats, and where."""

    text: str
    n: int
    rows: list[int]


@dataclass
class Repetitions:
    """The values of a key, or whole rows, that repeat in a table."""

    seen: FirstRows = field(default_factory=FirstRows)
    n: int = 0  # values
    by_row: dict[int, Repeated] = field(default_factory=dict)  # by the row seen first

    @property
    def n_repeated(self) -> int:
        """How many rows have a value that another row has."""
        return sum(each.n for each in self.by_row.values())

    @property
    def foremost(self) -> list[Repeated]:
        """The values that occur most often."""
        return sorted(self.by_row.values(), key=lambda each: (-each.n, each.rows))

    def add(self, values: Keys, rows: Ints, raw: RawColumn | None = None) -> None:
        """Take in the values of some rows, and their column if they are shown."""
        self.n += len(values)
        first = self.seen.add(values, rows)
        for k in np.flatnonzero(first != rows).tolist():
            start, row = int(first[k]), int(rows[k])
            if start not in self.by_row:
                if len(self.by_row) == MOST_REPEATED:
                    continue
                text = "" if raw is None else str(raw_texts(raw, np.array([k]))[0])
                self.by_row[start] = Repeated(text, 1, [start])
            known = self.by_row[start]
            known.n += 1
            if len(known.rows) < FIRST_ROWS:
                known.rows.append(row)


class RepetitionWatch:
    """Gathers the keys and the rows of a table that repeat."""

    def __init__(self, schema: Schema) -> None:
        self.keys = {each.position: Repetitions() for each in schema.columns if each.is_key}
        self.rows = Repetitions()
        used = {column.position: m for m, column in enumerate(schema.used)}
        self._others = [
            (column, used.get(column.position))
            for column in schema.columns
            if column.position not in self.keys
        ]

    def add(self, piece: ScoredTable) -> None:
        """Take in a scored piece of the table."""
        rows = np.arange(piece.first, piece.first + piece.table.n_rows)
        for place, repetitions in self.keys.items():
            raw = piece.table.raw(place)
            here = np.flatnonzero(~raw.is_missing())
            raw = raw.rows(here)
            repetitions.add(_hashes(raw), rows[here], raw)
        if self.rows_may_be_told():
            self.rows.add(self._whole_rows(piece), rows)

    def findings(self, names: list[str]) -> Iterator[tuple[str, str, Repetitions]]:
        """Yield column, text and repetitions of all findings, given the names of all columns."""
        for place, key in self.keys.items():
            if key.by_row:
                yield names[place], key_text(key), key
        if self.rows.by_row and self.rows.n >= LEAST_ROWS and self.rows_may_be_told(least=2):
            keys = [names[place] for place in self.keys]
            yield next(iter(keys), ""), equal_rows_text(self.rows, keys), self.rows

    def rows_may_be_told(self, least: int = LEAST_ROWS) -> bool:
        """Say whether few enough rows are equal to others for that to be odd."""
        return self.rows.n_repeated <= max(least, NATURAL_SHARE * self.rows.n)

    def _whole_rows(self, piece: ScoredTable) -> Keys:
        """Return a number for each row that follows from all columns but keys."""
        total = np.zeros(piece.table.n_rows, np.uint64)
        for column, m in self._others:
            if (values := _of_column(piece, column, m)) is not None:
                total = scramble(total ^ values)
        return total


def _of_column(piece: ScoredTable, column: Column, m: int | None) -> Keys | None:
    """Return a number for each value of a column; None if all are the same."""
    if m is None:
        raw = piece.table.raw(column.position)
        return _hashes(raw) if raw.kind in ("text", "mixed") else None
    values = piece.table.column(m) + 0.0  # minus zero is zero
    values[np.isnan(values)] = np.nan
    numbers = values.view(np.uint64)
    if column.role == "nominal":  # what shares a code is told apart
        return _with_texts(numbers, values > len(column.categories), piece, column)
    unread = piece.table.raw(column.position).unread if column.reading is not None else None
    return numbers if unread is None else _with_texts(numbers, unread, piece, column)


def _with_texts(numbers: Keys, where: Bools, piece: ScoredTable, column: Column) -> Keys:
    rows = np.flatnonzero(where)
    if len(rows):
        raw = piece.table.original(column.position)
        if raw.kind == "text":
            numbers[rows] = _hashes(raw.rows(rows))
        else:
            numbers[rows] = [hash(text) % 2**64 for text in raw_texts(raw, rows)]
    return numbers


def _hashes(raw: RawColumn) -> Keys:
    """Return a number for each value; missing ones have the same."""
    missing = raw.is_missing()
    if raw.kind in ("text", "mixed", "empty"):
        given: list[Any] = raw.values.tolist()
        numbers = np.fromiter(map(hash, given), np.int64, len(given)).view(np.uint64)
        numbers[missing] = 0
        return numbers
    values = np.where(missing, 0, raw.values)
    # A library may hold whole numbers as floats; decimals remain what they are.
    is_whole = values.dtype.kind != "f" or not (values % 1).any()
    return values.astype(np.int64 if is_whole else np.float64).view(np.uint64)


def rows_text(rows: list[int], n: int) -> str:
    """Name the first rows of several."""
    names = [f"{row:,}" for row in rows]
    if n > len(rows):
        return f"rows {', '.join(names)} and {n - len(rows):,} more"
    return f"rows {', '.join(names[:-1])} and {names[-1]}"


def key_text(key: Repetitions) -> str:
    """Say which values of a key repeat."""
    named = [
        f"{shortened(each.text)} occurs {often(each.n)} ({rows_text(each.rows, each.n)})"
        for each in key.foremost[:NAMED]
    ]
    if more := len(key.by_row) - len(named):
        named.append(f"{more:,} more value{'s' * (more > 1)} repeat{'s' * (more == 1)}")
    unique = key.n - key.n_repeated
    return (f"unique in {unique:,} rows; " if 2 * unique > key.n else "") + join(named, "and")


def equal_rows_text(rows: Repetitions, keys: list[str]) -> str:
    """Say which rows are equal in all columns but keys."""
    but = f" but {join(keys, 'and')}" if keys else ""
    first = rows.foremost[0]
    if len(rows.by_row) == 1:
        return f"{rows_text(first.rows, first.n)} are equal in all columns{but}"
    such = f"such as {rows_text(first.rows, first.n)}"
    return f"{rows.n_repeated:,} rows are equal to others in all columns{but}, {such}"
