"""Values that are alone and far out are less likely than a value seen once.

A value seen once is as likely as 1 / n, whether it lies next to the others or ten times further
out. Two rules lower the likelihood of values that are alone (not as dense as two rows in one place):

- In any node, a lone value has a kernel as wide as its distance to the bulk (`lower_lone`).
- In the whole table, the tail on its side is continued as a generalised Pareto tail through three
  quantiles (Pickands 1975): beyond the last of them, q, the probability of a value further out than
  x is 0.01 (1 + ξ (x − q) / σ)^(−1/ξ). In a column with a heavy tail ξ is large and its largest
  values are expected; an age of 455 years among people of up to 94 is not (`lower_far`).

Everything needed follows from the densities, so nothing is stored in the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from admercs._compile import kernel, read_only
from admercs.density.arrays import Floats, Ints, Nodes
from admercs.density.likelihoods import CONTINUOUS, OUTER_SHARES, Likelihoods
from admercs.density.lookup import read_likelihood

_RATIO = OUTER_SHARES[0] / OUTER_SHARES[1]
_LOG_TWO = 0.6931471805599453


@dataclass(frozen=True)
class TailSettings:
    """How much less likely lone values are.

    Attributes
    ----------
    peak_width : float
        One over the height of a kernel, in bandwidths: about √(2π).
    min_rows : float
        Fewer rows beyond the last quantile say nothing about what comes after.
    doubt : float
        Quantiles are not certain, and of many columns one is the strangest: only what would not be
        expected among n · n^doubt rows is less likely than seen once.
    least : float
        No value is less likely than one seen once in n^least rows.
    """

    peak_width: float = 3.0
    min_rows: float = 10
    doubt: float = 0.5
    least: float = 2.0


class Tail(NamedTuple):
    """What the step knows of the densities. Bulks are per slot, tails per column."""

    settings: TailSettings
    lone: Floats  # log ω below which a value is alone; −inf where nothing is lowered
    low: Floats  # where the bulk begins ...
    high: Floats  # ... and ends
    width: Floats  # of a kernel
    floor: Floats  # entry of an isolated value
    least: Floats  # the smallest entry
    log_present: Floats
    n: Ints  # rows with a value in the whole table
    log_once: Floats  # log ω of a value with no other near it in the whole table
    pareto: Floats  # columns x (below, above) x (place, scale, shape); a scale of 0 says nothing


def learn_tail(likelihoods: Likelihoods, roots: Ints, settings: TailSettings) -> Tail:
    """Find the bulk of each slot and the tails of each column; ``roots`` are the trees' root nodes."""
    like, n = likelihoods, likelihoods.n - likelihoods.n_missing
    filled = like.segment_ptr[1:] > like.segment_ptr[:-1]
    main = (like.segment_ptr[:-1] + like.main)[filled]
    low, high = np.zeros((2, len(n)))
    low[filled] = like.segment_from[main]
    points = like.table_ptr[main + 1] - like.table_ptr[main]
    until = like.segment_start[main] + like.step[main] * (points - 1)
    follows = main + 1 < like.segment_ptr[1:][filled]
    ends = np.where(follows, np.append(like.segment_from, np.inf)[main + 1], np.inf)
    high[filled] = np.minimum(until, ends)
    least = np.minimum(like.log_floor, -np.log(np.maximum(n, 1)))
    lone = like.log_present + (like.log_floor + _LOG_TWO)
    lone = np.where(filled & (least < like.log_floor), lone, -np.inf)
    root = like.slot[roots]
    pareto = np.zeros((len(roots), 2, 3))
    for m in np.flatnonzero(n[root] * OUTER_SHARES[-1] >= settings.min_rows):
        below, above = like.outer[6 * m : 6 * m + 6].reshape(2, 3)
        pareto[m] = _pareto(*(-below).tolist()), _pareto(*above.tolist())
    return Tail(
        settings, lone, low, high, settings.peak_width * like.bandwidth, like.log_floor, least,
        like.log_present, n[root], (like.log_present + like.log_floor)[root], pareto,
    )  # fmt: skip


