"""Neighbours: rows are compared with reference rows of the training table in all columns at once.

*Isolation*: let d_k be the mean distance of a row to its k nearest reference rows, in ranks per
column, for k = 5 and for k = 5% of the references. With z the larger of

    1.5 √M log((d_k + ½) / (median d_k + ½))

over both k and M the number of columns, a row has evidence log(1 + a (e^z − 1)). The larger k finds
small groups of rows that are near each other and far from everything else. Evidence is credited to
the columns in which the nearest rows differ.

*Neighbour evidence*: a context is about a few columns. Anomalies of one kind are alike in many,
each a little odd in other columns than the next, and no context may hold just them. With its own
evidence e and the weighted excess evidence o of its nearest reference rows, the evidence of a row
becomes √(e² + o²). Context evidence is not passed on: all rows of a context have it already. How
much o counts follows from the table: from the correlation between the rows' own excess evidence and
that of their neighbours. Where most columns are noise it is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Array, Bools, Bytes, Floats, Ints, Keys
from admercs.method.settings import Isolation, Neighbours
from admercs.table.bins import Binning, encode

Distances = NDArray[np.signedinteger]

# Numbers are compared by their rank, from 0 to this; the next byte stands for a missing value.
TOP_RANK = 254
NO_VALUE = 255
# Two categories, or a value and none, are as far apart as two values of which each half of a
# column has one.
UNLIKE = TOP_RANK // 2
UNIT = float(1 << 12)  # what is passed on is kept in fixed point: sums are exact in any order
TOGETHER = 1 << 17  # comparisons that are made together: they stay in the cache
HALF_RANK = 0.5  # rows that are all alike are not infinitely near
NEGLIGIBLE = 0.01  # less isolation evidence than this is credited to all columns alike


class RankDistance(NamedTuple):
    """How the values of each column become bytes: ranks of numbers, codes of categories.

    Facets repeat what their columns say. They are not compared: each of their bytes is 0.
    """

    edges: Floats  # where the bins of numeric columns end, one column after the other
    first: Ints  # of each column's edges, and one past the last
    place: Bytes  # of each code of numeric columns, two more than there are edges
    is_nominal: Bools

    @classmethod
    def of(cls, binning: Binning, values: Floats, is_facet: Bools) -> RankDistance:
        """Rank the values of a table (columns x rows)."""
        edges, places = [], []
        for m, column in enumerate(values):
            own = np.empty(0) if is_facet[m] else binning.edges[m]
            place = np.full(2, 0 if is_facet[m] else NO_VALUE, np.uint8)
            if not (is_facet[m] or binning.is_nominal[m]):
                place = _places(encode(column, own), len(own) + 2)
            edges.append(own)
            places.append(place)
        first = np.cumsum([0, *map(len, edges)])
        is_nominal = binning.is_nominal & ~is_facet
        return cls(np.concatenate(edges), first, np.concatenate(places), is_nominal)

    @property
    def is_compared(self) -> Bools:
        """Which columns are compared: only there a missing value has a byte of its own."""
        return self.place[self.first[:-1] + 2 * np.arange(len(self.is_nominal))] == NO_VALUE

    @property
    def n_compared(self) -> int:
        """The number of columns that are compared."""
        return int(np.count_nonzero(self.is_compared))

    def profile(self, values: Floats) -> Bytes:
        """Return the byte of each value (columns x rows)."""
        out = np.empty(values.shape, np.uint8)
        for m, column in enumerate(values):
            if self.is_nominal[m]:
                out[m] = np.minimum(np.nan_to_num(column), NO_VALUE)
            else:
                first, last = self.first[m], self.first[m + 1]
                place = self.place[first + 2 * m : last + 2 * m + 2]
                out[m] = place[encode(column, self.edges[first:last])]
        return out

    def differences(self, one: Bytes, other: Bytes) -> Iterator[NDArray[np.int16]]:
        """Yield column by column how far apart rows of two profiles are (one x other).

        The same array each time: what is yielded is good until the next column.
        """
        apart = np.empty((one.shape[1], other.shape[1]), np.int16)
        pair = one.astype(np.int16)[:, :, None], other.astype(np.int16)[:, None, :]
        for own, theirs, nominal in zip(*pair, self.is_nominal, strict=True):
            if nominal:
                np.multiply(own != theirs, np.int16(UNLIKE), out=apart)
            else:
                np.abs(np.subtract(own, theirs, out=apart), out=apart)
                if own.max() == NO_VALUE or theirs.max() == NO_VALUE:
                    apart[(own == NO_VALUE) != (theirs == NO_VALUE)] = UNLIKE
            yield apart

    def distances(self, one: Bytes, other: Bytes) -> Distances:
        """Return how far apart rows of one profile are from those of another (one x other)."""
        # Few columns fit into two bytes, and those are added up faster.
        small = np.int16 if TOP_RANK * len(one) < np.iinfo(np.int16).max else np.int32
        away = np.zeros((one.shape[1], other.shape[1]), small)
        for apart in self.differences(one, other):
            away += apart
        return away


def _places(codes: Array, n_codes: int) -> Bytes:
    """Return the place of each code: the middle rank of the values that have it."""
    counts = np.bincount(codes, minlength=n_codes)
    counts[0] = 0  # missing values have no rank
    middle = np.cumsum(counts) - counts / 2
    place = np.rint(TOP_RANK * middle / max(1, counts.sum())).astype(np.uint8)
    place[0] = NO_VALUE
    return place


class Nearest(NamedTuple):
    """What comparing rows with the reference rows tells."""

    evidence: Floats  # rows x columns: the weighted excess evidence of the nearest reference rows
    distance: Floats  # rows x 2: their mean distance at both scales, in ranks of a column


class ReferenceRows(NamedTuple):
    """Rows of the training table with which other rows are compared."""

    ranks: RankDistance
    row: Ints  # their numbers
    profile: Bytes  # columns x rows
    excess: Floats  # rows x columns, in fixed point: the excess evidence of each column
    scales: Ints  # how many rows are near, at the small and at the large scale
    usual: Floats  # the mean distance of a typical row at both scales
    typical: float  # the neighbour evidence of a typical row
    weight: float  # how much of the neighbour evidence beyond that counts

    def compare(self, values: Floats) -> Nearest:
        """Compare rows (columns x rows) with the reference rows."""
        profile = self.ranks.profile(values)
        n_columns, n_rows = profile.shape
        n_compared = self.ranks.n_compared
        nearest = Nearest(np.empty((n_rows, n_columns)), np.empty((n_rows, 2)))
        step = max(1, TOGETHER // len(self.row))
        for start in range(0, n_rows, step):
            rows = slice(start, start + step)
            distance = self.ranks.distances(profile[:, rows], self.profile)
            (small, _), (large, last) = (self._nearest(distance, int(k)) for k in self.scales)
            nearest.distance[rows] = np.stack([small, large], axis=1) / n_compared
            weight = _weights(distance, last)
            total = weight.sum(axis=1, keepdims=True)
            np.divide(weight @ self.excess, UNIT * np.maximum(total, 1), out=nearest.evidence[rows])
        return nearest

    def isolation(self, distance: Floats, settings: Isolation, odds: float) -> Floats:
        """Return the isolation evidence of rows, given their distances at both scales."""
        power = settings.power * math.sqrt(self.ranks.n_compared)
        z = power * np.log((distance + HALF_RANK) / (self.usual + HALF_RANK))
        return np.log1p(odds * np.expm1(np.maximum(0.0, z.max(axis=1))))

    def by_column(self, values: Floats, isolation: Floats) -> Floats:
        """Credit isolation evidence to the columns in which the nearest rows differ."""
        credited = np.repeat(isolation[:, None] / len(values), len(values), axis=1)
        told = np.flatnonzero(isolation > NEGLIGIBLE)
        step = max(1, TOGETHER // len(self.row))
        for start in range(0, len(told), step):
            rows = told[start : start + step]
            apart = self.differences(np.ascontiguousarray(values[:, rows]))
            total = apart.sum(axis=0)
            rows, apart, total = rows[total > 0], apart[:, total > 0], total[total > 0]
            credited[rows] = isolation[rows, None] * (apart / total).T
        return credited

    def added(self, evidence: Floats, own: Floats) -> Floats:
        """Return what neighbour evidence (rows x columns) adds to the rows' own evidence.

        √(e² + o²): a row with much evidence of its own is not overtaken by rows that have little.
        """
        total = evidence.sum(axis=1)
        others = self.weight * np.maximum(0.0, total - self.typical)
        # √(e² + o²) − e, without losing digits where o is small
        both = np.hypot(own, others) + own
        more = np.divide(others * others, both, out=np.zeros_like(own), where=others > 0)
        share = np.divide(more, total, out=np.zeros_like(own), where=others > 0)
        return evidence * share[:, None]

    def weights(self, values: Floats) -> Floats:
        """Return the weight of each reference row in the neighbour evidence of one row."""
        distance = self.ranks.distances(self.ranks.profile(values[:, None]), self.profile)
        return _weights(distance, self._nearest(distance, int(self.scales[1]))[1])[0]

    def differences(self, values: Floats) -> Floats:
        """Return how far the nearest rows are away, added up, by column (columns x rows)."""
        profile = self.ranks.profile(values)
        distance = self.ranks.distances(profile, self.profile)
        near = distance <= self._nearest(distance, int(self.scales[0]))[1][:, None]
        apart = self.ranks.differences(profile, self.profile)
        return np.array([each.sum(axis=1, where=near, dtype=np.int64) for each in apart])

    @staticmethod
    def _nearest(distance: Distances, k: int) -> tuple[Floats, Ints]:
        """Return the mean distance of the k nearest rows, and that of the last of them.

        A training row is not its own neighbour: of rows that are just alike one is passed over.
        """
        alike = (distance == 0).any(axis=1)
        nearest = np.partition(distance, k, axis=1)[:, : k + 1].astype(np.int64)
        beyond, inside = nearest[:, k], nearest[:, :k]
        total = inside.sum(axis=1) + np.where(alike, beyond, 0)
        return total / k, np.where(alike, beyond, inside.max(axis=1))


def _weights(distance: Distances, last: Ints) -> Floats:
    """Return weights that fall with the distance, to nothing beyond the last near row.

    One of the reference rows that are just alike has no weight: it may be the row itself.
    """
    horizon = last + 1
    near = np.maximum(0, horizon.astype(distance.dtype)[:, None] - distance).astype(np.float64)
    # Whole numbers: sums of them, times what is passed on, are exact in any order.
    is_alike = distance == 0
    n_alike = np.count_nonzero(is_alike, axis=1)
    with_alike = np.flatnonzero(n_alike)
    near[with_alike] *= n_alike[with_alike, None]
    row, known = np.nonzero(is_alike[with_alike])
    row = with_alike[row]
    near[row, known] = (horizon * (n_alike - 1))[row]
    return near


def may_have_neighbours(settings: Neighbours, n_rows: int, n_columns: int) -> bool:
    """Say whether the rows of a table are compared with each other."""
    is_large = n_rows * n_columns > settings.max_cells
    return n_rows >= settings.min_rows and n_columns >= 2 and not is_large


def choose_references(
    settings: Neighbours,
    binning: Binning,
    values: Floats,
    cells: Floats,
    typical: float,
    is_facet: Bools,
) -> ReferenceRows:
    """Choose reference rows of a table (columns x rows).

    `cells` is their evidence without that of contexts (rows x columns), `typical` the median row's.
    """
    ranks = RankDistance.of(binning, values, is_facet)
    rows = _choose_rows(values, settings.references)
    theirs = np.ascontiguousarray(values[:, rows])
    most = len(rows) - 1
    large = min(most, max(settings.near, round(settings.share * len(rows))))
    scales = np.array([min(most, settings.near), large], np.int64)
    excess = passed_on(cells[rows], typical)
    return ReferenceRows(ranks, rows, ranks.profile(theirs), excess, scales, np.ones(2), 0.0, 0.0)


def weigh_neighbours(
    settings: Neighbours, found: ReferenceRows, nearest: Nearest, base: Floats
) -> ReferenceRows:
    """Learn what is usual, and how much neighbour evidence counts; `base` is without contexts."""
    total = nearest.evidence.sum(axis=1)
    weight = 0.0
    if found.ranks.n_compared >= settings.min_columns:
        excess = np.maximum(0.0, base - np.median(base))
        weight = settings.weight * correlation_weight(excess, total)
    return found._replace(
        usual=np.median(nearest.distance, axis=0), typical=float(np.median(total)), weight=weight
    )


def passed_on(cells: Floats, typical: float) -> Floats:
    """Return the evidence of each column beyond a typical row's, in fixed point."""
    evidence = cells.sum(axis=1)
    beyond = np.maximum(0.0, evidence - typical)
    share = np.divide(beyond, evidence, out=np.zeros_like(evidence), where=beyond > 0)
    return np.rint(cells * (UNIT * share)[:, None])


