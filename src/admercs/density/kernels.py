"""Settings of the densities, and the kernel as a sum of Gaussians.

With heavy tails the kernel is (1 − s) N(h) + s C, where C stands for a Cauchy kernel of scale w h.
A Cauchy variable is a normal one divided by the absolute value g of another, so C is written as a
sum of Gaussians of the widths w h / g = 2h, 4h, 8h, … 1024h, each weighted by the density of that g.
Up to 1000h this is within one percent of Cauchy for the default width; further out it ends sooner.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from admercs.density.arrays import Floats

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


@dataclass(frozen=True)
class Kernel:
    """What continuous densities are made of.

    Attributes
    ----------
    heavy_share : float
        Share of the heavy-tailed part. 0 is the Gaussian kernel without reflection; any other
        kernel is reflected at the column's smallest and largest value.
    heavy_width : float
        Scale of the heavy-tailed part, in bandwidths.
    """

    heavy_share: float = 0.2
    heavy_width: float = 4.0

    def shape(self) -> Shape:
        """Return the Gaussians the kernel is the sum of."""
        if self.heavy_share == 0:
            return Shape(np.ones((1, 2)), np.array([[1.0, 0.0]]))
        g = self.heavy_width / (
            np.array([0.5, 1.0]) * float(RATIO) ** np.arange(1, _N_TAILS + 1)[:, None]
        )
        weight = g * np.exp(-0.5 * g * g)  # density of log g, up to a factor
        first = np.array([[1 - self.heavy_share, 0.0]])
        weight = np.concatenate((first, self.heavy_share * weight / weight.sum()))
        width = np.array([[1.0, 1.0]] + [[0.5, 1.0]] * _N_TAILS)
        return Shape(width, weight / (width * RATIO ** np.arange(len(width))[:, None]))


@dataclass(frozen=True)
class DensitySettings:
    """How likelihoods are estimated.

    Attributes
    ----------
    kernel : Kernel
        The kernel of continuous densities.
    area : bool
        True: ω is the area below the height κ of the density, see `areas`. False: ω is
        min(1, κ / τ(ρ)), the form of the paper.
    rho : float
        The fraction of a node's rows that count as typical there.
    min_distinct : int
        With fewer different values the bandwidth follows the normal reference rule, because ISJ
        fails too often; some 50 values fill 40 different cells.
    """

    kernel: Kernel = field(default_factory=Kernel)
    area: bool = True
    rho: float = 0.9
    min_distinct: int = 40
