"""What is typical for a target in a context, in values and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from admercs.density.likelihoods import CONTINUOUS, Likelihoods
from admercs.density.lookup import entries, typical_values
from admercs.explanation.plain import Value
from admercs.explanation.reasons import Typical
from admercs.explanation.values import ColumnVoice, join

__all__ = ["Regions", "listed_values", "make_typical", "own_count", "percent", "region_text"]

Regions = list[tuple[float, float]]

MAX_VALUES = 4  # values named before a list is cut short
MAX_REGIONS = 3
PEAK = 0.4  # bandwidths; a narrower region is the tip of a peak: a value that many rows share


def percent(share: float) -> str:
    """Write a share so that it never looks like all or nothing unless it is.

    Examples
    --------
    >>> percent(0.613), percent(0.9903), percent(0.99999), percent(1.0), percent(0.004)
    ('61%', '99%', '99.9%', '100%', '0.4%')
    """
    if share >= 1.0 or share <= 0.0:
        return f"{share:.0%}"
    if 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{min(max(share, 0.001), 0.999):.1%}".replace(".0%", "%")


def make_typical(
    voice: ColumnVoice,
    likelihoods: Likelihoods,
    attribute: int,
    slot: int,
    region: Regions,
    own: float | None,
    rho: float,
) -> Typical:
    """Say what is typical for an attribute in a slot.

    Parameters
    ----------
    voice : ColumnVoice
        The attribute's voice.
    likelihoods : Likelihoods
        The reference distributions.
    attribute, slot : int
        The attribute and the distribution.
    region : list of (low, high)
        Where a continuous attribute is typical.
    own : float or None
        The working value of the row it is compared with. The words are then chosen so that they
        show what is odd about that value.
    rho : float
        The share of the recorded values that counts as typical.
    """
    n, n_missing = int(likelihoods.n[slot]), int(likelihoods.n_missing[slot])
    recorded = 1.0 - n_missing / n if n else 1.0
    if own is not None and math.isnan(own):
        text = f"{voice.name} recorded ({percent(recorded)})"
        return Typical("recorded", share=recorded, text=text)
    if _mostly_missing(likelihoods, attribute, slot, own, recorded):
        share = 1.0 - recorded
        return Typical("missing", share=share, text=f"no {voice.name} recorded ({percent(share)})")
    if likelihoods.kind[attribute] == CONTINUOUS:
        peak = PEAK * float(likelihoods.bandwidth[slot])
        return _regions(voice, region, own, recorded, rho, peak)
    return _values(voice, likelihoods, attribute, slot, recorded)


def _mostly_missing(
    likelihoods: Likelihoods, attribute: int, slot: int, own: float | None, recorded: float
) -> bool:
    """Tell whether having a value at all is what is odd."""
    if own is None or recorded >= 0.5:
        return recorded < 0.5
    if likelihoods.kind[attribute] == CONTINUOUS:
        log_value = float(entries(likelihoods, slot, np.array([own]))[0])
    else:
        place = _place(likelihoods, attribute, slot, own)
        log_value = float(
            likelihoods.log_floor[slot] if place is None else likelihoods.log_value[place]
        )
    return float(likelihoods.log_present[slot]) < min(0.0, log_value)


def _place(likelihoods: Likelihoods, attribute: int, slot: int, own: float) -> int | None:
    """Return where a discrete or nominal value stands in the slot's tables, if it does."""
    start, stop = likelihoods.distinct_ptr[attribute : attribute + 2]
    first, end = (int(place) for place in likelihoods.value_ptr[slot : slot + 2])
    if stop == start:  # nominal: the code says it
        place = int(own) - 1
    else:
        known = likelihoods.distinct[start:stop]
        place = int(np.searchsorted(known, own))
        if place == len(known) or known[place] != own:
            return None
    return first + place if first + place < end else None


def own_count(likelihoods: Likelihoods, attribute: int, slot: int, own: float) -> int:
    """Return how many training rows of the slot share a discrete or nominal value."""
    place = _place(likelihoods, attribute, slot, own)
    return 0 if place is None else int(likelihoods.count[place])


def _values(
    voice: ColumnVoice, likelihoods: Likelihoods, attribute: int, slot: int, recorded: float
) -> Typical:
    found = typical_values(likelihoods, slot)
    known = likelihoods.distinct[likelihoods.distinct_ptr[attribute] :]
    nominal = voice.column.role == "nominal"
    places = [place for place, _ in found]
    working = [float(place + 1) if nominal else float(known[place]) for place in places]
    parts = [part for _, part in found]
    shares = [(voice.native(x), part) for x, part in zip(working, parts, strict=True)]
    runs = [] if nominal else _runs(sorted(zip(places, working, parts, strict=True)))
    if not nominal and len(runs) < len(places):
        said = [
            f"{voice.with_unit(_span(voice, first, last))} ({percent(share)})"
            for first, last, share in runs
        ]
        text = f"{voice.name} {join(said, 'or')}"
    else:
        text = f"{voice.name} = {listed_values(voice, shares)}"
    return Typical(
        "values",
        shares=tuple(shares),
        share=sum(parts),
        text=text + _where(recorded),
    )


