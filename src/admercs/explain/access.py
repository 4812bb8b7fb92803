"""Everything that explanations read from the arrays of a fitted model, in one place.

No other module of `explain` and `report` knows how trees, densities, contexts and neighbours are
stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from admercs.arrays import Bools, Floats, Ints, ShortInts
from admercs.density.likelihoods import CONTINUOUS
from admercs.density.lookup import entries, to_log_density, typical_region, typical_values
from admercs.method.contexts import Contexts
from admercs.method.feedback import mean_score
from admercs.method.neighbours import ReferenceRows
from admercs.pipeline.model import QUANTILE_LEVELS, Model
from admercs.pipeline.score import BLOCK, Scorer, run_blocks
from admercs.table.columns import Column
from admercs.table.prepared import Prepared

__all__ = ["BLOCK", "Model", "ModelAccess", "Range", "ScoreParts", "run_blocks", "scorer"]

Curve = tuple[Floats, Floats]

LEAST_SCORE = 0.1  # of an anomalous context that is worth telling
NEGLIGIBLE = 0.02  # of a curve's height: the width of a line
_SAME = 1e-12  # relative; sums of the same numbers in another order
_ANY_CODE = (1 << 256) - 1


class ScoreParts(NamedTuple):
    """What the model says about a block of rows; arrays are attributes x rows."""

    leaf: ShortInts  # the leaf, or the range context (see `ModelAccess`), of the row
    node: ShortInts  # the node whose view of the value counts
    log_omega: Floats  # how likely the value is among the rows of that node
    pattern: Floats  # evidence of the value
    context: Floats  # evidence of sitting in an anomalous context
    isolation: Floats  # evidence of being far from all rows, mostly in this attribute
    neighbours: Floats  # evidence of being like rows that are odd in this attribute

    def cells(self) -> Floats:
        """Return the evidence per attribute and row."""
        return self.pattern + self.context + self.isolation + self.neighbours

    def association(self) -> Floats:
        """Return the evidence per row that comes from contexts and similar rows."""
        together: Floats = (self.context + self.neighbours).sum(axis=0)
        return together


def scorer(model: Model) -> Callable[[Floats], ScoreParts]:
    """Return a function that scores a block of rows (attributes x rows) and returns the parts."""
    score, contexts, forest = Scorer(model).score, model.contexts, model.forest
    n_nodes = len(forest.feature)
    # Groups of a leaf are told only where they are anomalous contexts.
    whole = np.arange(n_nodes, dtype=np.int32) if model.method.purest else model.scoring.own
    told = whole.copy()
    for k, node in enumerate(contexts.leaf):
        told[forest.below(node)] = n_nodes + k if contexts.is_range(k) else node

    def parts_of(block: Floats) -> ScoreParts:
        parts = score(block)
        none = np.zeros(block.shape)
        context = none if parts.context is None else parts.context
        leaf = np.where(context > 0, told[parts.leaf], whole[parts.leaf])
        return ScoreParts(
            leaf=leaf.astype(np.int32),
            node=parts.nodes(model),
            log_omega=parts.log_likelihoods(model),
            pattern=parts.pattern,
            context=context,
            isolation=none if parts.isolation is None else parts.isolation,
            neighbours=none if parts.neighbours is None else parts.neighbours,
        )

    return parts_of


class Range(NamedTuple):
    """The values of one attribute that lead to a node."""

    low: float = -math.inf  # numeric: low < x <= high
    high: float = math.inf
    codes: int = _ANY_CODE  # nominal: bit c is set when category code c is allowed
    missing: bool = True  # whether a missing value is allowed

    def contains(self, x: Floats, *, nominal: bool) -> Bools:
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
    target of its tree, among the training rows in the node. Anomalous contexts that are a range of
    a leaf's target are numbered after all nodes; they are treated as leaves below that leaf.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.columns: tuple[Column, ...] = tuple(model.schema.used)
        self._forest, self._likelihoods = model.forest, model.likelihoods
        self._contexts: Contexts = model.contexts
        self._n_nodes = len(model.forest.feature)
        # What is asked for again and again, for row after row, is worked out once.
        self.ranges = lru_cache(None)(self._ranges)
        self.attributes = lru_cache(None)(self._attributes)
        self.typical_region = lru_cache(None)(self._typical_region)
        self.cumulative = lru_cache(None)(self._cumulative)
        self.log_curve = lru_cache(None)(self._log_curve)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, and of contexts."""
        return self._n_nodes + len(self._contexts.leaf)

    def _leaf(self, node: int) -> int:
        """Return the leaf of a range context; any other node itself."""
        k = node - self._n_nodes
        return int(self._contexts.leaf[k]) if k >= 0 else node

    def is_leaf(self, node: int) -> bool:
        """Tell whether a node is a leaf."""
        k = node - self._n_nodes
        return self._contexts.is_range(k) if k >= 0 else bool(self._forest.feature[node] < 0)

    def attribute_of(self, node: int) -> int:
        """Return the target of the tree that a node belongs to."""
        return self._forest.tree_of(self._leaf(node))

    def root(self, attribute: int) -> int:
        """Return the root of an attribute's tree: the whole table."""
        return int(self._forest.root[attribute])

    def is_root(self, node: int) -> bool:
        """Tell whether a node is the root of its tree."""
        return node == self._leaf(node) and bool(self._forest.parent[node] < 0)

    def size(self, node: int) -> int:
        """Return the number of training rows in a node."""
        k = node - self._n_nodes
        return int(self._contexts.n[k] if k >= 0 else self._forest.n[node])

    def nested(self, first: int, second: int) -> bool:
        """Tell whether one of two nodes lies below the other."""
        first, second = self._leaf(first), self._leaf(second)
        return second in self._forest.path(first) or first in self._forest.path(second)

    def scoring_node(self, leaf: int) -> int:
        """Return the node whose distribution scores the rows of a leaf."""
        return int(self.model.scoring.own[self._leaf(leaf)])

    def scoring_nodes(self) -> list[int]:
        """Return the nodes that score leaves, without the roots."""
        leaves = np.flatnonzero(self._forest.feature < 0)
        nodes: list[int] = np.unique(self.model.scoring.own[leaves]).tolist()
        return [node for node in nodes if not self.is_root(node)]

    def _ranges(self, node: int) -> dict[int, Range]:
        """Return what the tests on a path, without redundant ones, ask of each attribute."""
        found: dict[int, Range] = {}
        leaf, k = self._leaf(node), node - self._n_nodes
        redundant = int(self._contexts.redundant[k] if k >= 0 else self.model.redundant[node])
        for step, (parent, child) in enumerate(pairwise(self._forest.path(leaf))):
            if not redundant >> step & 1:
                attribute = int(self._forest.feature[parent])
                before = found.get(attribute, Range())
                found[attribute] = self._narrowed(before, parent, child)
        if k >= 0:
            attribute = self._forest.tree_of(leaf)
            found[attribute] = self._range_of(k, attribute)
        return found

    def _attributes(self, node: int) -> int:
        """Return the set of attributes in these ranges, as bits of an integer."""
        return sum(1 << attribute for attribute in self.ranges(node))

    def _range_of(self, context: int, attribute: int) -> Range:
        """Return the range of its target that makes a context."""
        low, high = float(self._contexts.low[context]), float(self._contexts.high[context])
        if self.columns[attribute].role == "nominal":
            return Range(codes=1 << int(high), missing=False)
        # The end of a column is written as the largest number.
        return Range(low, math.inf if high > 1e308 else high, missing=False)

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
        known = self._contexts
        told = np.flatnonzero(known.log_lambda >= math.log(LEAST_SCORE)).tolist()
        numbers = (self._n_nodes + k if known.is_range(k) else int(known.leaf[k]) for k in told)
        return dict(zip(numbers, map(known.members, told), strict=True))

    def log_score(self, leaf: int) -> float:
        """Return log λ of a context."""
        k = self._contexts.at(self._leaf(leaf))
        return float(self._contexts.log_lambda[k]) if k >= 0 else -math.inf

    def mean_score(self, leaf: int) -> float:
        """Return how anomalous the rows of a context are on average, from 0 to 1."""
        feedback = self.model.method.feedback
        if feedback is None:
            return 0.0
        return mean_score(self.log_score(leaf), self.size(leaf), feedback)

    def percentiles(self, evidence: Floats) -> Floats:
        """Return the percentage of training rows with less evidence than each row."""
        known = self.model.evidence_quantiles
        levels = np.interp(evidence, known, QUANTILE_LEVELS, left=0.0)
        # Equal rows have equal evidence, which may be the quantile at several levels: the lowest.
        first = np.searchsorted(known, evidence * (1 - _SAME))
        first = np.minimum(first, len(known) - 1)
        equal = known[first] <= evidence * (1 + _SAME)
        return 100.0 * np.where(equal, np.minimum(levels, QUANTILE_LEVELS[first]), levels)

    def odd_neighbours(self, values: Floats) -> tuple[Ints, Floats]:
        """Return the numbers of the training rows a row is compared with, and what each adds."""
        known = self._references
        return known.row, known.weights(values) * known.excess.sum(axis=1)

    def nearest_row(self, values: Floats) -> tuple[int, Floats, bool]:
        """Return the nearest training row, and how far it is from the row in each attribute.

        Also tell whether rows are at least twice as far away as from the median row.
        """
        known = self._references
        nearest = int(known.weights(values).argmax())
        own, other = known.ranks.profile(values[:, None]), known.profile[:, [nearest]]
        apart = [float(each[0, 0]) for each in known.ranks.differences(own, other)]
        distance = known.compare(values[:, None]).distance[0]
        return int(known.row[nearest]), np.array(apart), bool((distance >= 2 * known.usual).any())

    @property
    def _references(self) -> ReferenceRows:
        if self.model.references is None:
            raise ValueError("the model does not compare rows")
        return self.model.references

    def is_training_data(self, table: Prepared, first: int) -> bool:
        """Tell whether a table seems to be the training table's rows from number ``first`` on."""
        known = self.model.references
        if known is None:
            return False
        here = (known.row >= first) & (known.row < first + table.n_rows)
        if not here.any() or first + table.n_rows > self.model.n_rows:
            return False
        profile = known.ranks.profile(table.some(known.row[here] - first))
        return bool((profile == known.profile[:, here]).all())

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

    def value_counts(self, node: int) -> Ints:
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
            log_value = entries(likelihoods, slot, np.array([x]))[0]
        else:
            place, (first, stop) = self.place(attribute, x), likelihoods.value_ptr[slot:][:2]
            known = place is not None and first + place < stop
            log_value = (
                likelihoods.log_value[first + place] if known else likelihoods.log_floor[slot]
            )
        return float(likelihoods.log_present[slot]) < min(0.0, float(log_value))

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

    def _log_curve(self, node: int) -> Curve:
        """Return the points of a node's density, and its logarithm there."""
        segments = self._segments(node)
        x, heights = ([np.empty(0), *(segment[k] for segment in segments)] for k in (0, 1))
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
