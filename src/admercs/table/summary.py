"""What a table, or a part of one, tells about its columns, in a form that can be merged."""

from __future__ import annotations

import datetime as dt
import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Literal

import numpy as np

from admercs.arrays import Array
from admercs.table.frame import Frame
from admercs.table.readings import FormCounts, ReadingRules, count_column, count_forms, merge_forms
from admercs.table.text_cells import TextCells
from admercs.table.values import TEMPORAL, Kind, RawColumn, describe

Category = str | bool | int | float
Counts = dict[Category, int] | None
Nominal = Literal["auto"] | Sequence[str | int]

NUMERIC_CAP = 256  # distinct numbers that are remembered
# Distinct categories that are counted. A column with more of them is not used, so that a summary
# stays small however large the table is.
NOMINAL_CAP = 100_000
_SIZES = ("n_present", "n_missing", "n_unread", "n_words")


@dataclass(frozen=True)
class ColumnSummary:
    """What one part of a table says about a column."""

    name: str
    kind: Kind = "empty"
    role: Literal["numeric", "nominal"] = "numeric"
    chosen: bool = False  # the user asked for it to be nominal
    n_present: int = 0
    n_missing: int = 0
    low: int | float | None = None  # smallest and largest value of a numeric column
    high: int | float | None = None
    # How often each distinct value occurs; None beyond NUMERIC_CAP numbers, NOMINAL_CAP categories.
    counts: Counts = field(default_factory=dict)
    unit: str = ""
    time_zone: str = ""
    forms: FormCounts | None = None  # text and values of several types: what they can be read as
    n_unread: int = 0  # missing, because they are not what other texts of the column are
    n_words: int = 0  # of all texts together, those between two spaces


@dataclass(frozen=True)
class TableSummary:
    """What one part of a table, or all of it, says about its columns."""

    columns: tuple[ColumnSummary, ...]
    n_rows: int
    named: bool
    has_names: bool
    partition: int | None = None  # the number of the part, for messages


def summarise(
    frame: Frame,
    nominal: Nominal = "auto",
    partition: int | None = None,
    rules: ReadingRules | None = None,
) -> TableSummary:
    """Look at every column once; ``nominal`` lists names or positions of columns to be nominal.

    With `rules`, it is counted what the texts of the other columns can be read as.
    """
    chosen = _positions(nominal, frame)
    columns = tuple(summarise_column(frame, j, j in chosen, rules) for j in range(frame.n_columns))
    return TableSummary(columns, frame.n_rows, frame.named, frame.has_names, partition)


def _positions(nominal: Nominal, frame: Frame) -> set[int]:
    if isinstance(nominal, str):
        if nominal == "auto":
            return set()
        raise ValueError(f"nominal must be 'auto' or a list of columns, not {nominal!r}.")
    found, n = set(), frame.n_columns
    for column in nominal:
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
            if not -n <= column < n:
                raise ValueError(f"nominal names column {column}, but the table has {n} columns.")
            found.add(int(column) % n)
        elif column in frame.names:
            found.add(frame.names.index(column))
        else:
            close = difflib.get_close_matches(str(column), frame.names, n=3)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise ValueError(f"nominal names {column!r}, which is not a column of the table.{hint}")
    return found


def summarise_column(
    frame: Frame, position: int, chosen: bool, rules: ReadingRules | None = None
) -> ColumnSummary:
    """Look at one column."""
    texts = frame.texts(position)
    summary = _column_summary(frame, position, texts, chosen)
    is_text = rules is not None and not chosen and summary.kind in ("text", "mixed")
    if rules is None or not is_text or frame.is_categorical(position):
        return summary
    if texts is not None:
        return replace(summary, forms=count_forms(texts, rules))
    return replace(summary, forms=count_column(frame.column(position), rules))


def _column_summary(
    frame: Frame, position: int, texts: TextCells | None, chosen: bool
) -> ColumnSummary:
    name = frame.names[position]
    try:
        if texts is None or not (n := int(texts.n.sum())):
            summary = _summarise(frame.column(position), chosen)
        else:
            summary = ColumnSummary(
                name, "text", "nominal", chosen, n, frame.n_rows - n,
                counts=_count_texts(texts), n_words=int(texts.n @ (texts.sizes[1] + 1)),
            )  # fmt: skip
        if summary.role == "nominal":
            for value in summary.counts or ():
                str(value).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"Column {name!r} holds text that is not valid Unicode ({describe(error.object)}), so "
            "it cannot be shown or kept in a file: replace its lone surrogates."
        ) from error
    return summary


def _summarise(raw: RawColumn, chosen: bool) -> ColumnSummary:
    is_nominal = chosen or raw.categorical or raw.kind in ("boolean", "text", "mixed")
    if not is_nominal:
        raw = raw.contiguous()
    present = raw.present()
    n_unread = 0 if raw.unread is None else int(raw.unread.sum())
    if len(present) == 0:
        return ColumnSummary(raw.name, n_missing=len(raw.values), n_unread=n_unread)
    sizes, low, high = (len(present), len(raw.values) - len(present)), None, None
    if is_nominal:
        raw.check_finite()
        counts = _count_categories(raw, present)
    else:
        low, high = present.min().item(), present.max().item()
        if np.isinf(low) or np.isinf(high):
            raw.check_finite()
        counts = _count_numbers(present, NUMERIC_CAP)
    role: Literal["numeric", "nominal"] = "nominal" if is_nominal else "numeric"
    return ColumnSummary(
        raw.name, raw.kind, role, chosen, *sizes, low, high, counts, raw.unit, raw.time_zone,
        n_unread=n_unread,
    )  # fmt: skip


