"""What stands out in single columns: how they were read, what could not be, and codes for missing.

The counts are gathered piece by piece; the sentences are made at the end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from admercs.arrays import Ints
from admercs.explain.access import Model
from admercs.explain.column_words import ColumnWords, join
from admercs.explain.model_words import ModelWords
from admercs.explain.records import Record, label_text
from admercs.explain.repeated_rows import RepetitionWatch
from admercs.explain.scored_rows import ScoredTable, raw_texts
from admercs.explain.stated_words import as_written, often, shortened, spelling_of_facet
from admercs.facets.look_alikes import LookAlike, fold
from admercs.method.tail import TailStep
from admercs.table.columns import Column
from admercs.table.date_texts import FIRST_SHORT_YEAR

FindingKind = Literal["reading", "exceptions", "code", "look-alike", "duplicates", "gaps"]

# log ω of a value in the tail that a tenth of the rows may share and that is still far outside of
# the rest, and of a text that is so rare beside the one that it resembles.
_OUTSIDE, _FAR = -2.3, -3.0
# A code is so many times as far from the rest, and from other such values, as the rest is wide;
# one that is often used need not be as far.
_GAP, _USUAL_GAP = 3.0, 0.5
_USUAL_CODE = re.compile(r"0|-1|-?9{2,}(?:\.9+)?|1900-01-01|1970-01-01|9999-12-31")
_NAMED, _FIRST_ROWS = 3, 3  # values that a sentence names, and rows that hold one of them
_FEW_GAPS = 0.01  # a larger share of missing values is no exception
_SHORT_WORD = 5  # letters of a word that is a name as likely as it is a misspelt one
_MOST_VALUES = 1_000  # that are told apart while counting
_GROUP_WORDS = {",": "commas", ".": "points", " ": "spaces", "'": "apostrophes"}
_ORDERS = {"dmy": "day/month/year", "mdy": "month/day/year"}


@dataclass(frozen=True)
class ColumnFinding(Record):
    """What is to be said of a column, apart from its rows' scores."""

    column: str  # empty for what is said of whole rows
    kind: FindingKind
    text: str  # without the name of the column
    n: int = 0  # cells that it is about
    values: tuple[str, ...] = ()  # the most frequent ones
    rows: tuple[str, ...] = ()  # the first ones


@dataclass
class _Seen:
    """How often a value was seen, and in which rows first."""

    n: int = 0
    rows: list[str] = field(default_factory=list)


