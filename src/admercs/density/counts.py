"""Passes over the rows: how often each code and each value occurs in each distribution.

Every result is made of integers, so pieces of a table can be counted apart and added in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from admercs._compile import kernel, read_only
from admercs.arrays import Codes, Floats, Ints, ShortInts
from admercs.density.grids import Grids
from admercs.density.ragged import owners, pointers
from admercs.trees.forest import Forest

ONE = 1 << 8  # the weight of one row; it is shared between the two cells around the row's value
FAR = 1 << 50  # cells further out are one cell: there a float64 no longer tells neighbours apart


class TargetPlan(NamedTuple):
    """The slots of one target: the nodes of its tree that need a distribution, the root first.

    Leaves are numbered from left to right, so in preorder a slot is a range of leaves.
    """

    target: int
    first_node: int  # the root; `leaf_index` is relative to it
    nodes: Ints  # per slot: its node, ascending
    leaf_index: ShortInts  # per node of the tree: its number among the leaves, or -1
    leaf_start: Ints  # per slot: its first leaf
    leaf_stop: Ints  # per slot: one past its last leaf

    @property
    def n_leaves(self) -> int:
        """Number of leaves of the tree."""
        return int(self.leaf_index.max()) + 1


def plan_target(forest: Forest, target: int, nodes: Ints, stops: Ints) -> TargetPlan:
    """Plan the distributions of some nodes of one tree: ascending node numbers, the root first.

    `stops` are those of the forest, see there.
    """
    start, stop = int(forest.root[target]), int(forest.root[target + 1])
    is_leaf = forest.feature[start:stop] < 0
    leaf_index = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
    leaves_before = pointers(is_leaf.astype(np.int64))
    first, last = leaves_before[nodes - start], leaves_before[stops[nodes] - start]
    return TargetPlan(target, start, nodes, leaf_index, first, last)


class ValueCounts(NamedTuple):
    """Rows per cell of each slot's grid, cells in ascending order, empty cells left out.

    A row between two cells weighs on both (linear binning). Cells continue beyond the grid's core
    without end, so no value is clipped and none stretches the grid.
    """

    ptr: Ints  # slots + 1
    cell: Ints
    weight: Ints


def count_codes(
    codes: Codes, leaves: ShortInts, plan: TargetPlan, n_codes: int, shift: int = 0
) -> Ints:
    """Count each leaf's codes, 2 ** ``shift`` of them as one; the counts of pieces add up."""
    joined = ((codes.astype(np.int64) - 1) >> shift) + 1 if shift else codes  # 0 stays 0
    cell = plan.leaf_index[leaves - plan.first_node] * np.int64(n_codes) + joined
    return np.bincount(cell, minlength=plan.n_leaves * n_codes).reshape(-1, n_codes)


def node_counts(plan: TargetPlan, leaf_counts: Ints) -> Ints:
    """Add up the counts of the leaves below each slot's node."""
    before = np.cumsum(np.insert(leaf_counts, 0, 0, axis=0), axis=0)
    return before[plan.leaf_stop] - before[plan.leaf_start]


def count_values(values: Floats, leaves: ShortInts, plan: TargetPlan, grids: Grids) -> ValueCounts:
    """Count working values on the grid of every slot they belong to; NaN is left out."""
    values = read_only(np.ascontiguousarray(values, dtype=np.float64))
    leaves = np.ascontiguousarray(leaves, dtype=np.int32)
    ordered, end = np.empty(len(values)), np.zeros(plan.n_leaves + 1, dtype=np.int64)
    _sort_by_leaf(values, leaves, plan.first_node, plan.leaf_index, ordered, end[1:])
    # Slots that share leaves count the same values.
    begin, stop = end[plan.leaf_start], end[plan.leaf_stop]
    # A row weighs at most ONE on a cell; half the memory is twice as fast.
    counter = np.int32 if len(values) * ONE < 2**31 else np.int64
    at, core = pointers(grids.size), np.zeros(int(grids.size.sum()), dtype=counter)
    outside, n_outside = np.empty(int((stop - begin).sum())), np.zeros(len(begin), dtype=np.int64)
    _count_core(ordered, begin, stop, grids.left, 1.0 / grids.width, at, core, outside, n_outside)
    # The others are few. Those next to the core weigh on its first or its last cell, too.
    place = np.clip(outside[: n_outside.sum()], -float(FAR), float(FAR))
    lower = np.floor(place).astype(np.int64)
    upper_weight = ((place - lower) * ONE + 0.5).astype(np.int64)
    weight = np.concatenate((ONE - upper_weight, upper_weight))
    slot, cell = np.tile(owners(pointers(n_outside)), 2), np.concatenate((lower, lower + 1))
    within = (cell >= 0) & (cell < grids.size[slot])
    np.add.at(core, at[slot[within]] + cell[within], weight[within].astype(counter))
    order = np.lexsort((cell, slot))
    order = order[(weight > 0)[order] & ~within[order]]
    slot, cell, weight = slot[order], cell[order], weight[order]
    first = np.flatnonzero((np.diff(slot, prepend=-1) != 0) | (np.diff(cell, prepend=0) != 0))
    n_beyond = np.bincount(slot[first], minlength=len(begin))
    beyond = ValueCounts(pointers(n_beyond), cell[first], np.add.reduceat(weight, first))
    ptr, room = np.zeros_like(at), len(core) + len(first)
    cells, weights = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    used = _gather(core, at, *beyond, ptr, cells, weights)
    return ValueCounts(ptr, cells[:used], weights[:used])


