"""Slips: how a value may have become wrong on its way into the table.

A slip is told only if it leads straight to what is expected, and if that is unlikely by chance:
what is typical must be narrow, compared with how far the slip takes a value.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
from collections.abc import Iterator
from itertools import pairwise

from admercs.explain.records import Value

# How much narrower what is typical must be than the way that a slip takes a value: little for
# powers of ten, which few values happen to be apart; more where many slips are possible.
_TENS_NARROW, _UNIT_NARROW, _DIGIT_NARROW = 3.0, 16.0, 8.0
# A value is so many times too large, and what may have been confused then; if it is too small, the
# units are the other way round.
_UNITS = {
    60.0: ("minutes", "hours"),
    25.4: ("mm", "inches"),
    2.54: ("cm", "inches"),
    1.609344: ("km", "miles"),
    1 / 0.3048: ("feet", "m"),
    1 / 0.45359237: ("pounds", "kg"),
}
_TENS = {factor: factor ** (1 / _TENS_NARROW) for factor in (10.0, 100.0, 1000.0)}
_WIDEST_UNITS = max(_UNITS) ** (1 / _UNIT_NARROW)
_MARGIN = 0.1
_DIGITS = 12  # of a number are compared
_YEAR_WIDTH, _MONTH_WIDTH, _DAY_WIDTH = 120, 10, 40  # days


def find_slip(own: Value, expected: Value, low: Value, high: Value) -> str:
    """Return how a value may have become wrong, or nothing.

    `low` and `high` are the ends of what is typical around the expected value.

    Examples
    --------
    >>> find_slip(847, 84.7, 80.0, 90.0), find_slip(-5, 5, 4.5, 5.5)
    ('10 times too large?', 'wrong sign?')
    >>> find_slip("Berlni", "Berlin", "Berlin", "Berlin"), find_slip(2.5, 4.0, 3.98, 4.08)
    ('typing error?', 'miles instead of km?')
    >>> find_slip(2.5, 4.0, 3.0, 5.0)
    ''
    """
    if isinstance(own, str) and isinstance(expected, str):
        return "typing error?" if len(own) >= 4 and _one_edit(own, expected) else ""
    if isinstance(own, dt.date) and isinstance(low, dt.date) and isinstance(high, dt.date):
        return _of_date(own, low, high)
    numbers = [each for each in (own, low, high) if isinstance(each, int | float)]
    if len(numbers) < 3 or isinstance(own, bool):
        return ""
    return _of_number(*map(float, numbers))


def _of_number(own: float, low: float, high: float) -> str:
    width = high - low
    size = max(abs(low), abs(high))
    slack = 1e-9 * size  # values are recorded with so many digits
    # A right value may lie a little outside of what is typical.
    margin = slack + min(width / 2, _MARGIN * size)

    least, most = low - margin, high + margin
    if (low > 0 > own) or (high < 0 < own):
        return "wrong sign?" if least <= -own <= most else ""
    ratio = _ratio(low, high)
    for factor, widest in _TENS.items():
        if ratio <= widest:
            if least <= own / factor <= most:
                return f"{factor:,.0f} times too large?"
            if least <= own * factor <= most:
                return f"{factor:,.0f} times too small?"
    # What leads to what is typical is no further away than its ends.
    furthest = max(abs(own - low), abs(own - high)) + margin
    way = _DIGIT_NARROW * width
    if way <= furthest and any(
        least <= each <= most and way <= abs(own - each)
        for each in _swapped_digits(own, max(way, least - own, own - most))
    ):
        return "digits swapped?"
    if width <= slack and _one_edit(_digits(own), _digits(low)):
        return "a wrong digit?"
    for factor, (one, other) in _UNITS.items() if ratio <= _WIDEST_UNITS else ():
        if ratio <= factor ** (1 / _UNIT_NARROW):
            if least <= own / factor <= most:
                return f"{one} instead of {other}?"
            if least <= own * factor <= most:
                return f"{other} instead of {one}?"
    return ""


def _ratio(low: float, high: float) -> float:
    """Return how many times as large as the other the larger end of a range is.

    A range around 0 has numbers of all sizes: most numbers that are divided by 1,000 are in it.
    """
    small, large = sorted((abs(low), abs(high)))
    return large / small if low * high > 0 and small > 0 else math.inf


def _digits(number: float) -> str:
    return f"{number:.{_DIGITS}g}"


def _swapped_digits(number: float, least: float) -> Iterator[float]:
    """Return the numbers that come from exchanging two neighbouring digits.

    Those that differ by less than `least` need not be among them.
    """
    text = _digits(number)
    if "e" in text:
        return
    # Exchanging digits at a place changes a number by less than ten times that place.
    last = len(text.partition(".")[0]) + 1 - (math.log10(least) if least > 0 else -math.inf)
    places = [k for k, character in enumerate(text) if character.isdigit()]
    for first, second in pairwise(places):
        if first <= last and text[first] != text[second]:
            between = text[first + 1 : second]
            yield float(text[:first] + text[second] + between + text[first] + text[second + 1 :])


def _one_edit(one: str, other: str) -> bool:
    """Tell whether a character was left out, added or replaced, or two were exchanged."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    first, second = one[start:], other[start:]
    if first[1:] == second[1:] or first[1:] == second or first == second[1:]:
        return True
    return first[:2] == second[1::-1] and first[2:] == second[2:]


def _of_date(own: dt.date, low: dt.date, high: dt.date) -> str:
    if isinstance(own, dt.datetime):
        own, low, high = (
            each.date() if isinstance(each, dt.datetime) else each for each in (own, low, high)
        )
    width = (high - low).days

    def leads(year: int, month: int, day: int, widest: int) -> bool:
        if not 1 <= month <= 12 or not dt.MINYEAR <= year <= dt.MAXYEAR:
            return False
        day = min(day, calendar.monthrange(year, month)[1])
        return width <= widest and low <= dt.date(year, month, day) <= high

    for years, when in ((1, "early"), (-1, "late")):
        if leads(own.year + years, own.month, own.day, _YEAR_WIDTH):
            return f"a year too {when}?"
    if own.day <= 12 and leads(own.year, own.day, own.month, _DAY_WIDTH):
        return "day and month exchanged?"
    for months, when in ((1, "early"), (-1, "late")):
        year, month = divmod(own.year * 12 + own.month - 1 + months, 12)
        if leads(year, month + 1, own.day, _MONTH_WIDTH):
            return f"a month too {when}?"
    return ""
