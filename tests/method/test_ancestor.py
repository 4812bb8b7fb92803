"""Small contexts are also scored by a context above them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from admercs import ADMERCS, Method
from admercs.method.ancestor import AncestorStep, discount, find_ancestors, undiscount
from admercs.method.settings import Ancestor, Trees
from admercs.method.views import ANCESTOR, MARGINAL, OWN

from ..trees.tools import grow
from .tools import ALONE, fit

ONE_ROUND = replace(Method(), **ALONE)


def bad_batch(seed: int = 0, n: int = 1000, good: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of which the last batch, and no other, breaks a relation of two columns.

    A share `good` of that batch happens to fit it.
    """
    rng = np.random.default_rng(seed)
    batch, x = rng.random(n), rng.random(n)
    bad = batch > 0.965
    side = np.where(x > 0.5, 1.0, 0.0)
    side[bad] = np.where(rng.random(bad.sum()) < good, side[bad], 1 - side[bad])
    return np.column_stack([x, side + rng.normal(0, 0.05, n), batch]), bad


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.15, 0.4])
def test_the_nearest_context_of_which_a_leaf_is_a_small_part(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.random((2000, 3))
    X = np.column_stack([x, np.sin(9 * x[:, 0]) + rng.normal(0, 0.05, 2000), x[:, 1] > x[:, 2]])
    forest = grow(X, Trees()).forest
    found = find_ancestors(forest.parent, forest.feature, forest.n, share)
    met = 0
    for node in range(len(forest.feature)):
        above = forest.path(node)[1:-1]  # neither root nor leaf
        small = [a for a in above if forest.n[node] < share * forest.n[a]]
        expected = small[-1] if small and forest.feature[node] < 0 else -1
        assert found[node] == expected
        met += expected >= 0
    assert met > 10


@given(log_omega=st.floats(-30, 0), odds=st.floats(0.05, 1.0), prior=st.floats(0.01, 1.0))
def test_a_discounted_view_has_the_evidence_of_smaller_odds(
    log_omega: float, odds: float, prior: float
) -> None:
    there = np.array([log_omega])
    log_discounted = discount(there, odds)
    expected = np.log1p(prior * odds * np.expm1(-there))
    np.testing.assert_allclose(np.log1p(prior * np.expm1(-log_discounted)), expected, rtol=1e-9)
    np.testing.assert_allclose(undiscount(log_discounted, odds), there, rtol=1e-9, atol=1e-12)


def test_the_step_takes_the_least_likely_view() -> None:
    seen = fit(bad_batch(3)[0], ONE_ROUND)
    model = seen.model
    roots, ancestor, odds = model.forest.roots, model.scoring.ancestor, 0.5
    step = AncestorStep(ancestor, roots, model.likelihoods, seen.lone(), odds)
    views, before = seen.views(), seen.views()
    step.apply(views)
    np.testing.assert_array_equal(views.marginal, before.marginal)
    changed = 0
    for m in range(3):
        above = ancestor[seen.leaf[m]]
        there = seen.read(m, np.where(above >= 0, above, model.forest.root[m]).astype(np.int32))
        there = -np.log1p(odds * np.expm1(-there))
        own = before.log_omega[m]
        lower = (above >= 0) & (there < np.minimum(own, before.marginal[m]))
        np.testing.assert_allclose(views.log_omega[m], np.where(lower, there, own))
        np.testing.assert_array_equal(views.speaker[m], np.where(lower, ANCESTOR, OWN))
        changed += int(lower.sum())
    assert changed > 20


def test_the_strongest_of_three_views_is_the_evidence_and_says_how_strong_it_is() -> None:
    X, _ = bad_batch(3)
    seen = fit(X, replace(ONE_ROUND, tail=None, border=None, discount=None))
    model, parts = seen.model, seen.parts()
    forest, nodes = model.forest, parts.nodes(model)
    likelihoods = parts.log_likelihoods(model)
    speakers = set()
    for m in range(3):
        leaf = seen.leaf[m]
        scored_by = {OWN: leaf, MARGINAL: np.full_like(leaf, forest.root[m])}
        scored_by[ANCESTOR] = model.scoring.ancestor[leaf]
        evidence = np.zeros((3, len(leaf)))
        for speaker, there in scored_by.items():
            odds = 0.1 * (0.5 if speaker == ANCESTOR else 1.0)
            log_omega = seen.read(m, np.maximum(there, forest.root[m]).astype(np.int32))
            evidence[speaker] = np.where(there < 0, 0.0, np.log1p(odds * np.expm1(-log_omega)))
            mine = parts.speaker[m] == speaker
            np.testing.assert_array_equal(nodes[m][mine], there[mine])
            np.testing.assert_allclose(likelihoods[m][mine], log_omega[mine], rtol=1e-9, atol=1e-12)
        speakers |= set(np.unique(parts.speaker[m]).tolist())
        strongest = evidence.max(axis=0)
        np.testing.assert_allclose(parts.pattern[m], strongest, rtol=1e-9, atol=1e-12)
        said = np.take_along_axis(evidence, parts.speaker[m][None].astype(int), axis=0)[0]
        np.testing.assert_allclose(said, strongest, rtol=1e-9, atol=1e-12)
    assert speakers == {OWN, ANCESTOR, MARGINAL}


def test_anomalies_in_a_leaf_of_their_own_kind_are_found() -> None:
    for seed in range(5):
        X, bad = bad_batch(seed)
        found = average_precision_score(bad, ADMERCS(method=ONE_ROUND).fit(X).scores_)
        # Their own leaves find little odd about them: the tree has seen that they are different.
        without = ADMERCS(method=replace(ONE_ROUND, ancestor=None)).fit(X)
        assert found > 0.85
        assert average_precision_score(bad, without.scores_) < 0.2


def test_no_share_is_as_good_as_no_step() -> None:
    X, _ = bad_batch()
    none = ADMERCS(method=replace(ONE_ROUND, ancestor=Ancestor(share=0.0))).fit(X)
    without = ADMERCS(method=replace(ONE_ROUND, ancestor=None)).fit(X)
    np.testing.assert_array_equal(none.scores_, without.scores_)


def test_the_reason_is_about_the_ancestor() -> None:
    X, bad = bad_batch()
    model = ADMERCS(method=ONE_ROUND).fit(X)
    scoring, spoken = model.model_.scoring, 0
    for row, values in zip(model.explain(X[bad]), X[bad], strict=True):
        first = row.reasons[0]
        spoken += first.node == scoring.ancestor[first.context]
        holds = np.array([
            all(c.holds(x[int(c.attribute[1])]) for c in first.conditions) for x in X
        ])  # fmt: skip
        assert holds.sum() == first.n
        assert all(c.holds(values[int(c.attribute[1])]) for c in first.conditions)
    assert spoken > 0.5 * bad.sum()
