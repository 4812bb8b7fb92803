"""How values of a column are written: numbers with the digits that matter, dates, categories."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from admercs.explain.records import Condition, Typical, Value
from admercs.table.columns import Column
from admercs.table.prepared import numeric_values
from admercs.table.values import from_objects, in_zone

_PARENTHESISED = re.compile(
    r"^(?P<name>.*\S)\s*[(\[](?P<unit>[^\d\W_][^()\[\]]{0,11}|[%°€$£][^()\[\]]{0,11})[)\]]$"
)
_SUFFIXED = re.compile(r"^(?P<name>.+)_(?P<unit>[A-Za-z]+)$")
# Endings that are surely units; "_min" or "_C" may mean anything.
_UNITS = frozenset(
    {"mm", "cm", "km", "mi", "ft", "mg", "kg", "ml", "ms", "sec", "hours", "days", "years"}
    | {"Hz", "kHz", "MHz", "GHz", "kW", "MW", "kWh", "MWh", "mV", "mA", "hPa", "kPa"}
    | {"kw", "mw", "kwh", "mwh", "eur", "usd", "gbp", "EUR", "USD", "GBP", "pct", "percent"}
)
# Types of numbers and texts that exports write behind a name; they are no unit.
_TYPES = frozenset({"long", "int", "integer", "double", "float", "number", "text", "string"})
# Numbers with such a name are codes, which nobody writes with signs between thousands.
_CODES = re.compile(
    r"(?:^|[^a-z])(?:zip|(?:zip|post) ?code|postal|plz|code|id|nr|fips|ean|isbn|phone|fax)"
    r"(?:[^a-z]|$)"
)
_NEEDS_QUOTES = re.compile(r",| or | and |^\s|\s$|\s\s|^$")
MAX_TEXT = 40  # characters of a category that are shown
MAX_LISTED, MAX_LENGTH = 4, 60  # values named before a list is cut short, and their characters
KNOWN = 256  # values of a column are kept in words
_MOST_DIGITS = 15  # of a double
# Steps of working values in a second, by their unit.
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_TIME_UNITS = {"days": _DAY, "h": _HOUR, "min": _MINUTE, "s": 1.0}


def name_and_unit(name: str) -> tuple[str, str]:
    """Split a column's name into what it is and its unit, if it ends in one."""
    match = _PARENTHESISED.match(name) or _SUFFIXED.match(name)
    in_brackets = match is not None and match.re is _PARENTHESISED
    if match and (match["unit"].lower() not in _TYPES if in_brackets else match["unit"] in _UNITS):
        return match["name"], match["unit"].strip()
    return name, ""


