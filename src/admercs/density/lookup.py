"""Reading log ω from the tables: the compiled part that scoring spends its time in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel, read_only
from admercs.density.arrays import Floats, Ints
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, Likelihoods

LOG_TWO = 0.6931471805599453
PEAK_WIDTH = 3.0
"""One over the height of a kernel, in bandwidths: about √(2π)."""


@kernel
def _read_continuous(
    nodes: NDArray[np.int32], x: Floats, bare: bool, out: Floats,
    slot_of: NDArray[np.int32], log_present: Floats, log_missing: Floats, log_least: Floats,
    bandwidth: Floats,
    log_floor: Floats, segment_ptr: Ints, main: Ints, segment_from: Floats, segment_start: Floats,
    step: Floats, table_ptr: Ints, table: NDArray[np.float32],
) -> None:  # fmt: skip
    """Write log ω of values of a continuous target; where `bare`, their entries, not clipped at 0.

    One long function: small ones would each be compiled twice, on their own and as part of this one. What it knows
    of a slot is kept from one row to the next.
    """
    # Unsigned indices: for signed ones numba asks each time whether they count from the end.
    one, two = np.uint64(1), np.uint64(2)
    slot, known = np.uint64(0), False
    first, stop, longest = np.uint64(0), np.uint64(0), np.uint64(0)
    floor, present, lonely, begins, ends = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(np.uint64(len(x))):
        its_slot = np.uint64(slot_of[np.uint64(nodes[i])])
        if its_slot != slot or not known:
            slot, known = its_slot, True
            first, stop = np.uint64(segment_ptr[slot]), np.uint64(segment_ptr[slot + one])
            longest = first + np.uint64(main[slot])
            floor, present = log_floor[slot], log_present[slot]
            # A row on its own has a kernel as wide as its distance to the bulk rather than h: it is less likely
            # for being alone and far out. Values as dense as two rows in one place are not alone, and there is
            # nothing to fall below the bulk itself.
            lonely = floor + LOG_TWO if not bare and log_least[slot] < floor else -np.inf
            begins, ends = np.inf, np.inf
            if first < stop:
                begins = segment_from[longest]
            if first < stop and longest + one < stop:
                ends = segment_from[longest + one]
        value = x[i]
        if math.isnan(value):
            out[i] = log_missing[slot]
            continue
        entry = floor
        if first < stop:
            # The last segment that holds from there or before. Most values lie in the longest one.
            segment = longest
            if not begins <= value < ends:
                segment, end = first, longest
                if value >= begins:
                    segment, end = longest, stop
                while segment + one < end:
                    middle = (segment + end) >> one
                    if segment_from[middle] <= value:
                        segment = middle
                    else:
                        end = middle
            position = (value - segment_start[segment]) / step[segment]
            begin = table_ptr[segment]
            last = table_ptr[segment + one] - begin - 3
            # Where one segment takes over from another, rounding must not leave a crack between them.
            if 0.999 <= position < last + 1.001:
                place = min(max(np.int64(position), 1), last)
                t = position - place
                p = np.uint64(begin + place)
                # The same as `cubic`.
                outer = t * (t - 1) / 6
                inner = (t + 1) * (t - 2) / 2
                read = (
                    table[p + two] * outer * (t + 1)
                    - table[p - one] * outer * (t - 2)
                    + table[p] * inner * (t - 1)
                    - table[p + one] * inner * t
                )
                if read > floor:
                    entry = read
            if entry < lonely:
                until = segment_start[longest] + step[longest] * (
                    table_ptr[longest + one] - table_ptr[longest] - 1
                )
                away = max(begins - value, value - min(until, ends))
                if away > 0.0:
                    alone = 1.0 - (entry - floor) / LOG_TWO
                    entry -= alone * math.log1p(away / (PEAK_WIDTH * bandwidth[slot]))
                    entry = max(entry, log_least[slot])
        if not bare:
            entry = present + (entry if entry < 0 else 0.0)
        out[i] = entry


@kernel
def _read_few(
    discrete: bool, nodes: NDArray[np.int32], x: Floats, out: Floats,
    slot_of: NDArray[np.int32], log_present: Floats, log_missing: Floats,
    log_floor: Floats, value_ptr: Ints, log_value: Floats, distinct: Floats,
) -> None:  # fmt: skip
    """Write log ω of values of a discrete target, whose values are `distinct`, or a nominal one."""
    for i in range(len(x)):
        slot = slot_of[nodes[i]]
        value = x[i]
        if math.isnan(value):
            out[i] = log_missing[slot]
            continue
        begin = value_ptr[slot]
        low = -1
        if discrete:
            low = 0
            high = len(distinct)
            while low < high:
                middle = (low + high) >> 1
                if distinct[middle] < value:
                    low = middle + 1
                else:
                    high = middle
            if low == len(distinct) or distinct[low] != value:
                low = -1
        elif 1 <= value <= value_ptr[slot + 1] - begin:
            low = int(value) - 1
        entry = log_floor[slot] if low < 0 else log_value[begin + low]
        out[i] = log_present[slot] + (entry if entry < 0 else 0.0)


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
        Nodes that judge, see ``Forest.judges``.
    x : array of n
        Working values; NaN is missing.
    out : array of n, optional
        Where to write.
    """
    if out is None:
        out = np.empty(len(x))
    nodes = np.ascontiguousarray(nodes, dtype=np.int32)
    x = read_only(np.ascontiguousarray(x, dtype=np.float64))
    like, kind = likelihoods, likelihoods.kind[target]
    if kind == CONTINUOUS:
        _read_continuous(nodes, x, False, out, like.slot, *_continuous_arrays(like))
    else:
        first, stop = like.distinct_ptr[target : target + 2]
        _read_few(
            bool(kind == DISCRETE), nodes, x, out, like.slot, like.log_present, like.log_missing,
            like.log_floor, like.value_ptr, like.log_value, like.distinct[first:stop],
        )  # fmt: skip
    return out


def entries(likelihoods: Likelihoods, slot: int, x: Floats) -> Floats:
    """Return the entries of a continuous slot at some values, floor applied, not clipped at 0."""
    x = read_only(np.ascontiguousarray(x, dtype=np.float64))
    out = np.empty(len(x))
    only, nodes = np.array([slot], dtype=np.int32), np.zeros(len(x), dtype=np.int32)
    _read_continuous(nodes, x, True, out, only, *_continuous_arrays(likelihoods))
    return out


def _continuous_arrays(like: Likelihoods) -> tuple[NDArray[Any], ...]:
    return (
        like.log_present, like.log_missing, like.log_least, like.bandwidth, like.log_floor,
        like.segment_ptr, like.main, like.segment_from, like.segment_start, like.step,
        like.table_ptr, like.table,
    )  # fmt: skip
