"""Passes over the rows: how often each code and each value occurs in each distribution.

Every result is made of integers, so pieces of a table can be counted apart and added in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel, read_only
from admercs.arrays import Codes, Floats, Ints, ShortInts
from admercs.density.grids import Grids
from admercs.density.ragged import owners, pointers, ranges
from admercs.trees.forest import Forest

ONE = 1 << 8  # the weight of one row; it is shared between the two cells around the row's value
FAR = 1 << 50  # cells further out are one cell: there a float64 no longer tells neighbours apart
_BUFFER = 1 << 15  # values outside of the core that are listed before they are counted
_MAX_CELLS = 1 << 22  # cells counted in one go (16 MB); very many leaves take several passes
_MAX_ROWS = 1 << 22  # rows counted in one go: their weights fit into 32 bits


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

    @property
    def n_slots(self) -> int:
        """Number of distributions to estimate."""
        return len(self.nodes)

    def restrict(self, slots: Ints) -> TargetPlan:
        """Return the plan for some of its slots only, numbered anew in the order given."""
        start, stop = self.leaf_start[slots], self.leaf_stop[slots]
        return self._replace(nodes=self.nodes[slots], leaf_start=start, leaf_stop=stop)

    def pairs(self) -> tuple[Ints, ShortInts]:
        """Return all pairs of a leaf and a slot that it belongs to, leaf by leaf."""
        leaves, slots = ranges(self.leaf_start, self.leaf_stop)
        order = np.argsort(leaves, kind="stable")
        return leaves[order], slots[order].astype(np.int32)


def plan_target(forest: Forest, target: int, nodes: Ints) -> TargetPlan:
    """Plan the distributions of some nodes of one tree: ascending node numbers, the root first."""
    start, stop = int(forest.root[target]), int(forest.root[target + 1])
    is_leaf = forest.feature[start:stop] < 0
    leaf_index = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
    leaves_before = pointers(is_leaf.astype(np.int64))
    end = np.array([forest.below(node).stop for node in nodes])
    first, last = leaves_before[nodes - start], leaves_before[end - start]
    return TargetPlan(target, start, nodes, leaf_index, first, last)


class ValueCounts(NamedTuple):
    """Rows per cell of each slot's grid, cells in ascending order, empty cells left out.

    A row between two cells weighs on both (linear binning). Cells continue beyond the grid's core
    without end, so no value is clipped and none stretches the grid.
    """

    ptr: Ints  # slots + 1
    cell: Ints
    weight: Ints

    def take(self, slots: Ints) -> ValueCounts:
        """Return the counts of some slots, in the order given."""
        where, _ = ranges(self.ptr[slots], self.ptr[slots + 1])
        return ValueCounts(pointers(np.diff(self.ptr)[slots]), self.cell[where], self.weight[where])

    def replace(self, slots: Ints, other: ValueCounts) -> ValueCounts:
        """Return all counts with those of some slots exchanged for ``other``."""
        order = np.arange(len(self.ptr) - 1)
        order[slots] = len(order) + np.arange(len(slots))
        return _concatenate((self, other)).take(order)


def count_codes(
    codes: Codes, leaves: ShortInts, plan: TargetPlan, n_codes: int, shift: int = 0
) -> Ints:
    """Count each leaf's codes, 2 ** ``shift`` of them as one; the counts of pieces add up."""
    counts = np.zeros((plan.n_leaves, n_codes), dtype=np.int64)
    _count_codes(
        np.ascontiguousarray(codes, dtype=np.uint16), np.ascontiguousarray(leaves, dtype=np.int32),
        plan.first_node, plan.leaf_index, shift, counts,
    )  # fmt: skip
    return counts


def node_counts(plan: TargetPlan, leaf_counts: Ints) -> Ints:
    """Add up the counts of the leaves below each slot's node."""
    total = np.empty((plan.n_slots, leaf_counts.shape[1]), dtype=np.int64)
    for slot in range(plan.n_slots):
        leaf_counts[plan.leaf_start[slot] : plan.leaf_stop[slot]].sum(axis=0, out=total[slot])
    return total


