"""Text columns that are numbers, dates or times: deciding so, and reading them.

A column is what nearly all of its recorded cells are. How its texts are read is decided once, from
counts that add up over the pieces of a table, and never cell by cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from admercs.arrays import Array, Bools, Ints
from admercs.method.settings import Columns
from admercs.table.date_texts import date_forms, parse_dates
from admercs.table.number_texts import (
    CONVENTIONS,
    is_finite,
    is_padded,
    number_forms,
    parse_numbers,
)
from admercs.table.text_cells import TextCells, texts_in
from admercs.table.text_forms import TextForm, by_shape
from admercs.table.values import PER_DAY, Kind, RawColumn, from_objects, kind_of

# What stands for a missing value where a text is to be a number or a date.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
# Forms that are counted. A column with more of them has no form that nearly all of its cells have.
_MOST_FORMS = 2_000
_DAY = 86_400 * 1_000_000  # microseconds
_TYPED: dict[Kind, str] = {
    **dict.fromkeys(("float", "integer"), "number"),
    **dict.fromkeys(("date", "datetime"), "date"),
    "time": "time",
}


@dataclass(frozen=True)
class ReadingRules:
    """What the user knows of how texts are to be read."""

    missing: tuple[str, ...] = ()  # stands for a missing value, beside the usual texts
    decimal: Literal[".", ","] | None = None  # None: decided for each column
    dayfirst: bool | None = None  # None: decided for each column
    encoding: str = ""  # of text files, on the command line

    @property
    def tokens(self) -> frozenset[str]:
        """All texts that stand for a missing value."""
        return frozenset(MISSING) | set(self.missing)

    def allow(self, form: TextForm) -> bool:
        """Return whether a column may have a form."""
        if form.kind == "number":
            return self.decimal in (None, form.decimal)
        orders = {None: ("dmy", "mdy"), True: ("dmy",), False: ("mdy",)}[self.dayfirst]
        return form.order not in ("dmy", "mdy") or form.order in orders


@dataclass(frozen=True)
class FormCounts:
    """How many cells of a part of a column read under each form."""

    n_cells: int = 0  # that are recorded
    n_padded: int = 0  # whole numbers that begin with a zero
    n_bracketed: int = 0  # numbers in parentheses
    # How many cells are numbers, dates or times already, and how many texts have a form; both with
    # decimals or a time of day, or without. None beyond so many forms.
    typed: dict[tuple[str, bool], int] = field(default_factory=dict)
    reads: dict[tuple[TextForm, bool], int] | None = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """How the texts of a column are read."""

    form: TextForm
    kind: Kind  # of the values: integer, float, date, datetime or time
    # The texts of the training table read as well with the other decimal sign, or with day and
    # month exchanged.
    ambiguous: bool = False
    bracketed: bool = False  # numbers in parentheses are below zero, and there are some

    def to_dict(self) -> dict[str, Any]:
        """Return the reading as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Reading:
        """Return the reading that `to_dict` was called on, or raise a ValueError."""
        try:
            reading = cls(**{**data, "form": TextForm(**data["form"])})
        except (KeyError, TypeError) as error:
            raise ValueError(f"This is not how a column was read: {error}") from error
        form, kinds = reading.form, {"number": ("integer", "float"), "date": ("date", "datetime")}
        if reading.kind not in kinds.get(form.kind, ("time",)):
            raise ValueError(f"{form.kind} texts cannot be read as {reading.kind}.")
        if form.kind == "number" and (form.decimal, form.group) not in CONVENTIONS:
            raise ValueError(f"Numbers with {form.decimal!r} and {form.group!r} cannot be read.")
        return reading


def count_column(raw: RawColumn, rules: ReadingRules) -> FormCounts:
    """Count how many cells of a column of any kind read under each form."""
    if raw.kind == "text":
        return count_forms(texts_in(raw), rules)
    if raw.kind != "mixed":
        n = len(raw.present())
        return FormCounts(n, typed={_typed(raw.kind, zoned=bool(raw.time_zone)): n} if n else {})
    values = raw.present().tolist()
    typed = Counter(_type_of(value) for value in values if not isinstance(value, str))
    found = count_forms(TextCells.of(v for v in values if isinstance(v, str)), rules)
    return replace(found, n_cells=found.n_cells + typed.total(), typed=dict(typed))


def count_forms(texts: TextCells, rules: ReadingRules) -> FormCounts:
    """Count how many texts of a column read under each form."""
    texts = texts.without([*rules.tokens])
    reads, n_padded, n_bracketed = _count_texts_by_form(texts, rules)
    return FormCounts(int(texts.n.sum()), n_padded, n_bracketed, reads=_capped(reads))


def _type_of(value: Any) -> tuple[str, bool]:
    """Return what a value is that is no text, and whether in detail."""
    kind = kind_of(type(value)) or "mixed"
    return _typed(kind, zoned=getattr(value, "tzinfo", None) is not None)


