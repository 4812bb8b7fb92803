"""Columns that determine each other: what the value of one column says about that of another.

The rows with one value of column A are a group; column B is *determined* as far as the values of B
agree within groups. With D the share of rows, the first of each group aside, that have the most
frequent value of B in their group, and D₀ the same share in the whole table,

    λ = (D − D₀) / (1 − D₀).

In a group of n rows a value of B that occurs c times there has the likelihood

    p = (c − 1 + k (1 − D)) / (n − 1 + k):

its frequency among the other rows of the group, to which k rows with the exceptions of all groups
are added. A value that no other row of the table has with this group counts as if it were one of
the training rows. The most frequent value of a group has p = 1. Several columns A speak together:
with s the share of the most frequent value among the other rows of the group and w = λ s,

    log ω = Σ w log p / √max(1, Σ w).

A column that is wrong itself contradicts all others; those it contradicts agree among themselves.

The rows with one value a of column A have a λ of their own, with their share of the most frequent
value of B in place of D. Where it is near 0 in all columns B that A determines, and their values
there mostly occur in other rows, the rows of a have no more in common than any rows: a is
*scattered*, it was written into rows of others.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from admercs.arrays import Floats, Ints, Keys, scramble
from admercs.facets.relation_sample import BLOCK
from admercs.method.settings import Determined
from admercs.table.frame import Frame
from admercs.table.schema import EXACT
from admercs.table.summary import ColumnSummary, text_category, time_category
from admercs.table.text_cells import TextCells
from admercs.table.values import PER_DAY, TEMPORAL, Kind, RawColumn

TEXTS: tuple[Kind, ...] = ("text", "mixed")
KINDS: tuple[Kind, ...] = (*TEXTS, "boolean", "integer", "float", *TEMPORAL)
PairCounts = dict[tuple[str, str | None], int]  # how often two values occur together; None: missing
Pair = tuple[int, int]  # the positions of A and B


class Group(NamedTuple):
    """The rows with one value of the determining column."""

    usual: str  # the most frequent value of the determined column
    n: int
    n_usual: int
    others: dict[str | None, int]  # further values that occur more than once, None: missing


@dataclass(frozen=True)
class Determiner:
    """What a column says about another one."""

    strength: float  # λ
    exceptions: float  # 1 − D, never 0: a first exception may always come
    groups: dict[str, Group]  # by the value of A; groups of a single row say nothing

    @cached_property
    def known(self) -> KnownGroups:
        """The groups as arrays."""
        # The last group is that of all other values.
        groups = [*self.groups.values(), Group("", 0, 0, {})]
        n, n_usual = (np.array([each[k] for each in groups], np.int64) for k in (1, 2))
        usual = TextCells.of(each.usual for each in groups[:-1])
        return KnownGroups(groups, TextCells.of(self.groups), usual, n, n_usual)


class KnownGroups(NamedTuple):
    """The groups of a determining column, and one behind them for all other values."""

    groups: list[Group]
    a: TextCells  # their values of A
    usual: TextCells  # and their most frequent ones of B
    n: Ints
    n_usual: Ints


def code_values(column: RawColumn | TextCells, most: int) -> TextCells | None:
    """Return values as texts; None for more than `most` distinct ones."""
    if isinstance(column, RawColumn) and column.kind not in TEXTS:
        present = column.present()
        if len(present) > most and len(np.unique(present)) > most:
            return None
    coded = coded_values(column)
    return coded if len(coded) <= most else None


def coded_values(column: RawColumn | TextCells) -> TextCells:
    """Return values as texts."""
    if isinstance(column, TextCells):
        return column
    missing = column.is_missing()
    if column.kind in TEXTS:
        return TextCells.of(map(text_category, column.values), missing)
    distinct, inverse = np.unique(column.present(), return_inverse=True)
    code = np.full(len(missing), -1)
    code[~missing] = inverse
    if column.kind in TEMPORAL:
        values = [time_category(count, column) for count in distinct.view(np.int64).tolist()]
    else:
        values = list(map(text_category, distinct.tolist()))
    # Two times may be the same text.
    texts = TextCells.of(values)
    return texts.coded(np.append(texts.code, -1)[code])


class PairTable(NamedTuple):
    """How often pairs of values occur, the values as numbers; a missing B is 0."""

    a: Keys
    b: Keys
    n: Ints


def may_repeat(column: ColumnSummary) -> bool:
    """Say whether a column may determine others or be determined."""
    if column.kind not in KINDS or column.n_present < 2:
        return False
    # Of numbers of many values it is not known here how often they repeat.
    counts = column.counts
    return len(counts) > 1 if counts is not None else column.role == "numeric"


def sample_values(frame: Frame, is_text: Sequence[bool], share: float) -> list[PairTable]:
    """Count a share of the values of all columns of a part of a table, each as a pair of itself."""
    found = []
    for column, rows in _some_rows(frame, range(frame.n_columns), is_text, share):
        numbers, n = np.unique(_numbers(column, rows), return_counts=True)
        found.append(PairTable(numbers, numbers, n))
    return found


def sample_pairs(
    frame: Frame, is_text: Sequence[bool], pairs: Sequence[Pair], share: float
) -> list[PairTable]:
    """Count pairs of values in a share of the groups: the same ones in every part of a table."""
    tables = []
    sources = list(dict.fromkeys(a for a, _ in pairs))
    cells = {j: _cells(frame, j, is_text[j]) for j in sorted({j for pair in pairs for j in pair})}
    some = dict(zip(sources, _some_rows(frame, sources, is_text, share), strict=True))
    for a, b in pairs:
        column, rows = some[a]
        numbers = _numbers(column, rows), _numbers(cells[b], rows)
        tables.append(_add_up(*numbers, np.ones(len(rows), np.int64)))
    return tables


def merge_tables(parts: Sequence[list[PairTable]]) -> list[PairTable]:
    """Add up the counts of the parts of a table."""
    if len(parts) == 1:
        return parts[0]
    tables = zip(*parts, strict=True)
    return [_add_up(*map(np.concatenate, zip(*each, strict=True))) for each in tables]


def _add_up(a: Keys, b: Keys, n: Ints) -> PairTable:
    _, first, place = np.unique(scramble(a ^ scramble(b)), return_index=True, return_inverse=True)
    return PairTable(a[first], b[first], np.bincount(place, n).astype(np.int64))


def _cells(frame: Frame, position: int, is_text: bool) -> RawColumn | TextCells:
    """Return a column of a part of a table: of a column of texts as texts, whatever it holds."""
    texts = frame.texts(position)
    column = frame.column(position) if texts is None else texts
    if isinstance(column, TextCells) or not (is_text or column.kind in TEXTS):
        return column
    return coded_values(column)


def _some_rows(
    frame: Frame, places: Sequence[int], is_text: Sequence[bool], share: float
) -> list[tuple[RawColumn | TextCells, Ints]]:
    """Return columns, and their rows with some of the values, by numbers that look random."""
    most = np.uint64(min(share, 1.0) * (2**64 - 2**11))
    columns = [_cells(frame, j, is_text[j]) for j in places]
    found: list[list[Ints]] = [[np.empty(0, np.int64)] for _ in places]
    for start in range(0, frame.n_rows, BLOCK):
        for own, column in zip(found, columns, strict=True):
            if isinstance(column, TextCells):
                continue
            part = column.rows(slice(start, start + BLOCK))
            # One multiplication is random enough, and takes the least time.
            bits = number_bits(part) * np.uint64(0x9E3779B97F4A7C15)
            rows = np.flatnonzero(bits <= most) if share < 1 else np.arange(len(bits))
            own.append(rows[~part.rows(rows).is_missing()] + start)
    for own, column in zip(found, columns, strict=True):
        if isinstance(column, TextCells):
            own.append(np.flatnonzero(np.append(column.hashes <= most, False)[column.code]))
    return [(column, np.concatenate(own)) for column, own in zip(columns, found, strict=True)]


def _numbers(column: RawColumn | TextCells, rows: Ints) -> Keys:
    """Return a number for the value of each of some rows, 0 for a missing one."""
    if isinstance(column, TextCells):
        return np.append(column.hashes, np.uint64(0))[column.code[rows]]
    some = column.rows(rows)
    numbers = scramble(number_bits(some))
    numbers[some.is_missing()] = 0
    return numbers


def number_bits(column: RawColumn) -> Keys:
    """Return the bits of numbers, the same for equal ones of any type, and of times in any unit."""
    values = column.values
    if column.kind in TEMPORAL:
        counts = values.view(np.int64) if values.dtype.kind in "mM" else values.astype(np.int64)
        per_day, finest = PER_DAY[column.unit], PER_DAY["us"]
        whole = counts * (finest // per_day) if per_day <= finest else counts // 1000
        return whole.view(np.uint64)
    floats = values.astype(np.float64) + 0.0  # minus zero is zero
    bits = floats.view(np.uint64)
    if column.kind == "integer" and len(large := np.flatnonzero(np.abs(floats) > EXACT)):
        wide = np.int64 if values.dtype.kind == "i" else np.uint64
        bits[large] = values[large].astype(wide).view(np.uint64)
    return bits


def rows_per_value(table: PairTable) -> float:
    """Return how many rows have each value of a column, on average."""
    return float(table.n.sum()) / max(1, len(table.n))


def dependence(
    table: PairTable, most_groups: float, min_rows: float, max_rows: float = math.inf
) -> float:
    """Return λ of a table of pairs; 0 if it says little.

    That is so for more than `most_groups` groups, for groups of less than `min_rows` or at least
    `max_rows` rows on average, for a column B of one value or of values that hardly repeat, and
    where D is less than a half.
    """
    is_known = table.b != 0
    group, n = np.unique(table.a[is_known], return_inverse=True)[1], table.n[is_known]
    if not len(n):
        return 0.0
    total, most = np.bincount(group, n), np.zeros(group.max() + 1)
    np.maximum.at(most, group, n)
    in_table = np.bincount(np.unique(table.b[is_known], return_inverse=True)[1], n)
    n_rows = total.sum()
    repeats = min_rows <= n_rows / len(total) < max_rows and 2 <= len(in_table) <= 0.9 * n_rows
    if not repeats or len(total) > most_groups:
        return 0.0
    agreement = (most - 1).sum() / max(1, (total - 1).sum())
    whole = (in_table.max() - 1) / (n_rows - 1)
    # Where few rows agree, what most of them have is nothing to expect.
    return max(0.0, float((agreement - whole) / (1 - whole))) if 2 * agreement >= 1 else 0.0


def choose_pairs(
    strengths: Mapping[Pair, float], names: Sequence[str], settings: Determined
) -> list[Pair]:
    """Return the strongest determiners of each column."""
    chosen: dict[int, list[Pair]] = defaultdict(list)
    for pair in sorted(strengths, key=lambda pair: (-strengths[pair], names[pair[0]])):
        if len(chosen[pair[1]]) < settings.most:
            chosen[pair[1]].append(pair)
    return [pair for b in sorted(chosen) for pair in chosen[b]]


class DeterminingPairs(NamedTuple):
    """Pairs of columns of which the first determines the second."""

    strengths: dict[Pair, float]  # λ
    of_target: list[Pair]  # the strongest for each column that is determined …
    of_source: list[Pair]  # … and for each that determines others

    @property
    def wanted(self) -> list[Pair]:
        """All pairs, each once."""
        return [*self.of_target, *(p for p in self.of_source if p not in self.of_target)]


def choose_determiners(
    tables: Mapping[Pair, PairTable], names: Sequence[str], kinds: Sequence[Kind], share: float,
    smallest_leaf: int, settings: Determined,
) -> DeterminingPairs:  # fmt: skip
    """Return which columns determine others, by the pairs in a share of the groups."""
    most = share * settings.max_values
    # Measures are mostly near those of similar rows, which trees know.
    least = dict.fromkeys(tables, settings.least_of_numbers)
    for a, b in tables:
        if kinds[a] in TEXTS or (kinds[b] in TEXTS and kinds[a] != "float"):
            least[a, b] = settings.least
    known = {
        pair: strength
        for pair, table in tables.items()
        if (strength := dependence(table, most, settings.scattered_repeats, smallest_leaf)) > 0
        and strength >= least[pair]
    }
    found = {pair: dependence(tables[pair], most, settings.min_repeats) for pair in known}
    strengths = {pair: own for pair, own in found.items() if own > 0 and own >= least[pair]}
    turned = choose_pairs({(b, a): known[a, b] for a, b in known}, names, settings)
    of_target = choose_pairs(strengths, names, settings)
    return DeterminingPairs(strengths, of_target, [(a, b) for b, a in turned])


def count_pairs(frame: Frame, pairs: Sequence[Pair], most: int) -> list[PairCounts]:
    """Count how often the values of two columns of a part of a table occur together.

    There are no counts of columns with more than `most` values.
    """
    found: list[PairCounts] = []
    columns = {
        j: code_values(frame.column(j) if (given := frame.texts(j)) is None else given, most)
        for j in sorted({j for pair in pairs for j in pair})
    }
    for a, b in pairs:
        one, other = columns[a], columns[b]
        if one is None or other is None:
            found.append({})
            continue
        rows, n_b = one.code >= 0, len(other.values) + 1
        pairs_of_rows = one.code[rows].astype(np.int64) * n_b + other.code[rows] + 1
        keys, counts = np.unique(pairs_of_rows, return_counts=True)
        texts: list[str | None] = [None, *other.values]
        pairs_of = zip((keys // n_b).tolist(), (keys % n_b).tolist(), counts.tolist(), strict=True)
        found.append({(one.values[i], texts[k]): count for i, k, count in pairs_of})
    return found


def merge_counts(parts: Sequence[list[PairCounts]]) -> list[PairCounts]:
    """Add up what the parts of a table have counted."""
    merged: list[PairCounts] = []
    for counts in zip(*parts, strict=True):
        total: defaultdict[tuple[str, str | None], int] = defaultdict(int)
        for part in counts:
            for pair, count in part.items():
                total[pair] += count
        merged.append(dict(total))
    return merged


def _by_group(counts: PairCounts) -> dict[str, dict[str | None, int]]:
    by_group: dict[str, dict[str | None, int]] = defaultdict(dict)
    for (a, b), count in counts.items():
        by_group[a][b] = count
    return by_group


def scattered_values(counts: Sequence[PairCounts], settings: Determined) -> dict[str, int]:
    """Return the values of A whose rows have nothing in common, and how many rows have each.

    The counts are those of A beside each column that it determines, of which there are several.
    """
    found: dict[str, int] = {}
    for k, pairs in enumerate(counts if len(counts) > 1 else ()):
        in_table: defaultdict[str, int] = defaultdict(int)
        for (_, b), count in pairs.items():
            if b is not None:
                in_table[b] += count
        whole = (max(in_table.values()) - 1) / max(1, sum(in_table.values()) - 1)
        most = whole + settings.scattered * (1 - whole)
        here = {}
        for a, group in _by_group(pairs).items():
            known = {b: count for b, count in group.items() if b is not None}
            n, reach = sum(known.values()), sum(map(in_table.__getitem__, known))
            if n < settings.scattered_rows or max(known.values()) - 1 > most * (n - 1):
                continue
            if n <= settings.least * reach:  # else these values of B are a's own, if many
                here[a] = sum(group.values())
        found = {a: n for a, n in here.items() if k == 0 or a in found}
    return dict(sorted(found.items()))


def learn_determiner(counts: PairCounts, strength: float) -> Determiner:
    """Turn the counts of all pairs of values into what one column says about the other."""
    by_group = _by_group(counts)
    groups, agreeing, rows = {}, 0, 0
    for a in sorted(by_group):
        known = {b: count for b, count in by_group[a].items() if b is not None}
        n = sum(by_group[a].values())
        if n < 2 or not known:
            continue
        usual = min(known, key=lambda b: (-known[b], b))
        agreeing, rows = agreeing + known[usual] - 1, rows + sum(known.values()) - 1
        if known[usual] < 2:  # no other row confirms it
            continue
        others = {b: c for b, c in by_group[a].items() if b != usual and c > 1}
        others = dict(sorted(others.items(), key=lambda each: (each[0] is not None, each)))
        groups[a] = Group(usual, n, known[usual], others)
    return Determiner(strength, (rows - agreeing + 1) / (rows + 1), groups)


def log_likelihoods(
    target: TextCells, determiners: Sequence[tuple[TextCells, Determiner]], prior: float
) -> Floats:
    """Return log ω of every row, given the determining columns and what they say."""
    total, weight = np.zeros(len(target.code)), np.zeros(len(target.code))
    for column, determiner in determiners:
        known = determiner.known
        group = np.append(known.a.find_cells(column), -1)[column.code]
        n_usual = known.n_usual[group]
        usual = np.append(known.usual.find_cells(target), -1)[target.code]
        agrees = (usual >= 0) & (usual == np.append(known.usual.code, -2)[group])
        own = determiner.strength * (n_usual - agrees) / np.maximum(known.n - 1, 1)[group]
        weight += own
        rows = np.flatnonzero(~agrees & (n_usual > 0))
        pairs, inverse = np.unique(
            group[rows] * (len(target) + 1) + target.code[rows] + 1, return_inverse=True
        )
        number, text = np.divmod(pairs, len(target) + 1)
        values = iter(target.decode((text[text > 0] - 1).tolist()))
        log_p = [
            log_of_pair(known.groups[k], next(values) if is_known else None, determiner, prior)
            for k, is_known in zip(number.tolist(), text > 0, strict=True)
        ]
        total[rows] += own[rows] * np.array(log_p)[inverse] if log_p else 0.0
    return total / np.sqrt(np.maximum(weight, 1.0))


def log_of_pair(group: Group, value: str | None, determiner: Determiner, prior: float) -> float:
    """Return log p of a value in a group; None is a missing one."""
    count = group.others.get(value, 1)
    if value is not None and count >= group.n_usual:
        return 0.0
    return math.log((count - 1 + prior * determiner.exceptions) / (group.n - 1 + prior))
