"""Growing one tree from histograms, wherever its rows are.

A tree is planted with the histogram of all rows. A node that is split waits until somebody has counted the
smaller of its two halves (its sibling's histogram is the parent's minus it), and then both are decided about. Who
counts, and which of the waiting splits come first, makes no difference to the tree: rows in memory are parted and
counted split by split (`rows`), rows in many pieces level by level (`levels`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.table.bins import Binning
from admercs.trees.criteria import XLOGX, earns_split, impurity, node_purity
from admercs.trees.histograms import CLASSES, MOMENT_WIDTH, N_MOMENTS, code_offsets
from admercs.trees.nodes import (
    NodeArrays,
    empty_nodes,
    left_codes,
    preorder,
    renumber,
    with_room,
)
from admercs.trees.splits import best_split

Ints = NDArray[np.int64]
Hist = NDArray[np.signedinteger]  # see histogram_type


class GrowthRules(NamedTuple):
    """When to split and when to stop, for one target."""

    form: int  # CLASSES or MOMENTS
    criterion: int
    n_classes: int
    ordered: bool
    missing_class: int
    nominal: bool
    max_depth: int
    min_leaf: int
    rule: int
    amount: float
    fine_amount: float  # of a split that tells contexts apart, and whose halves judge nobody
    n_rows: int


class Layout(NamedTuple):
    """What all trees share: where each input column's codes start, and which are categories."""

    offsets: Ints
    is_nominal: NDArray[np.bool_]


def layout_of(binning: Binning) -> Layout:
    """Return where the codes of each column start in a histogram."""
    return Layout(code_offsets(binning.n_codes), binning.is_nominal)


class Counted(NamedTuple):
    """The rows of a node: how many, per input code, and their target added up."""

    n: int
    hist: Hist  # empty where nobody will ask
    totals: Ints


class Split(NamedTuple):
    """A node that was split; its histogram waits for that of its smaller half."""

    node: int
    depth: int
    is_left: NDArray[np.bool_]  # which codes go left
    small_left: bool
    ends: bool  # both halves are leaves whatever they hold, and need not be counted
    counted: Counted
    small_totals: Ints | None  # of the smaller half, where the histogram tells them: rows per class


def widths(rules: GrowthRules) -> tuple[int, int]:
    """Return how many numbers a code has in a histogram, and how many a node has in total."""
    if rules.form == CLASSES:
        return rules.n_classes, rules.n_classes
    return MOMENT_WIDTH, N_MOMENTS


