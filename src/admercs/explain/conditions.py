"""From the range of an attribute to a condition in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from admercs.explain.access import Range
from admercs.explain.column_words import ColumnWords, join, listed, n_listed
from admercs.explain.records import Condition, ConditionKind

Categories = Sequence[str | bool | int | float]
# Tells whether a threshold may be written as another number: hardly any row lies between the two.
Close = Callable[[float, float], bool]


class WordedCondition(NamedTuple):
    """A condition, and what its words say."""

    condition: Condition
    low: float = -math.inf  # the bounds as they are written: the words hold for low < x <= high
    high: float = math.inf
    vague: bool = False  # whether the words leave open which value a row has


def make_condition(
    words: ColumnWords, allowed: Range, own: float, close: Close
) -> WordedCondition | None:
    """Put into words what ``allowed`` asks for; None when it asks for nothing.

    The words also hold for ``own``, the working value of the row that is explained, or ``inf``.
    """
    nominal = words.column.role == "nominal"
    made = _nominal(words, allowed, own) if nominal else _numeric(words, allowed, own, close)
    if made is None:
        return None
    condition = made.condition
    # Where no value was missing, "or missing" would only puzzle the reader.
    seen_missing = words.column.n_missing > 0 or math.isnan(own)
    if condition.kind in {"missing", "recorded"} or not (allowed.missing and seen_missing):
        return made
    text = f"{condition.text} or missing"
    if condition.kind != "interval" and " not " in condition.text:
        # "not a or b or missing" could be read as "neither a nor b nor missing".
        text = f"{words.name} missing or {condition.text.removeprefix(words.name).strip()}"
    return made._replace(condition=replace(condition, missing=True, text=text))


def _presence(words: ColumnWords, kind: Literal["missing", "recorded"]) -> WordedCondition:
    text, missing = f"{words.name} {kind}", kind == "missing"
    return WordedCondition(Condition(words.column.name, kind, missing=missing, text=text))


def _nominal(words: ColumnWords, allowed: Range, own: float) -> WordedCondition | None:
    column = words.column
    n = len(column.categories)
    inside = [name for code, name in enumerate(column.categories, 1) if allowed.allows(code)]
    outside = [name for code, name in enumerate(column.categories, 1) if not allowed.allows(code)]
    rest_matters = column.n_grouped > 0 or own == n + 1
    rest_allowed = allowed.allows(n + 1)
    if not outside and (rest_allowed or not rest_matters):
        return None if allowed.missing else _presence(words, "recorded")
    if not inside and not (rest_allowed and rest_matters):
        return _presence(words, "missing")
    # Rare values have no names here, so only "all but" can include them, and only "one of" can
    # leave them out; where there are none, the shorter list wins.
    negative = rest_allowed if rest_matters else len(outside) < len(inside)
    text, vague = _nominal_text(words, inside, outside, rest_allowed if rest_matters else None)
    kind: ConditionKind = "excluded" if negative else "values"
    values = tuple(outside if negative else inside)
    return WordedCondition(Condition(column.name, kind, values=values, text=text), vague=vague)


def _nominal_text(
    words: ColumnWords, inside: Categories, outside: Categories, rest: bool | None
) -> tuple[str, bool]:
    """Write categories, ``rest`` for rare ones, the shorter way; tell whether that is vague."""
    most_outside = len(inside) - 1 if rest is None else len(inside) + 1
    negative = rest is not False and len(outside) <= most_outside
    names = [words.category(value) for value in (outside if negative else inside)]
    if negative:
        sign = "≠" if len(outside) == 1 else "not"
        return f"{words.name} {sign} {listed(names)}", True
    text = f"{words.name} = {listed(names)}" + (" or a rare value" if rest else "")
    return text, n_listed(names) < len(names)


def _numeric(
    words: ColumnWords, allowed: Range, own: float, close: Close
) -> WordedCondition | None:
    low, high = allowed.low, allowed.high
    if low >= high or low == math.inf:
        return _presence(words, "missing")
    if low == -math.inf and high == math.inf:
        return None if allowed.missing else _presence(words, "recorded")
    # Between whole numbers a threshold is any number; a new row need not be whole, though.
    whole = words.whole and not (math.isfinite(own) and own != math.floor(own))
    ends = [math.floor(end) if whole and math.isfinite(end) else end for end in (low, high)]
    text, shown_low, shown_high = _interval_text(words, allowed, own, whole, close)
    condition = Condition(
        words.column.name,
        "interval",
        low=None if math.isinf(low) else words.native(ends[0]),
        high=None if math.isinf(high) else words.native(ends[1]),
        text=f"{words.name} {text}",
    )
    one_sided = math.isinf(low) or math.isinf(high)
    return WordedCondition(condition, shown_low, shown_high, one_sided and text[0] != "=")


def _interval_text(
    words: ColumnWords, allowed: Range, own: float, whole: bool, close: Close
) -> tuple[str, float, float]:
    """Write an interval; also return the bounds that the words name."""
    low, high = allowed.low, allowed.high
    inside = [x for x in words.column.distinct if low < x <= high]
    if inside and (not math.isfinite(own) or own in inside):
        return _few_values_text(words, low, high, inside), low, high
    if whole:
        return _whole_text(words, low, high), low, high
    # Moments that are all at midnight are days.
    if words.day and (not math.isfinite(own) or (own + words.column.origin) % words.day == 0):
        return _whole_text(words, low, high, words.day), low, high
    if words.is_number:
        return _rounded_text(words, allowed, own, close)
    step = min(words.step, (high - low) / 20)
    above, below = (words.text(x, step) if math.isfinite(x) else "" for x in (low, high))
    return _bounds_text(words, above, below, "above"), low + step, high - step


def _rounded_text(
    words: ColumnWords, allowed: Range, own: float, close: Close
) -> tuple[str, float, float]:
    """Write thresholds with few digits, never past the row's own value or past each other."""
    low, high = allowed.low, allowed.high
    has_own = math.isfinite(own)
    above = below = ""
    if math.isfinite(low):
        least = own if has_own else high
        above = words.rounded(low, lambda shown: _fits(low, shown, close) and shown < least)
    shown_low = words.read(above) if above else -math.inf
    if math.isfinite(high):
        most = max(own if has_own else low, math.nextafter(shown_low, math.inf))
        below = words.rounded(high, lambda shown: _fits(high, shown, close) and shown >= most)
    shown_high = words.read(below) if below else math.inf
    return _bounds_text(words, above, below, "above"), shown_low, shown_high


