"""Conditions that change nothing: without them the same rows end up in the node.

Every animal with teeth has a backbone, so "backbone and teeth" is no more than "teeth". A
condition of a node's path is redundant if no row fails it and satisfies all others. Redundant
conditions are dropped one at a time, from the lowest on the path to the highest, each only if it is
redundant without those dropped before. The rows are all rows of the table, or a sample of them (see
`row_sample`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from admercs.arrays import Bools, Codes, Keys
from admercs.trees.forest import Forest, category_bits


def find_redundant(forest: Forest, codes: Codes, nodes: Iterable[int]) -> Keys:
    """Return the redundant conditions of some nodes; bit k: that k steps below the root."""
    redundant = np.zeros(len(forest.feature), np.uint64)
    fails_left: dict[int, Bools] = {}
    for node in nodes:
        redundant[node] = redundant_conditions(forest, codes, node, fails_left)
    return redundant


def redundant_conditions(
    forest: Forest, codes: Codes, node: int, known: dict[int, Bools], outside: Bools | None = None
) -> int:
    """Return the redundant conditions of one node, as bits.

    `known` remembers which rows go right where; those `outside` fail a further, last condition.
    """
    path = forest.path(node)
    tests = [_fails(forest, codes, a, b, known) for a, b in pairwise(path)]
    if outside is not None:
        tests.append(outside)
    fails, dropped = np.array(tests), 0  # conditions x rows
    n_failed = fails.sum(axis=0, dtype=np.uint8)
    # The last condition, by which a node differs from its sibling, is never redundant.
    for k in range(len(fails) - 2, -1, -1):
        if not (fails[k] & (n_failed == 1)).any():
            dropped |= 1 << k
            n_failed = n_failed - fails[k]
    return dropped


def _fails(forest: Forest, codes: Codes, parent: int, child: int, known: dict[int, Bools]) -> Bools:
    """Say which rows fail the condition that leads from a node to its child."""
    if parent not in known:
        column = codes[forest.feature[parent]]
        if forest.subset[parent] >= 0:
            known[parent] = ~category_bits(forest.subsets[forest.subset[parent]])[column]
        else:
            fails = column > forest.bin[parent]
            fails[column == 0] = not forest.missing_left[parent]
            known[parent] = fails
    fails_left = known[parent]
    return fails_left if forest.left[parent] == child else ~fails_left
