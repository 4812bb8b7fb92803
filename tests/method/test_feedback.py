"""Feedback, against the update rules of the paper and of the method in plain floating point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs import ADMERCS, Method
from admercs.method.feedback import UNIT, ExcessScale, log_scores, mean_score
from admercs.method.settings import Feedback
from admercs.pipeline.score import Scorer

from .test_ancestor import bad_batch
from .tools import Seen, fit

BENCHMARKS = ["Campos", "CamposHD", "HiCS", "Synth-C", "Synth-C&S", "Synth-I"]


def animals(seed: int, n: int = 250) -> pd.DataFrame:
    """Numbers and words that depend on each other, some missing; a few rows break all of it."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    table = pd.DataFrame({"weight": 10.0 * kind + rng.normal(size=n)})
    table["height"] = table["weight"] / 3 + rng.normal(scale=0.3, size=n)
    table["kind"] = np.array(["ant", "bee", "cow"])[kind]
    table["legs"] = np.where(kind == 2, 4.0, 6.0)
    table.loc[:9, ["weight", "height"]] = rng.uniform(0, 25, (10, 2))
    table.loc[rng.random(n) < 0.05, "height"] = np.nan
    return table


def paper_rules(
    omega: np.ndarray, leaves: np.ndarray, n_nodes: int, method: Method
) -> tuple[np.ndarray, np.ndarray]:
    """The rules as the paper writes them; omega and leaves are trees x rows."""
    feedback, lam = method.feedback, np.zeros(n_nodes)
    assert feedback is not None
    for round_ in range(1, feedback.n_iter + 1):
        v = lam[leaves] + (1 - lam[leaves]) * (1 - omega)
        delta = 1 - np.prod(1 - method.evidence.gamma_delta * v, axis=0)  # type: ignore[union-attr]
        if round_ == feedback.n_iter:
            break
        known = delta
        if feedback.centred:  # against the median row
            e = -np.log(1 - delta)
            known = 1 - np.exp(-np.maximum(0, e - np.median(e)))
        for j in np.unique(leaves):
            inside = np.any(leaves == j, axis=0)
            lam[j] = np.prod(1 - feedback.gamma_lambda * (1 - known[inside]))
    return delta, lam


