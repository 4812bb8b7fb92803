"""Growing the forest: level by level, from counts that are merged over the pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Codes
from admercs.method.settings import Trees
from admercs.pipeline.rows import Kept, Rows
from admercs.table.bins import Binning
from admercs.table.prepared import Prepared
from admercs.table.schema import Schema
from admercs.trees.forest import Forest, Leaves, join_trees, leaf_type
from admercs.trees.grower import (
    Counted,
    Grower,
    Layout,
    SplitOrder,
    TreeTarget,
    layout_of,
    make_target,
)
from admercs.trees.node_rows import NodeRows, add_counts
from admercs.trees.tree_nodes import TreeNodes

Ints = NDArray[np.int64]

# Codes in the histograms of trees that grow together in pieces: some 200 MB a level.
MOST_CODES = 1 << 16


def count_codes(rows: Rows, codes: Kept, binning: Binning) -> list[Ints]:
    """Return how often each code of each column occurs."""
    counted = rows.keep("", codes_of_piece, codes, shared=(binning.n_codes,))
    counts: list[Ints] = rows.merge(add_lists, counted)
    return counts


def codes_of_piece(codes: Codes, n_codes: NDArray[np.int32]) -> list[Ints]:
    """Count the codes of each column in a piece."""
    return [
        np.bincount(column, minlength=int(n)).astype(np.int64)
        for column, n in zip(codes, n_codes, strict=True)
    ]


def add_lists(parts: Sequence[list[Ints]]) -> list[Ints]:
    """Add up lists of arrays, place by place."""
    return [np.sum(arrays, axis=0) for arrays in zip(*parts, strict=True)]


def grow_forest(
    rows: Rows,
    codes: Kept,
    schema: Schema,
    binning: Binning,
    code_counts: Sequence[Ints],
    settings: Trees,
) -> tuple[Forest, Kept]:
    """Grow one tree per used column; return them and the `Leaves` of each piece."""
    layout = layout_of(binning)
    targets = [
        make_target(m, column, settings, code_counts[m]) for m, column in enumerate(schema.used)
    ]
    grown = rows.for_each(
        "trees",
        lambda batch: _grow(rows, codes, [targets[m] for m in batch], layout),
        len(targets),
        most=MOST_CODES // int(layout.offsets[-1]),
    )
    forest = join_trees([nodes for nodes, _ in grown], binning.edges, binning.is_nominal)
    kept = [numbers for _, numbers in grown]
    return forest, rows.keep("", stack_leaves, *kept, shared=(forest.root,))


def stack_leaves(*numbers_and_root: Any) -> Leaves:
    """Put the leaf numbers of all trees together."""
    *numbers, root = numbers_and_root
    dtype = leaf_type(int(np.diff(root).max()))
    return Leaves(np.stack([each.astype(dtype, copy=False) for each in numbers]), root)


def _grow(
    rows: Rows, codes: Kept, targets: list[TreeTarget], layout: Layout
) -> list[tuple[TreeNodes, Kept]]:
    """Grow some trees together; return each with the leaf number of each row in every piece."""
    growers = [Grower(target, layout) for target in targets]
    # Only targets of moments are read from the table; codes tell all others.
    moments = [target.column for target in targets if target.class_of_code is None]
    shared = rows.share((targets, layout))
    if moments:
        steps = rows.read("", start_reading, codes, shared=(shared,), columns=moments)
    else:
        steps = rows.keep("", start_trees, codes, shared=(shared,))
    while True:
        state = rows.pick(steps, 0)
        counts = rows.merge(merge_levels, rows.pick(steps, 1))
        levels = [
            grower.decide(counted) if counted else []
            for grower, counted in zip(growers, counts, strict=True)
        ]
        orders = [[split.order for split in level] for level in levels]
        if not any(orders):
            break
        steps = rows.keep("", advance_trees, codes, state, shared=(shared, orders), uses_up=True)
    finished = [grower.finished() for grower in growers]
    numbers = rows.keep("", leaves_of_piece, state, shared=([number for _, number in finished],))
    return [(nodes, rows.pick(numbers, k)) for k, (nodes, _) in enumerate(finished)]


State = list[NodeRows]
Level = list[list[Counted]]


def start_reading(table: Prepared, codes: Codes, shared: Any) -> tuple[State, Level]:
    """Put the rows of a piece into the roots of trees and count them."""
    return _start(codes, shared, table.column)


def start_trees(codes: Codes, shared: Any) -> tuple[State, Level]:
    """Do the same for targets that are told by their codes."""
    return _start(codes, shared, _no_values)


def _no_values(column: int) -> NDArray[np.float64]:
    raise RuntimeError(f"column {column} is not read")


def _start(
    codes: Codes, shared: Any, values: Callable[[int], NDArray[np.float64]]
) -> tuple[State, Level]:
    targets, layout = shared
    state = [NodeRows.start(codes, target, partial(values, target.column)) for target in targets]
    counts = [
        [rows.count(codes, 0, target, layout)] for rows, target in zip(state, targets, strict=True)
    ]
    return state, counts


def advance_trees(
    codes: Codes, state: State, shared: Any, orders: list[list[SplitOrder]]
) -> tuple[State, Level]:
    """Part the rows of a piece at the splits of a level, and count the smaller halves."""
    targets, layout = shared
    counts: Level = []
    for rows, target, splits in zip(state, targets, orders, strict=True):
        counted = []
        for order in splits:
            rows.part(codes, order)
            if order.counts:
                small = order.children[0 if order.small_left else 1]
                counted.append(rows.count(codes, small, target, layout, order.deeper))
        counts.append(counted)
    return state, counts


def merge_levels(parts: Sequence[Level]) -> Level:
    """Add up what several pieces have counted."""
    return [
        [add_counts(nodes) for nodes in zip(*trees, strict=True)]
        for trees in zip(*parts, strict=True)
    ]


def leaves_of_piece(
    state: State, numbers: list[NDArray[np.int32]]
) -> list[NDArray[np.unsignedinteger]]:
    """Return the leaf of each row of a piece in some trees, counted from the tree's root."""
    leaves = []
    for rows, number in zip(state, numbers, strict=True):
        leaf = np.empty(len(rows.rows), leaf_type(len(number)))
        rows.mark_leaves(number, leaf)
        leaves.append(leaf)
    return leaves
