"""What a model file must not get away with."""

from __future__ import annotations

import numpy as np
import pytest

from admercs import ADMERCS
from admercs.detector.sanity import check_forest
from admercs.trees.forest import Forest
from admercs.trees.nodes import depths


@pytest.fixture(scope="module")
def forest() -> Forest:
    z = np.random.default_rng(0).normal(size=(500, 1))
    return ADMERCS().fit(z + 0.1 * np.random.default_rng(1).normal(size=(500, 3))).model_.forest


def test_a_grown_forest_is_sound(forest: Forest) -> None:
    check_forest(forest, 3)


def test_children_out_of_order(forest: Forest) -> None:
    swapped = forest._replace(left=forest.right, right=forest.left)
    with pytest.raises(ValueError, match="forest/left"):
        check_forest(swapped, 3)


@pytest.mark.parametrize("shift", [-1, 1, 10_000])
def test_a_child_elsewhere(forest: Forest, shift: int) -> None:
    right = forest.right.copy()
    right[np.flatnonzero(forest.feature >= 0)[-1]] += shift
    with pytest.raises(ValueError, match="forest/"):
        check_forest(forest._replace(right=right), 3)


def test_trees_that_end_elsewhere(forest: Forest) -> None:
    root = forest.root.copy()
    root[1] += 1
    with pytest.raises(ValueError, match="forest/root"):
        check_forest(forest._replace(root=root), 3)


@pytest.mark.parametrize("shift", [0, 1, 63])
def test_idle_tests_that_are_not_on_the_path_or_its_last(forest: Forest, shift: int) -> None:
    idle = forest.idle.copy()
    deepest = int(depths(forest.parent).argmax())
    idle[deepest] |= np.uint64(1) << np.uint64(min(63, depths(forest.parent)[deepest] - 1 + shift))
    with pytest.raises(ValueError, match="forest/idle"):
        check_forest(forest._replace(idle=idle), 3)


def test_idle_tests_of_the_wrong_kind(forest: Forest) -> None:
    for idle in (forest.idle[1:], forest.idle.astype(np.float64)):
        with pytest.raises(ValueError, match="forest/idle"):
            check_forest(forest._replace(idle=idle), 3)


@pytest.mark.parametrize("name", ["scorer", "wider"])
def test_a_judge_from_another_tree(forest: Forest, name: str) -> None:
    nodes = getattr(forest, name).copy()
    first = int(np.flatnonzero(forest.wider >= 0)[0])
    nodes[first] = forest.root[1] if first < forest.root[1] else 0
    with pytest.raises(ValueError, match=f"forest/{name}"):
        check_forest(forest._replace(**{name: nodes}), 3)
