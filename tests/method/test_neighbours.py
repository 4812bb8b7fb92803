"""The evidence of the rows most like a row adds to its own, as far as the table bears it out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score

from admercs import ADMERCS, Method
from admercs.datasets import make_electric_vehicles, make_synth_cs
from admercs.explain.records import RowExplanation
from admercs.facets import prepare
from admercs.method.neighbours import (
    NEGLIGIBLE,
    UNIT,
    Nearest,
    ReferenceRows,
    add_moments,
    correlation_weight,
    may_have_neighbours,
    moments,
    n_references,
    passed_on,
)
from admercs.method.rank_distance import RankDistance
from admercs.method.settings import Isolation, Neighbours
from admercs.pipeline.score import Scorer
from admercs.table import read_frame

from .test_rank_distance import by_hand, people

WITHOUT = replace(Method(), neighbours=None)
NO_ISOLATION = Method().change({"neighbours.isolation": None})


def frauds(n: int = 400, bad: int = 20, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return shops of which some are alike: each a little odd in some of many columns."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    table = size[:, None] + rng.normal(size=(n, 8))
    y = np.arange(n) < bad
    table[:bad] = 1.5 + 0.5 * rng.normal(size=(bad, 8)) + 2 * (rng.random((bad, 8)) < 0.3)
    frame = pd.DataFrame(table, columns=[f"figure {k}" for k in range(8)])
    frame["town"] = rng.choice(["Linz", "Graz", "Wien"], n)
    frame.loc[rng.random(n) < 0.1, "figure 3"] = np.nan
    return frame, y


def fit(X: Any, method: Method | None = None) -> ADMERCS:
    return ADMERCS(method=method).fit(X)


def evidence(model: ADMERCS, table: Any) -> np.ndarray:
    return -model.score_samples(table)


def references(model: ADMERCS) -> ReferenceRows:
    known = model.model_.references
    assert known is not None
    return known


def working_values(model: ADMERCS, table: Any) -> np.ndarray:
    return prepare(read_frame(table), model.model_.schema).block(0, len(table))


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return frauds()[0]


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> ADMERCS:
    return fit(table)


def test_comparing_agrees_with_counting() -> None:
    table = people()
    model = fit(table)
    known = references(model)
    assert known.row.tolist() == list(range(150))
    assert known.scales.tolist() == [5, 8]  # five rows, and 5% of them
    values = working_values(model, table)
    nearest, differences = known.compare(values), known.differences(values)
    excess = known.excess / UNIT
    for row in range(0, 150, 7):
        others = np.delete(np.arange(150), row)
        apart = by_hand(table, row)[others][:, model.model_.positions]
        away = apart.sum(axis=1)
        small, large = np.sort(away)[:5], np.sort(away)[:8]
        weight = np.maximum(0, large[-1] + 1 - away)
        said = weight @ excess[others] / weight.sum()
        np.testing.assert_allclose(nearest.evidence[row], said.sum(), rtol=1e-9)
        mean = np.array([small.mean(), large.mean()]) / table.shape[1]
        np.testing.assert_allclose(nearest.distance[row], mean, rtol=1e-9)
        np.testing.assert_array_equal(differences[:, row], apart[away <= small[-1]].sum(axis=0))
        own = known.weights(known.ranks.profile(values[:, [row]]))[0]
        np.testing.assert_allclose(own[others] / own.sum(), weight / weight.sum(), atol=1e-12)
    np.testing.assert_allclose(known.usual, np.median(nearest.distance, axis=0))
    assert known.typical == pytest.approx(np.median(nearest.evidence))


def test_only_what_a_row_has_beyond_the_typical_row_is_passed_on() -> None:
    found = passed_on(np.array([[1.0, 3.0], [0.5, 0.5]]), typical=2.0, most=9.0) / UNIT
    assert found.tolist() == [[0.5, 1.5], [0.0, 0.0]]


def test_one_value_says_little_of_similar_rows_however_odd_it_is() -> None:
    found = [passed_on(np.array([[1.0, x]]), typical=0.0, most=2.0) / UNIT for x in (2.0, 9.0)]
    assert found[0].tolist() == found[1].tolist() == [[1.0, 2.0]]


def test_the_weight_is_the_root_of_the_correlation() -> None:
    own = np.array([0.0, 1.0, 2.0])
    for other, expected in (([0.5, 1.0, 1.5], 1.0), ([1.0, 0.0, 1.0], 0.0), ([2.0, 1.0, 0.0], 0.0)):
        assert correlation_weight(moments(own, np.array(other), 0.0)) == pytest.approx(expected)
    rng = np.random.default_rng(0)
    own, middle = rng.exponential(size=2000) * 1e4, 4e3
    other = own * rng.uniform(size=2000)
    excess = np.maximum(0, own - middle)
    expected = np.sqrt(np.corrcoef(excess, other)[0, 1])
    sums = [moments(own[a], other[a], middle) for a in (slice(0, 7), slice(7, 7), slice(7, 2000))]
    assert correlation_weight(add_moments(sums)) == pytest.approx(expected, rel=1e-6)
    assert add_moments(sums) == moments(own, other, middle)


def test_what_is_passed_on_is_the_evidence_of_patterns_beyond_the_typical_row(
    model: ADMERCS, table: pd.DataFrame
) -> None:
    values = working_values(model, table)
    parts = Scorer(model.model_).score_alone(values)
    # A missing value is passed on with the odds of any other.
    usual = np.log1p(0.1 * np.expm1(-parts.log_omega))
    said = np.where(np.isnan(values), np.minimum(parts.pattern, usual), parts.pattern)
    assert (said < parts.pattern).any()
    typical = np.median(parts.pattern.sum(axis=0))
    beyond = np.maximum(0, said.sum(axis=0) - typical) / said.sum(axis=0)
    expected = beyond * np.minimum(said, 2.0).sum(axis=0)
    excess = references(model).excess
    np.testing.assert_allclose(excess.sum(axis=1) / UNIT, expected, atol=2e-3)
    assert np.array_equal(excess, np.rint(excess))


@example(own=0.0, said=[0.0, 0.0, 1.0], typical=0.0, weight=1.1e-162)
@given(
    own=st.floats(0, 1e3), said=st.lists(st.floats(0, 1e3), min_size=3, max_size=3),
    typical=st.floats(0, 10), weight=st.floats(0, 3),
)  # fmt: skip
def test_own_and_neighbour_evidence_add_up_as_squares(
    own: float, said: list[float], typical: float, weight: float
) -> None:
    ranks = RankDistance(
        np.empty(0), np.zeros(4, np.int64), np.empty(0, np.uint8), np.ones(3, np.bool_)
    )
    known = ReferenceRows(
        ranks, np.empty(0, np.int64), np.empty((3, 0), np.uint8), np.empty((0, 3)),
        np.ones(2, np.int64), np.ones(2), typical, weight,
    )  # fmt: skip
    none = np.empty((1, 2), np.int64)
    nearest = Nearest(np.ones((1, 2)), np.array([sum(said)]), none)
    added = known.added(nearest, np.array([own]))
    others = weight * max(0.0, sum(said) - typical)
    assert np.all(added >= 0)
    assert own + added.sum() == pytest.approx(np.hypot(own, others), abs=1e-9)
    assert added.sum() <= others * (1 + 1e-9) + 1e-150


def test_anomalies_of_one_kind_give_each_other_away() -> None:
    gains = []
    for seed in range(5):
        X, y = frauds(seed=seed)
        before, after = evidence(fit(X, WITHOUT), X), evidence(fit(X, NO_ISOLATION), X)
        gains.append(average_precision_score(y, after) - average_precision_score(y, before))
        assert roc_auc_score(y, after) > roc_auc_score(y, before)
    assert np.mean(gains) > 0.02


def test_where_columns_are_noise_neighbours_hardly_count() -> None:
    data = make_synth_cs(60, random_state=1)
    compared, alone = fit(data.X), fit(data.X, WITHOUT)
    assert references(compared).weight < 0.5 * Neighbours().weight
    precision = [average_precision_score(data.y, evidence(m, data.X)) for m in (compared, alone)]
    assert abs(precision[0] - precision[1]) < 0.01


def test_a_row_is_not_its_own_neighbour() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) + rng.normal(size=(300, 1))
    X[0, 0] += 30
    # No row is like it in being odd, so that next to nothing is added.
    alone = evidence(fit(X, WITHOUT), X)[0]
    assert evidence(fit(X, NO_ISOLATION), X)[0] == pytest.approx(alone, rel=0.01)


@pytest.mark.parametrize("power", [1e3, 1e9])
def test_isolation_is_finite_whatever_its_power(power: float) -> None:
    table = make_electric_vehicles(0, as_frame="pandas").table[:200]
    model = fit(table)
    distance = references(model).compare(working_values(model, table)).distance
    alone = references(model).isolation(distance, Isolation(power), 0.1)
    assert alone.max() > 600
    assert np.isfinite(alone).all()


def test_isolation_is_the_formula() -> None:
    table = make_electric_vehicles(0, as_frame="pandas").table
    model = fit(table)
    known, values = references(model), working_values(model, table)
    distance = known.compare(values).distance
    z = 1.5 * np.sqrt(table.shape[1]) * np.log((distance + 0.5) / (known.usual + 0.5))
    expected = np.log(1 + 0.1 * (np.exp(np.maximum(0, z.max(axis=1))) - 1))
    settings = Method().neighbours
    assert settings is not None
    assert settings.isolation is not None
    alone = known.isolation(distance, settings.isolation, 0.1)
    np.testing.assert_allclose(alone, expected, rtol=1e-9, atol=1e-12)
    by_column, none = known.credit(values, alone, np.zeros(len(alone)))
    assert not none.any()
    np.testing.assert_allclose(by_column.sum(axis=0), alone, rtol=1e-9)
    # It is credited to the columns in which the nearest rows differ; a little to all alike.
    apart = known.differences(values)
    told = (alone > NEGLIGIBLE) & (apart.sum(axis=0) > 0)
    assert told.mean() > 0.2
    np.testing.assert_allclose(
        by_column[:, told], (alone * apart / np.maximum(1, apart.sum(axis=0)))[:, told], rtol=1e-9
    )
    assert np.ptp(by_column[:, ~told], axis=0).max() < 1e-12
    parts = Scorer(model.model_).score(values)
    usual = known.usually_apart(0.25)
    beyond, _ = known.credit(values, alone, np.zeros(len(alone)), usual)
    np.testing.assert_array_equal(parts.isolation, beyond)
    # Three quarters of the rows differ less than is usual, in each column.
    assert ((apart <= usual[:, None]).mean(axis=1) >= 0.7).all()
    np.testing.assert_allclose(beyond.sum(axis=0), alone, rtol=1e-9)
    far = told & (apart > usual[:, None]).any(axis=0)
    assert not beyond[:, far][(apart <= usual[:, None])[:, far]].any()
    without = Scorer(fit(table, NO_ISOLATION).model_).score(values)
    assert without.isolation is None
    np.testing.assert_array_equal(without.pattern, parts.pattern)


def test_rows_far_from_all_others_are_found_though_no_pattern_says_so() -> None:
    gains = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, odd = rng.normal(size=(500, 6)), np.arange(500) < 5
        X[:5] = 1.8 * rng.choice([-1, 1], (5, 6))  # no value is rare, but all of them together
        found, without = (
            average_precision_score(odd, fit(X, method).scores_) for method in (None, NO_ISOLATION)
        )
        gains.append(found - without)
    assert np.mean(gains) > 0.1


def test_scoring_again_gives_the_same_scores(model: ADMERCS, table: pd.DataFrame) -> None:
    scores = evidence(model, table)
    np.testing.assert_array_equal(-np.expm1(-scores), model.scores_)
    np.testing.assert_array_equal(evidence(model, table[100:130]), scores[100:130])


def test_neither_the_order_of_rows_nor_the_number_of_threads_matters(
    model: ADMERCS, table: pd.DataFrame
) -> None:
    order = np.random.default_rng(1).permutation(len(table))
    again = ADMERCS(n_jobs=2).fit(table.iloc[order])
    np.testing.assert_array_equal(again.scores_, model.scores_[order])


def test_copies_of_a_row_are_scored_alike(table: pd.DataFrame) -> None:
    twice = pd.concat([table, table.iloc[[5] * 4]], ignore_index=True)
    scores = fit(twice).scores_
    assert np.all(scores[-4:] == scores[5])


def test_reasons_name_rows_that_are_alike_and_odd(model: ADMERCS, table: pd.DataFrame) -> None:
    known, values = references(model), working_values(model, table)
    told = 0
    for row in model.explain(table.head(20), top=None):
        reasons = [reason for reason in row.reasons if reason.kind == "neighbours"]
        assert reasons == list(row.reasons[-len(reasons) :]) if reasons else True
        for reason in reasons:
            told += 1
            weight = known.weights(known.ranks.profile(values[:, [int(row.label)]]))[0]
            places = [known.row.tolist().index(other) for other in reason.rows]
            assert row.label not in reason.rows
            assert np.all(weight[places] > 0)
            assert np.all(known.excess[places].sum(axis=1) > 0)
            assert reason.target in reason.text
    assert told > 10


@pytest.mark.parametrize(
    ("shape", "compared"),
    [
        ((500, 1), False), ((19, 5), False), ((20, 2), True), ((10**8, 50), True),
    ],
)  # fmt: skip
def test_not_all_tables_are_compared(shape: tuple[int, int], compared: bool) -> None:
    assert may_have_neighbours(Neighbours(), *shape) == compared


def test_small_tables() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) + rng.normal(size=(300, 1))
    assert fit(X[:19]).model_.references is None
    assert fit(X[:, :1]).model_.references is None
    assert references(fit(X)).weight > 0
    # Two columns are isolated together, but have no third to tell of neighbours.
    assert references(fit(X[:, :2])).weight == 0
    assert ADMERCS(n_iter=1).fit(X).model_.references is None


def test_of_many_rows_some_are_references() -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(5000, 4)) + rng.normal(size=(5000, 1)), 1)
    X[2000:3000] = X[0]
    X[rng.random(X.shape) < 0.1] = np.nan
    model = fit(X)
    known = references(model)
    assert 970 < len(known.row) < 1030
    assert np.all(np.diff(known.row) > 0)
    # Of equal rows as many as of others, and each is one of the table's rows.
    assert 150 < np.sum((known.row >= 2000) & (known.row < 3000)) < 250
    profile = known.ranks.profile(working_values(model, X))
    np.testing.assert_array_equal(known.profile, profile[:, known.row])
    np.testing.assert_array_equal(-np.expm1(model.score_samples(X)), model.scores_)
    fewer = fit(X, Method().change({"neighbours.references": 100}))
    assert 90 < len(references(fewer).row) < 110


def test_large_tables_are_compared_with_fewer_rows() -> None:
    counts = [n_references(Neighbours(), n, 10) for n in (1000, 50_000, 51_000, 100_000, 10**9)]
    assert counts == [1000, 1000, 980, 500, Neighbours().fewest]
    X = np.random.default_rng(0).normal(size=(1000, 4))
    few = fit(X, Method().change({"neighbours.comparisons": 160_000}))
    assert len(references(few).row) == 40


@pytest.mark.parametrize("n_references", [31, 32, 33, 97])
def test_any_number_of_references_is_compared(n_references: int) -> None:
    rng = np.random.default_rng(1)
    table = frauds(n_references)[0]
    table.iloc[5] = table.iloc[7]
    model = fit(table)
    known, values = references(model), working_values(model, frauds(60, seed=3)[0])
    profile = known.ranks.profile(np.concatenate([values, working_values(model, table)], axis=1))
    nearest = known.compare_profile(profile)
    away = known.ranks.distances(profile, known.profile)
    for row in rng.permutation(len(away))[:40]:
        ordered = np.sort(away[row])[int((away[row] == 0).any()) :]
        small, large = known.scales
        mean = np.array([ordered[:small].mean(), ordered[:large].mean()]) / known.ranks.n_compared
        np.testing.assert_allclose(nearest.distance[row], mean, rtol=1e-12)
        assert nearest.last[row].tolist() == [ordered[small - 1], ordered[large - 1]]
        weight = np.maximum(0, ordered[large - 1] + 1 - away[row])
        if (away[row] == 0).sum() <= 1:
            own = known.weights(profile[:, [row]])[0]
            np.testing.assert_array_equal(own, np.where(away[row] == 0, 0, weight))


def test_which_rows_are_references_does_not_depend_on_their_order() -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(3000, 4)) + rng.normal(size=(3000, 1)), 1)
    order = rng.permutation(3000)
    model, again = fit(X), fit(X[order])
    known = X[references(model).row], X[order][references(again).row]
    one, two = (each[np.lexsort(each.T)] for each in known)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(again.scores_, model.scores_[order])


def told_first(row: RowExplanation) -> object:
    """Return what an explanation begins with: the wrong values, or else the first reason."""
    if row.repair_text:
        return sorted(cell.column for cell in (row.repairs[0], *row.repairs[0].also))
    return row.reasons[0].kind, row.reasons[0].target


def test_scores_and_reasons_go_on_where_references_become_fewer() -> None:
    table = make_electric_vehicles(0, 51_000, as_frame="pandas").table
    table = table.sample(frac=1, random_state=0).reset_index(drop=True)
    columns = table.shape[1]
    method = Method().change({"neighbours.comparisons": 50_000 * columns * 1000})
    less, more = fit(table[:49_000], method), fit(table, method)
    assert 970 < len(references(more).row) < len(references(less).row) < 1030
    # Trees of more rows differ a little. Without neighbours the figures are the same.
    assert spearmanr(less.scores_, more.scores_[:49_000]).statistic > 0.99
    worst = np.sort(np.argsort(-less.scores_, kind="stable")[:300])
    first = [
        [told_first(row) for row in model.explain(table.iloc[worst])] for model in (less, more)
    ]
    assert np.mean([one == two for one, two in zip(*first, strict=True)]) > 0.9


def test_references_hardly_change_when_rows_are_added() -> None:
    X = np.random.default_rng(2).normal(size=(4100, 5))
    less, more = (set(references(fit(some)).row.tolist()) for some in (X[:4000], X))
    assert len(less & more) > 0.95 * len(more)


def test_a_relation_with_other_weights_changes_no_references() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(4100, 5))
    X[:, 4] = X[:, 0] + 2 * X[:, 1] + 0.1 * rng.normal(size=4100)
    less, more = fit(X[:4000]), fit(X)
    assert less.relations_
    assert less.relations_[0] != more.relations_[0]
    first, second = (set(references(model).row.tolist()) for model in (less, more))
    assert len(first & second) > 0.95 * len(second)


def test_a_table_of_equal_rows() -> None:
    X = np.tile([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], (50, 1))
    assert np.all(np.isfinite(fit(X).scores_))


def test_new_rows_with_what_no_row_had(model: ADMERCS, table: pd.DataFrame) -> None:
    new = table.head(3).copy()
    new["town"] = ["Rom", None, "Linz"]
    new.iloc[2, :8] = np.nan
    assert np.all(np.isfinite(model.score_samples(new)))


@pytest.mark.parametrize("n_columns", [60, 90, 130])
def test_distances_fit_their_type_in_wide_tables(n_columns: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(990, n_columns))
    X[0] = 9.0  # the last by every rank
    references = fit(X).model_.references
    assert references is not None
    assert len(references.row) % 32  # the last turn of the loop is filled up
    nearest = references.compare(np.ascontiguousarray(X.T))
    assert nearest.distance.min() > 0
    assert nearest.distance.max() <= 254
