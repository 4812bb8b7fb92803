"""Which nodes of a tree need a distribution, and which of them a row belongs to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.trees.forest import Forest


class TargetPlan(NamedTuple):
    """The slots of one target: the nodes of its tree that judge rows, the root first.

    The leaves of a tree are numbered from left to right. In preorder the leaves below a node follow each
    other, so a slot is a range of leaves, and its counts are sums over that range.
    """

    target: int
    first_node: int  # the root; `leaf_index` is relative to it
    nodes: NDArray[np.int64]  # per slot: its node, ascending
    leaf_index: NDArray[np.int32]  # per node of the tree: its number among the leaves, or -1
    leaf_start: NDArray[np.int64]  # per slot: its first leaf
    leaf_stop: NDArray[np.int64]  # per slot: one past its last leaf
    slot_ptr: NDArray[np.int64]  # leaves + 1
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
    """Find the nodes that judge the rows of one tree: the scorers of its leaves, and its root."""
    start, stop = int(forest.root[target]), int(forest.root[target + 1])
    is_leaf = forest.feature[start:stop] < 0
    leaf_index = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
    scorers = forest.scorer[start:stop][is_leaf]
    nodes = np.unique(np.append(scorers, start)).astype(np.int64)
    end = _subtree_ends(forest.right[start:stop], is_leaf, start)
    n_before = np.concatenate(([0], np.cumsum(is_leaf)))
    leaf_start, leaf_stop = n_before[nodes - start], n_before[end[nodes - start]]
    return TargetPlan(
        target, start, nodes, leaf_index, leaf_start, leaf_stop,
        *_slots_of_leaves(leaf_start, leaf_stop, int(n_before[-1])),
    )  # fmt: skip


def restrict(plan: TargetPlan, slots: NDArray[np.int64]) -> TargetPlan:
    """Return the plan for some of its slots only, numbered anew in the order given."""
    leaf_start, leaf_stop = plan.leaf_start[slots], plan.leaf_stop[slots]
    slot_ptr, slot_of = _slots_of_leaves(leaf_start, leaf_stop, plan.n_leaves)
    return plan._replace(
        nodes=plan.nodes[slots], leaf_start=leaf_start, leaf_stop=leaf_stop,
        slot_ptr=slot_ptr, slot_of=slot_of,
    )  # fmt: skip


def _subtree_ends(
    right: NDArray[np.int32], is_leaf: NDArray[np.bool_], start: int
) -> NDArray[np.int64]:
    """One past the last node of each subtree: in preorder that is the end of the right child's."""
    end = np.arange(1, len(right) + 1)
    for node in range(len(right) - 1, -1, -1):
        if not is_leaf[node]:
            end[node] = end[right[node] - start]
    return end


def _slots_of_leaves(
    leaf_start: NDArray[np.int64], leaf_stop: NDArray[np.int64], n_leaves: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Turn slot → range of leaves around into leaf → slots."""
    sizes = leaf_stop - leaf_start
    slots = np.repeat(np.arange(len(sizes)), sizes)
    offsets = np.arange(len(slots)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    leaves = np.repeat(leaf_start, sizes) + offsets
    order = np.argsort(leaves, kind="stable")
    ptr = np.concatenate(([0], np.cumsum(np.bincount(leaves, minlength=n_leaves))))
    return ptr.astype(np.int64), slots[order].astype(np.int32)
