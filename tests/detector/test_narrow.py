"""Groups that only two columns together set apart: leaves of no tree, and yet contexts."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS

N_BROKEN, N_HIDDEN = 36, 4
BAD = np.arange(N_BROKEN + N_HIDDEN)
HIDDEN = BAD[N_BROKEN:]


def make_table(kind: str = "numbers", seed: int = 0, n: int = 1000) -> pd.DataFrame:
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


def narrow_contexts(model: ADMERCS) -> np.ndarray:
    forest = model.model_.forest
    suspected = np.flatnonzero(np.exp(model.model_.log_lambda) > 0.5)
    return np.array(
        [c for c in suspected if forest.tree_of(c) in forest.feature[forest.path(c)[:-1]]]
    )


@pytest.mark.parametrize("kind", ["numbers", "missing", "categories"])
@pytest.mark.parametrize("seed", range(3))
def test_a_group_that_is_no_leaf_is_found(kind: str, seed: int) -> None:
    table = make_table(kind, seed)
    model = ADMERCS().fit(table)
    assert len(narrow_contexts(model))
    context = next(
        c for c in model.contexts_ if {"east", "north"} <= {x.attribute for x in c.conditions}
    )
    members = np.array(context.members)
    assert np.isin(members, BAD).mean() > 0.85
    assert np.isin(HIDDEN, members).mean() > 0.5
    evidence = -model.score_samples(table)
    with patch("admercs.evidence.suspects.LEAST_ROWS", 1 << 60):
        plain = ADMERCS().fit(table)
    assert not len(narrow_contexts(plain))
    assert (evidence + plain.score_samples(table))[HIDDEN].mean() > 0.5


def test_the_reason_names_both_columns_and_all_reasons_add_up() -> None:
    table = make_table("categories")
    model = ADMERCS().fit(table)
    hidden = model.explain(table.iloc[HIDDEN], top=None, noun="engines")
    for row in hidden:
        assert sum(r.evidence for r in row.reasons) == pytest.approx(row.evidence, rel=1e-9)
    texts = [str(r) for row in hidden for r in row.reasons if r.kind == "context"]
    assert texts
    assert all("east = right" in text and "north = below" in text for text in texts)


def test_new_rows_are_in_the_context_only_with_such_a_value() -> None:
    model = ADMERCS().fit(make_table())
    new = pd.DataFrame({"load": 5.0, "heat": 15.0, "east": [10.0, 0.0, np.nan], "north": 0.0})
    kinds = [{r.kind for r in row.reasons} for row in model.explain(new, top=None)]
    assert "context" in kinds[0]
    assert "context" not in kinds[1]


def test_the_model_is_the_same_after_saving_and_for_any_number_of_threads(tmp_path: Path) -> None:
    table = make_table("missing")
    model = ADMERCS(n_jobs=1).fit(table)
    model.save(tmp_path / "model")
    scores = model.score_samples(table)
    np.testing.assert_array_equal(ADMERCS.load(tmp_path / "model").score_samples(table), scores)
    np.testing.assert_array_equal(ADMERCS(n_jobs=4).fit(table).score_samples(table), scores)
    np.testing.assert_array_equal(model.scores_, -np.expm1(scores))


def test_values_are_judged_as_if_nothing_had_been_split() -> None:
    table = make_table()
    model = ADMERCS().fit(table)
    with patch("admercs.evidence.suspects.LEAST_ROWS", 1 << 60):
        plain = ADMERCS().fit(table)
    ours, theirs = (
        {
            (r.target, r.likelihood)
            for r in m.explain(table[:50], top=None)[7].reasons
            if r.kind == "pattern"
        }
        for m in (model, plain)
    )
    assert ours == theirs


@pytest.mark.parametrize("seed", range(3))
def test_noise_holds_no_narrow_contexts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert not len(narrow_contexts(ADMERCS().fit(rng.normal(size=(1000, 6)))))
    words = rng.choice(["a", "b", "c"], size=(500, 5), p=[0.6, 0.3, 0.1])
    assert not len(narrow_contexts(ADMERCS().fit(words)))


def test_unique_texts_and_grouped_categories_make_no_context() -> None:
    table = make_table("categories")
    table["id"] = [f"row {i}" for i in range(len(table))]
    table["word"] = [f"rare {i}" if i >= 700 else "usual" for i in range(len(table))]
    model = ADMERCS().fit(table)
    for context in model.contexts_:
        assert {c.attribute for c in context.conditions} <= {"load", "heat", "east", "north"}
