"""What a table, or a part of one, tells about its columns, in a form that can be merged."""

from __future__ import annotations

import datetime as dt
import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from admercs.table.frame import Frame
from admercs.table.objects import first_of_other_kind, kind_of
from admercs.table.texts import count_objects, count_texts
from admercs.table.values import KIND_WORDS, TEMPORAL, Kind, RawColumn, describe

Category = str | bool | int | float

NUMERIC_CAP = 256
"""Distinct numbers that are remembered: enough to give each its own bin (see ``bins``)."""

NOMINAL_CAP = 100_000
"""Distinct categories that are counted; a column with more of them is not used, so that a summary
stays small however large the table is."""


@dataclass(frozen=True)
class ColumnSummary:
    """What one part of a table says about a column.

    Attributes
    ----------
    name : str
        The column's name.
    kind : str
        The kind of its values, see :class:`~admercs.table.values.RawColumn`.
    role : {"numeric", "nominal"}
        How its values are to be used.
    chosen : bool
        Whether the user asked for it to be nominal.
    n_rows, n_missing : int
        Rows, and missing values among them.
    low, high : int or float, or None
        Numeric: the smallest and the largest value, None without any.
    counts : dict or None
        How often each distinct value occurs; None when there are more than ``NUMERIC_CAP`` distinct
        numbers or ``NOMINAL_CAP`` categories.
    unit, time_zone : str
        As in :class:`~admercs.table.Column`.
    """

    name: str
    kind: Kind
    role: Literal["numeric", "nominal"]
    chosen: bool
    n_rows: int
    n_missing: int
    low: int | float | None = None
    high: int | float | None = None
    counts: dict[Category, int] | None = field(default_factory=dict)
    unit: str = ""
    time_zone: str = ""

    @property
    def n_present(self) -> int:
        """Number of values that are not missing."""
        return self.n_rows - self.n_missing


@dataclass(frozen=True)
class TableSummary:
    """What one part of a table, or all of it, says about its columns.

    Attributes
    ----------
    columns : tuple of ColumnSummary
        One per column.
    n_rows : int
        Rows seen.
    named, has_names : bool
        As in :class:`~admercs.table.Frame`.
    partition : int or None
        Which part of a larger table this is, for messages.
    """

    columns: tuple[ColumnSummary, ...]
    n_rows: int
    named: bool
    has_names: bool
    partition: int | None = None


def summarise(
    frame: Frame,
    nominal: Literal["auto"] | Sequence[str | int] = "auto",
    partition: int | None = None,
) -> TableSummary:
    """Look at every column once, one at a time.

    Parameters
    ----------
    frame : Frame
        A table or a part of one.
    nominal : "auto" or list of str or int
        Names or positions of columns that are to be nominal whatever their values are.
    partition : int, optional
        Number of the part, for messages.

    Returns
    -------
    TableSummary
        What :func:`merge_summaries` and :func:`~admercs.table.learn_schema` need to know.

    Examples
    --------
    >>> from admercs.table import read_frame
    >>> summary = summarise(read_frame([[1.5, "red"], [2.5, None]]))
    >>> [(column.role, column.n_missing) for column in summary.columns]
    [('numeric', 0), ('nominal', 1)]
    """
    chosen = _positions(nominal, frame)
    columns = tuple(_summarise_column(frame, j, j in chosen) for j in range(frame.n_columns))
    return TableSummary(columns, frame.n_rows, frame.named, frame.has_names, partition)


def _positions(nominal: Literal["auto"] | Sequence[str | int], frame: Frame) -> set[int]:
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
    texts = frame.texts(position)
    if texts is None:
        return _summarise(frame.column(position), chosen)
    name, n_rows, n_missing = frame.names[position], len(texts), int(texts.null_count())
    if n_missing == n_rows:
        return _nothing(name, n_rows)
    counts = count_texts(texts, NOMINAL_CAP)
    return ColumnSummary(
        name,
        "text",
        "nominal",
        chosen,
        n_rows,
        n_missing,
        counts=counts,
    )


def _nothing(name: str, n_rows: int) -> ColumnSummary:
    """Return the summary of a column without a value, which says nothing about its kind."""
    return ColumnSummary(name, "empty", "numeric", False, n_rows, n_rows)


def _summarise(raw: RawColumn, chosen: bool) -> ColumnSummary:
    is_nominal = chosen or raw.categorical or raw.kind in ("boolean", "text")
    if raw.kind == "mixed" and not is_nominal:
        _refuse_mixture(raw)
    if not is_nominal:
        # One copy of a column that lies scattered in its table makes all that follows fast.
        raw = replace(raw, values=np.ascontiguousarray(raw.values))
    present = raw.present()
    n_rows, n_missing = len(raw.values), len(raw.values) - len(present)
    if len(present) == 0:
        return _nothing(raw.name, n_rows)
    summary = ColumnSummary(
        raw.name,
        raw.kind,
        "nominal" if is_nominal else "numeric",
        chosen,
        n_rows,
        n_missing,
        unit=raw.unit,
        time_zone=raw.time_zone,
    )
    if is_nominal:
        check_finite(raw)
        return replace(summary, counts=_count_categories(raw, present))
    low, high = present.min().item(), present.max().item()
    if np.isinf(low) or np.isinf(high):
        check_finite(raw)
    return replace(summary, low=low, high=high, counts=_count_numbers(present, NUMERIC_CAP))


