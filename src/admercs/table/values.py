"""The values of one column as they were given, in the plainest numpy form that loses nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from admercs.arrays import Array, Bools

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
UNITS = ("D", "s", "ms", "us", "ns")


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The values of a column, or of a stretch of its rows, before they become working values.

    Floats, integers and booleans are what they are; dates, times and durations are int64 counts of
    ``unit``; text and values of several kinds are Python objects. ``missing`` is None for floats,
    where NaN is missing, and where no value is missing; what stands in the place of a missing value
    means nothing. ``categorical`` columns are nominal by their type in the table.
    """

    name: str
    kind: Kind
    values: Array
    missing: Bools | None = None
    unit: str = ""
    time_zone: str = ""
    categorical: bool = False

    def rows(self, start: int, stop: int) -> RawColumn:
        """Return a stretch of rows, without copying."""
        missing = None if self.missing is None else self.missing[start:stop]
        return replace(self, values=self.values[start:stop], missing=missing)

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


def from_times(values: Array, name: str) -> RawColumn:
    """Read an array of numpy dates or durations."""
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
    if plain not in UNITS:
        plain = "ns"
    counted = values.astype(f"{values.dtype.kind}8[{plain}]", copy=False)
    missing = np.isnat(counted)
    kind: Kind = "duration" if not is_date else "date" if plain == "D" else "datetime"
    kept = missing if missing.any() else None
    return RawColumn(name, kind, counted.view(np.int64), kept, unit=plain)
