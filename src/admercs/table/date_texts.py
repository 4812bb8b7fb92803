"""Dates and times that are written as text."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from admercs.arrays import Bools, Ints
from admercs.table.text_forms import DIGIT, MONTHS, WEEKDAYS, TextForm, TextsOfShape, whole_number

# Two-digit years are those of 1930 to 2029, as in spreadsheets.
FIRST_SHORT_YEAR = 1930
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = rf"(?:(?:{'|'.join(WEEKDAYS)})[a-z]{{0,6}}\.?,? )?"
_ONE_OR_TWO, _YEAR = "9{1,2}", "(?P<y>9{4}|9{2})"
_NTH = "(?:st|nd|rd|th)?"
_DATES = (
    rf"(?P<y>9{{4}})(?P<sep>[-/.])(?P<m>{_ONE_OR_TWO})(?P=sep)(?P<d>{_ONE_OR_TWO})",
    rf"(?P<one>{_ONE_OR_TWO})(?P<sep>[-/. ])(?P<two>{_ONE_OR_TWO})(?P=sep){_YEAR}",
    rf"{_WEEKDAY}(?P<d>{_ONE_OR_TWO}){_NTH}(?P<sep>[-/ ]|\. )?{_MONTH}(?:[-/ ]|, )?{_YEAR}",
    rf"{_WEEKDAY}{_MONTH}(?P<sep>[-/ ])(?P<d>{_ONE_OR_TWO}){_NTH}(?:[-/ ]|, ?){_YEAR}",
    rf"(?P<y>9{{4}})(?P<sep>[-/ ]){_MONTH}[-/ ](?P<d>{_ONE_OR_TWO})",
)
_TIME = (
    rf"(?P<H>{_ONE_OR_TWO}):(?P<M>99)(?::(?P<S>99)(?:[.,](?P<f>9{{1,9}}))?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?"
)
_ZONE = r"(?P<zone> ?(?:z|utc|gmt| ?[-+]99:?99))?"
_PATTERNS = (
    *(re.compile(rf" *{date}(?:(?:t|,? |:){_TIME}{_ZONE})? *", re.IGNORECASE) for date in _DATES),
    *(re.compile(rf" *{_TIME},? {date} *", re.IGNORECASE) for date in _DATES),
    re.compile(rf" *{_TIME} *", re.IGNORECASE),
)
_SECOND, _DAY = 1_000_000, 86_400 * 1_000_000  # microseconds


@lru_cache(4096)
def _parts(shape: str) -> dict[str, tuple[str, int]] | None:
    """Return the parts of a date or time of some shape, and where each of them begins."""
    match = next(filter(None, (pattern.fullmatch(shape) for pattern in _PATTERNS)), None)
    if match is None:
        return None
    found = match.groupdict()
    return {name: (text, match.start(name)) for name, text in found.items() if text is not None}


def date_forms(shape: str) -> list[tuple[TextForm, bool]]:
    """Return the forms under which texts of a shape may be dates, and whether with a time."""
    parts = _parts(shape)
    if parts is None:
        return []
    if "y" not in parts:
        return [(TextForm("time"), False)]
    orders = ["dmy", "mdy"] if "one" in parts else ["name"] if "month" in parts else ["ymd"]
    separator, digits = parts.get("sep", ("", 0))[0].strip(), len(parts["y"][0])
    # If two orders read a column equally well, the usual one of its separator is preferred.
    orders = orders if separator != "/" else orders[::-1]
    zoned = "zone" in parts
    return [
        (TextForm("date", order=order, separator=separator, year_digits=digits, zoned=zoned),
         "H" in parts)
        for order in orders
    ]  # fmt: skip


def parse_dates(texts: TextsOfShape, form: TextForm) -> tuple[Ints, Bools] | None:
    """Return the dates that texts of one shape are, in microseconds, and which of them exist.

    They are counted from 1970, times of day from midnight. The result is None if the form does not
    read texts of this shape.
    """
    if form not in (each for each, _ in date_forms(texts.shape)):
        return None
    fields = _Fields(_parts(texts.shape) or {}, texts)
    clock, exists = fields.time_of_day()
    if form.kind == "time":
        return clock, exists
    year = fields.number("y")
    if form.year_digits == 2:
        year = FIRST_SHORT_YEAR + (year - FIRST_SHORT_YEAR) % 100
    month, day = {"dmy": ("two", "one"), "mdy": ("one", "two")}.get(form.order, ("m", "d"))
    days, on_calendar = _calendar_days(year, fields.number(month), fields.number(day))
    return days * _DAY + clock, exists & on_calendar


class _Fields:
    """The parts of dates and times of one shape, as numbers."""

    def __init__(self, parts: dict[str, tuple[str, int]], texts: TextsOfShape) -> None:
        self.parts, self.texts = parts, texts

    def number(self, name: str, digits: int = 0) -> Ints:
        """Return a part of each text; 0 where it is absent. ``digits``: decimals to have."""
        if name == "m" and "month" in self.parts:
            month = 1 + MONTHS.index(self.parts["month"][0][:3].lower())
            return np.full(len(self.texts), month, np.int64)
        if name not in self.parts:
            return np.zeros(len(self.texts), np.int64)
        shape, start = self.parts[name]
        places = range(start, start + min(len(shape), digits or len(shape)))
        return whole_number(self.texts.digits(places)) * 10 ** max(0, digits - len(shape))

    def time_of_day(self) -> tuple[Ints, Bools]:
        """Return microseconds since midnight in UTC, and which times the clock has."""
        hour, minute, second = map(self.number, "HMS")
        exists = (hour < 24) & (minute < 60) & (second < 60)
        if "half" in self.parts:
            exists &= (hour >= 1) & (hour <= 12)
            hour = hour % 12 + 12 * (self.parts["half"][0].lower() == "p")
        offset, valid = self._offset()
        seconds = (60 * hour + minute - offset) * 60 + second
        return seconds * _SECOND + self.number("f", digits=6), exists & valid

    def _offset(self) -> tuple[Ints, Bools]:
        """Return the minutes by which the clock is ahead of UTC."""
        shape, start = self.parts.get("zone", ("", 0))
        places = [start + k for k, c in enumerate(shape) if c == DIGIT]
        if not places:
            return np.zeros(len(self.texts), np.int64), np.ones(len(self.texts), bool)
        digits = self.texts.digits(places)
        hours, minutes = whole_number(digits[:, :2]), whole_number(digits[:, 2:])
        return (-1 if "-" in shape else 1) * (60 * hours + minutes), (hours < 15) & (minutes < 60)


def _calendar_days(year: Ints, month: Ints, day: Ints) -> tuple[Ints, Bools]:
    """Return days since 1970, and which of them the calendar has."""
    exists = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(exists, 12 * (year - 1970) + month - 1, 0)
    first, after = (each.astype("M8[M]").astype("M8[D]") for each in (months, months + 1))
    exists &= day <= (after - first).astype(np.int64)
    return first.view(np.int64) + np.where(exists, day - 1, 0), exists
