"""From the range of an attribute to a condition in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from admercs.explanation.ranges import Range
from admercs.explanation.reasons import Condition
from admercs.explanation.values import ColumnVoice, join

__all__ = ["Categories", "make_condition", "n_listed", "threshold_step"]

MAX_LISTED = 4  # categories named before a list is cut short
MAX_LENGTH = 60  # characters, the same

Categories = Sequence[str | bool | int | float]


def make_condition(voice: ColumnVoice, allowed: Range, own: float) -> Condition | None:
    """Put into words what ``allowed`` demands; None when it demands nothing.

    Parameters
    ----------
    voice : ColumnVoice
        The column's voice.
    allowed : Range
        The values that lead to the node.
    own : float
        The working value of the row that is explained: the words must hold for it too, even where
        no training row needs them (a missing value in a column that had none, an unseen category).
        Any allowed value, or ``inf``, when there is no such row.
    """
    word = _nominal if voice.column.role == "nominal" else _numeric
    made = word(voice, allowed, own)
    if made is None:
        return None
    # Where no value was missing, "or missing" would only puzzle the reader.
    seen_missing = voice.column.n_missing > 0 or math.isnan(own)
    if made.kind in {"missing", "recorded"} or not (allowed.missing and seen_missing):
        return made
    text = f"{made.text} or missing"
    if made.kind != "interval" and " not " in made.text:
        # "not a or b or missing" could be read as "neither a nor b nor missing".
        text = f"{voice.name} missing or {made.text.removeprefix(voice.name).strip()}"
    return Condition(
        made.attribute, made.kind, made.low, made.high, made.values, missing=True, text=text
    )


def _recorded(voice: ColumnVoice) -> Condition:
    return Condition(voice.column.name, "recorded", text=f"{voice.name} recorded")


def _missing(voice: ColumnVoice) -> Condition:
    return Condition(voice.column.name, "missing", missing=True, text=f"{voice.name} missing")


def _nominal(voice: ColumnVoice, allowed: Range, own: float) -> Condition | None:
    column = voice.column
    n = len(column.categories)
    inside = [column.categories[c - 1] for c in range(1, n + 1) if allowed.allows(c)]
    outside = [column.categories[c - 1] for c in range(1, n + 1) if not allowed.allows(c)]
    rest_matters = column.n_grouped > 0 or own == n + 1
    rest_allowed = allowed.allows(n + 1)
    if not outside and (rest_allowed or not rest_matters):
        return None if allowed.missing else _recorded(voice)
    if not inside and not (rest_allowed and rest_matters):
        return _missing(voice)
    # Rare values have no names here, so only "all but" can include them, and only "one of" can
    # leave them out; where there are none, the shorter list wins.
    negative = rest_allowed if rest_matters else len(outside) < len(inside)
    if math.isfinite(own) and 1 <= own <= n:  # in a long list, the row's own category comes first
        inside.sort(key=lambda value: value != column.categories[int(own) - 1])
    text = _nominal_text(voice, inside, outside, rest_allowed if rest_matters else None)
    return Condition(
        column.name,
        "excluded" if negative else "values",
        values=tuple(outside if negative else inside),
        missing=False,
        text=text,
    )


def _nominal_text(
    voice: ColumnVoice, inside: Categories, outside: Categories, rest: bool | None
) -> str:
    """Say a set of categories the shorter way round; ``rest`` tells whether rare values belong."""
    if rest is None:
        negative = len(outside) < len(inside)
    elif rest:
        negative = len(outside) <= len(inside) + 1
    else:
        negative = False
    if negative:
        listed = _listed(voice, outside)
        return f"{voice.name} ≠ {listed}" if len(outside) == 1 else f"{voice.name} not {listed}"
    listed = _listed(voice, inside)
    return f"{voice.name} = {listed}" + (" or a rare value" if rest else "")


def _listed(voice: ColumnVoice, values: Categories) -> str:
    names = [voice.category(value) for value in values]
    kept = n_listed(voice, values)
    if kept < len(names):
        names = [*names[:kept], f"one of {len(names) - kept} others"]
    return join(names, "or")


def n_listed(voice: ColumnVoice, values: Categories) -> int:
    """Return how many of the values are named: few, fewer if they are long."""
    if len(values) <= 2:
        return len(values)
    lengths = list(accumulate(len(voice.category(value)) for value in values[: MAX_LISTED + 1]))
    kept = sum(length <= MAX_LENGTH for length in lengths)
    # "or one of 1 others" says less than the name of the one.
    kept = max(1, min(kept, MAX_LISTED))
    return len(values) if kept >= len(values) - 1 else kept


def _numeric(voice: ColumnVoice, allowed: Range, own: float) -> Condition | None:
    low, high = allowed.low, allowed.high
    if low >= high or low == math.inf:
        return _missing(voice)
    if low == -math.inf and high == math.inf:
        return None if allowed.missing else _recorded(voice)
    # Between whole numbers a threshold is any number; a new row need not be whole, though.
    whole = voice.whole and not (math.isfinite(own) and own != math.floor(own))
    ends = [math.floor(end) if whole and math.isfinite(end) else end for end in (low, high)]
    return Condition(
        voice.column.name,
        "interval",
        low=None if math.isinf(low) else voice.native(ends[0]),
        high=None if math.isinf(high) else voice.native(ends[1]),
        text=f"{voice.name} {_interval_text(voice, allowed, own, whole)}",
    )


def _interval_text(voice: ColumnVoice, allowed: Range, own: float, whole: bool) -> str:
    low, high = allowed.low, allowed.high
    inside = [x for x in voice.column.distinct if low < x <= high]
    if inside and (not math.isfinite(own) or own in inside):
        return _few_values_text(voice, low, high, inside)
    if whole:
        return _whole_text(voice, low, high)
    # Moments that are all at midnight are days.
    if voice.day and (not math.isfinite(own) or (own + voice.column.origin) % voice.day == 0):
        return _days_text(voice, low, high)
    step = threshold_step(voice, allowed)
    above = below = ""
    if math.isfinite(low):
        above = voice.say(low, step)
        if voice.is_number and not voice.read(above) < own:
            above = voice.floor(low, step)
    if math.isfinite(high):
        below = voice.say(high, step)
        if math.isfinite(own) and voice.is_number:
            crossed = voice.read(below) < own
            below = voice.ceil(high, step) if crossed else below
    return _bounds_text(voice, above, below, "above")


def threshold_step(voice: ColumnVoice, allowed: Range) -> float:
    """Return how finely the thresholds of a range are said."""
    return min(voice.step, (allowed.high - allowed.low) / 20)


def _whole_text(voice: ColumnVoice, low: float, high: float) -> str:
    """Speak of the whole numbers (or days) between two thresholds."""
    first = math.floor(low) + 1 if math.isfinite(low) else None
    last = math.floor(high) if math.isfinite(high) else None
    if first is not None and first == last:
        return f"= {voice.with_unit(voice.say(first))}"
    above = "" if first is None else voice.say(first)
    below = "" if last is None else voice.say(last)
    return _bounds_text(voice, above, below, "at least")


def _days_text(voice: ColumnVoice, low: float, high: float) -> str:
    """Speak of the days between two moments, both days included."""
    day, origin = voice.day, voice.column.origin
    # Moments far from their origin lose no digit in whole days.
    before, last = (
        math.floor((end + origin) / day) * day - origin if math.isfinite(end) else end
        for end in (low, high)
    )
    first = before + day
    if first == last:
        return f"= {voice.say(last, day)}"
    above = voice.say(first, day) if math.isfinite(first) else ""
    below = voice.say(last, day) if math.isfinite(last) else ""
    return _bounds_text(voice, above, below, "at least")


def _few_values_text(voice: ColumnVoice, low: float, high: float, inside: list[float]) -> str:
    """Speak of the values there are instead of thresholds between them."""
    if len(inside) <= 2:
        listed = join([voice.say_exactly(x) for x in inside], "or")
        return f"= {voice.with_unit(listed)}"
    first = voice.say_exactly(inside[0]) if math.isfinite(low) else ""
    last = voice.say_exactly(inside[-1]) if math.isfinite(high) else ""
    return _bounds_text(voice, first, last, "at least")


def _bounds_text(voice: ColumnVoice, low: str, high: str, low_word: str) -> str:
    in_time = voice.column.display in {"date", "datetime", "time"}
    if low and high:
        return voice.with_unit(low if low == high else f"{low} to {high}")
    if low:
        return voice.with_unit(f"{'from' if in_time else low_word} {low}")
    return voice.with_unit(f"{'until' if in_time else 'at most'} {high}")
