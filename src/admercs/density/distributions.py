"""The distributions of one target before and after ρ is chosen, and all targets put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from admercs.density.arrays import Floats, Ints, pointers
from admercs.density.frequencies import log_presence, log_threshold, value_frequencies
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, NOMINAL, Likelihoods
from admercs.density.plans import TargetPlan
from admercs.density.tables import Tables
from admercs.density.thresholds import quantile_levels
from admercs.table.columns import Column


class TargetDistributions(NamedTuple):
    """All distributions of one target. They do not depend on ρ yet."""

    kind: int
    nodes: Ints  # the node of each slot
    n: Ints
    n_missing: Ints
    counts: Ints  # slots x values; no columns for a continuous target
    n_grouped: int
    distinct: tuple[float, ...]
    bandwidth: Floats
    tables: Tables | None  # continuous targets


def column_kind(column: Column) -> int:
    """Return how a column is judged: by a smooth density, or by how often each value occurs."""
    if column.role == "nominal":
        return NOMINAL
    return DISCRETE if column.distinct else CONTINUOUS


def n_values(column: Column) -> int:
    """Return how many values a discrete or nominal column has; unseen categories share one."""
    return len(column.categories) + 1 if column.role == "nominal" else len(column.distinct)


def of_few_values(plan: TargetPlan, column: Column, counts: Ints) -> TargetDistributions:
    """Describe a nominal or discrete target by its counted codes (slots x codes, 0 is missing)."""
    return TargetDistributions(
        column_kind(column), plan.nodes, counts.sum(axis=1), counts[:, 0], counts[:, 1:],
        column.n_grouped, column.distinct, np.zeros(plan.n_slots), None,
    )  # fmt: skip


def of_many_values(
    plan: TargetPlan, counts: Ints, bandwidth: Floats, tables: Tables
) -> TargetDistributions:
    """Describe a continuous target by its density tables."""
    return TargetDistributions(
        CONTINUOUS, plan.nodes, counts.sum(axis=1), counts[:, 0],
        np.empty((plan.n_slots, 0), dtype=np.int64), 0, (), bandwidth, tables,
    )  # fmt: skip


def at_rho(target: TargetDistributions, rho: float) -> Likelihoods:
    """Turn densities into likelihoods ω = min(1, κ / τ(ρ)); the result holds this one target.

    Cheap: only the threshold of each slot is looked for, nothing is counted again. Nodes are not
    numbered yet (``slot`` is empty); ``assemble`` does that.
    """
    n_slots = len(target.nodes)
    log_present, log_missing = log_presence(target.n, target.n_missing, rho)
    n_present = target.n - target.n_missing
    empty, no_ptr = np.empty(0), np.zeros(n_slots + 1, dtype=np.int64)
    log_value = segment_start = empty
    segment_ptr, table_ptr = no_ptr, np.zeros(1, dtype=np.int64)
    table = np.empty(0, dtype=np.float32)
    step = np.ones(n_slots)
    if target.tables is not None:
        tables = target.tables
        above = quantile_levels(tables.level_ptr, tables.level, tables.mass, rho)
        log_floor, log_tau = -above, above + tables.log_floor
        slots = np.repeat(np.arange(n_slots), np.diff(tables.segment_ptr))
        shift = np.repeat(above[slots], np.diff(tables.table_ptr))
        table = (tables.table - shift).astype(np.float32)
        segment_ptr, segment_start = tables.segment_ptr, tables.segment_start
        table_ptr, step = tables.table_ptr, tables.step
    else:
        kappa = value_frequencies(target.counts, target.n_grouped)
        log_tau = log_threshold(kappa, target.counts, rho)
        # A node where every value is missing knows no distribution: only presence is judged there.
        log_value = np.where(n_present[:, None] > 0, np.log(kappa) - log_tau[:, None], 0.0).ravel()
        log_floor = np.where(n_present > 0, -np.log(np.maximum(n_present, 1)) - log_tau, 0.0)
    width = target.counts.shape[1]
    return Likelihoods(
        kind=np.array([target.kind], dtype=np.int8),
        slot=np.empty(0, dtype=np.int32),
        n=target.n,
        n_missing=target.n_missing,
        log_present=log_present,
        log_missing=log_missing,
        log_floor=log_floor,
        log_tau=log_tau,
        bandwidth=target.bandwidth,
        step=step,
        segment_ptr=segment_ptr,
        segment_start=segment_start,
        table_ptr=table_ptr,
        table=table,
        value_ptr=np.arange(n_slots + 1, dtype=np.int64) * width,
        log_value=log_value,
        count=target.counts.ravel(),
        distinct_ptr=np.array([0, len(target.distinct)], dtype=np.int64),
        distinct=np.array(target.distinct, dtype=np.float64),
    )


def assemble(parts: Sequence[Likelihoods], nodes: Sequence[Ints], n_nodes: int) -> Likelihoods:
    """Put the likelihoods of all targets one after the other and number the nodes' slots.

    Parameters
    ----------
    parts : sequence of Likelihoods
        One per target, from ``at_rho``.
    nodes : sequence of array
        Per target, the node of each of its slots.
    n_nodes : int
        Nodes of the forest.
    """
    slot = np.full(n_nodes, -1, dtype=np.int32)
    all_nodes = np.concatenate(nodes)
    slot[all_nodes] = np.arange(len(all_nodes), dtype=np.int32)
    joined: dict[str, Any] = {}
    for name in Likelihoods._fields:
        arrays = [getattr(part, name) for part in parts]
        if name.endswith("_ptr"):
            joined[name] = pointers(np.concatenate([np.diff(array) for array in arrays]))
        else:
            joined[name] = np.concatenate(arrays)
    joined["slot"] = slot
    return Likelihoods(**joined)
