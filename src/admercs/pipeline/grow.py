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
from admercs.trees.criteria import ENTROPY, TreeTarget, make_target
from admercs.trees.forest import Forest, Leaves, TreeNodes, join_trees, leaf_type, to_preorder
from admercs.trees.grower import Grower
from admercs.trees.input_choice import InputChoice
from admercs.trees.node_rows import NodeRows, add_counts
from admercs.trees.row_sample import RowSample
from admercs.trees.screening import screen
from admercs.trees.split_orders import Counted, Layout, Look, SplitOrder, layout_of

State = list[NodeRows]
Level = list[list[Counted]]

TOGETHER = 16  # trees of a cluster that grow at the same time


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


def allowed_inputs(schema: Schema) -> list[Ints]:
    """Return for each tree the used columns that its conditions may be about, ascending."""
    # A facet follows from its columns, and from other facets of theirs: that is no pattern.
    made_of: dict[int, list[int]] = {}
    for m, column in enumerate(schema.used):
        for source in column.sources:
            made_of.setdefault(source, []).append(m)
    may_be = [column.facet is None or column.facet.is_condition for column in schema.used]
    allowed = []
    for column, is_stated in zip(schema.used, schema.is_stated, strict=True):
        # What a column states holds of each row alone: its tree has no conditions.
        is_allowed = np.array(may_be, np.bool_) & (not is_stated)
        for source in column.sources:
            is_allowed[made_of[source]] = False
        allowed.append(np.flatnonzero(is_allowed))
    return allowed


def tree_inputs(
    allowed: Sequence[Ints], sample: RowSample, binning: Binning, settings: Trees
) -> list[Layout]:
    """Return the inputs that each tree looks at."""
    inputs = screen(sample.codes, binning, allowed, settings)
    return [layout_of(binning, *each) for each in zip(allowed, inputs, strict=True)]


def make_targets(schema: Schema, code_counts: Sequence[Ints], settings: Trees) -> list[TreeTarget]:
    """Return what each tree predicts."""
    columns = enumerate(schema.used)
    return [make_target(m, column, settings, code_counts[m]) for m, column in columns]


def grow_forest(
    rows: Rows, codes: Kept, sample: RowSample, targets: Sequence[TreeTarget],
    layouts: Sequence[Layout], binning: Binning,
) -> tuple[Forest, Kept]:  # fmt: skip
    """Grow one tree per used column; return them and the `Leaves` of each piece."""
    drawn: Any = np.ascontiguousarray(sample.codes[:, sample.draw()])
    grown = rows.for_each(
        "trees",
        lambda batch: _grow(rows, codes, [grower(targets[m], layouts[m], drawn) for m in batch]),
        len(targets),
        most=TOGETHER,
    )
    forest = join_trees([nodes for nodes, _ in grown], binning.edges, binning.is_nominal)
    kept = [numbers for _, numbers in grown]
    return forest, rows.keep("", stack_leaves, *kept, shared=(forest.root,))


def grower(target: TreeTarget, layout: Layout, drawn: Codes) -> Grower:
    """Return a tree to grow; its inputs are chosen in each node where that saves counting."""
    closer = target.settings.search.closer
    chosen = target.criterion == ENTROPY and len(layout.inputs) > closer
    return Grower(target, layout, InputChoice(drawn, target, layout) if chosen else None)


def stack_leaves(*numbers_and_root: Any) -> Leaves:
    """Put the leaf numbers of all trees together."""
    *numbers, root = numbers_and_root
    dtype = leaf_type(int(np.diff(root).max()))
    return Leaves(np.stack([each.astype(dtype, copy=False) for each in numbers]), root)


def _grow(rows: Rows, codes: Kept, growers: list[Grower]) -> list[tuple[TreeNodes, Kept]]:
    """Grow some trees together; return each with the leaf number of each row in every piece."""
    targets = [each.target for each in growers]
    # Only targets of moments are read from the table; codes tell all others.
    moments = [target.column for target in targets if target.class_of_code is None]
    shared, looks = rows.share(targets), [each.looks for each in growers]
    steps = rows.read("", start_trees, codes, shared=(shared, looks), columns=moments)
    while True:
        state = rows.pick(steps, 0)
        counts = rows.merge(merge_levels, rows.pick(steps, 1))
        orders = [each.decide(counted) for each, counted in zip(growers, counts, strict=True)]
        if not any(orders):
            break
        steps = rows.keep("", advance_trees, codes, state, shared=(shared, orders), uses_up=True)
    finished = [to_preorder(each.nodes) for each in growers]
    numbers = rows.keep("", leaves_of_piece, state, shared=([number for _, number in finished],))
    return [(nodes, rows.pick(numbers, k)) for k, (nodes, _) in enumerate(finished)]


def start_trees(
    table: Any, codes: Codes, targets: list[TreeTarget], looks: list[list[Look]]
) -> tuple[State, Level]:
    """Put the rows of a piece into the roots of trees and count them."""
    state = [NodeRows.start(codes, target, reader(table, target.column)) for target in targets]
    trees = zip(state, targets, looks, strict=True)
    return state, [
        [rows.count(codes, 0, target, look) for look in own] for rows, target, own in trees
    ]


def reader(table: Any, m: int) -> Callable[[], Floats]:
    """Return a function that reads a column; where it is not called the table may be None."""
    return lambda: table.column(m)


def advance_trees(
    codes: Codes, state: State, targets: list[TreeTarget], orders: list[list[SplitOrder]]
) -> tuple[State, Level]:
    """Part the rows of a piece at the splits of a level, and count the halves."""
    counts: Level = [[] for _ in orders]
    for rows, target, splits, counted in zip(state, targets, orders, counts, strict=True):
        for order in splits:
            rows.part(codes, order)
            for child, look in zip(order.children, order.looks, strict=True):
                if look is not None:
                    counted.append(rows.count(codes, child, target, look))
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
