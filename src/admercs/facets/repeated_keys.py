"""Keys: columns whose values hardly ever repeat, and those of their values that do.

A text column is a key if nearly all of its values are short and at most a small share of them
occurs more than once. Whole numbers are a key if there are also far fewer repetitions than so many
numbers drawn from the same range would have: 1 to 5,000 are numbers of orders, amounts of money
are not.

Names and amounts that repeat by nature mostly do so twice. Where most values occur once and the
others often, and hardly any twice, a few values were written into rows of others.

With n values, r of which occur more than once, each of these has ω = r / n. The same holds for
values that are *scattered*, see `determination`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from admercs.arrays import Bools, Ints, Keys, scramble
from admercs.facets.determination import number_bits
from admercs.method.settings import KeyColumns
from admercs.table.columns import Facet
from admercs.table.frame import Frame
from admercs.table.summary import ColumnSummary, text_category
from admercs.table.text_cells import TextCells
from admercs.table.values import Kind, RawColumn

REPEATS, SCATTERED = "repeats", "scattered"
KINDS: tuple[Kind, ...] = ("text", "integer", "float")
Value = str | int | float
_VALUES: dict[Kind, Callable[[Any], Value]] = {"text": str, "integer": int, "float": float}
PlainKnown = tuple[tuple[Value, int], ...]  # values that occur more than once, and how often


class NumberCounts(NamedTuple):
    """How often values occur, each as a number; texts may share one."""

    number: Keys
    n: Ints
    n_short: int


def may_be_key(column: ColumnSummary, settings: KeyColumns, beside_texts: bool) -> bool:
    """Say whether the values of a column have to be counted to know whether it is a key."""
    n = column.n_present
    if column.chosen or n < settings.min_rows or column.counts is not None:
        return False
    if column.kind == "text" or (beside_texts and _has_numbers(column)):
        return True
    if column.kind != "integer" or column.role != "numeric":
        return False
    n_possible = _span(column)
    return n_possible >= (1 - settings.share) * n and settings.chance * _pairs(n) >= n_possible


def _has_numbers(column: ColumnSummary) -> bool:
    return column.role == "numeric" and column.kind in ("integer", "float")


def _span(column: ColumnSummary) -> int:
    return int(column.high or 0) - int(column.low or 0) + 1


def _pairs(n: int) -> float:
    return n * (n - 1) / 2


def key_facet(
    place: int, column: ColumnSummary, counts: Mapping[Any, int], n: int, settings: KeyColumns
) -> Facet | None:
    """Return the facet of a key, given its values that occur more than once and the rows seen.

    Return None for a column that is no key.
    """
    if column.chosen or n < settings.min_rows:
        return None
    if not (hardly_repeats(column, counts, n, settings) or some_repeat(counts, n, settings)):
        return None
    as_kind: Callable[[Any], Value] = _VALUES[column.kind]
    plain = ((as_kind(value), count) for value, count in counts.items())
    known = tuple(sorted(plain, key=lambda each: (-each[1], str(each[0]))))
    return Facet(REPEATS, (place,), (n, known), is_condition=False, is_stated=True)


def hardly_repeats(
    column: ColumnSummary, counts: Mapping[Value, int], n: int, settings: KeyColumns
) -> bool:
    """Say whether hardly any value occurs more than once, given those that do."""
    if sum(counts.values()) > settings.share * n or column.kind == "float":
        return False
    if column.kind == "text":
        return True
    by_chance = _pairs(n) / _span(column)
    return (
        column.counts is None and sum(map(_pairs, counts.values())) <= settings.chance * by_chance
    )


def some_repeat(counts: Mapping[Value, int], n: int, settings: KeyColumns) -> bool:
    """Say whether values occur once or, some of them, often, but hardly any twice."""
    n_repeated, n_twice = sum(counts.values()), 2 * sum(c == 2 for c in counts.values())
    return (
        settings.share * n < n_repeated <= settings.misused * n
        and n_twice <= settings.twice * n_repeated
        and 2 * max(counts.values()) <= n_repeated
    )


def scattered_facet(
    sources: tuple[int, ...], column: ColumnSummary, counts: Mapping[str, int]
) -> Facet | None:
    """Return the facet of values that were written into rows of others, if there are any.

    The first source is their column, the others are those that follow from it.
    """
    if not counts or column.kind not in _VALUES:
        return None
    known = tuple((_VALUES[column.kind](value), count) for value, count in counts.items())
    settings = (column.n_present, known)
    return Facet(SCATTERED, sources, settings, is_condition=False, is_stated=True)


def is_unique(facet: Facet, settings: KeyColumns) -> bool:
    """Say whether hardly any value of a key occurs more than once."""
    n, known = facet.settings
    return bool(sum(count for _, count in known) <= settings.share * n)


def repeated_values(facet: Facet) -> PlainKnown:
    """Return the values of a key that occur more than once, and how often."""
    known: PlainKnown = facet.settings[1]
    return known


def key_of_counts(
    place: int, column: ColumnSummary, settings: KeyColumns, beside_texts: bool
) -> Facet | None:
    """Return the facet of a column whose values are counted already, if it is a key."""
    if not column.counts or not (column.kind == "text" or (beside_texts and _has_numbers(column))):
        return None
    repeated = {value: n for value, n in column.counts.items() if n > 1}
    if sum(repeated.values()) > settings.misused * column.n_present:
        return None
    if column.kind == "text":
        short = _are_short(TextCells.of(column.counts), settings)
        if short @ np.array([*column.counts.values()]) < settings.short_share * column.n_present:
            return None
    return key_facet(place, column, repeated, column.n_present, settings)


def count_numbers(frame: Frame, settings: KeyColumns, share: float) -> list[NumberCounts]:
    """Count the values of all columns of a part of a table, or of a share of the values."""
    most = np.uint64(min(share, 1.0) * (2**64 - 2**11))
    found = []
    for position in range(frame.n_columns):
        if (texts := frame.texts(position)) is not None:
            n, short = texts.n, _are_short(texts, settings)
            here = short & (texts.hashes <= most)
            found.append(NumberCounts(texts.hashes[here], n[here], int(n[short].sum())))
            continue
        numbers = _numbers(frame.column(position))
        number, n = np.unique(numbers[numbers <= most], return_counts=True)
        found.append(NumberCounts(number, n, len(numbers)))
    return found


def _numbers(raw: RawColumn) -> Keys:
    """Return a number for each value."""
    if raw.kind not in KINDS:  # a part without values
        return np.empty(0, np.uint64)
    return scramble(number_bits(raw)[~raw.is_missing()])


def _are_short(texts: TextCells, settings: KeyColumns) -> Bools:
    """Return which texts may be those of a key."""
    n_characters, n_spaces = texts.sizes
    return (n_characters <= settings.longest) & (n_spaces < settings.words)


def merge_numbers(parts: Sequence[list[NumberCounts]]) -> list[NumberCounts]:
    """Add up what the parts of a table have counted."""
    if len(parts) == 1:
        return parts[0]
    merged = []
    for counted in zip(*parts, strict=True):
        number, place = np.unique(np.concatenate([c.number for c in counted]), return_inverse=True)
        n = np.bincount(place, np.concatenate([c.n for c in counted]), len(number))
        merged.append(NumberCounts(number, n.astype(np.int64), sum(c.n_short for c in counted)))
    return merged


def repeated_numbers(
    counted: Sequence[NumberCounts], n_present: Sequence[int], settings: KeyColumns
) -> list[tuple[Keys | None, int]]:
    """Return for each column the numbers that occur more than once, and how many were counted.

    Instead of the numbers there is None where they are too many for a key.
    """
    return [
        (_repeated(each, n, settings), int(each.n.sum()))
        for each, n in zip(counted, n_present, strict=True)
    ]


def _repeated(counted: NumberCounts, n_present: int, settings: KeyColumns) -> Keys | None:
    repeated = counted.n > 1
    # A few texts may have the same number by chance.
    too_many = counted.n[repeated].sum() > 2 * settings.misused * counted.n.sum()
    if too_many or counted.n_short < settings.short_share * n_present:
        return None
    return counted.number[repeated]


def count_values(
    frame: Frame, settings: KeyColumns, numbers: Sequence[Keys]
) -> list[dict[Value, int]]:
    """Count the values of a part of a table that have certain numbers."""
    found: list[dict[Value, int]] = []
    for position, wanted in enumerate(numbers):
        if (texts := frame.texts(position)) is not None:
            places = _among(texts.hashes, wanted)
            places = places[_are_short(texts, settings)[places]]
            counts = texts.n[places].tolist()
            found.append(dict(zip(texts.decode(places.tolist()), counts, strict=True)))
            continue
        raw = frame.column(position)
        values, own = raw.present(), _numbers(raw)
        found.append(dict(Counter(values[_among(own, wanted)].tolist())))
    return found


def _among(numbers: Keys, wanted: Keys) -> Ints:
    """Return where numbers stand that are among the wanted ones, which are few."""
    begin = np.zeros(1 << 20, bool)
    begin[wanted >> np.uint64(44)] = True
    here = np.flatnonzero(begin[numbers >> np.uint64(44)])
    # numpy 2.0 counts large numbers wrongly, which sorting does not.
    return here[np.isin(numbers[here], wanted, kind="sort")]


def merge_values(parts: Sequence[list[dict[Value, int]]]) -> list[dict[Value, int]]:
    """Add up the counts of the parts of a table."""
    merged = []
    for counts in zip(*parts, strict=True):
        total: Counter[Value] = Counter()
        for each in counts:
            total.update(each)
        merged.append(dict(total))
    return merged


def repeats_of(name: str, column: RawColumn | TextCells, n: int, known: PlainKnown) -> RawColumn:
    """Return log ω of each value: of one that repeats how rare such values are, else 0."""
    missing = column.is_missing()
    if isinstance(column, RawColumn) and column.kind in ("text", "mixed"):
        column = TextCells.of(map(text_category, column.values), missing)
    if isinstance(column, TextCells):
        repeats = np.zeros(len(column) + 1, np.bool_)
        repeats[column.find([value for value, _ in known if isinstance(value, str)])] = True
        is_known = repeats[column.code]
    else:
        numbers = [value for value, _ in known if not isinstance(value, str)]
        is_known = np.zeros(len(missing), np.bool_)
        if column.kind in KINDS and numbers:
            is_known = np.isin(column.values, numbers, kind="sort")
    values = np.zeros(len(missing))
    values[is_known & ~missing] = math.log(sum(count for _, count in known) / n) if known else 0.0
    return RawColumn(name, "float", values)


def scattered_of(name: str, column: RawColumn | TextCells, *settings: Any) -> RawColumn:
    """Return log ω of each value, as `repeats_of` does; other sources are there to be named."""
    return repeats_of(name, column, *settings[-2:])


def repeats_make_sense(n_sources: int, n: int, known: PlainKnown) -> bool:
    """Say whether settings, read from a file, can be computed with."""
    counts = [count for _, count in known]
    in_range = all(not isinstance(v, int) or -(2**63) <= v < 2**64 for v, _ in known)
    return n_sources >= 1 and sum(counts) <= n and min((*counts, 2 * n)) > 1 and in_range
