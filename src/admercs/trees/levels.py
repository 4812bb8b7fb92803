"""Growing a tree level by level, from histograms that were gathered anywhere.

The rows may lie in many pieces. A level takes three steps: every piece counts its rows in the nodes that are
asked for (`count_level`), the counts are added up (`merge_counts`), and all nodes of the level are
decided (`advance`). Only the smaller half of a split is counted, its sibling's histogram is the parent's minus
it. The decisions are those of `grow.decide`, on the same integers: the tree is the one that `grow_tree` grows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.trees.criteria import XLOGX, impurity
from admercs.trees.grow import (
    GrowthRules,
    NodeArrays,
    decide,
    empty_nodes,
    is_leaf,
    left_codes,
    widths,
)
from admercs.trees.histograms import (
    CLASSES,
    add_rows,
    histogram_type,
    total_up,
)

Codes = NDArray[np.uint8] | NDArray[np.uint16]
Hists = NDArray[np.signedinteger]  # see histogram_type


class Layout(NamedTuple):
    """What all trees share: where each input column's codes start, and which are categories."""

    offsets: NDArray[np.int64]
    is_nominal: NDArray[np.bool_]


class Sketch(NamedTuple):
    """A tree so far, as far as rows need to know it to find their way; nodes in order of creation."""

    nodes: NodeArrays
    # Per node: its place among those to be counted. Others are at a last place, which saves asking each row.
    place: NDArray[np.int32]
    n_places: int
    deeper: bool  # whether histograms are needed, or only the totals


class LevelCounts(NamedTuple):
    """What was counted for one tree: per place, its histogram, its totals and its rows."""

    hists: Hists
    totals: NDArray[np.int64]
    n: NDArray[np.int64]


@dataclass(frozen=True)
class _Parent:
    """A node that was split; its histogram waits for that of its smaller half."""

    node: int
    small_left: bool
    hist: Hists
    totals: NDArray[np.int64]


def _with_root() -> NodeArrays:
    return empty_nodes(1)


