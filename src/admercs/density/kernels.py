"""Settings of the densities, and the kernel as a sum of Gaussians.

With heavy tails the kernel is (1 − s) N(h) + s C, where C stands for a Cauchy kernel of scale w h.
A Cauchy variable is a normal one divided by the absolute value g of another, so C is written as a
sum of Gaussians of the widths w h / g = 2h, 4h, 8h, … 1024h, each weighted by the density of that
g. Up to 1000h this is within one percent of Cauchy for the default width; further out it ends
sooner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from admercs.arrays import Floats
from admercs.method.settings import Density

RATIO = 4  # widths grow by this factor from one level of a shape to the next
_N_TAILS = 5  # levels of wide Gaussians, two widths each


class Shape(NamedTuple):
    """A sum of Gaussians in levels; level j holds the widths ``RATIO ** j * width[j] * h``."""

    width: Floats  # levels x 2
    height: Floats  # levels x 2: of each Gaussian at 0, relative to that of N(h)

    @property
    def peak(self) -> float:
        """Height of the whole kernel at 0, relative to that of N(h)."""
        return float(self.height.sum())


def kernel_shape(settings: Density) -> Shape:
    """Return the Gaussians that the kernel is the sum of."""
    if settings.heavy_share == 0:
        return Shape(np.ones((1, 2)), np.array([[1.0, 0.0]]))
    g = settings.heavy_width / (
        np.array([0.5, 1.0]) * float(RATIO) ** np.arange(1, _N_TAILS + 1)[:, None]
    )
    weight = g * np.exp(-0.5 * g * g)  # density of log g, up to a factor
    first = np.array([[1 - settings.heavy_share, 0.0]])
    weight = np.concatenate((first, settings.heavy_share * weight / weight.sum()))
    width = np.array([[1.0, 1.0]] + [[0.5, 1.0]] * _N_TAILS)
    return Shape(width, weight / (width * RATIO ** np.arange(len(width))[:, None]))
