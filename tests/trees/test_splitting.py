"""The best split of a node, against all splits tried one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from admercs.method.settings import Trees
from admercs.trees.splitting import settle_threshold

from .tools import EXACT, grow


def entropy(y: np.ndarray) -> float:
    p = np.unique(y, return_counts=True)[1] / len(y)
    return float(-(p * np.log(p)).sum())


def left_over(y: np.ndarray, inside: np.ndarray) -> float:
    return inside.sum() * entropy(y[inside]) + (~inside).sum() * entropy(y[~inside])


@pytest.mark.parametrize("seed", range(3))
def test_a_nominal_input_is_split_into_the_best_subset(seed: int) -> None:
    rng = np.random.default_rng(seed)
    category = rng.integers(1, 7, 500).astype(float)
    target = np.where(np.isin(category, [2, 5, 6]), 1.0, 2.0)
    target = np.where(rng.random(500) < 0.1, 3 - target, target)
    stump = Trees(price=0.0, max_depth=1, min_samples_leaf=0.01)
    forest, leaves, *_ = grow(np.column_stack([category, target]), stump, nominal=[0, 1])
    chosen = left_over(target, leaves[1] == forest.leaves(1)[0])
    subsets = [subset for k in range(1, 6) for subset in combinations(range(1, 7), k)]
    best = min(left_over(target, np.isin(category, subset)) for subset in subsets)
    assert chosen == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_numeric_input_is_split_at_the_best_threshold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=300)
    target = 1.0 + (x + rng.normal(scale=0.2, size=300) > 0.6)
    stump = Trees(price=0.0, max_depth=1, min_samples_leaf=10, max_bins="exact")
    forest, leaves, *_ = grow(np.column_stack([x, target]), stump, nominal=[1])
    chosen = left_over(target, leaves[1] == forest.leaves(1)[0])
    best = min(left_over(target, x <= limit) for limit in np.sort(x)[9:-10])
    assert chosen == pytest.approx(best, abs=1e-9)


def test_missing_goes_where_it_tells_most() -> None:
    # The target is 2 exactly when the input is missing or large.
    rng = np.random.default_rng(6)
    x = rng.uniform(size=400)
    y = 1.0 + (x > 0.7)
    hole = rng.random(400) < 0.2
    y[hole] = 2.0
    x[hole] = np.nan
    forest, leaves, *_ = grow(np.column_stack([x, y]), EXACT, nominal=[1])
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
    forest, leaves, *_ = grow(np.column_stack([value, group]), EXACT, nominal=[1])
    assert forest.feature[0] == 1
    assert all(len(np.unique(np.isnan(value[leaves[0] == leaf]))) == 1 for leaf in forest.leaves(0))


def test_a_threshold_lies_in_the_middle_of_the_gap_between_codes_with_rows() -> None:
    assert settle_threshold(np.array([0, 4, 0, 0, 0, 2]), 1, False) == (2, True)
    # Only missing values go right: no value that is larger than any other follows them.
    assert settle_threshold(np.array([5, 3, 2, 0, 0, 0, 0, 0]), 2, False) == (4, False)
    # Only missing values go left.
    assert settle_threshold(np.array([5, 0, 0, 3, 2]), 0, True) == (1, True)
