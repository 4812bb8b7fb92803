"""Densities of the heavy kernel, reflected at the column's ends."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admercs.density.bandwidth import measure, select_bandwidths
from admercs.density.likelihoods import assemble, of_tables
from admercs.density.lookup import read_likelihood, typical_region
from admercs.density.tables import tabulate

from .tools import (
    HEAVY,
    SHAPES,
    count_one,
    density_curve,
    fit_columns,
    fit_one,
    heavy_log_density,
    make_forest,
)


def fit_heavy(x, rho=0.9, limits=None):
    """Fit a single distribution with mirrors at its own ends, or at the limits given."""
    plan, grids, counts = count_one(x)
    spread = measure(counts, grids)
    bandwidth = select_bandwidths(counts, grids, spread, grids.central[0], 40)
    limits = limits or (float(x.min()), float(x.max()))
    tables = tabulate(counts, grids, spread.n, bandwidth, HEAVY, limits)
    settings = replace(HEAVY, rho=rho)
    target = of_tables(np.array([[0, len(x)]]), bandwidth, tables, np.zeros(6), settings)
    return assemble([target], [plan.nodes], 1)


def places(x, h, rng, n):
    """Places within the data's range, at values, and further and further beyond both ends."""
    beyond = h * np.geomspace(0.01, 1000, n // 4)
    inside = rng.uniform(x.min(), x.max(), n)
    ends = [x.min(), x.max()]
    return np.concatenate((inside, rng.choice(x, n), ends, x.min() - beyond, x.max() + beyond))


@pytest.mark.parametrize("n", [3, 60, 1000, 10_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_table_is_the_direct_sum_of_kernels(shape, n):
    rng = np.random.default_rng(n)
    x = SHAPES[shape](rng, n)
    fitted = fit_heavy(x)
    points = places(x, fitted.bandwidth[0], rng, 60)
    expected = heavy_log_density(x, fitted.bandwidth[0], points, (x.min(), x.max()))
    # A long table of 10,000 rows leaves out details up to a few thousandths.
    tolerance = 1e-3 if len(fitted.table) < 1500 else 4e-3
    np.testing.assert_allclose(np.log(density_curve(fitted, 0, points)), expected, atol=tolerance)


@settings(max_examples=25, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_clusters_ties_and_extremes_leave_no_holes(seed):
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(rng.integers(1, 5)):
        n, centre, scale = rng.integers(1, 300), rng.normal(scale=100), 10 ** rng.uniform(-3, 2)
        kinds = (rng.normal(size=n), rng.standard_cauchy(n), rng.integers(0, 9, n).astype(float))
        parts.append(centre + scale * kinds[rng.integers(3)])
    x = np.concatenate(parts)
    fitted = fit_heavy(x)
    h = fitted.bandwidth[0]
    spread = rng.choice(x, 60) + h * rng.normal(size=60) * 10 ** rng.uniform(0, 3, 60)
    points = np.concatenate((places(x, h, rng, 40), spread))
    expected = heavy_log_density(x, h, points, (x.min(), x.max()))
    np.testing.assert_allclose(np.log(density_curve(fitted, 0, points)), expected, atol=0.02)


def test_leaves_are_reflected_at_the_ends_of_the_column():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 2000)
    x = np.where(group == 0, rng.uniform(0, 1, 2000), rng.uniform(3, 4, 2000))
    forest = make_forest(2)
    leaves = forest.leaves(0)[group].astype(np.int32)
    fitted = fit_columns(forest, [x], leaves[None], settings=HEAVY)
    for leaf in (0, 1):
        slot = fitted.slot[forest.leaves(0)[leaf]]
        points = np.linspace(-1, 5, 101)
        expected = heavy_log_density(
            x[group == leaf], fitted.bandwidth[slot], points, (x.min(), x.max())
        )
        found = np.log(density_curve(fitted, slot, points))
        np.testing.assert_allclose(found, expected, atol=1e-3)
        # Flat up to the column's end, sloping off at the end that is the leaf's alone.
        ends = np.array((0.02, 0.98) if leaf == 0 else (3.98, 3.02))
        outer, inner = np.log(density_curve(fitted, slot, ends))
        assert outer > inner + 0.3


@pytest.mark.parametrize("shape", SHAPES)
def test_beyond_the_ends_the_density_falls_without_a_jump(shape):
    x = SHAPES[shape](np.random.default_rng(3), 2000)
    fitted = fit_heavy(x)
    h = fitted.bandwidth[0]
    out = h * np.concatenate((np.arange(0, 20, 0.01), np.geomspace(20, 3000, 500)))
    for curve in (density_curve(fitted, 0, x.min() - out), density_curve(fitted, 0, x.max() + out)):
        assert np.abs(np.diff(np.log(curve[:2000]))).max() < 0.06
        assert np.all(np.diff(np.log(curve)) < 1e-4)
        assert curve[-1] == pytest.approx(np.exp(fitted.log_floor[0] + fitted.log_tau[0]))


def test_an_extreme_value_changes_nothing_for_the_others():
    x = np.random.default_rng(0).normal(size=2000)
    found = []
    for extreme in (1e5, 1e9, 1e300):
        x[0] = extreme
        found.append(density_curve(fit_heavy(x), 0, x[1:]))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    # A mirror far out is none, and one row of 2000 is not missed.
    without = density_curve(fit_heavy(x[1:], limits=(x.min(), 1e5)), 0, x[1:])
    np.testing.assert_allclose(np.log(found[0]), np.log(without), atol=0.03)


def test_far_is_odder_than_near():
    x = np.random.default_rng(0).normal(size=2000)
    x[:4] = 6, 8, 12, 20
    heavy = np.log(density_curve(fit_heavy(x), 0, x[:3]))
    assert np.all(np.diff(heavy) < -0.1)
    gaussian = np.log(density_curve(fit_one(x), 0, x[:3]))
    np.testing.assert_allclose(gaussian, gaussian[0], atol=1e-3)


@pytest.mark.parametrize(
    "x",
    [
        np.array([3.0]),
        np.array([np.nan, np.nan]),
        np.full(50, 7.0),
        np.array([0.0, 1e300, -1e300]),
        np.concatenate((np.arange(100.0), [1.7e308, -1.7e308])),
        np.concatenate((np.arange(100) * 5e-324, [1.0])),
    ],
    ids=["one", "none", "constant", "huge", "largest", "smallest"],
)
def test_odd_columns_are_survived(x):
    fitted = fit_one(x, HEAVY)
    log_omega = read_likelihood(fitted, 0, np.zeros(len(x), np.int32), x)
    assert np.all(np.isfinite(log_omega))
    assert np.all(log_omega <= 0)
    for low, high in typical_region(fitted, 0):
        assert low <= high


def test_tables_stay_small():
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        fitted = fit_heavy(SHAPES[shape](rng, 20_000))
        assert len(fitted.table) <= 2048
        assert len(fitted.step) <= 150


def test_the_typical_region_is_where_most_rows_are():
    rng = np.random.default_rng(1)
    x = np.concatenate((rng.uniform(0, 1, 3000), rng.normal(20, 1, 3000)))
    regions = typical_region(fit_heavy(x, rho=0.8), 0)
    inside = sum(np.mean((low <= x) & (x <= high)) for low, high in regions)
    assert inside == pytest.approx(0.8, abs=0.005)