def correlation_weight(own: Floats, other: Floats) -> float:
    """Return the root of the correlation of two quantities, 0 where it is negative."""
    # Sums that do not depend on the order of the rows.
    first, second = (part - math.fsum(part) / len(part) for part in (own, other))
    scale = math.sqrt(math.fsum(first * first) * math.fsum(second * second))
    correlation = math.fsum(first * second) / scale if scale > 0 else 0.0
    return math.sqrt(max(0.0, correlation))


def _choose_rows(values: Floats, most: int) -> Ints:
    """Return the numbers of the reference rows: all, or some at random.

    At random, and yet always the same ones: a table gives the same model in any order of its rows.
    """
    if values.shape[1] <= most:
        return np.arange(values.shape[1])
    return np.sort(np.argsort(draw_lots(values), kind="stable")[:most])


def draw_lots(values: Floats) -> Keys:
    """Draw a number for each row that depends on its values only; equal rows draw their own."""
    # Minus zero is zero, and what is missing is missing.
    lots = np.zeros(values.shape[1], np.uint64)
    for column in values:
        lots = scramble(lots ^ (np.nan_to_num(column, nan=np.pi) + 0.0).view(np.uint64))
    order = np.argsort(lots, kind="stable")
    ordered = lots[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    turn = np.arange(len(lots)) - np.repeat(first, np.diff(np.append(first, len(lots))))
    lots[order] = scramble(ordered + turn.astype(np.uint64))
    return lots


def scramble(numbers: Keys) -> Keys:
    """Turn numbers into others that look random: the last steps of the generator splitmix64."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
