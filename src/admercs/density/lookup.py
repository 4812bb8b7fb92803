"""Reading log ω from the tables: the compiled part that scoring spends its time in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel
from admercs.density.arrays import Floats, Ints
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, Likelihoods
from admercs.density.smoothing import cubic as plain_cubic

cubic = kernel(plain_cubic)
LOG_TWO = 0.6931471805599453
PEAK_WIDTH = 3.0
"""One over the height of a kernel, in bandwidths: about √(2π)."""


@kernel
def find_segment(slot: int, x: float, segment_ptr: Ints, main: Ints, segment_from: Floats) -> int:
    """Return the segment to read at a value: the last that holds from there or before; -1 if none."""
    low, stop = segment_ptr[slot], segment_ptr[slot + 1]
    if low == stop:
        return -1
    # Most values lie in the longest segment.
    longest = low + main[slot]
    if segment_from[longest] <= x and (longest + 1 == stop or x < segment_from[longest + 1]):
        return longest
    while stop - low > 1:
        middle = (low + stop) // 2
        if segment_from[middle] <= x:
            low = middle
        else:
            stop = middle
    return low


@kernel
def read_segment(
    segment: int, x: float, floor: float,
    segment_start: Floats, step: Floats, table_ptr: Ints, table: NDArray[np.float32],
) -> float:  # fmt: skip
    """Return the entry of a value of a continuous target, floor applied, not clipped at 0."""
    if segment < 0:
        return floor
    position = (x - segment_start[segment]) / step[segment]
    begin = table_ptr[segment]
    last = table_ptr[segment + 1] - begin - 3
    # Where one segment takes over from another, rounding must not leave a crack between them.
    if not 0.999 <= position < last + 1.001:
        return floor
    i = min(max(int(position), 1), last)
    t = position - i
    i += begin
    value = cubic(table[i - 1], table[i], table[i + 1], table[i + 2], t)
    return value if value > floor else floor


@kernel
def fall_of_loners(
    ratio: float, x: float, floor: float, main: int, stop: int, bandwidth: float,
    segment_from: Floats, segment_start: Floats, step: Floats, table_ptr: Ints,
) -> float:  # fmt: skip
    """Return by how much less likely a value is for being alone and far from the bulk of all values.

    A row on its own has a kernel as wide as its distance to the others rather than h. Values as dense as two rows
    in one place are not alone, and there is nothing to fall below the bulk itself.
    """
    begin = segment_from[main]
    end = segment_start[main] + step[main] * (table_ptr[main + 1] - table_ptr[main] - 1)
    if main + 1 < stop:
        end = min(end, segment_from[main + 1])
    away = max(begin - x, x - end)
    if away <= 0.0:
        return 0.0
    alone = 1.0 - (ratio - floor) / LOG_TWO
    return alone * np.log1p(away / (PEAK_WIDTH * bandwidth))


@kernel
def look_up(
    slot: int, x: Floats, out: Floats,
    log_floor: Floats, segment_ptr: Ints, main: Ints, segment_from: Floats, segment_start: Floats,
    step: Floats, table_ptr: Ints, table: NDArray[np.float32],
) -> None:  # fmt: skip
    """Find the entries of many values in one slot."""
    for i in range(len(x)):
        segment = find_segment(slot, x[i], segment_ptr, main, segment_from)
        out[i] = read_segment(segment, x[i], log_floor[slot], segment_start, step, table_ptr, table)


@kernel
def log_ratio_of_few(
    target: int, slot: int, x: float, discrete: bool,
    log_floor: Floats, value_ptr: Ints, log_value: Floats, distinct_ptr: Ints, distinct: Floats,
) -> float:  # fmt: skip
    """Return log(κ / τ) of a value of a discrete or nominal target, not clipped at 0."""
    begin = value_ptr[slot]
    if discrete:
        first, stop = distinct_ptr[target], distinct_ptr[target + 1]
        low, high = first, stop
        while low < high:
            middle = (low + high) // 2
            if distinct[middle] < x:
                low = middle + 1
            else:
                high = middle
        if low < stop and distinct[low] == x:
            return log_value[begin + low - first]
    elif 1 <= x <= value_ptr[slot + 1] - begin:
        return log_value[begin + int(x) - 1]
    return log_floor[slot]


@kernel
def _judge_continuous(
    nodes: NDArray[np.int32], x: Floats, out: Floats,
    slot_of: NDArray[np.int32], log_present: Floats, log_missing: Floats, log_least: Floats,
    bandwidth: Floats,
    log_floor: Floats, segment_ptr: Ints, main: Ints, segment_from: Floats, segment_start: Floats,
    step: Floats, table_ptr: Ints, table: NDArray[np.float32],
) -> None:  # fmt: skip
    for i in range(len(x)):
        slot = slot_of[nodes[i]]
        if np.isnan(x[i]):
            out[i] = log_missing[slot]
            continue
        # Two small functions become part of this loop; one with all these arguments would not.
        segment = find_segment(slot, x[i], segment_ptr, main, segment_from)
        floor = log_floor[slot]
        ratio = read_segment(segment, x[i], floor, segment_start, step, table_ptr, table)
        if ratio < floor + LOG_TWO and segment >= 0 and log_least[slot] < floor:
            fall = fall_of_loners(
                ratio, x[i], floor, segment_ptr[slot] + main[slot], segment_ptr[slot + 1],
                bandwidth[slot], segment_from, segment_start, step, table_ptr,
            )  # fmt: skip
            ratio = max(ratio - fall, log_least[slot])
        out[i] = log_present[slot] + (ratio if ratio < 0 else 0.0)


@kernel
def _judge_few(
    target: int, discrete: bool, nodes: NDArray[np.int32], x: Floats, out: Floats,
    slot_of: NDArray[np.int32], log_present: Floats, log_missing: Floats,
    log_floor: Floats, value_ptr: Ints, log_value: Floats, distinct_ptr: Ints, distinct: Floats,
) -> None:  # fmt: skip
    for i in range(len(x)):
        slot = slot_of[nodes[i]]
        if np.isnan(x[i]):
            out[i] = log_missing[slot]
            continue
        ratio = log_ratio_of_few(
            target, slot, x[i], discrete, log_floor, value_ptr, log_value, distinct_ptr, distinct
        )
        out[i] = log_present[slot] + (ratio if ratio < 0 else 0.0)


def judge_column(
    likelihoods: Likelihoods,
    target: int,
    nodes: NDArray[np.int32],
    x: Floats,
    out: Floats | None = None,
) -> Floats:
    """Return log ω of a block of working values of one column, each judged by its node.

    Parameters
    ----------
    likelihoods : Likelihoods
    target : int
        The column.
    nodes : array of n
        Scoring nodes: ``forest.scorer`` of the rows' leaves, or the root.
    x : array of n
        Working values; NaN is missing.
    out : array of n, optional
        Where to write.
    """
    if out is None:
        out = np.empty(len(x))
    nodes = np.ascontiguousarray(nodes, dtype=np.int32)
    x = np.ascontiguousarray(x, dtype=np.float64)
    kind = likelihoods.kind[target]
    like = likelihoods
    if kind == CONTINUOUS:
        _judge_continuous(
            nodes, x, out, like.slot, like.log_present, like.log_missing, like.log_least,
            like.bandwidth, *density_arrays(like),
        )  # fmt: skip
    else:
        _judge_few(
            target, bool(kind == DISCRETE), nodes, x, out,
            like.slot, like.log_present, like.log_missing, *_value_arrays(like),
        )  # fmt: skip
    return out


def log_ratio(likelihoods: Likelihoods, target: int, slot: int, x: float) -> float:
    """Return log(κ / τ) of one value that is not missing, floor applied, not clipped at 0."""
    kind = likelihoods.kind[target]
    if kind == CONTINUOUS:
        out = np.empty(1)
        look_up(slot, np.array([x], dtype=np.float64), out, *density_arrays(likelihoods))
        return float(out[0])
    is_discrete = bool(kind == DISCRETE)
    return log_ratio_of_few(target, slot, float(x), is_discrete, *_value_arrays(likelihoods))


def log_likelihood(likelihoods: Likelihoods, target: int, slot: int, x: float) -> float:
    """Return log ω ≤ 0 of one working value; NaN is missing."""
    if np.isnan(x):
        return float(likelihoods.log_missing[slot])
    return float(likelihoods.log_present[slot]) + min(0.0, log_ratio(likelihoods, target, slot, x))


def density_arrays(
    like: Likelihoods,
) -> tuple[Floats, Ints, Ints, Floats, Floats, Floats, Ints, NDArray[np.float32]]:
    """Return what ``look_up`` reads."""
    return (
        like.log_floor, like.segment_ptr, like.main, like.segment_from, like.segment_start,
        like.step, like.table_ptr, like.table,
    )  # fmt: skip


def _value_arrays(like: Likelihoods) -> tuple[Floats, Ints, Floats, Ints, Floats]:
    return like.log_floor, like.value_ptr, like.log_value, like.distinct_ptr, like.distinct
