"""What the whole table finds odd, an ordinary context may explain; against a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from admercs import ADMERCS, Method
from admercs.datasets import make_synth_cs
from admercs.method.discount import DiscountStep, condition_columns
from admercs.method.settings import Discount, Trees

from ..trees.tools import grow, mixed
from .tools import ALONE, fit

ONE_ROUND = replace(Method(), **ALONE)


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


@pytest.mark.parametrize("make", [lengths, vehicles, lambda: lengths(280)])
@pytest.mark.parametrize("settings", [Discount(), Discount(odds=0.1, min_rows=30)])
def test_the_table_counts_less_where_a_context_explains_a_value(
    make: Callable[[], pd.DataFrame], settings: Discount
) -> None:
    seen = fit(make(), ONE_ROUND)
    forest, own, ordinary = seen.model.forest, seen.model.scoring.own, 0.5
    views, before = seen.views(), seen.views()
    far = np.where(np.arange(before.marginal.shape[1]) % 3 == 0, -2.0, 0.0)
    for each in (views, before):
        each.far.extend((m, np.arange(len(far)), far) for m in range(len(each.marginal)))
        np.minimum(each.marginal, far, out=each.marginal)  # as the tails leave it
    DiscountStep(forest, own, settings, ordinary).apply(views)
    expected = before.marginal.copy()
    for m, i in np.ndindex(expected.shape):
        context = own[seen.leaf[m, i]]
        columns = forest.feature[forest.path(context)[:-1]]
        table, here = before.marginal[m, i], before.log_omega[m, i]
        if len(columns) and forest.n[context] >= settings.min_rows and table < here:
            in_context = np.exp(before.marginal[columns, i].min())
            explained = min(1.0, np.exp(here) / ordinary) * in_context
            odds = 1 - (1 - settings.odds) * explained
            expected[m, i] = -np.log1p(odds * np.expm1(-table))
        expected[m, i] = min(expected[m, i], far[i])  # never above what the tails say
    np.testing.assert_allclose(views.marginal, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(views.log_omega, before.log_omega)
    assert np.mean(expected > before.marginal) > 0.05


def test_the_columns_of_conditions() -> None:
    forest = grow(mixed(0), Trees(), nominal=[2, 3]).forest
    nodes = np.flatnonzero(forest.parent >= 0).astype(np.int32)
    for node, found in zip(nodes, condition_columns(forest, nodes), strict=True):
        assert sorted(set(found.tolist())) == forest.condition_columns(node)


def test_a_context_of_few_rows_explains_nothing() -> None:
    table = lengths(70)
    found = fit(table, ONE_ROUND).parts()
    without = fit(table, replace(ONE_ROUND, discount=None)).parts()
    np.testing.assert_array_equal(found.pattern, without.pattern)


def test_it_only_ever_lowers_the_evidence_of_values() -> None:
    table = lengths()
    found = fit(table, ONE_ROUND).parts().pattern
    without = fit(table, replace(ONE_ROUND, discount=None)).parts().pattern
    assert np.all(found <= without + 1e-12)
    assert np.mean(found < without) > 0.05


def test_thin_ends_of_columns_do_not_outrank_what_breaks_a_pattern() -> None:
    """In these sets nothing is wrong with a column by itself."""
    sets = [make_synth_cs(dims, i) for dims in (10, 20) for i in range(3)]

    def precision(method: Method) -> float:
        models = [ADMERCS(method=method).fit(each.X) for each in sets]
        found = [
            average_precision_score(each.y, model.scores_)
            for each, model in zip(sets, models, strict=True)
        ]
        return float(np.mean(found))

    assert precision(Method()) > precision(replace(Method(), discount=None)) + 0.003