def merge_values(pieces: Sequence[ValueCounts]) -> ValueCounts:
    """Add up the counts of pieces of a table. The order of the pieces does not matter."""
    return reduce(_merge_two, pieces)


def _merge_two(one: ValueCounts, other: ValueCounts) -> ValueCounts:
    ptr = np.zeros_like(one.ptr)
    cell, weight = np.empty((2, len(one.cell) + len(other.cell)), dtype=np.int64)
    used = _merge(*one, *other, ptr, cell, weight)
    return ValueCounts(ptr, cell[:used], weight[:used])


@kernel
def _sort_by_leaf(
    values: Floats, leaves: ShortInts, first_node: int, leaf_index: ShortInts,
    ordered: Floats, end: Ints,
) -> None:  # fmt: skip
    """Sort values by leaf, NaN left out; write where those of each leaf end."""
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    for i in range(np.uint64(len(values))):
        if not math.isnan(values[i]):
            end[np.uint64(leaf_index[np.uint64(leaves[i] - first_node)])] += 1
    before = np.int64(0)
    for leaf in range(len(end)):
        rows = end[leaf]
        end[leaf] = before
        before += rows
    for i in range(np.uint64(len(values))):
        if not math.isnan(values[i]):
            its_leaf = np.uint64(leaf_index[np.uint64(leaves[i] - first_node)])
            ordered[np.uint64(end[its_leaf])] = values[i]
            end[its_leaf] += 1


@kernel
def _count_core(  # type: ignore[no-untyped-def]
    values, begin, stop, left, inverse, at, core, outside, n_outside
):
    """Count the values within the core of each slot; list the places of the others."""
    used, one = np.uint64(0), np.uint64(1)
    for slot in range(len(begin)):
        first, last = np.uint64(at[slot]), np.float64(at[slot + 1] - at[slot] - 1)
        before = used
        for i in range(np.uint64(begin[slot]), np.uint64(stop[slot])):
            place = (values[i] - left[slot]) * inverse[slot]
            if 0.0 <= place < last:
                lower = np.uint64(place)
                upper_weight = np.int64((place - lower) * ONE + 0.5)
                core[first + lower] += ONE - upper_weight
                core[first + lower + one] += upper_weight
            else:
                outside[used] = place
                used += one
        n_outside[slot] = used - before


@kernel
def _gather(  # type: ignore[no-untyped-def]
    core, at, ptr_beyond, cell_beyond, weight_beyond, ptr, cell, weight
):
    """List the filled cells of each slot, those beyond its core too; return how many there are."""
    used, one = np.uint64(0), np.uint64(1)
    for slot in range(len(ptr) - 1):
        j, end = np.uint64(ptr_beyond[slot]), np.uint64(ptr_beyond[slot + 1])
        first, last = np.uint64(at[slot]), np.uint64(at[slot + 1])
        while j < end and cell_beyond[j] < 0:
            cell[used], weight[used] = cell_beyond[j], weight_beyond[j]
            j, used = j + one, used + one
        for i in range(first, last):
            # Which cells are filled cannot be predicted: all are written, and some move on.
            cell[used], weight[used] = i - first, core[i]
            used += np.uint64(core[i] != 0)
        while j < end:
            cell[used], weight[used] = cell_beyond[j], weight_beyond[j]
            j, used = j + one, used + one
        ptr[slot + 1] = used
    return np.int64(used)


@kernel
def _merge(
    ptr_a: Ints, cell_a: Ints, weight_a: Ints, ptr_b: Ints, cell_b: Ints, weight_b: Ints,
    ptr: Ints, cell: Ints, weight: Ints,
) -> int:  # fmt: skip
    """Merge two sorted lists of cells per slot; return the number of cells."""
    used = 0
    for slot in range(len(ptr) - 1):
        i, end_a = ptr_a[slot], ptr_a[slot + 1]
        for j in range(ptr_b[slot], ptr_b[slot + 1] + 1):
            # All cells before the next one of the other list, and in the end all that are left.
            last = j == ptr_b[slot + 1]
            while i < end_a and (last or cell_a[i] < cell_b[j]):
                cell[used], weight[used] = cell_a[i], weight_a[i]
                i, used = i + 1, used + 1
            if not last:
                cell[used], weight[used] = cell_b[j], weight_b[j]
                if i < end_a and cell_a[i] == cell_b[j]:
                    weight[used] += weight_a[i]
                    i += 1
                used += 1
        ptr[slot + 1] = used
    return used
