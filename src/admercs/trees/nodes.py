"""The nodes of one tree while it grows: flat arrays, numbered in order of creation, at the end in preorder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.trees.forest import Forest


class NodeArrays(NamedTuple):
    """The nodes of one tree; numbers count within the tree."""

    feature: NDArray[np.int32]
    bin: NDArray[np.int32]
    bits: NDArray[np.uint64]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    parent: NDArray[np.int32]
    n: NDArray[np.int64]
    impurity: NDArray[np.float64]
    earned: NDArray[np.bool_]  # whether a split and all above it are worth their full price


def empty_nodes(capacity: int) -> NodeArrays:
    """Allocate the arrays of a tree with at most `capacity` nodes."""
    return NodeArrays(
        feature=np.full(capacity, -1, np.int32),
        bin=np.zeros(capacity, np.int32),
        bits=np.zeros((capacity, 4), np.uint64),
        missing_left=np.zeros(capacity, np.bool_),
        left=np.full(capacity, -1, np.int32),
        right=np.full(capacity, -1, np.int32),
        parent=np.full(capacity, -1, np.int32),
        n=np.zeros(capacity, np.int64),
        impurity=np.zeros(capacity, np.float64),
        earned=np.zeros(capacity, np.bool_),
    )


def of_each(nodes: NodeArrays, change: Callable[[NDArray[Any]], NDArray[Any]]) -> NodeArrays:
    """Change all arrays in the same way."""
    return NodeArrays(*(change(np.asarray(array)) for array in nodes))


def with_room(nodes: NodeArrays, more: int) -> NodeArrays:
    """Make room for further nodes."""
    spare = iter(empty_nodes(more))
    return of_each(nodes, lambda array: np.concatenate([array, next(spare)]))


def left_codes(nodes: NodeArrays, some: Any, nominal: Any, n_codes: int) -> NDArray[np.bool_]:
    """Say of some nodes which codes of their columns go left: nodes x codes.

    `nominal` says which of these nodes split on categories.

    Examples
    --------
    >>> nodes = empty_nodes(2)
    >>> nodes.bin[0], nodes.bits[1, 0] = 2, 0b01010
    >>> left_codes(nodes, [0, 1], np.array([False, True]), 5)
    array([[False,  True,  True, False, False],
           [False,  True, False,  True, False]])
    """
    left = np.arange(n_codes) <= nodes.bin[some, None]
    left[:, 0] = nodes.missing_left[some]
    bits = nodes.bits[some][nominal]
    if len(bits):
        categories = np.unpackbits(bits.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        left[nominal] = False
        left[nominal, : categories.shape[1]] = categories[:, :n_codes]
    return left


def preorder(nodes: NodeArrays) -> list[int]:
    """List the nodes of a finished tree in the order of a forest: a node, its left half, its right half.

    Examples
    --------
    >>> nodes = empty_nodes(5)
    >>> nodes.feature[:2] = 0
    >>> nodes.left[:2], nodes.right[:2] = (1, 3), (2, 4)
    >>> preorder(nodes)
    [0, 1, 3, 4, 2]
    """
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if nodes.feature[node] >= 0:
            stack += [int(nodes.right[node]), int(nodes.left[node])]
    return order


def renumber(nodes: NodeArrays, order: list[int]) -> tuple[NodeArrays, NDArray[np.int32]]:
    """Bring nodes into an order; also return the new number of each."""
    number = np.empty(len(order) + 1, np.int32)
    number[order] = np.arange(len(order))
    number[-1] = -1  # "none" is -1 and stays so
    arranged = of_each(nodes, lambda array: array[order])
    arranged = arranged._replace(
        left=number[arranged.left], right=number[arranged.right], parent=number[arranged.parent]
    )
    return arranged, number


def depths(parent: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many splits lie above each node; a parent comes before its children.

    Examples
    --------
    >>> depths(np.array([-1, 0, 1, 1, 0]))
    array([0, 1, 2, 2, 1])
    """
    depth: list[int] = []
    for above in parent.tolist():
        depth.append(0 if above < 0 else depth[above] + 1)
    return np.array(depth, np.int64)


def tree_nodes(forest: Forest, tree: int) -> NodeArrays:
    """Return the nodes of one tree of a forest."""
    first = int(forest.root[tree])
    mine = slice(first, int(forest.root[tree + 1]))

    def within(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where(numbers[mine] < 0, -1, numbers[mine] - first).astype(np.int32)

    subset = forest.subset[mine]
    bits = np.zeros((len(subset), 4), np.uint64)
    bits[subset >= 0] = forest.subsets[subset[subset >= 0]]
    return NodeArrays(
        feature=forest.feature[mine],
        bin=forest.bin[mine],
        bits=bits,
        missing_left=forest.missing_left[mine],
        left=within(forest.left),
        right=within(forest.right),
        parent=within(forest.parent),
        n=forest.n[mine],
        impurity=forest.impurity[mine],
        earned=(forest.feature >= 0)[mine],
    )
