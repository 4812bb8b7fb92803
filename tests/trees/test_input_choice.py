"""Inputs that are looked at closer: gains against those of all splits tried one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from admercs.method.settings import Trees
from admercs.pipeline.grow import make_targets
from admercs.table import learn_schema, read_frame, summarise
from admercs.trees.criteria import TreeTarget
from admercs.trees.input_choice import InputChoice
from admercs.trees.split_orders import Layout, SplitOrder, layout_of

from .tools import Grown, grow, mixed


def prepared(
    X: np.ndarray, m: int, nominal: list[int], max_bins: int = 30
) -> tuple[Grown, TreeTarget, Layout]:
    settings = replace(Trees(), max_bins=max_bins)  # 30: a cell per code
    grown = grow(X, settings, nominal=nominal)
    schema = learn_schema(summarise(read_frame(X), nominal))
    target = make_targets(schema, grown.code_counts, settings)[m]
    allowed = np.flatnonzero(np.arange(X.shape[1]) != m)
    return grown, target, layout_of(grown.binning, allowed, allowed)


def entropy_sum(classes: np.ndarray) -> float:
    p = np.unique(classes, return_counts=True)[1]
    return float(-(p * np.log(p / p.sum())).sum())


def best_gain(classes: np.ndarray, codes: np.ndarray, least: int) -> float:
    """Try all thresholds, with missing values on either side."""
    best = -np.inf
    for code in range(int(codes.max())):
        for missing_left in (True, False):
            left = (codes <= code) & ((codes > 0) | missing_left)
            if min(left.sum(), (~left).sum()) >= least:
                rest = entropy_sum(classes[left]) + entropy_sum(classes[~left])
                best = max(best, entropy_sum(classes) - rest)
    return best


@pytest.mark.parametrize("seed", range(3))
def test_gains_of_thresholds_at_the_root_and_below(seed: int) -> None:
    X = np.column_stack([mixed(seed)[:, :2], np.random.default_rng(seed).normal(size=(600, 3))])
    grown, target, layout = prepared(X, 1, [])
    choice = InputChoice(grown.codes, target, layout)
    classes = target.class_of_code[grown.codes[1]]  # type: ignore[index]

    def check(node: int, rows: np.ndarray) -> None:
        found = choice._gains(node)
        for place, m in enumerate(layout.inputs):
            expected = best_gain(classes[rows], grown.codes[m][rows], target.min_leaf)
            assert found[place] == pytest.approx(expected, abs=1e-6)

    check(0, np.arange(600))
    is_left = np.arange(int(layout.n_codes[0])) <= 12
    choice.part(SplitOrder(0, 0, is_left, (1, 2), (None, None)), 0, 12)
    check(1, np.flatnonzero(is_left[grown.codes[0]]))
    check(2, np.flatnonzero(~is_left[grown.codes[0]]))


def test_cells_become_finer_where_an_input_was_split() -> None:
    X = np.random.default_rng(1).uniform(size=(5000, 6))
    X[:, 1] = np.abs(X[:, 0] - 0.5 - 0.002)  # the best threshold is not the end of a wide cell
    grown, target, layout = prepared(X, 1, [], max_bins=254)
    choice = InputChoice(grown.codes, target, layout)
    codes, classes = grown.codes[0], target.class_of_code[grown.codes[1]]  # type: ignore[index]
    rows, node = np.arange(5000), 0
    for code, side in ((119, 1), (135, 0)):
        is_left = np.arange(int(layout.n_codes[0])) <= code
        children = node + 1, node + 2
        choice.part(SplitOrder(node, 0, is_left, children, (None, None)), 0, code)
        rows, node = rows[is_left[codes[rows]] == (side == 0)], children[side]
    assert set(codes[rows]) == set(range(120, 136))
    expected = best_gain(classes[rows], codes[rows], target.min_leaf)
    assert choice._gains(node)[0] == pytest.approx(expected, abs=1e-6)


def test_the_best_input_is_always_looked_at_and_few_others() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 12))
    X[:, 4] = X[:, 0] + rng.normal(scale=0.1, size=2000)
    grown, target, layout = prepared(X, 4, [])
    places = InputChoice(grown.codes, target, layout).choose(0)
    assert places is not None
    assert 0 in layout.inputs[places]
    assert len(places) <= Trees().search.closer
    independent = prepared(X, 7, [])
    assert InputChoice(independent[0].codes, *independent[1:]).choose(0) is None


def test_categories_are_gained_by_subset() -> None:
    rng = np.random.default_rng(3)
    category = rng.integers(1, 7, 900).astype(float)
    target = np.where(np.isin(category, [2, 5]), 1.0, 2.0)
    X = np.column_stack([category, target, rng.normal(size=(900, 4))])
    grown, wanted, layout = prepared(X, 1, [0, 1])
    gains = InputChoice(grown.codes, wanted, layout)._gains(0)
    assert gains[0] == pytest.approx(entropy_sum(target), abs=1e-6)
    assert gains[1:].max() < 0.1 * gains[0]
