"""Growing one tree from histograms, wherever its rows are.

The root is decided from the histogram of all rows. A node that is split waits until the rows of
the smaller of its two halves have been counted (the other half's histogram is the parent's minus
that one); then both halves are decided. A tree grows level by level: `node_rows` counts the rows
of each piece of the table, the counts are added up, and the grower decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Bools, Ints, ShortInts
from admercs.method.settings import Trees
from admercs.table.bins import Binning
from admercs.table.columns import Column
from admercs.trees.criteria import (
    ENTROPY,
    GINI,
    VARIANCE,
    SplitPrice,
    TreeRules,
    impurity,
    node_purity,
)
from admercs.trees.splitting import best_split
from admercs.trees.targets import ClassMap, map_classes
from admercs.trees.tree_nodes import TreeNodes, empty_nodes, left_codes, to_preorder, with_room

Hist = NDArray[np.signedinteger]


class TreeTarget(NamedTuple):
    """A column as its tree predicts it."""

    column: int
    rules: TreeRules
    class_of_code: NDArray[np.unsignedinteger] | None  # None for a target of moments
    low: float  # the smallest and the largest value of a target of moments
    high: float


class Layout(NamedTuple):
    """What all trees share: where each input column's codes start, and which are categories."""

    offsets: Ints
    is_nominal: Bools


class Counted(NamedTuple):
    """The rows of a node: how many, per input code, and their target added up."""

    n: int
    hist: Hist  # empty where nobody will ask
    totals: Ints


class SplitOrder(NamedTuple):
    """How a piece parts its rows at a split, and which half it counts."""

    node: int
    column: int
    is_left: Bools  # which codes go left
    children: tuple[int, int]
    small_left: bool
    counts: bool  # False: both halves are leaves whatever they hold, and need not be counted
    deeper: bool  # whether the histogram of the smaller half is wanted, or its totals only


class Split(NamedTuple):
    """A node that was split; its histogram waits for that of its smaller half."""

    order: SplitOrder
    depth: int
    counted: Counted


def layout_of(binning: Binning) -> Layout:
    """Return where the codes of each column start in a histogram."""
    ends = np.cumsum(binning.n_codes, dtype=np.int64)
    return Layout(np.concatenate([[0], ends]), binning.is_nominal)


def leaf_size(settings: Trees, n_rows: int) -> int:
    """Return the least number of rows of a leaf; a share of all rows is rounded up."""
    size = settings.min_samples_leaf
    if isinstance(size, int | np.integer):
        return int(size)
    return max(settings.min_rows, ceil(size * n_rows))


def make_target(m: int, column: Column, settings: Trees, code_counts: Ints) -> TreeTarget:
    """Bring a column into the form its tree predicts, given how often each code occurs."""
    nominal, n_rows = column.role == "nominal", int(code_counts.sum())
    moments = settings.price is None and not nominal
    classes = ClassMap(None, 0, -1, False)
    if not moments:
        classes = map_classes(code_counts, nominal, bool(column.distinct), settings)
    price = SplitPrice(
        settings.price, settings.min_impurity_decrease, n_rows, classes.n_classes, nominal
    )
    has_groups = settings.price is not None and n_rows < settings.group_rows
    rules = TreeRules(
        criterion=VARIANCE if moments else GINI if settings.price is None else ENTROPY,
        n_classes=classes.n_classes,
        ordered=classes.ordered,
        missing_class=classes.missing_class,
        max_depth=settings.max_depth,
        min_leaf=leaf_size(settings, n_rows),
        price=price,
        group_price=price._replace(price=settings.group_price) if has_groups else price,
        n_rows=n_rows,
    )
    return TreeTarget(m, rules, classes.class_of_code, *column.limits)


def widths(rules: TreeRules) -> tuple[int, int]:
    """Return how many numbers a code has in a histogram, and how many a node has in total."""
    if rules.moments:
        return 2, 4  # rows and sum; and the sum of squares in two halves
    return rules.n_classes, rules.n_classes


def is_final(totals: Ints, depth: int, rules: TreeRules) -> bool:
    """Say whether a node is a leaf whatever its histogram looks like."""
    amounts = totals.tolist()  # few numbers: a list is faster than an array
    n = amounts[0] if rules.moments else sum(amounts)
    if depth >= rules.max_depth or n < 2 * rules.min_leaf:
        return True
    if rules.moments:
        return impurity(totals, rules.criterion) <= 1e-12
    return bool(max(amounts) == n)  # all in one class


