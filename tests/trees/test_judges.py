"""Which nodes judge the rows of a leaf."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.trees.growth import TreeSettings
from admercs.trees.judges import SMALL_SHARE, find_wider
from tests.trees.conftest import grow


@pytest.mark.parametrize("seed", range(4))
def test_a_small_leaf_answers_to_the_nearest_context_it_is_a_small_part_of(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.random((2000, 3))
    X = np.column_stack([x, np.sin(9 * x[:, 0]) + rng.normal(0, 0.05, 2000), x[:, 1] > x[:, 2]])
    forest = grow(X, TreeSettings("distribution", 10, 0.02, "auto")).forest
    met = 0
    for node in range(len(forest.feature)):
        above = forest.path(node)[1:-1] if forest.feature[node] < 0 else []  # neither root nor leaf
        small = [a for a in above if forest.n[node] < SMALL_SHARE * forest.n[a]]
        assert forest.wider[node] == (small[-1] if small else -1)
        met += bool(small)
    assert met > 10


def test_the_paper_asks_the_purest_node_and_no_other() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1)) + rng.normal(0, 0.2, (500, 4))
    forest = grow(X, TreeSettings("paper", 10, 0.02, 0.001, purest_scores=True)).forest
    assert np.all(forest.wider == -1)
    assert np.any(find_wider(forest.parent, forest.feature, forest.n) >= 0)