def _count_numbers(present: Array, cap: int) -> Counts:
    # A sample of the rows settles most columns without a look at all of them.
    sample = present[:: max(1, len(present) // (16 * cap))]
    if len(np.unique(sample)) > cap:
        return None
    values, counts = np.unique(present, return_counts=True)
    if len(values) > cap:
        return None
    if values.dtype.kind == "f":
        values = values.astype(np.float64) + 0.0  # minus zero is zero
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _count_categories(raw: RawColumn, present: Array) -> Counts:
    if raw.kind not in ("text", "mixed"):
        numbers = _count_numbers(present, NOMINAL_CAP)
        if numbers is None or raw.kind not in TEMPORAL:
            return numbers
        # Two counts of nanoseconds may be the same text.
        return _add((time_category(int(value), raw), count) for value, count in numbers.items())
    return _count_texts(TextCells.of(map(text_category, present.tolist())))


def _count_texts(texts: TextCells) -> Counts:
    if len(texts) > NOMINAL_CAP:
        return None
    pairs = zip(texts.values, texts.n.tolist(), strict=True)
    return {text: n for text, n in pairs if n}


def _add(counts: Iterable[tuple[Category, int]]) -> dict[Category, int]:
    """Add up the counts of equal values."""
    total: Counter[Category] = Counter()
    for value, count in counts:
        total[value] += count
    return dict(total)


def text_category(value: Any) -> str:
    """Return the text that a value of a column of several types counts as: ``"7"`` for 7.0."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    return str(value)


def time_category(count: int, raw: RawColumn) -> str:
    """Return a date, time or duration as a text that does not depend on the table's unit."""
    if raw.kind in ("date", "datetime"):
        moment: Any = np.array(count).astype(f"M8[{raw.unit}]")
        text = str(np.datetime_as_string(moment, unit="auto")).replace("T", " ")
        return f"{text}Z" if raw.time_zone else text
    length = np.array(count).astype(f"m8[{raw.unit}]").astype("m8[us]").item()
    return str((dt.datetime.min + length).time() if raw.kind == "time" else length)


def merge_summaries(summaries: Iterable[TableSummary]) -> TableSummary:
    """Merge the summaries of the parts of a table, in any order, into that of the whole table."""
    return replace(reduce(_merge, summaries), partition=None)


def _merge(one: TableSummary, other: TableSummary) -> TableSummary:
    names, others = ([column.name for column in part.columns] for part in (one, other))
    where = "partition" if other.partition is None else f"partition {other.partition}"
    if names != others:
        what = "has its columns in another order"
        if missing := sorted(set(names) - set(others)):
            what = f"lacks {missing}"
        elif added := sorted(set(others) - set(names)):
            what = f"has the further columns {added}"
        must = f"all partitions must have the same columns, {names}."
        raise ValueError(f"{where.capitalize()} {what}: {must}")
    columns = _merge_pairs(one.columns, other.columns, where)
    return replace(one, columns=columns, n_rows=one.n_rows + other.n_rows)


Columns = tuple[ColumnSummary, ...]


def _merge_pairs(one: Columns, other: Columns, where: str = "a partition") -> Columns:
    pairs = zip(one, other, strict=True)
    return tuple(_merge_two(a, b, where) for a, b in pairs)


def merge_columns(parts: Iterable[Columns]) -> Columns:
    """Merge what the parts of a table say of the same columns."""
    return reduce(_merge_pairs, parts)


def _merge_two(one: ColumnSummary, other: ColumnSummary, where: str) -> ColumnSummary:
    sizes = {name: getattr(one, name) + getattr(other, name) for name in _SIZES}
    if not one.n_present or not other.n_present:  # a part without a value fits to anything
        return replace(one if one.n_present else other, **sizes)
    kind = _common_kind(one, other)
    if kind is None:
        raise ValueError(
            f"Column {one.name!r} of {where} is {_spelled(other)}, but {_spelled(one)} elsewhere: "
            "give it the same type in all partitions."
        )
    if kind != "text":
        sizes["n_words"] = 0
    counts = None
    if one.counts is not None and other.counts is not None:
        counts = _add([*_counts_as(kind, one), *_counts_as(kind, other)])
        if len(counts) > (NOMINAL_CAP if one.role == "nominal" else NUMERIC_CAP):
            counts = None
    low = min((x for x in (one.low, other.low) if x is not None), default=None)
    high = max((x for x in (one.high, other.high) if x is not None), default=None)
    forms = None
    if one.forms is not None and other.forms is not None:
        forms = merge_forms([one.forms, other.forms])
    return replace(one, kind=kind, low=low, high=high, counts=counts, forms=forms, **sizes)


def _common_kind(one: ColumnSummary, other: ColumnSummary) -> Kind | None:
    """Return the kind of two parts of a column together; None if they do not fit."""
    if (one.unit, one.time_zone, one.role) != (other.unit, other.time_zone, other.role):
        return None
    kinds = {one.kind, other.kind}
    if len(kinds) == 1:
        return one.kind
    if kinds == {"integer", "float"}:
        return "float"
    several = kinds <= {"text", "mixed"} or (one.chosen and not kinds & set(TEMPORAL))
    return "mixed" if several and one.chosen == other.chosen else None


def _counts_as(kind: Kind, column: ColumnSummary) -> Iterator[tuple[Category, int]]:
    """Yield the counts as they would be had the column been of the common kind all along."""
    change = float if kind == "float" else text_category
    for value, count in (column.counts or {}).items():
        yield (value if column.kind == kind else change(value)), count


def _spelled(column: ColumnSummary) -> str:
    zone = f" in {column.time_zone}" if column.time_zone else ""
    unit = f" counted in {column.unit}" if column.unit else ""
    return f"{column.role} ({column.kind}{unit}{zone})"
