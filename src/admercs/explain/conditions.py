"""From the range of an attribute to a condition in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from admercs.explain.access import Range
from admercs.explain.column_words import ColumnWords, join, listed
from admercs.explain.part_words import hours, is_clock
from admercs.explain.records import Condition, ConditionKind

# Tells whether a threshold may be written as another number: hardly any row lies between the two.
Close = Callable[[float, float], bool]
# A condition, and whether its words leave open which value a row has.
Worded = tuple[Condition, bool]


def make_condition(words: ColumnWords, allowed: Range, own: float, close: Close) -> Worded | None:
    """Say what ``allowed`` asks for, if anything, in words that hold for a row's ``own`` value."""
    nominal = words.column.role == "nominal"
    made = _nominal(words, allowed, own) if nominal else _numeric(words, allowed, own, close)
    # Where no value was missing, "or missing" would only puzzle the reader.
    missing = allowed.missing and (words.column.n_missing > 0 or math.isnan(own))
    if made is None or not missing or made[0].kind in {"missing", "recorded"}:
        return made
    condition, vague = made
    text = f"{condition.text} or missing"
    if condition.kind != "interval" and " not " in condition.text:
        # "not a or b or missing" could be read as "neither a nor b nor missing".
        text = f"{words.name} missing or {condition.text.removeprefix(words.name).strip()}"
    return replace(condition, missing=True, text=text), vague


def in_general(
    words: ColumnWords, allowed: Range, close: Close
) -> tuple[Worded | None, Callable[[float], bool]]:
    """Return the words for rows in general, and for which own values they are the same.

    Nearly all rows have the same words, and to find those with few digits takes long.
    """
    made, distinct = make_condition(words, allowed, math.inf, close), words.column.distinct
    low, high = allowed.low, allowed.high
    inside = {x for x in distinct if low < x <= high}
    if words.column.role == "nominal":
        rest = len(words.column.categories) + 1
        return made, lambda own: own != rest
    if inside or words.whole:
        return made, lambda own: own in inside or (not inside and own == math.floor(own))
    if not words.is_number or words.day or low >= high:
        return made, lambda _: True
    above, below = _rounded(words, low, high, math.inf, close)
    least = words.read(above) if above else -math.inf
    most = words.read(below) if below else math.inf
    return made, lambda own: least < own <= most


def _presence(words: ColumnWords, kind: Literal["missing", "recorded"]) -> Worded:
    text = f"{words.whole_name} {kind}"
    return Condition(words.column.name, kind, missing=kind == "missing", text=text), False


def _nominal(words: ColumnWords, allowed: Range, own: float) -> Worded | None:
    column, rest = words.column, len(words.column.categories) + 1
    inside = [name for code, name in enumerate(column.categories, 1) if allowed.allows(code)]
    outside = [name for code, name in enumerate(column.categories, 1) if not allowed.allows(code)]
    rest_matters, rest_allowed = column.n_grouped > 0 or own == rest, allowed.allows(rest)
    if not outside and (rest_allowed or not rest_matters):
        return None if allowed.missing else _presence(words, "recorded")
    if not inside and not (rest_allowed and rest_matters):
        return _presence(words, "missing")
    # Rare values have no names here, so only "all but" can include them, and only "one of" can
    # leave them out; where there are none, the shorter list wins.
    negative = rest_allowed if rest_matters else len(outside) < len(inside)
    kind: ConditionKind = "excluded" if negative else "values"
    values = tuple(outside if negative else inside)
    # In words, rare values can be included in either way.
    negative = negative and not (rest_matters and len(outside) > len(inside) + 1)
    names = [words.category(value) for value in (outside if negative else inside)]
    sign = "=" if not negative else "≠" if len(outside) == 1 else "not"
    if rest_matters and rest_allowed and not negative:
        text = f"{words.name} = {f'{listed(names)} or ' if names else ''}a rare value"
    else:
        text = f"{words.name} {sign} {listed(names)}"
    vague = negative or len(names) > 1
    return Condition(column.name, kind, values=values, text=text), vague


def _numeric(words: ColumnWords, allowed: Range, own: float, close: Close) -> Worded | None:
    low, high = allowed.low, allowed.high
    if low >= high or low == math.inf:
        return _presence(words, "missing")
    if low == -math.inf and high == math.inf:
        return None if allowed.missing else _presence(words, "recorded")
    # Between whole numbers a threshold is any number; a new row need not be whole, though.
    whole = words.whole and not (math.isfinite(own) and own != math.floor(own))
    first, last = (
        None if math.isinf(end) else words.native(math.floor(end) if whole else end)
        for end in (low, high)
    )
    text = _interval_text(words, allowed, own, whole, close)
    name = f"{words.name} {text}"
    condition = Condition(words.column.name, "interval", low=first, high=last, text=name)
    return condition, text[0] != "=" or " or " in text


def _interval_text(
    words: ColumnWords, allowed: Range, own: float, whole: bool, close: Close
) -> str:
    low, high, low_word = allowed.low, allowed.high, "at least"
    inside = [x for x in words.column.distinct if low < x <= high]
    if inside and (not math.isfinite(own) or own in inside):
        # The values there are, instead of thresholds between them.
        if is_clock(words):
            return hours(words, inside[0], inside[-1])
        if len(inside) <= 2:
            return f"= {words.with_unit(join([words.exact_text(x) for x in inside], 'or'))}"
        above, below = words.exact_text(inside[0]), words.exact_text(inside[-1])
    elif whole or words.day:  # moments that are all at midnight are days
        size = 1 if whole else words.day
        # Moments far from their origin lose no digit in whole days.
        origin = 0 if whole else words.column.origin
        before, last = (
            math.floor((end + origin) / size) * size - origin if math.isfinite(end) else end
            for end in (low, high)
        )
        above, below = _texts(words, before + size, last, size)
        if above == below:
            return f"= {words.with_unit(above)}"
    elif words.is_number:
        above, below, low_word = *_rounded(words, low, high, own, close), "above"
    else:
        step = min(words.step, (high - low) / 20)
        above, below, low_word = *_texts(words, low, high, step), "above"
    in_time = words.column.display in {"date", "datetime", "time"}
    if math.isinf(high):
        return words.with_unit(f"{'from' if in_time else low_word} {above}")
    if math.isinf(low):
        return words.with_unit(f"{'until' if in_time else 'at most'} {below}")
    return words.with_unit(above if above == below else f"{above} to {below}")


def _texts(words: ColumnWords, low: float, high: float, step: float) -> tuple[str, str]:
    first, last = (words.text(x, step) if math.isfinite(x) else "" for x in (low, high))
    return first, last


def _rounded(
    words: ColumnWords, low: float, high: float, own: float, close: Close
) -> tuple[str, str]:
    """Write thresholds with few digits, never past the row's own value or past each other."""

    def fits(end: float, shown: float) -> bool:
        same_sign = (shown > 0, shown < 0) == (end > 0, end < 0)
        return same_sign and close(end, shown)

    above = below = ""
    if math.isfinite(low):
        least = own if math.isfinite(own) else high
        above = words.rounded(low, lambda shown: fits(low, shown) and shown < least)
    if math.isfinite(high):
        shown_low = words.read(above) if above else -math.inf
        most = max(own if math.isfinite(own) else low, math.nextafter(shown_low, math.inf))
        below = words.rounded(high, lambda shown: fits(high, shown) and shown >= most)
    return above, below
