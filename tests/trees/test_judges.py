"""Which nodes judge the rows of a leaf."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from admercs.trees.growth import FINE_ROWS, INFORMATION_PRICE, TreeSettings
from admercs.trees.judges import SMALL_SHARE, find_wider
from tests.trees.conftest import grow


@pytest.mark.parametrize("seed", range(4))
def test_a_small_leaf_answers_to_the_nearest_context_it_is_a_small_part_of(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.random((2000, 3))
    X = np.column_stack([x, np.sin(9 * x[:, 0]) + rng.normal(0, 0.05, 2000), x[:, 1] > x[:, 2]])
    forest = grow(X, TreeSettings("distribution", 10, 0.02, "auto")).forest
    met = 0
    for leaf in np.flatnonzero(forest.feature < 0):
        judge = forest.scorer[leaf]  # fine splits change nothing
        above = forest.path(judge)[1:-1]  # neither root nor judge
        small = [a for a in above if forest.n[judge] < SMALL_SHARE * forest.n[a]]
        assert forest.wider[leaf] == (small[-1] if small else -1)
        met += bool(small)
    assert met > 10


def test_what_lies_below_a_fine_split_is_judged_as_without_it() -> None:
    rng = np.random.default_rng(0)
    n = FINE_ROWS - 1
    x = rng.normal(size=(n, 4))
    X = np.column_stack([x, x[:, 0] + rng.normal(0, 0.5, n), x[:, 1] + x[:, 2]])
    settings = TreeSettings("distribution", 10, 0.02, "auto")
    fine = grow(X, settings).forest
    with patch("admercs.trees.growth.FINE_PRICE", INFORMATION_PRICE):
        coarse = grow(X, settings).forest
    assert len(fine.feature) > len(coarse.feature)
    assert np.array_equal(coarse.scorer, np.arange(len(coarse.scorer)))
    judges = [np.unique(fine.scorer[fine.leaves(tree)]) for tree in range(fine.n_trees)]
    plain = [coarse.leaves(tree) for tree in range(coarse.n_trees)]
    for ours, theirs in zip(judges, plain, strict=True):
        np.testing.assert_array_equal(fine.n[ours], coarse.n[theirs])
        np.testing.assert_array_equal(fine.impurity[ours], coarse.impurity[theirs])
        for mine, other in zip(ours, theirs, strict=True):
            assert [fine.feature[a] for a in fine.path(mine)[:-1]] == [
                coarse.feature[a] for a in coarse.path(other)[:-1]
            ]
            assert fine.n[fine.path(mine)[0]] == n
    # Nobody is in doubt at a border that changes nothing, and noise is not split at all.
    below = np.flatnonzero(fine.scorer != np.arange(len(fine.scorer)))
    assert np.isnan(fine.lower[fine.parent[below]]).all()
    assert np.all(grow(rng.random((n, 5)), settings).forest.feature < 0)
    larger = grow(np.vstack([X, X]), settings).forest
    np.testing.assert_array_equal(larger.scorer, np.arange(len(larger.scorer)))


def test_the_paper_and_a_stated_minimum_know_no_fine_splits() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 1)) + rng.normal(0, 0.5, (250, 4))
    for settings in (
        TreeSettings("distribution", 10, 0.02, 0.01),
        TreeSettings("distribution", 10, 0.02, "auto", purest_scores=True),
        TreeSettings("variance", 10, 0.02, "auto"),
    ):
        forest = grow(X, settings).forest
        with patch("admercs.trees.growth.FINE_PRICE", INFORMATION_PRICE):
            np.testing.assert_array_equal(forest.feature, grow(X, settings).forest.feature)


def test_the_paper_asks_the_purest_node_and_no_other() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1)) + rng.normal(0, 0.2, (500, 4))
    forest = grow(X, TreeSettings("paper", 10, 0.02, 0.001, purest_scores=True)).forest
    assert np.all(forest.wider == -1)
    assert np.any(find_wider(forest.parent, forest.feature, forest.n) >= 0)