def fitted_scores(seen: Seen) -> np.ndarray:
    """Return λ of all nodes of a model."""
    lam = np.zeros(len(seen.model.forest.feature))
    lam[seen.model.contexts.leaf] = np.exp(seen.model.contexts.log_lambda)
    return lam


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("n_iter", [2, 3, 20])
@pytest.mark.parametrize("centred", [True, False])
def test_rounds_follow_the_paper(benchmark: str, n_iter: int, centred: bool) -> None:
    # No tolerance: the rules below do not stop early either. A centred γ_δ = 1 needs δ < 1.
    change = {"feedback.n_iter": n_iter, "feedback.tol": 0.0, "feedback.centred": centred}
    method = Method.paper(benchmark).change(change)
    seen = fit(animals(0), method)
    omega = np.exp(Scorer(seen.model).own_likelihoods(seen.block, seen.leaf))
    delta, lam = paper_rules(omega, seen.leaf, len(seen.model.forest.feature), method)
    np.testing.assert_allclose(-np.expm1(-seen.parts().evidence()), delta, atol=1e-6)
    np.testing.assert_allclose(fitted_scores(seen), lam, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("centred", [True, False])
def test_rounds_follow_the_paper_where_every_row_has_some_evidence(
    seed: int, centred: bool
) -> None:
    table = animals(seed)
    noise = np.random.default_rng(seed).normal(size=(len(table), 10))
    table[[f"noise {k}" for k in range(10)]] = noise
    change = {"feedback.tol": 0.0, "feedback.centred": centred}
    method = Method.paper("Synth-I").change(change)
    seen = fit(table, method)
    omega = np.exp(Scorer(seen.model).own_likelihoods(seen.block, seen.leaf))
    delta, lam = paper_rules(omega, seen.leaf, len(seen.model.forest.feature), method)
    assert np.median(delta) > 0.5
    assert lam.max() > 0.5
    np.testing.assert_allclose(-np.expm1(-seen.parts().evidence()), delta, atol=1e-6)
    np.testing.assert_allclose(fitted_scores(seen), lam, atol=1e-5)


def relative_rules(
    base: np.ndarray, leaves: np.ndarray, candidates: list[int], n_iter: int
) -> tuple[np.ndarray, dict[int, float]]:
    """Our rules in plain numbers, for contexts that are whole leaves."""
    evidence, lam = base, dict.fromkeys(candidates, 0.0)
    for _ in range(n_iter - 1):
        middle, high = np.quantile(evidence, [0.5, 0.9])
        excess = np.maximum(0, evidence - middle) / ((high - middle) / 2)
        added = np.zeros(len(base))
        for j in candidates:
            inside = np.any(leaves == j, axis=0)
            share = min(1.0, 50 / inside.sum())
            lam[j] = float(np.prod(1 - 0.5 * np.exp(-excess[inside])) ** share)
            added[inside] += min(1.0, -np.log(1 - lam[j]))
        evidence = base + added
    return evidence, lam


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_iter", [2, 3, 20])
def test_rounds_follow_our_rules(seed: int, n_iter: int) -> None:
    X, _ = bad_batch(seed, good=0.2)
    change = {"neighbours": None, "feedback.ranges": None, "feedback.tol": 0.0}
    method = Method().change({**change, "feedback.n_iter": n_iter})
    seen = fit(X, method)
    base = Scorer(seen.model).score_alone(seen.block, seen.leaf).pattern.sum(axis=0)
    middle, high = np.quantile(base, [0.5, 0.9])
    capped = np.minimum(np.maximum(0, base - middle) / ((high - middle) / 2), 3.0)
    inside = {int(j): np.any(seen.leaf == j, axis=0) for j in np.unique(seen.leaf)}
    candidates = [j for j, rows in inside.items() if capped[rows].mean() >= 1.75]
    assert candidates
    evidence, lam = relative_rules(base, seen.leaf, candidates, n_iter)
    np.testing.assert_allclose(seen.parts().evidence(), evidence, atol=1e-6)
    found = fitted_scores(seen)
    np.testing.assert_allclose(found[candidates], [lam[j] for j in candidates], atol=1e-6)
    assert set(np.flatnonzero(found)) <= set(candidates)


def test_without_further_rounds_no_context_is_anomalous() -> None:
    X, _ = bad_batch(0, good=0.2)
    one_round = ADMERCS(method=Method().change({"feedback.n_iter": 1, "neighbours": None})).fit(X)
    none = ADMERCS(method=replace(Method(), feedback=None, neighbours=None)).fit(X)
    assert len(one_round.model_.contexts.leaf) == len(none.model_.contexts.leaf) == 0
    np.testing.assert_array_equal(one_round.scores_, none.scores_)
    assert none.n_iter_ == 1


def test_rounds_end_when_nothing_changes() -> None:
    X, _ = bad_batch(0, good=0.2)
    rounds = [
        ADMERCS(method=Method().change({"feedback.tol": tol, "feedback.n_iter": 50})).fit(X).n_iter_
        for tol in (1.0, 1e-3, 1e-6)
    ]
    assert rounds[0] == 2
    assert rounds[0] < rounds[1] <= rounds[2] < 50


@given(st.lists(st.floats(0, 50), min_size=1, max_size=30), st.sampled_from([0.5, 0.9, 1.0]))
def test_terms_of_rows(evidence: list[float], gamma: float) -> None:
    rows, scale = np.array(evidence), ExcessScale(1.5, 0.7)
    excess = np.maximum(0, rows - 1.5) / 0.7
    with np.errstate(divide="ignore"):
        expected = np.maximum(-64, np.log(1 - gamma * np.exp(-excess)))
    np.testing.assert_allclose(scale.terms(rows, gamma) / UNIT, expected, atol=1e-7)
    np.testing.assert_allclose(scale.capped(rows, 3.0) / UNIT, np.minimum(3, excess), atol=1e-7)
    np.testing.assert_allclose(scale.times(0.5).excess(rows / 2), excess, rtol=1e-12)


def test_the_scale_of_excess_evidence() -> None:
    assert ExcessScale.from_quantiles(1.0, 4.0, Feedback()) == (1.0, 1.5)
    assert ExcessScale.from_quantiles(1.0, 4.0, Feedback(spread=None)) == (1.0, 1.0)
    assert ExcessScale.from_quantiles(1.0, 4.0, Feedback(spread=None, centred=False)) == (0.0, 1.0)
    assert ExcessScale.from_quantiles(1.0, 1.0, Feedback()) is None  # no row stands out


def test_ten_times_the_rows_do_not_lower_the_score_of_a_large_context() -> None:
    term = int(np.log(0.95) * UNIT)
    sums, n = np.array([50, 500, 5000]) * term, np.array([50, 500, 5000])
    np.testing.assert_allclose(np.exp(log_scores(sums, n, Feedback())), 0.95**50, rtol=1e-5)
    all_count = log_scores(sums, n, Feedback(effective_size=None))
    np.testing.assert_allclose(all_count, [*(sums[:2] / UNIT), -np.inf])  # e^-256 is nothing
    for k in range(3):
        mean = mean_score(float(log_scores(sums, n, Feedback())[k]), int(n[k]), Feedback())
        assert mean == pytest.approx(1 - 0.05 / 0.5, abs=1e-5)


def test_no_score_is_exactly_one() -> None:
    found = log_scores(np.array([0]), np.array([10]), Feedback())
    assert -1e-6 < found[0] < 0
