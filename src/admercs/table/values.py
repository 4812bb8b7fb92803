"""The values of one column as they were given, in the plainest numpy form that loses nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal[
    "float", "integer", "boolean", "text", "date", "datetime", "time", "duration", "mixed", "empty"
]

TEMPORAL: tuple[Kind, ...] = ("date", "datetime", "time", "duration")

# What a kind is called in a message.
KIND_WORDS: dict[Kind, str] = {
    "float": "numbers",
    "integer": "numbers",
    "boolean": "true/false values",
    "text": "text",
    "date": "dates",
    "datetime": "dates",
    "time": "times of day",
    "duration": "durations",
    "mixed": "values of several types",
    "empty": "nothing but missing values",
}

# numpy counts months and years unevenly in days, and weeks and minutes are of no use to a reader.
_PLAIN_UNIT = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}
_UNITS = ("D", "s", "ms", "us", "ns")


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The values of a column, or of a stretch of its rows, before they become working values.

    Attributes
    ----------
    name : str
        The column's name.
    kind : str
        ``"float"``: ``values`` are floats, NaN is missing. ``"integer"``, ``"boolean"``: integers
        and booleans. ``"date"``, ``"datetime"``, ``"time"``, ``"duration"``: int64 counts of
        ``unit``. ``"text"``, ``"mixed"``: Python objects. ``"empty"``: nothing but missing values.
    values : ndarray
        One value per row; whatever stands where ``missing`` is true means nothing.
    missing : ndarray of bool or None
        Which values are missing; None for floats, where NaN says it, and where none is missing.
    unit, time_zone : str
        As in :class:`~admercs.table.Column`.
    categorical : bool
        Whether the table itself says that the column is nominal (a category or enum type).
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    unit: str = ""
    time_zone: str = ""
    categorical: bool = False

    def rows(self, start: int, stop: int) -> RawColumn:
        """Return a stretch of rows, without copying."""
        missing = None if self.missing is None else self.missing[start:stop]
        return replace(self, values=self.values[start:stop], missing=missing)

    def is_missing(self) -> NDArray[np.bool_]:
        """Return which values are missing."""
        if self.kind == "float":
            return np.isnan(self.values)
        if self.missing is None:
            return np.zeros(len(self.values), dtype=bool)
        return self.missing

    def present(self) -> NDArray[Any]:
        """Return the values that are not missing; a view where there are no others."""
        missing = self.is_missing()
        return self.values[~missing] if missing.any() else self.values


def describe(value: object) -> str:
    """Return a value as it appears in a message: short, on one line."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def from_times(values: NDArray[Any], name: str) -> RawColumn:
    """Read an array of numpy dates or durations.

    Examples
    --------
    >>> from_times(np.array(["2024-05", "NaT"], dtype="datetime64[M]"), "day").unit
    'D'
    """
    unit, _ = np.datetime_data(values.dtype)
    is_date = values.dtype.kind == "M"
    if not is_date and unit in "YM":
        raise TypeError(
            f"Column {name!r} holds durations in months or years, which differ in length: turn "
            "them into days or into numbers."
        )
    plain = _PLAIN_UNIT.get(unit, unit)
    if not is_date and plain == "D":
        plain = "s"  # a day of a calendar is a date, 24 hours are so many seconds
    if plain not in _UNITS:
        plain = "ns"
    counted = values.astype(f"{values.dtype.kind}8[{plain}]", copy=False)
    missing = np.isnat(counted)
    kind: Kind = "duration"
    if is_date:
        kind = "date" if plain == "D" else "datetime"
    return RawColumn(
        name,
        kind,
        counted.view(np.int64),
        missing if missing.any() else None,
        unit=plain,
    )
