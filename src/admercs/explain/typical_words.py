"""What is typical for a target in a node, in values and in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from admercs.explain.access import ModelAccess
from admercs.explain.column_words import ColumnWords, join, percent
from admercs.explain.records import Typical, Value

Regions = list[tuple[float, float]]

MAX_VALUES = 4  # values named before a list is cut short
MAX_REGIONS = 3
PEAK = 0.4  # bandwidths; a narrower region is the tip of a peak: a value that many rows share
SHIFT = 0.1  # of a region's width: rounding moves its ends by no more than that
ROUNDED_OFF = 0.01  # the share of the typical rows that rounding may move across an end


def make_typical(
    access: ModelAccess, words: ColumnWords, attribute: int, node: int, own: float | None
) -> Typical:
    """Describe what is typical for an attribute in a node, and so what is odd about ``own``."""
    n = access.size(node)
    recorded = 1.0 - access.n_missing(node) / n if n else 1.0
    if own is not None and math.isnan(own):
        text = f"{words.name} recorded ({percent(recorded)})"
        return Typical("recorded", share=recorded, text=text)
    if recorded < 0.5 and (own is None or access.presence_is_odder(attribute, node, own)):
        share = 1.0 - recorded
        return Typical("missing", share=share, text=f"{words.name} empty ({percent(share)})")
    if access.is_continuous(attribute):
        return _regions(access, words, node, own, recorded)
    return _values(access, words, node, recorded)


def _values(access: ModelAccess, words: ColumnWords, node: int, recorded: float) -> Typical:
    found = access.typical_values(node)
    known = words.column.distinct
    places = [place for place, _ in found]
    working = [float(known[place]) if known else float(place + 1) for place in places]
    parts = [part for _, part in found]
    shares = [(words.native(x), part) for x, part in zip(working, parts, strict=True)]
    runs = _runs(sorted(zip(places, working, parts, strict=True))) if known else []
    if known and len(runs) < len(places):
        spans = [
            f"{words.with_unit(_span(words, first, last))} ({percent(share)})"
            for first, last, share in runs
        ]
        text = f"{words.name} {join(spans, 'or')}"
    else:
        text = f"{words.name} = {listed_values(words, shares)}"
    return Typical("values", shares=tuple(shares), share=sum(parts), text=text + _where(recorded))


def _runs(values: list[tuple[int, float, float]]) -> list[tuple[float, float, float]]:
    """Join neighbouring values (place, value, share) into (first, last, share)."""
    runs: list[list[tuple[int, float, float]]] = []
    for value in values:
        if runs and value[0] == runs[-1][-1][0] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    # Two values are best named; three or more in a row are a range.
    if len(values) < 3 or max(map(len, runs)) < 2:
        runs = [[value] for value in values]
    return [(run[0][1], run[-1][1], sum(share for _, _, share in run)) for run in runs]


def _span(words: ColumnWords, first: float, last: float) -> str:
    low, high = words.exact_text(first), words.exact_text(last)
    return low if first == last else f"{low} to {high}"


def listed_values(words: ColumnWords, shares: Sequence[tuple[Value, float]]) -> str:
    """List values with their shares, a long list cut short."""
    parts = [
        f"{words.with_unit(words.native_text(value))} ({percent(share)})" for value, share in shares
    ]
    # The length of the list counts, not that of the names: shares are what it is about.
    if len(parts) <= MAX_VALUES:
        return join(parts, "or")
    count = len(parts) - MAX_VALUES
    rest = percent(sum(share for _, share in shares[MAX_VALUES:]))
    return join([*parts[:MAX_VALUES], f"{count} other{'s' if count > 1 else ''} ({rest})"], "or")


def _where(recorded: float) -> str:
    """Qualify the typical values of a target that is often missing."""
    return "" if recorded >= 0.9 else " where recorded"


def _regions(
    access: ModelAccess, words: ColumnWords, node: int, own: float | None, recorded: float
) -> Typical:
    found, peak = access.typical_region(node), PEAK * access.bandwidth(node)
    values = [(low, high) if high - low >= peak else ((low + high) / 2,) * 2 for low, high in found]
    region, values = _clipped(words, found), _clipped(words, values)
    if words.whole:
        region = [_whole_ends(low, high) for low, high in region]
    if own is not None and any(low <= own <= high for low, high in region):
        own = None  # nothing about it has to be shown
    if not all(math.isfinite(end) for part in region for end in part):
        text = f"{words.name} of any size{_where(recorded)}"
        return Typical("intervals", ((None, None),), text=text)
    shown = _simplified(_whole(values) if words.whole else values, words.step, own)
    rho = access.model.method.density.rho
    most = ROUNDED_OFF * rho * recorded

    def close(end: float, rounded: float) -> bool:
        return access.share_between(node, end, rounded) <= most

    # No end is rounded past the middle of the gap to the next region.
    middles = [(before[1] + after[0]) / 2 for before, after in pairwise(shown)]
    limits = pairwise([-math.inf, *middles, math.inf])
    parts = [
        region_text(words, part, own, limit, close)
        for part, limit in zip(shown, limits, strict=True)
    ]
    return Typical(
        "intervals",
        intervals=tuple((words.native(low), words.native(high)) for low, high in region),
        share=rho,
        text=f"{words.name} {words.with_unit(join(parts, 'or'))}{_where(recorded)}",
    )


def _clipped(words: ColumnWords, region: Regions) -> Regions:
    """Cut off what smoothing has added beyond the smallest and the largest value."""
    lowest = -math.inf if words.column.low is None else words.column.low
    highest = math.inf if words.column.high is None else words.column.high
    parts = [(max(low, lowest), min(high, highest)) for low, high in region]
    return [(low, high) for low, high in parts if low <= high] or region


def _simplified(region: Regions, step: float, own: float | None) -> Regions:
    """Bridge gaps too narrow to mention, then the narrowest ones until few regions are left."""
    parts = list(region)
    while True:
        gaps = sorted(
            (after[0] - before[1], min(before[1] - before[0], after[1] - after[0]), k)
            for k, (before, after) in enumerate(pairwise(parts))
            if own is None or not before[1] < own < after[0]  # what the sentence is about
        )
        # A narrow outpost close by belongs to its neighbour.
        small = [k for gap, width, k in gaps if gap < step or width < gap < 5 * step]
        if not small and not (gaps and len(parts) > MAX_REGIONS):
            return parts
        k = small[0] if small else gaps[0][2]
        parts[k : k + 2] = [(parts[k][0], parts[k + 1][1])]


def region_text(
    words: ColumnWords,
    region: tuple[float, float],
    own: float | None,
    limits: tuple[float, float],
    close: Callable[[float, float], bool],
) -> str:
    """Write a region with few digits, within ``limits``; a value outside of it looks outside."""
    low, high = region
    if high - low < words.step / 5:  # a peak: its middle is enough
        low = high = round((low + high) / 2) if words.whole else (low + high) / 2
    if own is not None and low <= own <= high:
        own = None
    if not words.is_number or low == high:
        step = min(words.step, max(high - low, words.step) / 5)
        if own is not None:
            step = min(step, max(low - own, own - high))
        first, last = words.text(low, step), words.text(high, step)
        return first if first == last else f"{first} to {last}"
    below, above = limits
    if own is not None:
        below, above = (max(below, own), above) if own < low else (below, min(above, own))
    most = SHIFT * (high - low)

    def fits(end: float, shown: float) -> bool:
        return below < shown < above and abs(end - shown) <= most and close(end, shown)

    return f"{words.rounded(low, partial(fits, low))} to {words.rounded(high, partial(fits, high))}"


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
