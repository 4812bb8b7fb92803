"""The reference distributions of all scoring nodes as flat tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.arrays import Array, Floats, Ints, ShortInts
from admercs.density import areas
from admercs.density.ragged import owners, pointers
from admercs.density.tables import Tables
from admercs.method.settings import Density
from admercs.table.columns import Column

Shares = tuple[float, ...]

CONTINUOUS, DISCRETE, NOMINAL = 0, 1, 2
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
    tau = areas.quantile_levels(tables.level_ptr, tables.level, tables.mass, settings.rho)
    slots = np.arange(len(tau))
    slot_of = owners(tables.segment_ptr)[owners(tables.table_ptr)]
    log_height = np.empty(0)
    if settings.area:
        top, knots = areas.log_areas(tables.level_ptr, tables.level, tables.mass)
        table, log_floor = areas.to_area(slot_of, tables.table, top, knots), knots[:, 0].copy()
        log_typical = areas.to_area(slots, tau, top, knots)
        log_height = (areas.heights_of_areas(top, knots) + tables.log_floor[:, None]).ravel()
    else:
        table, log_floor, log_typical = tables.table - tau[slot_of], -tau, np.zeros(len(tau))
    return _target(
        CONTINUOUS, counts, settings,
        log_floor=log_floor, log_typical=log_typical, log_tau=tau + tables.log_floor,
        log_height=log_height, bandwidth=bandwidth, segment_ptr=tables.segment_ptr,
        main=tables.main, segment_from=tables.segment_from, segment_start=tables.segment_start,
        step=tables.step, table_ptr=tables.table_ptr, table=table.astype(np.float32), outer=outer,
    )  # fmt: skip


def of_counts(column: Column, counts: Ints, settings: Density, shares: Shares = ()) -> Likelihoods:
    """Return the likelihoods of a nominal or discrete target (counts: slots x codes, 0 missing)."""
    rows = counts[:, 1:]
    n_present, n_slots = rows.sum(axis=1), len(rows)
    kappa = areas.value_frequencies(rows, column.n_grouped)
    log_tau = areas.frequency_thresholds(kappa, rows, settings.rho)
    once = 1.0 / np.maximum(n_present, 1)
    if settings.area:
        log_value, log_floor = areas.frequency_areas(kappa, rows, once)
        # A value is typical if it occurs at least as often as the rarest typical one.
        typical = np.where(np.log(kappa) >= log_tau[:, None] - 1e-12, log_value, 0.0)
        log_typical = typical.min(axis=1, initial=0.0)
    else:
        # A node where every value is missing has no distribution: only presence counts there.
        known = n_present > 0
        log_value = np.where(known[:, None], np.log(kappa) - log_tau[:, None], 0.0)
        log_floor = np.where(known, np.log(once) - log_tau, 0.0)
        log_typical = np.zeros(n_slots)
    return _target(
        column_kind(column), counts, settings,
        log_floor=log_floor, log_typical=log_typical, log_tau=log_tau,
        log_height=np.zeros(n_slots * areas.N_HEIGHTS if settings.area else 0),
        value_ptr=np.arange(n_slots + 1, dtype=np.int64) * rows.shape[1],
        log_value=log_value.ravel(), count=rows.ravel(),
        distinct_ptr=np.array([0, len(column.distinct)], dtype=np.int64),
        distinct=np.array(column.distinct, dtype=np.float64),
        outer=outer_values(
            np.array(column.distinct), rows[0, : len(column.distinct)], 1, 0.0, shares
        ),
    )  # fmt: skip


def _target(kind: int, counts: Ints, settings: Density, **own: Array) -> Likelihoods:
    """Return the likelihoods of one target; its nodes get their slots in ``assemble``."""
    n, n_missing, n_slots = counts.sum(axis=1), counts[:, 0], len(counts)
    present, missing = areas.log_presence(n, n_missing, area=settings.area, rho=settings.rho)
    no_ints, no_floats = np.empty(0, np.int64), np.empty(0)
    parts: dict[str, Array] = {
        "kind": np.array([kind], dtype=np.int8), "slot": np.empty(0, dtype=np.int32),
        "n": n, "n_missing": n_missing, "log_present": present, "log_missing": missing,
        "bandwidth": np.zeros(n_slots), "main": np.zeros(n_slots, np.int64),
        "segment_ptr": np.zeros(n_slots + 1, np.int64), "segment_from": no_floats,
        "segment_start": no_floats, "step": no_floats, "table_ptr": np.zeros(1, np.int64),
        "table": np.empty(0, np.float32), "value_ptr": np.zeros(n_slots + 1, np.int64),
        "log_value": no_floats, "count": no_ints, "distinct_ptr": np.zeros(2, np.int64),
        "distinct": no_floats, "outer": np.empty(0),
    }  # fmt: skip
    return Likelihoods(**(parts | own))


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
        out[side, : len(shares)] = ordered[np.searchsorted(inner, (1 - np.array(shares)) * total)]
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
