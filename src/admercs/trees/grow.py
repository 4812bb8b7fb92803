"""Growing one tree: histogram, best split, partition, and on to the two halves.

Only the smaller half is counted; its sibling's histogram is the parent's minus it. What decides about
a node (`decide`) sees nothing but integers, so a tree grown from merged histograms of many
partitions is the same tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.criteria import XLOGX, earns_split, impurity, node_purity
from admercs.trees.histograms import (
    CLASSES,
    MOMENT_WIDTH,
    N_MOMENTS,
    add_rows,
    histogram_type,
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


class Split(NamedTuple):
    """What is to happen to a node."""

    feature: int  # -1: it is a leaf
    bin: int
    missing_left: bool


LEAF = Split(-1, 0, False)


def widths(rules: GrowthRules) -> tuple[int, int]:
    """Return how many numbers a code has in a histogram, and how many a node has in total."""
    if rules.form == CLASSES:
        return rules.n_classes, rules.n_classes
    return MOMENT_WIDTH, N_MOMENTS


def is_leaf(totals: NDArray[np.int64], depth: int, rules: GrowthRules) -> bool:
    """Say whether a node is a leaf whatever its histogram looks like."""
    n = int(totals.sum() if rules.form == CLASSES else totals[0])
    if depth >= rules.max_depth or n < 2 * rules.min_leaf:
        return True
    if rules.form == CLASSES:
        return int(np.count_nonzero(totals)) < 2
    return bool(impurity(totals, rules.criterion, XLOGX) <= 1e-12)


def decide(
    hist: NDArray[np.int32] | NDArray[np.int64],
    totals: NDArray[np.int64],
    depth: int,
    root_impurity: float,
    offsets: NDArray[np.int64],
    is_nominal: NDArray[np.bool_],
    skip: int,
    rules: GrowthRules,
    bits: NDArray[np.uint64],
) -> Split:
    """Return the split of a node; `bits` receives the subset of a nominal one."""
    if is_leaf(totals, depth, rules):
        return LEAF
    feature, code, missing_left, pure = best_split(
        hist, totals, offsets, is_nominal, skip, rules.criterion, rules.min_leaf, XLOGX,
        rules.ordered, rules.missing_class, bits,
    )  # fmt: skip
    if feature < 0:
        return LEAF
    decrease = pure - node_purity(totals, rules.criterion, XLOGX)
    # Thresholds between the codes of all other columns; code 0 is missing.
    others = offsets[-1] - (offsets[skip + 1] - offsets[skip])
    candidates = int(others) - 2 * (len(is_nominal) - 1)
    enough = earns_split(
        decrease, rules.n_rows, root_impurity, rules.rule, rules.amount, rules.n_classes,
        candidates, rules.nominal,
    )  # fmt: skip
    return Split(feature, code, missing_left) if enough else LEAF


def cut(nodes: NodeArrays, count: int) -> NodeArrays:
    """Return the first nodes, without the room that was left for more."""
    return NodeArrays(*(array[:count].copy() for array in nodes))  # type: ignore[arg-type]


def left_codes(nodes: NodeArrays, some: Any, nominal: Any, n_codes: int) -> NDArray[np.bool_]:
    """Say of some nodes which codes of their columns go left: nodes x codes.

    `nominal` says which of these nodes split on categories.

    Examples
    --------
    >>> nodes = empty_nodes(2)
    >>> nodes.bin[0], nodes.bits[1, 0] = 2, 0b01010
    >>> left_codes(nodes, [0, 1], np.array([False, True]), 5)
    array([[False,  True,  True, False, False],
           [False,  True, False,  True, False]])
    """
    left = np.arange(n_codes) <= nodes.bin[some, None]
    left[:, 0] = nodes.missing_left[some]
    bits = nodes.bits[some][nominal]
    if len(bits):
        categories = np.unpackbits(bits.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        left[nominal] = False
        left[nominal, : categories.shape[1]] = categories[:, :n_codes]
    return left


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


@kernel
def mark(rows, node, leaf_of_row):  # type: ignore[no-untyped-def]
    """Write down which rows a leaf has."""
    for i in range(np.uint64(len(rows))):
        leaf_of_row[np.uint64(rows[i])] = node


class Pending(NamedTuple):
    """A node that waits to be decided; its histogram is ready."""

    parent: int
    is_left: bool
    start: int
    n: int
    depth: int
    hist: NDArray[np.int32] | NDArray[np.int64]
    totals: NDArray[np.int64]


def grow_tree(
    codes: NDArray[np.uint8] | NDArray[np.uint16],
    target: NDArray[np.unsignedinteger] | NDArray[np.int32],
    skip: int,
    offsets: NDArray[np.int64],
    is_nominal: NDArray[np.bool_],
    rules: GrowthRules,
    nodes: NodeArrays,
    leaf_of_row: NDArray[np.unsignedinteger],
) -> int:
    """Grow the tree for column `skip`; fill `nodes` and `leaf_of_row`, return the number of nodes.

    The target's values are used up: they are brought into the order of the leaves.
    """
    n_rows = len(target)
    width, n_totals = widths(rules)
    rows, spare = np.arange(n_rows, dtype=np.int32), np.empty(n_rows, np.int32)
    spare_target = np.empty_like(target)
    hist = np.zeros(offsets[-1] * width, histogram_type(rules.form, n_rows))
    totals = np.zeros(n_totals, np.int64)
    total_up(target, rules.form, totals)
    add_rows(codes, rows, target, rules.form, width, offsets, skip, True, hist)
    root_impurity = impurity(totals, rules.criterion, XLOGX)
    stack = [Pending(-1, False, 0, n_rows, 0, hist, totals)]
    spare_hists: list[NDArray[np.int32] | NDArray[np.int64]] = []
    n_nodes = 0
    while stack:
        item = stack.pop()
        node, n_nodes = n_nodes, n_nodes + 1
        mine = slice(item.start, item.start + item.n)
        _enter(nodes, node, item, impurity(item.totals, rules.criterion, XLOGX))
        feature, code, missing_left = decide(
            item.hist, item.totals, item.depth, root_impurity, offsets, is_nominal, skip, rules,
            nodes.bits[node],
        )  # fmt: skip
        nodes.feature[node], nodes.bin[node], nodes.missing_left[node] = feature, code, missing_left
        if feature < 0:
            spare_hists.append(item.hist)
            mark(rows[mine], node, leaf_of_row)
            continue
        n_codes = int(offsets[feature + 1] - offsets[feature])
        is_left = left_codes(nodes, [node], is_nominal[[feature]], n_codes)[0]
        n_left = partition(codes[feature], is_left, rows[mine], target[mine], spare, spare_target)
        middle = item.start + n_left
        small_left = 2 * n_left <= item.n
        small = slice(item.start, middle) if small_left else slice(middle, mine.stop)
        small_hist = spare_hists.pop() if spare_hists else np.empty_like(hist)
        small_totals = np.zeros_like(totals)
        total_up(target[small], rules.form, small_totals)
        np.subtract(item.totals, small_totals, out=item.totals)
        depth = item.depth + 1
        if not (is_leaf(small_totals, depth, rules) and is_leaf(item.totals, depth, rules)):
            small_hist.fill(0)
            add_rows(
                codes, rows[small], target[small], rules.form, width, offsets, skip, False,
                small_hist,
            )  # fmt: skip
            np.subtract(item.hist, small_hist, out=item.hist)
        halves = [(small_hist, small_totals), (item.hist, item.totals)]
        left, right = halves if small_left else halves[::-1]
        # The right child waits below the left one: preorder.
        stack.append(Pending(node, False, middle, mine.stop - middle, depth, *right))
        stack.append(Pending(node, True, item.start, n_left, depth, *left))
    return n_nodes


def _enter(nodes: NodeArrays, node: int, item: Pending, node_impurity: float) -> None:
    """Write down a node and tell its parent."""
    nodes.n[node], nodes.parent[node], nodes.impurity[node] = item.n, item.parent, node_impurity
    if item.parent >= 0:
        (nodes.left if item.is_left else nodes.right)[item.parent] = node
