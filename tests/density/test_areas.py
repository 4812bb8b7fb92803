import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admercs.density.likelihoods import frequency_entries, log_areas, quantile_levels
from admercs.method.settings import Density

from .tools import PAPER

levels = st.lists(
    st.tuples(st.integers(-5, 5).map(float), st.integers(0, 4).map(float)), max_size=30
)


def plain_quantile(pairs, rho):
    """Smallest level with more than 1 − ρ of the mass at or below it."""
    total = sum(mass for _, mass in pairs)
    if total == 0:
        return 0.0
    for level in sorted({level for level, mass in pairs if mass > 0}):
        below = sum(mass for other, mass in pairs if other <= level)
        if below > (1 - rho + 1e-9) * total:
            return level
    return max(level for level, mass in pairs if mass > 0)


@settings(max_examples=100)
@given(slots=st.lists(levels, min_size=1, max_size=3), rho=st.sampled_from([0, 0.5, 0.8, 0.9, 1]))
def test_it_is_the_quantile_of_a_plain_loop(slots, rho):
    ptr = np.cumsum([0] + [len(slot) for slot in slots])
    level, mass = np.array([pair for slot in slots for pair in slot]).reshape(-1, 2).T
    found = quantile_levels(ptr, np.ascontiguousarray(level), np.ascontiguousarray(mass), rho)
    assert found.tolist() == [plain_quantile(slot, rho) for slot in slots]


def test_large_random_samples():
    rng = np.random.default_rng(0)
    level = rng.normal(size=10_001)
    found = quantile_levels(np.array([0, 10_001]), level, np.ones(10_001), 0.9)
    assert found[0] == np.quantile(level, 0.1)
    assert np.mean(level >= found[0]) >= 0.9


def test_at_least_rho_of_the_rows_are_fully_typical():
    counts = np.array([[9, 1, 0], [5, 3, 2], [10, 0, 0], [4, 3, 3]])
    found = frequency_entries(counts, PAPER)
    # One row in ten may be untypical, two may not.
    np.testing.assert_allclose(np.exp(found.log_tau), [0.9, 0.2, 1.0, 0.3])
    reached = (counts * (found.log_value >= -1e-12)).sum(axis=1) / counts.sum(axis=1)
    assert np.all(reached >= 0.9)


def presence(n, n_missing, settings):
    """Return the likelihoods of having a value and of having none."""
    counts = np.stack((np.array(n) - n_missing, n_missing), axis=1)
    return np.exp(np.minimum(0.0, frequency_entries(counts, settings).log_value)).T


def test_a_missing_value_is_odd_only_where_it_is_rare():
    present, missing = presence([100, 100, 100, 100, 1], [0, 5, 50, 99, 1], PAPER)
    np.testing.assert_allclose(present, [1, 1, 1, 1 / 99, 1])
    np.testing.assert_allclose(missing, [0.01, 5 / 95, 1, 1, 1])


def test_grouped_values_share_their_rows():
    found = frequency_entries(np.array([[80, 20], [99, 1]]), PAPER, n_grouped=10)
    kappa = np.exp(found.log_value + found.log_tau[:, None])
    np.testing.assert_allclose(kappa, [[0.8, 0.02], [0.99, 0.01]])


@pytest.mark.parametrize("settings", [PAPER, Density()])
def test_no_rows_no_trouble(settings):
    found = frequency_entries(np.zeros((1, 3), np.int64), settings)
    assert all(np.all(entries == 0) for entries in found)


def test_a_missing_value_as_an_area():
    present, missing = presence([100, 100], [0, 40], Density())
    np.testing.assert_allclose(present, [1, 1])
    np.testing.assert_allclose(missing, [0.01, 0.8])


def test_the_area_is_the_mean_over_the_rows():
    level, mass = np.array([0.0, np.log(3)]), np.array([1.0, 3.0])
    top, knots = log_areas(np.array([0, 2]), level, mass)
    assert np.exp(top) == pytest.approx(3)
    np.testing.assert_allclose(np.exp(knots[0, [0, -1]]), [0.5, 1])
    found = frequency_entries(np.array([[75, 25]]), Density())
    np.testing.assert_allclose(np.exp(found.log_value), [[1, 0.5]])
    assert np.exp(found.log_floor[0]) == pytest.approx(0.02)
