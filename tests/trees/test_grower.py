"""What a forest is like, whatever splits it is made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admercs.method.settings import Trees

from .tools import EXACT, PAPER, grow, mixed, same_forest


@pytest.mark.parametrize("trees", [EXACT, replace(PAPER, min_impurity_decrease=0.001)])
def test_any_number_of_threads_grows_the_same_forest(trees: Trees) -> None:
    one, four = (grow(mixed(1), trees, nominal=[2, 3], n_jobs=jobs) for jobs in (1, 4))
    same_forest(one.forest, four.forest)


@settings(max_examples=15)
@given(seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    X = mixed(seed, 300)
    shuffle = np.random.default_rng(seed).permutation(len(X))
    one = grow(X, EXACT, nominal=[2, 3])
    two = grow(X[shuffle], EXACT, nominal=[2, 3])
    same_forest(one.forest, two.forest)
    np.testing.assert_array_equal(one.leaves[:, shuffle], two.leaves)


def test_noise_is_hardly_ever_split() -> None:
    trees = split = 0
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(2000, 20))
        forest = grow(X, Trees()).forest
        trees += 20
        split += int((np.diff(forest.root) > 1).sum())
    assert split <= 0.05 * trees


@pytest.mark.parametrize("shape", ["cross", "ring"])
def test_dependencies_without_a_shift_of_the_mean_are_found(shape: str) -> None:
    rng = np.random.default_rng(4)
    if shape == "cross":
        x = rng.uniform(-1, 1, 2000)
        y = x * rng.choice([-1, 1], 2000)
    else:
        angle = rng.uniform(0, 2 * np.pi, 2000)
        x, y = np.cos(angle), np.sin(angle)
    X = np.column_stack([x, y]) + rng.normal(scale=0.02, size=(2000, 2))
    assert all(np.diff(grow(X, Trees()).forest.root) > 5)


@pytest.mark.parametrize(
    ("trees", "smallest"),
    [
        (replace(EXACT, min_samples_leaf=25, price=0.0), 25),
        (replace(EXACT, min_samples_leaf=0.05, price=0.0), 30),
        (replace(EXACT, min_samples_leaf=0.001, price=0.0), 5),
        (replace(PAPER, min_samples_leaf=0.001), 1),
    ],
)
def test_leaves_hold_enough_rows(trees: Trees, smallest: int) -> None:
    grown = grow(mixed(8), trees, nominal=[2, 3])
    sizes = []
    for m in range(4):
        leaves, counts = np.unique(grown.leaves[m], return_counts=True)
        np.testing.assert_array_equal(leaves, grown.forest.leaves(m))
        np.testing.assert_array_equal(counts, grown.forest.n[leaves])
        sizes += counts.tolist()
    assert smallest <= min(sizes) < 2 * smallest + 1


def test_no_path_is_longer_than_allowed() -> None:
    for depth in (0, 1, 3):
        forest = grow(mixed(8), replace(EXACT, max_depth=depth, price=0.0), nominal=[2, 3]).forest
        longest = max(len(forest.path(node)) - 1 for node in range(len(forest.feature)))
        assert longest == depth


def test_nodes_are_in_preorder_and_know_each_other() -> None:
    forest = grow(mixed(3), EXACT, nominal=[2, 3]).forest
    for node in np.flatnonzero(~forest.is_leaf):
        left, right = forest.left[node], forest.right[node]
        assert left == node + 1
        assert right == forest.below(left).stop
        assert forest.parent[left] == forest.parent[right] == node
        assert forest.n[node] == forest.n[left] + forest.n[right]
        assert forest.feature[node] != forest.tree_of(node)
    np.testing.assert_array_equal(np.flatnonzero(forest.parent < 0), forest.root[:-1])


def test_impurity_of_huge_numbers_is_exact() -> None:
    X = mixed(10)[:, :2]
    trees = replace(PAPER, min_samples_leaf=0.05, min_impurity_decrease=0.001)
    one, two = grow(X, trees), grow(X * 2.0**40, trees)
    np.testing.assert_array_equal(one.leaves, two.leaves)
    np.testing.assert_array_equal(one.forest.impurity, two.forest.impurity)
