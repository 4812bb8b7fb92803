"""Candidate contexts against a plain search, and the groups of rows that are found."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from admercs import ADMERCS, Method
from admercs.datasets import make_electric_vehicles, make_orders
from admercs.facets import prepare
from admercs.method.feedback import UNIT, Contexts
from admercs.pipeline import fit as fit_module
from admercs.pipeline.feedback_rounds import ContextSearch, iterate
from admercs.pipeline.rows import RowsInMemory
from admercs.pipeline.score import Scorer
from admercs.table import read_frame
from admercs.trees.forest import Forest, Leaves
from tests.binned import bin_table

from ..method.test_ancestor import bad_batch

NO_RANGES = Method().change({"feedback.ranges": None})
N_BROKEN, N_HIDDEN = 36, 4
BAD = np.arange(N_BROKEN + N_HIDDEN)
HIDDEN = BAD[N_BROKEN:]


def corners(kind: str = "numbers", seed: int = 0, n: int = 1000) -> pd.DataFrame:
    """Engines in three corners of a field; those in the fourth are broken.

    Most of these break a relation, the last four do not. Each coordinate alone is nothing special.
    """
    rng = np.random.default_rng(seed)
    load = rng.uniform(0, 10, n)
    heat = 3 * load + rng.normal(scale=0.5, size=n)
    heat[:N_BROKEN] = 3 * ((load[:N_BROKEN] + 5) % 10) + rng.normal(size=N_BROKEN)
    corner = np.array([(0, 0), (0, 1), (1, 1)])[rng.integers(0, 3, n)]
    corner[BAD] = (1, 0)
    if kind == "categories":
        east = np.array(["left", "right"], object)[corner[:, 0]]
        north = np.array(["below", "above"], object)[corner[:, 1]]
    else:
        east, north = (10 * corner + rng.normal(size=(n, 2))).T
        if kind == "missing":
            east = np.where(rng.random(n) < 0.1, np.nan, east)
    return pd.DataFrame({"load": load, "heat": heat, "east": east, "north": north})


class Range(NamedTuple):
    """A candidate as rows of the table."""

    leaf: int
    rows: tuple[int, ...]


def found_by(table: pd.DataFrame, method: Method) -> tuple[ADMERCS, Contexts]:
    """Fit a table, and return the candidates before they are scored."""
    candidates = []

    def spy(search: ContextSearch, contexts: Contexts, *more: Any) -> Any:
        candidates.append(contexts)
        return iterate(search, contexts, *more)

    with patch.object(fit_module, "iterate", spy):
        model = ADMERCS(method=method).fit(table)
    return model, candidates[0]


def plain_range(
    rows: np.ndarray, excess: np.ndarray, code: np.ndarray, nominal: bool, least_rows: int
) -> np.ndarray | None:
    """Return the rows of the range of codes with the most excess beyond the least, if it counts."""
    beyond = np.rint(np.minimum(excess, 3.0) * UNIT) - int(1.75 * UNIT)
    seen = np.unique(code[code > 0])
    best, inside = 0.0, None
    for k, first in enumerate(seen):
        for last in [first] if nominal else seen[k:]:
            some = (code >= first) & (code <= last)
            if beyond[some].sum() > best:
                best, inside = beyond[some].sum(), some
    if inside is None or not least_rows <= inside.sum() < len(rows):
        return None
    return rows[inside]


def plain_search(
    model: ADMERCS, table: pd.DataFrame, least_rows: int
) -> tuple[set[int], set[Range], set[int]]:
    """Return the candidates of a table without gaps: whole leaves, ranges of others, groups."""
    forest, own_node = model.model_.forest, model.model_.scoring.own
    prepared = prepare(read_frame(table), model.model_.schema)
    binning, codes = bin_table(table, model.model_.schema)
    parts = Scorer(model.model_).score_alone(prepared.block(0, len(table)))
    base, n_trees = parts.pattern.sum(axis=0), forest.n_trees
    middle, high = np.quantile(base, [0.5, 0.9])
    unit = (high - middle) / 2
    excess = np.maximum(0, base - middle) / unit
    whole, ranges, groups = set(), set(), set()
    for tree in range(n_trees):
        scored_by = own_node[parts.leaf[tree]]  # the leaf, of which there may be groups
        for leaf in np.unique(scored_by).tolist():
            rows = np.flatnonzero(scored_by == leaf)
            if np.minimum(excess[rows], 3.0).mean() >= 1.75:
                whole.add(leaf)
                continue
            own = {tree, *forest.feature[forest.path(leaf)[:-1]].tolist()}
            found = None
            code, nominal = codes[tree][rows].astype(int), bool(binning.is_nominal[tree])
            by_all = plain_range(rows, excess[rows], code, nominal, least_rows)
            if by_all is not None and 1 < len(own) <= n_trees - 2:
                # The columns by which it was chosen count with a quarter of their evidence.
                less = 0.75 * parts.pattern[sorted(own)][:, rows].sum(axis=0)
                share = 1 - 0.75 * len(own) / n_trees
                others = np.maximum(0, base[rows] - less - share * middle) / (share * unit)
                found = plain_range(rows, others, code, nominal, least_rows)
            if found is not None:
                ranges.add(Range(leaf, tuple(found.tolist())))
                continue
            for group in np.unique(parts.leaf[tree][rows]).tolist():
                inside = parts.leaf[tree] == group
                if group != leaf and np.minimum(excess[inside], 3.0).mean() >= 1.75:
                    groups.add(group)
    return whole, ranges, groups


def check_candidates(table: pd.DataFrame, least_rows: int) -> tuple[set[int], set[Range], set[int]]:
    """Compare the candidates of a table with those of a plain search, which are returned."""
    model, candidates = found_by(table, replace(Method(), neighbours=None, relations=None))
    forest = model.model_.forest
    whole, ranges, groups = plain_search(model, table, least_rows)
    prepared = prepare(read_frame(table), model.model_.schema)
    leaves = Scorer(model.model_).score_alone(prepared.block(0, len(table))).leaf
    found = set()
    for k, leaf in enumerate(candidates.leaf.tolist()):
        tree, below = forest.tree_of(leaf), forest.below(leaf)
        rows = np.flatnonzero((leaves[tree] >= below.start) & (leaves[tree] < below.stop))
        if candidates.is_range(k):
            x = prepared.column(tree)[rows]
            rows = rows[(x > candidates.low[k]) & (x <= candidates.high[k])]
        assert len(rows) == candidates.n[k]
        if candidates.is_range(k):
            found.add(Range(leaf, tuple(rows.tolist())))
    assert found == ranges
    others = {c for k, c in enumerate(candidates.leaf.tolist()) if not candidates.is_range(k)}
    assert others == whole | groups
    assert np.all(np.diff(candidates.leaf) > 0)
    return whole, ranges, groups


@pytest.mark.parametrize("kind", ["numbers", "categories"])
@pytest.mark.parametrize("seed", range(2))
def test_candidates_are_those_of_a_plain_search(kind: str, seed: int) -> None:
    # Three quarters of the smallest leaf, 2% of 1,000 rows.
    _, ranges, groups = check_candidates(corners(kind, seed), least_rows=15)
    assert ranges
    assert not groups  # there are none in larger tables


def test_candidates_of_small_tables_are_those_of_a_plain_search() -> None:
    counts = np.zeros(3, int)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table = rng.normal(size=(280, 1)) + rng.normal(size=(280, 6))
        table[:12] = 1.5 + rng.normal(size=(12, 6)) + 3 * (rng.random((12, 6)) < 0.5)
        found = check_candidates(pd.DataFrame(table).add_prefix("x"), least_rows=8)
        counts += [len(each) for each in found]
    assert counts[2] > 0  # groups, which are leaves of no tree that is grown for its price


def candidate_leaves(base: np.ndarray, in_context: np.ndarray, n_columns: int = 3) -> np.ndarray:
    """Return the candidates among trees whose leaves are a group and its complement."""
    n = 2 * n_columns
    forest = Forest(
        root=np.arange(0, n + 1, 2), feature=np.full(n, -1, np.int32), threshold=np.zeros(n),
        bin=np.zeros(n, np.int32), subset=np.full(n, -1, np.int32),
        missing_left=np.zeros(n, np.bool_), left=np.full(n, -1, np.int32),
        right=np.full(n, -1, np.int32), parent=np.full(n, -1, np.int32),
        n=np.tile([np.sum(~in_context), np.sum(in_context)], n_columns).astype(np.int64),
        impurity=np.zeros(n), paid=np.ones(n, np.bool_), subsets=np.zeros((0, 4), np.uint64),
    )  # fmt: skip
    columns = [SimpleNamespace(n_missing=0, sources=(m,)) for m in range(n_columns)]
    model: Any = SimpleNamespace(
        method=NO_RANGES,
        forest=forest,
        schema=SimpleNamespace(used=columns),
        related={},
        formulas={},
        scoring=SimpleNamespace(own=np.arange(n, dtype=np.int32)),
        redundant=np.zeros(n, np.uint64),
    )
    leaves = Leaves(np.tile(in_context.astype(np.uint8), (n_columns, 1)), forest.root)
    nothing: Any = None
    binning: Any = SimpleNamespace(n_codes=np.array([2]), edges=[np.empty(0)] * n_columns)
    rows = RowsInMemory(nothing)
    return ContextSearch(rows, model, binning, [nothing], [leaves], [base]).find(20).leaf


def test_a_group_is_a_candidate_if_its_rows_stand_out_on_average() -> None:
    base = np.random.default_rng(0).exponential(0.3, 1000)
    inside = np.arange(1000) < 30
    mild = np.where(inside, np.quantile(base, 0.85), base)  # odd, but hardly
    assert len(candidate_leaves(mild, inside)) == 0
    assert candidate_leaves(np.where(np.arange(1000) < 27, 3.0, base), inside).tolist() == [1, 3, 5]
    # A single row counts with three units at most.
    one = base.copy()
    one[0] = 1e6
    assert len(candidate_leaves(one, inside)) == 0
    # Two columns have no third to tell.
    assert len(candidate_leaves(np.where(inside, 3.0, base), inside, n_columns=2)) == 0
    assert len(candidate_leaves(np.zeros(1000), inside)) == 0  # no row stands out


def test_two_columns_have_no_contexts() -> None:
    X, _ = bad_batch(5, good=0.2)
    assert ADMERCS().fit(X).contexts_
    # The batch and what is wrong in it, without the column that says so.
    two = ADMERCS().fit(X[:, 1:])
    assert not two.contexts_
    assert len(two.model_.contexts.leaf) == 0


@pytest.mark.parametrize("n", [1000, 4000, 10_000])
def test_a_bad_batch_is_found_in_small_and_in_larger_tables(n: int) -> None:
    """A fifth of its rows looks fine; the more rows, the more of those."""
    X, bad = bad_batch(5, n, good=0.2)
    model = ADMERCS().fit(X)
    assert average_precision_score(bad, model.scores_) > 0.85
    first = model.contexts_[0]
    assert bad[list(first.members)].mean() > 0.7
    assert first.score > 0.9


def test_a_bad_batch_is_a_context_however_large_the_table() -> None:
    X, bad = bad_batch(0, n=40_000, good=0.2)
    contexts = ADMERCS().fit(X).contexts_
    assert contexts
    assert contexts[0].n > 500
    assert bad[list(contexts[0].members)].mean() > 0.7


def range_contexts(model: ADMERCS) -> list[int]:
    contexts = model.model_.contexts
    likely = np.flatnonzero(np.exp(contexts.log_lambda) > 0.5).tolist()
    return [k for k in likely if contexts.is_range(k)]


@pytest.mark.parametrize("kind", ["numbers", "missing", "categories"])
@pytest.mark.parametrize("seed", range(3))
def test_a_group_that_is_no_leaf_is_found(kind: str, seed: int) -> None:
    table = corners(kind, seed)
    model = ADMERCS().fit(table)
    assert range_contexts(model)
    context = next(
        c for c in model.contexts_ if {"east", "north"} <= {x.attribute for x in c.conditions}
    )
    members = np.array(context.members)
    assert np.isin(members, BAD).mean() > 0.85
    assert np.isin(HIDDEN, members).mean() > 0.5
    plain = ADMERCS(method=NO_RANGES).fit(table)
    assert not range_contexts(plain)
    gain = plain.score_samples(table) - model.score_samples(table)
    assert gain[HIDDEN].mean() > 0.5


def test_values_are_scored_as_if_there_were_no_range() -> None:
    table = corners()
    with_ranges, without = (
        ADMERCS(method=replace(method, neighbours=None)).fit(table)
        for method in (Method(), NO_RANGES)
    )
    patterns = [
        Scorer(model).score(prepare(read_frame(table), model.schema).block(0, len(table))).pattern
        for model in (with_ranges.model_, without.model_)
    ]
    np.testing.assert_array_equal(*patterns)
    assert range_contexts(with_ranges)


def test_the_reason_names_both_columns_and_all_reasons_add_up() -> None:
    table = corners("categories")
    hidden = ADMERCS().fit(table).explain(table.iloc[HIDDEN], top=None, noun="engines")
    for row in hidden:
        assert sum(r.evidence for r in row.reasons) == pytest.approx(row.evidence, rel=1e-9)
    texts = [str(r) for row in hidden for r in row.reasons if r.kind == "context"]
    assert texts
    assert all("east = right" in text and "north = below" in text for text in texts)


def test_new_rows_are_in_the_context_only_with_such_a_value() -> None:
    model = ADMERCS().fit(corners())
    new = pd.DataFrame({"load": 5.0, "heat": 15.0, "east": [10.0, 0.0, np.nan], "north": 0.0})
    kinds = [{r.kind for r in row.reasons} for row in model.explain(new, top=None)]
    assert "context" in kinds[0]
    assert "context" not in kinds[1]


@pytest.mark.parametrize("seed", range(3))
def test_noise_holds_no_range_contexts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert not range_contexts(ADMERCS().fit(rng.normal(size=(1000, 6))))
    words = rng.choice(["a", "b", "c"], size=(500, 5), p=[0.6, 0.3, 0.1])
    assert not range_contexts(ADMERCS().fit(words))


def test_unique_texts_and_grouped_categories_make_no_context() -> None:
    table = corners("categories")
    order = np.random.default_rng(0).permutation(len(table))
    table["id"] = [f"row {i}" for i in order]
    table["word"] = [f"rare {i}" if i >= 700 else "usual" for i in range(len(table))]
    model = ADMERCS().fit(table)
    assert model.contexts_
    for context in model.contexts_:
        assert not any("id" in c.attribute for c in context.conditions)
        assert "a rare value" not in context.text


@pytest.mark.parametrize("seed", range(3))
def test_large_orders_are_no_context(seed: int) -> None:
    """Net, VAT, total and weight are large together; one of them says what all of them say."""
    orders = make_orders(seed, 2000).table
    amounts = {"net (EUR)", "vat (EUR)", "total (EUR)", "weight (kg)"}

    def about_amounts(model: ADMERCS) -> list[str]:
        named = ((c.text, {x.attribute for x in c.conditions}) for c in model.contexts_)
        return [text for text, names in named if names & amounts]

    assert about_amounts(ADMERCS().fit(orders)) == []
    with patch.object(ContextSearch, "_following", return_value=set()):
        assert about_amounts(ADMERCS().fit(orders))


def without_the_rule() -> Any:
    """Count a missing value against rows that were chosen by it."""
    return patch.object(ContextSearch, "_with_gaps", return_value={})


def test_ordinary_cars_with_a_gap_are_no_context() -> None:
    before, after = [], []
    method = replace(Method(), relations=None)  # these take care of cars, too
    for seed in range(7):
        cars = make_electric_vehicles(seed, as_frame="pandas")

        def false_contexts(cars: Any = cars) -> list[str]:
            """Return the anomalous contexts of mostly ordinary cars."""
            return [
                context.text
                for context in ADMERCS(method=method).fit(cars.table).contexts_
                if np.mean([row in cars.odd_columns for row in context.members]) < 0.5
            ]

        with without_the_rule():
            before += false_contexts()
        after += false_contexts()
    assert sum("missing" in text for text in before) >= 3
    assert not any("missing" in text for text in after)
    assert len(after) <= 1


def shops(seed: int) -> pd.DataFrame:
    """Return ordinary shops of which some, mostly of one kind, name no price."""
    rng = np.random.default_rng(seed)
    size, kind = rng.normal(size=250), rng.choice(list("uvw"), 250)
    table = pd.DataFrame({"size": size, "staff": size + rng.normal(size=250)})
    table["age"] = rng.normal(size=250)
    table["kind"] = kind.astype(object)
    table["owner"] = rng.choice(list("pq"), 250).astype(object)
    table["price"] = rng.normal(size=250) + size
    table.loc[rng.random(250) < np.where(kind == "u", 0.25, 0.04), "price"] = np.nan
    return table


def test_groups_of_a_small_table_are_no_contexts_for_their_gaps() -> None:
    def told(seed: int) -> bool:
        contexts = ADMERCS().fit(shops(seed)).contexts_
        return any("missing" in context.text for context in contexts)

    seeds = range(25)
    with without_the_rule():
        before = [told(seed) for seed in seeds]
    after = [told(seed) for seed in seeds]
    assert np.mean(before) >= 0.3
    assert np.mean(after) <= 0.05


@pytest.mark.parametrize("seed", range(3))
def test_odd_rows_with_a_gap_are_a_context(seed: int) -> None:
    rng = np.random.default_rng(seed)
    figures = rng.normal(size=(1000, 3))
    figures[:30] = rng.uniform(-8, 8, (30, 3))
    letters = pd.DataFrame(figures, columns=["size", "weight", "price"])
    letters["sender"] = rng.choice(["Ada", "Bob", "Cleo"], 1000).astype(object)
    letters.loc[:29, "sender"] = None
    context = ADMERCS().fit(letters).contexts_[0]
    assert context.text.startswith("Rows with sender missing (n = 30) are nearly all anomalous.")
    assert sorted(context.members) == list(range(30))


@pytest.mark.parametrize("seed", range(4))
def test_odd_rows_among_others_with_the_same_gap_are_a_context(seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters = pd.DataFrame(rng.normal(size=(1000, 4)), columns=["size", "weight", "depth", "price"])
    letters["sender"] = rng.choice(["Ada", "Bob", "Cleo"], 1000).astype(object)
    letters.loc[:109, "sender"] = None
    letters.loc[:109, "price"] += 4
    letters.loc[:29, "price"] = 4 + rng.uniform(-0.05, 0.05, 30)
    letters.loc[:29, ["size", "weight", "depth"]] = rng.uniform(-4, 4, (30, 3))
    contexts = ADMERCS().fit(letters).contexts_
    assert any(np.mean(np.array(context.members) < 30) > 0.8 for context in contexts)
