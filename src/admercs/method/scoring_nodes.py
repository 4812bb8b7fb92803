"""Which nodes on its path score the rows of a leaf.

The leaf itself, or for the paper the purest node on the path; an ancestor of which the leaf is a
small part; and the root, which is the whole table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs.arrays import Floats, Ints
from admercs.arrays import ShortInts as Nodes
from admercs.method.ancestor import find_ancestors
from admercs.method.settings import Method
from admercs.trees.forest import Forest


class ScoringNodes(NamedTuple):
    """The nodes that score the rows of each leaf; arrays have one entry per node of the forest."""

    own: Nodes  # the node whose rows score a row of this leaf
    ancestor: Nodes  # another one, or -1

    def of_tree(self, forest: Forest, tree: int) -> Ints:
        """Return the nodes of one tree that need a distribution, ascending; the root is first."""
        leaves = forest.leaves(tree)
        ancestors = self.ancestor[leaves]
        scoring = np.concatenate([self.own[leaves], ancestors[ancestors >= 0]])
        return np.unique(np.append(scoring, forest.root[tree])).astype(np.int64)


def find_scoring_nodes(forest: Forest, method: Method) -> ScoringNodes:
    """Choose the nodes that score the rows of each leaf."""
    purest = method.purest
    own = find_purest(forest.parent, forest.impurity) if purest else find_whole_leaves(forest)
    if method.ancestor is None:
        return ScoringNodes(own, np.full(len(own), -1, np.int32))
    coarse = np.where(forest.paid, forest.feature, -1)
    found = find_ancestors(forest.parent, coarse, forest.n, method.ancestor.share)
    return ScoringNodes(own, found[own])


def find_whole_leaves(forest: Forest) -> Nodes:
    """Return for each node the leaf that it is a group of; for others the node itself.

    Splits that do not pay their full price part a leaf into groups of rows. A group may be an
    anomalous context, but its values are scored by the leaf as a whole.
    """
    whole = np.arange(len(forest.feature), dtype=np.int32)
    for node in np.flatnonzero(forest.parent >= 0):  # preorder: parents come first
        above = forest.parent[node]
        if not forest.paid[above]:
            whole[node] = whole[above]
    return whole


def find_purest(parent: Nodes, impurity: Floats) -> Nodes:
    """Return for each node the purest node on its path; of equally pure ones the lowest."""
    purest = np.arange(len(parent), dtype=np.int32)
    for node in range(len(parent)):  # preorder: a parent comes before its children
        above = parent[node]
        if above >= 0 and impurity[purest[above]] < impurity[node]:
            purest[node] = purest[above]
    return purest