def most_nodes(max_depth: int, min_leaf: int, n_rows: int) -> int:
    """Return how many nodes a tree can have at most."""
    return int(min(2 ** (max_depth + 1), 2 * (n_rows // min_leaf) + 1)) + 1


def is_leaf(totals: Ints, depth: int, rules: GrowthRules) -> bool:
    """Say whether a node is a leaf whatever its histogram looks like."""
    amounts = totals.tolist()  # few numbers: a list is faster than an array
    n = sum(amounts) if rules.form == CLASSES else amounts[0]
    if depth >= rules.max_depth or n < 2 * rules.min_leaf:
        return True
    if rules.form == CLASSES:
        return max(amounts) == n  # all in one class
    return bool(impurity(totals, rules.criterion, XLOGX) <= 1e-12)


@dataclass
class Growing:
    """A tree while it grows."""

    target: int  # the column it predicts, which is no input
    rules: GrowthRules
    layout: Layout
    nodes: NodeArrays = field(default_factory=lambda: empty_nodes(64))
    n_nodes: int = 1
    root_impurity: float = 0.0

    def plant(self, counted: Counted) -> list[Split]:
        """Decide about the root; return its split, if it has one."""
        self.root_impurity = float(impurity(counted.totals, self.rules.criterion, XLOGX))
        return self._settle(0, 0, counted)

    def advance(self, split: Split, small: Counted) -> list[Split]:
        """Decide about both halves of a split, given its smaller one; return theirs, left first.

        The counts of the split are used up.
        """
        n, hist, totals = split.counted
        np.subtract(totals, small.totals, out=totals)
        if small.hist.size:
            np.subtract(hist, small.hist, out=hist)
        large = Counted(n - small.n, hist, totals)
        halves = (small, large) if split.small_left else (large, small)
        children = int(self.nodes.left[split.node]), int(self.nodes.right[split.node])
        found: list[Split] = []
        for child, half in zip(children, halves, strict=True):
            found += self._settle(child, split.depth + 1, half)
        return found

    def ends(self, split: Split, small_totals: Ints) -> bool:
        """Say whether both halves of a split are leaves, so that only their totals matter."""
        return self._end(split.depth + 1, small_totals, split.counted.totals - small_totals)

    def finished(self) -> tuple[NodeArrays, NDArray[np.int32]]:
        """Return the nodes in preorder, and the new number of each node."""
        return renumber(self.nodes, preorder(self.nodes))

    def _settle(self, node: int, depth: int, counted: Counted) -> list[Split]:
        """Decide about a node; a split gets two new nodes."""
        self._write(node, counted.n, counted.totals)
        choice = self._decide(node, depth, counted)
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
        """Find out how large the halves of a split are; write them down if they are leaves for certain."""
        nodes, (offsets, is_nominal), width = self.nodes, self.layout, widths(self.rules)[0]
        column = nodes.feature[node]
        cells = counted.hist[offsets[column] * width : offsets[column + 1] * width]
        cells = cells.reshape(-1, width)
        is_left = left_codes(nodes, [node], is_nominal[[column]], len(cells))[0]
        left: Ints = cells[is_left].sum(axis=0, dtype=np.int64)
        if self.rules.form != CLASSES:
            # A histogram of moments counts only the rows with a value, and does not tell their squares.
            small_left = bool(2 * left[0] <= counted.totals[0])
            return Split(node, depth, is_left, small_left, False, counted, None)
        right = counted.totals - left
        n_left = sum(left.tolist())
        ends = self._end(depth + 1, left, right)
        if ends:
            self._write(int(nodes.left[node]), n_left, left)
            self._write(int(nodes.right[node]), counted.n - n_left, right)
        small_left = 2 * n_left <= counted.n
        return Split(node, depth, is_left, small_left, ends, counted, left if small_left else right)

    def _write(self, node: int, n: int, totals: Ints) -> None:
        self.nodes.n[node] = n
        self.nodes.impurity[node] = impurity(totals, self.rules.criterion, XLOGX)

    def _end(self, depth: int, *halves: Ints) -> bool:
        return all(is_leaf(totals, depth, self.rules) for totals in halves)

    def _decide(self, node: int, depth: int, counted: Counted) -> tuple[int, int, bool]:
        """Return column, bin and side of missing values of the best split; column -1 for a leaf."""
        rules, (offsets, is_nominal), skip = self.rules, self.layout, self.target
        _, hist, totals = counted
        if is_leaf(totals, depth, rules):
            return -1, 0, False
        feature, code, missing_left, pure = best_split(
            hist, totals, offsets, is_nominal, skip, rules.criterion, rules.min_leaf, XLOGX,
            rules.ordered, rules.missing_class, self.nodes.bits[node],
        )  # fmt: skip
        if feature < 0:
            return -1, 0, False
        decrease = pure - node_purity(totals, rules.criterion, XLOGX)
        # Thresholds between the codes of all other columns; code 0 is missing.
        others = offsets[-1] - (offsets[skip + 1] - offsets[skip])
        candidates = int(others) - 2 * (len(is_nominal) - 1)
        known = rules.n_classes, candidates, rules.nominal
        worth = decrease, rules.n_rows, self.root_impurity, rules.rule
        above = self.nodes.parent[node]
        earned = earns_split(*worth, rules.amount, *known)
        self.nodes.earned[node] = earned and (above < 0 or self.nodes.earned[above])
        # A column that depends on nothing is not split at all.
        fine = above >= 0 and earns_split(*worth, rules.fine_amount, *known)
        return (feature, code, missing_left) if earned or fine else (-1, 0, False)
