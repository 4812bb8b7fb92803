"""All trees of a model as flat arrays, which compiled kernels can walk.

The nodes of a growing tree (`TreeNodes`) come in order of creation, at the end in preorder; a
`Forest` has the nodes of all trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.arrays import Array, Bools, Floats, Ints, Keys, ShortInts

# Rows walked together: few enough that a column of them stays in the cache.
CHUNK = 8192


class TreeNodes(NamedTuple):
    """The nodes of one tree; numbers count within the tree."""

    feature: ShortInts
    bin: ShortInts
    bits: Keys
    missing_left: Bools
    left: ShortInts
    right: ShortInts
    parent: ShortInts
    n: Ints
    impurity: Floats
    paid: Bools  # whether a split and all above it pay the full price


def empty_nodes(capacity: int) -> TreeNodes:
    """Allocate the arrays of a tree with at most `capacity` nodes."""
    feature, left, right, parent = np.full((4, capacity), -1, np.int32)
    missing_left, paid = np.zeros((2, capacity), np.bool_)
    code, bits = np.zeros(capacity, np.int32), np.zeros((capacity, 4), np.uint64)
    n, impurity = np.zeros(capacity, np.int64), np.zeros(capacity)
    return TreeNodes(feature, code, bits, missing_left, left, right, parent, n, impurity, paid)


def with_room(nodes: TreeNodes, more: int) -> TreeNodes:
    """Make room for further nodes."""
    pairs: Any = zip(nodes, empty_nodes(more), strict=True)
    return TreeNodes._make(map(np.concatenate, pairs))


def category_bits(words: Keys) -> Bools:
    """Say which codes of a nominal column go left, given as bits."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little").view(np.bool_)


def to_preorder(nodes: TreeNodes) -> tuple[TreeNodes, ShortInts]:
    """Bring the nodes of a finished tree into preorder; also return the new number of each."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if nodes.feature[node] >= 0:
            stack += [int(nodes.right[node]), int(nodes.left[node])]
    number = np.empty(len(order) + 1, np.int32)
    number[order] = np.arange(len(order))
    number[-1] = -1  # "none" is -1 and stays so
    nodes = TreeNodes._make(array[order] for array in nodes)
    links = {name: number[getattr(nodes, name)] for name in ("left", "right", "parent")}
    return nodes._replace(**links), number


class Forest(NamedTuple):
    """One tree per used column, their nodes one after the other.

    The nodes of the tree for column m are ``root[m]:root[m + 1]`` in preorder (a node, its left
    subtree, its right subtree). Node numbers in ``left``, ``right`` and ``parent`` count over the
    whole forest.
    """

    root: Ints  # M + 1
    feature: ShortInts  # the column a node splits on; -1 for a leaf
    threshold: Floats  # numeric split: working value <= threshold goes left
    bin: ShortInts  # the same split in codes: code <= bin goes left
    subset: ShortInts  # nominal split: row of `subsets`; -1 otherwise
    missing_left: Bools  # where a missing value goes
    left: ShortInts  # -1 for a leaf
    right: ShortInts
    parent: ShortInts  # -1 for a root
    n: Ints  # training rows in the node
    impurity: Floats
    paid: Bools  # whether a split pays its full price; below others lie groups
    subsets: Keys  # n x 4: bit c is set when category code c goes left

    @property
    def n_trees(self) -> int:
        """Number of trees, one per used column."""
        return len(self.root) - 1

    @property
    def roots(self) -> ShortInts:
        """The root of the tree that each node belongs to."""
        return np.repeat(self.root[:-1], np.diff(self.root)).astype(np.int32)

    @property
    def is_leaf(self) -> Bools:
        """Which nodes are leaves."""
        return self.feature < 0

    def tree_of(self, node: int | np.integer) -> int:
        """Return the tree (the target column) that a node belongs to."""
        return int(np.searchsorted(self.root, node, side="right")) - 1

    def leaves(self, tree: int) -> Ints:
        """Return the node numbers of the leaves of one tree."""
        start, stop = self.root[tree], self.root[tree + 1]
        return start + np.flatnonzero(self.feature[start:stop] < 0)

    def below(self, node: int | np.integer) -> slice:
        """Return a node and all that lies below it; in preorder these follow each other."""
        last = int(node)
        while self.feature[last] >= 0:
            last = int(self.right[last])
        return slice(int(node), last + 1)

    def stops(self) -> Ints:
        """Return for each node one past the last that lies below it, see `below`."""
        right, stops = self.right.tolist(), list(range(1, len(self.right) + 1))
        for node in range(len(right) - 1, -1, -1):
            if right[node] >= 0:
                stops[node] = stops[right[node]]
        return np.array(stops, np.int64)

    def path(self, node: int | np.integer) -> list[int]:
        """Return the nodes from the root down to ``node``, both included."""
        nodes = [int(node)]
        while self.parent[nodes[-1]] >= 0:
            nodes.append(int(self.parent[nodes[-1]]))
        return nodes[::-1]

    def condition_columns(self, node: int | np.integer) -> list[int]:
        """Return the columns that the conditions of a node are about."""
        return sorted(set(self.feature[self.path(node)[:-1]].tolist()))


def join_trees(trees: Sequence[TreeNodes], edges: Sequence[Floats], is_nominal: Bools) -> Forest:
    """Put trees one after the other and give their splits thresholds in working values."""
    sizes = [len(tree.feature) for tree in trees]
    root: Ints = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    shift = np.repeat(root[:-1], sizes).astype(np.int32)
    joined = TreeNodes._make(np.concatenate(arrays) for arrays in zip(*trees, strict=True))
    fields: dict[str, Array] = joined._asdict()
    for name in ("left", "right", "parent"):
        fields[name] = np.where(fields[name] < 0, -1, fields[name] + shift)
    feature, bits = joined.feature, fields.pop("bits")
    by_subset = (feature >= 0) & is_nominal[np.maximum(feature, 0)]
    threshold = np.full(len(feature), np.nan)
    for m in np.unique(feature[(feature >= 0) & ~by_subset]):
        nodes = np.flatnonzero(feature == m)
        # Bin 0 holds only missing values: every number is larger than the threshold.
        threshold[nodes] = np.concatenate([[-np.inf], edges[m]])[joined.bin[nodes]]
    subset = np.where(by_subset, np.cumsum(by_subset) - 1, -1).astype(np.int32)
    subsets = np.ascontiguousarray(bits[by_subset])
    return Forest(root=root, threshold=threshold, subset=subset, subsets=subsets, **fields)


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf of each row of a piece of the training table in each tree, in few bytes."""

    number: NDArray[np.unsignedinteger]  # trees x rows: the leaf, counted from the tree's root
    root: Ints  # see `Forest`

    def __getitem__(self, tree: int) -> ShortInts:
        """Return the leaves of all rows in one tree, as node numbers of the forest."""
        return np.add(self.number[tree], self.root[tree], dtype=np.int32, casting="unsafe")

    def rows_in(self, nodes: slice) -> Ints:
        """Return the rows of all leaves among some nodes of one tree, see `Forest.below`."""
        tree = int(np.searchsorted(self.root, nodes.start, side="right")) - 1
        first, stop = nodes.start - self.root[tree], nodes.stop - self.root[tree]
        number = self.number[tree]
        return np.flatnonzero((number >= first) & (number < stop))

    def of(self, rows: slice | Ints) -> ShortInts:
        """Return the leaves of some rows: trees x rows."""
        roots = self.root[:-1, None]
        return np.add(self.number[:, rows], roots, dtype=np.int32, casting="unsafe")


