"""Columns of Python objects: finding out which kind of values they hold."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from admercs.arrays import Array, Bools, Floats
from admercs.table.values import Kind, RawColumn, describe, from_times
from admercs.table.zones import zone_name

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)

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


def kind_of(type_: type) -> Kind | None:
    """Return the kind of the values of a type; None where there is none."""
    return next((kind for types, kind in _KINDS if issubclass(type_, types)), None)


def _missing(values: Array) -> Bools:
    types = list(map(type, values))
    missing = np.zeros(len(values), dtype=bool)
    for type_ in set(types):
        # pandas' own nulls are told by their names, so that pandas need not be imported.
        from_pandas = type_.__module__.startswith("pandas")
        if type_ is type(None) or (from_pandas and type_.__name__ in {"NAType", "NaTType"}):
            missing |= np.fromiter((t is type_ for t in types), bool, len(types))
            continue
        if issubclass(type_, (float, np.floating, Decimal)):
            is_null: Any = math.isnan
        elif issubclass(type_, (np.datetime64, np.timedelta64)):
            is_null = np.isnat
        else:
            continue
        here = (t is type_ and bool(is_null(v)) for t, v in zip(types, values, strict=True))
        missing |= np.fromiter(here, bool, len(types))
    return missing


def from_objects(values: Array, name: str) -> RawColumn:
    """Read an array of Python objects: numbers, text, dates, or a mixture.

    None, NaN, NaT and ``pandas.NA`` are missing. A complex number raises a ValueError; a list, a
    dictionary or another object that is not a single plain value raises a TypeError.
    """
    if set(map(type, values)) == {str}:  # by far the most common case, and it needs no second look
        return RawColumn(name, "text", values)
    missing = _missing(values)
    present = values[~missing]
    types = set(map(type, present))
    if unknown := next((type_ for type_ in types if kind_of(type_) is None), None):
        _refuse(values, unknown, name)
    kinds = {kind_of(type_) for type_ in types}
    if kinds == {"integer", "float"}:
        kinds = {"float"}
    if not kinds:
        return RawColumn(name, "empty", values, missing)
    kind: Kind = (len(kinds) == 1 and kinds.pop()) or "mixed"
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


def _refuse(values: Array, type_: type, name: str) -> None:
    row = next(i for i, value in enumerate(values) if type(value) is type_)
    shown = describe(values[row])
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
    if kind == "float":
        return RawColumn(name, kind, _floats(present, name))
    if kind == "boolean":
        return RawColumn(name, kind, present.astype(bool))
    if kind == "date":
        return RawColumn(name, kind, present.astype("M8[D]").view(np.int64), unit="D")
    if kind == "time":
        counts = np.array(list(map(_microseconds, present)), dtype=np.int64)
        return RawColumn(name, kind, counts, unit="us")
    for dtype in (np.int64, np.uint64):
        try:
            return RawColumn(name, kind, present.astype(dtype))
        except OverflowError:
            continue
    return RawColumn(name, "float", _floats(present, name))


def _floats(present: Array, name: str) -> Floats:
    try:
        return present.astype(np.float64)
    except OverflowError as error:
        shown = describe(max(present, key=abs))
        raise ValueError(
            f"Column {name!r} holds {shown}, which is too large for a floating point number: scale "
            "the column down, or turn it into text."
        ) from error


def _read_times(present: Array, kind: Kind, name: str) -> RawColumn | None:
    zones = [getattr(value, "tzinfo", None) for value in present]
    aware = {id(zone): zone for zone in zones if zone is not None}  # some cannot be hashed
    if aware and None in zones:
        return None
    if aware:
        counts = np.array([(value - _EPOCH) // _MICROSECOND for value in present], dtype=np.int64)
        names = set(map(zone_name, aware.values()))
        zone = names.pop() if len(names) == 1 else "UTC"
        return RawColumn(name, kind, counts, unit="us", time_zone=zone)
    # numpy finds the finest unit among its own scalars; Python's know microseconds.
    code = "m8" if kind == "duration" else "M8"
    times = np.array(present.tolist(), dtype=code)
    if (times.astype(f"{code}[s]") != np.array(present.tolist(), dtype=f"{code}[s]")).any():
        raise ValueError(
            f"Column {name!r} holds times that are too far apart to be counted in "
            f"{np.datetime_data(times.dtype)[0]}: give them in a coarser unit, such as "
            "microseconds."
        )
    return from_times(times, name)


def _microseconds(time: dt.time) -> int:
    seconds = (time.hour * 60 + time.minute) * 60 + time.second
    return seconds * 1_000_000 + time.microsecond


def first_of_other_kind(values: Sequence[Any] | Array, kinds: set[Kind]) -> int:
    """Return the first row with a value (not missing) of none of the kinds; -1 without one."""
    for row, value in enumerate(values):
        if kind_of(type(value)) not in kinds and not _missing(np.array([value], dtype=object))[0]:
            return row
    return -1
