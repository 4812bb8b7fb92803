"""Where the line between normal and anomalous is drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log

import numpy as np
from numpy.typing import NDArray

# Levels of the evidence that the tail is fitted to, and the chance at which a row is flagged.
MIDDLE, HIGH = 0.5, 0.9
CHANCE = 0.001


def automatic_threshold(evidence: NDArray[np.float64]) -> float:
    """Return the evidence that an ordinary row exceeds with a chance of 1 in 1,000.

    Ordinary rows are described by an exponential tail through the median and the 90% quantile of the evidence;
    both are untouched by a few per cent of anomalies. The tail is extended to the chance of 0.1%.

    Examples
    --------
    >>> import numpy as np
    >>> round(automatic_threshold(-np.log1p(-np.linspace(0, 1, 100_000, endpoint=False))), 2)
    6.91
    """
    return threshold_from(partial(np.quantile, evidence))


def threshold_from(quantiles: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
    """Return the automatic threshold of evidence that only its quantiles are known of."""
    middle, high = quantiles(np.array([MIDDLE, HIGH]))
    scale = (high - middle) / log((1 - MIDDLE) / (1 - HIGH))
    return float(high + scale * log((1 - HIGH) / CHANCE))
