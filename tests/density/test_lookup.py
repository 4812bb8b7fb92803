from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from admercs.density.likelihoods import CONTINUOUS
from admercs.density.lookup import read_likelihood, typical_region, typical_values
from admercs.table.columns import Column

from .tools import PAPER, density_curve, fit_columns, fit_one, log_likelihood, make_forest


def test_the_region_of_a_normal_sample_is_its_middle():
    x = np.random.default_rng(0).normal(10, 2, size=50_000)
    ((low, high),) = typical_region(fit_one(x), 0)
    assert (low - 10) / 2 == pytest.approx(norm.ppf(0.05), abs=0.05)
    assert (high - 10) / 2 == pytest.approx(norm.ppf(0.95), abs=0.05)


# Regions end a hundredth below τ. Areas keep the way back to the density at 33 heights only.
@pytest.mark.parametrize(("area", "rtol"), [(False, 1e-6), (True, 0.03)])
def test_the_region_holds_a_fraction_rho_and_ends_at_tau(area, rtol):
    rng = np.random.default_rng(1)
    x = np.concatenate((rng.normal(0, 1, 3000), rng.normal(20, 1, 3000)))
    fitted = fit_one(x, replace(PAPER, area=area, rho=0.8))
    regions = typical_region(fitted, 0)
    assert len(regions) == 2
    inside = sum(np.mean((low <= x) & (x <= high)) for low, high in regions)
    assert inside == pytest.approx(0.8, abs=0.005)
    ends = np.array(regions).ravel()
    np.testing.assert_allclose(
        density_curve(fitted, 0, ends), np.exp(fitted.log_tau[0] - 0.01), rtol=rtol
    )


@pytest.mark.parametrize("area", [False, True])
def test_a_value_that_many_rows_share_belongs_to_the_region_or_not_as_a_whole(area):
    # Of 23 rows, 21 have to be typical: the ten at 1502 are needed.
    x = np.repeat([1502.0, 1517.0, 1999.0], [10, 12, 1])
    regions = typical_region(fit_one(x, replace(PAPER, area=area)), 0)
    assert [any(low <= v <= high for low, high in regions) for v in (1502, 1517, 1999)] == [
        True, True, False,
    ]  # fmt: skip


def test_a_region_of_one_value_holds_it():
    x = np.concatenate((np.zeros(950), np.linspace(1400, 2500, 50)))
    ((low, high),) = typical_region(fit_one(x, replace(PAPER, area=True)), 0)
    assert low <= 0 <= high
    assert max(-low, high) < 20


def test_a_single_row_makes_everything_typical():
    assert typical_region(fit_one(np.array([3.0])), 0) == [(-np.inf, np.inf)]


def test_the_density_curve_integrates_to_one():
    fitted = fit_one(np.random.default_rng(0).normal(size=5000))
    points = np.linspace(-5, 5, 2000)
    curve = density_curve(fitted, 0, points)
    floor = curve.min()
    assert np.log(floor) == pytest.approx(fitted.log_floor[0] + fitted.log_tau[0])
    area = np.trapezoid(np.where(curve > floor, curve, 0.0), points)
    assert area == pytest.approx(1, abs=0.002)


def test_typical_values_come_by_frequency():
    column = Column("colour", 0, "nominal", "text", categories=("a", "b", "c", "d"))
    codes = np.repeat([1.0, 2.0, 3.0, 4.0], [20, 65, 13, 2])
    fitted = fit_columns(make_forest(1), [codes], np.zeros((1, 100), np.int32), [column])
    assert typical_values(fitted, 0) == [(1, 0.65), (0, 0.2), (2, 0.13)]
    assert fitted.kind[0] != CONTINUOUS
    assert fit_one(np.arange(50.0)).kind[0] == CONTINUOUS


def test_blocks_and_single_values_are_read_alike(mixed):
    forest, values, leaves, columns = mixed
    fitted = fit_columns(forest, values, leaves, columns, scorers={3: 2})
    for m in range(3):
        nodes = np.where(leaves[m] == 3, 2, leaves[m])
        block = read_likelihood(fitted, m, nodes, values[m])
        single = [
            log_likelihood(fitted, m, fitted.slot[node], x)
            for node, x in zip(nodes[:50], values[m][:50], strict=True)
        ]
        np.testing.assert_array_equal(block[:50], single)
        assert np.all(block <= 0)