def read_lowered(
    tail: Tail | None, likelihoods: Likelihoods, target: int, nodes: Nodes, x: Floats,
    out: Floats | None = None,
) -> Floats:  # fmt: skip
    """Return log ω of values in their scoring nodes, lower where a value is far from the bulk."""
    out = read_likelihood(likelihoods, target, nodes, x, out)
    if tail is not None and likelihoods.kind[target] == CONTINUOUS:
        _lower_lone(
            np.ascontiguousarray(nodes, dtype=np.int32),
            read_only(np.ascontiguousarray(x, dtype=np.float64)),
            likelihoods.slot, *tail[1:8], out,
        )  # fmt: skip
    return out


@kernel
def _lower_lone(
    nodes: Nodes, x: Floats, slot_of: Nodes, lone: Floats, low: Floats, high: Floats,
    width: Floats, floor: Floats, least: Floats, log_present: Floats, log_omega: Floats,
) -> None:  # fmt: skip
    """Lower log ω of values that are alone by how far they are from the bulk."""
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    for i in range(np.uint64(len(x))):
        slot = np.uint64(slot_of[np.uint64(nodes[i])])
        if log_omega[i] < lone[slot]:
            away = max(low[slot] - x[i], x[i] - high[slot])
            if away > 0.0:
                entry = log_omega[i] - log_present[slot]
                alone = 1.0 - (entry - floor[slot]) / _LOG_TWO
                entry -= alone * math.log1p(away / width[slot])
                log_omega[i] = log_present[slot] + max(entry, least[slot])


def lower_far(tail: Tail, target: int, x: Floats, log_omega: Floats) -> Ints:
    """Lower log ω, in the whole table, of lone values of a column beyond what its tails lead to expect.

    ``log_omega`` is changed in place. Return the places of the values that are in a tail.
    """
    settings, n, floor = tail.settings, int(tail.n[target]), float(tail.log_once[target])
    if not tail.pareto[target, :, 1].any():
        return np.empty(0, np.int64)
    once = -math.log(n)
    odd = np.flatnonzero(log_omega < floor + _LOG_TWO)
    rows = [np.empty(0, np.int64)]
    for values, (place, scale, shape) in zip((-x[odd], x[odd]), tail.pareto[target], strict=True):
        if scale == 0.0:
            continue
        far = values > place
        found = odd[far]
        expected = _log_probability(values[far] - place, scale, shape)
        expected = np.maximum(expected - settings.doubt * once, settings.least * once)
        alone = np.minimum(1.0, (floor + _LOG_TWO - log_omega[found]) / _LOG_TWO)
        log_omega[found] += alone * np.minimum(0.0, expected - log_omega[found])
        rows.append(found)
    return np.concatenate(rows)


def _pareto(near: float, middle: float, far: float) -> tuple[float, float, float]:
    """Return place, scale and shape of the tail through three quantiles; at least exponential.

    >>> _pareto(1.0, 2.0, 3.0)
    (3.0, 0.621..., 0.0)
    >>> _pareto(1.0, 5.0, 25.0)
    (25.0, 25.0, 1.0)
    """
    first, second = middle - near, far - middle
    if not (0 < first < math.inf and 0 < second < math.inf):
        return 0.0, 0.0, 0.0
    shape = math.log(second / first) / math.log(_RATIO)
    if shape < 1e-6:
        return far, second / math.log(_RATIO), 0.0
    return far, shape * second / -math.expm1(-shape * math.log(_RATIO)), shape


def _log_probability(beyond: Floats, scale: float, shape: float) -> Floats:
    """Return the log probability of a value this far beyond the last quantile, or further."""
    with np.errstate(over="ignore"):
        z = beyond / scale
        return math.log(OUTER_SHARES[-1]) - (np.log1p(shape * z) / shape if shape > 0 else z)
