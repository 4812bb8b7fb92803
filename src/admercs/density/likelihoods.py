"""The reference distributions of all scoring nodes as flat tables of log ω.

As an area, ω(x) is the mean over the node's training rows i of min(1, κ(x) / κ(x_i)): the area
under the density cut off at the height κ(x). It averages the paper's min(1, κ / τ(ρ)) over all
thresholds, so no ρ has to be chosen, and in a column without structure (a uniform one) every value
is as likely as any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Array, Floats, Ints, ShortInts
from admercs.density.ragged import owners, pointers, totals
from admercs.density.tables import Tables
from admercs.method.settings import Density
from admercs.table.columns import Column

Shares = tuple[float, ...]

CONTINUOUS, DISCRETE, NOMINAL = 0, 1, 2
N_HEIGHTS = 33  # areas at which the way back to the density is kept, for plots
_N_KNOTS = 512  # heights at which the area is computed; in between its logarithm is near linear
_TOGETHER = 1 << 15  # levels that are sorted together
_TINY = 1e-9  # shares are compared with this much room, so that 1 − 0.9 of ten rows is one row
N_RANKS = 20  # a column's outermost values are kept at the ranks 1, 2, 4, …


class Likelihoods(NamedTuple):
    """How likely each value is in each scoring node; a *slot* is one such distribution.

    A value's log likelihood log ω is ``log_present[slot] + min(0, entry)``, a missing value's is
    ``log_missing[slot]``. The *entry* of a value is the logarithm of the area below its density, or
    log(κ / τ) in the paper's form.

    Continuous targets keep entries in segments of equally spaced points around the places where
    there are values. A segment holds from ``segment_from`` to where the next one begins or its own
    points end; outside of every segment, and wherever the table is below it, ``log_floor[slot]``
    holds. Discrete and nominal targets keep one entry per value. Values whose entry is at least
    ``log_typical[slot]`` are typical: together they hold a fraction ρ of the rows.
    """

    kind: NDArray[np.int8]  # per column: CONTINUOUS, DISCRETE or NOMINAL
    slot: ShortInts  # per node: its slot, or -1
    n: Ints  # per slot: training rows
    n_missing: Ints  # per slot: rows where the target is missing
    log_present: Floats  # per slot
    log_missing: Floats  # per slot
    log_floor: Floats  # per slot: entry of an isolated or unseen value
    log_typical: Floats  # per slot: entry where κ = τ(ρ)
    log_tau: Floats  # per slot: log τ
    log_height: Floats  # per slot, areas only: log κ at 33 entries, for plots
    bandwidth: Floats  # per slot, continuous: h
    segment_ptr: Ints  # slots + 1
    main: Ints  # per slot: its longest segment, counted from its first
    segment_from: Floats  # per segment: working value from which on it holds
    segment_start: Floats  # per segment: working value of its first point
    step: Floats  # per segment: spacing of its points
    table_ptr: Ints  # segments + 1
    table: NDArray[np.float32]  # entries at the points
    value_ptr: Ints  # slots + 1, discrete and nominal
    log_value: Floats  # entry per value
    count: Ints  # type: ignore[assignment]  # rows per value
    distinct_ptr: Ints  # M + 1
    distinct: Floats  # discrete columns: their values, ascending
    outer: Floats  # per column: see `outer_values`; NaN for nominal columns


def column_kind(column: Column) -> int:
    """Return how a column is described: by a smooth density, or by the frequency of each value."""
    if column.role == "nominal":
        return NOMINAL
    return DISCRETE if column.distinct else CONTINUOUS


def n_values(column: Column) -> int:
    """Return how many values a discrete or nominal column has; unseen categories share one."""
    return len(column.categories) + 1 if column.role == "nominal" else len(column.distinct)


def of_tables(
    counts: Ints, bandwidth: Floats, tables: Tables, outer: Floats, settings: Density
) -> Likelihoods:
    """Return the likelihoods of a continuous target from its density tables and counted codes."""
    tau = quantile_levels(tables.level_ptr, tables.level, tables.mass, settings.rho)
    slots = np.arange(len(tau))
    segments = tables.segments
    slot_of = owners(segments["segment_ptr"])[owners(segments["table_ptr"])]
    log_height = np.empty(0)
    if settings.area:
        top, knots = log_areas(tables.level_ptr, tables.level, tables.mass)
        table, log_floor = to_area(slot_of, tables.table, top, knots), knots[:, 0].copy()
        log_typical = to_area(slots, tau, top, knots)
        log_height = (heights_of_areas(top, knots) + tables.log_floor[:, None]).ravel()
    else:
        table, log_floor, log_typical = tables.table - tau[slot_of], -tau, np.zeros(len(tau))
    return _target(
        CONTINUOUS, counts, settings,
        log_floor=log_floor, log_typical=log_typical, log_tau=tau + tables.log_floor,
        log_height=log_height, bandwidth=bandwidth, table=table.astype(np.float32), outer=outer,
        **segments,
    )  # fmt: skip


def part_slots(
    together: Likelihoods, n_slots: Sequence[int], outer: Sequence[Floats]
) -> list[Likelihoods]:
    """Part the likelihoods of several continuous targets, given how many slots each has."""
    n = len(together.n)
    segments, points = together.segment_ptr, together.table_ptr
    per_slot = {"n", "n_missing", "log_present", "log_missing", "log_floor", "log_typical"}
    per_slot |= {"log_tau", "bandwidth", "main"}
    parts, begin = [], 0
    for size, own_outer in zip(n_slots, outer, strict=True):
        end = begin + size
        own = slice(segments[begin], segments[end])
        per_height = len(together.log_height) // n
        made: dict[str, Array] = {name: getattr(together, name)[begin:end] for name in per_slot}
        made |= {
            name: getattr(together, name)[own] for name in ("segment_from", "segment_start", "step")
        }
        parts.append(
            together._replace(
                **made,
                segment_ptr=segments[begin : end + 1] - segments[begin],
                table_ptr=points[own.start : own.stop + 1] - points[own.start],
                table=together.table[points[own.start] : points[own.stop]],
                log_height=together.log_height[begin * per_height : end * per_height],
                value_ptr=np.zeros(size + 1, np.int64),
                outer=own_outer,
            )
        )
        begin = end
    return parts


def of_counts(column: Column, counts: Ints, settings: Density, shares: Shares = ()) -> Likelihoods:
    """Return the likelihoods of a nominal or discrete target (counts: slots x codes, 0 missing)."""
    rows, distinct = counts[:, 1:], np.array(column.distinct, dtype=np.float64)
    found, n_slots = frequency_entries(rows, settings, column.n_grouped), len(rows)
    return _target(
        column_kind(column), counts, settings,
        log_floor=found.log_floor, log_typical=found.log_typical, log_tau=found.log_tau,
        log_height=np.zeros(n_slots * N_HEIGHTS if settings.area else 0),
        value_ptr=np.arange(n_slots + 1, dtype=np.int64) * rows.shape[1],
        log_value=found.log_value.ravel(), count=rows.ravel(),
        distinct_ptr=np.array([0, len(distinct)], dtype=np.int64), distinct=distinct,
        outer=outer_values(distinct, rows[0, : len(distinct)], 1, 0.0, shares),
    )  # fmt: skip


def _target(kind: int, counts: Ints, settings: Density, **own: Array) -> Likelihoods:
    """Return the likelihoods of one target; its nodes get their slots in ``assemble``."""
    n, n_missing, n_slots = counts.sum(axis=1), counts[:, 0], len(counts)
    # Having a value or none is a distribution over two values.
    presence = frequency_entries(np.stack((n - n_missing, n_missing), axis=1), settings)
    log_present, log_missing = np.minimum(0.0, presence.log_value).T.copy()
    no_ptr = np.zeros(n_slots + 1, np.int64)
    known: dict[str, Array] = {
        "kind": np.array([kind], dtype=np.int8), "slot": np.empty(0, dtype=np.int32),
        "n": n, "n_missing": n_missing, "log_present": log_present, "log_missing": log_missing,
        "bandwidth": np.zeros(n_slots), "main": np.zeros(n_slots, np.int64),
        "segment_ptr": no_ptr, "table_ptr": np.zeros(1, np.int64), "table": np.empty(0, np.float32),
        "value_ptr": no_ptr, "count": np.empty(0, np.int64), "distinct_ptr": np.zeros(2, np.int64),
    }  # fmt: skip
    empty: dict[str, Array] = dict.fromkeys(Likelihoods._fields, np.empty(0))
    return Likelihoods(**(empty | known | own))


def outer_values(value: Floats, weight: Ints, row: int, width: float, shares: Shares) -> Floats:
    """Return quantiles and outermost values of a column, of its lower side and of its upper side.

    `value` is ascending, `weight` its rows times `row`. Each side has the values beyond which the
    `shares` of the rows lie, and the values at the ranks 1, 2, 4, … from its end, as far as they
    are beyond the second of these. Values counted in cells of a `width` are moved outwards by one
    cell: a value never seems to have fewer rows beyond it than it has.
    """
    out = np.full((2, len(shares) + N_RANKS), np.nan)
    if not len(value) or not len(shares):
        return out.ravel()
    wanted = row << np.arange(N_RANKS, dtype=np.int64)
    for side, ordered, rows in ((0, value[::-1], weight[::-1]), (1, value, weight)):
        inner, total = np.cumsum(rows), int(rows.sum())
        quantiles = ordered[np.searchsorted(inner, (1 - np.array(shares)) * total)]
        for k in range(1, len(shares)):
            # A value between two cells is counted in both.
            if abs(quantiles[k] - quantiles[k - 1]) < 1.5 * width:
                quantiles[k] = quantiles[k - 1]
        out[side, : len(shares)] = quantiles
        ranks = wanted[wanted <= shares[1] * total]
        from_end = ordered[::-1][np.searchsorted(np.cumsum(rows[::-1]), ranks)]
        outwards = width if side else -width
        out[side, len(shares) : len(shares) + len(ranks)] = from_end + outwards
    return out.ravel()


def assemble(parts: Sequence[Likelihoods], nodes: Sequence[Ints], n_nodes: int) -> Likelihoods:
    """Put the likelihoods of all targets, given the nodes of their slots, one after the other."""
    slot = np.full(n_nodes, -1, dtype=np.int32)
    all_nodes = np.concatenate(nodes)
    slot[all_nodes] = np.arange(len(all_nodes), dtype=np.int32)
    joined: dict[str, Any] = {}
    for name, arrays in zip(Likelihoods._fields, zip(*parts, strict=True), strict=True):
        if name.endswith("_ptr"):
            joined[name] = pointers(np.concatenate([np.diff(array) for array in arrays]))
        else:
            joined[name] = np.concatenate(arrays)
    return Likelihoods(**(joined | {"slot": slot}))


def quantile_levels(ptr: Ints, level: Floats, mass: Floats, rho: float) -> Floats:
    """Return per slot the largest level that a fraction ``rho`` of its mass reaches."""
    out, size, share = np.zeros(len(ptr) - 1), np.diff(ptr), _share_below(rho)
    if not len(level):
        return out
    # Slots of about the same size are sorted together, as rows that are filled up with nothing.
    order = np.argsort(size, kind="stable")
    chunk = np.cumsum(size[order]) // _TOGETHER
    for some in np.split(order, np.flatnonzero(np.diff(chunk)) + 1):
        place = np.arange(size[some].max(initial=1))
        is_there = place < size[some, None]
        at = np.where(is_there, ptr[some, None] + place, -1)
        levels = np.where(is_there, level[at], np.inf)
        # Densities rise and fall in long runs, which a stable sort merges.
        by_level = np.argsort(levels, axis=1, kind="stable")
        masses = np.where(is_there, mass[at], 0.0)
        at_most = np.cumsum(np.take_along_axis(masses, by_level, axis=1), axis=1)
        total = at_most[:, -1:]
        below = (at_most <= share * total).sum(axis=1, keepdims=True)
        rank = np.minimum(below, len(place) - 1)
        found = np.take_along_axis(levels, np.take_along_axis(by_level, rank, axis=1), axis=1)
        out[some] = np.where(total > 0, found, 0.0)[:, 0]
    return out


def _share_below(rho: float) -> float:
    """Return the share of the rows that need not be typical; a little less than all of them."""
    return min(1 - rho + _TINY, 1 - 1e-12)


def log_areas(ptr: Ints, level: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Return the highest level of each slot, and log ω at equally spaced levels from 0 to there."""
    n_slots = len(ptr) - 1
    slot = owners(ptr)
    total = totals(slot, mass, n_slots)
    top, height = np.zeros(n_slots), np.maximum(level, 0.0)
    np.maximum.at(top, slot, height)
    # Mass per stretch between two knots, and the same mass over its density.
    stretch = (height / np.where(top > 0, top, 1.0)[slot] * _N_KNOTS).astype(np.int64)
    key = slot * (_N_KNOTS + 1) + np.minimum(stretch, _N_KNOTS)
    shape = n_slots, _N_KNOTS + 1
    at_most = totals(key, mass, shape[0] * shape[1]).reshape(shape)
    inverse = totals(key, mass * np.exp(-height), shape[0] * shape[1]).reshape(shape)
    below, above = np.zeros(shape), np.empty(shape)
    np.cumsum(at_most[:, :-1], axis=1, out=below[:, 1:])
    above[:, 0] = np.cumsum(inverse, axis=1)[:, -1]
    above[:, 1:] = inverse[:, :-1]
    above = np.subtract.accumulate(above, axis=1)
    # With one height only, every value is as likely as any other.
    known = (total > 0) & (top > 0)
    knots = np.zeros(shape)
    area = below + np.exp(top[:, None] * np.arange(_N_KNOTS + 1) / _N_KNOTS) * above
    knots[known] = np.minimum(0.0, np.log(area[known] / total[known, None]))
    knots[:, -1] = 0.0
    return top, knots


