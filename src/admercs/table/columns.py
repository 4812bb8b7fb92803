"""What a column is, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["numeric", "nominal", "set aside"]
Display = Literal["number", "integer", "boolean", "date", "datetime", "time", "duration", "text"]


@dataclass(frozen=True)
class Column:
    """One column of the training table.

    Attributes
    ----------
    name : str
        Its name; columns of a nameless array are called ``x0``, ``x1``, …
    position : int
        Its place in the table as it was given.
    role : {"numeric", "nominal", "set aside"}
        How the detector uses it.
    display : str
        How its values are shown to people.
    reason : str
        Why it was set aside, in words; empty for a column that is used.
    n_missing : int
        Missing values in the training table.
    categories : tuple
        Nominal: the value behind each code, ``categories[code - 1]``, most frequent first.
        Numbers and booleans keep their type; dates and times, and the values of a column of several
        types, are there as text.
    n_grouped : int
        Nominal: how many further, rarer values share the code ``len(categories) + 1``.
    distinct : tuple of float
        Numeric with few distinct values: those working values in ascending order, else empty.
        Such a column is scored by how often each value occurs instead of by a smooth density.
    low, high : float or None
        Numeric: the smallest and largest working value of the training table, so that words about
        typical values never go beyond them; None when unknown.
    origin : int
        Subtracted before a date or a huge integer becomes a float64, so that no digit is lost.
    unit : str
        Dates and times: what one step of the working value is ("D", "us", "ns"), else empty.
    time_zone : str
        Dates with a time zone: its IANA name or its offset (``+02:00``), else empty.
    """

    name: str
    position: int
    role: Role
    display: Display
    reason: str = ""
    n_missing: int = 0
    categories: tuple[str | bool | int | float, ...] = ()
    n_grouped: int = 0
    distinct: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    origin: int = 0
    unit: str = ""
    time_zone: str = ""

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest working value; (0, 0) where there is none."""
        if self.low is None or self.high is None:
            return 0.0, 0.0
        return float(self.low), float(self.high)
