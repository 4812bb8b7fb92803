"""The rows of one piece of the table, sorted by the node they are in while a tree grows.

They are counted in histograms, all that a split search needs to see. A histogram is a flat array of
integers: for the f-th input and code c, the `width` statistics of the rows with that code start at
``(offsets[f] + c) * width``. Class targets keep one count per class, moment targets the number of
rows and the sum of their fixed-point values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.arrays import Array, Codes, Floats, ShortInts
from admercs.trees.criteria import SCALE_BITS, TreeTarget, fixed_point
from admercs.trees.split_orders import Counted, Hist, Look, SplitOrder


@dataclass
class NodeRows:
    """The rows of a piece for one tree; parting them changes the arrays in place."""

    rows: ShortInts
    target: NDArray[np.unsignedinteger] | ShortInts  # in the order of `rows`
    at: dict[int, slice]  # where the rows of each node lie that is not split yet
    spare_rows: ShortInts
    spare_target: NDArray[np.unsignedinteger] | ShortInts

    @classmethod
    def start(
        cls, codes: Codes, target: TreeTarget, values: Callable[[], Floats] | None = None
    ) -> NodeRows:
        """Put all rows of a piece into the root; targets of moments need its values."""
        if target.class_of_code is not None:
            predicted = target.class_of_code[codes[target.column]]
        elif values is None:
            raise ValueError("codes do not tell the moments of a target")
        else:
            predicted = fixed_point(values(), target.low, target.high)
        n_rows = codes.shape[1]
        rows = np.arange(n_rows, dtype=np.int32)
        return cls(
            rows, predicted, {0: slice(0, n_rows)}, np.empty_like(rows), np.empty_like(predicted)
        )

    def part(self, codes: Codes, order: SplitOrder) -> None:
        """Sort the rows of a node into its two halves."""
        mine = self.at.pop(order.node)
        n_left = partition(
            codes[order.column], order.is_left, self.rows[mine], self.target[mine],
            self.spare_rows, self.spare_target,
        )  # fmt: skip
        middle = mine.start + n_left
        self.at[order.children[0]] = slice(mine.start, middle)
        self.at[order.children[1]] = slice(middle, mine.stop)

    def count(self, codes: Codes, node: int, target: TreeTarget, look: Look) -> Counted:
        """Count the rows of a node."""
        rows, values = self.rows[self.at[node]], self.target[self.at[node]]
        totals = np.zeros(4, np.int64)  # rows and sum, and the sum of squares in two halves
        # Counts of up to 2 ** 31 rows fit into half the memory.
        is_long = target.moments or target.n_rows >= 2**31
        cells = look.offsets[-1] * target.width
        hist: Hist = np.zeros(cells, np.int64 if is_long else np.int32)
        if target.moments:
            total_up(values, totals)
            add_moments(codes, look.columns, rows, values, look.offsets, hist)
        else:
            is_whole = len(rows) == codes.shape[1]
            add_rows(codes, look.columns, rows, values, target.width, look.offsets, is_whole, hist)
        return Counted(len(rows), hist, totals)

    def mark_leaves(self, number: ShortInts, leaf_of_row: Array) -> None:
        """Write down the leaf of each row, by its new number."""
        for node, mine in self.at.items():
            leaf_of_row[self.rows[mine]] = number[node]


def add_counts(parts: Sequence[Counted]) -> Counted:
    """Add up what several pieces counted of a node."""
    if len(parts) == 1:
        return parts[0]
    hist, totals = parts[0].hist.copy(), parts[0].totals.copy()
    for part in parts[1:]:
        hist += part.hist
        totals += part.totals
    return Counted(sum(part.n for part in parts), hist, totals)


@kernel
def total_up(values, totals):  # type: ignore[no-untyped-def]
    """Add a node's target of moments up: count, sum and exact sum of squares."""
    mask = (np.int64(1) << SCALE_BITS) - 1
    for i in range(len(values)):
        value = np.int64(values[i])
        if value >= 0:
            square = value * value
            totals[0] += 1
            totals[1] += value
            totals[2] += square >> SCALE_BITS
            totals[3] += square & mask


@kernel
def add_moments(codes, inputs, rows, values, offsets, hist):  # type: ignore[no-untyped-def]
    """Count rows of a node, and add up their values, per code of each input."""
    for f in range(len(inputs)):
        column = codes[np.uint64(inputs[f])]
        for i in range(np.uint64(len(rows))):
            if values[i] >= 0:
                cell = 2 * (np.uint64(offsets[f]) + np.uint64(column[np.uint64(rows[i])]))
                hist[cell] += 1
                hist[cell + np.uint64(1)] += values[i]


@kernel
def add_rows(  # type: ignore[no-untyped-def]
    codes, inputs, rows, values, width, offsets, whole, hist
):
    """Count rows of a node per code of each input.

    `whole`: the node holds all rows in order, so that no row numbers need to be looked up.
    """
    n, step = np.uint64(len(rows)), np.uint64(width)
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    for f in range(len(inputs)):
        column = codes[np.uint64(inputs[f])]
        base = np.uint64(offsets[f]) * step
        if whole:
            for i in range(n):
                hist[base + np.uint64(column[i]) * step + np.uint64(values[i])] += 1
        else:
            for i in range(n):
                code = np.uint64(column[np.uint64(rows[i])])
                hist[base + code * step + np.uint64(values[i])] += 1


@kernel
def partition(  # type: ignore[no-untyped-def]
    column, is_left, rows, values, spare_rows, spare_values
):
    """Reorder a node's rows and their targets, left ones first, each side in its old order.

    Which way a row goes cannot be predicted: it is written to both sides, and only one of them
    moves on. Returns how many go left.
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
