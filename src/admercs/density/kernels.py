"""The shapes a density is made of: the paper's Gaussian, and one with heavy tails.

The heavy kernel is 0.8 N(h) + 0.2 C, where C stands for a Cauchy kernel of scale 4h. A Cauchy
variable is a normal one divided by the absolute value g of another, so C is written as a sum of
Gaussians of the widths 4h / g = 2h, 4h, 8h, … 1024h, each weighed by how likely such a g is. Up to
1000h this is within one percent of Cauchy; further out it ends sooner.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from admercs.density.arrays import Floats

Kernel = Literal["gaussian", "heavy"]

RATIO = 4
"""Widths grow by this factor from one level of a shape to the next."""

_HEAVY_SHARE = 0.2
_HEAVY_SCALE = 4.0
_N_TAILS = 5  # levels of wide Gaussians, two widths each


class Shape(NamedTuple):
    """A sum of Gaussians in levels; level j holds the widths ``RATIO ** j * width[j] * h``."""

    weight: Floats  # levels x 2, sums to 1
    width: Floats  # levels x 2

    @property
    def height(self) -> Floats:
        """Height of each Gaussian at 0, relative to that of N(h)."""
        return self.weight / (self.width * RATIO ** np.arange(len(self.width))[:, None])

    @property
    def peak(self) -> float:
        """Height of the whole kernel at 0, relative to that of N(h)."""
        return float(self.height.sum())


def shape_of(kernel: Kernel) -> Shape:
    """Return the Gaussians a kernel is the sum of.

    Examples
    --------
    >>> shape_of("gaussian").weight
    array([[1., 0.]])
    >>> heavy = shape_of("heavy")
    >>> heavy.weight.shape, round(float(heavy.weight.sum()), 6), round(heavy.peak, 3)
    ((6, 2), 1.0, 0.84)
    """
    if kernel == "gaussian":
        return Shape(np.array([[1.0, 0.0]]), np.ones((1, 2)))
    tails = np.array([0.5, 1.0]) * float(RATIO) ** np.arange(1, _N_TAILS + 1)[:, None]
    g = _HEAVY_SCALE / tails
    weight = g * np.exp(-0.5 * g * g)  # density of log g, up to a factor
    first = np.array([[1 - _HEAVY_SHARE, 0.0]])
    width = np.array([[1.0, 1.0]] + [[0.5, 1.0]] * _N_TAILS)
    return Shape(np.concatenate((first, _HEAVY_SHARE * weight / weight.sum())), width)
