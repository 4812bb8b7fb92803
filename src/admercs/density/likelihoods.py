"""The reference distributions of all scoring nodes as flat tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.density.areas import (
    N_HEIGHTS,
    frequency_areas,
    frequency_thresholds,
    heights_of_areas,
    log_areas,
    log_presence,
    quantile_levels,
    to_area,
    value_frequencies,
)
from admercs.density.arrays import Floats, Ints, Nodes, owners, pointers
from admercs.density.counts import ValueCounts
from admercs.density.grids import Grids
from admercs.density.kernels import DensitySettings
from admercs.density.tables import Tables
from admercs.table.columns import Column

CONTINUOUS, DISCRETE, NOMINAL = 0, 1, 2
OUTER_SHARES = 0.25, 0.05, 0.01  # rows beyond each of a column's outer quantiles: each time a fifth


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
    slot: Nodes  # per node: its slot, or -1
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
    outer: Floats  # six per column: quantiles at `OUTER_SHARES`, below and above; NaN if not continuous


def column_kind(column: Column) -> int:
    """Return how a column is described: by a smooth density, or by the frequency of each value."""
    if column.role == "nominal":
        return NOMINAL
    return DISCRETE if column.distinct else CONTINUOUS


def n_values(column: Column) -> int:
    """Return how many values a discrete or nominal column has; unseen categories share one."""
    return len(column.categories) + 1 if column.role == "nominal" else len(column.distinct)


def of_tables(
    counts: Ints, bandwidth: Floats, tables: Tables, outer: Floats, settings: DensitySettings
) -> Likelihoods:
    """Return the likelihoods of a continuous target from its density tables and counted codes."""
    tau = quantile_levels(tables.level_ptr, tables.level, tables.mass, settings.rho)
    slots = np.arange(len(tau))
    slot_of = owners(tables.segment_ptr)[owners(tables.table_ptr)]
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
        log_height=log_height, bandwidth=bandwidth, segment_ptr=tables.segment_ptr,
        main=tables.main, segment_from=tables.segment_from, segment_start=tables.segment_start,
        step=tables.step, table_ptr=tables.table_ptr, table=table.astype(np.float32), outer=outer,
    )  # fmt: skip


def of_counts(column: Column, counts: Ints, settings: DensitySettings) -> Likelihoods:
    """Return the likelihoods of a nominal or discrete target (counts: slots x codes, 0 missing)."""
    rows = counts[:, 1:]
    n_present, n_slots = rows.sum(axis=1), len(rows)
    kappa = value_frequencies(rows, column.n_grouped)
    log_tau = frequency_thresholds(kappa, rows, settings.rho)
    once = 1.0 / np.maximum(n_present, 1)
    if settings.area:
        log_value, log_floor = frequency_areas(kappa, rows, once)
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
        log_height=np.zeros(n_slots * N_HEIGHTS if settings.area else 0),
        value_ptr=np.arange(n_slots + 1, dtype=np.int64) * rows.shape[1],
        log_value=log_value.ravel(), count=rows.ravel(),
        distinct_ptr=np.array([0, len(column.distinct)], dtype=np.int64),
        distinct=np.array(column.distinct, dtype=np.float64),
    )  # fmt: skip


def _target(kind: int, counts: Ints, settings: DensitySettings, **own: NDArray[Any]) -> Likelihoods:
    """Return the likelihoods of one target; its nodes get their slots in ``assemble``."""
    n, n_missing, n_slots = counts.sum(axis=1), counts[:, 0], len(counts)
    present, missing = log_presence(n, n_missing, area=settings.area, rho=settings.rho)
    no_ints, no_floats = np.empty(0, np.int64), np.empty(0)
    parts: dict[str, NDArray[Any]] = {
        "kind": np.array([kind], dtype=np.int8), "slot": np.empty(0, dtype=np.int32),
        "n": n, "n_missing": n_missing, "log_present": present, "log_missing": missing,
        "bandwidth": np.zeros(n_slots), "main": np.zeros(n_slots, np.int64),
        "segment_ptr": np.zeros(n_slots + 1, np.int64), "segment_from": no_floats,
        "segment_start": no_floats, "step": no_floats, "table_ptr": np.zeros(1, np.int64),
        "table": np.empty(0, np.float32), "value_ptr": np.zeros(n_slots + 1, np.int64),
        "log_value": no_floats, "count": no_ints, "distinct_ptr": np.zeros(2, np.int64),
        "distinct": no_floats, "outer": np.full(2 * len(OUTER_SHARES), np.nan),
    }  # fmt: skip
    return Likelihoods(**(parts | own))


def outer_quantiles(counted: ValueCounts, grids: Grids) -> Floats:
    """Return the values beyond which `OUTER_SHARES` of the first slot's rows lie, on both sides."""
    first = slice(0, int(counted.ptr[1]))
    value, weight = grids.left[0] + counted.cell[first] * grids.width[0], counted.weight[first]
    if not len(value):
        return np.full(2 * len(OUTER_SHARES), np.nan)
    inner = 1 - np.array(OUTER_SHARES)
    up, down = np.cumsum(weight), np.cumsum(weight[::-1])
    below = value[::-1][np.searchsorted(down, inner * down[-1])]
    return np.concatenate((below, value[np.searchsorted(up, inner * up[-1])]))


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
