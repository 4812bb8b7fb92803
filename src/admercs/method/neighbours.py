"""Neighbours: rows are compared with reference rows of the training table in all columns at once.

*Isolation*: let d_k be the mean distance of a row to its k nearest reference rows, in ranks per
column, for k = 5 and for k = 5% of the references. With z the larger of

    1.5 √M log((d_k + ½) / (median d_k + ½))

over both k and M the number of columns, a row has evidence log(1 + a (e^z − 1)). The larger k finds
small groups of rows that are near each other and far from everything else. Evidence is credited to
the columns in which the nearest rows differ more than is usual.

*Neighbour evidence*: a context is about a few columns. Anomalies of one kind are alike in many,
each a little odd in other columns than the next, and no context may hold just them. With its own
evidence e and the weighted excess evidence o of its nearest reference rows, the evidence of a row
becomes √(e² + o²). Context evidence is not passed on: all rows of a context have it already. How
much o counts follows from the table: from the correlation between the rows' own excess evidence and
that of their neighbours. Where most columns are noise it is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import FEW_ROWS, Array, Bytes, Codes, Floats, Ints, Keys, scramble
from admercs.method.odds import MOST
from admercs.method.rank_distance import (
    NO_VALUE,
    TOP_RANK,
    UNLIKE,
    Distances,
    RankDistance,
    distance_type,
)
from admercs.method.settings import Isolation, Neighbours
from admercs.table.bins import EdgeGrid

UNIT = float(1 << 12)  # what is passed on is kept in fixed point: sums are exact in any order
TOGETHER = 1 << 17  # comparisons that are made together: they stay in the cache
SIDE_BY_SIDE = 512  # rows that are compared with a reference in one turn of a compiled loop
CACHE_LINE = 64  # bytes
HALF_RANK = 0.5  # rows that are all alike are not infinitely near
ENOUGH = 1000  # references that tell how far rows are usually from their nearest ones
NEGLIGIBLE = 0.01  # less isolation evidence than this is credited to all columns alike


def _aligned(shape: tuple[int, int], kind: type) -> Array:
    """Return an array that begins where a line of the cache does: reading it takes less time."""
    n_bytes = shape[0] * shape[1] * np.dtype(kind).itemsize
    room = np.empty(n_bytes + CACHE_LINE, np.uint8)
    first = -room.ctypes.data % CACHE_LINE
    return room[first : first + n_bytes].view(kind).reshape(shape)


class Nearest(NamedTuple):
    """What comparing rows with the reference rows tells."""

    distance: Floats  # rows x 2: the mean distance of the nearest at both scales, in ranks
    evidence: Floats  # rows: the weighted excess evidence of the nearest reference rows
    last: Ints  # rows x 2: the distance of the last near row at both scales


@dataclass(frozen=True, eq=False)
class ReferenceRows:
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
        grids = self._grids if values.shape[1] > FEW_ROWS else ()
        return self.compare_profile(self.ranks.profile(values, grids))

    @cached_property
    def _grids(self) -> list[EdgeGrid | None]:
        return self.ranks.grids()

    def compare_profile(self, profile: Bytes) -> Nearest:
        """Compare rows that are given as bytes."""
        n_rows, (columns, theirs, is_nominal) = profile.shape[1], self._compared
        nearest = Nearest(np.empty((n_rows, 2)), np.empty(n_rows), np.empty((n_rows, 2), np.int64))
        kind, side = distance_type(len(columns), len(theirs)), np.clip(n_rows, 1, SIDE_BY_SIDE)
        away = _aligned((-(-len(theirs) // 4) * 4, side), kind)
        away[len(theirs) :] = np.iinfo(kind).max  # references are counted four at a time
        compare_rows(
            profile, columns, theirs, is_nominal, self.scales, self.excess.sum(axis=1),
            np.zeros((len(columns), side), np.uint8), away, _aligned((3, side), kind),
            _aligned((2, side), np.float64), *nearest,
        )  # fmt: skip
        return nearest

    @cached_property
    def _compared(self) -> tuple[Array, ...]:
        """The columns that are compared, the bytes of the reference rows there, and their kind."""
        columns = np.flatnonzero(self.ranks.is_compared)
        theirs = np.ascontiguousarray(self.profile[columns].T)
        return columns, theirs, self.ranks.is_nominal[columns]

    def isolation(self, distance: Floats, settings: Isolation, odds: float) -> Floats:
        """Return the isolation evidence of rows, given their distances at both scales."""
        power = settings.power * math.sqrt(self.ranks.n_compared)
        small, large = np.log((distance + HALF_RANK) / (self.usual + HALF_RANK)).T
        z = power * np.maximum(small, large)
        return np.log1p(odds * np.expm1(np.clip(z, 0.0, MOST)))

    def added(self, nearest: Nearest, own: Floats) -> Floats:
        """Return what neighbour evidence adds to the rows' own evidence.

        √(e² + o²): a row with much evidence of its own is not overtaken by rows that have little.
        """
        others = self.weight * np.maximum(0.0, nearest.evidence - self.typical)
        # √(e² + o²) − e, without losing digits where o is small
        both = np.sqrt(own * own + others * others) + own
        # A square may be too small for a float.
        return np.divide(others * others, both, out=np.zeros_like(own), where=both > 0)

    def credit(
        self, values: Floats, isolation: Floats, added: Floats, usual: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Credit what is said of rows to columns: two arrays of columns x rows.

        Isolation belongs to the columns in which the nearest rows differ, and as far as they do
        more than is `usual`; neighbour evidence to those that they are odd in.
        """
        n_rows = len(isolation)
        alone = np.repeat(isolation[None] / len(values), len(values), axis=0)
        passed = np.zeros((len(values), n_rows))
        step = max(1, TOGETHER // len(self.row))
        told = np.flatnonzero((isolation > NEGLIGIBLE) | (added > 0))
        for start in range(0, len(told), step):
            rows = told[start : start + step]
            profile = self.ranks.profile(np.ascontiguousarray(values[:, rows]))
            away, nearest = self._away(profile), self.compare_profile(profile)
            said = _weights(away, nearest) @ self.excess
            total = said.sum(axis=1)
            share = np.divide(added[rows], total, out=np.zeros(len(rows)), where=total > 0)
            passed[:, rows] = (said * share[:, None]).T
            apart = self._apart(profile, nearest, away)
            if usual is not None:
                beyond = np.maximum(0.0, apart - usual[:, None])
                apart = np.where(beyond.any(axis=0), beyond, apart)
            total = apart.sum(axis=0)
            some = (total > 0) & (isolation[rows] > NEGLIGIBLE)
            alone[:, rows[some]] = isolation[rows[some]] * (apart[:, some] / total[some])
        return alone, passed

    def weights(self, profile: Bytes) -> Floats:
        """Return the weight of each reference row in the neighbour evidence of rows."""
        return _weights(self._away(profile), self.compare_profile(profile))

    def differences(self, values: Floats) -> Floats:
        """Return how far the nearest rows are away, added up, by column (columns x rows)."""
        profile = self.ranks.profile(values)
        return self._apart(profile, self.compare_profile(profile), self._away(profile))

    def usually_apart(self, share: float) -> Floats:
        """Return how far all but a share of the rows are from their nearest ones, by column."""
        # The same rows whatever their order.
        some = np.lexsort(self.profile)[:: max(1, len(self.row) // ENOUGH)]
        profile, step = self.profile[:, some], max(1, TOGETHER // len(self.row))
        parts = (profile[:, k : k + step] for k in range(0, len(some), step))
        apart = [self._apart(part, self.compare_profile(part), self._away(part)) for part in parts]
        return np.asarray(np.quantile(np.concatenate(apart, axis=1), 1 - share, axis=1))

    def _away(self, profile: Bytes) -> Distances:
        return self.ranks.distances(profile, self.profile)

    def _apart(self, profile: Bytes, nearest: Nearest, away: Distances) -> Floats:
        near = away <= nearest.last[:, :1]
        row, other = np.nonzero(near)  # few pairs: the near references of one row after the other
        apart = self.ranks.apart(profile[:, row], self.profile[:, other])
        first = np.searchsorted(row, np.arange(profile.shape[1]))
        return np.add.reduceat(apart, first, axis=1, dtype=np.int64)


def _weights(away: Distances, nearest: Nearest) -> Floats:
    """Return the weight of each reference row in the neighbour evidence of rows, see below."""
    horizon, is_alike = nearest.last[:, 1:] + 1, away == 0
    # One of the reference rows that are just alike may be the row itself.
    times = np.maximum(1, np.count_nonzero(is_alike, axis=1, keepdims=True))
    weights = np.maximum(0, horizon - away) * times - np.where(is_alike, horizon, 0)
    return weights.astype(np.float64)


def may_have_neighbours(settings: Neighbours, n_rows: int, n_columns: int) -> bool:
    """Say whether the rows of a table are compared with each other."""
    return n_rows >= settings.min_rows and n_columns >= 2


def n_references(settings: Neighbours, n_rows: int, n_columns: int) -> int:
    """Return with how many rows each is compared: fewer in large tables, but not too few."""
    affordable = settings.comparisons // (n_rows * n_columns)
    return int(np.clip(affordable, settings.fewest, settings.references))


class Told(NamedTuple):
    """Rows of a table that references stand for: equal rows are equal in all but their number."""

    most: Ints  # how many rows are wanted of each reference
    excess: Floats  # rows x columns: their excess evidence, in fixed point
    codes: Codes  # rows x columns
    reference: Ints  # which reference stands for them
    row: Ints  # their numbers

    def first(self) -> Told:
        """Return the first rows of each reference, as many as are wanted of it."""
        order = np.lexsort((self.row, self.reference))
        reference = self.reference[order]
        nth = np.arange(len(order)) - np.searchsorted(reference, reference)
        some = order[nth < self.most[reference]]
        kept: Any = (each[some] for each in self[1:])
        return Told(self.most, *kept)


def merge_told(parts: Sequence[Told]) -> Told:
    """Put the rows of several pieces together."""
    joined: Any = (np.concatenate(arrays) for arrays in zip(*(p[1:] for p in parts), strict=True))
    return Told(parts[0].most, *joined).first()


def make_references(settings: Neighbours, ranks: RankDistance, told: Told) -> ReferenceRows:
    """Return the reference rows; what is usual is still to be learnt."""
    order = np.argsort(told.row)
    most = len(order) - 1
    large = min(most, max(settings.near, round(settings.share * len(order))))
    scales = np.array([min(most, settings.near), large], np.int64)
    profile = ranks.of_codes(list(told.codes[order].T))
    return ReferenceRows(
        ranks, told.row[order], profile, told.excess[order], scales, np.ones(2), 0.0, 0.0
    )


def passed_on(cells: Floats, typical: float, most: float) -> Floats:
    """Return the evidence of each column beyond a typical row's, in fixed point.

    No value passes on more than `most`: one that is far out says no more about similar rows.
    """
    evidence = cells.sum(axis=1)
    beyond = np.maximum(0.0, evidence - typical)
    share = np.divide(beyond, evidence, out=np.zeros_like(evidence), where=beyond > 0)
    return np.rint(np.minimum(cells, most) * (UNIT * share)[:, None])


def moments(own: Floats, other: Floats, middle: float) -> list[int]:
    """Return n, Σx, Σy, Σx², Σy² and Σxy of excess and neighbour evidence, in fixed point."""
    sums = [0] * 6
    for start in range(0, len(own), TOGETHER):
        some = slice(start, start + TOGETHER)
        x, y = (
            np.minimum(np.rint(UNIT * each), 2.0**31 - 1).astype(np.int64)
            for each in (np.maximum(0.0, own[some] - middle), other[some])
        )
        these = [len(x), *(_exact_sum(each) for each in (x, y, x * x, y * y, x * y))]
        sums = add_moments([sums, these])
    return sums


def _exact_sum(numbers: Ints) -> int:
    """Return the sum of numbers below 2 ** 62, however many."""
    high, low = numbers >> 31, numbers & (2**31 - 1)
    return (int(high.sum()) << 31) + int(low.sum())


def add_moments(parts: Sequence[list[int]]) -> list[int]:
    """Add up the moments of several pieces."""
    return [sum(each) for each in zip(*parts, strict=True)]


def correlation_weight(sums: Sequence[int]) -> float:
    """Return the root of the correlation of two quantities, 0 where it is negative."""
    n, x, y, xx, yy, xy = sums
    scale = math.sqrt(n * xx - x * x) * math.sqrt(n * yy - y * y)
    correlation = (n * xy - x * y) / scale if scale > 0 else 0.0
    return math.sqrt(max(0.0, correlation))


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


@kernel
def compare_rows(  # type: ignore[no-untyped-def]
    profile, columns, reference, is_nominal, scales, excess, own, away, lanes, sums, distance,
    evidence, last,
):  # fmt: skip
    """Compare some columns of rows with reference rows (references x columns).

    A training row is not its own neighbour: of rows that are just alike one is passed over. The
    weights of references fall with the distance, to nothing beyond the last near row. They are
    whole numbers: sums of them, times what is passed on, are exact in any order.

    Many rows lie side by side, so that vector instructions take a number of them at a time. The
    arrays from `own` to `sums` are room to work in.
    """
    n_references, n_columns, side = len(reference), len(columns), own.shape[1]
    nowhere = (TOP_RANK + 1) * n_columns  # further away than any row
    kind = away.dtype.type
    zero, unlike, highest = kind(0), kind(UNLIKE), kind(1)
    while highest < nowhere:
        highest = kind(highest << 1)
    alike, found, count = lanes[0], lanes[1], lanes[2]
    weights, said = sums[0], sums[1]
    for first in range(0, profile.shape[1], side):
        n = profile.shape[1] - first
        n = side if n > side else n
        for m in range(n_columns):
            column = profile[columns[m]]
            for k in range(n):
                own[m, k] = column[first + k]
        for k in range(side):
            alike[k], found[k], count[k] = 0, -1, 0
        for r in range(n_references):
            here = away[r]
            for k in range(side):
                here[k] = 0
            for m in range(n_columns):
                theirs, mine = reference[r, m], own[m]
                by_name = is_nominal[m] or theirs == NO_VALUE
                for k in range(side):
                    apart = kind(theirs - mine[k] if theirs > mine[k] else mine[k] - theirs)
                    differ = (apart > 0) & (by_name | (mine[k] == NO_VALUE))
                    here[k] += unlike if differ else apart
            for k in range(side):
                alike[k] += here[k] == 0
        for scale in range(2):
            # The distance of the k-th row, less one: the largest within which there are too few.
            step = highest if scale == 0 or scales[0] < scales[1] else zero
            wanted = kind(scales[scale])
            while step > 0:
                for r in range(0, len(away), 4):
                    one, two, three, four = away[r], away[r + 1], away[r + 2], away[r + 3]
                    for k in range(side):
                        tried = kind(found[k] + step)
                        count[k] += (
                            kind(one[k] <= tried)
                            + kind(two[k] <= tried)
                            + kind(three[k] <= tried)
                            + kind(four[k] <= tried)
                        )
                for k in range(side):
                    few = count[k] < kind(wanted + kind(alike[k] > 0))
                    found[k] += step if few else zero
                    count[k] = 0
                step = kind(step >> 1)
            for k in range(side):
                weights[k], said[k] = 0.0, 0.0
            for r in range(n_references):
                here, passed = away[r], excess[r]
                for k in range(side):
                    near = kind(found[k] + 2 - here[k])
                    weights[k] += near if near > 0 else zero
                    count[k] += near > 0
                if scale == 1 and passed != 0.0:
                    for k in range(side):
                        near = kind(found[k] + 2 - here[k])
                        said[k] += (near if near > 0 else zero) * passed
            for k in range(n):
                i, over = first + k, np.int64(alike[k] > 0)
                last[i, scale] = found[k] + 1
                # As if all near rows were as far as the last; then less by what they are nearer.
                total = (scales[scale] + over) * last[i, scale] - (weights[k] - count[k])
                distance[i, scale] = total / scales[scale] / n_columns
            for k in range(side):
                count[k] = 0
        for k in range(n):
            times, horizon = np.int64(alike[k]), np.int64(found[k]) + 2
            if times > 0:
                # One of the reference rows that are just alike may be the row itself.
                weights[k] = times * (weights[k] - horizon)
                said[k] *= times
                for r in range(n_references):
                    if away[r, k] == 0:
                        said[k] -= horizon * excess[r]
            weight = weights[k] if weights[k] > 1.0 else 1.0
            evidence[first + k] = said[k] / (UNIT * weight)
