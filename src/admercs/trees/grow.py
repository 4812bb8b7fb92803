"""Growing one tree: histogram, best split, partition, and on to the two halves.

Only the smaller half is counted; its sibling's histogram is the parent's minus it. What decides about
a node (`decide`) sees nothing but integers, so a tree grown from merged histograms of many
partitions is the same tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.criteria import earns_split, impurity, node_purity
from admercs.trees.histograms import (
    CLASSES,
    MOMENT_WIDTH,
    N_MOMENTS,
    fill_histogram,
    gather_target,
    total_up,
)
from admercs.trees.splits import best_split


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
    n_rows: int


class NodeArrays(NamedTuple):
    """The nodes of one tree; numbers count within the tree, in preorder."""

    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    bits: NDArray[np.uint64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    parent: NDArray[np.int32]
    n: NDArray[np.int64]
    impurity: NDArray[np.float64]


def empty_nodes(capacity: int) -> NodeArrays:
    """Allocate the arrays of a tree with at most `capacity` nodes."""
    return NodeArrays(
        feature=np.full(capacity, -1, np.int32),
        bin=np.zeros(capacity, np.int32),
        bits=np.zeros((capacity, 4), np.uint64),
        missing_left=np.zeros(capacity, np.bool_),
        left=np.full(capacity, -1, np.int32),
        right=np.full(capacity, -1, np.int32),
        parent=np.full(capacity, -1, np.int32),
        n=np.zeros(capacity, np.int64),
        impurity=np.zeros(capacity, np.float64),
    )


@kernel
def decide(hist, totals, depth, root_impurity, offsets, is_nominal, skip, rules, table, bits):  # type: ignore[no-untyped-def]
    """Return the split of a node: column (-1: none), bin and side of missing values."""
    n = totals[0]
    if rules.form == CLASSES:
        n = totals.sum()
    if depth >= rules.max_depth or n < 2 * rules.min_leaf:
        return -1, 0, False
    if impurity(totals, rules.criterion, table) <= 1e-12:
        return -1, 0, False
    feature, code, missing_left, pure, candidates = best_split(
        hist, totals, offsets, is_nominal, skip, rules.criterion, rules.min_leaf, table,
        rules.ordered, rules.missing_class, bits,
    )  # fmt: skip
    if feature < 0:
        return -1, 0, False
    decrease = pure - node_purity(totals, rules.criterion, table)
    if not earns_split(
        decrease, rules.n_rows, root_impurity, rules.rule, rules.amount,
        rules.n_classes, candidates, rules.nominal,
    ):  # fmt: skip
        return -1, 0, False
    return feature, code, missing_left


@kernel
def goes_left(code, split_bin, nominal, missing_left, bits):  # type: ignore[no-untyped-def]
    """Say on which side of a split a code lies."""
    if nominal:
        return (bits[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != np.uint64(0)
    if code == 0:
        return missing_left
    return code <= split_bin


@kernel
def partition(column, rows, split_bin, nominal, missing_left, bits, spare):  # type: ignore[no-untyped-def]
    """Reorder a node's rows, left ones first, each side in its old order; return how many go left."""
    n_left, n_right = 0, 0
    for i in range(len(rows)):
        row = rows[i]
        if goes_left(np.int64(column[row]), split_bin, nominal, missing_left, bits):
            rows[n_left] = row
            n_left += 1
        else:
            spare[n_right] = row
            n_right += 1
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    return n_left


@kernel
def grow_tree(codes, target, skip, offsets, is_nominal, rules, table, nodes, leaf_of_row):  # type: ignore[no-untyped-def]
    """Grow the tree for column `skip`; fill `nodes` and `leaf_of_row`, return the number of nodes.

    The stack holds nodes whose histogram is ready. A histogram slot is freed when its node is decided,
    so there are never more of them than levels.
    """
    n_rows = codes.shape[1]
    width = rules.n_classes if rules.form == CLASSES else MOMENT_WIDTH
    n_totals = rules.n_classes if rules.form == CLASSES else N_MOMENTS
    n_slots = rules.max_depth + 2
    hists = np.zeros((n_slots, offsets[-1] * width), np.int64)
    totals = np.zeros((n_slots, n_totals), np.int64)
    # A stack entry: parent, is left child, first row, rows, depth, slot.
    stack = np.zeros((n_slots, 6), np.int64)
    free = np.arange(n_slots)
    n_free = n_slots - 1
    rows = np.arange(n_rows).astype(np.int32)
    spare = np.empty(n_rows, np.int32)
    values = np.empty(n_rows, target.dtype)
    bits = np.zeros(4, np.uint64)

    values[:] = target
    total_up(values, n_rows, rules.form, totals[free[n_free]])
    fill_histogram(
        codes, rows, values, n_rows, rules.form, width, offsets, skip, True, hists[free[n_free]]
    )
    root_impurity = impurity(totals[free[n_free]], rules.criterion, table)
    stack[0, 0], stack[0, 3], stack[0, 5] = -1, n_rows, free[n_free]
    height, n_nodes = 1, 0
    while height > 0:
        height -= 1
        parent, is_left, start, n, depth, slot = stack[height]
        node = n_nodes
        n_nodes += 1
        mine = rows[start : start + n]
        nodes.n[node] = n
        nodes.parent[node] = parent
        nodes.impurity[node] = impurity(totals[slot], rules.criterion, table)
        if parent >= 0:
            if is_left:
                nodes.left[parent] = node
            else:
                nodes.right[parent] = node
        feature, code, missing_left = decide(
            hists[slot], totals[slot], depth, root_impurity, offsets, is_nominal, skip, rules, table, bits
        )
        nodes.feature[node] = feature
        if feature < 0:
            free[n_free] = slot
            n_free += 1
            for i in range(n):
                leaf_of_row[mine[i]] = node
            continue
        nodes.bin[node] = code
        nodes.missing_left[node] = missing_left
        nodes.bits[node] = bits
        n_left = partition(
            codes[feature], mine, code, is_nominal[feature], missing_left, bits, spare
        )
        n_right = n - n_left
        # The parent's slot becomes the larger child's by subtraction.
        n_free -= 1
        small_slot = free[n_free]
        small_left = n_left <= n_right
        small = mine[:n_left] if small_left else mine[n_left:]
        gather_target(target, small, values)
        total_up(values, len(small), rules.form, totals[small_slot])
        totals[slot] -= totals[small_slot]
        if depth + 1 < rules.max_depth:
            fill_histogram(
                codes, small, values, len(small), rules.form, width, offsets, skip, False, hists[small_slot]
            )
            hists[slot] -= hists[small_slot]
        left_slot, right_slot = (small_slot, slot) if small_left else (slot, small_slot)
        # The right child waits below the left one: preorder.
        stack[height] = np.array([node, 0, start + n_left, n_right, depth + 1, right_slot])
        stack[height + 1] = np.array([node, 1, start, n_left, depth + 1, left_slot])
        height += 2
    return n_nodes
