"""Stricter settings grow the same trees, stopped earlier."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.datasets import make_synth_i
from admercs.trees.growth import TreeSettings
from admercs.trees.nodes import depths
from admercs.trees.prune import prune, split_gains

from .conftest import grow


@pytest.mark.parametrize("purest_scores", [False, True])
@pytest.mark.parametrize(("depth", "decrease"), [(12, 0.001), (12, 0.05), (3, 0.001), (5, 0.5)])
def test_pruned_trees_are_those_that_stricter_settings_grow(
    depth: int, decrease: float, purest_scores: bool
) -> None:
    X = make_synth_i(2).X
    large = grow(X, TreeSettings("paper", 12, 0.01, 0.001, purest_scores))
    gains = split_gains(large.forest, large.leaves, lambda m: X[:, m])
    keep = (gains >= decrease) & (depths(large.forest.parent) < depth)
    forest, home = prune(large.forest, keep, purest_scores)
    alone = grow(X, TreeSettings("paper", depth, 0.01, decrease, purest_scores))
    for name, values in alone.forest._asdict().items():
        np.testing.assert_array_equal(getattr(forest, name), values, err_msg=name)
    np.testing.assert_array_equal(home[large.leaves], alone.leaves)


def test_without_any_split_a_tree_is_its_root() -> None:
    X = make_synth_i(2).X
    large = grow(X, TreeSettings("paper", 12, 0.01, 0.001))
    forest, home = prune(large.forest, np.zeros(len(large.forest.feature), bool))
    np.testing.assert_array_equal(forest.feature, [-1] * 4)
    np.testing.assert_array_equal(home[large.leaves], np.repeat(np.arange(4), 1000).reshape(4, -1))
