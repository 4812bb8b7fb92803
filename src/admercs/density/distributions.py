"""The distributions of one target before and after ρ is chosen, and all targets put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from admercs.density.area import (
    N_HEIGHTS,
    frequency_areas,
    heights_of_areas,
    log_areas,
    to_area,
)
from admercs.density.arrays import Floats, Ints, pointers
from admercs.density.frequencies import (
    log_presence,
    log_threshold,
    presence_areas,
    value_frequencies,
)
from admercs.density.likelihoods import CONTINUOUS, DISCRETE, NOMINAL, Likelihoods
from admercs.density.plans import TargetPlan
from admercs.density.tables import Tables
from admercs.density.tails import no_tail
from admercs.density.thresholds import quantile_levels
from admercs.table.columns import Column

Likelihood = Literal["paper", "area"]


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
    tail: Floats  # of the whole column, see `tails`


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
        column.n_grouped, column.distinct, np.zeros(plan.n_slots), None, no_tail(),
    )  # fmt: skip


def of_many_values(
    plan: TargetPlan, counts: Ints, bandwidth: Floats, tables: Tables, tail: Floats
) -> TargetDistributions:
    """Describe a continuous target by its density tables."""
    return TargetDistributions(
        CONTINUOUS, plan.nodes, counts.sum(axis=1), counts[:, 0],
        np.empty((plan.n_slots, 0), dtype=np.int64), 0, (), bandwidth, tables, tail,
    )  # fmt: skip


def to_likelihoods(
    target: TargetDistributions, rho: float, likelihood: Likelihood = "paper"
) -> Likelihoods:
    """Turn densities into likelihoods; the result holds this one target.

    Cheap: nothing is counted again. Nodes are not numbered yet (``slot`` is empty); ``assemble`` does
    that.

    Parameters
    ----------
    target : TargetDistributions
    rho : float
        The fraction of a node's rows that count as typical there.
    likelihood : {"paper", "area"}
        "paper": ω = min(1, κ / τ(ρ)). "area": the area below the height κ, which needs no ρ.
    """
    n_slots = len(target.nodes)
    if likelihood == "paper":
        log_present, log_missing = log_presence(target.n, target.n_missing, rho)
    else:
        log_present, log_missing = presence_areas(target.n, target.n_missing)
    entries = _of_tables(target, rho, likelihood) or _of_counts(target, rho, likelihood)
    width = target.counts.shape[1]
    return Likelihoods(
        kind=np.array([target.kind], dtype=np.int8),
        slot=np.empty(0, dtype=np.int32),
        n=target.n,
        n_missing=target.n_missing,
        log_present=log_present,
        log_missing=log_missing,
        bandwidth=target.bandwidth,
        value_ptr=np.arange(n_slots + 1, dtype=np.int64) * width,
        count=target.counts.ravel(),
        distinct_ptr=np.array([0, len(target.distinct)], dtype=np.int64),
        distinct=np.array(target.distinct, dtype=np.float64),
        tail=target.tail,
        **entries,
    )


def _of_tables(
    target: TargetDistributions, rho: float, likelihood: Likelihood
) -> dict[str, Any] | None:
    """Return the entries of a continuous target, None for others."""
    tables = target.tables
    if tables is None:
        return None
    tau = quantile_levels(tables.level_ptr, tables.level, tables.mass, rho)
    n_slots = len(tau)
    segment_slot = np.repeat(np.arange(n_slots), np.diff(tables.segment_ptr))
    slot_of = np.repeat(segment_slot, np.diff(tables.table_ptr))
    log_height = np.empty(0)
    if likelihood == "paper":
        table, log_floor, log_typical = tables.table - tau[slot_of], -tau, np.zeros(n_slots)
        log_least = log_floor
    else:
        top, knots = log_areas(tables.level_ptr, tables.level, tables.mass)
        table = to_area(slot_of, tables.table, top, knots)
        log_typical = to_area(np.arange(n_slots), tau, top, knots)
        log_floor = knots[:, 0].copy()
        # A value never seen is as likely as one seen once.
        once = -np.log(np.maximum(target.n - target.n_missing, 1))
        log_least = np.minimum(log_floor, once)
        log_height = (heights_of_areas(top, knots) + tables.log_floor[:, None]).ravel()
    return {
        "log_floor": log_floor,
        "log_least": log_least,
        "log_typical": log_typical,
        "log_tau": tau + tables.log_floor,
        "log_height": log_height,
        "segment_ptr": tables.segment_ptr,
        "main": tables.main,
        "segment_from": tables.segment_from,
        "segment_start": tables.segment_start,
        "step": tables.step,
        "table_ptr": tables.table_ptr,
        "table": table.astype(np.float32),
        "log_value": np.empty(0),
    }


def _of_counts(target: TargetDistributions, rho: float, likelihood: Likelihood) -> dict[str, Any]:
    """Return the entries of a discrete or nominal target."""
    n_slots = len(target.nodes)
    n_present = target.n - target.n_missing
    kappa = value_frequencies(target.counts, target.n_grouped)
    log_tau = log_threshold(kappa, target.counts, rho)
    once = 1.0 / np.maximum(n_present, 1)
    if likelihood == "paper":
        # A node where every value is missing knows no distribution: only presence is judged there.
        known = n_present > 0
        log_value = np.where(known[:, None], np.log(kappa) - log_tau[:, None], 0.0)
        log_floor = np.where(known, np.log(once) - log_tau, 0.0)
        log_typical = np.zeros(n_slots)
    else:
        log_value, log_floor = frequency_areas(kappa, target.counts, once)
        # A value is typical if it occurs at least as often as the rarest typical one.
        typical = np.where(np.log(kappa) >= log_tau[:, None] - 1e-12, log_value, 0.0)
        log_typical = typical.min(axis=1, initial=0.0)
    return {
        "log_floor": log_floor,
        "log_least": log_floor,
        "log_typical": log_typical,
        "log_tau": log_tau,
        "log_height": np.empty(0) if likelihood == "paper" else np.zeros(n_slots * N_HEIGHTS),
        "segment_ptr": np.zeros(n_slots + 1, dtype=np.int64),
        "main": np.zeros(n_slots, dtype=np.int64),
        "segment_from": np.empty(0),
        "segment_start": np.empty(0),
        "step": np.empty(0),
        "table_ptr": np.zeros(1, dtype=np.int64),
        "table": np.empty(0, dtype=np.float32),
        "log_value": log_value.ravel(),
    }


def assemble(parts: Sequence[Likelihoods], nodes: Sequence[Ints], n_nodes: int) -> Likelihoods:
    """Put the likelihoods of all targets one after the other and number the nodes' slots.

    Parameters
    ----------
    parts : sequence of Likelihoods
        One per target, from ``to_likelihoods``.
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
