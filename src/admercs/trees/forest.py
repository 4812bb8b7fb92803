"""All trees of a model as flat arrays, which compiled kernels can walk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Forest(NamedTuple):
    """One tree per used column, their nodes one after the other.

    The nodes of the tree for column m are ``root[m]:root[m + 1]`` in preorder (a node, its left
    subtree, its right subtree). Node numbers in ``left``, ``right``, ``parent``, ``scorer`` and ``wider`` count
    over the whole forest.
    """

    root: NDArray[np.int64]  # M + 1
    feature: NDArray[np.int32]  # the column a node splits on; -1 for a leaf
    threshold: NDArray[np.float64]  # numeric split: working value <= threshold goes left
    lower: NDArray[np.float64]  # numeric split: where the border zone around the threshold begins
    upper: NDArray[np.float64]  # and where it ends
    bin: NDArray[np.int32]  # the same split in codes: code <= bin goes left
    subset: NDArray[np.int32]  # nominal split: row of `subsets`; -1 otherwise
    missing_left: NDArray[np.bool_]  # where a missing value goes
    left: NDArray[np.int32]  # -1 for a leaf
    right: NDArray[np.int32]
    parent: NDArray[np.int32]  # -1 for a root
    n: NDArray[np.int64]  # training rows in the node
    impurity: NDArray[np.float64]
    scorer: NDArray[np.int32]  # the node on the path whose rows judge a row of this one
    wider: NDArray[np.int32]  # another one that judges it too, or -1; see `judges`
    subsets: NDArray[np.uint64]  # n x 4: bit c is set when category code c goes left
    idle: NDArray[np.uint64]  # bit k is set when the k-th test of the path, from 0, changes nothing

    @property
    def n_trees(self) -> int:
        """Number of trees, one per used column."""
        return len(self.root) - 1

    def tree_of(self, node: int | np.integer) -> int:
        """Return the tree (the target column) that a node belongs to."""
        return int(np.searchsorted(self.root, node, side="right")) - 1

    def leaves(self, tree: int) -> NDArray[np.int64]:
        """Return the node numbers of the leaves of one tree."""
        start, stop = self.root[tree], self.root[tree + 1]
        return start + np.flatnonzero(self.feature[start:stop] < 0)

    def judges(self, tree: int) -> NDArray[np.int64]:
        """Return the nodes of one tree that judge rows, ascending: those of its leaves, and its root."""
        leaves = self.leaves(tree)
        wider = self.wider[leaves]
        judges = np.concatenate([self.root[[tree]], self.scorer[leaves], wider[wider >= 0]])
        return np.unique(judges).astype(np.int64)

    def below(self, node: int | np.integer) -> slice:
        """Return a node and all that lies below it; in preorder these come one after the other."""
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


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf of each row of the training table in each tree.

    Within its tree a node has a small number, which takes a byte where a node number of the forest takes four.
    """

    number: NDArray[np.unsignedinteger]  # trees x rows: the leaf, counted from the tree's root
    root: NDArray[np.int64]  # see `Forest`

    def __getitem__(self, tree: int) -> NDArray[np.int32]:
        """Return the leaves of all rows in one tree, as node numbers of the forest."""
        return np.add(self.number[tree], self.root[tree], dtype=np.int32, casting="unsafe")

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        """Go from tree to tree."""
        return (self[tree] for tree in range(len(self.number)))

    def rows_in(self, node: int) -> NDArray[np.int64]:
        """Return the rows of a leaf, given by its node number of the forest."""
        return self.rows_among(slice(node, node + 1))

    def rows_among(self, nodes: slice) -> NDArray[np.int64]:
        """Return the rows of all leaves among some nodes of one tree."""
        tree = int(np.searchsorted(self.root, nodes.start, side="right")) - 1
        first, stop = nodes.start - self.root[tree], nodes.stop - self.root[tree]
        return np.flatnonzero((self.number[tree] >= first) & (self.number[tree] < stop))

    def of(self, rows: slice | NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the leaves of some rows: trees x rows."""
        roots = self.root[:-1, None]
        return np.add(self.number[:, rows], roots, dtype=np.int32, casting="unsafe")


def leaf_type(n_nodes: int) -> type[np.unsignedinteger]:
    """Return the smallest type for the numbers of a tree's nodes."""
    return np.uint8 if n_nodes <= 1 << 8 else np.uint16 if n_nodes <= 1 << 16 else np.uint32


def rows_within(
    leaves: Leaves | NDArray[np.int32],
    n_rows: int,
    root: NDArray[np.int64],
    chosen: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], list[int]]:
    """Return the rows that are in some of the chosen leaves, and the trees that have chosen leaves."""
    trees = [m for m, start in enumerate(root[:-1]) if chosen[start : root[m + 1]].any()]
    inside = np.zeros(n_rows, np.bool_)
    for tree in trees:
        inside |= chosen[leaves[tree]]
    return np.flatnonzero(inside), trees
