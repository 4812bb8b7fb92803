"""Puts the nodes of a model into words; what does not depend on a row is worked out once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import groupby, pairwise

import numpy as np

from admercs.explain.access import PEAK, Model, ModelAccess
from admercs.explain.column_words import ColumnWords, join, name_and_unit, percent
from admercs.explain.conditions import Close, Worded, in_general, make_condition
from admercs.explain.part_words import is_part, own_part, typical_parts
from admercs.explain.records import Condition, Typical
from admercs.explain.sentences import Noun, subject
from admercs.facets.value_kind import KIND_WORDS

Ends = tuple[float, float]
EVERYWHERE = (-math.inf, math.inf)

# The share of a node's rows that rounding an end may add or remove, by the density: of a typical
# range, and of a condition, whose count may differ by 1% although densities smooth single values.
ROUNDED_OFF, CONDITION_OFF = 0.01, 0.003
MAX_REGIONS = 3
KNOWN = 1 << 12  # what is typical in nodes, or for a value there, is kept in words
SHIFT = 0.1  # of a region's width: rounding moves its ends by no more than that


class ModelWords:
    """Puts the nodes of a model into words; ``noun`` is what rows are called, in the plural."""

    def __init__(self, model: Model, noun: str = "rows") -> None:
        self.access = ModelAccess(model)
        self.noun = Noun.of(noun)
        self._names = _names(model)
        self.column = cache(self._column)
        self.in_general = cache(self._in_general)
        self.usual_regions = cache(self._usual_regions)
        self._recorded = cache(lambda node: 1.0 - self.access.share_missing(node))
        self._typical = lru_cache(KNOWN)(self._typical_words)

    def _column(self, attribute: int) -> ColumnWords:
        name, unit = self._names[attribute]
        column = self.access.columns[attribute]
        source = "" if column.facet is None else self.access.column_name(attribute)
        return ColumnWords(column, name, unit, self._step(attribute), source)

    def described(
        self, node: int, row: Sequence[float] | None = None
    ) -> tuple[tuple[Condition, ...], str]:
        """Return a node's conditions, and a name for its rows, in words that hold for a row."""
        conditions, texts = [], []
        for attribute, words, usual, holds in self.in_general(node):
            own, made = math.inf if row is None else row[attribute], usual
            if own != math.inf and (math.isnan(own) or not holds(own)):
                allowed = self.access.ranges(node)[attribute]
                close = self._close(attribute, self.access.sizes[node])
                made = make_condition(words, allowed, own, close)
            if made is not None:
                conditions.append(made[0])
                texts.append(made[0].text + words.here(own, *made))
        return tuple(conditions), subject(self.noun, texts, self.access.sizes[node])

    def _in_general(
        self, node: int
    ) -> list[tuple[int, ColumnWords, Worded | None, Callable[[float], bool]]]:
        """Return the conditions of a node in words that hold for nearly all of its rows."""
        close = partial(self._close, n=self.access.sizes[node])
        ranges = [(m, self.column(m), each) for m, each in self.access.ranges(node).items()]
        return [(m, words, *in_general(words, each, close(m))) for m, words, each in ranges]

    def _usual_regions(self, node: int) -> tuple[Typical, list[Ends], list[Ends]]:
        return _regions(self.access, self.column(self.access.targets[node]), node, None)

    def _inner(self, node: int) -> Ends:
        """Return the ends of what does not lie far outside of the rest of the whole table."""
        is_root = self.access.is_root(node)
        return self.access.inner(self.access.targets[node]) if is_root else EVERYWHERE

    def typical(self, node: int, own: float | None = None) -> Typical:
        """Return what is typical for the target in a node, and so what is odd about ``own``."""
        access, words = self.access, self.column(self.access.targets[node])
        recorded = self._recorded(node)
        if own is not None and math.isnan(own):
            text = f"{words.whole_name} recorded ({percent(recorded)})"
            return Typical("recorded", share=recorded, text=text)
        if recorded < 0.5 and (own is None or access.presence_is_odder(node, own)):
            share = 1.0 - recorded
            text = f"{words.whole_name} empty ({percent(share)})"
            return Typical("missing", share=share, text=text)
        if own is not None and access.continuous[access.targets[node]]:
            _, region, near = self.usual_regions(node)
            if _lies_in(own, region):
                # What is as dense as typical values, but far outside, needs other words …
                own = None if _lies_in(own, [self._inner(node)]) else own
            elif not _lies_in(own, near):  # … and what the usual ones seem to hold.
                own = None
        elif own is not None and not is_part(words):
            own = None
        return self._typical(node, own)

    def _typical_words(self, node: int, own: float | None) -> Typical:
        """Return what is typical where it is recorded; `own` only if it needs other words."""
        access, words = self.access, self.column(self.access.targets[node])
        if access.continuous[access.targets[node]]:
            typical, region, _ = self.usual_regions(node)
            if own is not None:
                (low, high), within = self._inner(node), EVERYWHERE
                if _lies_in(own, region):  # so many rows share it
                    within = (low, math.inf) if own < low else (-math.inf, high)
                typical = _regions(access, words, node, own, within)[0]
        else:
            typical = _values(words, access.typical_values(node), own)
        if self._recorded(node) >= 0.9:
            return typical
        return replace(typical, text=f"{typical.text} where recorded")

    def own_clause(self, node: int, own: float, typical: Typical, raw: str, shown: str = "") -> str:
        """Write what a row has instead of what is typical in a node; `shown` is how it is told."""
        attribute, this = self.access.targets[node], f"this {self.noun.singular} has"
        words = self.column(attribute)
        if raw and words.is_kind:
            return f"{this} {raw}"
        if raw and math.isnan(own):
            what = KIND_WORDS[words.column.reading.kind] if words.column.reading else "a value"
            return f"{this} {raw}, which is no {what[2:]}"
        if math.isnan(own):
            return f"it is missing for this {self.noun.singular}"
        if words.column.role == "nominal" and int(own) > len(words.column.categories):
            # A rare value may be one of the training table's, which does not know rare ones apart.
            grouped = words.column.n_grouped > 0
            note = "is rare" if grouped else "was never seen in the training table"
            value = f"{words.name} = {raw}" if raw else "a value"
            if shown:
                return f"{this} {shown}"
            return f"{this} {value}, which {note}"
        if self.access.continuous[attribute]:
            region = self.access.typical_region(node)
            gap = min((max(low - own, own - high) for low, high in region), default=math.inf)
            text = words.value_text(own, distance=gap if gap > 0 else math.inf)
            return f"{this} {text}{f' ({shown})' if shown else ''}"
        value = shown or words.value_text(own)
        if typical.kind == "missing":
            return f"{this} {value}"
        count = self.access.own_count(node, own)
        total = self.access.sizes[node] - self.access.n_missing(node)
        if is_part(words):
            return own_part(words, self.noun, value, count, total)
        return f"{this} {words.name} = {value} ({count or 'none'} of {total:,})"

    def _close(self, attribute: int, n: int) -> Close:
        """Tell for which rounded thresholds a condition of ``n`` rows keeps its rows."""
        access, root = self.access, self.access.roots[attribute]
        most = CONDITION_OFF * n / max(1, access.model.n_rows)
        if not access.continuous[attribute]:
            step = self.column(attribute).step
            return lambda exact, rounded: abs(exact - rounded) < step
        return lambda exact, rounded: access.share_between(root, exact, rounded) <= most

    def _step(self, attribute: int) -> float:
        """Return the smallest difference that matters: a fiftieth of where most values are."""
        access = self.access
        if not access.continuous[attribute]:
            known = np.asarray(access.columns[attribute].distinct)
            return float(np.diff(known).min()) / 10 if len(known) > 1 else 1.0
        root = access.roots[attribute]
        region = access.typical_region(root)
        # The regions' widths, not the gaps between them: a few far values need no coarser digits.
        # The tip of a peak is as wide as its kernel.
        spread = max(sum(high - low for low, high in region), access.bandwidth(root))
        if 0 < spread < math.inf:
            return max(spread, (region[-1][1] - region[0][0]) / 20) / 50
        return 1e-3