def _refuse_mixture(raw: RawColumn) -> None:
    present = raw.present()
    kinds = {kind_of(type(present[0]))}
    other = first_of_other_kind(present, {kind for kind in kinds if kind is not None})
    shown = describe(present[0]) + (f" and {describe(present[other])}" if other >= 0 else "")
    raise ValueError(
        f"Column {raw.name!r} holds values of several types, such as {shown}: turn them into one "
        f"type, or name the column in nominal=[{raw.name!r}] to take each text as a category."
    )


def check_finite(raw: RawColumn, first_row: int = 0) -> None:
    """Raise a ValueError that names the column and the row if a value is infinite."""
    if raw.kind != "float":
        return
    infinite = np.isinf(raw.values)
    if infinite.any():
        row = int(infinite.argmax())
        raise ValueError(
            f"Column {raw.name!r} contains infinity ({raw.values[row]} in row {first_row + row}): "
            "give a finite number, or NaN if the value is not known."
        )


def _count_numbers(present: NDArray[Any], cap: int) -> dict[Category, int] | None:
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


def _count_categories(raw: RawColumn, present: NDArray[Any]) -> dict[Category, int] | None:
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
    """Return the text under which a value of a column of several types is a category.

    Examples
    --------
    >>> text_category("7"), text_category(7), text_category(7.0), text_category(True)
    ('7', '7', '7', 'True')
    """
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    return str(value)


def time_category(count: int, raw: RawColumn) -> str:
    """Return the text of a date, a time or a duration that serves as a category.

    The text does not depend on the unit that the table counts in.
    """
    if raw.kind in ("date", "datetime"):
        moment: Any = np.array(count).astype(f"M8[{raw.unit}]")
        text = str(np.datetime_as_string(moment, unit="auto")).replace("T", " ")
        return f"{text}Z" if raw.time_zone else text
    length = np.array(count).astype(f"m8[{raw.unit}]").astype("m8[us]").item()
    return str((dt.datetime.min + length).time() if raw.kind == "time" else length)


def merge_summaries(summaries: Iterable[TableSummary]) -> TableSummary:
    """Put the summaries of the parts of a table together.

    The result is the summary of the whole table and does not depend on how it was cut or on the
    order of the parts. Parts without rows, and columns without a single value in a part, fit to
    anything.

    Raises
    ------
    ValueError
        The columns of two parts differ in name, order or kind; the message names part and column.

    Examples
    --------
    >>> from admercs.table import read_frame
    >>> parts = [summarise(read_frame([[k], [k + 1]])) for k in range(3)]
    >>> merge_summaries(parts).columns[0].counts
    {0: 1, 1: 2, 2: 2, 3: 1}
    """
    merged: TableSummary | None = None
    for summary in summaries:
        merged = summary if merged is None else _merge(merged, summary)
    if merged is None:
        raise ValueError("There is no part to merge.")
    columns = tuple(map(_in_order, merged.columns))
    return replace(merged, columns=columns, partition=None)


def _in_order(column: ColumnSummary) -> ColumnSummary:
    if not column.counts:
        return column
    return replace(column, counts=dict(sorted(column.counts.items())))


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
    if other.n_present == 0 or one.n_present == 0:
        full = one if other.n_present == 0 else other
        return replace(
            full,
            n_rows=one.n_rows + other.n_rows,
            n_missing=one.n_missing + other.n_missing,
        )
    if (one.unit, one.time_zone, one.role) != (other.unit, other.time_zone, other.role):
        raise ValueError(
            f"Column {one.name!r} of partition{where} is {_spelled(other)}, but {_spelled(one)} "
            "elsewhere: give it the same type in all partitions."
        )
    kind = _common_kind(one, other, where)
    cap = NOMINAL_CAP if one.role == "nominal" else NUMERIC_CAP
    return replace(
        one,
        kind=kind,
        n_rows=one.n_rows + other.n_rows,
        n_missing=one.n_missing + other.n_missing,
        low=None if one.low is None or other.low is None else min(one.low, other.low),
        high=None if one.high is None or other.high is None else max(one.high, other.high),
        counts=_merge_counts(_counts_as(kind, one), _counts_as(kind, other), cap),
    )


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


def _counts_as(kind: Kind, column: ColumnSummary) -> dict[Category, int] | None:
    """Return the counts as they would be had the column been of the common kind all along."""
    if column.counts is None or column.kind == kind:
        return column.counts
    change = float if kind == "float" else text_category
    return {change(value): count for value, count in column.counts.items()}


def _spelled(column: ColumnSummary) -> str:
    zone = f" in {column.time_zone}" if column.time_zone else ""
    unit = f" counted in {column.unit}" if column.unit else ""
    return f"{column.role} ({column.kind}{unit}{zone})"


def _merge_counts(
    one: dict[Category, int] | None, other: dict[Category, int] | None, cap: int
) -> dict[Category, int] | None:
    if one is None or other is None:
        return None
    merged = Counter(one)
    merged.update(other)
    return dict(merged) if len(merged) <= cap else None
