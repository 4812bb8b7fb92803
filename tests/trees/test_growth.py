from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admercs.trees.growth import TreeSettings
from admercs.trees.walk import find_leaves

from .conftest import grow

DISTRIBUTION = TreeSettings("distribution", 10, 0.02, "auto")


def mixed(seed: int, n: int = 600) -> np.ndarray:
    """Two numbers, one with holes, and two nominal columns that depend on each other."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.abs(a) + rng.normal(scale=0.1, size=n)
    c = rng.integers(1, 6, size=n).astype(float)
    d = np.where(rng.random(n) < 0.9, 1 + (c % 2), rng.integers(1, 4, size=n))
    a[rng.random(n) < 0.1] = np.nan
    d[rng.random(n) < 0.05] = np.nan
    return np.column_stack([a, b, c, d])


def entropy(y: np.ndarray) -> float:
    p = np.unique(y, return_counts=True)[1] / len(y)
    return float(-(p * np.log(p)).sum())


@pytest.mark.parametrize("criterion", ["distribution", "variance", "paper"])
def test_walking_finds_the_leaves_of_growing(criterion: str) -> None:
    X = mixed(0)
    forest, leaves, _ = grow(X, TreeSettings(criterion, 6, 0.03, 0.001), nominal=[2, 3])
    found = np.empty_like(leaves)
    find_leaves(forest, np.ascontiguousarray(X.T), found)
    np.testing.assert_array_equal(found, leaves)


@pytest.mark.parametrize("criterion", ["distribution", "variance"])
def test_any_number_of_threads_grows_the_same_forest(criterion: str) -> None:
    X = mixed(1)
    one = grow(X, TreeSettings(criterion, 8, 0.02, 0.001), nominal=[2, 3], n_jobs=1)
    four = grow(X, TreeSettings(criterion, 8, 0.02, 0.001), nominal=[2, 3], n_jobs=4)
    for a, b in zip(one.forest, four.forest, strict=True):
        np.testing.assert_array_equal(a, b)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    X = mixed(seed, 300)
    shuffle = np.random.default_rng(seed).permutation(len(X))
    one = grow(X, DISTRIBUTION, nominal=[2, 3])
    two = grow(X[shuffle], DISTRIBUTION, nominal=[2, 3])
    for a, b in zip(one.forest, two.forest, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.leaves[:, shuffle], two.leaves)


def test_noise_is_hardly_ever_split() -> None:
    trees = split = 0
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(2000, 20))
        forest, _, _ = grow(X, DISTRIBUTION, exact=False)
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
    forest, _, _ = grow(X, DISTRIBUTION, exact=False)
    assert all(np.diff(forest.root) > 5)


def test_a_nominal_input_is_split_into_the_best_subset() -> None:
    # All 2 ** 5 subsets of six categories, tried by brute force, against the first split.
    rng = np.random.default_rng(5)
    category = rng.integers(1, 7, 500).astype(float)
    target = np.where(np.isin(category, [2, 5, 6]), 1.0, 2.0)
    target = np.where(rng.random(500) < 0.1, 3 - target, target)
    forest, _, _ = grow(
        np.column_stack([category, target]),
        TreeSettings("distribution", 1, 0.01, 0.0),
        nominal=[0, 1],
    )
    root = int(forest.root[1])
    word = int(forest.subsets[forest.subset[root], 0])
    chosen = {c for c in range(1, 7) if word >> c & 1}

    def left_over(subset: set[int]) -> float:
        inside = np.isin(category, list(subset))
        return inside.sum() * entropy(target[inside]) + (~inside).sum() * entropy(target[~inside])

    subsets = [set(s) for k in range(1, 6) for s in combinations(range(1, 7), k)]
    assert left_over(chosen) <= min(map(left_over, subsets)) + 1e-9


def test_missing_goes_where_it_tells_most() -> None:
    # The target is 2 exactly when the input is missing or large.
    rng = np.random.default_rng(6)
    x = rng.uniform(size=400)
    y = 1.0 + (x > 0.7)
    hole = rng.random(400) < 0.2
    y[hole] = 2.0
    x[hole] = np.nan
    forest, leaves, _ = grow(np.column_stack([x, y]), DISTRIBUTION, nominal=[1])
    root = int(forest.root[1])
    assert not forest.missing_left[root]
    assert 0.6 < forest.threshold[root] < 0.8
    for leaf in forest.leaves(1):
        assert len(np.unique(y[leaves[1] == leaf])) == 1


def test_missing_targets_are_a_pattern_of_their_own() -> None:
    rng = np.random.default_rng(7)
    group = rng.integers(1, 3, 500).astype(float)
    value = rng.normal(size=500)
    value[group == 2] = np.nan
    forest, leaves, _ = grow(np.column_stack([value, group]), DISTRIBUTION, nominal=[1])
    assert forest.feature[0] == 1
    assert all(len(np.unique(np.isnan(value[leaves[0] == leaf]))) == 1 for leaf in forest.leaves(0))


def test_leaves_hold_enough_rows() -> None:
    forest, leaves, _ = grow(mixed(8), TreeSettings("distribution", 10, 25, 0.0), nominal=[2, 3])
    for m in range(4):
        counts = np.unique(leaves[m], return_counts=True)[1]
        assert counts.min() >= 25
        np.testing.assert_array_equal(counts, forest.n[forest.leaves(m)])


def test_a_purer_ancestor_scores_for_its_leaves() -> None:
    forest, _, _ = grow(mixed(9), TreeSettings("variance", 10, 0.02, 0.0, True), nominal=[2, 3])
    for m in range(4):
        for leaf in forest.leaves(m):
            path = forest.path(leaf)
            assert forest.impurity[forest.scorer[leaf]] == forest.impurity[path].min()


def test_impurity_of_huge_numbers_is_exact() -> None:
    X = mixed(10)[:, :2]
    one = grow(X, TreeSettings("variance", 6, 0.05, 0.001))
    two = grow(X * 2.0**40, TreeSettings("variance", 6, 0.05, 0.001))
    np.testing.assert_array_equal(one.leaves, two.leaves)
    np.testing.assert_array_equal(one.forest.impurity, two.forest.impurity)
