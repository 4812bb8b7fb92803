"""Growing a tree from rows in many pieces, level by level.

A level takes three steps: every piece finds its rows in the nodes that are asked for and counts them
(`count_level`), the counts are added up (`merge_counts`), and all nodes of the level are decided (`next_level`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.forest import leaf_type
from admercs.trees.grow import Counted, Growing, GrowthRules, Hist, Ints, Layout, Split, widths
from admercs.trees.histograms import add_rows, histogram_type, total_up
from admercs.trees.nodes import NodeArrays, depths, left_codes, of_each

Codes = NDArray[np.uint8] | NDArray[np.uint16]
Rows = NDArray[np.int32]
Values = Callable[[Rows], NDArray[np.integer]]

# Rows that take a step together: few enough that their codes stay in the cache.
CHUNK = 4096


@dataclass(frozen=True)
class Level:
    """A tree between two levels: what was split and has still to be counted."""

    tree: Growing
    depth: int = 0
    splits: tuple[Split, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to count."""
        return self.depth > 0 and not self.splits

    def sketch(self) -> Sketch:
        """Return what a piece of the table needs to count the next level."""
        nodes = of_each(self.tree.nodes, lambda array: array[: self.tree.n_nodes])
        n_places = 1 if self.depth == 0 else len(self.splits)
        place = np.full(len(nodes.feature), n_places, np.int32)
        if self.depth == 0:
            place[0] = 0
        for k, split in enumerate(self.splits):
            place[(nodes.left if split.small_left else nodes.right)[split.node]] = k
        tree = self.tree
        return Sketch(tree.target, tree.rules, tree.layout, nodes, self.depth, place, n_places)


class Sketch(NamedTuple):
    """A tree so far, as far as rows need to know it to find their way."""

    target: int
    rules: GrowthRules
    layout: Layout
    nodes: NodeArrays
    depth: int
    # Per node: its place among those to be counted. Others are at a last place, which saves asking each row.
    place: NDArray[np.int32]
    n_places: int

    def turns(self) -> Turns:
        """Return its turns; too large to be sent along."""
        return find_turns(self.nodes, self.layout)


class LevelCounts(NamedTuple):
    """What was counted for one tree: per place, its histogram, its totals and its rows."""

    hists: Hist
    totals: Ints
    n: Ints


def no_counts(sketch: Sketch) -> LevelCounts:
    """Return counts of nothing, to be added to."""
    rules, n = sketch.rules, sketch.n_places
    width, n_totals = widths(rules)
    # On the last level only the totals matter.
    deeper = sketch.depth == 0 or sketch.depth < rules.max_depth
    cells = int(sketch.layout.offsets[-1]) * width if deeper else 0
    return LevelCounts(
        np.zeros((n, cells), histogram_type(rules.form, rules.n_rows)),
        np.zeros((n, n_totals), np.int64),
        np.zeros(n, np.int64),
    )


@kernel
def walk(codes, feature, turns, depth, at):  # type: ignore[no-untyped-def]
    """Take all rows down from the node they are at, `depth` steps.

    A few rows at a time take a step, then the same rows the next one: one row need not wait for another. Which
    way a row goes cannot be predicted, so a step is a look-up and no branch.
    """
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    n = np.uint64(len(at))
    for first in range(np.uint64(0), n, np.uint64(CHUNK)):
        last = min(n, first + np.uint64(CHUNK))
        for _ in range(depth):
            for i in range(first, last):
                node = np.uint64(at[i])
                at[i] = turns[node, np.uint64(codes[np.uint64(feature[node]), i])]


class Turns(NamedTuple):
    """Where each node of a tree sends each code."""

    column: NDArray[np.uint32]  # what a node looks at
    next: NDArray[np.unsignedinteger]  # nodes x codes
    depth: int

    def walk(self, codes: Codes) -> NDArray[np.unsignedinteger]:
        """Return the node that each row ends in."""
        at = np.zeros(codes.shape[1], self.next.dtype)
        walk(codes, self.column, self.next, self.depth, at)
        return at


