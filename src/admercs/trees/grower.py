"""Growing one tree from histograms, wherever its rows are.

A tree grows level by level. `input_choice` says which inputs of a node are worth looking at,
`node_rows` counts these for the rows of each piece of the table, the counts are added up, and the
grower decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs.arrays import Array, Ints
from admercs.trees.criteria import TreeTarget, impurity, purity
from admercs.trees.forest import category_bits, empty_nodes, with_room
from admercs.trees.input_choice import InputChoice
from admercs.trees.split_orders import Counted, Layout, Look, SplitOrder
from admercs.trees.splitting import best_split, cells_of


class OpenNode(NamedTuple):
    """A node that waits for its counts."""

    node: int
    depth: int
    totals: Ints  # of its classes
    look: Look


class Grower:
    """A tree while it grows; `choice` is None where all inputs are looked at everywhere."""

    def __init__(self, target: TreeTarget, layout: Layout, choice: InputChoice | None) -> None:
        self.target, self.layout, self.nodes = target, layout, empty_nodes(64)
        self._choice, self._n_nodes = choice, 1
        totals = target.class_totals
        if not target.moments:
            self._write(0, target.n_rows, totals)
        self._open = self._opened(0, 0, totals)

    @property
    def looks(self) -> list[Look]:
        """What is to be counted of the nodes that wait; at first of the root."""
        return [each.look for each in self._open]

    def decide(self, counts: list[Counted]) -> list[SplitOrder]:
        """Decide about the nodes that wait, and open their halves."""
        waiting, self._open = self._open, []
        orders = map(self._settle, waiting, counts)
        return [order for order in orders if order is not None]

    def _opened(self, node: int, depth: int, totals: Ints) -> list[OpenNode]:
        """Return a new node if it may be split, or nothing has been written down about it yet."""
        target, every = self.target, np.arange(len(self.layout.inputs))
        if target.moments:
            # The last level needs totals only.
            every = every if depth < target.settings.max_depth else every[:0]
            return [OpenNode(node, depth, totals, self.layout.look(every))]
        if target.is_final(totals, depth):
            return []
        places = every if self._choice is None else self._choice.choose(node)
        if places is None or not len(places):
            return []
        return [OpenNode(node, depth, totals, self.layout.look(places))]

    def _settle(self, waiting: OpenNode, counted: Counted) -> SplitOrder | None:
        """Decide about a node; a split gets two new nodes."""
        node, depth, totals, look = waiting
        if self.target.moments:
            totals = counted.totals
            self._write(node, counted.n, totals)
            if self.target.is_final(totals, depth):
                return None
        choice = self._best_split(node, counted.hist, totals, look)
        if choice is None:
            return None
        nodes, (k, code, missing_left) = self.nodes, choice
        nodes.feature[node], nodes.bin[node] = look.columns[k], code
        nodes.missing_left[node] = missing_left
        if self._n_nodes + 2 > len(nodes.feature):
            nodes = self.nodes = with_room(nodes, len(nodes.feature))
        left, right = nodes.left[node], nodes.right[node] = self._n_nodes, self._n_nodes + 1
        nodes.parent[left] = nodes.parent[right] = node
        self._n_nodes += 2
        place = int(look.places[k])
        cells = cells_of(counted.hist, look.offsets, k, self.target.width)
        return self._part(node, place, cells, depth + 1, totals)

    def _part(self, node: int, place: int, cells: Array, depth: int, totals: Ints) -> SplitOrder:
        """Part a node, and open its halves where they may be split again."""
        nodes, target, code = self.nodes, self.target, int(self.nodes.bin[node])
        children = int(nodes.left[node]), int(nodes.right[node])
        is_left = np.arange(len(cells)) <= code
        is_left[0] = nodes.missing_left[node]
        if self.layout.is_nominal[place]:
            is_left = category_bits(nodes.bits[node])[: len(cells)]
        order = SplitOrder(node, int(nodes.feature[node]), is_left, children, (None, None))
        halves = totals, totals
        if not target.moments:
            left: Ints = cells[is_left].sum(axis=0, dtype=np.int64)
            halves = left, totals - left
            for child, half in zip(children, halves, strict=True):
                self._write(child, sum(half.tolist()), half)
            if self._choice is not None:
                self._choice.part(order, place, code)
        opened = [
            self._opened(*each) for each in zip(children, (depth, depth), halves, strict=True)
        ]
        self._open += [each for found in opened for each in found]
        first, second = (found[0].look if found else None for found in opened)
        return order._replace(looks=(first, second))

    def _write(self, node: int, n: int, totals: Ints) -> None:
        self.nodes.n[node] = n
        self.nodes.impurity[node] = impurity(totals, self.target.criterion)

    def _best_split(
        self, node: int, hist: Array, totals: Ints, look: Look
    ) -> tuple[int, int, bool] | None:
        """Return input, bin and side of missing values of the best split; None for a leaf.

        Inputs are counted among those that were looked at.
        """
        target, is_nominal = self.target, self.layout.is_nominal[look.places]
        k, code, missing_left, pure = best_split(
            hist, totals, look.offsets, is_nominal, target, self.nodes.bits[node]
        )
        if k < 0:
            return None
        decrease = float(pure - purity(totals, target.criterion))
        candidates, above = self.layout.candidates, self.nodes.parent[node]
        pays = target.pays(decrease, candidates, target.settings.price)
        self.nodes.paid[node] = pays and (above < 0 or self.nodes.paid[above])
        # A column that depends on nothing is not split at all.
        if pays or (above >= 0 and target.pays(decrease, candidates, target.group_price)):
            return k, code, missing_left
        return None
