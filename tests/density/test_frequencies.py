import numpy as np
import pytest

from admercs.density.frequencies import log_presence, log_threshold, value_frequencies


def test_at_least_rho_of_the_rows_are_fully_typical():
    counts = np.array([[9, 1, 0], [5, 3, 2], [10, 0, 0], [4, 3, 3]])
    kappa = value_frequencies(counts)
    tau = np.exp(log_threshold(kappa, counts, 0.9))
    # One row in ten may be untypical, two may not.
    np.testing.assert_allclose(tau, [0.9, 0.2, 1.0, 0.3])
    reached = (counts * (kappa >= tau[:, None] * (1 - 1e-12))).sum(axis=1) / counts.sum(axis=1)
    assert np.all(reached >= 0.9)


def test_a_missing_value_is_odd_only_where_it_is_rare():
    n = np.array([100, 100, 100, 100, 1])
    n_missing = np.array([0, 5, 50, 99, 1])
    present, missing = log_presence(n, n_missing, 0.9)
    np.testing.assert_allclose(np.exp(present), [1, 1, 1, 1 / 99, 1])
    np.testing.assert_allclose(np.exp(missing), [0.01, 5 / 95, 1, 1, 1])


def test_grouped_values_share_their_rows():
    kappa = value_frequencies(np.array([[80, 20], [99, 1]]), n_grouped=10)
    np.testing.assert_allclose(kappa, [[0.8, 0.02], [0.99, 0.01]])


def test_no_rows_no_trouble():
    assert np.all(value_frequencies(np.zeros((1, 3), np.int64)) == 1)
    present, missing = log_presence(np.array([0]), np.array([0]), 0.9)
    assert present[0] == pytest.approx(0)
    assert missing[0] == pytest.approx(0)
