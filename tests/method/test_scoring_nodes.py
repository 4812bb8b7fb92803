"""Which nodes score the rows of a leaf."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from admercs.method.scoring_nodes import find_purest, find_scoring_nodes, find_whole_leaves
from admercs.method.settings import Method, Trees

from ..trees.tools import EXACT, PAPER, grow, mixed

TREES = [EXACT, replace(PAPER, min_impurity_decrease=0.001)]


@pytest.mark.parametrize("trees", TREES)
def test_a_leaf_scores_its_own_rows(trees) -> None:
    forest = grow(mixed(9), trees, nominal=[2, 3]).forest
    scoring = find_scoring_nodes(forest, replace(Method(), ancestor=None))
    np.testing.assert_array_equal(scoring.own, np.arange(len(forest.feature)))
    assert np.all(scoring.ancestor == -1)


@pytest.mark.parametrize("trees", TREES)
def test_the_purest_node_on_the_path_scores_for_the_paper(trees) -> None:
    forest = grow(mixed(9), trees, nominal=[2, 3]).forest
    scoring = find_scoring_nodes(forest, Method.paper("Campos"))
    assert np.all(scoring.ancestor == -1)
    for node in range(len(forest.feature)):
        path = forest.path(node)
        impurity = forest.impurity[path]
        lowest = max(k for k in range(len(path)) if impurity[k] == impurity.min())
        assert scoring.own[node] == path[lowest]
    np.testing.assert_array_equal(scoring.own, find_purest(forest.parent, forest.impurity))


@pytest.mark.parametrize("method", [Method(), Method.paper("Campos")])
@pytest.mark.parametrize("seed", range(3))
def test_all_nodes_that_score_a_row_have_a_distribution(method: Method, seed: int) -> None:
    forest = grow(mixed(seed, 2000), EXACT, nominal=[2, 3]).forest
    scoring = find_scoring_nodes(forest, method)
    for tree in range(forest.n_trees):
        expected = {int(forest.root[tree])}
        for leaf in forest.leaves(tree):
            expected |= {int(scoring.own[leaf]), int(scoring.ancestor[leaf])}
        found = scoring.of_tree(forest, tree)
        assert found.tolist() == sorted(expected - {-1})
        assert found[0] == forest.root[tree]


def parted(n: int = 299) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4))
    return np.column_stack([x, x[:, 0] + rng.normal(0, 0.5, n), x[:, 1] + x[:, 2]])


def test_the_groups_of_a_leaf_are_scored_as_if_it_had_not_been_parted() -> None:
    X = parted()
    fine, coarse = grow(X, Trees()), grow(X, Trees(group_rows=0))
    assert len(fine.forest.feature) > len(coarse.forest.feature)
    assert coarse.forest.paid[~coarse.forest.is_leaf].all()
    scoring = find_scoring_nodes(fine.forest, Method())
    plain = find_scoring_nodes(coarse.forest, Method())
    np.testing.assert_array_equal(plain.own, np.arange(len(plain.own)))
    met = 0
    for tree in range(fine.forest.n_trees):
        for i in range(X.shape[0]):
            leaf, other = fine.leaves[tree, i], coarse.leaves[tree, i]
            own = scoring.own[leaf]
            # The rows of the node that scores a row are those of its leaf without groups.
            mine = np.isin(fine.leaves[tree], np.arange(len(scoring.own))[fine.forest.below(own)])
            np.testing.assert_array_equal(mine, coarse.leaves[tree] == other)
            above, expected = scoring.ancestor[leaf], plain.ancestor[other]
            assert (above < 0) == (expected < 0)
            assert above < 0 or fine.forest.n[above] == coarse.forest.n[expected]
            met += own != leaf
    assert met > 50


def test_groups_are_found_in_small_tables_only_and_not_in_noise() -> None:
    whole = find_whole_leaves(grow(parted(300), Trees()).forest)
    np.testing.assert_array_equal(whole, np.arange(len(whole)))
    noise = grow(np.random.default_rng(1).random((299, 5)), Trees()).forest
    assert noise.is_leaf.all()
