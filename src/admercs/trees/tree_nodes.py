"""The nodes of one growing tree: flat arrays in order of creation, at the end in preorder."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from admercs.arrays import Bools, Floats, Ints, Keys, ShortInts


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
    return TreeNodes(
        feature=np.full(capacity, -1, np.int32),
        bin=np.zeros(capacity, np.int32),
        bits=np.zeros((capacity, 4), np.uint64),
        missing_left=np.zeros(capacity, np.bool_),
        left=np.full(capacity, -1, np.int32),
        right=np.full(capacity, -1, np.int32),
        parent=np.full(capacity, -1, np.int32),
        n=np.zeros(capacity, np.int64),
        impurity=np.zeros(capacity, np.float64),
        paid=np.zeros(capacity, np.bool_),
    )


def with_room(nodes: TreeNodes, more: int) -> TreeNodes:
    """Make room for further nodes."""
    pairs: Any = zip(nodes, empty_nodes(more), strict=True)
    return TreeNodes._make(map(np.concatenate, pairs))


def left_codes(nodes: Any, some: Any, nominal: Any, n_codes: int) -> Bools:
    """Say of some nodes which codes of their columns go left: nodes x codes.

    `nominal` says which of these nodes split on categories.
    """
    left = np.arange(n_codes) <= nodes.bin[some, None]
    left[:, 0] = nodes.missing_left[some]
    bits = nodes.bits[some][nominal]
    if len(bits):
        categories = np.unpackbits(bits.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        left[nominal] = False
        left[nominal, : categories.shape[1]] = categories[:, :n_codes]
    return left


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