def find_turns(nodes: NodeArrays, layout: Layout) -> Turns:
    """Prepare a tree for rows to walk down."""
    n_nodes = len(nodes.feature)
    # As small as can be: the table should stay in the first-level cache.
    dtype = np.dtype(leaf_type(n_nodes))
    following = np.empty((n_nodes, int(np.diff(layout.offsets).max())), dtype)
    following[:] = np.arange(n_nodes)[:, None]  # in a leaf a row stays where it is
    inner = np.flatnonzero(nodes.feature >= 0)
    nominal = layout.is_nominal[nodes.feature[inner]]
    is_left = left_codes(nodes, inner, nominal, following.shape[1])
    following[inner] = np.where(is_left, nodes.left[inner, None], nodes.right[inner, None])
    # A leaf looks at column 0, and stays where it is whatever it sees there.
    column = np.maximum(nodes.feature, 0).astype(np.uint32)
    return Turns(column, following, int(depths(nodes.parent).max()))


@kernel
def sort_by_place(at, place, start, rows):  # type: ignore[no-untyped-def]
    """List the rows of each place one after the other.

    ``start[k]:start[k + 1]`` are the rows of place k; `start` comes in as zeros, two longer than there are places.
    """
    one, n = np.uint64(1), np.uint64(len(at))
    for i in range(n):
        start[np.uint64(place[np.uint64(at[i])]) + np.uint64(2)] += 1
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for i in range(n):
        after = np.uint64(place[np.uint64(at[i])]) + one
        rows[np.uint64(start[after])] = i
        start[after] += 1


def count_level(
    codes: Codes, values: Values, sketch: Sketch, turns: Turns, counts: LevelCounts
) -> None:
    """Add a piece's rows to the counts of one tree's level.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (M, n)
        The piece.
    values : callable
        Returns the target of some rows, as classes or in fixed point.
    sketch : Sketch
        The tree.
    turns : Turns
        Its turns, the same for all pieces.
    counts : LevelCounts
        Receives the counts.
    """
    n_rows = codes.shape[1]
    if n_rows == 0:
        return
    whole = sketch.depth == 0
    if whole:
        rows, start = np.arange(n_rows, dtype=np.int32), np.array([0, n_rows])
    else:
        rows, start = np.empty(n_rows, np.int32), np.zeros(sketch.n_places + 3, np.int64)
        sort_by_place(turns.walk(codes), sketch.place, start, rows)
    form, (width, n_totals) = sketch.rules.form, widths(sketch.rules)
    for k in range(sketch.n_places):
        some = rows[start[k] : start[k + 1]]
        mine, totals = values(some), np.zeros(n_totals, np.int64)
        total_up(mine, form, totals)
        counts.totals[k] += totals
        counts.n[k] += len(some)
        if counts.hists.size:
            add_rows(
                codes, some, mine, form, width, sketch.layout.offsets, sketch.target, whole,
                counts.hists[k],
            )  # fmt: skip


def merge_counts(pieces: Sequence[LevelCounts]) -> LevelCounts:
    """Add up the counts of several pieces."""
    hists, totals, n = pieces[0].hists.copy(), pieces[0].totals.copy(), pieces[0].n.copy()
    for piece in pieces[1:]:
        hists += piece.hists
        totals += piece.totals
        n += piece.n
    return LevelCounts(hists, totals, n)


def next_level(level: Level, counts: LevelCounts) -> Level:
    """Decide all nodes of a level; what is given stays as it is."""
    tree, splits = deepcopy((level.tree, level.splits))
    # Copies: views would keep the counts of all other nodes alive.
    counted = [
        Counted(int(counts.n[k]), counts.hists[k].copy(), counts.totals[k].copy())
        for k in range(len(counts.n))
    ]
    if level.depth == 0:
        found = tree.plant(counted[0])
    else:
        halves = zip(splits, counted, strict=True)
        found = [new for split, small in halves for new in tree.advance(split, small)]
    return Level(tree, level.depth + 1, tuple(split for split in found if not split.ends))
