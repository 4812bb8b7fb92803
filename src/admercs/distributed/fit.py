"""Fitting a model to a Dask table: the passes of ``detector.fit``, each merged over the partitions.

How often the raw table is read: once to learn what its columns are, once for codes and exact bin edges, once or
twice for the densities, once to judge its rows; if leaves may be suspected because of missing values, or hold
narrow contexts, once to judge their rows column by column (twice if such a part is found only without missing
values); and, if contexts turn out to be suspicious, once to judge all rows with the finished model. In a table of
up to half a million cells rows are compared with each other in its place, and judged again only if that tells
nothing. With the paper's likelihoods once more, to look up the rows of suspicious contexts. Only the first two
readings need all columns, the others only numeric ones. Trees grow, tests that change nothing are found and
contexts are iterated without reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from admercs.detector.fit import (
    MAX_MEMBERS,
    FitSettings,
    Quantiles,
    complete_model,
    first_model,
    remembered_contexts,
)
from admercs.detector.model import Model
from admercs.detector.neighbours import may_have_neighbours
from admercs.distributed import quantiles
from admercs.distributed.contexts import RowsOnCluster, judge_again, judge_part
from admercs.distributed.densities import (
    column_limits,
    fit_likelihoods_on_cluster,
    place_on_cluster,
)
from admercs.distributed.drafts import Limits
from admercs.distributed.edges import encode_on_cluster
from admercs.distributed.growth import Target, grow_on_cluster, make_targets
from admercs.distributed.idle import idle_tests_on_cluster
from admercs.distributed.local import some_client
from admercs.distributed.neighbours import neighbours_on_cluster
from admercs.distributed.pieces import (
    Placed,
    add_lists,
    count_all_codes,
    look_at,
    merge_looks,
    numeric_columns,
    only_codes,
    positions,
    signatures,
)
from admercs.distributed.run import Run
from admercs.distributed.suspects import TrialOnCluster, find_suspects_on_cluster
from admercs.evidence.feedback import converge
from admercs.progress import Progress
from admercs.table.bins import Binning
from admercs.table.schema import Schema, learn_schema
from admercs.table.summary import TableSummary, merge_summaries
from admercs.trees.growth import leaf_size

N_SAMPLED = 1 << 18
"""Values of a column that are sampled in all, to guess bin edges from; at least 1,024 a partition."""


class FittedOnCluster(NamedTuple):
    """A model fitted to partitions."""

    model: Model
    n_iter: int
    threshold: float  # the evidence from which rows are flagged
    has_names: bool


def fit_on_cluster(
    table: Any,
    nominal: Any,
    settings: FitSettings,
    threshold: Callable[[Quantiles], float],
    progress: Progress | None = None,
) -> FittedOnCluster:
    """Fit a model to a Dask DataFrame, on the active client or on a local one.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
        The table.
    nominal : "auto" or list
        Columns to be treated as nominal.
    settings : FitSettings
        As for a table in memory; ``n_jobs`` is ignored, the cluster's threads do the work.
    threshold : callable
        Given a function that returns quantiles of the training rows' evidence, return the evidence from
        which a row is flagged.
    progress : callable, optional
        Told ``(phase, done, total)``.
    """
    with some_client() as client, Run(client, table, progress) as run:
        if run.n_parts == 0:
            raise ValueError("The table has no partitions, hence no rows to learn from.")
        looks, summary, schema, n_rows = _first_look(run, nominal)
        limits = _limits(schema, settings)
        binning, pieces = encode_on_cluster(run, looks, summary, schema, settings.max_bins, limits)
        del looks
        targets = _targets(run, pieces, schema, binning, settings)
        forest, trees = grow_on_cluster(run, pieces, targets, binning, settings.trees)
        placed, by_code = place_on_cluster(run, pieces, schema, binning, forest, trees)
        pieces = [run.submit(only_codes, piece) for piece in pieces]
        del targets
        likelihoods = fit_likelihoods_on_cluster(
            run, placed, by_code, schema, binning, forest, settings
        )
        model = first_model(schema, forest, likelihoods, settings, summary.n_rows)
        shared = run.share(model)
        columns = positions(schema, numeric_columns(schema))
        base = run.read("judging", judge_part, shared, each=[placed], columns=columns)
        trial = find_suspects_on_cluster(
            run, model, shared, binning, pieces, placed, base, columns,
            leaf_size(settings.trees, summary.n_rows), settings.feedback,
        )  # fmt: skip
        placed = trial.placed
        forest = idle_tests_on_cluster(run, pieces, placed, binning, trial.model.forest)
        del pieces
        trial = trial._replace(model=replace(trial.model, forest=forest))
        model, n_iter = _let_contexts_speak(run, trial, base, columns, settings)
        found = None
        if may_have_neighbours(summary.n_rows, len(schema.used), settings.feedback):
            found = neighbours_on_cluster(run, model, binning, placed, base, columns)
        if found is None:
            evidence = _judge_finally(run, model, placed, base, columns)
        else:
            neighbours, evidence = found
            model = replace(model, neighbours=neighbours)
        known = quantiles.Quantiles(run, evidence)
        members = _members(run, model, placed, n_rows)
        model = complete_model(model, known, members)
        return FittedOnCluster(model, n_iter, threshold(known), summary.has_names)


def _first_look(run: Run, nominal: Any) -> tuple[list[Future], TableSummary, Schema, list[int]]:
    """Read the table once: what its columns are, and a sample of its rows (which stays on the workers)."""
    size = max(1024, N_SAMPLED // run.n_parts)
    numbers = range(run.n_parts)
    looks = run.read("reading", look_at, nominal, size, each=[numbers])
    parts = run.result(run.reduce(signatures, looks))
    check_partitions(parts)
    summary = run.result(run.reduce(merge_looks, looks))
    return looks, summary, learn_schema(summary), [part.n_rows for part in parts]


def check_partitions(parts: Sequence[TableSummary]) -> None:
    """Raise a ValueError that names the first partition that differs from most, and its column."""

    def shape(part: TableSummary) -> tuple[Any, ...]:
        return tuple((column.name, column.kind, column.unit) for column in part.columns)

    full = [part for part in parts if part.n_rows] or list(parts)
    usual = Counter(map(shape, full)).most_common(1)[0][0]
    pattern = next(part for part in full if shape(part) == usual)
    for part in parts:
        merge_summaries([pattern, part])


def _limits(schema: Schema, settings: FitSettings) -> Limits:
    """Return the smallest and the largest value of targets that are predicted as numbers."""
    if settings.trees.criterion == "distribution":
        return {}
    return {
        m: column_limits(column) for m, column in enumerate(schema.used) if column.role == "numeric"
    }


def _targets(
    run: Run, pieces: Sequence[Future], schema: Schema, binning: Binning, settings: FitSettings
) -> list[Target]:
    """Bring each column into the form its tree predicts."""
    counts = [
        run.submit(count_all_codes, [pieces[p] for p in group], binning.n_codes)
        for group in run.groups(pieces)
    ]
    code_counts = run.result(run.reduce(add_lists, counts))
    return make_targets(settings.trees, schema.used, code_counts)


def _let_contexts_speak(
    run: Run,
    trial: TrialOnCluster,
    base: list[Future],
    columns: list[int],
    settings: FitSettings,
) -> tuple[Model, int]:
    """Find the anomalous contexts."""
    model, placed, tried, narrow, own = trial
    rows = RowsOnCluster(
        run, run.share(model), model.forest, placed, base, columns,
        model.weighing, settings.judging.feedback, tried, narrow, own,
    )  # fmt: skip
    log_lambda, n_iter = converge(
        rows, model.forest, tried, settings.judging.gamma_lambda,
        settings.judging.feedback, settings.n_iter, settings.tol, partial(run.tell, "iterating"),
    )  # fmt: skip
    return replace(model, log_lambda=log_lambda), n_iter


def _judge_finally(
    run: Run, model: Model, placed: list[Future], base: list[Future], columns: list[int]
) -> list[Future]:
    """Return the evidence by the model with its contexts, on the workers."""
    if not (model.log_lambda > -np.inf).any():
        return base
    shared = run.share(model)
    return run.read("judging, finally", judge_again, shared, each=[placed, base], columns=columns)


def _members(
    run: Run, model: Model, placed: Sequence[Future], n_rows: list[int]
) -> dict[int, NDArray[np.int64]]:
    """Return the training rows of the anomalous contexts, numbered over all partitions."""
    nodes = remembered_contexts(model).tolist()
    if not nodes:
        return {}
    first = np.cumsum([0, *n_rows[:-1]]).tolist()
    parts = [
        run.submit(first_members, part, nodes, start)
        for part, start in zip(placed, first, strict=True)
    ]
    members: dict[int, NDArray[np.int64]] = run.result(run.reduce(merge_members, parts))
    return members


def first_members(placed: Placed, nodes: list[int], start: int) -> dict[int, NDArray[np.int64]]:
    """Return the first rows of a partition in some contexts."""
    return {node: start + placed.leaves.rows_in(node)[:MAX_MEMBERS] for node in nodes}


def merge_members(parts: list[dict[int, NDArray[np.int64]]]) -> dict[int, NDArray[np.int64]]:
    """Return the first rows of several partitions."""
    return {node: np.concatenate([part[node] for part in parts])[:MAX_MEMBERS] for node in parts[0]}
