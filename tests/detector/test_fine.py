"""Groups that fine splits set apart: they judge nobody, and may be suspected."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.detector.judge import Judge
from tests.explain.truth import check_all


def animals(seed: int = 7, n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """Return animals, and which of them have wings and fur: these hunt less, and most break two relations."""
    rng = np.random.default_rng(seed)
    wet = rng.random(n) < 0.35
    swims = wet ^ (rng.random(n) < 0.08)
    wings, fur = rng.random(n) < 0.25, rng.random(n) < 0.4
    odd = wings & fur & ~wet
    hunts = rng.random(n) < np.where(odd, 0.05, 0.5)
    hunts = np.where(wet, rng.random(n) < 0.8, hunts)
    eggs = rng.random(n) < 0.5
    milk = eggs ^ (rng.random(n) < 0.04)
    milk = np.where(odd & (rng.random(n) < 0.8), eggs == milk, milk)
    legs = rng.integers(1, 3, n) * 2
    claws = legs * 2 + rng.integers(0, 2, n)
    claws = np.where(odd & (rng.random(n) < 0.8), 12 - claws, claws)
    columns = {"wet": wet, "swims": swims, "wings": wings, "fur": fur, "hunts": hunts}
    columns |= {"eggs": eggs, "milk": milk, "legs": legs, "claws": claws}
    return pd.DataFrame({name: values.astype(int) for name, values in columns.items()}), odd


def fine_contexts(model: ADMERCS) -> list[int]:
    """Return anomalous contexts that are judged by a wider leaf, and have no condition on their target."""
    forest = model.model_.forest
    apart = forest.scorer != np.arange(len(forest.scorer))
    suspected = np.flatnonzero(apart & (model.model_.log_lambda > -1)).tolist()
    return [c for c in suspected if forest.tree_of(c) not in forest.feature[forest.path(c)[:-1]]]


@pytest.mark.parametrize("seed", [1, 2, 7, 12, 20, 22, 23])
def test_a_group_that_no_split_of_full_price_sets_apart_is_found(seed: int) -> None:
    table, odd = animals(seed)
    model = ADMERCS().fit(table)
    assert fine_contexts(model)
    found = [c for c in model.contexts_ if {"wings", "fur"} <= {x.attribute for x in c.conditions}]
    assert any(np.all(odd[list(c.members)]) and c.n >= 7 for c in found)
    with patch("admercs.trees.growth.FINE_PRICE", 0.55):
        assert not fine_contexts(ADMERCS().fit(table))


def test_fine_splits_change_no_view_of_a_value_and_stay_only_where_needed() -> None:
    table, _ = animals()
    model = ADMERCS().fit(table)
    with patch("admercs.trees.growth.FINE_PRICE", 0.55):
        plain = ADMERCS().fit(table)
    block = model._prepare(table).block(0, len(table))
    ours, theirs = (Judge(m.model_).look(block) for m in (model, plain))
    np.testing.assert_array_equal(ours.log_omega, theirs.log_omega)
    np.testing.assert_array_equal(ours.heard_root, theirs.heard_root)
    forest = model.model_.forest
    needed = {node for c in fine_contexts(model) for node in forest.path(c)}
    apart = np.flatnonzero(forest.scorer != np.arange(len(forest.scorer)))
    own = [leaf for leaf in apart if forest.tree_of(leaf) not in forest.feature[forest.path(leaf)]]
    assert own
    assert all(int(forest.parent[leaf]) in needed for leaf in own)


@pytest.mark.parametrize("changes", [{"n_iter": 1}, {"feedback": "centred"}])
def test_where_no_group_is_asked_for_none_is_kept(changes: dict[str, object]) -> None:
    table, _ = animals()
    forest = ADMERCS(**changes).fit(table).model_.forest
    np.testing.assert_array_equal(forest.scorer, np.arange(len(forest.scorer)))


def test_reasons_about_fine_contexts_are_true_and_add_up() -> None:
    table, _ = animals()
    model = ADMERCS().fit(table)
    rows = model.explain(table, top=None)
    check_all(rows, table, table)
    leaves = set(fine_contexts(model))
    told = [r for row in rows for r in row.reasons if r.kind == "context" and r.context in leaves]
    assert told
    for row in rows:
        assert sum(r.evidence for r in row.reasons) == pytest.approx(row.evidence, rel=1e-9)
    np.testing.assert_array_equal(model.scores_, -np.expm1(model.score_samples(table)))
