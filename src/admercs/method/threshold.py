"""Where the line between normal and anomalous is drawn."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from admercs.method.settings import Flagging

Quantiles = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def automatic_threshold(quantiles: Quantiles, flagging: Flagging) -> float:
    """Return the evidence from which a row is flagged, given the quantiles of evidence.

    The larger of two: the evidence that an ordinary row exceeds with a chance of 1 in 500 if
    evidence has an exponential tail; and the evidence that 1% of the rows exceed, or, if that is
    less, the one that an ordinary row exceeds with a chance of 3 in 10,000 if evidence has a
    log-normal tail.

    Examples
    --------
    >>> import numpy as np
    >>> evidence = -np.log1p(-np.linspace(0, 1, 100_000, endpoint=False))
    >>> round(automatic_threshold(lambda levels: np.quantile(evidence, levels), Flagging()), 2)
    6.21
    """
    levels = np.array([flagging.middle, flagging.high, 1 - flagging.share])
    middle, high, top = quantiles(levels).tolist()
    beyond_middle, beyond_high = 1 - flagging.middle, 1 - flagging.high
    scale = (high - middle) / log(beyond_middle / beyond_high)
    exponential = high + scale * log(beyond_high / flagging.chance)
    log_normal = float("inf")
    if middle > 0:
        spread = log(high / middle) / float(ndtri(flagging.high) - ndtri(flagging.middle))
        beyond = float(ndtri(1 - flagging.heavy_chance) - ndtri(flagging.high))
        log_normal = high * exp(spread * beyond)
    return float(max(exponential, min(top, log_normal)))
