"""Rows walk down to the leaves in which growing has put them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from admercs.method.settings import Trees
from admercs.trees.forest import CHUNK, find_leaves

from .tools import EXACT, PAPER, grow, mixed


@pytest.mark.parametrize("settings", [Trees(), EXACT, replace(PAPER, min_impurity_decrease=0.001)])
def test_walking_finds_the_leaves_of_growing(settings: Trees) -> None:
    grown = grow(mixed(0), settings, nominal=[2, 3])
    found = np.empty_like(grown.leaves)
    find_leaves(grown.forest, grown.values, found)
    np.testing.assert_array_equal(found, grown.leaves)


def test_more_rows_than_are_walked_together() -> None:
    grown = grow(mixed(1), Trees(), nominal=[2, 3])
    times = CHUNK // grown.values.shape[1] + 2
    found = np.empty((4, times * grown.values.shape[1]), np.int32)
    find_leaves(grown.forest, np.tile(grown.values, times), found)
    np.testing.assert_array_equal(found, np.tile(grown.leaves, times))


def test_new_values_go_where_a_plain_walk_leads_them() -> None:
    grown = grow(mixed(2), Trees(), nominal=[2, 3])
    forest, block = grown.forest, grown.values.copy()
    block[0, ::3], block[1, ::5], block[2, ::7], block[3, ::2] = np.nan, 1e300, 6, np.nan
    limits = forest.threshold[np.isfinite(forest.threshold)]
    block[0, 1::3] = np.resize(limits, len(block[0, 1::3]))  # values at a threshold
    found = np.empty(block.shape, np.int32)
    find_leaves(forest, block, found)
    for tree in range(4):
        for i in range(0, block.shape[1], 11):
            node = int(forest.root[tree])
            while forest.feature[node] >= 0:
                value = block[forest.feature[node], i]
                left = value <= forest.threshold[node]
                if np.isnan(value):
                    left = forest.missing_left[node]
                elif forest.subset[node] >= 0:
                    left = bool(int(forest.subsets[forest.subset[node], 0]) >> int(value) & 1)
                node = int(forest.left[node] if left else forest.right[node])
            assert found[tree, i] == node
