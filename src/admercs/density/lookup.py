"""Reading log ω from the tables, and what is typical in a node."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs._compile import kernel, read_only
from admercs.arrays import FEW_ROWS, Array, Floats, Ints, ShortInts
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, N_HEIGHTS, Likelihoods

_SIXTH = 1.0 / 6.0
_PER_POINT = 4  # places between two table points where the density may cross τ
_HALVINGS = 16
# Many rows may share the value where κ = τ; densities are tables in steps, and may just miss it.
_NEARLY = 0.01


# What is needed of a node's longest segment: where it begins and ends, its first point, the spacing
# of its points, its last two (as numbers), the node's floor and log ω of there being a value.
_BEGINS, _ENDS, _START, _PER_STEP, _LAST, _BEYOND, _FLOOR, _PRESENT = (
    np.uint64(k) for k in range(8)
)


class ReadyLikelihoods(NamedTuple):
    """Likelihoods made ready for many values: what is needed of a node lies together."""

    likelihoods: Likelihoods
    of_node: Floats  # nodes x 8, see above
    first_point: Ints  # per node: of its longest segment, in the table


def make_ready(likelihoods: Likelihoods) -> ReadyLikelihoods:
    """Make likelihoods ready for reading many values."""
    like, slot = likelihoods, np.maximum(likelihoods.slot, 0)
    segment, n_segments = like.segment_ptr[slot] + like.main[slot], len(like.step)
    of_node, first_point = np.zeros((len(slot), 8)), np.zeros(len(slot), np.int64)
    of_node[:, _BEGINS] = np.inf  # a node without segments, or of a target with few values
    some = np.flatnonzero((like.segment_ptr[slot] < like.segment_ptr[slot + 1]) & (like.slot >= 0))
    slot, segment = slot[some], segment[some]
    ends = like.segment_from[np.minimum(segment + 1, n_segments - 1)]
    first_point[some] = like.table_ptr[segment]
    last = like.table_ptr[segment + 1] - first_point[some] - 3
    of_node[some] = np.stack([
        like.segment_from[segment],
        np.where(segment + 1 < like.segment_ptr[slot + 1], ends, np.inf),
        like.segment_start[segment], 1.0 / like.step[segment], last, last + 1.001,
        like.log_floor[slot], like.log_present[slot],
    ], axis=1)  # fmt: skip
    return ReadyLikelihoods(likelihoods, of_node, first_point)


@kernel
def _read_continuous(
    nodes: ShortInts, x: Floats, bare: bool, out: Floats, of_node: Floats, first_point: Ints,
    slot_of: ShortInts, log_present: Floats, log_missing: Floats, log_floor: Floats,
    segment_ptr: Ints, segment_from: Floats, segment_start: Floats, step: Floats, table_ptr: Ints,
    table: NDArray[np.float32],
) -> None:  # fmt: skip
    """Write log ω of values of a continuous target; where `bare`, entries, not clipped at 0."""
    # One function: small ones would be compiled twice, alone and as part of this one. Unsigned
    # indices: numba asks whether signed ones are negative.
    one, two = np.uint64(1), np.uint64(2)
    for i in range(np.uint64(len(x))):
        node, value = np.uint64(nodes[i]), x[i]
        # Most values lie in the longest segment.
        inside = of_node[node, _BEGINS] <= value < of_node[node, _ENDS]
        position = (value - of_node[node, _START]) * of_node[node, _PER_STEP]
        last, beyond = of_node[node, _LAST], of_node[node, _BEYOND]
        floor, present, begin = of_node[node, _FLOOR], of_node[node, _PRESENT], first_point[node]
        if not inside or not 0.999 <= position < beyond:
            slot = np.uint64(slot_of[node])
            floor, present, beyond = log_floor[slot], log_present[slot], 0.0
            segment, end = np.uint64(segment_ptr[slot]), np.uint64(segment_ptr[slot + one])
            if math.isnan(value):
                out[i] = log_missing[slot]
                continue
            if segment < end:
                # The last segment that holds from there or before.
                while segment + one < end:
                    middle = (segment + end) >> one
                    if segment_from[middle] <= value:
                        segment = middle
                    else:
                        end = middle
                position = (value - segment_start[segment]) / step[segment]
                begin = table_ptr[segment]
                last = np.float64(table_ptr[segment + one] - begin - 3)
                beyond = last + 1.001
        entry = floor
        # Where one segment follows another, rounding must not leave a crack between them.
        if 0.999 <= position < beyond:
            place = np.int64(position if position < last else last)
            place = place if place > 1 else np.int64(1)
            t = position - place
            p = np.uint64(begin + place)
            outer = table[p + two] * (t + 1) - table[p - one] * (t - 2)
            inner = table[p] * (t - 1) - table[p + one] * t
            read = outer * t * (t - 1) * _SIXTH + inner * (t + 1) * (t - 2) * 0.5
            entry = read if read > floor else floor
        out[i] = entry if bare else present + (entry if entry < 0.0 else 0.0)


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
    known: Likelihoods | ReadyLikelihoods, target: int, nodes: ShortInts, x: Floats,
    out: Floats | None = None,
) -> Floats:  # fmt: skip
    """Return log ω of working values of one column (NaN is missing), each in its scoring node."""
    reading = known if isinstance(known, ReadyLikelihoods) else make_ready(known)
    if out is None:
        out = np.empty(len(x))
    nodes = np.ascontiguousarray(nodes, dtype=np.int32)
    x = read_only(np.ascontiguousarray(x, dtype=np.float64))
    like = reading.likelihoods
    kind = like.kind[target]
    if kind == CONTINUOUS:
        _read_continuous(nodes, x, False, out, *_continuous_arrays(reading))
    else:
        first, stop = like.distinct_ptr[target : target + 2]
        _read_few(
            bool(kind == DISCRETE), nodes, x, out, like.slot, like.log_present, like.log_missing,
            like.log_floor, like.value_ptr, like.log_value, like.distinct[first:stop],
        )  # fmt: skip
    return out


def in_groups(
    ready: ReadyLikelihoods, columns: Ints, n_rows: int
) -> list[tuple[slice | Ints, int]]:
    """Part ascending columns into groups that are read in one call, each with its first column.

    Continuous columns that follow each other are read as if they were one, and the others one by
    one. Of few rows, all continuous columns are read together.
    """
    if n_rows <= FEW_ROWS:
        continuous = ready.likelihoods.kind[columns] == CONTINUOUS
        some = columns[continuous]
        single = [(slice(m, m + 1), m) for m in columns[~continuous].tolist()]
        return [*single, (some, int(some[0]))] if len(some) else [*single]
    return [*runs_of_columns(ready.likelihoods.kind, columns)]


def runs_of_columns(kind: Array, columns: Ints) -> list[tuple[slice, int]]:
    """Part ascending columns of some kinds into runs, each with its first, see `in_groups`."""
    if not len(columns):
        return []
    continuous = kind[columns] == CONTINUOUS
    follows = continuous[1:] & continuous[:-1] & (np.diff(columns) == 1)
    runs = np.split(columns, np.flatnonzero(~follows) + 1)
    return [(slice(int(run[0]), int(run[-1]) + 1), int(run[0])) for run in runs]


def entries(likelihoods: Likelihoods, slot: int, x: Floats) -> Floats:
    """Return the entries of a continuous slot at some values, floor applied, not clipped at 0."""
    return _entries(_only(likelihoods, slot), x)


def _only(likelihoods: Likelihoods, slot: int) -> ReadyLikelihoods:
    return make_ready(likelihoods._replace(slot=np.array([slot], dtype=np.int32)))


def _entries(reading: ReadyLikelihoods, x: Floats) -> Floats:
    x = read_only(np.ascontiguousarray(x, dtype=np.float64))
    out, nodes = np.empty(len(x)), np.zeros(len(x), dtype=np.int32)
    _read_continuous(nodes, x, True, out, *_continuous_arrays(reading))
    return out


def _continuous_arrays(reading: ReadyLikelihoods) -> tuple[Array, ...]:
    like = reading.likelihoods
    return (
        reading.of_node, reading.first_point, like.slot, like.log_present, like.log_missing,
        like.log_floor, like.segment_ptr, like.segment_from, like.segment_start, like.step,
        like.table_ptr, like.table,
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
    reading, x = _only(likelihoods, slot), _places(likelihoods, slot)
    inside = _entries(reading, x) >= typical
    # Both ends are at the floor, so crossings come in pairs.
    crossings = np.flatnonzero(inside[1:] != inside[:-1])
    low, high, rising = x[crossings], x[crossings + 1], inside[crossings + 1]
    for _ in range(_HALVINGS):
        middle = low / 2 + high / 2
        above = (_entries(reading, middle) >= typical) == rising
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
