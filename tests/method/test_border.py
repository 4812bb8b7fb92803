"""Border zones, against rows counted one by one, and smoothing, against a walk in plain Python."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs import ADMERCS, Method
from admercs.method.border import BorderStep, border_zone
from admercs.method.settings import Density

from .tools import ALONE, Seen, fit, walk


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


def test_a_value_that_many_rows_share_is_in_no_zone() -> None:
    lower, upper = border_zone(np.array([0.5, 1.5]), np.array([0, 50, 5, 45]), np.array([1, 2]), 10)
    assert lower.tolist() == [0.5, 0.5]
    assert upper.tolist() == [1.5, 1.5]


@pytest.fixture(scope="module")
def seen() -> Seen:
    """Numbers with gaps and words, with splits on either."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=2000)
    word = rng.choice(["a", "b", "c"], 2000)
    y = np.where(x > 0.3, 5.0, 0.0) + (word == "b") * 2 + rng.normal(0, 0.5, 2000)
    x[rng.random(2000) < 0.05] = np.nan
    return fit(pd.DataFrame({"x": x, "y": y, "word": word}), replace(Method(), **ALONE))


def across(seen: Seen, tree: int, i: int) -> tuple[int, float]:
    """Return the leaf across the nearest border of a row, or -1, and how near it is."""
    forest, zones, row = seen.model.forest, seen.model.zones, seen.block[:, i]
    assert zones is not None
    best, leaf = 0.0, -1
    for node, chosen in pairwise(walk(seen.model, int(forest.root[tree]), row)):
        value, threshold = row[forest.feature[node]], forest.threshold[node]
        end = zones.upper[node] if value > threshold else zones.lower[node]
        near = (end - value) / (end - threshold) if end != threshold else 0.0
        if forest.subset[node] < 0 and near > best:  # a missing value is near nothing
            other = int(forest.left[node] + forest.right[node]) - chosen
            best, leaf = near, walk(seen.model, other, row)[-1]
    return leaf, best


def test_odd_values_near_a_border_are_as_likely_as_across_it(seen: Seen) -> None:
    model, ordinary = seen.model, 0.5
    assert model.zones is not None
    met = raised = 0
    views, before = seen.views(), seen.views()
    own = seen.own_likelihoods()
    BorderStep(model.forest, model.zones, own, seen.lone(), ordinary).apply(views)
    np.testing.assert_array_equal(views.marginal, before.marginal)
    np.testing.assert_array_equal(views.speaker, before.speaker)
    for m in range(3):
        for i in range(0, seen.block.shape[1], 7):
            expected = before.log_omega[m, i]
            leaf, near = across(seen, m, i)
            met += leaf >= 0
            if leaf >= 0 and expected < np.log(ordinary) and expected < before.marginal[m, i]:
                there = seen.read(m, np.full_like(seen.leaf[m], leaf))[i]
                expected = max(expected, min(there + np.log(near), np.log(ordinary)))
            assert views.log_omega[m, i] == pytest.approx(expected, abs=1e-12)
            raised += views.log_omega[m, i] > before.log_omega[m, i]
    assert met > 20
    assert raised > 0


def test_smoothing_only_ever_raises_and_never_beyond_its_limit() -> None:
    rng = np.random.default_rng(0)
    x = rng.random(1000)
    X = np.column_stack([x, np.floor(4 * x) + rng.normal(0, 0.1, 1000)])
    changed = 0
    for ordinary in (0.2, 0.5):
        density = Density(ordinary=ordinary)
        method = replace(Method(), density=density, discount=None, ancestor=None, **ALONE)
        smoothed = fit(X, method)
        plain = fit(X, replace(method, border=None)).parts()
        found = smoothed.parts()
        assert np.all(found.log_omega >= plain.log_omega)
        raised = found.log_omega > plain.log_omega
        assert np.all(found.log_omega[raised] <= np.log(ordinary))
        changed += int(raised.sum())
    assert changed > 0


def test_there_is_no_zone_without_the_step(seen: Seen) -> None:
    table = pd.DataFrame(seen.block[:2].T)
    assert fit(table, replace(Method(), border=None)).model.zones is None
    zones = fit(table, Method().change({"border.zone": 0})).model.zones
    forest = fit(table).model.forest
    assert zones is not None
    numeric = forest.feature >= 0
    inside = (zones.lower < forest.threshold) | (zones.upper > forest.threshold)
    assert not np.any(inside & numeric)


@pytest.mark.parametrize("seed", range(5))
def test_rows_at_the_edge_of_a_cluster_do_not_outrank_rows_between_two(seed: int) -> None:
    """A row on the wrong side of a cut is ordinary in the next context, a mixed one in none."""
    rng = np.random.default_rng(seed)
    centre = np.array([(0.1, 0.3), (0.3, 0.9), (0.5, 0.5), (0.7, 0.1), (0.9, 0.7)])
    normal = centre[rng.integers(0, 5, 950)] + rng.normal(0, 0.04, (950, 2))
    mixed = np.array([(x, 0.3) for x in (0.3, 0.5, 0.7)])
    score = ADMERCS().fit(np.vstack([normal, mixed])).scores_
    assert set(np.argsort(-score)[:3]) == {950, 951, 952}
