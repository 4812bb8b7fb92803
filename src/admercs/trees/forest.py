"""All trees of a model as flat arrays, which compiled kernels can walk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Array, Bools, Floats, Ints, Keys, ShortInts
from admercs.trees.tree_nodes import TreeNodes


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

    def whole(name: str) -> Array:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def renumbered(name: str) -> ShortInts:
        numbers = whole(name)
        return np.where(numbers < 0, -1, numbers + shift).astype(np.int32)

    feature, code = whole("feature"), whole("bin")
    by_subset = (feature >= 0) & is_nominal[np.maximum(feature, 0)]
    threshold = np.full(len(feature), np.nan)
    for m in np.unique(feature[(feature >= 0) & ~by_subset]):
        nodes = np.flatnonzero(feature == m)
        # Bin 0 holds only missing values: every number is larger than the threshold.
        threshold[nodes] = np.concatenate([[-np.inf], edges[m]])[code[nodes]]
    return Forest(
        root=root,
        feature=feature,
        threshold=threshold,
        bin=code,
        subset=np.where(by_subset, np.cumsum(by_subset) - 1, -1).astype(np.int32),
        missing_left=whole("missing_left"),
        left=renumbered("left"),
        right=renumbered("right"),
        parent=renumbered("parent"),
        n=whole("n"),
        impurity=whole("impurity"),
        paid=whole("paid"),
        subsets=np.ascontiguousarray(whole("bits")[by_subset]),
    )


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf of each row of a piece of the training table in each tree.

    Within its tree a node has a small number, which takes a byte where a node number of the
    forest takes four.
    """

    number: NDArray[np.unsignedinteger]  # trees x rows: the leaf, counted from the tree's root
    root: Ints  # see `Forest`

    @property
    def n_rows(self) -> int:
        """Rows of the piece."""
        return int(self.number.shape[1])

    def __getitem__(self, tree: int) -> ShortInts:
        """Return the leaves of all rows in one tree, as node numbers of the forest."""
        return np.add(self.number[tree], self.root[tree], dtype=np.int32, casting="unsafe")

    def __iter__(self) -> Iterator[ShortInts]:
        """Go from tree to tree."""
        return (self[tree] for tree in range(len(self.number)))

    def rows_in(self, nodes: slice) -> Ints:
        """Return the rows of all leaves among some nodes of one tree, see `Forest.below`."""
        tree = int(np.searchsorted(self.root, nodes.start, side="right")) - 1
        first, stop = nodes.start - self.root[tree], nodes.stop - self.root[tree]
        number = self.number[tree]
        if stop == first + 1:
            return np.flatnonzero(number == first)
        return np.flatnonzero((number >= first) & (number < stop))

    def of(self, rows: slice | Ints) -> ShortInts:
        """Return the leaves of some rows: trees x rows."""
        roots = self.root[:-1, None]
        return np.add(self.number[:, rows], roots, dtype=np.int32, casting="unsafe")


def leaf_type(n_nodes: int) -> type[np.unsignedinteger]:
    """Return the smallest type for the numbers of a tree's nodes."""
    return np.uint8 if n_nodes <= 1 << 8 else np.uint16 if n_nodes <= 1 << 16 else np.uint32
