"""Fitting a model: encode, grow, estimate densities, judge, iterate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from admercs.density.fitting import fit_likelihoods
from admercs.density.likelihoods import Likelihoods
from admercs.detector.judge import Judge, judge_evidence, run_blocks
from admercs.detector.model import Model, Settings
from admercs.detector.neighbours import find_neighbours, may_have_neighbours
from admercs.detector.suspects import Trial, find_suspects_in_memory
from admercs.evidence.feedback import iterate
from admercs.evidence.neighbours import Neighbours
from admercs.method.tail import read_lowered
from admercs.table.bins import Binning, bin_table
from admercs.table.prepared import Prepared
from admercs.table.schema import Schema
from admercs.trees.forest import Forest, Leaves, rows_within
from admercs.trees.grow import layout_of
from admercs.trees.growth import TreeSettings, grow_forest, leaf_size
from admercs.trees.idle import with_idle_tests

# Levels at which the training evidence is remembered: fine where percentiles matter.
QUANTILE_LEVELS = np.unique(
    np.concatenate([np.linspace(0, 0.99, 100), 1 - np.geomspace(0.01, 1e-6, 200), [1.0]])
)
# Members are remembered for contexts with at least this score, and no more than so many of each.
MEMBER_SCORE = 0.1
MAX_MEMBERS = 1000
# The largest array whose memory glibc keeps for the next one, less what it needs itself.
KEPT_BYTES = (1 << 25) - (1 << 16)

Progress = Callable[[str, int, int], None]
# The quantiles of the training rows' evidence at some levels, wherever the rows are.
Quantiles = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class FitSettings:
    """All that fitting needs to know."""

    trees: TreeSettings
    judging: Settings
    n_iter: int
    tol: float
    max_bins: int | Literal["exact"]
    n_jobs: int

    @property
    def feedback(self) -> str | None:
        """What guilt is measured by; None if rows are judged once and no context is suspected."""
        return self.judging.feedback if self.n_iter > 1 else None


@dataclass(frozen=True)
class Fitted:
    """A model and what is known of its training rows."""

    model: Model
    evidence: NDArray[np.float64]
    n_iter: int


def fit_model(
    table: Prepared, schema: Schema, settings: FitSettings, progress: Progress | None = None
) -> Fitted:
    """Fit a model to a table in memory."""

    def tell(phase: str) -> Callable[[int, int], None]:
        def report(done: int, total: int) -> None:
            if progress is not None:
                progress(phase, done, total)

        return report

    _keep_memory()
    n_jobs = settings.n_jobs
    binning, codes = bin_table(table, schema, settings.max_bins, n_jobs)
    tell("encoding")(1, 1)
    forest, leaves = grow_forest(
        codes, binning.edges, binning.n_codes, schema.used, table.column, settings.trees, n_jobs,
        tell("trees"),
    )  # fmt: skip
    likelihoods = fit_likelihoods(
        forest, codes, leaves, table.column, binning.edges, schema.used,
        settings.judging.density, n_jobs, tell("densities"),
    )  # fmt: skip
    model = first_model(schema, forest, likelihoods, settings, table.n_rows)
    base = judge_evidence(model, table, n_jobs, leaves, tell("judging"))
    trial = find_suspects_in_memory(
        model, table, binning, codes, leaves, base, leaf_size(settings.trees, table.n_rows),
        settings.feedback, n_jobs,
    )  # fmt: skip
    forest = with_idle_tests(trial.model.forest, codes, trial.leaves, layout_of(binning), n_jobs)
    trial = trial._replace(model=replace(trial.model, forest=forest))
    del codes
    return _let_others_speak(trial, table, binning, base, settings, tell)


def _keep_memory() -> None:
    """Let freed memory be used again instead of handing it back to the system.

    glibc hands back what is larger than the largest array freed so far. Every new array is then made of pages that
    the system clears first, and that takes longer than much of what we do with them. This array is never touched
    and costs nothing.
    """
    np.empty(KEPT_BYTES, np.uint8)


def first_model(
    schema: Schema, forest: Forest, likelihoods: Likelihoods, settings: FitSettings, n_rows: int
) -> Model:
    """Return the model before any context is suspected."""
    return Model(
        schema=schema,
        forest=forest,
        likelihoods=likelihoods,
        log_lambda=np.full(len(forest.feature), -np.inf),
        settings=settings.judging,
        n_rows=n_rows,
        evidence_quantiles=np.zeros(0),
        members={},
        neighbours=Neighbours.nobody(len(schema.used)),
    )


def _let_others_speak(
    trial: Trial,
    table: Prepared,
    binning: Binning,
    base: NDArray[np.float64],
    settings: FitSettings,
    tell: Callable[[str], Callable[[int, int], None]],
) -> Fitted:
    """Find the anomalous contexts and the rows that others are compared with, and complete the model."""
    model, leaves, tried, own = trial
    tail = model.tail

    def leaf_likelihood(node: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        tree = model.forest.tree_of(node)
        nodes = np.full(len(rows), model.forest.scorer[node], np.int32)
        return read_lowered(tail, model.likelihoods, tree, nodes, table.column(tree)[rows])

    feedback = iterate(
        base, leaves, model.forest, leaf_likelihood,
        weighing=model.weighing, gamma_lambda=settings.judging.gamma_lambda,
        feedback=settings.judging.feedback, n_iter=settings.n_iter, tol=settings.tol,
        tried=tried, own=own, progress=tell("iterating"),
    )  # fmt: skip
    model = replace(model, log_lambda=feedback.log_lambda)
    found = None
    if may_have_neighbours(table.n_rows, table.n_columns, settings.feedback):
        values = table.block(0, table.n_rows)
        found = find_neighbours(model, binning, values, base, leaves, settings.n_jobs)
    if found is None:
        evidence = final_evidence(model, table, leaves, base, settings.n_jobs)
    else:
        neighbours, evidence = found
        model = replace(model, neighbours=neighbours)
    model = complete_model(model, partial(np.quantile, evidence), _members(model, leaves))
    return Fitted(model, evidence, feedback.n_iter)


def complete_model(
    model: Model, quantiles: Quantiles, members: dict[int, NDArray[np.int64]]
) -> Model:
    """Let the model remember the evidence of its training rows, and who was in which context."""
    return replace(model, evidence_quantiles=quantiles(QUANTILE_LEVELS), members=members)


def final_evidence(
    model: Model, table: Prepared, leaves: Leaves, base: NDArray[np.float64], n_jobs: int = 1
) -> NDArray[np.float64]:
    """Judge the rows of anomalous contexts again, so that all scores are those of the finished model.

    The iteration adds a context's part to a row's sum; judging sums the cells in their order. The last bit
    may differ, and scoring the training table must give the training scores.
    """
    suspicious = model.log_lambda > -np.inf
    again, _ = rows_within(leaves, table.n_rows, model.forest.root, suspicious)
    evidence = base.copy()
    judge = Judge(model)

    def work(start: int, stop: int) -> None:
        rows = again[start:stop]
        evidence[rows] = judge.own_cells(table.some(rows), leaves.of(rows)).sum(axis=1)

    run_blocks(work, len(again), n_jobs)
    return evidence


def _members(model: Model, leaves: Leaves) -> dict[int, NDArray[np.int64]]:
    """Return the training rows of the anomalous contexts."""
    return {
        int(node): leaves.rows_in(int(node))[:MAX_MEMBERS] for node in remembered_contexts(model)
    }


def remembered_contexts(model: Model) -> NDArray[np.int64]:
    """Return the contexts whose members are worth remembering."""
    return np.flatnonzero(model.log_lambda >= np.log(MEMBER_SCORE))
