"""Everything that explanations read from the arrays of a fitted model, in one place.

No other module of `explain` and `report` knows how trees, densities, contexts and neighbours are
stored.
"""

from __future__ import annotations

import math
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from admercs.arrays import Bools, Floats, Ints, ShortInts
from admercs.density.likelihoods import CONTINUOUS
from admercs.density.lookup import read_likelihood, to_log_density, typical_region, typical_values
from admercs.method.feedback import mean_score
from admercs.method.tail import TailStep
from admercs.pipeline.model import QUANTILE_LEVELS, Model
from admercs.pipeline.score import Parts
from admercs.table.columns import Column
from admercs.table.prepared import Prepared

__all__ = ["Model", "ModelAccess", "Range", "association"]

Curve = tuple[Floats, Floats]

LEAST_SCORE = 0.1  # of an anomalous context that is worth telling
NEGLIGIBLE = 0.02  # of a curve's height: the width of a line
PEAK = 0.4  # bandwidths; a narrower region is the tip of a peak: a value that many rows share
_SAME = 1e-12  # relative; sums of the same numbers in another order
_ANY_CODE = (1 << 256) - 1


def association(parts: Parts) -> Floats:
    """Return the evidence of rows that comes from contexts and similar rows."""
    together = np.zeros(parts.leaf.shape[1])
    if parts.context is not None:
        together += parts.context.sum(axis=0)
    return together if parts.passed is None else together + parts.passed


class Range(NamedTuple):
    """The values of one attribute that lead to a node."""

    low: float = -math.inf  # numeric: low < x <= high
    high: float = math.inf
    codes: int = _ANY_CODE  # nominal: bit c is set when category code c is allowed
    missing: bool = True  # whether a missing value is allowed

    def contains(self, x: Floats) -> Bools:
        """Tell which working values of a column are allowed."""
        inside = (x > self.low) & (x <= self.high)
        if self.codes != _ANY_CODE:
            inside &= np.isin(x, [code for code in range(256) if self.allows(code)])
        return np.where(np.isnan(x), self.missing, inside)

    def allows(self, code: int) -> bool:
        """Tell whether a category code is allowed."""
        return bool(self.codes >> code & 1)


