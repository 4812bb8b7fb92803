import numpy as np
import pytest

from admercs.density.kernels import DensitySettings
from admercs.density.lookup import read_likelihood
from admercs.method.tail import Tail, TailSettings, learn_tail, lower_far, read_lowered

from ..density.tools import fit_one


def learn(x):
    fitted = fit_one(x, DensitySettings())
    return fitted, learn_tail(fitted, np.zeros(1, np.int64), TailSettings())


def test_a_lone_value_is_less_likely_the_further_from_the_bulk():
    x = np.random.default_rng(0).normal(size=500)
    x[:5] = 6, 9, 20, -20, 1e300
    fitted, tail = learn(x)
    nodes = np.zeros(len(x), np.int32)
    plain = read_likelihood(fitted, 0, nodes, x)
    lowered = read_lowered(tail, fitted, 0, nodes, x)
    assert np.all(lowered <= plain)
    assert np.all(np.diff(lowered[[0, 1, 2, 4]]) < 0)
    assert lowered[3] == pytest.approx(lowered[2], abs=0.5)
    # Never less likely than a value seen once, and nothing changes in the bulk.
    assert lowered.min() >= -np.log(500)
    np.testing.assert_array_equal(lowered[np.abs(x) < 2], plain[np.abs(x) < 2])
    np.testing.assert_array_equal(read_lowered(None, fitted, 0, nodes, x), plain)


def test_missing_values_and_groups_are_not_alone():
    x = np.random.default_rng(0).normal(size=500)
    x[:20], x[20:30] = 50 + np.arange(20) / 100, np.nan
    fitted, tail = learn(x)
    nodes = np.zeros(30, np.int32)
    np.testing.assert_array_equal(
        read_lowered(tail, fitted, 0, nodes, x[:30]), read_likelihood(fitted, 0, nodes, x[:30])
    )


def test_beyond_its_tail_a_value_is_less_likely_than_seen_once():
    none = np.zeros(1)
    pareto = np.array([[[-10.0, 8, 0], [90, 8, 0]]])
    n, floor = np.array([1000]), np.array([-6.9])
    tail = Tail(TailSettings(), none, none, none, none, none, none, none, n, floor, pareto)
    log_omega = np.log([0.001, 0.001, 0.001])
    found = lower_far(tail, 0, np.array([90.0, 150, 455]), log_omega)
    assert found.tolist() == [1, 2]
    np.testing.assert_allclose(log_omega, [-6.9, -8.7, -13.8], atol=0.05)


def test_tails_are_those_of_the_distribution():
    x = np.random.default_rng(0).exponential(2.0, size=50_000)
    fitted, tail = learn(x)
    place, scale, shape = tail.pareto[0, 1]
    assert place == pytest.approx(2 * np.log(100), rel=0.03)
    assert scale == pytest.approx(2, rel=0.15)
    assert shape < 0.1
    mirrored = learn(-x)[1].pareto[0, 0]
    np.testing.assert_allclose(mirrored[:2], [place, scale], rtol=0.03)
    assert not learn(x[:900])[1].pareto.any()  # too few rows
    assert not learn_tail(fitted, np.zeros(1, np.int64), TailSettings(min_rows=1e9)).pareto.any()
