import numpy as np
import pytest

from admercs.density.counts import count_values
from admercs.density.grids import lay_grids
from admercs.density.tables import max_points, tabulate

from .tools import (
    PAPER,
    SHAPES,
    density_curve,
    direct_log_density,
    fit_one,
    make_forest,
    plan_one,
)


def points_within(x, rng, n=600):
    """Places all over the data's range, and places where there are values."""
    return np.concatenate((rng.uniform(x.min(), x.max(), n), rng.choice(x, n)))


@pytest.mark.parametrize("outlier", [False, True])
@pytest.mark.parametrize("n", [60, 200, 1000, 10_000, 100_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_table_is_the_direct_sum_of_kernels(shape, n, outlier):
    rng = np.random.default_rng(n)
    x = SHAPES[shape](rng, n)
    points = points_within(x, rng)
    if outlier:
        x[0] = x[1] + 1e6 * np.ptp(x)
    fitted = fit_one(x)
    expected = direct_log_density(x, fitted.bandwidth[0], points)
    np.testing.assert_allclose(np.log(density_curve(fitted, 0, points)), expected, atol=1e-3)
    if outlier:
        at_outlier = np.log(density_curve(fitted, 0, x[:1]))
        np.testing.assert_allclose(
            at_outlier, direct_log_density(x, fitted.bandwidth[0], x[:1]), atol=1e-3
        )


def test_ties_and_gaps_stay_close_to_the_direct_sum():
    rng = np.random.default_rng(1)
    x = np.repeat(rng.choice(500, size=60, replace=False), rng.integers(1, 40, size=60)).astype(
        float
    )
    fitted = fit_one(x)
    points = points_within(x, rng)
    expected = direct_log_density(x, fitted.bandwidth[0], points)
    np.testing.assert_allclose(np.log(density_curve(fitted, 0, points)), expected, atol=5e-3)


def tabulate_one(x, h, cells=4096):
    plan = plan_one(make_forest(1))
    grids = lay_grids(np.zeros(1), np.array([h * cells / 16]), np.array([10**6]))
    counts = count_values(x, np.zeros(len(x), np.int32), plan, grids)
    n, nowhere = np.array([float(len(x))]), (-np.inf, np.inf)
    return tabulate(counts, grids, n, np.array([h]), PAPER, nowhere)


def test_isolated_rows_need_no_table():
    tables = tabulate_one(np.array([0.0, 100.0, 205.5, 1e9, -1e300]), h=1.0)
    assert len(tables.table) == 0
    assert tables.level.tolist() == [0.0] * len(tables.level)
    assert tables.mass.sum() == 5


def test_a_table_longer_than_allowed_drops_its_least_dense_parts():
    rng = np.random.default_rng(0)
    x = np.concatenate((rng.normal(0, 20, 2000), np.repeat(rng.uniform(1e3, 1e5, 400), 2)))
    tables = tabulate_one(x, h=1.0)
    assert len(tables.table) <= 2048
    # Nearly all of the pairs far out are gone, the bulk is kept.
    assert np.sum(tables.segments["segment_start"] > 500) < 10
    assert tables.table.max() == pytest.approx(np.log(2000 / 20), abs=0.3)


def test_more_rows_may_have_longer_tables():
    assert max_points(np.array([10, 100, 1e5, 1e9])).tolist() == [640, 2048, 10000, 16384]
