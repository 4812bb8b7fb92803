"""Conditions that change nothing: without them the same rows end up in the node.

Every animal with teeth has a backbone, so "backbone and teeth" is no more than "teeth". A
condition of a node's path is redundant if no row fails it and satisfies all others. Redundant
conditions are dropped one at a time, from the lowest on the path to the highest, each only if it is
redundant without those dropped before. The rows are all rows of the table, or a sample of them that
depends on their content only, not on their order or place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from admercs._compile import kernel
from admercs.arrays import Bools, Codes, Keys
from admercs.trees.forest import Forest, category_bits

SAMPLE_ROWS = 10_000  # distinct rows of a sample


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


class RowSample(NamedTuple):
    """Distinct rows with the smallest hashes."""

    hash: Keys  # ascending
    codes: Codes  # columns x rows


def sample_rows(codes: Codes) -> RowSample:
    """Return the distinct rows of a piece with the smallest hashes of their codes."""
    hashes = np.zeros(codes.shape[1], np.uint64)
    for column in codes:
        hash_codes(column, hashes)
    n = SAMPLE_ROWS
    if len(hashes) > 8 * n:
        # Hashes are spread evenly: nearly always enough distinct ones are below this limit.
        some = np.flatnonzero(hashes < np.uint64(4 * n / len(hashes) * 2.0**64))
        if len(np.unique(hashes[some])) >= n:
            return _smallest(hashes[some], codes[:, some])
    return _smallest(hashes, codes)


def merge_samples(parts: Sequence[RowSample]) -> RowSample:
    """Return the sample of several pieces."""
    hashes = np.concatenate([part.hash for part in parts])
    return _smallest(hashes, np.concatenate([part.codes for part in parts], axis=1))


def _smallest(hashes: Keys, codes: Codes) -> RowSample:
    kept, first = np.unique(hashes, return_index=True)
    some: Any = np.ascontiguousarray(codes[:, first[:SAMPLE_ROWS]])
    return RowSample(kept[:SAMPLE_ROWS], some)


@kernel
def hash_codes(column, hashes):  # type: ignore[no-untyped-def]
    """Add the codes of one column to the hashes of the rows (splitmix64)."""
    for i in range(np.uint64(len(column))):
        x = hashes[i] * np.uint64(3) + np.uint64(column[i]) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[i] = x ^ (x >> np.uint64(31))