@dataclass
class Grower:
    """A tree while it grows."""

    target: TreeTarget
    layout: Layout
    nodes: TreeNodes = field(default_factory=lambda: empty_nodes(64))
    n_nodes: int = 1
    splits: list[Split] = field(default_factory=list)  # of the last level

    def decide(self, counts: list[Counted]) -> list[Split]:
        """Decide about the next level, given the counts that its splits wait for.

        The first call takes the counts of all rows. What the splits have counted is used up.
        """
        if self.n_nodes == 1 and not self.splits:
            self.splits = self._settle(0, 0, counts[0])
            return self.splits
        waiting = [split for split in self.splits if split.order.counts]
        self.splits = []
        for split, small in zip(waiting, counts, strict=True):
            self.splits += self._decide_halves(split, small)
        return self.splits

    def finished(self) -> tuple[TreeNodes, ShortInts]:
        """Return the nodes in preorder, and the new number of each node."""
        return to_preorder(self.nodes)

    def _decide_halves(self, split: Split, small: Counted) -> list[Split]:
        order, depth, (n, hist, totals) = split
        np.subtract(totals, small.totals, out=totals)
        if small.hist.size:
            np.subtract(hist, small.hist, out=hist)
        large = Counted(n - small.n, hist, totals)
        left, right = (small, large) if order.small_left else (large, small)
        found = self._settle(order.children[0], depth + 1, left)
        return found + self._settle(order.children[1], depth + 1, right)

    def _settle(self, node: int, depth: int, counted: Counted) -> list[Split]:
        """Decide about a node; a split gets two new nodes."""
        self._write(node, counted.n, counted.totals)
        choice = self._choose(node, depth, counted)
        nodes = self.nodes
        nodes.feature[node], nodes.bin[node], nodes.missing_left[node] = choice
        if choice[0] < 0:
            return []
        if self.n_nodes + 2 > len(nodes.feature):
            nodes = self.nodes = with_room(nodes, len(nodes.feature))
        left, right = nodes.left[node], nodes.right[node] = self.n_nodes, self.n_nodes + 1
        nodes.parent[left] = nodes.parent[right] = node
        self.n_nodes += 2
        return [self._split(node, depth, counted)]

    def _split(self, node: int, depth: int, counted: Counted) -> Split:
        """Find out how large the halves are; write them down if they are leaves for certain."""
        nodes, (offsets, is_nominal) = self.nodes, self.layout
        rules, width = self.target.rules, widths(self.target.rules)[0]
        column = int(nodes.feature[node])
        children = int(nodes.left[node]), int(nodes.right[node])
        cells = counted.hist[offsets[column] * width : offsets[column + 1] * width]
        cells = cells.reshape(-1, width)
        is_left = left_codes(nodes, [node], is_nominal[[column]], len(cells))[0]
        left: Ints = cells[is_left].sum(axis=0, dtype=np.int64)
        # Classes end before they are counted; of moments the last level needs totals only.
        ends, deeper = False, not rules.moments or depth + 1 < rules.max_depth
        if rules.moments:
            # A histogram of moments counts only rows with a value, and does not tell their squares.
            small_left = bool(2 * left[0] <= counted.totals[0])
        else:
            right = counted.totals - left
            n_left = sum(left.tolist())
            small_left = 2 * n_left <= counted.n
            ends = is_final(left, depth + 1, rules) and is_final(right, depth + 1, rules)
            if ends:
                self._write(children[0], n_left, left)
                self._write(children[1], counted.n - n_left, right)
        order = SplitOrder(node, column, is_left, children, small_left, not ends, deeper)
        return Split(order, depth, counted)

    def _write(self, node: int, n: int, totals: Ints) -> None:
        self.nodes.n[node] = n
        self.nodes.impurity[node] = impurity(totals, self.target.rules.criterion)

    def _choose(self, node: int, depth: int, counted: Counted) -> tuple[int, int, bool]:
        """Return column, bin and side of missing values of the best split; column -1: a leaf."""
        rules, (offsets, is_nominal), skip = self.target.rules, self.layout, self.target.column
        _, hist, totals = counted
        if is_final(totals, depth, rules):
            return -1, 0, False
        feature, code, missing_left, pure = best_split(
            hist, totals, offsets, is_nominal, skip, rules, self.nodes.bits[node]
        )
        if feature < 0:
            return -1, 0, False
        decrease = float(pure - node_purity(totals, rules.criterion))
        # Thresholds between the codes of all other columns; code 0 is missing.
        others = offsets[-1] - (offsets[skip + 1] - offsets[skip])
        candidates = int(others) - 2 * (len(is_nominal) - 1)
        above = self.nodes.parent[node]
        pays = rules.price.pays(decrease, candidates)
        self.nodes.paid[node] = pays and (above < 0 or self.nodes.paid[above])
        # A column that depends on nothing is not split at all.
        if pays or (above >= 0 and rules.group_price.pays(decrease, candidates)):
            return feature, code, missing_left
        return -1, 0, False
