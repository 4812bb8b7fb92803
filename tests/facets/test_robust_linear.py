"""Linear relations that a few rows do not change."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.facets.robust_linear import CutValues, fit_linear


def make(n: int = 800, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.normal(size=(4, n))
    return np.array([a, b, c, d, 2 * a - 3 * c + 5 + rng.normal(0, 0.1, n)])


def test_inputs_are_those_of_least_squares_by_steps() -> None:
    inputs, share = CutValues(make(), 1.0).choose_inputs(4, 3, 0.005)
    assert sorted(inputs) == [0, 2]
    values = make()
    fitted = np.linalg.lstsq(
        np.column_stack([values[0], values[2], np.ones(800)]), values[4], rcond=None
    )
    rest = float(fitted[1][0]) / 800 / values[4].var()
    assert share == pytest.approx(1 - rest, rel=1e-6)


def test_a_few_wrong_rows_do_not_change_the_weights() -> None:
    values = make()
    clean = fit_linear(values[[0, 2]], values[4], 0.95)
    values[4, :30] += 1e6
    spoilt = fit_linear(values[[0, 2]], values[4], 0.95)
    np.testing.assert_allclose(clean.weights, [2, -3], atol=0.02)
    np.testing.assert_allclose(spoilt.weights, [2, -3], atol=0.02)
    assert spoilt.constant == pytest.approx(5, abs=0.02)
    assert min(clean.explained, spoilt.explained) > 0.99
    assert spoilt.width < 0.4


def test_noise_has_no_inputs() -> None:
    for seed in range(20):
        values = np.random.default_rng(seed).normal(size=(30, 300))
        assert CutValues(values, 0.95).choose_inputs(0, 3, 0.005)[1] < 0.3
