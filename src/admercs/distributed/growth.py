"""Growing all trees at once, level by level, from the codes that the workers hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.distributed.pieces import Piece
from admercs.distributed.run import Run
from admercs.table.bins import Binning
from admercs.table.columns import Column
from admercs.trees.forest import Forest
from admercs.trees.grow import Growing, GrowthRules, Layout, layout_of, widths
from admercs.trees.growth import TreeSettings, growth_rules, join_trees
from admercs.trees.levels import (
    Level,
    LevelCounts,
    Rows,
    Sketch,
    count_level,
    merge_counts,
    next_level,
    no_counts,
)
from admercs.trees.nodes import NodeArrays

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
    layout = layout_of(binning)
    batches = _batches(targets, layout, run.n_threads)
    specs = [run.share(batch) for batch in batches]
    growing = [run.submit(start_trees, spec, layout) for spec in specs]
    max_depth = max((target.rules.max_depth for target in targets), default=0)
    open_batches, depth = list(range(len(batches))), 0
    while open_batches:
        groups = run.groups(pieces)
        for b in open_batches:
            sketches = run.submit(sketch_trees, growing[b])
            parts = [
                run.submit(count_trees, [pieces[p] for p in group], specs[b], sketches)
                for group in groups
            ]
            counts = run.reduce(merge_tree_counts, parts)
            growing[b] = run.submit(advance_trees, growing[b], counts)
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


def start_trees(targets: list[Target], layout: Layout) -> list[Level]:
    """Return trees of nothing but a root."""
    return [Level(Growing(target.number, target.rules, layout)) for target in targets]


def sketch_trees(levels: list[Level]) -> list[Sketch | None]:
    """Return what is to be counted; None for trees that are done."""
    return [None if level.is_done else level.sketch() for level in levels]


def count_trees(
    pieces: list[Piece], targets: list[Target], sketches: list[Sketch | None]
) -> list[LevelCounts | None]:
    """Count the next level of some trees over the pieces that lie together."""
    found: list[LevelCounts | None] = []
    for target, sketch in zip(targets, sketches, strict=True):
        if sketch is None:
            found.append(None)
            continue
        counts, turns = no_counts(sketch), sketch.turns()
        for piece in pieces:
            values = partial(target_values, piece, target)
            count_level(piece.codes, values, sketch, turns, counts)
        found.append(counts)
    return found


def target_values(piece: Piece, target: Target, rows: Rows) -> NDArray[np.integer]:
    """Return some rows' target as its tree predicts it."""
    if target.class_of_code is None:
        return piece.moments[target.number].take(rows)
    values = np.empty(len(rows), target.class_of_code.dtype)
    look_up(piece.codes[target.number], target.class_of_code, rows, values)
    return values


@kernel
def look_up(codes, class_of_code, rows, out):  # type: ignore[no-untyped-def]
    """Write the class of each of some rows."""
    for i in range(np.uint64(len(rows))):
        out[i] = class_of_code[np.uint64(codes[np.uint64(rows[i])])]


def merge_tree_counts(parts: list[list[LevelCounts | None]]) -> list[LevelCounts | None]:
    """Add up the counts of several groups of pieces, tree by tree."""
    merged: list[LevelCounts | None] = []
    for counts in zip(*parts, strict=True):
        present = [count for count in counts if count is not None]
        merged.append(merge_counts(present) if present else None)
    return merged


def advance_trees(levels: list[Level], counts: list[LevelCounts | None]) -> list[Level]:
    """Decide the nodes of a level."""
    return [
        level if count is None else next_level(level, count)
        for level, count in zip(levels, counts, strict=True)
    ]


def all_done(levels: list[Level]) -> bool:
    """Say whether all trees of a batch are done."""
    return all(level.is_done for level in levels)


def finished_trees(levels: list[Level]) -> list[NodeArrays]:
    """Return the nodes of finished trees."""
    return [level.tree.finished()[0] for level in levels]
