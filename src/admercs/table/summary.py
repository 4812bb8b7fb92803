"""What a table, or a part of one, tells about its columns, in a form that can be merged."""

from __future__ import annotations

import datetime as dt
import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Literal

import numpy as np

from admercs.arrays import Array
from admercs.table.frame import Frame
from admercs.table.objects import first_of_other_kind, kind_of
from admercs.table.texts import count_objects, count_texts
from admercs.table.values import KIND_WORDS, TEMPORAL, Kind, RawColumn, describe

Category = str | bool | int | float
Counts = dict[Category, int] | None
Nominal = Literal["auto"] | Sequence[str | int]

NUMERIC_CAP = 256
"""Distinct numbers that are remembered: enough to give each its own bin (see ``bins``)."""

NOMINAL_CAP = 100_000
"""Distinct categories that are counted; a column with more of them is not used, so that a summary
stays small however large the table is."""


@dataclass(frozen=True)
class ColumnSummary:
    """What one part of a table says about a column.

    ``chosen`` says that the user asked for it to be nominal. ``low`` and ``high`` are the smallest
    and largest value of a numeric column. ``counts`` says how often each distinct value occurs; it
    is None for more than ``NUMERIC_CAP`` numbers or ``NOMINAL_CAP`` categories. ``unit`` and
    ``time_zone`` are those of :class:`~admercs.table.Column`.
    """

    name: str
    kind: Kind
    role: Literal["numeric", "nominal"]
    chosen: bool
    n_rows: int
    n_missing: int
    low: int | float | None = None
    high: int | float | None = None
    counts: Counts = field(default_factory=dict)
    unit: str = ""
    time_zone: str = ""

    @property
    def n_present(self) -> int:
        """Number of values that are not missing."""
        return self.n_rows - self.n_missing


@dataclass(frozen=True)
class TableSummary:
    """What one part of a table, or all of it, says about its columns.

    ``partition`` is the number of the part, for messages. ``named`` and ``has_names`` are those of
    :class:`~admercs.table.Frame`.
    """

    columns: tuple[ColumnSummary, ...]
    n_rows: int
    named: bool
    has_names: bool
    partition: int | None = None


def summarise(
    frame: Frame, nominal: Nominal = "auto", partition: int | None = None
) -> TableSummary:
    """Look at every column once, one at a time.

    ``nominal`` lists names or positions of columns that are to be nominal whatever their values
    are. ``partition`` is the number of the part of a larger table, for messages.
    """
    chosen = _positions(nominal, frame)
    columns = tuple(_summarise_column(frame, j, j in chosen) for j in range(frame.n_columns))
    return TableSummary(columns, frame.n_rows, frame.named, frame.has_names, partition)


def _positions(nominal: Nominal, frame: Frame) -> set[int]:
    if isinstance(nominal, str):
        if nominal == "auto":
            return set()
        raise ValueError(f"nominal must be 'auto' or a list of columns, not {nominal!r}.")
    found = set()
    for column in nominal:
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
            if not -frame.n_columns <= column < frame.n_columns:
                raise ValueError(
                    f"nominal names column {column}, but the table has {frame.n_columns} columns."
                )
            found.add(int(column) % frame.n_columns)
        elif column in frame.names:
            found.add(frame.names.index(column))
        else:
            close = difflib.get_close_matches(str(column), frame.names, n=3)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise ValueError(f"nominal names {column!r}, which is not a column of the table.{hint}")
    return found


def _summarise_column(frame: Frame, position: int, chosen: bool) -> ColumnSummary:
    name = frame.names[position]
    texts = frame.texts(position)
    try:
        if texts is None:
            summary = _summarise(frame.column(position), chosen)
        elif (n_missing := int(texts.null_count())) == len(texts):
            summary = _nothing(name, len(texts))
        else:
            counts = count_texts(texts, NOMINAL_CAP)
            sizes = len(texts), n_missing
            summary = ColumnSummary(name, "text", "nominal", chosen, *sizes, counts=counts)
        if summary.role == "nominal":
            "".join(map(str, summary.counts or ())).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"Column {name!r} holds text that is not valid Unicode ({describe(error.object)}), so "
            "it cannot be shown or kept in a file: replace its lone surrogates."
        ) from error
    return summary


def _nothing(name: str, n_rows: int) -> ColumnSummary:
    """Return the summary of a column without a value, which says nothing about its kind."""
    return ColumnSummary(name, "empty", "numeric", False, n_rows, n_rows)


def _summarise(raw: RawColumn, chosen: bool) -> ColumnSummary:
    is_nominal = chosen or raw.categorical or raw.kind in ("boolean", "text")
    if raw.kind == "mixed" and not is_nominal:
        _refuse_mixture(raw)
    if not is_nominal:
        raw = raw.contiguous()
    present = raw.present()
    n_rows, n_missing = len(raw.values), len(raw.values) - len(present)
    if len(present) == 0:
        return _nothing(raw.name, n_rows)
    role: Literal["numeric", "nominal"] = "nominal" if is_nominal else "numeric"
    low = high = None
    if is_nominal:
        raw.check_finite()
        counts = _count_categories(raw, present)
    else:
        low, high = present.min().item(), present.max().item()
        if np.isinf(low) or np.isinf(high):
            raw.check_finite()
        counts = _count_numbers(present, NUMERIC_CAP)
    told = (low, high, counts, raw.unit, raw.time_zone)
    return ColumnSummary(raw.name, raw.kind, role, chosen, n_rows, n_missing, *told)