def count_values(values: Floats, leaves: ShortInts, plan: TargetPlan, grids: Grids) -> ValueCounts:
    """Count working values on the grid of every slot they belong to; NaN is left out."""
    values = read_only(np.ascontiguousarray(values, dtype=np.float64))
    leaves = np.ascontiguousarray(leaves, dtype=np.int32)
    if len(values) > _MAX_ROWS:
        cuts = range(_MAX_ROWS, len(values), _MAX_ROWS)
        pieces = zip(np.split(values, cuts), np.split(leaves, cuts), strict=True)
        return merge_values([count_values(x, leaf, plan, grids) for x, leaf in pieces])
    group = grids.ptr[1:] // (_MAX_CELLS + 1)
    groups = [np.flatnonzero(group == g) for g in np.unique(group)]
    if len(groups) == 1:
        return _count_group(values, leaves, plan, grids)
    return _concatenate(
        [_count_group(values, leaves, plan.restrict(g), grids.take(g)) for g in groups]
    )


def merge_values(pieces: Sequence[ValueCounts]) -> ValueCounts:
    """Add up the counts of pieces of a table. The order of the pieces does not matter."""
    merged = list(pieces)
    while len(merged) > 1:  # in pairs, so that no count is copied more than log2(pieces) times
        merged = [_merge_two(merged[i : i + 2]) for i in range(0, len(merged), 2)]
    return merged[0]


def _merge_two(pair: Sequence[ValueCounts]) -> ValueCounts:
    if len(pair) == 1:
        return pair[0]
    ptr, n_cells = np.zeros_like(pair[0].ptr), sum(len(part.cell) for part in pair)
    cell, weight = np.empty((2, n_cells), dtype=np.int64)
    used = _merge(*pair[0], *pair[1], ptr, cell, weight)
    return ValueCounts(ptr, cell[:used].copy(), weight[:used].copy())


def _concatenate(parts: Sequence[ValueCounts]) -> ValueCounts:
    """Put the counts of further slots behind those of the first ones."""
    sizes, cell, weight = (
        np.concatenate(column)
        for column in zip(*((np.diff(p.ptr), p.cell, p.weight) for p in parts), strict=True)
    )
    return ValueCounts(pointers(sizes), cell, weight)


def _count_group(values: Floats, leaves: ShortInts, plan: TargetPlan, grids: Grids) -> ValueCounts:
    dense = np.zeros(int(grids.ptr[-1]), dtype=np.int32)
    # A leaf at a time: the cells of its slots stay in the cache.
    ordered, end = np.empty(len(values)), np.empty(plan.n_leaves, dtype=np.int64)
    _sort_by_leaf(values, leaves, plan.first_node, plan.leaf_index, ordered, end)
    slots, places = np.empty(_BUFFER, dtype=np.int64), np.empty(_BUFFER)
    outside = [np.empty((3, 0), dtype=np.int64)]
    leaf_of, slot_of = plan.pairs()
    entry, row = 0, 0
    while entry < len(leaf_of):
        entry, row, used = _count_values(
            ordered, end, entry, row, leaf_of, slot_of,
            grids.left, 1.0 / grids.width, grids.ptr, dense, slots, places,
        )  # fmt: skip
        outside.append(_count_outside(slots[:used], places[:used], grids, dense))
    return _gather(dense, grids, np.concatenate(outside, axis=1))


def _count_outside(slot: Ints, place: Floats, grids: Grids, dense: ShortInts) -> Ints:
    """Count values at places outside of the core; return slots, cells and weights there."""
    place = np.where(np.abs(place) < FAR, place, np.where(place > 0, float(FAR), -float(FAR)))
    lower = np.floor(place)
    upper_weight = ((place - lower) * ONE + 0.5).astype(np.int64)
    slot = np.concatenate((slot, slot))
    cell = np.concatenate((lower, lower + 1)).astype(np.int64)
    weight = np.concatenate((ONE - upper_weight, upper_weight))
    in_core = (cell >= 0) & (cell < grids.size[slot])
    np.add.at(dense, grids.ptr[slot[in_core]] + cell[in_core], weight[in_core])
    beyond = ~in_core & (weight > 0)
    return np.stack((slot[beyond], cell[beyond], weight[beyond]))