class ColumnWatch:
    """Gathers what stands out in the columns of a table; its size does not depend on the rows."""

    def __init__(self, model: Model) -> None:
        self._model = model
        tail = model.method.tail
        root = model.forest.root
        self._tail = TailStep(model.likelihoods, root, tail) if tail is not None else None
        self._unread: dict[int, dict[str, _Seen]] = {}
        self._far: dict[int, dict[float, _Seen]] = {}
        self._n_unread: dict[int, int] = {}
        self._rest: dict[int, tuple[float, float]] = {}  # the ends of what is not far
        self._repeated = RepetitionWatch(model.schema)
        self._attributes = {column.position: m for m, column in enumerate(model.schema.used)}
        self._alike: dict[int, dict[str, _Seen]] = {}  # by the position of the column
        self._gaps: dict[int, _Seen] = {}
        self._n_rows = 0

    def add(self, piece: ScoredTable) -> None:
        """Take in a scored piece of the table."""
        self._repeated.add(piece)
        self._add_look_alikes(piece)
        self._n_rows += piece.table.n_rows
        for column in self._model.schema.columns:
            self._add_gaps(piece, column)
            raw = piece.table.raw(column.position) if column.reading is not None else None
            if raw is not None and raw.unread is not None:
                rows = np.flatnonzero(raw.unread)
                texts = raw_texts(piece.table.original(column.position), rows)
                self._n_unread[column.position] = self._n_unread.get(column.position, 0) + len(rows)
                _count(self._unread.setdefault(column.position, {}), texts, rows, piece)
        if self._tail is None:
            return
        beyond: dict[int, list[Ints]] = {}
        for m, rows, far in self._tail.far(piece.table.column):
            if self._model.schema.used[m].facet is None:
                beyond.setdefault(m, []).append(rows[far < _OUTSIDE])
        for m, sides in beyond.items():
            rows, values = np.concatenate(sides), piece.table.column(m)
            _count(self._far.setdefault(m, {}), values[rows].tolist(), rows, piece)
            rest = np.delete(values, rows)
            rest = rest[~np.isnan(rest)]
            low, high = self._rest.get(m, (math.inf, -math.inf))
            self._rest[m] = float(rest.min(initial=low)), float(rest.max(initial=high))

    def _add_look_alikes(self, piece: ScoredTable) -> None:
        for m, column in enumerate(self._model.schema.used):
            if column.facet is not None and column.facet.kind == "spelling":
                rows = np.flatnonzero(piece.table.column(m) < 0)
                texts = raw_texts(piece.table.raw(column.sources[0]), rows)
                _count(self._alike.setdefault(column.sources[0], {}), texts, rows, piece)

    def _add_gaps(self, piece: ScoredTable, column: Column) -> None:
        m, raw = self._attributes.get(column.position), piece.table.raw(column.position)
        missing = raw.is_missing() if m is None else np.isnan(piece.table.column(m))
        if raw.unread is not None:
            missing = missing & ~raw.unread
        if missing.any():
            rows = np.flatnonzero(missing)
            seen = self._gaps.setdefault(column.position, _Seen())
            seen.n += len(rows)
            new = rows[: _FIRST_ROWS - len(seen.rows)].tolist()
            seen.rows += [label_text(piece.labels[row]) for row in new]

    def findings(self, n_recorded: Ints) -> tuple[ColumnFinding, ...]:
        """Return what stands out, given how many cells of each column are recorded."""
        found = []
        attributes, words = self._attributes, ModelWords(self._model)
        for column in self._model.schema.columns:
            position = column.position
            if text := reading_text(column):
                m = attributes.get(position, -1)
                text += _span_text(column, words.column(m)) if m >= 0 else ""
                found.append(ColumnFinding(column.name, "reading", text))
            if position in self._unread:
                found.append(self._exceptions(column, int(n_recorded[position])))
            if (m := attributes.get(position, -1)) in self._far:
                for x in self._codes(m, words.column(m)):
                    value, seen = words.column(m).value_text(x), self._far[m][x]
                    text = f"{value} occurs {often(seen.n)} ({_first_rows(seen)}): "
                    text += "a code for missing?"
                    found.append(
                        ColumnFinding(column.name, "code", text, seen.n, (value,), tuple(seen.rows))
                    )
            found += self._look_alikes(column)
            gaps = self._gaps.get(position, _Seen())
            if 0 < gaps.n <= _FEW_GAPS * self._n_rows:
                text = f"{gaps.n:,} of {self._n_rows:,} missing ({_first_rows(gaps)})"
                found.append(
                    ColumnFinding(column.name, "gaps", text, gaps.n, rows=tuple(gaps.rows))
                )
        for name, text, repeated in self._repeated.findings(self._model.schema.names):
            values = tuple(each.text for each in repeated.foremost[:_NAMED] if each.text)
            rows = tuple(label_text(row) for row in repeated.foremost[0].rows)
            n = repeated.n_repeated
            found.append(ColumnFinding(name, "duplicates", text, n, values, rows))
        return tuple(found)

    def _look_alikes(self, column: Column) -> list[ColumnFinding]:
        """Return which rare texts of a column resemble frequent ones."""
        seen = self._alike.get(column.position)
        if not seen:
            return []
        (spelling,) = (
            spelling_of_facet(each.facet)
            for each in self._model.schema.facets
            if each.facet and each.facet.kind == "spelling" and each.sources[0] == column.position
        )
        known = {
            text: found
            for text in seen
            if (found := spelling.look_alike(text)) and found.log_likelihood < _FAR
            if not _may_be_another(found, text)
        }
        if not known:  # so many that they are usual
            return []
        order = sorted(known, key=lambda text: (known[text].log_likelihood, text))
        parts = []
        for text in order[:_NAMED]:
            found = known[text]
            own, other, _ = as_written(found, text)
            what = f"'{shortened(text)}'" if own == text else f"'{own}' in '{shortened(text)}'"
            resembles = f"resembles '{shortened(other)}' ({found.n_other:,} times)"
            parts.append(f"{what} ({_how_often(seen[text])}) {resembles}")
        if len(order) > _NAMED:
            n = len(order) - _NAMED
            parts.append("1 more look-alike" if n == 1 else f"{n:,} more look-alikes")
        n, rows = sum(seen[text].n for text in order), (seen[text].rows[0] for text in order)
        values = tuple(order[:_NAMED])
        text = join(parts, "and")
        return [ColumnFinding(column.name, "look-alike", text, n, values, tuple(rows)[:_NAMED])]

    def _codes(self, m: int, words: ColumnWords) -> list[float]:
        """Return the outermost values that rows share, if nothing else lies near them."""
        low, high = self._rest[m]
        shared = sorted(x for x, seen in self._far[m].items() if seen.n > 1)
        below, above = [x for x in shared if x < low], [x for x in shared if x > high]
        gaps = {x: [*below, low][1] - x for x in below[:1]}
        gaps |= {x: x - [high, *above][-2] for x in above[-1:]}

        def least(x: float) -> float:
            text = words.exact_text(x).replace(",", "")
            return (high - low) * (_USUAL_GAP if _USUAL_CODE.fullmatch(text) else _GAP)

        return [x for x, gap in gaps.items() if gap >= least(x)]

    def _exceptions(self, column: Column, n_read: int) -> ColumnFinding:
        seen, n = self._unread[column.position], self._n_unread[column.position]
        named = sorted(seen, key=lambda text: -seen[text].n)[:_NAMED]
        kind = column.reading.form.kind if column.reading else "value"
        parts = [f'"{shortened(text)}" ({_how_often(seen[text])})' for text in named]
        such = "such as " if len(seen) > len(named) else ""
        text = f"{_counted(n_read, kind)} and {_counted(n, 'text')}, {such}{join(parts, 'and')}"
        rows = tuple(seen[text].rows[0] for text in named)
        return ColumnFinding(column.name, "exceptions", text, n, tuple(named), rows)


