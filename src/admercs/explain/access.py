"""Everything that explanations read from the arrays of a fitted model, in one place.

No other module of `explain` and `report` knows how trees, densities, contexts and neighbours are
stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.density.likelihoods import CONTINUOUS
from admercs.density.lookup import entries, to_log_density, typical_region, typical_values
from admercs.detector.fit import QUANTILE_LEVELS
from admercs.detector.judge import BLOCK, Judge, run_blocks
from admercs.detector.model import Judgement as ScoreParts
from admercs.detector.model import Model
from admercs.evidence.feedback import jury_share
from admercs.table.columns import Column
from admercs.table.prepared import Prepared

__all__ = ["BLOCK", "Model", "ModelAccess", "Range", "ScoreParts", "run_blocks", "scorer"]

Floats = NDArray[np.float64]
Curve = tuple[Floats, Floats]

NEGLIGIBLE = 0.02  # of a curve's height: the width of a line
_SAME = 1e-12  # relative; sums of the same numbers in another order
_ANY_CODE = (1 << 256) - 1


def scorer(model: Model) -> Callable[[Floats], ScoreParts]:
    """Return a function that scores a block of rows (attributes x rows) and returns the parts."""
    return Judge(model).judge


class Range(NamedTuple):
    """The values of one attribute that lead to a node."""

    low: float = -math.inf  # numeric: low < x <= high
    high: float = math.inf
    codes: int = _ANY_CODE  # nominal: bit c is set when category code c is allowed
    missing: bool = True  # whether a missing value is allowed

    def contains(self, x: float, *, nominal: bool) -> bool:
        """Tell whether a working value is allowed."""
        return bool(self.contains_all(np.array([x]), nominal=nominal)[0])

    def contains_all(self, x: Floats, *, nominal: bool) -> NDArray[np.bool_]:
        """Tell which working values of a column are allowed."""
        if nominal:
            codes = np.unique(x[~np.isnan(x)])
            inside = np.isin(x, [code for code in codes if self.allows(int(code))])
        else:
            inside = (x > self.low) & (x <= self.high)
        return np.asarray(np.where(np.isnan(x), self.missing, inside), dtype=np.bool_)

    def allows(self, code: int) -> bool:
        """Tell whether a category code is allowed."""
        return bool(self.codes >> code & 1)


class ModelAccess:
    """Reads a fitted model: its trees, its distributions, its contexts and its neighbours.

    Nodes, leaves and attributes are given by their numbers. A node's *distribution* is that of the
    target of its tree, among the training rows in the node.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.columns: tuple[Column, ...] = tuple(model.schema.used)
        self._forest, self._likelihoods = model.forest, model.likelihoods
        self._ranges: dict[int, dict[int, Range]] = {}
        self._attributes: dict[int, int] = {}
        self.typical_region = lru_cache(None)(self._typical_region)
        self.cumulative = lru_cache(None)(self._cumulative)

    # --- trees ---

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return len(self._forest.feature)

    def is_leaf(self, node: int) -> bool:
        """Tell whether a node is a leaf."""
        return bool(self._forest.feature[node] < 0)

    def attribute_of(self, node: int) -> int:
        """Return the target of the tree that a node belongs to."""
        return self._forest.tree_of(node)

    def root(self, attribute: int) -> int:
        """Return the root of an attribute's tree: the whole table."""
        return int(self._forest.root[attribute])

    def is_root(self, node: int) -> bool:
        """Tell whether a node is the root of its tree."""
        return bool(self._forest.parent[node] < 0)

    def size(self, node: int) -> int:
        """Return the number of training rows in a node."""
        return int(self._forest.n[node])

    def nested(self, first: int, second: int) -> bool:
        """Tell whether one of two nodes lies below the other."""
        return second in self._forest.path(first) or first in self._forest.path(second)

    def scoring_node(self, leaf: int) -> int:
        """Return the node whose distribution scores the rows of a leaf."""
        return int(self._forest.scorer[leaf])

    def scoring_nodes(self) -> list[int]:
        """Return the nodes that score leaves, without the roots."""
        leaves = np.flatnonzero(self._forest.feature < 0)
        nodes: list[int] = np.unique(self._forest.scorer[leaves]).tolist()
        return [node for node in nodes if not self.is_root(node)]

    def ranges(self, node: int) -> dict[int, Range]:
        """Return what the path to a node asks of each attribute, in the order of the tests.

        Redundant tests are left out: the others lead to the same training rows.
        """
        known = self._ranges.get(node)
        if known is None:
            known = {}
            redundant = int(self._forest.idle[node])
            for k, (parent, child) in enumerate(pairwise(self._forest.path(node))):
                if not redundant >> k & 1:
                    attribute = int(self._forest.feature[parent])
                    before = known.get(attribute, Range())
                    known[attribute] = self._narrowed(before, parent, child)
            self._ranges[node] = known
        return known

    def attributes(self, node: int) -> int:
        """Return the set of attributes in these ranges, as bits of an integer."""
        known = self._attributes.get(node)
        if known is None:
            known = sum(1 << attribute for attribute in self.ranges(node))
            self._attributes[node] = known
        return known

    def _narrowed(self, before: Range, parent: int, child: int) -> Range:
        """Add the test at ``parent`` that leads to ``child``."""
        forest = self._forest
        goes_left = int(forest.left[parent]) == child
        missing = before.missing and bool(forest.missing_left[parent]) == goes_left
        if forest.subset[parent] >= 0:
            words = forest.subsets[forest.subset[parent]]
            left = sum(int(word) << 64 * k for k, word in enumerate(words))
            codes = before.codes & (left if goes_left else ~left)
            return before._replace(codes=codes, missing=missing)
        threshold = float(forest.threshold[parent])
        if goes_left:
            return before._replace(high=min(before.high, threshold), missing=missing)
        return before._replace(low=max(before.low, threshold), missing=missing)

    # --- contexts and scores ---

    @property
    def members(self) -> dict[int, NDArray[np.int64]]:
        """The anomalous contexts: leaf -> its training rows."""
        return self.model.members

    def log_score(self, leaf: int) -> float:
        """Return log λ of a context."""
        return float(self.model.log_lambda[leaf])

    def mean_score(self, leaf: int) -> float:
        """Return how anomalous the rows of a context are on average, from 0 to 1.

        λ is a product over the rows of a context, or over its effective size, so that the same λ
        means more in a larger context. This is the geometric mean.
        """
        settings, n = self.model.settings, self._forest.n[[leaf]]
        effective = float((jury_share(settings.feedback, n) * n)[0])
        mean = math.exp(self.log_score(leaf) / max(1.0, effective))
        return 1.0 - (1.0 - mean) / settings.gamma_lambda

    def percentiles(self, evidence: Floats) -> Floats:
        """Return the percentage of training rows with less evidence than each row."""
        known = self.model.evidence_quantiles
        levels = np.interp(evidence, known, QUANTILE_LEVELS, left=0.0)
        # Equal rows have equal evidence, which may be the quantile at several levels: take the lowest.
        first = np.searchsorted(known, evidence * (1 - _SAME))
        first = np.minimum(first, len(known) - 1)
        equal = known[first] <= evidence * (1 + _SAME)
        return 100.0 * np.where(equal, np.minimum(levels, QUANTILE_LEVELS[first]), levels)

    # --- neighbours ---

    def odd_neighbours(self, values: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return the numbers of the training rows a row is compared with, and what each adds."""
        known = self.model.neighbours
        return known.row, known.nearest(values) * known.guilt.sum(axis=1)

    def nearest_row(self, values: Floats) -> tuple[int, Floats]:
        """Return the nearest training row, and how far it is from the row in each attribute."""
        known = self.model.neighbours
        nearest = int(known.nearest(values).argmax())
        own, other = known.likeness.profile(values[:, None]), known.profile[:, [nearest]]
        apart = [float(each[0, 0]) for each in known.likeness.differences(own, other)]
        return int(known.row[nearest]), np.array(apart)

    @property
    def n_kept(self) -> int:
        """Number of training rows that the model keeps, in order to compare rows with them."""
        return len(self.model.neighbours.row)

    def kept_rows(self, table: Prepared, first: int) -> list[int] | None:
        """Return which of these a table holds; None if it differs from the training table.

        ``first`` is the number of the table's first row in the training table.
        """
        known = self.model.neighbours
        here = (known.row >= first) & (known.row < first + table.n_rows)
        rows = known.row[here]
        same = known.likeness.profile(table.some(rows - first)) == known.profile[:, here]
        return rows.tolist() if same.all() and first + table.n_rows <= self.model.n_rows else None

    # --- distributions ---

    def is_continuous(self, attribute: int) -> bool:
        """Tell whether an attribute has a density; else its values are counted one by one."""
        return bool(self._likelihoods.kind[attribute] == CONTINUOUS)

    def slot(self, node: int) -> int:
        """Return the number of a node's distribution, or -1."""
        return int(self._likelihoods.slot[node])

    def n_missing(self, node: int) -> int:
        """Return the number of rows of a node without a value of the target."""
        return int(self._likelihoods.n_missing[self.slot(node)])

    def bandwidth(self, node: int) -> float:
        """Return the width of the density's kernel."""
        return float(self._likelihoods.bandwidth[self.slot(node)])

    def typical_values(self, node: int) -> list[tuple[int, float]]:
        """Return the places of the typical values of a discrete target, with their shares."""
        return typical_values(self._likelihoods, self.slot(node))

    def value_counts(self, node: int) -> NDArray[np.int64]:
        """Return how many rows of a node have each value of a discrete target."""
        first, stop = self._likelihoods.value_ptr[self.slot(node) :][:2]
        return self._likelihoods.count[first:stop]

    def place(self, attribute: int, x: float) -> int | None:
        """Return the place of a working value among the values of a discrete attribute."""
        known = self.columns[attribute].distinct
        if not known:
            return int(x) - 1
        place = int(np.searchsorted(known, x))
        return place if place < len(known) and known[place] == x else None

    def own_count(self, attribute: int, node: int, x: float) -> int:
        """Return how many rows of a node share a value of a discrete target."""
        place, counts = self.place(attribute, x), self.value_counts(node)
        return 0 if place is None or place >= len(counts) else int(counts[place])

    def presence_is_odder(self, attribute: int, node: int, x: float) -> bool:
        """Tell whether having any value is less likely in a node than which value it is."""
        likelihoods, slot = self._likelihoods, self.slot(node)
        if self.is_continuous(attribute):
            log_value = float(entries(likelihoods, slot, np.array([x]))[0])
        else:
            place, (first, stop) = self.place(attribute, x), likelihoods.value_ptr[slot:][:2]
            known = place is not None and first + place < stop
            log_value = float(
                likelihoods.log_value[first + place] if known else likelihoods.log_floor[slot]
            )
        return float(likelihoods.log_present[slot]) < min(0.0, log_value)

    def _typical_region(self, node: int) -> list[tuple[float, float]]:
        """Return where a continuous target is typical."""
        known = typical_region(self._likelihoods, self.slot(node))
        if known:
            return known
        x, heights = self.log_curve(node)  # all rows share a value: a peak between two grid points
        return [(float(x[heights.argmax()]),) * 2] if len(x) else [(-math.inf, math.inf)]

    def _cumulative(self, node: int) -> Curve:
        """Return points and the share of a node's rows that lie at or below each."""
        x, heights = self.curve(node)
        if len(x) < 2:
            return np.zeros(1), np.zeros(1)
        area = np.concatenate(([0.0], np.cumsum(np.diff(x) * (heights[1:] + heights[:-1]) / 2)))
        recorded = 1.0 - self.n_missing(node) / max(1, self.size(node))
        return x, area * (recorded / max(float(area[-1]), 1e-300))

    def share_between(self, node: int, first: float, second: float) -> float:
        """Return the share of a node's rows with a value between two numbers."""
        x, share = self.cumulative(node)
        ends = np.interp((first, second), x, share)
        return float(abs(ends[1] - ends[0]))

    def log_curve(self, node: int) -> Curve:
        """Return the points of a node's density, and its logarithm there."""
        segments = self._segments(node)
        if not segments:
            return np.empty(0), np.empty(0)
        x, heights, _, _ = zip(*segments, strict=True)
        return np.concatenate(x), np.concatenate(heights)

    def log_floor(self, node: int) -> float:
        """Return the logarithm of the density where there are no rows."""
        slot = self.slot(node)
        floor = self._likelihoods.log_floor[slot : slot + 1]
        return float(to_log_density(self._likelihoods, slot, floor)[0])

    def curve(self, node: int) -> Curve:
        """Return a node's density; it falls to zero where no segment follows."""
        segments = self._segments(node)
        points, values = [np.empty(0)], [np.empty(0)]
        for i, (x, heights, step, goes_on) in enumerate(segments):
            before = [] if i > 0 and segments[i - 1][3] else [x[0] - step]
            after = [] if goes_on else [x[-1] + step]
            points.append(np.concatenate((before, x, after)))
            values.append(np.pad(np.exp(heights), (len(before), len(after))))
        return np.concatenate(points), np.concatenate(values)

    def visible_curve(self, node: int) -> Curve:
        """Return the stretch of a node's density that can be seen, its peak at 1."""
        x, heights = self.curve(node)
        heights = heights / max(float(heights.max(initial=0.0)), 1e-300)
        seen = np.flatnonzero(heights > NEGLIGIBLE)
        if not len(seen):
            return np.empty(0), np.empty(0)
        stretch = slice(max(0, seen[0] - 1), seen[-1] + 2)
        return x[stretch], heights[stretch]

    def _segments(self, node: int) -> list[tuple[Floats, Floats, float, bool]]:
        """Return per segment its points, log density, spacing, and whether the next one follows."""
        likelihoods, slot = self._likelihoods, self.slot(node)
        found = []
        reached = -np.inf
        end = likelihoods.segment_ptr[slot + 1]
        for segment in range(likelihoods.segment_ptr[slot], end):
            start, stop = likelihoods.table_ptr[segment : segment + 2]
            step, first = likelihoods.step[segment], likelihoods.segment_start[segment]
            x = first + step * np.arange(stop - start)
            # Where segments overlap the later one holds.
            until = likelihoods.segment_from[segment + 1] if segment + 1 < end else np.inf
            holds = (x < until) & ((x >= likelihoods.segment_from[segment]) | (x > reached))
            reached = first + step * (stop - start - 1.5)
            heights = likelihoods.table[start:stop][holds].astype(np.float64)
            if holds.any():
                log_heights = to_log_density(likelihoods, slot, heights)
                found.append((x[holds], log_heights, float(step), bool(until <= reached)))
        return found