def _typed(kind: Kind, *, zoned: bool) -> tuple[str, bool]:
    word = "zoned" if zoned and kind == "datetime" else _TYPED.get(kind, "other")
    return word, kind in ("float", "datetime")


def _count_texts_by_form(
    texts: TextCells, rules: ReadingRules
) -> tuple[Counter[tuple[TextForm, bool]], int, int]:
    """Return how many texts have each form, and how many are padded and bracketed numbers."""
    reads: Counter[tuple[TextForm, bool]] = Counter()
    n_padded = n_bracketed = 0
    for some in by_shape(texts):
        shape, weight = some.shape, texts.n[some.places]
        found = (*number_forms(shape), *date_forms(shape))
        forms = [each for each in found if rules.allow(each[0])]
        if not forms:
            continue
        for form, in_detail in forms:
            parsed = None if form.kind == "number" else parse_dates(some, form)
            if n := 0 if parsed is None else int(weight[parsed[1]].sum()):
                reads[form, in_detail] += n
        if forms[0][0].kind == "number":
            padded = is_padded(some)
            n_padded += int(weight[padded].sum())
            n_bracketed += int(weight.sum()) if "(" in shape else 0
            if n := int(weight[~padded & is_finite(some, forms[0][0])].sum()):
                reads.update(dict.fromkeys(forms, n))
    return reads, n_padded, n_bracketed


def _capped(reads: Counter[tuple[TextForm, bool]]) -> dict[tuple[TextForm, bool], int] | None:
    return dict(reads) if len(reads) <= _MOST_FORMS else None


def merge_forms(parts: Iterable[FormCounts]) -> FormCounts:
    """Add up the counts of the parts of a column, in any order."""
    return reduce(_merge_two, parts, FormCounts())


def _merge_two(one: FormCounts, other: FormCounts) -> FormCounts:
    reads = None
    if one.reads is not None and other.reads is not None:
        reads = _capped(Counter(one.reads) + Counter(other.reads))
    return FormCounts(
        one.n_cells + other.n_cells,
        one.n_padded + other.n_padded,
        one.n_bracketed + other.n_bracketed,
        dict(Counter(one.typed) + Counter(other.typed)),
        reads,
    )


def decide_reading(counts: FormCounts, settings: Columns) -> Reading | None:
    """Return how a column of text or mixed values is to be read; None if it stays what it is."""
    if not counts.n_cells or counts.reads is None:
        return None
    # Codes are padded with zeros to one length; a number hardly ever is.
    if counts.n_padded > settings.padded_share * counts.n_cells:
        return None
    found = {form for form, _ in counts.reads}
    if not any(form.kind == "number" for form in found):
        found.add(TextForm("number"))
    if not any(form.kind == "date" for form in found):
        found.add(TextForm("date", order="ymd", separator="-"))
    totals = {form: _total(form, counts) for form in found}
    best = min(found, key=lambda form: (-totals[form][0], *_preference(form)))
    n_read, in_detail = totals[best]
    n_enough = settings.reading_share * counts.n_cells
    if n_read < n_enough:
        # A second form is a mistake that many cells share: they are kept as texts.
        others = (totals[form][0] for form in found if _may_stand_beside(best, form))
        n_both = n_read + max(others, default=0)
        if n_read < settings.main_share * counts.n_cells or n_both < n_enough:
            return None
    is_bracketed = best.kind == "number" and counts.n_bracketed > 0
    return Reading(best, _kind(best, in_detail > 0), _is_ambiguous(best, totals), is_bracketed)


def _total(form: TextForm, counts: FormCounts) -> tuple[int, int]:
    """Return how many cells have a form, and how many of these in detail."""
    typed = "zoned" if form.zoned else form.kind
    detail = {d: (counts.reads or {}).get((form, d), 0) for d in (False, True)}
    if not (form.prefix or form.suffix):  # a number has no unit
        for d in (False, True):
            detail[d] += counts.typed.get((typed, d), 0)
    return detail[False] + detail[True], detail[True]


def _preference(form: TextForm) -> tuple[Any, ...]:
    """Return what decides between forms that read a column equally well."""
    if form.kind == "number":
        return 0, CONVENTIONS.index((form.decimal, form.group)), form.prefix, form.suffix
    usual = "mdy" if form.separator == "/" else "dmy"
    return 1, form.order != usual, form.order, form.separator, form.year_digits, form.zoned


def _may_stand_beside(one: TextForm, other: TextForm) -> bool:
    """Say whether numbers differ in having a unit, or dates in how they are written.

    No text has both forms.
    """
    if one == other or one.kind != other.kind or one.kind == "time":
        return False
    if one.kind == "date":  # only these orders can be taken for each other
        same = replace(one, order="") == replace(other, order="")
        return not (same and {one.order, other.order} == {"dmy", "mdy"})
    units = [bool(form.prefix or form.suffix) for form in (one, other)]
    return units[0] != units[1] and (one.decimal, one.group) == (other.decimal, other.group)


