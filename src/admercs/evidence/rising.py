"""Quantiles of numbers of which some rise, again and again, while the others stay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class RisingQuantiles:
    """Quantiles of evidence that feedback only adds to, and only for some rows.

    A quantile cannot fall below what it was at first, nor rise above that of the numbers that stay, were all others
    above it. Of the numbers that stay only those in between have to be looked at again.

    Parameters
    ----------
    base : ndarray of float64
        The numbers at first.
    rising : ndarray of int64
        Which of them may rise.

    Examples
    --------
    >>> numbers = np.arange(10.0)
    >>> quantiles = RisingQuantiles(numbers, np.array([2, 3]))
    >>> quantiles.inverted(0.5, numbers), quantiles.inverted(0.5, np.array([0, 1, 9, 9, 4, 5, 6, 7, 8, 9.0]))
    (4.0, 6.0)
    """

    def __init__(self, base: Floats, rising: NDArray[np.int64]) -> None:
        self._rising = rising
        self._base = base
        self._staying: Floats | None = None
        self._between: dict[int, tuple[int, Floats]] = {}

    def inverted(self, level: float, values: Floats) -> float:
        """Return the least of `values` that at least a share of them does not exceed.

        Bit for bit that of ``numpy.quantile`` with ``method="inverted_cdf"``.
        """
        rank = max(0, int(np.ceil(len(values) * level - 1)))
        n_below, between = self._known(rank)
        candidates = np.concatenate([between, values[self._rising]])
        candidates.partition(rank - n_below)
        return float(candidates[rank - n_below])

    def _known(self, rank: int) -> tuple[int, Floats]:
        """Return how many of the numbers that stay are below a rank for good, and those that may have it."""
        if rank not in self._between:
            if self._staying is None:
                self._staying = np.delete(self._base, self._rising)
            staying = self._staying
            least = np.partition(self._base, rank)[rank]
            most = np.partition(staying, rank)[rank] if rank < len(staying) else np.inf
            between = staying[(staying >= least) & (staying <= most)]
            self._between[rank] = int((staying < least).sum()), between
        return self._between[rank]
