"""Parts of dates that come round: time of day, weekday, day of the month, month.

A part is a facet if the table's dates are spread unevenly over it, so that it says something: with
p the shares of its k values, Σ p log(k p) is far above what evenly spread dates have.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from admercs.arrays import Ints
from admercs.method.settings import Calendar
from admercs.table.columns import Facet
from admercs.table.frame import Frame
from admercs.table.summary import ColumnSummary
from admercs.table.text_cells import TextCells
from admercs.table.values import PER_DAY, Kind, RawColumn, in_zone

KINDS: tuple[Kind, ...] = ("date", "datetime")
CLOCK, TIMED = "clock", "timed"
SET, NOT_SET = "set", "not set"
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")  # fmt: skip
_DAYS = tuple(map(str, range(1, 32)))
_DAY, _HOUR, _QUARTER = 86_400, 3_600, 900  # seconds
HOUR = _HOUR * 1_000_000  # in microseconds, the unit of times of day
_FIRST, _LAST = -719_162, 2_932_896  # the days of the years 1 to 9999
_MINUTES = 1_440  # in a day: so many times of day that are all written to the minute


# The values of the parts that have few.
PARTS: dict[str, tuple[str, ...]] = {"weekday": WEEKDAYS, "monthday": _DAYS, "month": MONTHS}
CALENDAR = (CLOCK, TIMED, *PARTS)


class DateCounts(NamedTuple):
    """How often the parts of dates occur."""

    hours: Ints
    midnight: Ints
    parts: dict[str, Ints]


def may_have_parts(column: ColumnSummary) -> bool:
    """Say whether a column holds dates."""
    return column.kind in KINDS and column.role == "numeric" and column.n_present > 0


def count_dates(frame: Frame) -> list[DateCounts]:
    """Count the parts of the dates of all columns of a part of a table."""
    found = []
    for position in range(frame.n_columns):
        raw = frame.column(position)
        seconds = _local_seconds(raw.present(), raw) if raw.kind in KINDS else np.empty(0, np.int64)
        in_day = seconds % _DAY
        numbers = {kind: _numbers(kind, seconds) for kind in PARTS}
        found.append(
            DateCounts(
                np.bincount(in_day // _HOUR, minlength=24),
                np.array([np.count_nonzero(in_day == 0)]),
                {k: np.bincount(numbers[k], minlength=len(PARTS[k])) for k in PARTS},
            )
        )
    return found


def merge_dates(parts: Sequence[list[DateCounts]]) -> list[DateCounts]:
    """Add up what the parts of a table have counted."""
    return [
        DateCounts(
            np.sum([each.hours for each in counted], axis=0),
            np.sum([each.midnight for each in counted], axis=0),
            {kind: np.sum([each.parts[kind] for each in counted], axis=0) for kind in PARTS},
        )
        for counted in zip(*parts, strict=True)
    ]


def calendar_facets(
    place: int, column: ColumnSummary, counted: DateCounts, settings: Calendar
) -> list[Facet]:
    """Return the facets of a column of dates."""
    days = (int(column.high or 0) - int(column.low or 0)) / PER_DAY[column.unit]
    found = []
    n, n_midnight = int(counted.hours.sum()), int(counted.midnight[0])
    if column.kind == "datetime" and n_midnight < n:
        hours, is_timed = counted.hours.copy(), n_midnight > 3 + 10 * n / _MINUTES
        if is_timed:
            found.append(Facet(TIMED, (place,)))
            hours[0] -= n_midnight
        if days >= settings.days and is_uneven(hours, settings):
            found.append(Facet(CLOCK, (place,), (_start_of_day(hours, settings.quiet), is_timed)))
    for kind in PARTS:
        least = getattr(settings, f"{kind}_days")
        if days >= least and is_uneven(counted.parts[kind], settings):
            found.append(Facet(kind, (place,)))
    return found


def is_uneven(counts: Ints, settings: Calendar) -> bool:
    """Say whether dates are spread unevenly over some values, and not by chance.

    >>> is_uneven(np.array([500, 500, 500, 500, 500, 100, 0]), Calendar())
    True
    """
    n, k = int(counts.sum()), len(counts)
    if n < settings.repeats * k:
        return False
    share = counts[counts > 0] / n
    unevenness = float((share * np.log(share * k)).sum())
    by_chance = (k - 1 + 4 * np.sqrt(2 * (k - 1))) / (2 * n)
    return unevenness >= max(settings.unevenness, by_chance)


def _start_of_day(hours: Ints, quiet: float) -> int:
    """Return the hour at which a day begins: midnight, or where nothing goes on."""
    around = hours + np.roll(hours, 1)
    return 0 if around[0] <= quiet * hours.sum() else int(around.argmin())


def time_of(name: str, dates: RawColumn, start: int, is_timed: bool) -> RawColumn:
    """Return the hour of dates as a time of day, from the hour `start` to that of the next day."""
    missing = dates.is_missing()
    seconds = _local_seconds(np.where(missing, 0, dates.values), dates)
    if is_timed:
        missing = missing | (seconds % _DAY == 0)
    hours = (seconds // _HOUR - start) % 24 + start
    return RawColumn(name, "time", hours * HOUR, missing if missing.any() else None, "us")


def timed_of(_: str, dates: RawColumn) -> TextCells:
    """Return whether dates have a time of day."""
    missing = dates.is_missing()
    seconds = _local_seconds(np.where(missing, 0, dates.values), dates)
    return _named((seconds % _DAY == 0).astype(np.int64), (SET, NOT_SET), dates)


def part_of(kind: str, _: str, dates: RawColumn) -> TextCells:
    """Return a part of dates by its name."""
    seconds = _local_seconds(np.where(dates.is_missing(), 0, dates.values), dates)
    return _named(_numbers(kind, seconds), PARTS[kind], dates)


def _named(numbers: Ints, values: Sequence[str], dates: RawColumn) -> TextCells:
    return TextCells.of(values).coded(np.where(dates.is_missing(), -1, numbers))


def _numbers(kind: str, seconds: Ints) -> Ints:
    """Return the numbers of a part of dates, from 0."""
    days = (seconds // _DAY).view("M8[D]")
    if kind == "weekday":
        return (days.view(np.int64) + 3) % 7  # 1970 began with a Thursday
    months = days.astype("M8[M]")
    if kind == "month":
        return months.view(np.int64) % 12
    found: Ints = (days - months).astype(np.int64)
    return found


def _local_seconds(counts: Ints, dates: RawColumn) -> Ints:
    """Return seconds since 1970 on the clock of the column's time zone."""
    per_day = PER_DAY.get(dates.unit, 1)
    days, rest = np.divmod(np.ascontiguousarray(counts, np.int64), per_day)
    seconds: Ints = np.clip(days, _FIRST, _LAST) * _DAY + rest * _DAY // per_day
    if dates.time_zone in ("", "UTC"):
        return seconds
    # Clocks are changed at full quarters of an hour.
    quarters, where = np.unique(seconds // _QUARTER, return_inverse=True)
    offsets = [_offset(quarter, dates.time_zone) for quarter in quarters.tolist()]
    return seconds + np.array(offsets, np.int64)[where]


def _offset(quarter: int, time_zone: str) -> int:
    """Return the seconds by which a clock is ahead of UTC in a quarter of an hour."""
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    offset = in_zone(epoch + dt.timedelta(seconds=quarter * _QUARTER), time_zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())


def clock_makes_sense(n_sources: int, start: int, _: bool) -> bool:
    """Say whether settings, read from a file, can be computed with."""
    return n_sources == 1 and 0 <= start < 24
