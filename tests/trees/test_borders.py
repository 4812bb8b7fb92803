"""Border zones, against rows counted one by one, and the leaf across, against a walk in plain Python."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs import ADMERCS
from admercs.detector.judge import BEYOND_DOUBT, Judge
from admercs.method.tail import read_lowered
from admercs.table import prepare, read_frame
from admercs.trees.borders import border_zone, look_across
from admercs.trees.forest import Forest
from admercs.trees.walk import find_leaves


@given(st.lists(st.integers(0, 6), min_size=2, max_size=12), st.integers(1, 12), st.data())
def test_a_zone_holds_fewer_rows_than_asked_for(
    counts: list[int], zone_rows: int, data: st.DataObject
) -> None:
    code_counts = np.array([3, *counts])
    edges = np.arange(len(counts) - 1) + 0.5  # the value of code c is c - 1
    split = data.draw(st.integers(0, len(counts) - 1))
    (lower,), (upper,) = border_zone(edges, code_counts, np.array([split]), zone_rows)
    rows = np.repeat(np.arange(len(counts)), counts)
    threshold = edges[split - 1] if split else -np.inf
    for value in range(len(counts)):
        between = (
            np.sum((rows > threshold) & (rows <= value))
            if value > threshold
            else np.sum((rows <= threshold) & (rows >= value))
        )
        inside = threshold < value < upper or lower < value <= threshold
        if inside:
            assert between < zone_rows
        elif between < zone_rows and 0 < value < len(counts) - 1 and split:
            pytest.fail(f"{value} should be inside")


def test_a_value_that_many_rows_share_is_never_in_doubt() -> None:
    lower, upper = border_zone(np.array([0.5, 1.5]), np.array([0, 50, 5, 45]), np.array([1, 2]), 10)
    assert lower.tolist() == [0.5, 0.5]
    assert upper.tolist() == [1.5, 1.5]


@pytest.fixture
def fitted() -> tuple[Forest, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=2000)
    word = rng.choice(["a", "b", "c"], 2000)
    y = np.where(x > 0.3, 5.0, 0.0) + (word == "b") * 2 + rng.normal(0, 0.5, 2000)
    x[rng.random(2000) < 0.05] = np.nan
    table = np.empty((2000, 3), object)
    table[:, 0], table[:, 1], table[:, 2] = x, y, word
    model = ADMERCS().fit(table)
    frame = prepare(read_frame(table), model.model_.schema)
    return model.model_.forest, frame.block(0, 2000)


def walk(forest: Forest, node: int, row: np.ndarray) -> list[int]:
    """Return the nodes from one node down to a leaf."""
    nodes = [node]
    while forest.feature[nodes[-1]] >= 0:
        n = nodes[-1]
        value = row[forest.feature[n]]
        if np.isnan(value):
            left = forest.missing_left[n]
        elif forest.subset[n] >= 0:
            left = bool(int(forest.subsets[forest.subset[n], 0]) >> int(value) & 1)
        else:
            left = value <= forest.threshold[n]
        nodes.append(int(forest.left[n] if left else forest.right[n]))
    return nodes


def test_the_leaf_across_the_nearest_border(fitted: tuple[Forest, np.ndarray]) -> None:
    forest, block = fitted
    rows = np.arange(block.shape[1])
    met = 0
    for tree in range(3):
        across, nearness = np.empty(len(rows), np.int32), np.empty(len(rows))
        look_across(forest, tree, block, rows, across, nearness)
        for i in rows[::7]:
            best, expected = 0.0, -1
            path = walk(forest, int(forest.root[tree]), block[:, i])
            for node, chosen in pairwise(path):
                value, threshold = block[forest.feature[node], i], forest.threshold[node]
                end = forest.upper[node] if value > threshold else forest.lower[node]
                near = (end - value) / (end - threshold) if end != threshold else 0.0
                if forest.subset[node] < 0 and near > best:  # a missing value is near nothing
                    other = int(forest.left[node] + forest.right[node]) - chosen
                    best, expected = near, walk(forest, other, block[:, i])[-1]
            assert across[i] == expected
            assert nearness[i] == pytest.approx(best)
            met += expected >= 0
    assert met > 20


def test_doubt_only_ever_helps_and_never_beyond_one_half() -> None:
    rng = np.random.default_rng(0)
    x = rng.random(1000)
    X = np.column_stack([x, np.floor(4 * x) + rng.normal(0, 0.1, 1000)])
    with patch("admercs.trees.judges.SMALL_SHARE", 0.0):
        model = ADMERCS().fit(X).model_
    block = np.ascontiguousarray(X.T)
    leaf = np.empty(block.shape, np.int32)
    find_leaves(model.forest, block, leaf)
    _, judged, root, _, _ = Judge(model).look(block)
    changed = 0
    for m in range(2):
        strict = read_lowered(model.tail, model.likelihoods, m, leaf[m], block[m])
        assert np.all(judged[m] >= strict)
        raised = judged[m] > strict
        assert np.all(judged[m][raised] <= BEYOND_DOUBT)
        assert np.all(strict[raised] < root[m][raised])
        changed += int(raised.sum())
    assert changed > 0


def test_rows_at_the_edge_of_a_cluster_do_not_outrank_rows_between_two() -> None:
    """A row on the wrong side of a cut is ordinary in the next context, a mixed one in none."""
    rng = np.random.default_rng(5)
    centre = np.array([(0.1, 0.3), (0.3, 0.9), (0.5, 0.5), (0.7, 0.1), (0.9, 0.7)])
    which = rng.integers(0, 5, 950)
    normal = centre[which] + rng.normal(0, 0.04, (950, 2))
    mixed = np.column_stack([rng.permutation(centre)[:4, 0], np.full(4, 0.3)])
    mixed = mixed[mixed[:, 0] != 0.1]
    X = np.vstack([normal, mixed])
    score = ADMERCS().fit(X).scores_
    assert set(np.argsort(-score)[: len(mixed)]) == set(range(950, 950 + len(mixed)))