def join(items: list[str], word: str) -> str:
    """Join phrases as people do."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


def n_listed(names: Sequence[str]) -> int:
    """Return how many names of a list are given: few, fewer if they are long."""
    lengths = accumulate(map(len, names[:MAX_LISTED]))
    kept = sum(length <= MAX_LENGTH for length in lengths)
    return len(names) if len(names) <= 2 else max(1, kept)


def listed(names: Sequence[str]) -> str:
    """List names, a long list cut short with a count."""
    kept = n_listed(names)
    left_out = len(names) - kept
    others = [f"{left_out} other{'s' if left_out > 1 else ''}"] if left_out else []
    return join([*names[:kept], *others], "or")


def percent(share: float) -> str:
    """Write a share so that it never looks like all or nothing unless it is."""
    if share >= 1.0 or share <= 0.0 or 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{min(max(share, 0.001), 0.999):.1%}".replace(".0%", "%")


def decimals_for(step: float) -> int:
    """Return the number of decimals that shows differences of ``step``; negative for round tens."""
    if not step > 0 or not math.isfinite(step):
        return 0
    return -math.floor(math.log10(step) + 1e-9)


def _is_tie(x: float, decimals: int) -> bool:
    """Tell whether a number as it is written may lie halfway between two with fewer decimals."""
    text = repr(x)
    return text[-1] == "5" and ("e" in text or len(text.partition(".")[2]) == decimals + 1)


def number(x: float, decimals: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """Write a number with at most so many decimals; below 0, as round tens, hundreds, and so on."""
    if decimals > 7 or abs(x) >= 1e15:
        magnitude = math.floor(math.log10(abs(x))) if x else 0
        if rounding == ROUND_HALF_EVEN and decimals + magnitude < -1:
            return "0"
        digits = 4 if decimals <= 7 else max(2, min(12, decimals + magnitude + 1))
        place = Decimal(1).scaleb(magnitude - digits + 1)
        exact = Decimal(repr(x)).quantize(place, rounding=rounding)
        mantissa, _, exponent = f"{exact:.{digits - 1}e}".partition("e")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}e{int(exponent)}" if float(mantissa) else "0"
    if decimals >= 0 and rounding == ROUND_HALF_EVEN and not _is_tie(x, decimals):
        text = f"{x:.{decimals}f}"
        if abs(float(text)) >= 10_000:
            text = f"{x:,.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text in {"0", "-0"} else text
    exact = Decimal(repr(x)).quantize(Decimal(1).scaleb(-decimals), rounding=rounding)
    if exact == 0:
        return "0"
    text = f"{exact:,f}" if abs(exact) >= 10_000 else f"{exact:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True)
class ColumnWords:
    """Writes the values of one column."""

    column: Column
    name: str  # what it is called in sentences, without its unit
    unit: str  # written after numbers
    step: float  # the smallest difference, in working values, that matters to a reader
    source: str = ""  # the column that a facet is made of: what is missing, if anything is

    @property
    def whole(self) -> bool:
        """Whether the working values are whole numbers (integers, dates)."""
        return self.column.display in {"integer", "date"}

    @property
    def whole_name(self) -> str:
        """What is recorded or missing: of a facet the column that it is made of."""
        return self.source or self.name

    @property
    def is_kind(self) -> bool:
        """Whether values are what cells hold: what is nearly everywhere, or another text."""
        return self.column.facet is not None and self.column.facet.kind == "kind"

    @property
    def is_number(self) -> bool:
        """Whether values are written as numbers, which can be read back."""
        return self.column.display in {"number", "integer", "duration"}

    def read(self, text: str) -> float:
        """Return the working value of a number that was written without its column's unit."""
        said, _, unit = text.replace(",", "").partition(" ")
        if not (unit or self.column.origin):
            return float(said)
        size = Decimal(_TIME_UNITS[unit]) * TICKS.get(self.column.unit, 1) if unit else 1
        return float(Decimal(said) * size - self.column.origin)

    @property
    def day(self) -> float:
        """How many working units a day has, if all values seem to be at midnight; else 0."""
        column = self.column
        if column.display != "datetime" or column.unit not in TICKS or column.low is None:
            return 0.0
        day = int(_DAY) * TICKS[column.unit]
        ends = (column.low, column.low if column.high is None else column.high)
        at_midnight = all((int(end) + column.origin) % day == 0 for end in ends)
        return float(day) if at_midnight and not column.time_zone else 0.0

    def native(self, x: float) -> Value:
        """Return what the user would call a working value (nominal: a category code)."""
        column = self.column
        if math.isnan(x):
            return None
        if column.role == "nominal":
            code = int(x)
            return column.categories[code - 1] if code <= len(column.categories) else None
        if column.display == "number" or (column.display == "integer" and x != math.floor(x)):
            return float(x + column.origin)
        if column.display == "integer":
            return int(x) + column.origin
        if column.display == "boolean":
            return bool(x)
        if column.unit == "D":
            days = math.floor(x) + column.origin
            try:
                since_epoch = dt.timedelta(days)
                if column.display != "date":
                    return _moment(since_epoch, column)
                return dt.date(1970, 1, 1) + since_epoch
            except OverflowError:
                return str(days)
        ticks = math.floor(x) + column.origin
        if math.ulp(x) > 1:  # so far from the origin that the last digits are not known
            ticks = round(ticks, -math.ceil(math.log10(math.ulp(x))))
        try:
            span = dt.timedelta(microseconds=ticks * 10**6 // TICKS[column.unit or "s"])
        except OverflowError:
            return f"{ticks // TICKS[column.unit or 's']} s"
        if column.display == "duration":
            return span
        if column.display == "time":
            return (EPOCH + span % dt.timedelta(days=1)).time()
        return _moment(span, column)

    def working(self, value: Value) -> float:
        """Return the working value of a number, date, … that `native` gave; NaN without one."""
        if value is None or isinstance(value, str):
            return math.nan
        raw = from_objects(np.array([value], dtype=object), self.column.name)
        return float(numeric_values(raw, self.column)[0])

    def category(self, value: Value) -> str:
        """Write a category: booleans as yes and no, text as it is, in quotes if it has to be."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return f"{value:.12g}"
        text = str(value)
        if len(text) > MAX_TEXT:
            text = f"{text[: MAX_TEXT - 1]}…"
        # In a list, a comma or a connecting word inside a value would be read as the list's.
        return f'"{text}"' if _NEEDS_QUOTES.search(text) else text

    def native_text(self, value: Value) -> str:
        """Write a category, or a number of a column with few of them; None stands for rare ones."""
        if value is None:
            return "a rare value"
        if self.column.role == "nominal" or not isinstance(value, int | float):
            return self.category(value)
        return self.exact_text(float(value - self.column.origin))

    @cached_property
    def _is_code(self) -> bool:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name).lower()
        return bool(_CODES.search(name))

    def text(self, x: float, step: float | None = None, rounding: str = ROUND_HALF_EVEN) -> str:
        """Write a numeric working value, without its unit, to the digits that ``step`` needs."""
        text = self._text(x, step, rounding)
        return text.replace(",", "") if self._is_code and self.is_number else text

    def _text(self, x: float, step: float | None, rounding: str) -> str:
        value = self.native(x)
        if isinstance(value, float):
            return number(value, decimals_for(step or self.step), rounding)
        if isinstance(value, dt.datetime | dt.timedelta | dt.time):
            seconds = (step or self.step) / TICKS.get(self.column.unit, 1 / _DAY)
            if not isinstance(value, dt.timedelta):
                return _time_text(value, seconds)
            unit, size = time_unit(max(abs(value.total_seconds()), seconds * 10))
            shown = number(value.total_seconds() / size, decimals_for(seconds / size), rounding)
            return f"{shown} {unit}"
        if isinstance(value, int) and not isinstance(value, bool):
            if step is not None and step >= 10:
                place = Decimal(1).scaleb(-decimals_for(step))
                value = int(Decimal(value).quantize(place, rounding=rounding))
            return f"{value:,}" if abs(value) >= 10_000 else str(value)
        return value.isoformat() if isinstance(value, dt.date) else self.category(value)

    @cached_property
    def _enough(self) -> int:
        """The decimals that matter to a reader."""
        return decimals_for(self.step)

    def exact_text(self, x: float, apart: float = math.inf) -> str:
        """Write a value as it was recorded, without needless digits; ``apart`` remains visible."""
        if apart == math.inf:
            return self._recorded(x, self._shown)
        if self.column.display == "duration":
            return self.text(x, min(self.step, apart))
        return self._recorded(x, max(self._shown, decimals_for(apart)))

    @cached_property
    def _shown(self) -> int:
        """The decimals of values that were recorded with far more."""
        return max(0, self._enough + 1)

    @cached_property
    def _recorded(self) -> Callable[[float, int], str]:
        return lru_cache(KNOWN)(self._as_recorded)  # the value of a row is told several times

    def _as_recorded(self, x: float, enough: int) -> str:
        """Write a value as it was recorded, or with so many decimals if it has far more."""
        value = self.native(x)
        if not isinstance(value, float):
            return self.text(x)
        short = f"{value:.12g}"
        recorded = len(short.partition(".")[2])
        if "e" in short:
            recorded = max(0, -int(Decimal(short).as_tuple().exponent))
        if recorded > self._enough + 2:
            recorded = enough
        text = number(float(short), recorded)
        return text.replace(",", "") if self._is_code else text

    def value_text(self, own: float, raw: str = "", distance: float = math.inf) -> str:
        """Write a row's own value, with its unit; a ``distance`` that must remain visible."""
        if math.isnan(own) or self.is_kind:
            return raw or "missing"
        if self.column.role == "nominal":
            value = self.native(own)
            return (raw or "unseen value") if value is None else self.category(value)
        return self.with_unit(self.exact_text(own, distance))

    def value_names(self) -> list[str]:
        """Return the values of a nominal or discrete column in words, rare ones together."""
        if self.column.distinct:
            return [self.exact_text(x) for x in self.column.distinct]
        rare = ["rare values"] if self.column.n_grouped else []
        return [self.category(value) for value in self.column.categories] + rare

    def listed_values(self, shares: Sequence[tuple[Value, float]]) -> str:
        """List values with their shares, a long list cut short."""
        parts = [
            f"{self.with_unit(self.native_text(value))} ({percent(part)})" for value, part in shares
        ]
        # The length of the list counts, not that of the names: shares are what it is about.
        count = len(parts) - MAX_LISTED
        if count > 0:
            rest = percent(sum(part for _, part in shares[MAX_LISTED:]))
            parts[MAX_LISTED:] = [f"{count} other{'s' if count > 1 else ''} ({rest})"]
        return join(parts, "or")

    def is_typical(self, own: float, typical: Typical) -> bool:
        """Tell whether a row's own value is among the typical ones."""
        value: Any = self.native(own)
        if value is None or typical.kind not in {"values", "intervals"}:
            return False
        if typical.kind == "values":
            return any(value == known for known, _ in typical.shares)
        intervals: Any = typical.intervals  # of any size: without ends
        return any(
            low is None or low <= value <= high
            for low, high in intervals
            if str not in {type(low), type(value), type(high)}  # a day that no calendar has
        )

    def more_frequent(self, own: float, typical: Typical) -> str:
        """List the values that are more frequent than a typical one, if most rows have those."""
        share_of_own = dict(typical.shares).get(self.native(own), 1.0)
        more = [(value, share) for value, share in typical.shares if share > share_of_own]
        most = sum(share for _, share in more) >= 0.5
        return self.listed_values(more) if most else ""

    def here(self, own: float, condition: Condition, vague: bool) -> str:
        """Write the row's own value, if there is a row, behind a condition that leaves it open."""
        if math.isnan(own):
            return " (here missing)" if condition.kind != "missing" else ""
        if own == math.inf or not vague:
            return ""
        if self.column.role != "nominal":
            return f" (here {self.exact_text(own)})"
        known = own <= len(self.column.categories)
        return f" (here {self.category(self.native(own))})" if known else ""

    def with_unit(self, text: str) -> str:
        """Add the unit to a number."""
        return f"{text} {self.unit}" if self.unit else text

    def rounded(self, x: float, fits: Callable[[float], bool]) -> str:
        """Write a number with the fewest digits for which the rounded working value fits."""
        size = abs(x + self.column.origin)
        if not size or fits(float(-self.column.origin)):
            return "0"
        largest = math.floor(math.log10(size))
        for exponent in range(largest, largest - _MOST_DIGITS, -1):
            for rounding in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
                text = self.text(x, 10.0**exponent, rounding)
                if fits(self.read(text)):
                    return text
        return self.text(x, 10.0 ** (largest - _MOST_DIGITS))


def _moment(since_epoch: dt.timedelta, column: Column) -> Value:
    try:
        moment = EPOCH + since_epoch
    except OverflowError:
        return str(since_epoch)
    # A table without a time zone has plain clock times; they stay that way.
    if column.time_zone:
        return in_zone(moment, column.time_zone)
    return moment.replace(tzinfo=None)


def _time_text(value: dt.datetime | dt.time, step: float) -> str:
    """Write a point in time down to the unit that ``step`` (in seconds) calls for."""
    if isinstance(value, dt.datetime) and step >= _DAY:
        return value.date().isoformat()
    form = "minutes" if step >= _MINUTE else "seconds" if step >= 1 else "microseconds"
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(" ", form)
    return value.isoformat(form)


def time_unit(seconds: float) -> tuple[str, float]:
    """Return the largest unit that goes twice into a duration, and its size in seconds."""
    return next((each for each in _TIME_UNITS.items() if seconds >= 2 * each[1]), ("s", 1.0))
