"""The log-space kernels against the paper's update rules in plain floating point."""

from __future__ import annotations

from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admercs.evidence.feedback import iterate
from admercs.evidence.noisy_or import (
    Weighing,
    log_complement,
    view_evidence,
    weigh_cells,
)
from admercs.evidence.rising import RisingQuantiles
from admercs.evidence.suspects import UNIT, Columns, Yardstick, add_guilt, best_span, find_suspects
from admercs.evidence.threshold import automatic_threshold


class Trees(NamedTuple):
    """As much of a forest as the iteration looks at: flat trees of leaves only."""

    feature: np.ndarray
    root: np.ndarray
    n: np.ndarray

    @property
    def parent(self) -> np.ndarray:
        return np.full(len(self.feature), -1)

    @property
    def n_trees(self) -> int:
        return len(self.root) - 1

    def tree_of(self, node: int) -> int:
        return int(np.searchsorted(self.root, node, side="right")) - 1


def paper_updates(
    omega: np.ndarray, leaves: np.ndarray, n_nodes: int, gd: float, gl: float, n: int, centred: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The rules as the paper writes them; omega and leaves are trees x rows."""
    lam = np.zeros(n_nodes)
    for k in range(n):
        v = lam[leaves] + (1 - lam[leaves]) * (1 - omega)
        delta = 1 - np.prod(1 - gd * v, axis=0)
        if k == n - 1:
            return delta, lam
        guilt = delta
        if centred:
            e = -np.log(1 - delta)
            middle = np.quantile(e, 0.5, method="inverted_cdf")
            guilt = 1 - np.exp(-np.maximum(0, e - middle))
        for j in range(n_nodes):
            inside = np.any(leaves == j, axis=0)
            lam[j] = np.prod(1 - gl * (1 - guilt[inside])) if inside.any() else 0.0
    raise AssertionError


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, Trees]:
    rng = np.random.default_rng(seed)
    n_trees, n_leaves, n_rows = 4, 5, 60
    omega = np.where(
        rng.random((n_trees, n_rows)) < 0.7, 1.0, rng.uniform(0.05, 1, (n_trees, n_rows))
    )
    leaves = rng.integers(0, n_leaves, (n_trees, n_rows))
    leaves[0, :6] = 0  # a small context of odd rows
    leaves[0, 6:] = rng.integers(1, n_leaves, n_rows - 6)
    omega[1:, :5] = 0.02
    leaves = (leaves + n_leaves * np.arange(n_trees)[:, None]).astype(np.int32)
    feature = np.full(n_trees * n_leaves, -1)
    rows = np.bincount(leaves.ravel(), minlength=len(feature))
    return omega, leaves, Trees(feature, np.arange(n_trees + 1) * n_leaves, rows)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("gd", "gl"), [(1.0, 1.0), (0.9, 0.5), (0.7, 0.9)])
@pytest.mark.parametrize("n_iter", [1, 2, 5, 20])
def test_iteration_follows_the_paper(
    seed: int, centred: bool, gd: float, gl: float, n_iter: int
) -> None:
    omega, leaves, trees = random_case(seed)
    delta, lam = paper_updates(omega, leaves, 20, gd, gl, n_iter, centred)
    log_omega = np.log(omega)
    base = -np.log1p(gd * np.expm1(log_omega)).sum(axis=0)
    result = iterate(
        base,
        leaves,
        trees,  # type: ignore[arg-type]
        lambda node, rows: log_omega[trees.tree_of(node), rows],
        weighing=Weighing(gd, 0.0),
        gamma_lambda=gl,
        feedback="centred" if centred else "paper",
        n_iter=n_iter,
        tol=0.0,
    )
    np.testing.assert_allclose(-np.expm1(-result.evidence), delta, atol=1e-6)
    np.testing.assert_allclose(np.exp(result.log_lambda), lam, atol=1e-6)


def test_a_small_context_of_odd_rows_is_found_and_condemns_its_ordinary_row() -> None:
    omega, leaves, trees = random_case(0)
    base = -np.log1p(0.9 * np.expm1(np.log(omega))).sum(axis=0)
    run = {"weighing": Weighing(0.9, 0.0), "gamma_lambda": 0.5, "feedback": "centred", "tol": 1e-9}
    result = iterate(
        base,
        leaves,
        trees,  # type: ignore[arg-type]
        lambda node, rows: np.log(omega[trees.tree_of(node), rows]),
        n_iter=20,
        **run,  # type: ignore[arg-type]
    )
    assert result.log_lambda.argmax() == 0
    assert result.evidence[5] > base[5]


class Anyone(NamedTuple):
    """Rows that are asked about whole leaves only."""

    base: np.ndarray
    leaves: np.ndarray
    n_nodes: int

    def quantile(self, level: float) -> float:
        return float(np.quantile(self.base, level, method="inverted_cdf"))

    def guilt(self, yardstick: Yardstick) -> np.ndarray:
        sums = np.zeros(self.n_nodes, np.int64)
        add_guilt(self.leaves, self.base, sums, yardstick)
        return sums


def relative_feedback(base: np.ndarray, in_context: np.ndarray) -> np.ndarray:
    """Return λ of the same context, seen by two of three trees."""
    leaves = np.stack([in_context, in_context + 2, np.full(len(base), 4)]).astype(np.int32)
    trees = Trees(np.full(5, -1), np.array([0, 2, 4, 5]), np.bincount(leaves.ravel()))
    suspects = find_suspects(
        Anyone(base, leaves, 5),
        trees,
        Columns([0, 0, 0], [False] * 3),
        2,
        "relative",
        len(base),  # type: ignore[arg-type]
        fine=False,
    )
    result = iterate(
        base, leaves, trees, lambda node, rows: np.full(len(rows), np.nan),  # type: ignore[arg-type]
        weighing=Weighing(0.9, 0.1), gamma_lambda=0.5, feedback="relative", n_iter=10, tol=1e-9,
        tried=suspects.leaves,
    )  # fmt: skip
    return np.exp(result.log_lambda[[1, 3]])


def test_contexts_do_not_talk_each_other_into_a_conviction() -> None:
    base = np.random.default_rng(0).exponential(0.3, 1000)
    inside = np.arange(1000) < 30
    mild = np.where(inside, np.quantile(base, 0.85), base)  # odd, but hardly, and nobody stands out
    np.testing.assert_array_equal(relative_feedback(mild, inside), 0)


def test_a_context_of_odd_rows_is_convicted_with_the_ordinary_rows_in_it() -> None:
    base = np.random.default_rng(0).exponential(0.3, 1000)
    inside = np.arange(1000) < 30
    base[:27] = 3.0
    assert relative_feedback(base, inside).min() > 0.5


def test_ten_times_the_rows_do_not_acquit_a_context() -> None:
    base = np.random.default_rng(0).exponential(0.3, 1000)
    base[:27] = 3.0
    base, inside = np.repeat(base, 10), np.repeat(np.arange(1000) < 30, 10)
    assert relative_feedback(base, inside).min() > 0.5
    with patch("admercs.evidence.feedback.JURY_ROWS", 1 << 60):
        assert relative_feedback(base, inside).max() < 0.1


def test_a_span_begins_and_ends_with_values_that_rows_have() -> None:
    counts = np.array([3, 5, 0, 0, 4, 0, 4, 0, 9])
    guilt = np.array([0, 0, 0, 0, 16, 0, 12, 0, 0]) * int(UNIT)
    span = best_span(7, np.array([counts, guilt]), n_categories=0)
    assert span is not None
    assert (span.leaf, span.first, span.last, span.n_rows) == (7, 4, 6, 8)


def test_a_span_of_categories_is_the_guiltiest_one_and_never_the_rest() -> None:
    sums = np.array([[0, 5, 5, 50], np.array([0, 11, 15, 200]) * int(UNIT)])
    span = best_span(0, sums, n_categories=2)
    assert span is not None
    assert (span.first, span.last) == (2, 2)
    assert best_span(0, sums * [[1], [0]], n_categories=2) is None


@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 60),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    level=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_quantiles_of_rising_numbers_are_those_of_all(
    seed: int, n: int, share: float, level: float
) -> None:
    rng = np.random.default_rng(seed)
    base = np.round(rng.exponential(size=n), 1)  # with ties
    rising = np.flatnonzero(rng.random(n) < share)
    quantiles, values = RisingQuantiles(base, rising), base.copy()
    for _ in range(3):
        expected = np.quantile(values, level, method="inverted_cdf")
        assert quantiles.inverted(level, values) == expected
        values[rising] = base[rising] + np.round(rng.exponential(size=len(rising)), 1)


@given(
    log_not_v=st.floats(-700, 0),
    gamma=st.floats(0.01, 1.0),
)
def test_one_views_evidence(log_not_v: float, gamma: float) -> None:
    v = -np.expm1(log_not_v)
    found = view_evidence(log_not_v, gamma)
    assert found >= 0
    if gamma * v < 0.999:
        np.testing.assert_allclose(found, -np.log1p(-gamma * v), rtol=1e-9, atol=1e-15)
    if gamma == 1.0:
        assert found == -log_not_v  # never saturates


def test_the_complement_is_exact_at_both_ends() -> None:
    log_p = np.array([-np.inf, -800.0, -1e-12, -0.0])
    found = log_complement(log_p)
    np.testing.assert_allclose(found[:3], [0.0, 0.0, np.log(1e-12)], rtol=1e-9)
    assert found[3] == -np.inf


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_keeps_its_promise_for_exponential_evidence(seed: int) -> None:
    evidence = np.random.default_rng(seed).exponential(size=200_000)
    share = (evidence > automatic_threshold(evidence)).mean()
    assert 0.0005 < share < 0.002


def test_obvious_anomalies_are_flagged_though_they_are_more_than_one_per_cent() -> None:
    evidence = np.random.default_rng(0).exponential(size=10_000)
    spoiled = np.concatenate([evidence, np.full(300, 1e6)])
    threshold = automatic_threshold(spoiled)
    assert threshold < 1e6
    assert (evidence > threshold).mean() < 0.001


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
def test_a_heavy_tail_alone_flags_one_per_cent_at_most(sigma: float) -> None:
    evidence = np.random.default_rng(0).lognormal(sigma=sigma, size=20_000)
    assert (evidence > automatic_threshold(evidence)).mean() <= 0.01


@settings(deadline=None)
@given(log_omega=st.floats(-30, 0), odds=st.floats(0.01, 1.0))
def test_evidence_by_odds(log_omega: float, odds: float) -> None:
    cells = np.zeros((1, 1))
    weigh_cells(
        np.zeros((1, 1), np.int32), np.array([[log_omega]]), np.zeros((1, 1)), np.zeros(1),
        np.zeros(1, np.bool_), Weighing(0.9, odds), np.zeros(1, np.int64), cells,
    )  # fmt: skip
    np.testing.assert_allclose(cells, np.log1p(odds * np.expm1(-log_omega)), rtol=1e-13)