def leaf_type(n_nodes: int) -> type[np.unsignedinteger]:
    """Return the smallest type for the numbers of a tree's nodes."""
    return np.uint8 if n_nodes <= 1 << 8 else np.uint16 if n_nodes <= 1 << 16 else np.uint32


def find_leaves(forest: Forest, block: Floats, out: ShortInts) -> None:
    """Write the leaf of each row of a block (columns x rows) in each tree."""
    rows, spare = np.empty((2, CHUNK), np.int32)
    end = np.empty(len(forest.feature), np.int64)
    for start in range(0, block.shape[1], CHUNK):
        walk_down(
            forest.root, forest.feature, forest.threshold, forest.subset, forest.missing_left,
            forest.right, forest.subsets, block, start, rows, spare, end, out,
        )  # fmt: skip


@kernel
def walk_down(  # type: ignore[no-untyped-def]
    root, feature, threshold, subset, missing_left, right, subsets, block, start, rows, spare,
    end, out,
):  # fmt: skip
    """Take the rows from `start` on, as many as `rows` has room for, down each tree.

    Each node parts its rows: no row needs to remember where it is. Nodes come in preorder, so the
    rows of a node begin where those of the last leaf ended. Which way a row goes cannot be
    predicted: it is written to both sides, and only one of them moves on.
    """
    one = np.uint64(1)  # unsigned: numba need not ask whether an index counts from the end
    n_rows = np.uint64(min(len(rows), block.shape[1] - start))
    for m in range(len(root) - 1):
        for k in range(n_rows):
            rows[k] = start + k
        end[root[m]] = n_rows
        begin = np.uint64(0)
        for node in range(np.uint64(root[m]), np.uint64(root[m + 1])):
            stop = np.uint64(end[node])
            if feature[node] < 0:
                for k in range(begin, stop):
                    out[m, np.uint64(rows[k])] = node
                begin = stop
                continue
            column, limit = block[feature[node]], threshold[node]
            missing, categories = np.uint64(missing_left[node]), subset[node]
            n_left, n_right = begin, np.uint64(0)
            for k in range(begin, stop):
                row = rows[k]
                value = column[np.uint64(row)]
                left = np.uint64(value <= limit)
                if np.isnan(value):
                    left = missing
                elif categories >= 0:
                    code = np.uint64(value)
                    left = (
                        subsets[categories, code >> np.uint64(6)] >> (code & np.uint64(63))
                    ) & one
                rows[n_left] = spare[n_right] = row
                n_left += left
                n_right += one - left
            for k in range(n_right):
                rows[n_left + k] = spare[k]
            end[node + one] = n_left  # the left child is the next node
            end[right[node]] = stop
