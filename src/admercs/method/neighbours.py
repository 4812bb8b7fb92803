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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.method.rank_distance import Bytes, RankDistance
from admercs.method.settings import Isolation, Neighbours
from admercs.table.bins import Binning

Floats = NDArray[np.float64]
Distances = NDArray[np.signedinteger]

# What is passed on is kept in fixed point: sums of it are exact in any order.
UNIT = float(1 << 12)
# Comparisons that are made together: they stay in the cache.
TOGETHER = 1 << 17
# Half a rank: rows that are all alike are not infinitely near.
HALF_RANK = 0.5
# Less isolation evidence than this is credited to all columns alike.
NEGLIGIBLE = 0.01


class Nearest(NamedTuple):
    """What comparing rows with the reference rows tells."""

    evidence: Floats  # rows x columns: the weighted excess evidence of the nearest reference rows
    distance: Floats  # rows x 2: their mean distance at both scales, in ranks of a column


class ReferenceRows(NamedTuple):
    """Rows of the training table with which other rows are compared."""

    ranks: RankDistance
    row: NDArray[np.int64]  # their numbers
    profile: Bytes  # columns x rows
    excess: Floats  # rows x columns, in fixed point: the excess evidence of each column
    scales: NDArray[np.int64]  # how many rows are near, at the small and at the large scale
    usual: Floats  # the mean distance of a typical row at both scales
    typical: float  # the neighbour evidence of a typical row
    weight: float  # how much of the neighbour evidence beyond that counts

    def compare(self, values: Floats) -> Nearest:
        """Compare rows (columns x rows) with the reference rows."""
        profile = self.ranks.profile(values)
        n_columns, n_rows = profile.shape
        nearest = Nearest(np.empty((n_rows, n_columns)), np.empty((n_rows, 2)))
        step = max(1, TOGETHER // len(self.row))
        for start in range(0, n_rows, step):
            rows = slice(start, start + step)
            distance = self.ranks.distances(profile[:, rows], self.profile)
            small, large = (self._nearest(distance, int(k)) for k in self.scales)
            nearest.distance[rows, 0] = small[0] / n_columns
            nearest.distance[rows, 1] = large[0] / n_columns
            weight = _weights(distance, large[1])
            total = weight.sum(axis=1, keepdims=True)
            said = weight @ self.excess
            np.divide(said, UNIT * np.maximum(total, 1), out=nearest.evidence[rows])
        return nearest

    def isolation(self, distance: Floats, settings: Isolation, odds: float) -> Floats:
        """Return the isolation evidence of rows, given their distances at both scales."""
        power = settings.power * math.sqrt(len(self.profile))
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
            some = total > 0
            credited[rows[some]] = (
                isolation[rows[some], None] * (apart / np.maximum(total, 1)).T[some]
            )
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
    def _nearest(distance: Distances, k: int) -> tuple[Floats, NDArray[np.int64]]:
        """Return the mean distance of the k nearest rows, and that of the last of them.

        A training row is not its own neighbour: of rows that are just alike one is passed over.
        """
        alike = (distance == 0).any(axis=1)
        nearest = np.partition(distance, k, axis=1)[:, : k + 1].astype(np.int64)
        beyond = nearest[:, k]
        inside = nearest[:, :k]
        total = np.where(alike, inside.sum(axis=1) + beyond, inside.sum(axis=1))
        return total / k, np.where(alike, beyond, inside.max(axis=1))


def _weights(distance: Distances, last: NDArray[np.int64]) -> Floats:
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


def may_have_neighbours(settings: Neighbours | None, n_rows: int, n_columns: int) -> bool:
    """Say whether the rows of a table are compared with each other."""
    if settings is None or n_rows < settings.min_rows or n_columns < 2:
        return False
    return n_rows * n_columns <= settings.max_cells


def choose_references(
    settings: Neighbours, binning: Binning, values: Floats, cells: Floats, typical: float
) -> ReferenceRows:
    """Choose reference rows of a table (columns x rows), given the evidence of all cells.

    `cells` is rows x columns, without context evidence; `typical` is the evidence of the median
    row.
    """
    ranks = RankDistance.of(binning, values)
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
    """Learn what is usual, and how much neighbour evidence counts.

    `base` is the rows' evidence without that of contexts.
    """
    total = nearest.evidence.sum(axis=1)
    weight = 0.0
    if len(found.profile) >= settings.min_columns:
        excess = np.maximum(0.0, base - np.median(base))
        weight = settings.weight * correlation_weight(excess, total)
    return found._replace(
        usual=np.median(nearest.distance, axis=0), typical=float(np.median(total)), weight=weight
    )


def passed_on(cells: Floats, typical: float) -> Floats:
    """Return the evidence of each column beyond a typical row's, in fixed point.

    Examples
    --------
    >>> passed_on(np.array([[1.0, 3.0], [0.5, 0.5]]), typical=2.0) / UNIT
    array([[0.5, 1.5],
           [0. , 0. ]])
    """
    evidence = cells.sum(axis=1)
    beyond = np.maximum(0.0, evidence - typical)
    share = np.divide(beyond, evidence, out=np.zeros_like(evidence), where=beyond > 0)
    return np.rint(cells * (UNIT * share)[:, None])


def correlation_weight(own: Floats, other: Floats) -> float:
    """Return the root of the correlation of two quantities, 0 where it is negative.

    Examples
    --------
    >>> correlation_weight(np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.0, 1.5]))
    1.0
    >>> correlation_weight(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0]))
    0.0
    """
    # Sums that do not depend on the order of the rows.
    first, second = (part - math.fsum(part) / len(part) for part in (own, other))
    scale = math.sqrt(math.fsum(first * first) * math.fsum(second * second))
    correlation = math.fsum(first * second) / scale if scale > 0 else 0.0
    return math.sqrt(max(0.0, correlation))


def _choose_rows(values: Floats, most: int) -> NDArray[np.int64]:
    """Return the numbers of the reference rows: all, or some at random.

    At random, and yet always the same ones: a table gives the same model in any order of its rows.
    """
    n_rows = values.shape[1]
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.argsort(draw_lots(values), kind="stable")[:most])


def draw_lots(values: Floats) -> NDArray[np.uint64]:
    """Draw a number for each row that depends on its values only; equal rows draw their own."""
    # Minus zero is zero, and what is missing is missing.
    lots = np.zeros(values.shape[1], np.uint64)
    for column in values:
        lots = _scramble(lots ^ (np.nan_to_num(column, nan=np.pi) + 0.0).view(np.uint64))
    order = np.argsort(lots, kind="stable")
    ordered = lots[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    turn = np.arange(len(lots)) - np.repeat(first, np.diff(np.append(first, len(lots))))
    lots[order] = _scramble(ordered + turn.astype(np.uint64))
    return lots


def _scramble(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Turn numbers into others that look random: the last steps of the generator splitmix64."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