def _refuse_mixture(raw: RawColumn) -> None:
    present = raw.present()
    kind = kind_of(type(present[0]))
    other = first_of_other_kind(present, {kind} if kind else set())
    shown = describe(present[0]) + (f" and {describe(present[other])}" if other >= 0 else "")
    raise ValueError(
        f"Column {raw.name!r} holds values of several types, such as {shown}: turn them into one "
        f"type, or name the column in nominal=[{raw.name!r}] to take each text as a category."
    )


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
        merged: Counter[Category] = Counter()
        for value, count in numbers.items():
            merged[time_category(int(value), raw)] += count
        return dict(merged)
    if raw.kind == "mixed":
        present = np.array(list(map(text_category, present)), dtype=object)
    counts = count_objects(present, NOMINAL_CAP)
    return None if counts is None else {str(value): count for value, count in counts.items()}


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
    """Merge the summaries of the parts of a table, in any order, into that of the whole table.

    Parts without rows, and columns without a single value in a part, fit to anything. If columns of
    two parts differ in name, order or kind, a ValueError names the part and the column.
    """
    merged = reduce(_merge, summaries)
    columns = tuple(
        replace(column, counts=dict(sorted(column.counts.items()))) if column.counts else column
        for column in merged.columns
    )
    return replace(merged, columns=columns, partition=None)


def _merge(one: TableSummary, other: TableSummary) -> TableSummary:
    names, others = ([column.name for column in part.columns] for part in (one, other))
    where = "" if other.partition is None else f" {other.partition}"
    if names != others:
        missing = sorted(set(names) - set(others))
        added = sorted(set(others) - set(names))
        what = f"lacks {missing}" if missing else f"has the further columns {added}"
        if not missing and not added:
            what = "has its columns in another order"
        raise ValueError(
            f"Partition{where} {what}: all partitions must have the same columns, {names}."
        )
    columns = tuple(
        _merge_columns(a, b, where) for a, b in zip(one.columns, other.columns, strict=True)
    )
    return replace(one, columns=columns, n_rows=one.n_rows + other.n_rows)


def _merge_columns(one: ColumnSummary, other: ColumnSummary, where: str) -> ColumnSummary:
    n_rows, n_missing = one.n_rows + other.n_rows, one.n_missing + other.n_missing
    if other.n_present == 0 or one.n_present == 0:
        full = one if other.n_present == 0 else other
        return replace(full, n_rows=n_rows, n_missing=n_missing)
    if (one.unit, one.time_zone, one.role) != (other.unit, other.time_zone, other.role):
        raise ValueError(
            f"Column {one.name!r} of partition{where} is {_spelled(other)}, but {_spelled(one)} "
            "elsewhere: give it the same type in all partitions."
        )
    kind = _common_kind(one, other, where)
    low = min((x for x in (one.low, other.low) if x is not None), default=None)
    high = max((x for x in (one.high, other.high) if x is not None), default=None)
    counts = None
    if one.counts is not None and other.counts is not None:
        merged = Counter(_counts_as(kind, one)) + Counter(_counts_as(kind, other))
        cap = NOMINAL_CAP if one.role == "nominal" else NUMERIC_CAP
        counts = dict(merged) if len(merged) <= cap else None
    told = (low, high, counts, one.unit, one.time_zone)
    return ColumnSummary(one.name, kind, one.role, one.chosen, n_rows, n_missing, *told)


def _common_kind(one: ColumnSummary, other: ColumnSummary, where: str) -> Kind:
    kinds = {one.kind, other.kind}
    if len(kinds) == 1:
        return one.kind
    if kinds == {"integer", "float"}:
        return "float"
    if one.chosen and other.chosen and not kinds & set(TEMPORAL):
        return "mixed"
    raise ValueError(
        f"Column {one.name!r} of partition{where} holds {KIND_WORDS[other.kind]}, but "
        f"{KIND_WORDS[one.kind]} elsewhere: give it the same type in all partitions."
    )


def _counts_as(kind: Kind, column: ColumnSummary) -> dict[Category, int]:
    """Return the counts as they would be had the column been of the common kind all along."""
    counts = column.counts or {}
    if column.kind == kind:
        return counts
    change = float if kind == "float" else text_category
    return {change(value): count for value, count in counts.items()}


def _spelled(column: ColumnSummary) -> str:
    zone = f" in {column.time_zone}" if column.time_zone else ""
    unit = f" counted in {column.unit}" if column.unit else ""
    return f"{column.role} ({column.kind}{unit}{zone})"