def _runs(values: list[tuple[int, float, float]]) -> list[tuple[float, float, float]]:
    """Join neighbouring values (place, value, share) into (first, last, share), if they are many.

    Two values are best named; three or more in a row are a range.
    """
    runs: list[list[tuple[int, float, float]]] = []
    for value in values:
        if runs and value[0] == runs[-1][-1][0] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    if len(values) < 3 or max(map(len, runs)) < 2:
        runs = [[value] for value in values]
    return [(run[0][1], run[-1][1], sum(share for _, _, share in run)) for run in runs]


def _span(voice: ColumnVoice, first: float, last: float) -> str:
    low, high = voice.say_exactly(first), voice.say_exactly(last)
    return low if first == last else f"{low} to {high}"


def listed_values(voice: ColumnVoice, shares: Sequence[tuple[Value, float]]) -> str:
    """List values with their shares, a long list cut short."""
    parts = [
        f"{voice.with_unit(voice.say_native(value))} ({percent(share)})"
        for value, share in shares[:MAX_VALUES]
    ]
    if len(shares) > MAX_VALUES:
        rest = percent(sum(share for _, share in shares[MAX_VALUES:]))
        count = len(shares) - MAX_VALUES
        parts.append(f"{count} other{'s' if count > 1 else ''} ({rest})")
    return join(parts, "or")


def _where(recorded: float) -> str:
    """Qualify the typical values of a target that is often missing."""
    return "" if recorded >= 0.9 else " where recorded"


def _regions(
    voice: ColumnVoice,
    region: Regions,
    own: float | None,
    recorded: float,
    rho: float,
    peak: float,
) -> Typical:
    values = [
        (low, high) if high - low >= peak else ((low + high) / 2,) * 2 for low, high in region
    ]
    region, values = _clipped(voice, region), _clipped(voice, values)
    if voice.whole:
        region = [_whole_ends(low, high) for low, high in region]
    if own is not None and any(low <= own <= high for low, high in region):
        own = None  # nothing about it has to be shown
    if not all(math.isfinite(end) for part in region for end in part):
        text = f"{voice.name} of any size{_where(recorded)}"
        return Typical("intervals", ((None, None),), text=text)
    shown = _simplified(_whole(values) if voice.whole else values, voice.step, own)
    text = voice.with_unit(join([region_text(voice, *part, own) for part in shown], "or"))
    return Typical(
        "intervals",
        intervals=tuple((voice.native(low), voice.native(high)) for low, high in region),
        share=rho,
        text=f"{voice.name} {text}{_where(recorded)}",
    )


def _clipped(voice: ColumnVoice, region: Regions) -> Regions:
    """Cut off what smoothing has added beyond the smallest and the largest value."""
    lowest = -math.inf if voice.column.low is None else voice.column.low
    highest = math.inf if voice.column.high is None else voice.column.high
    parts = [(max(low, lowest), min(high, highest)) for low, high in region]
    return [(low, high) for low, high in parts if low <= high] or region


def _simplified(region: Regions, step: float, own: float | None) -> Regions:
    """Bridge gaps too narrow to mention, then the narrowest ones until few regions are left.

    A gap that holds the row's own value stays open: it is what the sentence is about.
    """
    parts = list(region)
    while True:
        gaps = sorted(
            (after[0] - before[1], min(before[1] - before[0], after[1] - after[0]), k)
            for k, (before, after) in enumerate(pairwise(parts))
            if own is None or not before[1] < own < after[0]
        )
        # A narrow outpost close by belongs to its neighbour.
        small = [k for gap, width, k in gaps if gap < step or width < gap < 5 * step]
        if not small and not (gaps and len(parts) > MAX_REGIONS):
            return parts
        k = small[0] if small else gaps[0][2]
        parts[k : k + 2] = [(parts[k][0], parts[k + 1][1])]


def region_text(voice: ColumnVoice, low: float, high: float, own: float | None) -> str:
    """Say a region, so rounded that a value outside of it also looks outside."""
    step = voice.step
    if high - low < step / 5:  # a peak: its middle says it all
        low = high = round((low + high) / 2) if voice.whole else (low + high) / 2
    step = min(step, max(high - low, step) / 5)
    first, last = voice.say(low, step), voice.say(high, step)
    if own is not None and not low <= own <= high:
        if low < high and voice.is_number:
            first = first if own < voice.read(first) or own > high else voice.ceil(low, step)
            last = last if own > voice.read(last) or own < low else voice.floor(high, step)
        else:
            step = min(step, max(low - own, own - high))
            first, last = voice.say(low, step), voice.say(high, step)
    return first if first == last else f"{first} to {last}"


def _whole_ends(low: float, high: float) -> tuple[float, float]:
    """Return the first and the last whole number of a region, if there are any."""
    if not math.isfinite(low) or not math.isfinite(high) or math.ceil(low) > math.floor(high):
        return low, high
    return math.ceil(low), math.floor(high)


def _whole(region: Regions) -> Regions:
    """Return the whole numbers (or days) inside the regions, neighbours joined."""
    joined: Regions = []
    for low, high in region:
        first, last = math.ceil(low), math.floor(high)
        if first > last:  # a region between two whole numbers: the nearest one
            first = last = round((low + high) / 2)
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