def _kind(form: TextForm, in_detail: bool) -> Kind:
    kinds: dict[str, tuple[Kind, Kind]] = {
        "number": ("integer", "float"),
        "date": ("date", "datetime"),
        "time": ("time", "time"),
    }
    return kinds[form.kind][in_detail]


def _is_ambiguous(best: TextForm, totals: dict[TextForm, tuple[int, int]]) -> bool:
    """Return whether another form reads as many cells as other values."""
    if best.order in ("dmy", "mdy"):
        other = replace(best, order="mdy" if best.order == "dmy" else "dmy")
        return totals.get(other, (0, 0)) == totals[best]
    return best.kind == "number" and any(
        form.decimal != best.decimal and n == totals[best][0] and detail != totals[best][1]
        for form, (n, detail) in totals.items()
        if (form.kind, form.prefix, form.suffix) == (best.kind, best.prefix, best.suffix)
    )


def read_column(raw: RawColumn, reading: Reading, rules: ReadingRules) -> RawColumn:
    """Return a column as what its reading makes of it; cells that cannot be read are missing."""
    if raw.kind not in ("text", "mixed"):  # all of it was numbers or dates already, or missing
        return raw
    given, missing = raw.values.tolist(), raw.is_missing()
    is_text = np.array([isinstance(value, str) for value in given], bool)
    others = {row: given[row] for row in np.flatnonzero(~is_text & ~missing).tolist()}
    return read_texts(raw.name, TextCells.of(given, ~is_text | missing), reading, rules, others)


def read_texts(
    name: str, texts: TextCells, reading: Reading, rules: ReadingRules,
    others: Mapping[int, Any] = MappingProxyType({}),
) -> RawColumn:  # fmt: skip
    """Return texts as what their reading makes of them; `others` are the values of further rows."""
    is_token = np.zeros(len(texts) + 1, bool)  # the last one is of rows without a text
    is_token[texts.find([*rules.tokens])] = True
    parts = _read_distinct(texts, ~is_token, reading.form)
    # Each distinct value is read once; 1, 1.0 and True are equal, but not the same.
    known = {(type(value), value): value for value in others.values()}
    typed = {key: _typed_value(value, reading.form) for key, value in known.items()}
    numbers = ((row, typed[type(value), value]) for row, value in others.items())
    of_rows = {row: number for row, number in numbers if number is not None}
    whole = all(part.dtype.kind == "i" for _, part in parts) and reading.kind != "float"
    whole &= all(isinstance(number, int) for number in of_rows.values())
    values = np.zeros(len(texts) + 1, np.int64 if whole else np.float64)
    found = np.zeros(len(texts) + 1, bool)
    for places, part in parts:
        values[places], found[places] = part, True
    cells, absent, rows = values[texts.code], ~found[texts.code], [*of_rows]
    cells[rows], absent[rows] = [*of_rows.values()], False
    unread = absent & ~texts.is_missing() & ~is_token[texts.code]
    unread[[*others]] = absent[[*others]]
    if values.dtype.kind == "f":
        cells[absent] = np.nan
    read = _column_of(name, reading, cells, absent)
    return replace(read, unread=unread) if unread.any() else read


def _read_distinct(texts: TextCells, may_be: Bools, form: TextForm) -> list[tuple[Ints, Array]]:
    """Return what distinct texts of each shape are read as, those that can be, and their places."""
    parts: list[tuple[Ints, Array]] = []
    for some in by_shape(texts):
        if form.kind == "number":
            numbers = parse_numbers(some, form)
            read = None
            if numbers is not None:  # no float is as large as 9e999
                read = numbers, ~is_padded(some) & np.isfinite(numbers)
        else:
            read = parse_dates(some, form)
        if read is not None:
            is_read = read[1] & may_be[some.places]
            parts.append((some.places[is_read], read[0][is_read]))
    return [part for part in parts if len(part[0])]


def _typed_value(value: Any, form: TextForm) -> float | int | None:
    """Return what a number, date or time of a mixed column is beside the texts of a form."""
    kind = kind_of(type(value))
    if _TYPED.get(kind or "mixed") != form.kind or form.prefix or form.suffix:
        return None
    if form.kind == "number":
        is_small = kind == "integer" and abs(int(value)) < 2**63
        return int(value) if is_small else float(value)
    if (getattr(value, "tzinfo", None) is not None) != form.zoned:
        return None
    raw = from_objects(np.array([value], object), "")
    return int(raw.values[0]) * _DAY // PER_DAY[raw.unit]


def _column_of(name: str, reading: Reading, cells: Array, absent: Bools) -> RawColumn:
    missing = absent if absent.any() else None
    if reading.form.kind == "number":
        kind: Kind = "float" if cells.dtype.kind == "f" else "integer"
        return RawColumn(name, kind, cells, None if kind == "float" else missing)
    if reading.kind == "date" and not (cells % _DAY).any():
        return RawColumn(name, "date", cells // _DAY, missing, "D")
    kind = "time" if reading.kind == "time" else "datetime"
    return RawColumn(name, kind, cells, missing, "us", "UTC" if reading.form.zoned else "")