def _fits(threshold: float, shown: float, close: Close) -> bool:
    """Tell whether a threshold may be written as another number, which has the same sign."""
    same_sign = (shown > 0, shown < 0) == (threshold > 0, threshold < 0)
    return same_sign and close(threshold, shown)


def _whole_text(words: ColumnWords, low: float, high: float, size: float = 1) -> str:
    """Name the whole numbers, or the days of some ``size``, between two thresholds."""
    origin = words.column.origin if size > 1 else 0
    # Moments far from their origin lose no digit in whole days.
    before, last = (
        math.floor((end + origin) / size) * size - origin if math.isfinite(end) else end
        for end in (low, high)
    )
    above, below = (
        words.text(end, size) if math.isfinite(end) else "" for end in (before + size, last)
    )
    if above == below:
        return f"= {words.with_unit(above)}"
    return _bounds_text(words, above, below, "at least")


def _few_values_text(words: ColumnWords, low: float, high: float, inside: list[float]) -> str:
    """Name the values there are instead of thresholds between them."""
    if len(inside) <= 2:
        named = join([words.exact_text(x) for x in inside], "or")
        return f"= {words.with_unit(named)}"
    first = words.exact_text(inside[0]) if math.isfinite(low) else ""
    last = words.exact_text(inside[-1]) if math.isfinite(high) else ""
    return _bounds_text(words, first, last, "at least")


def _bounds_text(words: ColumnWords, low: str, high: str, low_word: str) -> str:
    in_time = words.column.display in {"date", "datetime", "time"}
    if low and high:
        return words.with_unit(low if low == high else f"{low} to {high}")
    if low:
        return words.with_unit(f"{'from' if in_time else low_word} {low}")
    return words.with_unit(f"{'until' if in_time else 'at most'} {high}")
