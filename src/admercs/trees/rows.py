"""Growing a tree from rows in memory: each split parts its rows, and the smaller half is counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.grow import Counted, Growing, GrowthRules, Layout, Split, widths
from admercs.trees.histograms import CLASSES, add_rows, histogram_type, total_up
from admercs.trees.nodes import NodeArrays


@kernel
def partition(column, is_left, rows, values, spare_rows, spare_values):  # type: ignore[no-untyped-def]
    """Reorder a node's rows and their targets, left ones first, each side in its old order.

    Which way a row goes cannot be predicted: it is written to both sides, and only one of them moves on.
    Returns how many go left.
    """
    n_left, n_right = np.uint64(0), np.uint64(0)
    for i in range(np.uint64(len(rows))):
        row, value = rows[i], values[i]
        left = np.uint64(is_left[np.uint64(column[np.uint64(row)])])
        rows[n_left], values[n_left] = row, value
        spare_rows[n_right], spare_values[n_right] = row, value
        n_left += left
        n_right += np.uint64(1) - left
    for i in range(n_right):
        rows[n_left + i], values[n_left + i] = spare_rows[i], spare_values[i]
    return np.int64(n_left)


class Rows:
    """The rows of a table, sorted by the node they are in.

    The target's values are used up: they are brought into the same order.
    """

    def __init__(
        self,
        codes: NDArray[np.uint8] | NDArray[np.uint16],
        target: NDArray[np.unsignedinteger] | NDArray[np.int32],
        tree: Growing,
    ) -> None:
        self._codes, self._target, self._tree = codes, target, tree
        self._rows = np.arange(len(target), dtype=np.int32)
        self._spare = np.empty_like(self._rows), np.empty_like(target)
        self._at = {0: slice(0, len(target))}

    def count_all(self) -> Counted:
        """Count all rows."""
        return self._count(self._at[0], whole=True)

    def part(self, split: Split) -> None:
        """Sort the rows of a split into its two halves."""
        nodes, mine = self._tree.nodes, self._at.pop(split.node)
        n_left = partition(
            self._codes[nodes.feature[split.node]], split.is_left, self._rows[mine],
            self._target[mine], *self._spare,
        )  # fmt: skip
        middle = mine.start + n_left
        self._at[int(nodes.left[split.node])] = slice(mine.start, middle)
        self._at[int(nodes.right[split.node])] = slice(middle, mine.stop)

    def count_small(self, split: Split) -> Counted:
        """Count the smaller half of a split whose rows were parted."""
        nodes = self._tree.nodes
        child = (nodes.left if split.small_left else nodes.right)[split.node]
        return self._count(self._at[int(child)], split)

    def mark_leaves(self, number: NDArray[np.int32], leaf_of_row: NDArray) -> None:
        """Write down the leaf of each row, by its new number."""
        for node, mine in self._at.items():  # once per tree: not worth the time to compile a kernel
            leaf_of_row[self._rows[mine]] = number[node]

    def _count(self, mine: slice, split: Split | None = None, whole: bool = False) -> Counted:
        tree, rules = self._tree, self._tree.rules
        width = widths(rules)[0]
        rows, values = self._rows[mine], self._target[mine]
        totals = self._total_up(values, split)
        # A split into classes is never counted if it ends: that shows beforehand.
        deeper = split is None or rules.form == CLASSES or not tree.ends(split, totals)
        offsets = tree.layout.offsets
        cells = offsets[-1] * width if deeper else 0
        hist = np.zeros(cells, histogram_type(rules.form, rules.n_rows))
        if deeper:
            add_rows(
                self._codes, rows, values, rules.form, width, offsets, tree.target, whole, hist
            )
        return Counted(len(rows), hist, totals)

    def _total_up(
        self, values: NDArray[np.unsignedinteger] | NDArray[np.int32], split: Split | None
    ) -> NDArray[np.int64]:
        if split is not None and split.small_totals is not None:
            return split.small_totals
        rules = self._tree.rules
        n_totals = widths(rules)[1]
        if rules.form == CLASSES:  # once per tree: not worth the time to compile a kernel for it
            return np.bincount(values, minlength=n_totals)
        totals = np.zeros(n_totals, np.int64)
        total_up(values, rules.form, totals)
        return totals


def grow_tree(
    codes: NDArray[np.uint8] | NDArray[np.uint16],
    target: NDArray[np.unsignedinteger] | NDArray[np.int32],
    column: int,
    layout: Layout,
    rules: GrowthRules,
    leaf_of_row: NDArray[np.unsignedinteger],
) -> NodeArrays:
    """Grow the tree for a column; fill `leaf_of_row`, return the nodes. The target is used up.

    Depth first: few histograms wait at a time.
    """
    tree = Growing(column, rules, layout)
    rows = Rows(codes, target, tree)
    waiting = tree.plant(rows.count_all())
    while waiting:
        split = waiting.pop()
        rows.part(split)
        if not split.ends:
            waiting += tree.advance(split, rows.count_small(split))[::-1]
    nodes, number = tree.finished()
    rows.mark_leaves(number, leaf_of_row)
    return nodes
