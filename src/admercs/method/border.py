"""Border smoothing: near a threshold, a value is also scored by the context across.

A tree cuts where the training rows say, but a row just beyond the cut may well belong to the other
side. A border zone lies around every threshold, as wide as a few smallest leaves: no tree sees
finer than those. A row inside the zone has ω raised to that of the context across, times its
nearness to the threshold: 1 at the threshold, 0 at the end of the zone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Floats, Ints, ShortInts
from admercs.density.lookup import ReadyLikelihoods, runs_of_columns
from admercs.method.tail import LoneValues, read_lowered
from admercs.method.views import BlockViews
from admercs.trees.forest import Forest


class BorderZones(NamedTuple):
    """Where the zone of each numeric split begins and ends; NaN for other nodes."""

    lower: Floats
    upper: Floats


def find_zones(
    forest: Forest, edges: Sequence[Floats], code_counts: Sequence[Ints], zone_rows: int
) -> BorderZones:
    """Find the border zones of all splits, given the rows per code of each column."""
    lower, upper = np.full((2, len(forest.feature)), np.nan)
    # Between the groups of a leaf is no border: the same node scores both sides.
    numeric = (forest.feature >= 0) & (forest.subset < 0) & forest.paid
    for m in np.unique(forest.feature[numeric]):
        nodes = np.flatnonzero(numeric & (forest.feature == m))
        bins = forest.bin[nodes]
        lower[nodes], upper[nodes] = border_zone(edges[m], code_counts[m], bins, zone_rows)
    return BorderZones(lower, upper)


def border_zone(
    edges: Floats, code_counts: Ints, bins: ShortInts, zone_rows: int
) -> tuple[Floats, Floats]:
    """Return where the border zones around some thresholds of one column begin and end.

    A zone is made of whole bins that hold fewer than `zone_rows` rows on either side, so a value
    that many rows share is never inside. `bins` are the thresholds: codes up to this one go left,
    and 0 means that only missing values do.
    """
    below = np.concatenate([[0], np.cumsum(code_counts[1:])])  # rows with at most this code
    # The first code whose bin ends outside the zone, on either side.
    last = np.searchsorted(below, below[bins] + zone_rows)
    first = np.searchsorted(below, below[bins] - zone_rows, side="right")
    bounds = np.concatenate([[-np.inf], edges, [np.inf]])
    lower = bounds[np.clip(first, 1, np.maximum(bins, 1))]
    upper = bounds[np.clip(last - 1, bins, len(edges))]
    return lower, upper


class BorderStep:
    """Raises log ω of values that are odd in their context but not across its border."""

    def __init__(
        self, forest: Forest, zones: BorderZones, own: ReadyLikelihoods, lone: LoneValues | None,
        ordinary: float,
    ) -> None:  # fmt: skip
        self._forest, self._zones, self._own, self._lone = forest, zones, own, lone
        known = own.likelihoods if isinstance(own, ReadyLikelihoods) else own
        self._ordinary = math.log(ordinary)
        self._runs = runs_of_columns(known.kind, np.arange(forest.n_trees))

    def apply(self, views: BlockViews) -> None:
        """Raise ``views.log_omega``; where the whole table finds a value odder, nothing changes."""
        forest, zones, (n_columns, n_rows) = self._forest, self._zones, views.block.shape
        size = views.block.size
        odd, across, nearness = np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size)
        # Only the arrays it needs: each argument takes time to compile.
        n = look_across(
            forest.root, forest.feature, forest.threshold, zones.lower, zones.upper,
            forest.subset, forest.missing_left, forest.left, forest.right, forest.subsets,
            views.block, views.log_omega, views.marginal, self._ordinary, odd, across, nearness,
        )  # fmt: skip
        odd, across, nearness = odd[:n], across[:n], nearness[:n]
        x, there = views.block.ravel()[odd], np.empty(len(odd))
        first_of = np.searchsorted(odd, n_rows * np.arange(n_columns + 1))
        for columns, first in self._runs:
            some = slice(first_of[columns.start], first_of[columns.stop])
            read_lowered(self._lone, self._own, first, across[some], x[some], there[some])
        smoothed = np.minimum(there + np.log(nearness), self._ordinary)
        log_omega = views.log_omega.ravel()
        log_omega[odd] = np.maximum(log_omega[odd], smoothed)


@kernel
def look_across(  # type: ignore[no-untyped-def]
    roots, feature, threshold, lower, upper, subset, missing_left, left, right, subsets,
    block, log_omega, marginal, ordinary, cells, across, nearness,
):  # fmt: skip
    """List the cells that are odd in their leaf, but not more so in the whole table, near a border.

    Write their number (tree x row), the leaf across the nearest border and how near that is.
    """
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    n_rows, found = np.uint64(block.shape[1]), np.uint64(0)
    for tree in range(np.uint64(block.shape[0])):
        root = np.uint64(roots[tree])
        for row in range(n_rows if feature[root] >= 0 else np.uint64(0)):
            view = log_omega[tree, row]
            if not (view < ordinary and view < marginal[tree, row]):
                continue
            best = 0.0
            other = -1
            crossed = False
            node = root
            while True:
                if feature[node] < 0:
                    if crossed or other < 0:
                        break
                    # And down again from the other child of the nearest border's split.
                    node = np.uint64(other)
                    crossed = True
                    continue
                value = block[np.uint64(feature[node]), row]
                limit = threshold[node]
                goes_left = value <= limit
                if math.isnan(value):
                    goes_left = missing_left[node]
                elif subset[node] >= 0:
                    code = np.uint64(value)
                    bits = subsets[subset[node], code >> np.uint64(6)] >> (code & np.uint64(63))
                    goes_left = bits & np.uint64(1) != np.uint64(0)
                # Comparisons with a missing value or with a split by categories (NaN) are false.
                near = 0.0
                if limit < value < upper[node]:
                    near = (upper[node] - value) / (upper[node] - limit)
                elif lower[node] < value <= limit:
                    near = (value - lower[node]) / (limit - lower[node])
                if near > best and not crossed:
                    best = near
                    other = right[node] if goes_left else left[node]
                node = np.uint64(left[node] if goes_left else right[node])
            if crossed:
                cells[found] = tree * n_rows + row
                across[found], nearness[found] = node, best
                found += np.uint64(1)
    return np.int64(found)
