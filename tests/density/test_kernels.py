import numpy as np
import pytest

from admercs.density.bandwidth import RATIO, kernel_shape

from .tools import HEAVY, PAPER


def kernel_at(u):
    shape = kernel_shape(HEAVY)
    width = (shape.width * float(RATIO) ** np.arange(len(shape.width))[:, None]).ravel()
    parts = zip(shape.height.ravel(), width, strict=True)
    return sum(a * np.exp(-0.5 * (u / w) ** 2) for a, w in parts) / np.sqrt(2 * np.pi)


def test_the_heavy_kernel_is_a_gaussian_with_the_tails_of_a_cauchy_distribution():
    u = np.concatenate(([0.0], np.geomspace(0.1, 500, 200)))
    gaussian = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    cauchy = 1 / (4 * np.pi * (1 + (u / 4) ** 2))
    error = np.abs(kernel_at(u) / (0.8 * gaussian + 0.2 * cauchy) - 1)
    assert error[u < 150].max() < 0.012
    assert error.max() < 0.06


def test_it_falls_all_the_way_and_integrates_to_one():
    u = np.arange(0, 8000, 0.05)
    k = kernel_at(u)
    assert np.all(np.diff(k) < 0)
    assert 2 * np.trapezoid(k, u) == pytest.approx(1, abs=1e-6)


def test_the_gaussian_is_a_single_level():
    shape = kernel_shape(PAPER)
    assert shape.peak == 1
    assert shape.height.tolist() == [[1, 0]]
