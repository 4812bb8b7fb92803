"""The values of one column as they were given, in the plainest numpy form that loses nothing."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

import numpy as np

from admercs.arrays import Array, Bools, Ints

Kind = Literal[
    "float", "integer", "boolean", "text", "date", "datetime", "time", "duration", "mixed", "empty"
]
TEMPORAL: tuple[Kind, ...] = ("date", "datetime", "time", "duration")

# The first entry a type is a subclass of decides, so the special ones stand before the general.
_KINDS: tuple[tuple[tuple[type, ...], Kind], ...] = (
    ((bool, np.bool_), "boolean"),
    ((dt.datetime, np.datetime64), "datetime"),
    ((dt.timedelta, np.timedelta64), "duration"),  # numpy calls a timedelta64 an integer
    ((int, np.integer), "integer"),
    ((float, np.floating, Decimal, Fraction), "float"),
    ((str,), "text"),
    ((dt.date,), "date"),
    ((dt.time,), "time"),
)
_EPOCH, _MICROSECOND = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.timedelta(microseconds=1)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)")
UNITS = ("D", "s", "ms", "us", "ns")
# Steps of a unit in a day.
PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
# numpy counts months and years unevenly in days, and weeks and minutes are of no use to a reader.
_PLAIN_UNIT = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The values of a column, or of some of its rows, before they become working values."""

    name: str
    kind: Kind
    # Counts of the unit for dates, times and durations; Python objects for text and values of
    # several kinds. What stands in the place of a missing value means nothing.
    values: Array
    missing: Bools | None = None  # None for floats, where NaN is missing, and if no value is
    unit: str = ""
    time_zone: str = ""
    categorical: bool = False  # nominal by its type in the table
    # Which texts are not what nearly all texts of the column were read as; they are missing, too.
    unread: Bools | None = None

    def rows(self, rows: slice | Ints) -> RawColumn:
        """Return some of the rows; a stretch of them is not copied."""
        if isinstance(rows, slice) and (rows.start, rows.stop) == (0, len(self.values)):
            return self
        missing = None if self.missing is None else self.missing[rows]
        unread = None if self.unread is None else self.unread[rows]
        return replace(self, values=self.values[rows], missing=missing, unread=unread)

    def contiguous(self) -> RawColumn:
        """Return the column in one piece of memory, which makes all that follows fast."""
        return replace(self, values=np.ascontiguousarray(self.values))

    def is_missing(self) -> Bools:
        """Return which values are missing."""
        if self.kind == "float":
            return np.isnan(self.values)
        return np.zeros(len(self.values), bool) if self.missing is None else self.missing

    def present(self) -> Array:
        """Return the values that are not missing; a view where there are no others."""
        missing = self.is_missing()
        return self.values[~missing] if missing.any() else self.values

    def check_finite(self, first_row: int = 0) -> None:
        """Raise a ValueError that names the column and the row if a value is infinite."""
        if self.kind == "float" and (infinite := np.isinf(self.values)).any():
            row = int(infinite.argmax())
            raise ValueError(
                f"Column {self.name!r} contains infinity ({self.values[row]} in row "
                f"{first_row + row}): give a finite number, or NaN if the value is not known."
            )