def _names(model: Model) -> list[tuple[str, str]]:
    """Return the name and unit of every attribute; a unit stays in a name it makes unique."""
    split = [
        name_and_unit(column.name) if column.role == "numeric" else (column.name, "")
        for column in model.schema.used
    ]
    often = Counter(name for name, _ in split)
    for m in np.flatnonzero(model.schema.is_stated).tolist():  # they speak of a column of the table
        split[m] = (model.schema.columns[model.schema.used[m].sources[0]].name, "")
        often[split[m][0]] = 1
    return [
        (name, unit) if often[name] == 1 else (column.name, "")
        for (name, unit), column in zip(split, model.schema.used, strict=True)
    ]


def _values(words: ColumnWords, found: list[tuple[int, float]], own: float | None) -> Typical:
    known = words.column.distinct
    values = [(place, known[place] if known else place + 1.0, part) for place, part in found]
    shares = [(words.native(x), part) for _, x, part in values]
    # Neighbouring values are a range, if there are three or more; two are best named.
    runs = [
        [value for _, value in run]
        for _, run in groupby(enumerate(sorted(values)), lambda each: each[1][0] - each[0])
    ]
    if known and len(runs) < len(values) > 2:
        spans = []
        for run in runs:
            first, last = words.exact_text(run[0][1]), words.exact_text(run[-1][1])
            span = words.with_unit(first if len(run) == 1 else f"{first} to {last}")
            spans.append(f"{span} ({percent(sum(part for _, _, part in run))})")
        text = f"{words.name} {join(spans, 'or')}"
    else:
        text = f"{words.name} = {words.listed_values(shares)}"
    if is_part(words) and all(value is not None for value, _ in shares):
        listed = text.removeprefix(f"{words.name} ").removeprefix("= ")
        text = typical_parts(words, [x for _, x, _ in values], own, listed)
    if words.is_kind:
        text = f"{words.listed_values(shares)} as {words.name.removeprefix('kind of ')}"
    share = sum(part for _, part in found)
    return Typical("values", shares=tuple(shares), share=share, text=text)