def _gather(dense: ShortInts, grids: Grids, outside: Ints) -> ValueCounts:
    """Join the core's cells with the few beyond it, in ascending order."""
    found = np.flatnonzero(dense)
    ptr = np.searchsorted(found, grids.ptr)  # where each slot's cells begin
    cell, weight = found - grids.ptr[owners(ptr)], dense[found].astype(np.int64)
    slot, far, its_weight = outside[:, np.lexsort((outside[1], outside[0]))]
    first = np.ones(len(slot), dtype=np.bool_)
    first[1:] = (slot[1:] != slot[:-1]) | (far[1:] != far[:-1])
    its_weight = np.add.reduceat(its_weight, np.flatnonzero(first)) if len(slot) else its_weight
    slot, far = slot[first], far[first]
    where = np.where(far < 0, ptr[slot], ptr[slot + 1])
    ptr = ptr + pointers(np.bincount(slot, minlength=len(ptr) - 1))
    return ValueCounts(ptr, np.insert(cell, where, far), np.insert(weight, where, its_weight))


@kernel
def _count_codes(
    codes: NDArray[np.uint16], leaves: ShortInts, first_node: int, leaf_index: ShortInts,
    shift: int, counts: Ints,
) -> None:  # fmt: skip
    for i in range(len(codes)):
        code = np.int64(codes[i])
        if code > 0:
            code = ((code - 1) >> shift) + 1
        counts[leaf_index[leaves[i] - first_node], code] += 1


@kernel
def _sort_by_leaf(
    values: Floats, leaves: ShortInts, first_node: int, leaf_index: ShortInts,
    ordered: Floats, end: Ints,
) -> None:  # fmt: skip
    """Sort values by leaf, NaN left out; write where those of each leaf end."""
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    for leaf in range(len(end)):
        end[leaf] = 0
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
def _count_values(
    ordered: Floats, leaf_end: Ints, entry: int, row: int, leaf_of: Ints, slot_of: ShortInts,
    left: Floats, inverse: Floats, ptr: Ints, dense: ShortInts,
    outside_slot: Ints, outside_place: Floats,
) -> tuple[int, int, int]:  # fmt: skip
    """Count the values of leaf ``leaf_of[k]`` in the core of slot ``slot_of[k]``, k ≥ ``entry``.

    Begin with the value ``row``; stop when the list of values outside is full. Return the entry and
    the value to go on with, and how many places of the list are used.
    """
    used, one = 0, np.uint64(1)
    for k in range(entry, len(slot_of)):
        leaf, slot = leaf_of[k], slot_of[k]
        origin, scale = left[slot], inverse[slot]
        first, last = np.uint64(ptr[slot]), np.float64(ptr[slot + 1] - ptr[slot] - 1)
        begin = leaf_end[leaf - 1] if leaf > 0 else 0
        for i in range(max(row, begin), leaf_end[leaf]):
            place = (ordered[np.uint64(i)] - origin) * scale
            if 0.0 <= place < last:
                lower = np.int64(place)
                upper_weight = np.int64((place - lower) * ONE + 0.5)
                cell = first + np.uint64(lower)
                dense[cell] += ONE - upper_weight
                dense[cell + one] += upper_weight
            else:
                if used == len(outside_slot):
                    return k, i, used
                outside_slot[used] = slot
                outside_place[used] = place
                used += 1
        row = 0
    return len(slot_of), row, used


@kernel
def _merge(
    ptr_a: Ints, cell_a: Ints, weight_a: Ints, ptr_b: Ints, cell_b: Ints, weight_b: Ints,
    ptr: Ints, cell: Ints, weight: Ints,
) -> int:  # fmt: skip
    """Merge two sorted lists of cells per slot; return the number of cells."""
    used = 0
    for slot in range(len(ptr) - 1):
        i, j = ptr_a[slot], ptr_b[slot]
        end_a, end_b = ptr_a[slot + 1], ptr_b[slot + 1]
        while i < end_a or j < end_b:
            from_a = j >= end_b or (i < end_a and cell_a[i] <= cell_b[j])
            from_b = i >= end_a or (j < end_b and cell_b[j] <= cell_a[i])
            weight[used] = 0
            if from_a:
                cell[used] = cell_a[i]
                weight[used] += weight_a[i]
                i += 1
            if from_b:
                cell[used] = cell_b[j]
                weight[used] += weight_b[j]
                j += 1
            used += 1
        ptr[slot + 1] = used
    return used