def describe(value: object) -> str:
    """Return a value as it appears in a message: short, on one line."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def kind_of(type_: type) -> Kind | None:
    """Return the kind of the values of a type; None where there is none."""
    return next((kind for types, kind in _KINDS if issubclass(type_, types)), None)


def first_of_other_kind(values: Array, kinds: set[Kind]) -> int:
    """Return the first row with a value (not missing) of none of the kinds; -1 without one."""
    others = np.array([kind_of(type(value)) not in kinds for value in values], bool)
    return next(iter(np.flatnonzero(others & ~is_null(values)).tolist()), -1)


def is_null(values: Array) -> Bools:
    """Return which of some objects stand for a missing value."""
    types = list(map(type, values))
    tests = {type_: test for type_ in set(types) if (test := _null_test(type_))}
    here = (t in tests and bool(tests[t](v)) for t, v in zip(types, values, strict=True))
    return np.fromiter(here, bool, len(types)) if tests else np.zeros(len(types), bool)


def _null_test(type_: type) -> Callable[[Any], object] | None:
    """Return a function that says whether a value of a type is missing; None if none can be."""
    # pandas' own nulls are told by their names, so that pandas need not be imported.
    from_pandas = type_.__module__.startswith("pandas")
    if type_ is type(None) or (from_pandas and type_.__name__ in {"NAType", "NaTType"}):
        return lambda _: True
    if issubclass(type_, (float, np.floating, Decimal)):
        return math.isnan
    return np.isnat if issubclass(type_, (np.datetime64, np.timedelta64)) else None


def from_objects(values: Array, name: str) -> RawColumn:
    """Read an array of Python objects: numbers, text, dates, or a mixture."""
    if set(map(type, values)) == {str}:  # by far the most common case, and it needs no second look
        return RawColumn(name, "text", values)
    missing = is_null(values)
    present = values[~missing]
    kinds = set(map(kind_of, set(map(type, present))))
    if None in kinds:
        _refuse(values, name)
    if not kinds:
        return RawColumn(name, "empty", values, missing)
    several: Kind = "float" if kinds == {"integer", "float"} else "mixed"
    kind = (len(kinds) == 1 and kinds.pop()) or several
    raw = None if kind in ("text", "mixed") else _read(present, kind, name)
    if raw is None:
        kind = "text" if kind == "text" else "mixed"
        return RawColumn(name, kind, values, missing if missing.any() else None)
    if not missing.any():
        return raw
    # The present values return into their rows, with NaN or zero where a value is missing.
    spread = np.full(len(values), np.nan if raw.kind == "float" else 0, raw.values.dtype)
    spread[~missing] = raw.values
    return replace(raw, values=spread, missing=None if raw.kind == "float" else missing)


def _refuse(values: Array, name: str) -> None:
    row = first_of_other_kind(values, set(get_args(Kind)))
    shown, type_ = describe(values[row]), type(values[row])
    if issubclass(type_, (complex, np.complexfloating)):
        raise ValueError(
            f"Complex data not supported\nColumn {name!r} holds {shown} in row {row}: give the "
            "real and imaginary parts as two columns."
        )
    is_bytes = issubclass(type_, bytes)
    advice = "decode it to text" if is_bytes else "turn it into columns of plain values"
    raise TypeError(
        f"Column {name!r} holds {shown} of type {type_.__name__} in row {row}, but an argument "
        f"must be a string, a number or a date: {advice}, or leave the column out."
    )


def _read(present: Array, kind: Kind, name: str) -> RawColumn | None:
    """Read values of one kind, none of them missing; None if they turn out to be a mixture."""
    if kind in ("datetime", "duration"):
        return _read_times(present, kind, name)
    if kind == "boolean":
        return RawColumn(name, kind, present.astype(bool))
    if kind == "date":
        return RawColumn(name, kind, present.astype("M8[D]").view(np.int64), unit="D")
    if kind == "time":
        seconds = np.array([(t.hour * 60 + t.minute) * 60 + t.second for t in present], np.int64)
        counts = seconds * 1_000_000 + [t.microsecond for t in present]
        return RawColumn(name, kind, counts, unit="us")
    for dtype in (np.int64, np.uint64) if kind == "integer" else ():
        try:
            return RawColumn(name, kind, present.astype(dtype))
        except OverflowError:
            continue
    try:
        return RawColumn(name, "float", present.astype(np.float64))
    except OverflowError as error:
        shown = describe(max(present, key=abs))
        raise ValueError(
            f"Column {name!r} holds {shown}, which is too large for a floating point number: scale "
            "the column down, or turn it into text."
        ) from error


def _read_times(present: Array, kind: Kind, name: str) -> RawColumn | None:
    zones = [getattr(value, "tzinfo", None) for value in present]
    aware = {id(zone): zone for zone in zones if zone is not None}  # some cannot be hashed
    if aware:
        if None in zones:
            return None
        counts = np.array([(value - _EPOCH) // _MICROSECOND for value in present], dtype=np.int64)
        names = set(map(zone_name, aware.values()))
        zone = names.pop() if len(names) == 1 else "UTC"
        return RawColumn(name, kind, counts, unit="us", time_zone=zone)
    # numpy finds the finest unit among its own scalars; Python's know microseconds.
    code = "m8" if kind == "duration" else "M8"
    times = np.array(present.tolist(), dtype=code)
    if (times.astype(f"{code}[s]") != np.array(present.tolist(), dtype=f"{code}[s]")).any():
        unit, _ = np.datetime_data(times.dtype)
        raise ValueError(
            f"Column {name!r} holds times that are too far apart to be counted in {unit}: give "
            "them in a coarser unit, such as microseconds."
        )
    return from_times(times, name)


def from_times(values: Array, name: str) -> RawColumn:
    """Read an array of numpy dates or durations."""
    unit, is_date = np.datetime_data(values.dtype)[0], values.dtype.kind == "M"
    if not is_date and unit in "YM":
        raise TypeError(f"Column {name!r} counts months or years, which differ: turn it into days.")
    plain = _PLAIN_UNIT.get(unit, unit if unit in UNITS else "ns")
    if not is_date and plain == "D":
        plain = "s"  # a day of a calendar is a date, 24 hours are so many seconds
    counted = values.astype(f"{values.dtype.kind}8[{plain}]", copy=False)
    missing = np.isnat(counted)
    kind: Kind = "duration" if not is_date else "date" if plain == "D" else "datetime"
    return RawColumn(name, kind, counted.view(np.int64), missing if missing.any() else None, plain)


def zone_of(name: str) -> dt.tzinfo:
    """Return a time zone by its IANA name or its offset, such as ``+02:00``."""
    match = _OFFSET.fullmatch(name)
    if match is None:
        return ZoneInfo(name)
    sign, hours, minutes = match.groups()
    offset = dt.timedelta(hours=int(hours), minutes=int(minutes))
    return dt.timezone(-offset if sign == "-" else offset)


def in_zone(moment: dt.datetime, name: str) -> dt.datetime:
    """Return a moment on the clock of a time zone, or as it is where that year has no number."""
    try:
        return moment.astimezone(zone_of(name))
    except OverflowError:
        return moment


def zone_name(zone: dt.tzinfo | str) -> str:
    """Return a name that :func:`zone_of` understands; UTC for a zone that has none."""
    if isinstance(zone, str):
        name: str = zone
    else:  # ZoneInfo has a key, pytz a zone, and dateutil the file that it read
        path = re.search(r"zoneinfo/([\w/+-]+)", repr(zone))
        own = getattr(zone, "key", None) or getattr(zone, "zone", None)
        name = own or (path[1] if path else "")
        if not name and (offset := zone.utcoffset(None)) is not None:
            minutes = round(offset.total_seconds() / 60)
            name = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    if match := _OFFSET.fullmatch(name):
        name = f"{match[1]}{match[2]}:{match[3]}"
    try:
        zone_of(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return "UTC"
    return name
