"""Where the line between normal and anomalous is drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import exp, log
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtri

from admercs.arrays import Floats
from admercs.method.settings import Flagging

Quantiles = Callable[[Floats], Floats]


def automatic_threshold(quantiles: Quantiles, flagging: Flagging) -> float:
    """Return the evidence from which a row is flagged, given the quantiles of evidence.

    The larger of two: the evidence that an ordinary row exceeds with a chance of 1 in 500 if
    evidence has an exponential tail; and the evidence that 1% of the rows exceed, or, if that is
    less, the one that an ordinary row exceeds with a chance of 3 in 10,000 if evidence has a
    log-normal tail.
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
        log_normal = high * exp(min(spread * beyond, 700.0))  # beyond, floats end
    return float(max(exponential, min(top, log_normal)))


def stated_threshold(contamination: dict[str, Any]) -> float:
    """Return the evidence behind ``{"score": s}`` or ``{"evidence": e}``.

    Examples
    --------
    >>> round(stated_threshold({"score": 0.95}), 2), stated_threshold({"evidence": 3})
    (3.0, 3.0)
    """
    most = {"score": 1 - 2**-53, "evidence": sys.float_info.max}
    for what, value in contamination.items():
        fits = len(contamination) == 1 and what in most and isinstance(value, Real)
        if fits and 0 <= value <= most[what]:
            return float(value) if what == "evidence" else -float(np.log1p(-value))
    raise ValueError(
        'contamination as a dict is {"score": s} with 0 <= s < 1 or {"evidence": e} with '
        f"0 <= e < inf; it is {contamination!r:.100}"
    )
