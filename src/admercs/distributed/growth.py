"""Growing all trees at once, level by level, from the codes that the workers hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from admercs.distributed.pieces import Piece
from admercs.distributed.run import Run
from admercs.table.bins import Binning
from admercs.table.columns import Column
from admercs.trees.forest import Forest
from admercs.trees.grow import GrowthRules, NodeArrays, widths
from admercs.trees.growth import TreeSettings, growth_rules, join_trees
from admercs.trees.histograms import code_offsets
from admercs.trees.levels import (
    Growing,
    Layout,
    LevelCounts,
    Sketch,
    advance,
    count_level,
    in_preorder,
    merge_counts,
    no_counts,
)

BATCH_BYTES = 32 << 20
"""Trees are worked on in batches of about so many bytes of histograms per level and task."""

_TYPICAL_NODES = 12  # nodes counted per tree and level with leaves of 2%


class Target(NamedTuple):
    """A column to grow a tree for."""

    number: int
    rules: GrowthRules
    class_of_code: NDArray[np.unsignedinteger] | None
    code_counts: NDArray[np.int64]


def make_targets(
    settings: TreeSettings, columns: Sequence[Column], code_counts: list[NDArray[np.int64]]
) -> list[Target]:
    """Set the rules of each column's tree from the counts of its codes."""
    return [
        Target(m, *growth_rules(settings, column, counts), counts)
        for m, (column, counts) in enumerate(zip(columns, code_counts, strict=True))
    ]


def grow_on_cluster(
    run: Run,
    pieces: Sequence[Future],
    targets: Sequence[Target],
    binning: Binning,
    settings: TreeSettings,
) -> tuple[Forest, list[NodeArrays]]:
    """Grow one tree per column; a round trip per level for all trees together.

    Parameters
    ----------
    run : Run
    pieces : sequence of future
        The `Piece` of each partition.
    targets : sequence of Target
    binning : Binning
    settings : TreeSettings

    Returns
    -------
    forest : Forest
    trees : list of NodeArrays
        The same trees one by one.
    """
    layout = Layout(code_offsets(binning.n_codes), binning.is_nominal)
    shared = run.share(layout)
    batches = _batches(targets, layout, run.n_threads)
    specs = [run.share(batch) for batch in batches]
    growing = [run.submit(start_trees, spec) for spec in specs]
    max_depth = max((target.rules.max_depth for target in targets), default=0)
    open_batches, depth = list(range(len(batches))), 0
    while open_batches:
        groups = run.groups(pieces)
        for b in open_batches:
            sketches = run.submit(sketch_trees, growing[b])
            parts = [
                run.submit(count_trees, [pieces[p] for p in group], specs[b], sketches, shared)
                for group in groups
            ]
            counts = run.reduce(merge_tree_counts, parts)
            growing[b] = run.submit(advance_trees, growing[b], counts, shared)
        done = run.result([run.submit(all_done, growing[b]) for b in open_batches])
        open_batches = [b for b, finished in zip(open_batches, done, strict=True) if not finished]
        depth += 1
        run.tell("trees", depth if open_batches else max_depth + 1, max_depth + 1)
    grown = run.result([run.submit(finished_trees, batch) for batch in growing])
    trees = [tree for batch in grown for tree in batch]
    code_counts = [target.code_counts for target in targets]
    return join_trees(trees, binning.edges, binning.is_nominal, code_counts, settings), trees


def _batches(targets: Sequence[Target], layout: Layout, n_threads: int) -> list[list[Target]]:
    """Cut the targets into consecutive batches, at least one for each thread."""
    cells = int(layout.offsets[-1])
    sizes = np.array([4 * cells * widths(t.rules)[0] * _TYPICAL_NODES for t in targets])
    n_batches = max(n_threads, -(-int(sizes.sum()) // BATCH_BYTES))
    n_batches = min(n_batches, len(targets))
    cuts = np.linspace(0, len(targets), n_batches + 1).astype(int)
    return [list(targets[a:b]) for a, b in pairwise(cuts)]


def start_trees(targets: list[Target]) -> list[Growing]:
    """Return trees of nothing but a root."""
    return [Growing(target.number, target.rules) for target in targets]


def sketch_trees(trees: list[Growing]) -> list[Sketch | None]:
    """Return what is to be counted; None for trees that are done."""
    return [None if tree.is_done else tree.sketch() for tree in trees]


def count_trees(
    pieces: list[Piece], targets: list[Target], sketches: list[Sketch | None], layout: Layout
) -> list[LevelCounts | None]:
    """Count the next level of some trees over the pieces that lie together."""
    found: list[LevelCounts | None] = []
    for target, sketch in zip(targets, sketches, strict=True):
        if sketch is None:
            found.append(None)
            continue
        counts = no_counts(target.rules, sketch, layout)
        for piece in pieces:
            values = target_values(piece, target)
            count_level(piece.codes, values, target.number, target.rules, sketch, layout, counts)
        found.append(counts)
    return found


def target_values(piece: Piece, target: Target) -> NDArray[np.integer]:
    """Return a piece's target as its tree predicts it."""
    if target.class_of_code is None:
        return piece.moments[target.number]
    return target.class_of_code[piece.codes[target.number]]


def merge_tree_counts(parts: list[list[LevelCounts | None]]) -> list[LevelCounts | None]:
    """Add up the counts of several groups of pieces, tree by tree."""
    merged: list[LevelCounts | None] = []
    for counts in zip(*parts, strict=True):
        present = [count for count in counts if count is not None]
        merged.append(merge_counts(present) if present else None)
    return merged


def advance_trees(
    trees: list[Growing], counts: list[LevelCounts | None], layout: Layout
) -> list[Growing]:
    """Decide the nodes of a level."""
    return [
        tree if count is None else advance(tree, count, layout)
        for tree, count in zip(trees, counts, strict=True)
    ]


def all_done(trees: list[Growing]) -> bool:
    """Say whether all trees of a batch are done."""
    return all(tree.is_done for tree in trees)


def finished_trees(trees: list[Growing]) -> list[NodeArrays]:
    """Return the nodes of finished trees."""
    return [in_preorder(tree.nodes) for tree in trees]
