"""Estimating the distribution of each target in each of its scoring nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from admercs.arrays import Codes, Floats, Ints
from admercs.density import counts, fitting
from admercs.density.counts import TargetPlan, ValueCounts
from admercs.density.likelihoods import CONTINUOUS, Likelihoods, assemble, column_kind, of_counts
from admercs.method.scoring_nodes import ScoringNodes
from admercs.method.settings import Method, Tail
from admercs.pipeline.grow import add_lists, reader
from admercs.pipeline.rows import Kept, Rows
from admercs.table.bins import Binning
from admercs.table.columns import Column
from admercs.table.prepared import Prepared
from admercs.table.schema import Schema
from admercs.trees.forest import Forest, Leaves

FEW_VALUES = 400_000  # of several targets: their densities are estimated together


class Target(NamedTuple):
    """A target and its scoring nodes."""

    plan: TargetPlan
    column: Column
    edges: Floats


def plan_targets(
    schema: Schema, binning: Binning, forest: Forest, scoring: ScoringNodes
) -> list[Target]:
    """Return what is estimated: each target in each of its scoring nodes."""
    stops = forest.stops()
    plans = [
        counts.plan_target(forest, m, scoring.of_tree(forest, m), stops)
        for m in range(forest.n_trees)
    ]
    return [Target(plans[m], column, binning.edges[m]) for m, column in enumerate(schema.used)]


def estimate_likelihoods(
    rows: Rows, codes: Kept, leaves: Kept, targets: list[Target], n_nodes: int, method: Method
) -> Likelihoods:
    """Estimate how likely each value is in each scoring node."""
    parts = rows.for_each(
        "densities",
        lambda batch: _estimate(rows, codes, leaves, [targets[m] for m in batch], method),
        len(targets),
        few=FEW_VALUES,
    )
    return assemble(parts, [target.plan.nodes for target in targets], n_nodes)


def _estimate(
    rows: Rows, codes: Kept, leaves: Kept, targets: list[Target], method: Method
) -> list[Likelihoods]:
    settings, shares = method.density, (method.tail or Tail()).shares
    coded = _count_codes(rows, codes, leaves, targets)
    starts = {
        k: fitting.start_target(coded[k], edges, column.limits, settings)
        for k, (_, column, edges) in enumerate(targets)
        if column_kind(column) == CONTINUOUS
    }
    counted = _count(rows, leaves, targets, starts)
    # Values are counted again on better grids where the first did not fit.
    starts = {k: fitting.check_grids(start, counted[k]) for k, start in starts.items()}
    again = {k: start for k, start in starts.items() if start.spread is None}
    counted |= _count(rows, leaves, targets, again)
    finished = fitting.finish_targets(list(starts.values()), [counted[k] for k in starts], shares)
    return [
        next(finished) if k in starts else of_counts(target.column, coded[k], settings, shares)
        for k, target in enumerate(targets)
    ]


def _count_codes(rows: Rows, codes: Kept, leaves: Kept, targets: list[Target]) -> list[Ints]:
    """Count the codes of some targets in each of their scoring nodes."""
    # Values are read where codes do not tell all those of a discrete target apart.
    read = [
        plan.target
        for plan, column, edges in targets
        if column.distinct and len(edges) != len(column.distinct) - 1
    ]
    kept = rows.read("", codes_by_leaf, codes, leaves, shared=(targets,), columns=read)
    pairs = zip(targets, rows.merge(add_lists, kept), strict=True)
    return [counts.node_counts(target.plan, each) for target, each in pairs]


def codes_by_leaf(table: Any, codes: Codes, leaves: Leaves, targets: list[Target]) -> list[Ints]:
    """Count the codes of some targets in each leaf of their trees."""
    counted = []
    for plan, column, edges in targets:
        m, layout = plan.target, fitting.code_layout(column, edges)
        own = fitting.target_codes(column, edges, codes[m], reader(table, m))
        counted.append(counts.count_codes(own, leaves[m], plan, *layout))
    return counted


def _count(
    rows: Rows, leaves: Kept, targets: list[Target], starts: dict[int, fitting.Start]
) -> dict[int, ValueCounts]:
    """Count the values of targets on their grids."""
    if not starts:
        return {}
    wanted = {k: (targets[k].plan, start.grids) for k, start in starts.items()}
    columns = [plan.target for plan, _ in wanted.values()]
    parts = rows.read("", values_on_grids, leaves, shared=(wanted,), columns=columns)
    merged: dict[int, ValueCounts] = rows.merge(merge_targets, parts)
    return merged


def values_on_grids(
    table: Prepared, leaves: Leaves, wanted: dict[int, Any]
) -> dict[int, ValueCounts]:
    """Count a piece's values of some targets on their grids."""
    return {
        k: counts.count_values(table.column(plan.target), leaves[plan.target], plan, grids)
        for k, (plan, grids) in wanted.items()
    }


def merge_targets(parts: Sequence[dict[int, ValueCounts]]) -> dict[int, ValueCounts]:
    """Add up the counts of several pieces, target by target."""
    return {k: counts.merge_values([part[k] for part in parts]) for k in parts[0]}