def to_area(slot: Ints, log_density: Floats, top: Floats, knots: Floats) -> Floats:
    """Return log ω for log densities relative to the floor; below the floor both fall alike."""
    top = top[slot]
    place = np.clip(log_density / np.where(top > 0, top, 1.0), 0.0, 1.0) * _N_KNOTS
    b = np.minimum(place.astype(np.int64), _N_KNOTS - 1)
    part = place - b
    between = (1 - part) * knots[slot, b] + part * knots[slot, b + 1]
    log_area = np.where(log_density <= 0.0, knots[slot, 0] + log_density, between)
    return np.where((top == 0.0) | (log_density >= top), 0.0, log_area)


def heights_of_areas(top: Floats, knots: Floats) -> Floats:
    """Return per slot the levels where log ω is 0/32 … 32/32 of the floor's, highest first."""
    levels = np.linspace(0, 1, _N_KNOTS + 1) * top[:, None]
    areas = np.linspace(0, 1, N_HEIGHTS) * knots[:, :1]
    slots = zip(areas, knots, levels, strict=True)
    found = [np.interp(area, knot, level) for area, knot, level in slots]
    return np.array(found).reshape(len(top), N_HEIGHTS)


class Frequencies(NamedTuple):
    """The entries of a target with few values (slots x values), and of one that is not there."""

    log_value: Floats
    log_floor: Floats
    log_typical: Floats
    log_tau: Floats


