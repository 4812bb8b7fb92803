"""Where the line between normal and anomalous is drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import log
from numbers import Real
from typing import Any

import numpy as np

from admercs.arrays import Floats
from admercs.method.settings import Flagging

Quantiles = Callable[[Floats], Floats]

N_SHARES = 100  # of rows that may stand out


def automatic_threshold(quantiles: Quantiles, flagging: Flagging, n_rows: int) -> float:
    """Return the evidence from which a row is flagged, given the quantiles of evidence.

    It is the evidence that an ordinary row exceeds with a chance of 1 in 500 if evidence has an
    exponential tail. If more than 1% of the rows exceed that, the tail is heavier. Then the rows
    are flagged that stand out: the largest share of them, at most a quarter, whose last row has
    1.8 times the evidence that a quarter more rows have at least. If no rows stand out, 1% are
    flagged, and never more, but for one row of a small table.
    """
    exponential = suspicious_from(quantiles, flagging)
    most = max(1, int(flagging.share * n_rows))
    # Just above the row that follows the flagged ones.
    level = (n_rows - 1 - most + flagging.share) / max(1, n_rows - 1)
    top = float(quantiles(np.array([max(0.0, level)]))[0])
    if top <= exponential:
        return exponential
    shares = np.geomspace(1 - flagging.high, flagging.share, N_SHARES)
    last, next_one = quantiles(
        1 - np.concatenate((shares, shares * (1 + flagging.following)))
    ).reshape(2, -1)
    standing_out = np.flatnonzero((last > flagging.gap * next_one) & (last > exponential))
    if not len(standing_out):
        return top
    first = standing_out[0]
    return float(max(exponential, (last[first] + next_one[first]) / 2))


def suspicious_from(quantiles: Quantiles, flagging: Flagging) -> float:
    """Return the evidence that an ordinary row exceeds with a chance of 1 in 500.

    The tail of the evidence is taken to be exponential through its median and its 75% quantile.
    Rows above are suspicious, but they are flagged only as far as `automatic_threshold` allows.
    """
    middle, high = quantiles(np.array([flagging.middle, flagging.high])).tolist()
    beyond_middle, beyond_high = 1 - flagging.middle, 1 - flagging.high
    scale = (high - middle) / log(beyond_middle / beyond_high)
    return float(high + scale * log(beyond_high / flagging.chance))


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
