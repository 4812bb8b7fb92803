import inspect

import numpy as np
import pytest
from arviz_stats.base.density import _DensityBase
from hypothesis import given, settings
from hypothesis import strategies as st

from .tools import SHAPES, bandwidth, count_one, plain_isj


@pytest.mark.parametrize(("n", "expected"), [(1000, 0.27), (10_000, 0.17)])
def test_normal_data_get_the_known_bandwidth(n, expected):
    samples = [np.random.default_rng(seed).normal(size=n) for seed in range(10)]
    ratio = np.mean([bandwidth(x) / x.std() for x in samples])
    assert ratio == pytest.approx(1.06 * n**-0.2, rel=0.08)
    assert ratio == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("n", [200, 1000, 10_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_selector_of_the_paper(shape, n):
    x = SHAPES[shape](np.random.default_rng(n), n)
    _, grids, _ = count_one(x)
    low = grids.left[0]
    high = low + grids.width[0] * grids.size[0]
    expected = max(plain_isj(x, low, high), 16 * grids.width[0])
    # The plain version has finer bins, which shows where the bandwidth is only two bins wide.
    assert bandwidth(x) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("shape", ["normal", "bimodal", "uniform"])
def test_it_agrees_with_arviz(shape):
    x = SHAPES[shape](np.random.default_rng(5), 2000)
    low, high = x.min() - np.ptp(x) / 10, x.max() + np.ptp(x) / 10
    histogram, _ = np.histogram(x, bins=1024, range=(low, high))
    names = inspect.signature(_DensityBase.bw_isj).parameters
    width = {name: high - low for name in names if name.endswith("range")}  # of several versions
    expected = _DensityBase().bw_isj(x, grid_counts=histogram, **width)
    assert bandwidth(x) == pytest.approx(expected, rel=0.03)


@settings(max_examples=20, derandomize=True)
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    n=st.sampled_from([5, 30, 300, 2000]),
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-1e3, 1e3),
    power=st.integers(-200, 200),
)
def test_it_scales_and_shifts_with_the_data(shape, n, scale, shift, power):
    x = SHAPES[shape](np.random.default_rng(n), n)
    h = bandwidth(x)
    assert bandwidth(x * 2.0**power) == h * 2.0**power
    # Moving the data rounds them; beyond that nothing may change.
    assert bandwidth(x * scale + shift * scale) == pytest.approx(h * scale, rel=1e-9)
    # Mirrored bins close on the other side, so the grid is not quite the mirrored one.
    assert bandwidth(-x) == pytest.approx(h, rel=0.05)


@pytest.mark.parametrize("n", [10, 40, 500])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_extreme_value_has_no_say(shape, n):
    x = SHAPES[shape](np.random.default_rng(n), n)
    far = x.max() + 20 * np.ptp(x)
    with_outlier = bandwidth(np.append(x, far))
    assert bandwidth(np.append(x, far * 1e6)) == with_outlier
    if n == 500:
        assert with_outlier == pytest.approx(bandwidth(x), rel=0.05)


def test_few_values_get_the_reference_rule():
    x = np.random.default_rng(0).normal(size=30)
    iqr = np.subtract(*np.quantile(x, [0.75, 0.25]))
    assert bandwidth(x) == pytest.approx(0.9 * min(x.std(), iqr / 1.34) * 30**-0.2, rel=0.05)


def test_half_a_gap_at_least_on_whole_numbers():
    rng = np.random.default_rng(0)
    assert bandwidth(np.rint(rng.normal(100, 8, 100_000))) == pytest.approx(0.5, rel=0.01)
    smooth = np.rint(rng.normal(0, 30, 2000))
    assert bandwidth(smooth) == pytest.approx(1.06 * 30 * 2000**-0.2, rel=0.15)


@pytest.mark.parametrize(
    "x",
    [
        np.full(100, 3.0),
        np.append(np.full(100, 3.0), 7.0),
        np.repeat([0.0, 1.0], 50),
        np.array([5.0]),
        np.array([5.0, 6.0]),
        np.where(np.arange(2000) % 10 > 0, 0.0, np.random.default_rng(0).normal(5, 1, 2000)),
        np.random.default_rng(0).normal(size=100) * 1e300,
        np.random.default_rng(0).normal(size=100) * 1e-300,
        np.array([-1.7e308, 0.0, 1.7e308] * 5),
    ],
)
def test_degenerate_samples_get_some_bandwidth(x):
    h = bandwidth(x)
    assert np.isfinite(h)
    assert h > 0


def test_golden_values():
    x = np.random.default_rng(42).normal(size=1000)
    assert bandwidth(x) == pytest.approx(GOLDEN, rel=1e-9)


GOLDEN = 0.23435592995427595
