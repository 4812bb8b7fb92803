"""Where the line between normal and anomalous is drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import exp, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

# The tails of ordinary rows are drawn through these levels: a few per cent of anomalies leave them alone.
MIDDLE, HIGH = 0.5, 0.9
# An ordinary row is flagged with this chance, if evidence has an exponential tail …
CHANCE = 0.001
# … unless more than this share of the table would be: then its tail is heavier than that, and only rows
# that stand out even from a log-normal tail, with this chance, may exceed the share.
SHARE = 0.01
HEAVY_CHANCE = 0.0003


def automatic_threshold(evidence: NDArray[np.float64]) -> float:
    """Return the evidence from which a row is flagged.

    The larger of two: the evidence that an ordinary row exceeds with a chance of 1 in 1,000 if evidence has an
    exponential tail; and the evidence that 1% of the rows exceed, or, if that is less, the one that an ordinary
    row exceeds with a chance of 3 in 10,000 if evidence has a log-normal tail.

    Examples
    --------
    >>> import numpy as np
    >>> round(automatic_threshold(-np.log1p(-np.linspace(0, 1, 100_000, endpoint=False))), 2)
    6.91
    """
    return threshold_from(partial(np.quantile, evidence))


def threshold_from(quantiles: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
    """Return the automatic threshold of evidence that only its quantiles are known of."""
    middle, high, top = (float(q) for q in quantiles(np.array([MIDDLE, HIGH, 1 - SHARE])))
    return max(exponential_tail(middle, high), min(top, log_normal_tail(middle, high)))


def exponential_tail(middle: float, high: float) -> float:
    """Extend an exponential tail through two quantiles to `CHANCE`."""
    scale = (high - middle) / log((1 - MIDDLE) / (1 - HIGH))
    return high + scale * log((1 - HIGH) / CHANCE)


def log_normal_tail(middle: float, high: float) -> float:
    """Extend a log-normal tail through two quantiles to `HEAVY_CHANCE`."""
    if middle <= 0:
        return float("inf")
    scale = log(high / middle) / float(ndtri(HIGH) - ndtri(MIDDLE))
    return high * exp(scale * float(ndtri(1 - HEAVY_CHANCE) - ndtri(HIGH)))
