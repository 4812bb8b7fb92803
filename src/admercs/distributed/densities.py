"""The densities of all scoring nodes, from counts that are merged over partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from distributed import Future
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
)
from admercs.density.grids import Grids
from admercs.density.likelihoods import (
    CONTINUOUS,
    Likelihoods,
    assemble,
    column_kind,
    of_counts,
)
from admercs.detector.fit import FitSettings
from admercs.distributed.pieces import (
    Piece,
    Placed,
    Walk,
    add_lists,
    check_rows,
    open_numbers,
    positions,
)
from admercs.distributed.run import Run
from admercs.table.bins import Binning
from admercs.table.columns import Column
from admercs.table.schema import Schema
from admercs.trees.forest import Forest
from admercs.trees.grow import layout_of
from admercs.trees.nodes import NodeArrays

Ints = NDArray[np.int64]
Recount = tuple[TargetPlan, Grids]


def place_on_cluster(
    run: Run,
    pieces: Sequence[Future],
    schema: Schema,
    binning: Binning,
    forest: Forest,
    trees: Sequence[NodeArrays],
) -> tuple[list[Future], list[Ints]]:
    """Let the workers keep the leaves of each row instead of its codes.

    Returns
    -------
    placed : list of future
        The `Placed` of each partition.
    by_code : list of ndarray
        How often each target's codes occur in each leaf of its tree.
    """
    walk = Walk(layout_of(binning), list(trees), forest.root)
    plans = [plan_target(forest, m, forest.judges(m)) for m in range(len(schema.used))]
    layouts = [code_layout(column, binning.edges[m]) for m, column in enumerate(schema.used)]
    shared = run.share((walk, plans, layouts))
    steps = [run.submit(place_rows, piece, shared) for piece in pieces]
    placed = [run.submit(rows_of, step) for step in steps]
    counts = run.reduce(add_lists, [run.submit(counts_of, step) for step in steps])
    run.wait("", placed)
    return placed, run.result(counts)


def place_rows(piece: Piece, shared: Any) -> tuple[Placed, list[Ints]]:
    """Find the leaves of a partition's rows, and count each target's codes in them."""
    walk, plans, layouts = shared
    placed = walk.place(piece)
    counts = [
        count_codes(piece.values.get(m, piece.codes[m]), placed.leaves[m], plan, *layouts[m])
        for m, plan in enumerate(plans)
    ]
    return placed, counts


def rows_of(step: tuple[Placed, list[Ints]]) -> Placed:
    """Return the leaves."""
    return step[0]


def counts_of(step: tuple[Placed, list[Ints]]) -> list[Ints]:
    """Return the counts."""
    return step[1]


def fit_likelihoods_on_cluster(
    run: Run,
    placed: Sequence[Future],
    by_code: list[Ints],
    schema: Schema,
    binning: Binning,
    forest: Forest,
    settings: FitSettings,
) -> Likelihoods:
    """Estimate how likely each value is in each scoring node; reads the table once or twice.

    The second reading happens only if the first grid did not fit the values of some node.
    """
    columns = schema.used
    plans = [plan_target(forest, m, forest.judges(m)) for m in range(len(columns))]
    done: dict[int, Future] = {}
    starts: dict[int, Start] = {}
    for m, column in enumerate(columns):
        counts = node_counts(plans[m], by_code[m])
        if column_kind(column) == CONTINUOUS:
            limits = column_limits(column)
            starts[m] = start_target(
                plans[m], counts, binning.edges[m], limits, settings.judging.density
            )
        else:
            done[m] = run.submit(of_counts, column, counts, settings.judging.density)
    if starts:
        count = partial(_count_values, run, placed, schema)
        done |= _continuous(run, count, starts)
    parts = run.result([done[m] for m in range(len(columns))])
    return assemble(parts, [plan.nodes for plan in plans], len(forest.n))


def column_limits(column: Column) -> tuple[float, float]:
    """Return the smallest and the largest working value; (0, 0) where there is none."""
    if column.low is None or column.high is None:
        return 0.0, 0.0
    return float(column.low), float(column.high)


def _continuous(
    run: Run,
    count: Callable[[str, dict[int, Recount]], dict[int, Future]],
    starts: dict[int, Start],
) -> dict[int, Future]:
    """Count values on grids, on better ones where the first did not fit, and finish."""
    counted = count("densities", {m: (start.plan, start.grids) for m, start in starts.items()})
    found = run.result([run.submit(check_grids, start, counted[m]) for m, start in starts.items()])
    checks: dict[int, Check] = dict(zip(starts, found, strict=True))
    more = {m: checks[m].to_count(start) for m, start in starts.items()}
    recounts = {m: recount for m, recount in more.items() if recount is not None}
    again = count("densities, closer", recounts) if recounts else {}
    return {
        m: run.submit(finish_target, start, counted[m], checks[m], again.get(m))
        for m, start in starts.items()
    }


def _count_values(
    run: Run, placed: Sequence[Future], schema: Schema, phase: str, grids: dict[int, Recount]
) -> dict[int, Future]:
    parts = run.read(
        phase, count_values_of, run.share(schema), run.share(grids),
        each=[placed], columns=positions(schema, list(grids)),
    )  # fmt: skip
    merged = run.reduce(merge_targets, parts)
    return {m: run.submit(target_of, merged, m) for m in grids}


def count_values_of(
    part: Any, placed: Placed, schema: Schema, grids: dict[int, Recount]
) -> dict[int, ValueCounts]:
    """Count a partition's values of some targets on their grids."""
    check_rows(placed.n_rows, part)
    table = open_numbers(part, schema, list(grids))
    return {
        m: count_values(table.column(k), placed.leaves[m], plan, grid)
        for k, (m, (plan, grid)) in enumerate(grids.items())
    }


def merge_targets(parts: list[dict[int, ValueCounts]]) -> dict[int, ValueCounts]:
    """Add up the counts of several partitions, target by target."""
    return {m: merge_values([part[m] for part in parts]) for m in parts[0]}


def target_of(merged: dict[int, ValueCounts], m: int) -> ValueCounts:
    """Return the counts of one target."""
    return merged[m]
