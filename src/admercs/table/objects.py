"""Columns of Python objects: finding out which kind of values they hold."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.table.values import Kind, RawColumn, describe, from_times

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
    """Return the kind of the values of a type; None where there is none.

    Examples
    --------
    >>> kind_of(int), kind_of(dict)
    ('integer', None)
    """
    for types, kind in _KINDS:
        if issubclass(type_, types):
            return kind
    return None


def _is_null_type(type_: type) -> bool:
    # pandas' own nulls are told by their names, so that pandas need not be imported.
    return type_ is type(None) or (
        type_.__name__ in {"NAType", "NaTType"} and type_.__module__.startswith("pandas")
    )


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    types = list(map(type, values))
    missing = np.zeros(len(values), dtype=bool)
    for type_ in set(types):
        if _is_null_type(type_):
            missing |= np.fromiter((t is type_ for t in types), bool, len(types))
        elif issubclass(type_, (float, np.floating, Decimal)):
            here = (t is type_ and math.isnan(v) for t, v in zip(types, values, strict=True))
            missing |= np.fromiter(here, bool, len(types))
        elif issubclass(type_, (np.datetime64, np.timedelta64)):
            here = (t is type_ and bool(np.isnat(v)) for t, v in zip(types, values, strict=True))
            missing |= np.fromiter(here, bool, len(types))
    return missing


def from_objects(values: NDArray[Any], name: str) -> RawColumn:
    """Read an array of Python objects: numbers, text, dates, or a mixture.

    Parameters
    ----------
    values : ndarray of object
        None, NaN, NaT and ``pandas.NA`` are missing.
    name : str
        The column's name, for messages.

    Raises
    ------
    TypeError
        A value is a list, a dictionary or another object that is not a single plain value.
    ValueError
        A value is a complex number.

    Examples
    --------
    >>> import numpy as np
    >>> from_objects(np.array([3, None, 5], dtype=object), "doors").kind
    'integer'
    >>> from_objects(np.array([3, "three"], dtype=object), "doors").kind
    'mixed'
    """
    types = set(map(type, values))
    if types == {str}:  # by far the most common case, and it needs no second look
        return RawColumn(name, "text", values)
    missing = _missing(values)
    present = values[~missing]
    kinds = set()
    for type_ in set(map(type, present)):
        kind = kind_of(type_)
        if kind is None:
            _refuse(values, type_, name)
        else:
            kinds.add(kind)
    if kinds == {"integer", "float"}:
        kinds = {"float"}
    if not kinds:
        return RawColumn(name, "empty", values, missing)
    kind = kinds.pop() if len(kinds) == 1 else "mixed"
    return _READERS[kind](present, missing, values, name)


def _refuse(values: NDArray[Any], type_: type, name: str) -> None:
    row = next(i for i, value in enumerate(values) if type(value) is type_)
    shown = describe(values[row])
    if issubclass(type_, (complex, np.complexfloating)):
        raise ValueError(
            f"Complex data not supported\nColumn {name!r} holds {shown} in row {row}: give the "
            "real and imaginary parts as two columns."
        )
    advice = (
        "decode it to text" if issubclass(type_, bytes) else "turn it into columns of plain values"
    )
    raise TypeError(
        f"Column {name!r} holds {shown} of type {type_.__name__} in row {row}, but an argument "
        f"must be a string, a number or a date: {advice}, or leave the column out."
    )


def _spread(present: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """Put the present values back into their rows, zeros where a value is missing."""
    spread = np.zeros(len(missing), dtype=present.dtype)
    spread[~missing] = present
    return spread


def _mask(missing: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    return missing if missing.any() else None


def _read_objects(kind: Kind) -> Callable[..., RawColumn]:
    def read(
        present: NDArray[Any], missing: NDArray[np.bool_], values: NDArray[Any], name: str
    ) -> RawColumn:
        del present
        return RawColumn(name, kind, values, _mask(missing))

    return read


def _read_floats(
    present: NDArray[Any], missing: NDArray[np.bool_], values: NDArray[Any], name: str
) -> RawColumn:
    floats = np.full(len(values), np.nan)
    try:
        floats[~missing] = present.astype(np.float64)
    except OverflowError as error:
        shown = describe(max(present, key=abs))
        raise ValueError(
            f"Column {name!r} holds {shown}, which is too large for a floating point number: scale "
            "the column down, or turn it into text."
        ) from error
    return RawColumn(name, "float", floats)


def _read_integers(
    present: NDArray[Any], missing: NDArray[np.bool_], values: NDArray[Any], name: str
) -> RawColumn:
    for dtype in (np.int64, np.uint64):
        try:
            integers = present.astype(dtype)
        except OverflowError:
            continue
        return RawColumn(name, "integer", _spread(integers, missing), _mask(missing))
    return _read_floats(present, missing, values, name)


def _read_booleans(
    present: NDArray[Any], missing: NDArray[np.bool_], values: NDArray[Any], name: str
) -> RawColumn:
    del values
    return RawColumn(name, "boolean", _spread(present.astype(bool), missing), _mask(missing))


def _read_times(
    present: NDArray[Any], missing: NDArray[np.bool_], values: NDArray[Any], name: str
) -> RawColumn:
    zones = [getattr(value, "tzinfo", None) for value in present]
    aware = [zone is not None for zone in zones]
    if any(aware) and not all(aware):
        return RawColumn(name, "mixed", values, _mask(missing))
    if any(aware):
        counts = np.array([(value - _EPOCH) // _MICROSECOND for value in present], dtype=np.int64)
        names = {str(zone) for zone in zones}
        zone = names.pop() if len(names) == 1 else "UTC"
        spread = _spread(counts, missing)
        return RawColumn(name, "datetime", spread, _mask(missing), unit="us", time_zone=zone)
    # numpy finds the finest unit among its own scalars; Python's know microseconds.
    duration = issubclass(type(present[0]), (dt.timedelta, np.timedelta64))
    raw = from_times(np.array(present.tolist(), dtype="m8" if duration else "M8"), name)
    spread = _spread(raw.values, missing)
    return RawColumn(name, raw.kind, spread, _mask(missing), unit=raw.unit)


def _read_dates(
    present: NDArray[Any], missing: NDArray[np.bool_], values: NDArray[Any], name: str
) -> RawColumn:
    del values
    days = present.astype("M8[D]").view(np.int64)
    return RawColumn(name, "date", _spread(days, missing), _mask(missing), unit="D")


def _read_clock_times(
    present: NDArray[Any], missing: NDArray[np.bool_], values: NDArray[Any], name: str
) -> RawColumn:
    del values
    counts = np.array(list(map(_microseconds, present)), dtype=np.int64)
    return RawColumn(name, "time", _spread(counts, missing), _mask(missing), unit="us")


def _microseconds(time: dt.time) -> int:
    seconds = (time.hour * 60 + time.minute) * 60 + time.second
    return seconds * 1_000_000 + time.microsecond


_READERS: dict[Kind, Callable[..., RawColumn]] = {
    "text": _read_objects("text"),
    "mixed": _read_objects("mixed"),
    "float": _read_floats,
    "integer": _read_integers,
    "boolean": _read_booleans,
    "datetime": _read_times,
    "duration": _read_times,
    "date": _read_dates,
    "time": _read_clock_times,
}


def first_of_other_kind(values: Sequence[Any] | NDArray[Any], kinds: set[Kind]) -> int:
    """Return the first row with a value (not missing) of none of the kinds; -1 without one."""
    for row, value in enumerate(values):
        if kind_of(type(value)) not in kinds and not _missing(np.array([value], dtype=object))[0]:
            return row
    return -1
