"""Where the line between normal and anomalous is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.method.settings import Flagging
from admercs.method.threshold import automatic_threshold, suspicious_from


def threshold(evidence: np.ndarray, flagging: Flagging | None = None) -> float:
    return automatic_threshold(
        lambda levels: np.quantile(evidence, levels), flagging or Flagging(), len(evidence)
    )


def test_it_is_the_formula() -> None:
    evidence = np.random.default_rng(0).exponential(size=2000)
    middle, high = np.quantile(evidence, [0.5, 0.75])
    expected = high + (high - middle) / np.log(2) * np.log(0.25 / 0.002)
    assert threshold(evidence) == pytest.approx(expected, rel=1e-9)


def test_heavier_tails_flag_one_per_cent_and_more_rows_are_suspicious() -> None:
    evidence = np.random.default_rng(0).lognormal(sigma=2, size=20_000)
    assert (evidence > threshold(evidence)).mean() == pytest.approx(0.01, abs=1e-3)
    line = suspicious_from(lambda levels: np.quantile(evidence, levels), Flagging())
    assert line < threshold(evidence)
    assert (evidence > line).mean() > 0.02


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_rows_that_stand_out_are_flagged_however_many(share: float, sigma: float) -> None:
    rng = np.random.default_rng(0)
    ordinary = rng.lognormal(sigma=sigma, size=2000)
    odd = ordinary.max() * rng.uniform(1.5, 3, round(share / (1 - share) * 2000))
    line = threshold(np.concatenate([ordinary, odd]))
    assert (odd > line).mean() > 0.5
    hits, false = np.count_nonzero(odd > line), np.count_nonzero(ordinary > line)
    assert hits / (hits + false) > 0.8


@pytest.mark.parametrize("seed", range(5))
def test_it_keeps_its_promise_for_exponential_evidence(seed: int) -> None:
    evidence = np.random.default_rng(seed).exponential(size=200_000)
    assert 0.001 < (evidence > threshold(evidence)).mean() < 0.004


def test_obvious_anomalies_are_flagged_though_they_are_more_than_one_per_cent() -> None:
    evidence = np.random.default_rng(0).exponential(size=10_000)
    spoiled = threshold(np.concatenate([evidence, np.full(300, 1e6)]))
    assert spoiled < 1e6
    assert (evidence > spoiled).mean() < 0.002


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
def test_a_heavy_tail_alone_flags_one_per_cent_at_most(sigma: float) -> None:
    evidence = np.random.default_rng(0).lognormal(sigma=sigma, size=20_000)
    assert (evidence > threshold(evidence)).mean() <= 0.01


@pytest.mark.parametrize("n", [100, 150, 199, 200, 312, 999])
def test_one_per_cent_is_no_row_more(n: int) -> None:
    evidence = np.random.default_rng(0).lognormal(sigma=1.5, size=n)
    line = suspicious_from(lambda levels: np.quantile(evidence, levels), Flagging())
    assert np.count_nonzero(evidence > line) > n // 100
    assert np.count_nonzero(evidence > threshold(evidence)) == n // 100


def test_without_any_evidence_nothing_is_flagged() -> None:
    assert threshold(np.zeros(100)) == 0.0
    assert not np.any(np.zeros(100) > threshold(np.zeros(100)))
    mostly_none = np.append(np.zeros(99), 5.0)
    assert threshold(mostly_none) < 5.0


def test_evidence_that_is_almost_nothing() -> None:
    evidence = np.concatenate([np.full(60, 1e-300), np.ones(40)])
    assert np.isfinite(threshold(evidence))
