"""Reading log ω from the tables, and what is typical in a node."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel, read_only
from admercs.arrays import FEW_ROWS, Array, Floats, Ints, ShortInts
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, N_HEIGHTS, Likelihoods

_PER_POINT = 4  # places between two table points where the density may cross τ
_HALVINGS = 16
# Many rows may share the value where κ = τ; densities are tables in steps, and may just miss it.
_NEARLY = 0.01


@kernel
def _read_continuous(
    nodes: ShortInts, x: Floats, bare: bool, out: Floats,
    slot_of: ShortInts, log_present: Floats, log_missing: Floats, log_floor: Floats,
    segment_ptr: Ints, main: Ints, segment_from: Floats, segment_start: Floats,
    step: Floats, table_ptr: Ints, table: NDArray[np.float32],
) -> None:  # fmt: skip
    """Write log ω of values of a continuous target; where `bare`, entries, not clipped at 0."""
    # One function: small ones would be compiled twice, alone and as part of this one. What it needs
    # of a slot is kept from row to row. Unsigned indices: numba asks whether signed ones are
    # negative.
    one, two = np.uint64(1), np.uint64(2)
    slot, known = np.uint64(0), False
    first, stop, longest = np.uint64(0), np.uint64(0), np.uint64(0)
    floor, present, begins, ends = 0.0, 0.0, 0.0, 0.0
    for i in range(np.uint64(len(x))):
        its_slot = np.uint64(slot_of[np.uint64(nodes[i])])
        if its_slot != slot or not known:
            slot, known = its_slot, True
            first, stop = np.uint64(segment_ptr[slot]), np.uint64(segment_ptr[slot + one])
            longest = first + np.uint64(main[slot])
            floor, present = log_floor[slot], log_present[slot]
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
            # Where one segment follows another, rounding must not leave a crack between them.
            if 0.999 <= position < last + 1.001:
                place = min(max(np.int64(position), 1), last)
                t = position - place
                p = np.uint64(begin + place)
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
        if not bare:
            entry = present + (entry if entry < 0 else 0.0)
        out[i] = entry


@kernel
def _read_few(
    discrete: bool, nodes: ShortInts, x: Floats, out: Floats,
    slot_of: ShortInts, log_present: Floats, log_missing: Floats,
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


def read_likelihood(
    likelihoods: Likelihoods, target: int, nodes: ShortInts, x: Floats, out: Floats | None = None
) -> Floats:
    """Return log ω of working values of one column (NaN is missing), each in its scoring node."""
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


def in_groups(
    likelihoods: Likelihoods, columns: Ints, n_rows: int
) -> list[tuple[slice | Ints, int]]:
    """Part columns into groups that are read in one call, each with its first column.

    These are single columns; but of few rows, all continuous columns are read as if they were one.
    """
    together = (likelihoods.kind[columns] == CONTINUOUS) & (n_rows <= FEW_ROWS)
    groups: list[tuple[slice | Ints, int]] = [
        (slice(m, m + 1), m) for m in columns[~together].tolist()
    ]
    some = columns[together]
    return [*groups, (some, int(some[0]))] if len(some) else groups


def entries(likelihoods: Likelihoods, slot: int, x: Floats) -> Floats:
    """Return the entries of a continuous slot at some values, floor applied, not clipped at 0."""
    x = read_only(np.ascontiguousarray(x, dtype=np.float64))
    out = np.empty(len(x))
    only, nodes = np.array([slot], dtype=np.int32), np.zeros(len(x), dtype=np.int32)
    _read_continuous(nodes, x, True, out, only, *_continuous_arrays(likelihoods))
    return out


def _continuous_arrays(like: Likelihoods) -> tuple[Array, ...]:
    return (
        like.log_present, like.log_missing, like.log_floor, like.segment_ptr, like.main,
        like.segment_from, like.segment_start, like.step, like.table_ptr, like.table,
    )  # fmt: skip


def to_log_density(likelihoods: Likelihoods, slot: int, found: Floats) -> Floats:
    """Return log κ of the entries of a continuous slot, per unit of the working values."""
    if not len(likelihoods.log_height):
        return np.asarray(found + likelihoods.log_tau[slot], dtype=np.float64)
    heights = likelihoods.log_height[slot * N_HEIGHTS : (slot + 1) * N_HEIGHTS]
    floor = likelihoods.log_floor[slot]
    known = np.linspace(0, 1, N_HEIGHTS) * floor
    within = np.interp(-np.asarray(found, dtype=np.float64), -known, heights)
    return within + np.minimum(0.0, found - floor)


def typical_region(likelihoods: Likelihoods, slot: int) -> list[tuple[float, float]]:
    """Return the intervals, ascending, where a continuous target is fully typical: κ ≥ τ(ρ)."""
    typical = float(likelihoods.log_typical[slot])
    if likelihoods.log_floor[slot] >= typical:  # even an isolated value is typical
        return [(-np.inf, np.inf)]
    typical -= _NEARLY
    x = _places(likelihoods, slot)
    inside = entries(likelihoods, slot, x) >= typical
    # Both ends are at the floor, so crossings come in pairs.
    crossings = np.flatnonzero(inside[1:] != inside[:-1])
    low, high, rising = x[crossings], x[crossings + 1], inside[crossings + 1]
    for _ in range(_HALVINGS):
        middle = low / 2 + high / 2
        above = (entries(likelihoods, slot, middle) >= typical) == rising
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    ends = np.where(rising, high, low).tolist()
    return list(zip(ends[::2], ends[1::2], strict=True))


def _places(likelihoods: Likelihoods, slot: int) -> Floats:
    """Return places all over a slot's segments, close to each other, the first and last outside."""
    places = [np.empty(0)]
    begin, stop = likelihoods.segment_ptr[slot : slot + 2]
    for segment in range(begin, stop):
        n_points = int(likelihoods.table_ptr[segment + 1] - likelihoods.table_ptr[segment])
        offsets = np.arange(_PER_POINT * (n_points - 1) + 1) / _PER_POINT
        x = likelihoods.segment_start[segment] + offsets * likelihoods.step[segment]
        # Where segments overlap the later one holds.
        end = likelihoods.segment_from[segment + 1] if segment + 1 < stop else np.inf
        first = likelihoods.segment_from[segment] if segment > begin else -np.inf
        places.append(x[(x >= first) & (x < end)])
    return np.concatenate(places)


def typical_values(likelihoods: Likelihoods, slot: int) -> list[tuple[int, float]]:
    """Return the typical values of a discrete or nominal slot and their shares of the rows.

    Values are positions in ``Column.distinct`` or ``Column.categories``; one more is all others.
    """
    begin, end = likelihoods.value_ptr[slot], likelihoods.value_ptr[slot + 1]
    count = likelihoods.count[begin:end]
    share = count / max(1, int(count.sum()))
    typical = np.flatnonzero(
        (likelihoods.log_value[begin:end] >= likelihoods.log_typical[slot]) & (count > 0)
    )
    order = typical[np.argsort(-count[typical], kind="stable")]
    return [(int(i), float(share[i])) for i in order]
