"""Fitting a model: the order of the steps, for rows in memory and on a cluster alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from admercs.arrays import Floats, Ints, Keys
from admercs.density.likelihoods import NOMINAL
from admercs.method.border import find_zones
from admercs.method.credit import LEVELS, add_counts, usual_evidence
from admercs.method.scoring_nodes import ScoringNodes, find_scoring_nodes
from admercs.method.settings import Method
from admercs.pipeline.column_order import order_columns
from admercs.pipeline.compare import RowParts, compare_rows, rank_columns
from admercs.pipeline.encode import encode_rows
from admercs.pipeline.estimate import estimate_likelihoods, plan_targets
from admercs.pipeline.feedback_rounds import ContextSearch, iterate, without_redundant
from admercs.pipeline.grow import (
    allowed_inputs,
    count_codes,
    grow_forest,
    make_targets,
    tree_inputs,
)
from admercs.pipeline.made_columns import make_columns
from admercs.pipeline.model import QUANTILE_LEVELS, Model
from admercs.pipeline.rows import Kept, Rows
from admercs.pipeline.score import score_strongest
from admercs.table.prepared import Prepared
from admercs.table.reading_frame import TableReading, choose_readings, with_columns
from admercs.table.readings import ReadingRules
from admercs.table.schema import learn_schema
from admercs.trees.criteria import leaf_size
from admercs.trees.forest import Forest, Leaves
from admercs.trees.redundant import find_redundant
from admercs.trees.row_sample import RowSample, merge_samples, sample_rows


@dataclass(frozen=True)
class Fitted:
    """A model and what is known of its training rows."""

    model: Model
    evidence: Kept  # of the rows of each piece
    quantiles: Callable[[Floats], Floats]  # of that evidence
    n_iter: int
    value_quantiles: Callable[[Floats], Floats]  # of the evidence of each row's oddest value


def fit_model(
    rows: Rows, method: Method, nominal: Any = "auto", rules: ReadingRules | None = None
) -> Fitted:
    """Fit a model to the rows of a table, wherever they are."""
    rules = rules or ReadingRules()
    summary = rows.summary(nominal, rules)
    how = TableReading(rules, choose_readings(summary, method.columns))
    if how.readings:
        summary = with_columns(summary, sorted(how.readings), rows.read_as(how))
    smallest_leaf = leaf_size(method.trees, summary.n_rows)
    made, keys = make_columns(rows, summary, method, smallest_leaf)
    schema = learn_schema(summary, method.columns, made, how, keys)
    rows.open(schema)
    binning, codes = encode_rows(rows, schema, summary.n_rows, method.trees.max_bins)
    schema, binning, codes = order_columns(rows, schema, binning, codes)
    code_counts = count_codes(rows, codes, binning)
    drawn = rows.keep("", sample_rows, codes, shared=(method.trees.search.sample,))
    sample: RowSample = rows.merge(merge_samples, drawn)
    layouts = tree_inputs(allowed_inputs(schema), sample, binning, method.trees)
    targets = make_targets(schema, code_counts, method.trees)
    forest, leaves = grow_forest(rows, codes, sample, targets, layouts, binning)
    scoring = find_scoring_nodes(forest, method)
    plans = plan_targets(schema, binning, forest, scoring)
    likelihoods = estimate_likelihoods(rows, codes, leaves, plans, len(forest.n), method)
    zones = None
    if method.border is not None:
        zones = find_zones(forest, binning.edges, code_counts, method.border.zone * smallest_leaf)
    model = Model(
        schema=schema,
        method=method,
        n_rows=summary.n_rows,
        forest=forest,
        scoring=scoring,
        likelihoods=likelihoods,
        zones=zones,
        redundant=_redundant(rows, sample, forest, scoring),
    )

    scored = rows.read("scoring", score_piece, leaves, shared=(model, rows.n_jobs))
    evidence, keys, strongest, above, base = (rows.pick(scored, k) for k in range(5))
    n_iter, first = 1, model
    model = replace(model, usual_evidence=_usual(method, rows.merge(add_counts, above), model))
    if method.feedback is not None:
        search = ContextSearch(rows, first, binning, codes, leaves, base)
        contexts = search.find(smallest_leaf)
        contexts, evidence, n_iter = iterate(search, contexts, method.feedback, evidence)
        contexts = without_redundant(contexts, forest, sample.codes, search.ranges)
        model = replace(model, contexts=contexts)
    ranks = rank_columns(model, binning, code_counts)
    kept = RowParts(codes, leaves, keys, base, first)
    model, evidence = compare_rows(rows, model, ranks, kept, evidence)
    quantiles = partial(rows.quantiles, evidence)
    model = replace(model, evidence_quantiles=quantiles(QUANTILE_LEVELS))
    return Fitted(model, evidence, quantiles, n_iter, partial(rows.quantiles, strongest))


def score_piece(
    table: Prepared, leaves: Leaves, model: Model, n_jobs: int
) -> tuple[Floats, Keys, Floats, Ints, Floats]:
    """Return what pieces tell of their rows when they are scored first.

    That is their evidence, their keys (none where rows are not compared), the evidence of the
    oddest value of each, how many values of each attribute have how much evidence, and the plain
    evidence of the rows.
    """
    keys = np.empty((table.n_rows if model.method.neighbours is not None else 0, 2), np.uint64)
    counts = [np.zeros((len(model.schema.used), len(LEVELS)), np.int64)]
    is_wanted = model.method.credit is not None and bool((model.likelihoods.kind == NOMINAL).any())
    above = counts if is_wanted else None
    evidence, strongest, base = score_strongest(model, table, n_jobs, leaves, keys, above)
    return evidence, keys, strongest, add_counts(counts), base


def _usual(method: Method, counts: Ints, model: Model) -> Floats:
    """Return the evidence that is usual for the values of each attribute."""
    share = 0.5 if method.credit is None else method.credit.usual
    return usual_evidence(counts, model.n_rows, share)


def _redundant(rows: Rows, sample: RowSample, forest: Forest, scoring: ScoringNodes) -> Keys:
    """Find the conditions that can be left out, of leaves and of all nodes that score rows."""

    def find(trees: list[int]) -> list[Keys]:
        nodes = (np.union1d(forest.leaves(m), scoring.of_tree(forest, m)).tolist() for m in trees)
        return [find_redundant(forest, sample.codes, each) for each in nodes]

    total: Keys = np.bitwise_or.reduce(rows.for_each("conditions", find, forest.n_trees))
    return total