def reading_text(column: Column) -> str:
    """Say how the texts of a column are read, and what else they could be; empty if as they are."""
    if column.reading is None:
        return ""
    form, parts = column.reading.form, []
    if form.kind == "number":
        if form.prefix or form.suffix:
            parts.append(f"in {form.prefix or form.suffix}")
        signs = ["a decimal comma"] if form.decimal == "," else []
        if form.group:
            signs.append(f"{_GROUP_WORDS[form.group]} between thousands")
        if column.reading.bracketed:
            signs.append("parentheses for negative ones")
        parts += [f"with {join(signs, 'and')}"] if signs else []
        other = "," if form.decimal == "." else "."
        unsure = f"the sign could be a decimal one as well (--decimal {other})"
    else:
        if form.order in _ORDERS:
            parts.append(f"with {_ORDERS[form.order]}")
        if form.year_digits == 2 and form.kind == "date":
            years = f"{FIRST_SHORT_YEAR} to {FIRST_SHORT_YEAR + 99}"
            parts.append(f"with two-digit years taken for {years}")
        other = "--dayfirst" if form.order == "mdy" else "--no-dayfirst"
        unsure = f"day and month could be exchanged as well ({other})"
    if not parts and not column.reading.ambiguous:  # as anybody would read them
        return ""
    text = " ".join([f"read as {form.kind}s", *parts])
    return f"{text}; {unsure}" if column.reading.ambiguous else text


def _span_text(column: Column, words: ColumnWords) -> str:
    """Say from when to when dates are whose century is a guess."""
    form = None if column.reading is None else column.reading.form
    if form is None or form.kind != "date" or form.year_digits == 4:
        return ""
    first, last = (words.native(end) for end in column.limits)
    return f"; they are of {getattr(first, 'year', first)} to {getattr(last, 'year', last)}"


def _may_be_another(found: LookAlike, text: str) -> bool:
    """Say whether a look-alike may well be another name or code.

    A short word of a text may be, if it has another letter in one place, and so may a code that
    has. A word may be the plural of the other one.
    """
    one, other = fold(found.text), fold(found.other)
    differ = [place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if found.text != text and one.removesuffix("s") == other.removesuffix("s"):
        return True
    is_other_letter = len(one) == len(other) and len(differ) == 1
    is_short = found.text != text and len(one) <= _SHORT_WORD
    return is_other_letter and (is_short or any(each.isdigit() for each in one))


def _count(known: dict[Any, _Seen], values: Iterable[Any], rows: Ints, piece: ScoredTable) -> None:
    for value, row in zip(values, rows.tolist(), strict=True):
        if value in known or len(known) < _MOST_VALUES:
            seen = known.setdefault(value, _Seen())
            seen.n += 1
            if len(seen.rows) < _FIRST_ROWS:
                seen.rows.append(label_text(piece.labels[row]))


def _how_often(seen: _Seen) -> str:
    if seen.n == 1:
        return _where(seen.rows)
    return f"{seen.n:,} times, {_first_rows(seen)}"


def _first_rows(seen: _Seen) -> str:
    return _where(seen.rows) + (" first" if seen.n > _FIRST_ROWS else "")


def _where(rows: list[str]) -> str:
    numbers = [row.removeprefix("row ") for row in rows]
    if not all(
        row.startswith("row ") and each.isdigit() for row, each in zip(rows, numbers, strict=True)
    ):
        return join(rows, "and")
    return f"row{'s' * (len(rows) > 1)} {join([f'{int(each):,}' for each in numbers], 'and')}"


def _counted(n: int, what: str) -> str:
    plural = "" if n == 1 else "s"
    return f"{n:,} {what}{plural}{' of day' if what == 'time' else ''}"