def frequency_entries(counts: Ints, settings: Density, n_grouped: int = 0) -> Frequencies:
    """Return log ω, or log(κ / τ) in the paper's form, from the rows of each value in each slot.

    κ of a value is its share of the rows, at least one row. The last value may stand for
    ``n_grouped`` rare ones, each of which gets an equal part.
    """
    rows, (n_slots, n_values), n = counts.astype(np.float64), counts.shape, counts.sum(axis=1)
    known = n > 0  # a slot without any row with a value has no distribution to compare with
    n = np.maximum(n, 1)
    if n_grouped > 1:
        rows[:, -1] /= n_grouped
    kappa, once = np.maximum(rows, 1.0) / n[:, None], 1.0 / n
    levels = np.log(kappa)
    # As `quantile_levels`, for slots that have equally many values.
    order = np.argsort(levels, axis=1, kind="stable")
    at_most = np.cumsum(np.take_along_axis(counts, order, axis=1), axis=1)
    below = (at_most <= _share_below(settings.rho) * at_most[:, -1:]).sum(axis=1)
    rank = np.minimum(below, n_values - 1)[:, None]
    tau = np.take_along_axis(levels, np.take_along_axis(order, rank, axis=1), axis=1)[:, 0]
    log_tau = np.where(known, tau, 0.0)
    if settings.area:
        heights = np.column_stack((kappa, once))
        with np.errstate(divide="ignore"):
            log_area = np.log([
                (counts * np.minimum(1.0, height[:, None] / kappa)).sum(axis=1) / n
                for height in heights.T
            ]).T  # fmt: skip
        log_area = np.where(known[:, None], log_area, 0.0)
        log_value, log_floor = log_area[:, :-1], log_area[:, -1]
        # A value is typical if it occurs at least as often as the rarest typical one.
        typical = np.where(levels >= log_tau[:, None] - 1e-12, log_value, 0.0)
        return Frequencies(log_value, log_floor, typical.min(axis=1, initial=0.0), log_tau)
    log_value = np.where(known[:, None], levels - log_tau[:, None], 0.0)
    log_floor = np.where(known, np.log(once) - log_tau, 0.0)
    return Frequencies(log_value, log_floor, np.zeros(n_slots), log_tau)
