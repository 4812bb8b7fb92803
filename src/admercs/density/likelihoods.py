"""The reference distributions of all scoring nodes as flat tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CONTINUOUS, DISCRETE, NOMINAL = 0, 1, 2


class Likelihoods(NamedTuple):
    """How likely each value is in each scoring node; a *slot* is one such distribution.

    A value's log likelihood log ω is ``log_present[slot] + min(0, entry)``, a missing value's is
    ``log_missing[slot]``. The *entry* of a value is log(κ / τ) in the paper's form and the logarithm of
    the area below its density otherwise.

    Continuous targets keep entries in segments of equally spaced points around the places where there
    are values. A segment holds from ``segment_from`` to where the next one begins or its own points
    end; outside of every segment, and wherever the table is below it, ``log_floor[slot]`` holds,
    and a value that is alone falls with its distance from the bulk, down to ``log_least[slot]``, when it is judged.
    Discrete and nominal targets keep one entry per value. Values whose entry is at least
    ``log_typical[slot]`` are typical: together they hold a fraction ρ of the rows.
    """

    kind: NDArray[np.int8]  # per column: CONTINUOUS, DISCRETE or NOMINAL
    slot: NDArray[np.int32]  # per node: its slot, or -1
    n: NDArray[np.int64]  # per slot: training rows
    n_missing: NDArray[np.int64]  # per slot: rows where the target is missing
    log_present: NDArray[np.float64]  # per slot
    log_missing: NDArray[np.float64]  # per slot
    log_floor: NDArray[np.float64]  # per slot: entry of an isolated or unseen value
    log_least: NDArray[np.float64]  # per slot: least entry, of a value far from all others
    log_typical: NDArray[np.float64]  # per slot: entry where κ = τ(ρ)
    log_tau: NDArray[np.float64]  # per slot: log τ
    log_height: NDArray[np.float64]  # per slot, areas only: log κ at 33 entries, for plots
    bandwidth: NDArray[np.float64]  # per slot, continuous: h
    segment_ptr: NDArray[np.int64]  # slots + 1
    main: NDArray[np.int64]  # per slot: its longest segment, counted from its first
    segment_from: NDArray[np.float64]  # per segment: working value from which on it holds
    segment_start: NDArray[np.float64]  # per segment: working value of its first point
    step: NDArray[np.float64]  # per segment: spacing of its points
    table_ptr: NDArray[np.int64]  # segments + 1
    table: NDArray[np.float32]  # entries at the points
    value_ptr: NDArray[np.int64]  # slots + 1, discrete and nominal
    log_value: NDArray[np.float64]  # entry per value
    count: NDArray[np.int64]  # type: ignore[assignment]  # rows per value
    distinct_ptr: NDArray[np.int64]  # M + 1
    distinct: NDArray[np.float64]  # discrete columns: their values, ascending
    tail: NDArray[np.float64]  # six per column, see `tails`
