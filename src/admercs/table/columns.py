"""What a column is, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Literal, TypeVar

from admercs.table.readings import Reading

T = TypeVar("T")
_MADE = "_made"
# Of a text column only the facets are used.
Role = Literal["numeric", "nominal", "text", "set aside"]
Display = Literal["number", "integer", "boolean", "date", "datetime", "time", "duration", "text"]


@dataclass(frozen=True)
class Facet:
    """How a column is made of columns of the table."""

    kind: str  # one of `admercs.facets.FACETS`, which knows how to make it
    sources: tuple[int, ...]  # the positions of those columns; evidence is credited to them
    settings: tuple[Any, ...] = ()  # what making it needs: numbers, texts and tuples of these
    is_condition: bool = True  # whether trees may split on it
    is_stated: bool = False  # whether its values are log ω of the cell, and need no tree

    def once(self, make: Callable[..., T]) -> T:
        """Return what is made of the settings, once; it is neither compared, saved nor pickled."""
        made: dict[Any, T] = self.__dict__.setdefault(_MADE, {})
        if make not in made:
            made[make] = make(*self.settings)
        return made[make]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _MADE}


@dataclass(frozen=True)
class Column:
    """One column of the training table, or a facet: a column made of columns."""

    name: str  # columns of a nameless array are called x0, x1, …
    position: int  # in the table as it was given; facets are numbered behind its last column
    role: Role  # how the detector uses it
    display: Display  # how its values are shown to people
    reason: str = ""  # why its values are not used, in words
    n_missing: int = 0  # in the training table
    # Nominal: the value of each code, categories[code - 1], most frequent first. Dates and times,
    # and the values of a column of several types, are there as text.
    categories: tuple[str | bool | int | float, ...] = ()
    n_grouped: int = 0  # nominal: further, rarer values that share the code len(categories) + 1
    # Numeric: the working values in ascending order if there are few of them. They are scored by
    # how often each occurs instead of by a smooth density.
    distinct: tuple[float, ...] = ()
    low: float | None = None  # numeric: the smallest working value of the training table
    high: float | None = None  # and the largest
    origin: int = (
        0  # subtracted before a date or a huge integer becomes a float64, to lose no digit
    )
    unit: str = ""  # dates and times: one step of the working value ("D", "us", "ns")
    time_zone: str = ""  # dates with a time zone: its IANA name or its offset (+02:00)
    facet: Facet | None = field(default=None, repr=False)  # None: a column of the table
    # How texts are read that are numbers, dates or times; None: the values are taken as they are.
    reading: Reading | None = field(default=None, repr=False)
    n_unread: int = field(default=0, repr=False)  # texts of the training table that are none
    is_key: bool = field(default=False, repr=False)  # whether its values hardly ever repeat

    @property
    def is_free_text(self) -> bool:
        """Whether the column is set aside as free text; misspelt words in it may still be told."""
        return self.reason.startswith("free text")

    @property
    def sources(self) -> tuple[int, ...]:
        """The positions of the table's columns that the values come from."""
        return (self.position,) if self.facet is None else self.facet.sources

    @cached_property
    def code_of(self) -> dict[Any, int]:
        """The code of each category."""
        return dict(zip(self.categories, count(1), strict=False))

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest working value; (0, 0) where there is none."""
        if self.low is None or self.high is None:
            return 0.0, 0.0
        return float(self.low), float(self.high)