class ModelAccess:
    """Reads a fitted model: its trees, its distributions, its contexts and its neighbours.

    Nodes, leaves and attributes are given by their numbers. A node's *distribution* is that of the
    target of its tree, among the training rows in the node. Anomalous contexts that are a range of
    a leaf's target are numbered after all nodes; they are treated as leaves below that leaf.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.columns: tuple[Column, ...] = tuple(model.schema.used)
        forest, contexts = model.forest, model.contexts
        self._forest, self._likelihoods, self._contexts = forest, model.likelihoods, contexts
        self._n_nodes = len(forest.feature)
        self._leaf = np.concatenate((np.arange(self._n_nodes), contexts.leaf))
        self._redundant = np.concatenate((model.redundant, contexts.redundant))
        # The number of training rows and the target of each node, the root of each attribute's
        # tree, and whether an attribute has a density; else its values are counted one by one.
        self.sizes: list[int] = np.concatenate((forest.n, contexts.n)).tolist()
        self.targets: list[int] = (np.searchsorted(forest.root, self._leaf, "right") - 1).tolist()
        self.roots: list[int] = forest.root[:-1].tolist()
        self.continuous: list[bool] = (model.likelihoods.kind == CONTINUOUS).tolist()
        # What is asked for again and again, for row after row, is worked out once.
        self.ranges = cache(self._ranges)
        self.typical_region = cache(self._typical_region)
        self.cumulative = cache(self._cumulative)
        self.log_curve = cache(self._log_curve)

    def column_name(self, attribute: int) -> str:
        """Return the name of the table's column that an attribute's evidence is credited to."""
        return self.model.schema.columns[self.columns[attribute].sources[0]].name

    def is_leaf(self, node: int) -> bool:
        """Tell whether a node is a leaf."""
        if node < self._n_nodes:
            return bool(self._forest.feature[node] < 0)
        return self._contexts.is_range(node - self._n_nodes)

    def is_root(self, node: int) -> bool:
        """Tell whether a node is the root of its tree: the whole table."""
        return node == self.roots[self.targets[node]]

    def nested(self, first: int, second: int) -> bool:
        """Tell whether one of two nodes lies below the other."""
        first, second = self._leaf[first], self._leaf[second]
        return second in self._forest.path(first) or first in self._forest.path(second)

    @cached_property
    def _told(self) -> tuple[ShortInts, ShortInts]:
        """The context that each leaf is told as: where it is not anomalous, and where it is."""
        # Groups of a leaf are told only where they are anomalous contexts.
        nodes = np.arange(self._n_nodes, dtype=np.int32)
        whole = nodes if self.model.method.purest else self.model.scoring.own
        told = whole.copy()
        for k, node in enumerate(self._contexts.leaf):
            is_range = self._contexts.is_range(k)
            told[self._forest.below(node)] = self._n_nodes + k if is_range else node
        return whole, told

    def leaves(self, parts: Parts) -> ShortInts:
        """Return the leaf, or the range context, of each row in each tree."""
        whole, told = self._told
        leaves = whole[parts.leaf]
        if parts.context is None:
            return leaves
        return np.where(parts.context > 0, told[parts.leaf], leaves)

    def scoring_node(self, leaf: int) -> int:
        """Return the node whose distribution scores the rows of a leaf."""
        return int(self.model.scoring.own[self._leaf[leaf]])

    def scoring_nodes(self) -> list[int]:
        """Return the nodes that score leaves, without the roots."""
        leaves = np.flatnonzero(self._forest.feature < 0)
        nodes = np.unique(self.model.scoring.own[leaves])
        return [node for node in nodes.tolist() if not self.is_root(node)]

    def _ranges(self, node: int) -> dict[int, Range]:
        """Return what the tests on a path, without redundant ones, ask of each attribute."""
        found: dict[int, Range] = {}
        redundant = int(self._redundant[node])
        for step, (parent, child) in enumerate(pairwise(self._forest.path(self._leaf[node]))):
            if not redundant >> step & 1:
                attribute = int(self._forest.feature[parent])
                before = found.get(attribute, Range())
                found[attribute] = self._narrowed(before, parent, child)
        if node >= self._n_nodes:
            k, target = node - self._n_nodes, self.targets[node]
            low, high = float(self._contexts.low[k]), float(self._contexts.high[k])
            # The end of a column is written as the largest number.
            found[target] = Range(low, math.inf if high > 1e308 else high, missing=False)
            if self.columns[target].role == "nominal":
                found[target] = Range(codes=1 << int(high), missing=False)
        return found

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

    @cached_property
    def members(self) -> dict[int, Ints]:
        """The anomalous contexts worth telling: their number -> their first training rows."""
        known, first = self._contexts, self._n_nodes
        told = np.flatnonzero(known.log_lambda >= math.log(LEAST_SCORE)).tolist()
        leaves = (first + k if known.is_range(k) else int(known.leaf[k]) for k in told)
        return {leaf: known.members(k) for leaf, k in zip(leaves, told, strict=True)}

    def log_score(self, leaf: int) -> float:
        """Return log λ of a context."""
        k = self._contexts.at(self._leaf[leaf])
        return float(self._contexts.log_lambda[k]) if k >= 0 else -math.inf

    def mean_score(self, leaf: int) -> float:
        """Return how anomalous the rows of a context are on average, from 0 to 1."""
        feedback = self.model.method.feedback
        if feedback is None:
            return 0.0
        return mean_score(self.log_score(leaf), self.sizes[leaf], feedback)

    def percentiles(self, evidence: Floats) -> Floats:
        """Return the percentage of training rows with less evidence than each row."""
        known = self.model.evidence_quantiles
        levels = np.interp(evidence, known, QUANTILE_LEVELS, left=0.0)
        # Equal rows have equal evidence, which may be the quantile at several levels: the lowest.
        first = np.minimum(np.searchsorted(known, evidence * (1 - _SAME)), len(known) - 1)
        equal = known[first] <= evidence * (1 + _SAME)
        return 100.0 * np.where(equal, QUANTILE_LEVELS[first], levels)

    def is_beyond_training(self, evidence: float) -> bool:
        """Tell whether a row has more evidence than any training row."""
        return bool(evidence > self.model.evidence_quantiles[-1] * (1 + _SAME))

    def odd_neighbours(self, weights: Floats) -> tuple[Ints, Floats]:
        """Return the numbers of the training rows a row is compared with, and what each adds."""
        known: Any = self.model.references
        return known.row, weights * self._total_excess

    @cached_property
    def _total_excess(self) -> Ints:
        known: Any = self.model.references
        total: Ints = known.excess.sum(axis=1)
        return total

    def nearest_rows(self, values: Floats) -> tuple[Floats, Ints, ShortInts]:
        """Return, for some rows, how near the training rows are that they are compared with.

        That is the weight of each (rows x these), the number of the nearest one, and how far away
        it is in each attribute (attributes x rows).
        """
        known: Any = self.model.references  # only asked of models that compare rows
        own = known.ranks.profile(values)
        weights: Floats = known.weights(own)
        nearest = weights.argmax(axis=1)
        return weights, known.row[nearest], known.ranks.apart(own, known.profile[:, nearest])

    def is_far(self, values: Floats) -> Bools:
        """Tell which rows are at least twice as far from the nearest rows as the median row."""
        known: Any = self.model.references
        return np.asarray((known.compare(values).distance >= 2 * known.usual).any(axis=1))

    def is_training_data(self, table: Prepared, first: int) -> bool:
        """Tell whether a table seems to be the training table's rows from number ``first`` on."""
        known = self.model.references
        if known is None or first + table.n_rows > self.model.n_rows:
            return False
        here = np.flatnonzero((known.row >= first) & (known.row < first + table.n_rows))
        profile = known.ranks.profile(table.some(known.row[here] - first))
        return len(here) > 0 and np.array_equal(profile, known.profile[:, here])

    def slot(self, node: int) -> int:
        """Return the number of a node's distribution, or -1."""
        return int(self._likelihoods.slot[node])

    def n_missing(self, node: int) -> int:
        """Return the number of rows of a node without a value of the target."""
        return self._n_missing[self.slot(node)]

    @cached_property
    def _n_missing(self) -> list[int]:
        return list(map(int, self._likelihoods.n_missing))

    def share_missing(self, node: int) -> float:
        """Return their share."""
        return self.n_missing(node) / max(1, self.sizes[node])

    def bandwidth(self, node: int) -> float:
        """Return the width of the density's kernel, or of the typical region where that is less."""
        width = float(self._likelihoods.bandwidth[self.slot(node)])
        return min([width, *(high - low for low, high in self._region_inside(node))])

    def typical_values(self, node: int) -> list[tuple[int, float]]:
        """Return the places of the typical values of a discrete target, with their shares."""
        return typical_values(self._likelihoods, self.slot(node))

    def value_counts(self, node: int) -> Ints:
        """Return how many rows of a node have each value of a discrete target."""
        first, stop = self._likelihoods.value_ptr[self.slot(node) :][:2]
        return self._likelihoods.count[first:stop]

    def place(self, attribute: int, x: float) -> int:
        """Return the place of a working value among those of a discrete attribute, or behind."""
        known = self.columns[attribute].distinct
        if not known:
            return int(x) - 1
        return known.index(x) if x in known else len(known)

    def own_count(self, node: int, x: float) -> int:
        """Return how many rows of a node share a value of a discrete target."""
        place, counts = self.place(self.targets[node], x), self.value_counts(node)
        return int(counts[place]) if place < len(counts) else 0

    def presence_is_odder(self, node: int, x: float) -> bool:
        """Tell whether having any value is less likely in a node than which value it is."""
        nodes, values = np.array([node], np.int32), np.array([x])
        # log ω is the sum of the two.
        log_omega = read_likelihood(self._likelihoods, self.targets[node], nodes, values)[0]
        return bool(2 * self._likelihoods.log_present[self.slot(node)] < log_omega)

    def inner(self, attribute: int) -> tuple[float, float]:
        """Return the ends of what surely does not lie far outside of the rest of a column."""
        step = self._tail_step
        return (-math.inf, math.inf) if step is None else step.inner(attribute)

    @cached_property
    def _tail_step(self) -> TailStep | None:
        tail = self.model.method.tail
        return None if tail is None else TailStep(self._likelihoods, self._forest.root, tail)

    def _typical_region(self, node: int) -> list[tuple[float, float]]:
        known = self._region_inside(node) or typical_region(self._likelihoods, self.slot(node))
        if known:
            return known
        x, heights = self.log_curve(node)  # all rows share a value: a peak between two grid points
        return [(float(x[heights.argmax()]),) * 2] if len(x) else [(-math.inf, math.inf)]

    def _region_inside(self, node: int) -> list[tuple[float, float]]:
        """Return a region of many values that is narrower than the kernel, without what is far.

        A group far outside has widened the kernel there: it is no tip of a peak.
        """
        m, known = self.targets[node], typical_region(self._likelihoods, self.slot(node))
        if not known or self.model.references is None:
            return []
        first, last = known[0][0], known[-1][1]
        ranks = self.model.references.ranks
        edges = ranks.edges[ranks.first[m] : ranks.first[m + 1]]
        inside = edges[(edges > first) & (edges < last)]
        peak = PEAK * self._likelihoods.bandwidth[self.slot(node)]
        if last - first >= peak or len(inside) < max(2, len(edges) / 2):
            return []
        return [(float(inside[0]), float(inside[-1]))]

    def _cumulative(self, node: int) -> Curve:
        """Return points and the share of a node's rows that lie at or below each."""
        x, heights = self.curve(node)
        if len(x) < 2:
            return np.zeros(1), np.zeros(1)
        area = np.concatenate(([0.0], np.cumsum(np.diff(x) * (heights[1:] + heights[:-1]) / 2)))
        recorded = 1.0 - self.share_missing(node)
        return x, area * (recorded / max(float(area[-1]), 1e-300))

    def share_between(self, node: int, first: float, second: float) -> float:
        """Return the share of a node's rows with a value between two numbers."""
        x, share = self.cumulative(node)
        ends = np.interp((first, second), x, share)
        return float(abs(ends[1] - ends[0]))

    def _log_curve(self, node: int) -> Curve:
        """Return the points of a node's density, and its logarithm there."""
        found = self._segments(node) or [(np.empty(0), np.empty(0), 0.0, False)]
        x, heights, _, _ = zip(*found, strict=True)
        return np.concatenate(x), np.concatenate(heights)

    def log_floor(self, node: int) -> float:
        """Return the logarithm of the density where there are no rows."""
        slot, floors = self.slot(node), self._likelihoods.log_floor
        return float(to_log_density(self._likelihoods, slot, floors[[slot]])[0])

    def curve(self, node: int) -> Curve:
        """Return a node's density; it falls to zero where no segment follows."""
        points, values, follows = [np.empty(0)], [np.empty(0)], False
        for x, heights, step, goes_on in self._segments(node):
            before = [] if follows else [x[0] - step]
            follows = goes_on
            after = [] if goes_on else [x[-1] + step]
            points.append(np.concatenate((before, x, after)))
            values.append(np.pad(np.exp(heights), (len(before), len(after))))
        return np.concatenate(points), np.concatenate(values)

    def visible_curve(self, node: int) -> Curve:
        """Return the stretch of a node's density that can be seen, its peak at 1."""
        x, heights = self.curve(node)
        heights = heights / (float(heights.max(initial=0.0)) or 1.0)
        seen = np.flatnonzero(heights > NEGLIGIBLE)
        if not len(seen):
            return np.empty(0), np.empty(0)
        stretch = slice(max(0, seen[0] - 1), seen[-1] + 2)
        return x[stretch], heights[stretch]

    def _segments(self, node: int) -> list[tuple[Floats, Floats, float, bool]]:
        """Return per segment its points, log density, spacing, and whether the next one follows."""
        likelihoods, slot = self._likelihoods, self.slot(node)
        found, reached = [], -np.inf
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
