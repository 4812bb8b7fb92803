import numpy as np
import pytest

from admercs.density.likelihoods import N_RANKS, outer_values

from .tools import SHARES, fit_columns, fit_one, log_likelihood, make_forest


def test_nominal_targets(mixed):
    forest, values, leaves, columns = mixed
    fitted = fit_columns(forest, values, leaves, columns)
    slot = fitted.slot[forest.leaves(1)[0]]
    rows = leaves[1] == forest.leaves(1)[0]
    counts = np.bincount(values[1][rows].astype(int), minlength=5)[1:]
    share = counts / counts.sum()
    share[3] /= 4  # four rare values share the last code
    tau = np.exp(fitted.log_tau[slot])
    for code in range(1, 5):
        expected = min(1.0, share[code - 1] / tau)
        assert np.exp(log_likelihood(fitted, 1, slot, code)) == pytest.approx(expected)
    assert np.all(fitted.count[fitted.value_ptr[slot] : fitted.value_ptr[slot + 1]] == counts)


def test_an_unseen_value_counts_as_seen_once(mixed):
    forest, values, leaves, columns = mixed
    fitted = fit_columns(forest, values, leaves, columns)
    slot = fitted.slot[forest.leaves(2)[0]]
    expected = min(0.0, -np.log(fitted.n[slot]) - fitted.log_tau[slot])
    for unseen in (3.0, 4.5, -1e300, 1e300):
        assert log_likelihood(fitted, 2, slot, unseen) == pytest.approx(expected)


def test_a_leaf_where_every_value_is_missing(mixed):
    forest, values, leaves, columns = mixed
    fitted = fit_columns(forest, values, leaves, columns)
    slot = fitted.slot[forest.leaves(2)[2]]
    assert fitted.n[slot] == fitted.n_missing[slot]
    assert log_likelihood(fitted, 2, slot, np.nan) == 0
    assert log_likelihood(fitted, 2, slot, 4.0) == pytest.approx(-np.log(fitted.n[slot]))
    x = np.where(leaves[0] == forest.leaves(0)[2], np.nan, values[0])
    fitted = fit_columns(make_forest(3), [x], leaves[:1])
    slot = fitted.slot[forest.leaves(0)[2]]
    assert log_likelihood(fitted, 0, slot, np.nan) == 0
    assert log_likelihood(fitted, 0, slot, 0.5) == pytest.approx(-np.log(fitted.n[slot]))


def test_a_missing_value_is_as_likely_as_it_is_rare(mixed):
    forest, values, leaves, columns = mixed
    fitted = fit_columns(forest, values, leaves, columns)
    root = fitted.slot[0]
    n_missing = np.isnan(values[0]).sum()
    odds = n_missing / (1500 - n_missing)
    assert np.exp(log_likelihood(fitted, 0, root, np.nan)) == pytest.approx(odds)


def test_outer_values_are_quantiles_and_the_values_at_the_ends():
    x = np.sort(np.random.default_rng(0).gamma(2, size=5000))
    found = outer_values(x, np.full(5000, 7), 7, 0.0, SHARES).reshape(2, -1)
    assert found.shape == (2, len(SHARES) + N_RANKS)
    shares, ranks = np.array(SHARES), 2 ** np.arange(9)  # up to the share of the second, 500 rows
    np.testing.assert_allclose(found[0, :3], np.quantile(x, shares), atol=0.01)
    np.testing.assert_allclose(found[1, :3], np.quantile(x, 1 - shares), atol=0.01)
    np.testing.assert_array_equal(found[0, 3:12], x[ranks - 1])
    np.testing.assert_array_equal(found[1, 3:12], x[-ranks])
    assert np.isnan(found[:, 12:]).all()


def test_values_that_are_counted_in_cells_are_moved_outwards():
    x = np.random.default_rng(0).gamma(2, size=5000)
    found = fit_one(x).outer.reshape(2, -1)
    ends = np.sort(x)[[0, 1, 3, 7]], np.sort(x)[[-1, -2, -4, -8]]
    assert np.all(found[0, 3:7] <= ends[0])
    assert np.all(found[1, 3:7] >= ends[1])
    np.testing.assert_allclose(found[:, 3:7], ends, atol=0.05)


def test_without_rows_or_shares_there_are_no_outer_values():
    assert np.isnan(outer_values(np.empty(0), np.empty(0, np.int64), 1, 0.0, SHARES)).all()
    assert np.isnan(outer_values(np.arange(5.0), np.ones(5, np.int64), 1, 0.0, ())).all()