@dataclass(frozen=True)
class Growing:
    """A tree between two levels."""

    target: int
    rules: GrowthRules
    nodes: NodeArrays = field(default_factory=_with_root)
    depth: int = 0
    root_impurity: float = 0.0
    parents: tuple[_Parent, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to count."""
        return self.depth > 0 and not self.parents

    def sketch(self) -> Sketch:
        """Return what a piece of the table needs to count the next level."""
        n_places = 1 if self.depth == 0 else len(self.parents)
        place = np.full(len(self.nodes.feature), n_places, np.int32)
        if self.depth == 0:
            place[0] = 0
        for k, parent in enumerate(self.parents):
            place[(self.nodes.left if parent.small_left else self.nodes.right)[parent.node]] = k
        deeper = self.depth == 0 or self.depth < self.rules.max_depth
        return Sketch(self.nodes, place, n_places, deeper)


def no_counts(rules: GrowthRules, sketch: Sketch, layout: Layout) -> LevelCounts:
    """Return counts of nothing, to be added to."""
    width, n_totals = widths(rules)
    cells = int(layout.offsets[-1]) * width if sketch.deeper else 0
    n = sketch.n_places
    return LevelCounts(
        np.zeros((n, cells), histogram_type(rules.form, rules.n_rows)),
        np.zeros((n, n_totals), np.int64),
        np.zeros(n, np.int64),
    )


@kernel
def walk(codes, feature, turns, depth, place, out):  # type: ignore[no-untyped-def]
    """Take all rows down `depth` steps and write the place of the node each of them ends in.

    Which way a row goes cannot be predicted, so every step is a look-up and none is a branch.
    """
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    for i in range(np.uint64(codes.shape[1])):
        node = np.uint64(0)
        for _ in range(depth):
            code = np.uint64(codes[np.uint64(feature[node]), i])
            node = np.uint64(turns[node, code])
        out[i] = place[node]


def find_places(
    codes: Codes,
    is_nominal: NDArray[np.bool_],
    nodes: NodeArrays,
    place: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Walk rows down a tree by their codes; write the place of the node each of them ends in."""
    n_codes = 256 if codes.itemsize == 1 else int(codes.max(initial=0)) + 1
    n_nodes = len(nodes.feature)
    # As small as can be: the table should stay in the first-level cache.
    turns = np.empty((n_nodes, n_codes), np.uint16 if n_nodes < 1 << 16 else np.uint32)
    turns[:] = np.arange(n_nodes)[:, None]  # in a leaf a row stays where it is
    inner = np.flatnonzero(nodes.feature >= 0)
    is_left = left_codes(nodes, inner, is_nominal[nodes.feature[inner]], n_codes)
    turns[inner] = np.where(is_left, nodes.left[inner, None], nodes.right[inner, None])
    depth = np.zeros(len(nodes.feature), np.int64)
    for node in inner:  # a parent comes before its children
        depth[nodes.left[node]] = depth[nodes.right[node]] = depth[node] + 1
    # A leaf looks at column 0, and stays where it is whatever it sees there.
    column = np.maximum(nodes.feature, 0).astype(np.uint32)
    walk(codes, column, turns, int(depth.max()), place, out)


@kernel
def sort_by_place(places, start, rows):  # type: ignore[no-untyped-def]
    """List the rows of each place one after the other.

    ``start[k]:start[k + 1]`` are the rows of place k; `start` comes in as zeros, two longer than there are places.
    """
    one, n = np.uint64(1), np.uint64(len(places))
    for i in range(n):
        start[np.uint64(places[i]) + np.uint64(2)] += 1
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for i in range(n):
        after = np.uint64(places[i]) + one
        rows[np.uint64(start[after])] = i
        start[after] += 1


def count_level(
    codes: Codes,
    values: NDArray[np.integer],
    target: int,
    rules: GrowthRules,
    sketch: Sketch,
    layout: Layout,
    counts: LevelCounts,
) -> None:
    """Add a piece's rows to the counts of one tree's level.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (M, n)
        The piece.
    values : ndarray of integers
        Its target, as classes or in fixed point.
    target : int
        The target's column, which is no input.
    rules, sketch, layout
        The tree, and how its histograms are laid out.
    counts : LevelCounts
        Receives the counts.
    """
    n_rows = codes.shape[1]
    if n_rows == 0:
        return
    places = np.empty(n_rows, np.int32)
    find_places(codes, layout.is_nominal, sketch.nodes, sketch.place, places)
    start = np.zeros(sketch.n_places + 3, np.int64)
    rows = np.empty(n_rows, np.int32)
    sort_by_place(places, start, rows)
    width, n_totals = widths(rules)
    mine, totals = np.empty_like(values), np.empty(n_totals, np.int64)
    for k in range(sketch.n_places):
        some = rows[start[k] : start[k + 1]]
        np.take(values, some, out=mine[: len(some)])
        totals.fill(0)
        total_up(mine[: len(some)], rules.form, totals)
        counts.totals[k] += totals
        counts.n[k] += len(some)
        if sketch.deeper:
            add_rows(
                codes, some, mine, rules.form, width, layout.offsets, target, False,
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


def advance(tree: Growing, counts: LevelCounts, layout: Layout) -> Growing:
    """Decide all nodes of a level; the counts are used up."""
    # Each split adds two nodes, and there are at most twice as many new nodes as parents.
    nodes = _grown(tree.nodes, 4 * max(1, len(tree.parents)))
    level = _Level(tree, nodes, layout, len(tree.nodes.feature))
    if tree.depth == 0:
        root_impurity = impurity(counts.totals[0], tree.rules.criterion, XLOGX)
        level.tree = replace(tree, root_impurity=float(root_impurity))
        level.settle(0, int(counts.n[0]), counts.hists[0], counts.totals[0])
    for k, parent in enumerate(tree.parents):
        small = int(counts.n[k]), counts.hists[k], counts.totals[k]
        large_hist = parent.hist - small[1] if small[1].size else parent.hist
        n_large = int(nodes.n[parent.node]) - small[0]
        large = n_large, large_hist, parent.totals - small[2]
        left, right = (small, large) if parent.small_left else (large, small)
        level.settle(int(nodes.left[parent.node]), *left)
        level.settle(int(nodes.right[parent.node]), *right)
    nodes = _of_each(nodes, lambda array: array[: level.n_nodes])
    return replace(level.tree, nodes=nodes, depth=tree.depth + 1, parents=tuple(level.parents))


@dataclass
class _Level:
    """One level while its nodes are decided."""

    tree: Growing
    nodes: NodeArrays
    layout: Layout
    n_nodes: int
    parents: list[_Parent] = field(default_factory=list)

    def settle(self, node: int, n: int, hist: Hists, totals: NDArray[np.int64]) -> None:
        """Decide about one node; a split gets two new nodes."""
        nodes, tree, rules = self.nodes, self.tree, self.tree.rules
        nodes.n[node] = n
        nodes.impurity[node] = impurity(totals, rules.criterion, XLOGX)
        split = decide(
            hist, totals, tree.depth, tree.root_impurity, self.layout.offsets,
            self.layout.is_nominal, tree.target, rules, nodes.bits[node],
        )  # fmt: skip
        nodes.feature[node], nodes.bin[node], nodes.missing_left[node] = split
        if split.feature < 0:
            return
        for side in (nodes.left, nodes.right):
            side[node] = self.n_nodes
            nodes.parent[self.n_nodes] = node
            self.n_nodes += 1
        left = self._left_totals(node, hist)
        if rules.form == CLASSES and self._ends(node, left, totals - left):
            return
        n_left, n_both = (left.sum(), n) if rules.form == CLASSES else (left[0], totals[0])
        # A copy: views would keep the counts of all other nodes alive.
        self.parents.append(_Parent(node, 2 * n_left <= n_both, hist.copy(), totals.copy()))

    def _left_totals(self, node: int, hist: Hists) -> NDArray[np.int64]:
        """Add up what goes left; of a moment target only the rows that have a value, and their sum."""
        nodes, offsets = self.nodes, self.layout.offsets
        feature = nodes.feature[node]
        width, _ = widths(self.tree.rules)
        cells = hist.reshape(-1, width)[offsets[feature] : offsets[feature + 1]]
        is_left = left_codes(nodes, [node], self.layout.is_nominal[[feature]], len(cells))[0]
        left: NDArray[np.int64] = cells[is_left].sum(axis=0, dtype=np.int64)
        return left

    def _ends(self, node: int, *halves: NDArray[np.int64]) -> bool:
        """If both halves of a split are leaves whatever they hold, write them down without counting."""
        nodes, rules = self.nodes, self.tree.rules
        if not all(is_leaf(totals, self.tree.depth + 1, rules) for totals in halves):
            return False
        for side, totals in zip((nodes.left, nodes.right), halves, strict=True):
            child = side[node]
            nodes.n[child] = totals.sum()
            nodes.impurity[child] = impurity(totals, rules.criterion, XLOGX)
        return True


def _of_each(nodes: NodeArrays, change: Callable[[NDArray[Any]], NDArray[Any]]) -> NodeArrays:
    return NodeArrays(*(change(np.asarray(array)) for array in nodes))


def _grown(nodes: NodeArrays, more: int) -> NodeArrays:
    """Make room for further nodes."""
    spare = iter(empty_nodes(more))
    return _of_each(nodes, lambda array: np.concatenate([array, next(spare)]))


def in_preorder(nodes: NodeArrays) -> NodeArrays:
    """Bring the nodes of a finished tree into the order of a forest."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if nodes.feature[node] >= 0:
            stack += [int(nodes.right[node]), int(nodes.left[node])]
    number = np.empty(len(order) + 1, np.int32)
    number[order] = np.arange(len(order))
    number[-1] = -1  # "none" is -1 and stays so
    arranged = _of_each(nodes, lambda array: array[order])
    return arranged._replace(
        left=number[arranged.left], right=number[arranged.right], parent=number[arranged.parent]
    )
