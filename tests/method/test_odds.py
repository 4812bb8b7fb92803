"""From likelihoods to evidence, against the formulas in plain floating point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admercs.method.odds import (
    log_complement,
    noisy_or,
    pattern_evidence,
    plain_evidence,
    raise_gaps,
)
from admercs.method.settings import NoisyOr, Odds
from admercs.method.views import ANCESTOR, MARGINAL, OWN, RELATION, BlockViews


def views_of(log_omega: np.ndarray, table: np.ndarray, speaker: np.ndarray) -> BlockViews:
    """Return copies of views; the values themselves do not matter."""
    leaf, nothing = np.zeros(table.shape, np.int32), np.zeros(table.shape)
    return BlockViews(leaf, nothing, log_omega.copy(), table.copy(), [], speaker.copy())


def alone(log_omega: np.ndarray, evidence: Odds | NoisyOr) -> np.ndarray:
    """Return the evidence of values that have a single view."""
    own = np.atleast_2d(log_omega).astype(float)
    views = views_of(own, np.zeros(own.shape), np.zeros(own.shape, np.uint8))
    return pattern_evidence(views, np.zeros(len(own), np.bool_), evidence)


@given(log_omega=st.floats(-30, 0), odds=st.floats(0.01, 1.0))
def test_evidence_by_odds(log_omega: float, odds: float) -> None:
    found = alone(np.array([log_omega]), Odds(odds))
    np.testing.assert_allclose(found, np.log1p(odds * np.expm1(-log_omega)), 1e-13, 1e-300)


def test_evidence_by_odds_is_continuous_and_grows_without_end() -> None:
    log_omega = -np.concatenate([np.linspace(0, 1.2, 5000)[:-1], np.geomspace(1.2, 700, 500)])
    found = alone(log_omega, Odds(0.1))[0]
    assert found[0] == 0
    assert np.all(np.diff(found) > 0)
    np.testing.assert_allclose(found, np.log1p(0.1 * np.expm1(-log_omega)), rtol=1e-12)
    np.testing.assert_allclose(alone(log_omega, Odds(1.0))[0], -log_omega, rtol=1e-12)


def test_odds_fall_where_there_are_many_columns() -> None:
    assert [Odds().among(n).odds for n in (1, 20)] == [0.1, 0.1]
    assert Odds(columns=10**400).among(300) == Odds(columns=10**400)
    assert Odds().among(80) == Odds(odds=0.05)
    assert Odds(odds=0.2, columns=100).among(400).odds == 0.1


def test_gaps_have_a_least_evidence_where_most_rows_have_a_value() -> None:
    pattern = np.array([[0.1, 0.1, 2.0], [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]])
    own = np.log(np.full((3, 3), 0.9))
    views = views_of(own, own, np.full(own.shape, OWN, np.uint8))
    views.block[:, [0, 2]] = np.nan
    raise_gaps(pattern, views, 0.3, np.array([0.2, 0.6, 0.0]))
    assert pattern.tolist() == [[0.3, 0.1, 2.0], [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]]
    # Told is how many rows of the table have a gap; other rows go by what the context says.
    assert views.speaker[0].tolist() == [MARGINAL, OWN, OWN]
    np.testing.assert_allclose(np.exp(views.log_omega[0]), 0.9)


def test_a_missing_value_that_its_context_does_not_explain() -> None:
    own, table = np.log([[0.1, 0.9, 0.1, 0.5]]), np.log([[0.05, 0.01, 1e-9, 0.5]])
    said = np.full(own.shape, ANCESTOR, np.uint8)
    views = views_of(own, table, said)
    views = views._replace(block=np.full(own.shape, np.nan))
    views.block[0, 3] = 0.0
    found = pattern_evidence(views, np.array([True]), Odds())
    # −log ω by the context, or the usual evidence by the whole table, whichever is more
    expected = -np.log(0.1), np.log1p(0.1 * 99), np.log1p(0.1 * (1e9 - 1)), np.log1p(0.1)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    # Told is the view that finds it less likely.
    assert views.speaker[0].tolist() == [MARGINAL, MARGINAL, MARGINAL, ANCESTOR]
    np.testing.assert_allclose(views.log_omega[0, 0], np.log(0.05))
    as_any = views_of(own, table, said)._replace(block=views.block)
    found = pattern_evidence(as_any, np.array([True]), Odds(missing=0.0))
    np.testing.assert_allclose(found, np.log1p(0.1 * np.expm1(-np.minimum(own, table))))


def test_groups_are_found_by_the_usual_odds_of_missing_values() -> None:
    rng = np.random.default_rng(0)
    own, table = -rng.exponential(2, (2, 3, 200))
    block = np.where(rng.random(own.shape) < 0.3, np.nan, 0.0)
    views = views_of(own.copy(), table.copy(), np.full(own.shape, OWN, np.uint8))
    views = views._replace(block=block)
    whole = pattern_evidence(views, np.array([True] * 3), Odds())
    speaker, usual = views.speaker, Odds()
    plain = plain_evidence(whole, views.log_omega, speaker, block, usual, usual)
    missing = np.isnan(block)
    np.testing.assert_array_equal(plain[~missing], whole[~missing])
    np.testing.assert_allclose(
        plain[missing], np.log1p(0.1 * np.expm1(-views.log_omega[missing])), rtol=1e-9
    )
    assert (plain < whole)[missing].any()
    recorded = np.zeros_like(block)
    assert plain_evidence(whole, views.log_omega, speaker, recorded, usual, usual) is whole


def test_groups_are_found_by_the_usual_odds_of_values_in_a_wide_table() -> None:
    rng, usual = np.random.default_rng(0), Odds()
    own, has_table = -rng.exponential(2, (4, 300)), np.array([False] * 4)
    block = np.where(rng.random(own.shape) < 0.2, np.nan, 0.0)
    said = np.where(np.arange(4) == 3, RELATION, OWN)[:, None] * np.ones(300)
    views = views_of(own, own, said.astype(np.uint8))._replace(block=block)
    wide = pattern_evidence(views, has_table, usual.among(200))
    silent = rng.random(own.shape) < 0.1  # another view of the cell is stronger
    wide[silent] = 0.0
    plain = plain_evidence(wide, own, views.speaker, block, usual.among(200), usual)
    expected = np.log1p(0.1 * np.expm1(-own))
    spoken, of_relation = ~silent, np.arange(4) == 3
    np.testing.assert_allclose(plain[:3][spoken[:3]], expected[:3][spoken[:3]], rtol=1e-12)
    assert not plain[silent].any()
    there = ~np.isnan(block[of_relation])
    np.testing.assert_array_equal(plain[of_relation][there], wide[of_relation][there])


@pytest.mark.parametrize("evidence", [Odds(0.1), Odds(0.5), NoisyOr(0.9), NoisyOr(1.0)])
def test_the_less_likely_view_is_the_evidence(evidence: Odds | NoisyOr) -> None:
    rng = np.random.default_rng(0)
    own, table = -rng.exponential(2, (2, 3, 500))
    own[rng.random(own.shape) < 0.3] = 0.0
    table[:, :50] = own[:, :50]  # as likely in both: the leaf speaks
    has_table = np.array([True, False, True])
    before = rng.choice([OWN, ANCESTOR], own.shape).astype(np.uint8)
    views = views_of(own, table, before)
    found = pattern_evidence(views, has_table, evidence)
    log_omega, speaker = views.log_omega, views.speaker
    lower = (table < own) & has_table[:, None]
    np.testing.assert_array_equal(log_omega, np.where(lower, table, own))
    np.testing.assert_array_equal(speaker, np.where(lower, MARGINAL, before))
    omega = np.exp(log_omega)
    if isinstance(evidence, Odds):
        expected = np.log(1 + evidence.odds * (1 / omega - 1))
    else:
        expected = -np.log(1 - evidence.gamma_delta * (1 - omega))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@given(log_not_v=st.floats(-700, 0), gamma=st.floats(0.01, 1.0))
def test_noisy_or(log_not_v: float, gamma: float) -> None:
    v = -np.expm1(log_not_v)
    found = noisy_or(np.array([log_not_v]), gamma)[0]
    assert found >= 0
    if gamma * v < 0.999:
        np.testing.assert_allclose(found, -np.log1p(-gamma * v), rtol=1e-9, atol=1e-15)
    if gamma == 1.0:
        assert found == -log_not_v  # never saturates


@pytest.mark.parametrize("n", range(1, 20))
@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_no_evidence_is_never_minus_zero(n: int, gamma: float) -> None:
    # Else the same rows in other blocks would make another file.
    assert not np.signbit(noisy_or(np.zeros(n), gamma)).any()
    assert not np.signbit(noisy_or(-np.zeros(n), gamma)).any()


@given(log_p=st.floats(-700, -1e-9))
def test_the_complement(log_p: float) -> None:
    found = log_complement(np.array([log_p]))[0]
    np.testing.assert_allclose(np.exp(found) + np.exp(log_p), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found, np.log1p(-np.exp(log_p)), rtol=1e-6, atol=1e-300)


def test_the_complement_is_exact_at_both_ends() -> None:
    found = log_complement(np.array([-np.inf, -800.0, -1e-12, -0.0]))
    np.testing.assert_allclose(found[:3], [0.0, 0.0, np.log(1e-12)], rtol=1e-9)
    assert found[3] == -np.inf
