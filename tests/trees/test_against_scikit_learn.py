"""Exact mode finds the partitions of scikit-learn's exact trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .tools import PAPER, grow


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    pairs = np.unique(np.stack([a, b]), axis=1).shape[1]
    return pairs == len(np.unique(a)) == len(np.unique(b))


def structured(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    X = rng.normal(size=(n, m))
    X[:, 1] = X[:, 0] ** 2 + 0.2 * X[:, 1]
    X[:, 3] = np.sin(2 * X[:, 2]) + 0.2 * X[:, 3]
    return X


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("leaf", [0.02, 0.1])
def test_squared_error(seed: int, leaf: float) -> None:
    X = structured(np.random.default_rng(seed), 800, 5)
    leaves = grow(X, replace(PAPER, min_samples_leaf=leaf)).leaves
    for m in range(5):
        others = np.delete(X, m, axis=1)
        tree = DecisionTreeRegressor(max_depth=10, min_samples_leaf=leaf).fit(others, X[:, m])
        assert same_partition(tree.apply(others), leaves[m])


@pytest.mark.parametrize("seed", range(5))
def test_gini(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = structured(rng, 800, 5)
    X[:, 4] = 1 + (X[:, 0] > 0.3) + (X[:, 2] + rng.normal(scale=0.5, size=800) > 0)
    leaves = grow(
        X, replace(PAPER, min_samples_leaf=0.03, min_impurity_decrease=0.002), nominal=[4]
    ).leaves
    # Class counts give exactly equal gains now and then; scikit-learn breaks such ties at random.
    partitions = [
        DecisionTreeClassifier(
            max_depth=10, min_samples_leaf=0.03, min_impurity_decrease=0.002, random_state=k
        )
        .fit(X[:, :4], X[:, 4])
        .apply(X[:, :4])
        for k in range(40)
    ]
    assert any(same_partition(partition, leaves[4]) for partition in partitions)


@pytest.mark.parametrize("decrease", [0.001, 0.05, 0.2, 0.5])
def test_the_papers_decrease_is_a_sum_of_squares(decrease: float) -> None:
    # scikit-learn's squared_error weighs the decrease by n_node / n, so the sum of squares removed
    # is n times its improvement; both see the target scaled to [0, 1].
    X = structured(np.random.default_rng(7), 600, 4)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    leaves = grow(X, replace(PAPER, min_impurity_decrease=decrease)).leaves
    for m in range(4):
        others = np.delete(X, m, axis=1)
        tree = DecisionTreeRegressor(
            max_depth=10, min_samples_leaf=0.02, min_impurity_decrease=decrease / 600
        ).fit(others, X[:, m])
        assert same_partition(tree.apply(others), leaves[m])
