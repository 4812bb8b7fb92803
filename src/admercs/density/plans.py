"""Which nodes of a tree need a distribution, and which of them a row belongs to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.density.arrays import Ints, pointers
from admercs.trees.forest import Forest


class TargetPlan(NamedTuple):
    """The slots of one target: the nodes of its tree that judge rows, the root first.

    The leaves of a tree are numbered from left to right. In preorder the leaves below a node
    follow each other, so a slot is a range of leaves, and its counts are sums over that range.
    """

    target: int
    first_node: int  # the root; `leaf_index` is relative to it
    nodes: Ints  # per slot: its node, ascending
    leaf_index: NDArray[np.int32]  # per node of the tree: its number among the leaves, or -1
    leaf_start: Ints  # per slot: its first leaf
    leaf_stop: Ints  # per slot: one past its last leaf
    slot_ptr: Ints  # leaves + 1
    slot_of: NDArray[np.int32]  # leaf j belongs to slots slot_of[slot_ptr[j]:slot_ptr[j + 1]]

    @property
    def n_leaves(self) -> int:
        """Number of leaves of the tree."""
        return len(self.slot_ptr) - 1

    @property
    def n_slots(self) -> int:
        """Number of distributions to estimate."""
        return len(self.nodes)


def plan_target(forest: Forest, target: int) -> TargetPlan:
    """Find the nodes that judge the rows of one tree: those of its leaves, and its root."""
    start, stop = int(forest.root[target]), int(forest.root[target + 1])
    is_leaf = forest.feature[start:stop] < 0
    leaf_index = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
    nodes = forest.judges(target)
    end = _subtree_ends(forest.right[start:stop] - start, is_leaf)
    leaves_before = pointers(is_leaf.astype(np.int64))
    leaf_start = leaves_before[nodes - start]
    leaf_stop = leaves_before[end[nodes - start]]
    slot_ptr, slot_of = _slots_of_leaves(leaf_start, leaf_stop, int(leaves_before[-1]))
    return TargetPlan(target, start, nodes, leaf_index, leaf_start, leaf_stop, slot_ptr, slot_of)


def restrict(plan: TargetPlan, slots: Ints) -> TargetPlan:
    """Return the plan for some of its slots only, numbered anew in the order given."""
    leaf_start, leaf_stop = plan.leaf_start[slots], plan.leaf_stop[slots]
    slot_ptr, slot_of = _slots_of_leaves(leaf_start, leaf_stop, plan.n_leaves)
    return plan._replace(
        nodes=plan.nodes[slots],
        leaf_start=leaf_start,
        leaf_stop=leaf_stop,
        slot_ptr=slot_ptr,
        slot_of=slot_of,
    )


def _subtree_ends(right: NDArray[np.int32], is_leaf: NDArray[np.bool_]) -> Ints:
    """One past the last node of each subtree: in preorder that is the end of the right child's."""
    end = np.arange(1, len(right) + 1)
    for node in np.flatnonzero(~is_leaf)[::-1]:
        end[node] = end[right[node]]
    return end


def _slots_of_leaves(
    leaf_start: Ints, leaf_stop: Ints, n_leaves: int
) -> tuple[Ints, NDArray[np.int32]]:
    """Turn slot → range of leaves around into leaf → slots."""
    sizes = leaf_stop - leaf_start
    slots = np.repeat(np.arange(len(sizes)), sizes)
    leaves = np.arange(len(slots)) + np.repeat(leaf_start - pointers(sizes)[:-1], sizes)
    order = np.argsort(leaves, kind="stable")
    return pointers(np.bincount(leaves, minlength=n_leaves)), slots[order].astype(np.int32)
