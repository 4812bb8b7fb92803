"""Parts of dates and texts in words: stretches of hours and days, forms, beginnings and ends."""

from __future__ import annotations

from itertools import groupby

from admercs.explain.column_words import ColumnWords, join
from admercs.explain.sentences import Noun
from admercs.facets.calendar_parts import CLOCK, HOUR, PARTS
from admercs.facets.text_shape import E_MAIL, TEXT_PARTS

_TEXT_WORDS = {
    "shape": ("the form of ", "of the form"),
    "first": ("the beginning of ", "beginning with"),
    "last": ("the end of ", "ending in"),
}


def is_part(words: ColumnWords) -> bool:
    """Say whether the values of a column are parts of dates or texts."""
    facet = words.column.facet
    return facet is not None and facet.kind in (CLOCK, *PARTS, *TEXT_PARTS)


def is_clock(words: ColumnWords) -> bool:
    """Say whether the values of a column are hours."""
    facet = words.column.facet
    return facet is not None and facet.kind == CLOCK


def hours(words: ColumnWords, first: float, last: float) -> str:
    """Write a stretch of hours, from the beginning of the first to the end of the last."""
    return f"{words.exact_text(first)} to {words.exact_text(last + HOUR)}"


def typical_parts(words: ColumnWords, values: list[float], own: float | None, listed: str) -> str:
    """Write what is typical of a part: stretches of dates, or what is listed of texts.

    Where no `values` are given, what is listed of dates, too; but hours are too many for a list.
    """
    facet = words.column.facet
    if facet is not None and facet.kind in TEXT_PARTS:
        prefix, how = _TEXT_WORDS.get(facet.kind, ("", ""))
        name = words.name.removeprefix(prefix)
        if facet.kind == "shape" and listed.startswith(E_MAIL):
            return f"{listed} as {name}"
        return f"{name} {how} {listed}" if how else f"{name} = {listed}"
    if not values:
        return "" if is_clock(words) else f"{words.name} = {listed}"
    if facet is None or facet.kind == CLOCK:
        found = sorted(values)
        # An hour between two typical ones is not worth telling, unless it is what is odd.
        is_between = own is not None and found[0] < own < found[-1]
        steps = [x / HOUR for x in found] if is_between else [float(k) for k in range(len(found))]
        stretches = [hours(words, found[run[0]], found[run[-1]]) for run in _runs(steps)]
        spans = [f"between {each.replace(' to ', ' and ')}" for each in stretches]
    else:
        names = PARTS[facet.kind]
        places = sorted(names.index(str(words.native(x))) for x in values)
        spans = []
        for run in _runs([float(place) for place in places]):
            first, last = names[places[run[0]]], names[places[run[-1]]]
            spans.append(first if first == last else f"{first} to {last}")
    return f"{words.name} {join(spans, 'or')}"


def expected_part(words: ColumnWords, should: str) -> str:
    """Write what a text should have had, or any other value as it is."""
    facet = words.column.facet
    if facet is None or facet.kind not in TEXT_PARTS or should == E_MAIL:
        return should
    if facet.kind == "length":
        return f"a length of {should}"
    return f"{_TEXT_WORDS[facet.kind][1].removeprefix('of ')} {should}"


def own_part(words: ColumnWords, noun: Noun, shown: str, count: int, total: int) -> str:
    """Write what a row has instead."""
    facet = words.column.facet
    note = f" ({count or 'none'} of {total:,})" if facet is not None and facet.kind in PARTS else ""
    return f"this {noun.singular} has {shown}{note}"


def _runs(numbers: list[float]) -> list[list[int]]:
    """Return the places of numbers that follow each other."""
    groups = groupby(enumerate(numbers), lambda each: each[1] - each[0])
    return [[place for place, _ in run] for _, run in groups]
