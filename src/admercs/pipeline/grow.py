"""Growing the forest: level by level, from counts that are merged over the pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from admercs.arrays import Array, Codes, Floats, Ints, ShortInts
from admercs.method.settings import Trees
from admercs.pipeline.rows import Kept, Rows
from admercs.table.bins import Binning
from admercs.table.schema import Schema
from admercs.trees.criteria import TreeTarget, make_target
from admercs.trees.forest import Forest, Leaves, TreeNodes, join_trees, leaf_type, to_preorder
from admercs.trees.grower import Counted, Grower, Layout, SplitOrder, layout_of
from admercs.trees.node_rows import NodeRows, add_counts

State = list[NodeRows]
Level = list[list[Counted]]

MOST_CODES = 1 << 16  # in the histograms of trees that grow together: some 200 MB a level


def count_codes(rows: Rows, codes: Kept, binning: Binning) -> list[Ints]:
    """Return how often each code of each column occurs."""
    counted = rows.keep("", codes_of_piece, codes, shared=(binning.n_codes,))
    counts: list[Ints] = rows.merge(add_lists, counted)
    return counts


def codes_of_piece(codes: Codes, n_codes: ShortInts) -> list[Ints]:
    """Count the codes of each column in a piece."""
    return [np.bincount(column, minlength=n) for column, n in zip(codes, n_codes, strict=True)]


def add_lists(parts: Sequence[list[Ints]]) -> list[Ints]:
    """Add up lists of arrays, place by place."""
    return [np.sum(arrays, axis=0) for arrays in zip(*parts, strict=True)]


def grow_forest(
    rows: Rows, codes: Kept, schema: Schema, binning: Binning, code_counts: Sequence[Ints],
    settings: Trees,
) -> tuple[Forest, Kept]:  # fmt: skip
    """Grow one tree per used column; return them and the `Leaves` of each piece."""
    layouts = [layout_of(binning, inputs) for inputs in allowed_inputs(schema)]
    targets = [
        make_target(m, column, settings, code_counts[m]) for m, column in enumerate(schema.used)
    ]
    grown = rows.for_each(
        "trees",
        lambda batch: _grow(rows, codes, [targets[m] for m in batch], [layouts[m] for m in batch]),
        len(targets),
        most=MOST_CODES // max(1, *(int(layout.offsets[-1]) for layout in layouts)),
    )
    forest = join_trees([nodes for nodes, _ in grown], binning.edges, binning.is_nominal)
    kept = [numbers for _, numbers in grown]
    return forest, rows.keep("", stack_leaves, *kept, shared=(forest.root,))


def allowed_inputs(schema: Schema) -> list[Ints]:
    """Return for each tree the used columns that its conditions may be about, ascending."""
    # A facet follows from its columns, and from other facets of theirs: that is no pattern.
    sources = [set(column.sources) for column in schema.used]
    may_be = [column.facet is None or column.facet.is_condition for column in schema.used]
    return [
        np.flatnonzero(
            [
                fits and not is_stated and own.isdisjoint(given)
                for fits, given in zip(may_be, sources, strict=True)
            ]
        )
        for own, is_stated in zip(sources, schema.is_stated, strict=True)
    ]


def stack_leaves(*numbers_and_root: Any) -> Leaves:
    """Put the leaf numbers of all trees together."""
    *numbers, root = numbers_and_root
    dtype = leaf_type(int(np.diff(root).max()))
    return Leaves(np.stack([each.astype(dtype, copy=False) for each in numbers]), root)


def _grow(
    rows: Rows, codes: Kept, targets: list[TreeTarget], layouts: list[Layout]
) -> list[tuple[TreeNodes, Kept]]:
    """Grow some trees together; return each with the leaf number of each row in every piece."""
    growers = [Grower(*each) for each in zip(targets, layouts, strict=True)]
    # Only targets of moments are read from the table; codes tell all others.
    moments = [target.column for target in targets if target.class_of_code is None]
    shared = rows.share((targets, layouts))
    steps = rows.read("", start_trees, codes, shared=(shared,), columns=moments)
    while True:
        state = rows.pick(steps, 0)
        counts = rows.merge(merge_levels, rows.pick(steps, 1))
        orders = [
            [split.order for split in grower.decide(counted)] if counted else []
            for grower, counted in zip(growers, counts, strict=True)
        ]
        if not any(orders):
            break
        steps = rows.keep("", advance_trees, codes, state, shared=(shared, orders), uses_up=True)
    finished = [to_preorder(grower.nodes) for grower in growers]
    numbers = rows.keep("", leaves_of_piece, state, shared=([number for _, number in finished],))
    return [(nodes, rows.pick(numbers, k)) for k, (nodes, _) in enumerate(finished)]


def start_trees(table: Any, codes: Codes, shared: Any) -> tuple[State, Level]:
    """Put the rows of a piece into the roots of trees and count them."""
    state, counts = [], []
    for target, layout in zip(*shared, strict=True):
        rows = NodeRows.start(codes, target, reader(table, target.column))
        state.append(rows)
        counts.append([rows.count(codes, 0, target, layout)])
    return state, counts


def reader(table: Any, m: int) -> Callable[[], Floats]:
    """Return a function that reads a column; where it is not called the table may be None."""
    return lambda: table.column(m)


def advance_trees(
    codes: Codes, state: State, shared: Any, orders: list[list[SplitOrder]]
) -> tuple[State, Level]:
    """Part the rows of a piece at the splits of a level, and count the smaller halves."""
    counts: Level = [[] for _ in orders]
    for rows, target, layout, splits, counted in zip(state, *shared, orders, counts, strict=True):
        for order in splits:
            rows.part(codes, order)
            if order.counts:
                small = order.children[0 if order.small_left else 1]
                counted.append(rows.count(codes, small, target, layout, order.deeper))
    return state, counts


def merge_levels(parts: Sequence[Level]) -> Level:
    """Add up what several pieces have counted."""
    return [
        [add_counts(nodes) for nodes in zip(*trees, strict=True)]
        for trees in zip(*parts, strict=True)
    ]


def leaves_of_piece(state: State, numbers: list[ShortInts]) -> list[Array]:
    """Return the leaf of each row of a piece in some trees, counted from the tree's root."""
    leaves = []
    for rows, number in zip(state, numbers, strict=True):
        leaf = np.empty(len(rows.rows), leaf_type(len(number)))
        rows.mark_leaves(number, leaf)
        leaves.append(leaf)
    return leaves
