"""Growing one tree from histograms, wherever its rows are.

The root is decided from the histogram of all rows. A node that is split waits until the rows of
the smaller of its two halves have been counted (the other half's histogram is the parent's minus
that one); then both halves are decided. A tree grows level by level: `node_rows` counts the rows
of each piece of the table, the counts are added up, and the grower decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Bools, Ints
from admercs.table.bins import Binning
from admercs.trees.criteria import TreeTarget, impurity, purity
from admercs.trees.forest import TreeNodes, category_bits, empty_nodes, with_room
from admercs.trees.splitting import best_split, cells_of

Hist = NDArray[np.signedinteger]


class Layout(NamedTuple):
    """The inputs of a tree, the columns that its conditions may be about, in its histograms."""

    inputs: Ints  # their numbers, ascending
    offsets: Ints  # where the codes of each input start, and where the last ones end
    is_nominal: Bools
    candidates: int  # how many thresholds there are to choose from


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


def layout_of(binning: Binning, inputs: Ints) -> Layout:
    """Return where the codes of some columns start in a histogram."""
    offsets = np.concatenate([[0], np.cumsum(binning.n_codes[inputs], dtype=np.int64)])
    # Thresholds lie between the codes of a column; code 0 is missing.
    candidates = int(offsets[-1]) - 2 * len(inputs)
    return Layout(inputs, offsets, binning.is_nominal[inputs], candidates)


@dataclass
class Grower:
    """A tree while it grows."""

    target: TreeTarget
    layout: Layout
    nodes: TreeNodes = field(default_factory=lambda: empty_nodes(64))
    n_nodes: int = 1
    splits: list[Split] = field(default_factory=list)  # of the last level

    def decide(self, counts: list[Counted]) -> list[Split]:
        """Decide about the next level from the counts its splits wait for, at first of all rows."""
        if self.n_nodes == 1 and not self.splits:
            self.splits = self._settle(0, 0, counts[0])
            return self.splits
        waiting = [split for split in self.splits if split.order.counts]
        halves = map(self._decide_halves, waiting, counts)
        self.splits = [split for found in halves for split in found]
        return self.splits

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
        if choice is None:
            return []
        nodes, (place, *_) = self.nodes, choice
        nodes.feature[node] = self.layout.inputs[place]
        _, nodes.bin[node], nodes.missing_left[node] = choice
        if self.n_nodes + 2 > len(nodes.feature):
            nodes = self.nodes = with_room(nodes, len(nodes.feature))
        left, right = nodes.left[node], nodes.right[node] = self.n_nodes, self.n_nodes + 1
        nodes.parent[left] = nodes.parent[right] = node
        self.n_nodes += 2
        return [self._split(node, place, depth, counted)]

    def _split(self, node: int, place: int, depth: int, counted: Counted) -> Split:
        """Find out how large the halves are; write them down if they are leaves for certain."""
        nodes, target, layout = self.nodes, self.target, self.layout
        children = int(nodes.left[node]), int(nodes.right[node])
        cells = cells_of(counted.hist, layout.offsets, place, target.width)
        is_left = np.arange(len(cells)) <= nodes.bin[node]
        is_left[0] = nodes.missing_left[node]
        if layout.is_nominal[place]:
            is_left = category_bits(nodes.bits[node])[: len(cells)]
        left: Ints = cells[is_left].sum(axis=0, dtype=np.int64)
        # Classes end before they are counted; of moments the last level needs totals only.
        ends, deeper = False, not target.moments or depth + 1 < target.settings.max_depth
        if target.moments:
            # A histogram of moments counts only rows with a value, and does not tell their squares.
            small_left = bool(2 * left[0] <= counted.totals[0])
        else:
            right = counted.totals - left
            n_left = sum(left.tolist())
            small_left = 2 * n_left <= counted.n
            ends = target.is_final(left, depth + 1) and target.is_final(right, depth + 1)
            if ends:
                self._write(children[0], n_left, left)
                self._write(children[1], counted.n - n_left, right)
        column = int(nodes.feature[node])
        order = SplitOrder(node, column, is_left, children, small_left, not ends, deeper)
        return Split(order, depth, counted)

    def _write(self, node: int, n: int, totals: Ints) -> None:
        self.nodes.n[node] = n
        self.nodes.impurity[node] = impurity(totals, self.target.criterion)

    def _choose(self, node: int, depth: int, counted: Counted) -> tuple[int, int, bool] | None:
        """Return input, bin and side of missing values of the best split; None for a leaf."""
        target, layout, (_, hist, totals) = self.target, self.layout, counted
        if target.is_final(totals, depth):
            return None
        place, code, missing_left, pure = best_split(
            hist, totals, layout.offsets, layout.is_nominal, target, self.nodes.bits[node]
        )
        if place < 0:
            return None
        decrease = float(pure - purity(totals, target.criterion))
        candidates = layout.candidates
        above = self.nodes.parent[node]
        pays = target.pays(decrease, candidates, target.settings.price)
        self.nodes.paid[node] = pays and (above < 0 or self.nodes.paid[above])
        # A column that depends on nothing is not split at all.
        if pays or (above >= 0 and target.pays(decrease, candidates, target.group_price)):
            return place, code, missing_left
        return None
