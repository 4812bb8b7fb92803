"""What the whole table finds odd, an ordinary context may explain."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from admercs import ADMERCS
from admercs.datasets import make_synth_c
from admercs.detector.judge import Judge, Views
from admercs.detector.model import Model, prior_odds
from admercs.evidence.excuses import EXPLAINED_ODDS, LEAST_ROWS


def lengths(n: int = 1000) -> pd.DataFrame:
    """Return short and long fish, and noise."""
    rng = np.random.default_rng(0)
    kind = rng.random(n) < 0.3
    length = np.where(kind, rng.gamma(9, 2, n), rng.gamma(9, 0.5, n))
    return pd.DataFrame(
        {"length": length, "kind": kind + rng.normal(0, 0.05, n), "x": rng.random(n)}
    )


def vehicles(n: int = 800) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    kind = rng.choice(["car", "van", "bus"], n, p=[0.6, 0.3, 0.1])
    weight = pd.Series(kind).map({"car": 1.2, "van": 2.0, "bus": 9.0}) + rng.exponential(0.2, n)
    table = pd.DataFrame({"kind": kind, "weight": weight, "seats": np.ceil(weight * 4)})
    table.loc[rng.random(n) < 0.1, "weight"] = np.nan
    return table


def corners(n: int = 1000) -> pd.DataFrame:
    """Hold a group that is a leaf of no tree."""
    rng = np.random.default_rng(1)
    load = rng.uniform(0, 10, n)
    heat = 3 * load + rng.normal(scale=0.5, size=n)
    heat[:36] = 3 * ((load[:36] + 5) % 10)
    corner = np.array([(0, 0), (0, 1), (1, 1)])[rng.integers(0, 3, n)]
    corner[:40] = (1, 0)
    east, north = (10 * corner + rng.normal(size=(n, 2))).T
    return pd.DataFrame({"load": load, "heat": heat, "east": east, "north": north})


def looked_at(table: pd.DataFrame) -> tuple[Model, Views]:
    detector = ADMERCS().fit(table)
    values = detector._prepare(table)
    return detector.model_, Judge(detector.model_).look(values.block(0, values.n_rows))


@pytest.mark.parametrize("make", [lengths, vehicles, corners])
def test_less_is_heard_of_the_table_where_a_context_explains_a_value(
    make: Callable[[], pd.DataFrame],
) -> None:
    model, views = looked_at(make())
    forest, table = model.forest, views.log_omega_root
    expected = table.copy()
    for m, i in np.ndindex(table.shape):
        context = forest.scorer[views.leaf[m, i]]
        columns = forest.feature[forest.path(context)[:-1]]
        assert m not in columns
        if len(columns) and forest.n[context] >= LEAST_ROWS and table[m, i] < views.log_omega[m, i]:
            ordinary = min(1.0, 2 * np.exp(views.log_omega[m, i])) * np.exp(table[columns, i].min())
            odds = 1 - (1 - EXPLAINED_ODDS) * ordinary
            expected[m, i] = -np.log1p(odds * np.expm1(-table[m, i]))
    alone = ~views.by_wider  # elsewhere the leaf's own word is not kept
    np.testing.assert_allclose(views.heard_root[alone], expected[alone], rtol=1e-12, atol=1e-15)
    assert np.all(views.heard_root >= table)
    assert np.mean(expected[alone] > table[alone]) > 0.1


def test_the_parts_of_a_leaf_are_excused_like_the_whole() -> None:
    table = corners()
    model = ADMERCS().fit(table)
    assert np.any(model.model_.forest.scorer != np.arange(len(model.model_.forest.scorer)))
    with patch("admercs.evidence.suspects.LEAST_ROWS", 1 << 60):
        plain = ADMERCS().fit(table)
    block = model._prepare(table).block(0, len(table))
    ours, theirs = (Judge(m.model_).look(block).heard_root for m in (model, plain))
    np.testing.assert_array_equal(ours, theirs)


def test_thin_ends_of_columns_do_not_outrank_what_breaks_a_pattern() -> None:
    """In these sets nothing is wrong with a column by itself."""
    sets = [make_synth_c(i) for i in range(10)]

    def precision() -> float:
        return np.mean([average_precision_score(s.y, ADMERCS().fit(s.X).scores_) for s in sets])

    ours = precision()
    with patch("admercs.evidence.excuses.EXPLAINED_ODDS", 1.0):
        assert ours > precision() + 0.003


def test_a_reason_says_how_likely_the_value_is_in_the_table_excused_or_not() -> None:
    table = lengths()
    model = ADMERCS().fit(table)
    judge = Judge(model.model_)
    block = model._prepare(table).block(0, len(table))
    judgement, views = judge.judge(block), judge.look(block)
    by_table = judgement.node == model.model_.forest.root[:-1, None]
    excused = by_table & (views.heard_root > views.log_omega_root)
    assert excused.any()
    np.testing.assert_array_equal(judgement.log_omega[by_table], views.log_omega_root[by_table])
    heard = np.log1p(prior_odds(len(table)) * np.expm1(-views.heard_root))
    pattern = judgement.pattern / judgement.factor
    np.testing.assert_allclose(pattern[excused], heard[excused], rtol=1e-9, atol=1e-12)


def test_a_context_of_few_rows_excuses_nothing() -> None:
    _, views = looked_at(lengths(LEAST_ROWS + 20))
    assert not np.any(views.heard_root > views.log_omega_root)


def test_in_a_small_table_a_value_that_is_alone_is_still_heard() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 60), rng.integers(0, 2, 60), rng.integers(0, 2, 60)])
    X[0, 0] = 9
    model = ADMERCS().fit(X)
    row = model.explain(X[:1])[0]
    lone = row.reasons[0]
    assert lone.evidence == pytest.approx(row.factor * np.log1p(0.5 * (1 / lone.likelihood - 1)))
    assert model.model_.weighing.odds == 0.5
    assert ADMERCS(likelihood="paper").fit(X).model_.weighing.odds == 0.0
