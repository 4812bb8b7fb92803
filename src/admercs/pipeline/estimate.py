"""Estimating the distribution of each target in each of its scoring nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admercs.density.counts import (
    TargetPlan,
    ValueCounts,
    count_codes,
    count_values,
    merge_values,
    node_counts,
    plan_target,
)
from admercs.density.fitting import (
    Check,
    Start,
    check_grids,
    code_layout,
    finish_target,
    start_target,
    target_codes,
)
from admercs.density.likelihoods import CONTINUOUS, Likelihoods, assemble, column_kind, of_counts
from admercs.method.scoring_nodes import ScoringNodes
from admercs.method.settings import Method, Tail
from admercs.pipeline.grow import add_lists
from admercs.pipeline.rows import Kept, Rows
from admercs.table.bins import Binning
from admercs.table.columns import Column
from admercs.table.prepared import Prepared
from admercs.table.schema import Schema
from admercs.trees.forest import Forest, Leaves

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Target(NamedTuple):
    """A target and its scoring nodes."""

    plan: TargetPlan
    column: Column
    edges: Floats

    @property
    def is_continuous(self) -> bool:
        """Whether its density is estimated on grids."""
        return column_kind(self.column) == CONTINUOUS


def plan_targets(
    schema: Schema, binning: Binning, forest: Forest, scoring: ScoringNodes
) -> list[Target]:
    """Return what is estimated: each target in each of its scoring nodes."""
    return [
        Target(plan_target(forest, m, scoring.of_tree(forest, m)), column, binning.edges[m])
        for m, column in enumerate(schema.used)
    ]


def estimate_likelihoods(
    rows: Rows, codes: Kept, leaves: Kept, targets: list[Target], n_nodes: int, method: Method
) -> Likelihoods:
    """Estimate how likely each value is in each scoring node."""
    parts = rows.for_each(
        "densities",
        lambda batch: _estimate(rows, codes, leaves, [targets[m] for m in batch], method),
        len(targets),
    )
    return assemble(parts, [target.plan.nodes for target in targets], n_nodes)


def _estimate(
    rows: Rows, codes: Kept, leaves: Kept, targets: list[Target], method: Method
) -> list[Likelihoods]:
    settings = method.density
    shares = (method.tail or Tail()).shares
    counts = _count_codes(rows, codes, leaves, targets)
    starts = {
        k: start_target(target.plan, counts[k], target.edges, target.column.limits, settings)
        for k, target in enumerate(targets)
        if target.is_continuous
    }
    counted, checks, again = _count_continuous(rows, leaves, starts)
    return [
        finish_target(starts[k], counted[k], checks[k], again.get(k), shares)
        if k in starts
        else of_counts(target.column, counts[k], settings, shares)
        for k, target in enumerate(targets)
    ]


def _count_codes(rows: Rows, codes: Kept, leaves: Kept, targets: list[Target]) -> list[Ints]:
    """Count the codes of some targets in each of their scoring nodes."""
    read = [target.plan.target for target in targets if _needs_values(target)]
    if read:
        kept = rows.read("", codes_by_leaf, codes, leaves, shared=(targets,), columns=read)
    else:
        kept = rows.keep("", codes_by_leaf_unread, codes, leaves, shared=(targets,))
    merged = rows.merge(add_lists, kept)
    return [node_counts(target.plan, each) for target, each in zip(targets, merged, strict=True)]


def _needs_values(target: Target) -> bool:
    """Say whether codes do not tell all values of a discrete target apart."""
    column = target.column
    return bool(column.distinct) and len(target.edges) != len(column.distinct) - 1


def codes_by_leaf(
    table: Prepared | None, codes: Any, leaves: Leaves, targets: list[Target]
) -> list[Ints]:
    """Count the codes of some targets in each leaf of their trees."""
    counts = []
    for target in targets:
        m = target.plan.target
        own = target_codes(target.column, target.edges, codes[m], partial(_column, table, m))
        counts.append(
            count_codes(own, leaves[m], target.plan, *code_layout(target.column, target.edges))
        )
    return counts


def _column(table: Any, m: int) -> Floats:
    values: Floats = table.column(m)
    return values


def codes_by_leaf_unread(codes: Any, leaves: Leaves, targets: list[Target]) -> list[Ints]:
    """Do the same where codes tell all."""
    return codes_by_leaf(None, codes, leaves, targets)


def _count_continuous(
    rows: Rows, leaves: Kept, starts: dict[int, Start]
) -> tuple[dict[int, ValueCounts], dict[int, Check], dict[int, ValueCounts]]:
    """Count values on grids, and again on better ones where the first did not fit."""
    if not starts:
        return {}, {}, {}
    counted = _count(rows, leaves, {k: (start.plan, start.grids) for k, start in starts.items()})
    checks = {k: check_grids(start, counted[k]) for k, start in starts.items()}
    more = {k: checks[k].to_count(start) for k, start in starts.items()}
    wrong = {k: each for k, each in more.items() if each is not None}
    return counted, checks, _count(rows, leaves, wrong) if wrong else {}


def _count(rows: Rows, leaves: Kept, wanted: dict[int, Any]) -> dict[int, ValueCounts]:
    columns = [plan.target for plan, _ in wanted.values()]
    parts = rows.read("", values_on_grids, leaves, shared=(wanted,), columns=columns)
    merged: dict[int, ValueCounts] = rows.merge(merge_targets, parts)
    return merged


def values_on_grids(
    table: Prepared, leaves: Leaves, wanted: dict[int, Any]
) -> dict[int, ValueCounts]:
    """Count a piece's values of some targets on their grids."""
    return {
        k: count_values(table.column(plan.target), leaves[plan.target], plan, grids)
        for k, (plan, grids) in wanted.items()
    }


def merge_targets(parts: Sequence[dict[int, ValueCounts]]) -> dict[int, ValueCounts]:
    """Add up the counts of several pieces, target by target."""
    return {k: merge_values([part[k] for part in parts]) for k in parts[0]}