def _regions(
    access: ModelAccess, words: ColumnWords, node: int, own: float | None,
    within: Ends = EVERYWHERE,
) -> tuple[Typical, list[Ends], list[Ends]]:  # fmt: skip
    """Return the typical region in words, itself, and what is near the regions that they name.

    Only what lies `within` two ends is typical.
    """
    found, peak = access.typical_region(node), PEAK * access.bandwidth(node)
    found = [(max(low, within[0]), min(high, within[1])) for low, high in found]
    found = [(low, high) for low, high in found if low <= high] or [within]
    values = [
        (low, high) if high - low >= peak else (low / 2 + high / 2,) * 2 for low, high in found
    ]
    region, values = _clipped(words, found), _clipped(words, values)
    if not all(math.isfinite(end) for part in region for end in part):
        text = f"{words.name} of any size"
        return Typical("intervals", ((None, None),), text=text), [EVERYWHERE], [EVERYWHERE]
    if words.whole:
        inner = [(math.ceil(low), math.floor(high)) for low, high in region]
        pairs = zip(inner, region, strict=True)
        region = [ends if ends[0] <= ends[1] else part for ends, part in pairs]
    if own is not None and _lies_in(own, region):
        own = None  # nothing about it has to be shown
    shown = _simplified(_whole(values) if words.whole else values, words.step, own)
    rho = access.model.method.density.rho
    most = ROUNDED_OFF * rho * (1.0 - access.share_missing(node))

    def close(end: float, rounded: float) -> bool:
        return access.share_between(node, end, rounded) <= most

    # No end is rounded past the middle of the gap to the next region.
    middles = [before[1] / 2 + after[0] / 2 for before, after in pairwise(shown)]
    limits = pairwise([-math.inf, *middles, math.inf])
    parts, near = zip(
        *(
            region_text(words, part, own, ends, close)
            for part, ends in zip(shown, limits, strict=True)
        ),
        strict=True,
    )
    typical = Typical(
        "intervals",
        intervals=tuple((words.native(low), words.native(high)) for low, high in region),
        share=rho,
        text=f"{words.name} {words.with_unit(join(list(parts), 'or'))}",
    )
    return typical, region, list(near)


def _lies_in(x: float, region: list[Ends]) -> bool:
    return any(low <= x <= high for low, high in region)


def _clipped(words: ColumnWords, region: list[Ends]) -> list[Ends]:
    """Cut off what smoothing has added beyond the smallest and the largest value."""
    lowest = -math.inf if words.column.low is None else words.column.low
    highest = math.inf if words.column.high is None else words.column.high
    parts = [(max(low, lowest), min(high, highest)) for low, high in region]
    return [(low, high) for low, high in parts if low <= high] or region


def _simplified(region: list[Ends], step: float, own: float | None) -> list[Ends]:
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
    words: ColumnWords, region: Ends, own: float | None, limits: Ends, close: Close
) -> tuple[str, Ends]:
    """Write a region with few digits, within ``limits``; a value outside of it looks outside.

    For own values outside of the ends that are returned, too, the text is the same.
    """
    low, high = region
    if high - low < words.step / 5:  # a peak: its middle is enough
        middle = low / 2 + high / 2
        low = high = round(middle) if words.whole else middle
    if own is not None and low <= own <= high:
        own = None
    if not words.is_number or low == high:
        step = min(words.step, max(high - low, words.step) / 5)
        if own is not None:
            step = min(step, max(low - own, own - high))
        first, last = words.text(low, step), words.text(high, step)
        text = first if first == last else f"{first} to {last}"
        return text, (low - step, high + step)
    below, above = limits
    if own is not None:
        below, above = (max(below, own), above) if own < low else (below, min(above, own))
    most = SHIFT * (high - low)

    def fits(end: float, shown: float) -> bool:
        return below < shown < above and abs(end - shown) <= most and close(end, shown)

    first, last = (words.rounded(end, partial(fits, end)) for end in (low, high))
    return f"{first} to {last}", (min(low, words.read(first)), max(high, words.read(last)))


def _whole(region: list[Ends]) -> list[Ends]:
    """Return the whole numbers (or days) inside the regions, neighbours joined."""
    joined: list[Ends] = []
    for low, high in region:
        first, last = math.ceil(low), math.floor(high)
        if first > last:  # a region between two whole numbers: the nearest one
            first = last = round((low + high) / 2)
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
