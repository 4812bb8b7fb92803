"""Fitting a model: the order of the steps, for rows in memory and on a cluster alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.method.border import find_zones
from admercs.method.contexts import Contexts
from admercs.method.scoring_nodes import ScoringNodes, find_scoring_nodes
from admercs.method.settings import Method
from admercs.pipeline.compare import compare_rows
from admercs.pipeline.encode import encode_rows
from admercs.pipeline.estimate import estimate_likelihoods, plan_targets
from admercs.pipeline.find_contexts import ContextSearch, iterate, without_redundant
from admercs.pipeline.grow import count_codes, grow_forest
from admercs.pipeline.model import QUANTILE_LEVELS, Model
from admercs.pipeline.rows import Kept, Rows
from admercs.pipeline.score import Scorer, run_blocks
from admercs.table.prepared import Prepared
from admercs.table.schema import learn_schema
from admercs.trees.forest import Forest, Leaves
from admercs.trees.grower import leaf_size
from admercs.trees.redundant import find_redundant
from admercs.trees.row_sample import RowSample, merge_samples, sample_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """A model and what is known of its training rows."""

    model: Model
    evidence: Kept  # of the rows of each piece
    quantiles: Callable[[Floats], Floats]  # of that evidence
    n_iter: int
    has_names: bool


def fit_model(rows: Rows, method: Method, nominal: Any = "auto") -> Fitted:
    """Fit a model to the rows of a table, wherever they are."""
    summary = rows.summary(nominal)
    schema = learn_schema(summary, method.columns)
    rows.open(schema)

    binning, codes = encode_rows(rows, schema, summary.n_rows, method.trees.max_bins)
    code_counts = count_codes(rows, codes, binning)
    forest, leaves = grow_forest(rows, codes, schema, binning, code_counts, method.trees)
    scoring = find_scoring_nodes(forest, method)
    targets = plan_targets(schema, binning, forest, scoring)
    likelihoods = estimate_likelihoods(rows, codes, leaves, targets, len(forest.n), method)
    smallest_leaf = leaf_size(method.trees, summary.n_rows)
    zones = None
    if method.border is not None:
        zone_rows = method.border.zone * smallest_leaf
        zones = find_zones(forest, binning.edges, code_counts, zone_rows)
    sample: RowSample = rows.merge(merge_samples, rows.keep("", sample_rows, codes))
    model = Model(
        schema=schema,
        method=method,
        n_rows=summary.n_rows,
        forest=forest,
        scoring=scoring,
        likelihoods=likelihoods,
        zones=zones,
        redundant=_redundant(rows, sample, forest, scoring),
        contexts=Contexts.none(),
        references=None,
        evidence_quantiles=np.zeros(0),
    )

    evidence = rows.read("scoring", score_piece, leaves, shared=(rows.share(model), rows.n_jobs))
    n_iter = 1
    if method.feedback is not None:
        search = ContextSearch(rows, model, binning, codes, leaves, evidence)
        contexts, evidence, n_iter = iterate(search, search.find(smallest_leaf), method.feedback)
        contexts = without_redundant(contexts, forest, sample.codes, binning)
        model = replace(model, contexts=contexts)
    compared = compare_rows(rows, model, binning, leaves)
    if compared is not None:
        references, array = compared
        model, evidence = replace(model, references=references), rows.spread(array)
    quantiles = partial(rows.quantiles, evidence)
    model = replace(model, evidence_quantiles=quantiles(QUANTILE_LEVELS))
    return Fitted(model, evidence, quantiles, n_iter, summary.has_names)


def score_piece(table: Prepared, leaves: Leaves, model: Model, n_jobs: int) -> Floats:
    """Return the evidence of a piece's rows."""
    scorer = Scorer(model)
    evidence = np.empty(table.n_rows)

    def work(start: int, stop: int) -> None:
        some = slice(start, stop)
        evidence[some] = scorer.score(table.block(start, stop), leaves.of(some)).evidence()

    run_blocks(work, table.n_rows, n_jobs)
    return evidence


def _redundant(
    rows: Rows, sample: RowSample, forest: Forest, scoring: ScoringNodes
) -> NDArray[np.uint64]:
    """Find the conditions that can be left out, of leaves and of all nodes that score rows."""
    nodes = [
        set(forest.leaves(tree)) | set(scoring.of_tree(forest, tree))
        for tree in range(forest.n_trees)
    ]
    found = rows.for_each(
        "conditions",
        lambda batch: [find_redundant(forest, sample.codes, sorted(nodes[m])) for m in batch],
        forest.n_trees,
    )
    total: NDArray[np.uint64] = np.bitwise_or.reduce(found)
    return total
