"""Training rows that are known to be normal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from admercs import ADMERCS, Method


def normal_rows(seed: int, n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "y": 2 * x + rng.normal(scale=0.2, size=n),
            "kind": np.where(x + rng.normal(scale=0.3, size=n) > 0, "high", "low"),
            "noise": rng.uniform(size=n),
        }
    )


def strange_rows(seed: int, n: int = 100) -> pd.DataFrame:
    rows = normal_rows(seed, n)
    return rows.assign(y=np.random.default_rng(seed).permutation(rows["y"]) + 1.5)


def test_nothing_in_the_training_table_is_distrusted() -> None:
    model = ADMERCS(novelty=True).fit(normal_rows(0))
    assert model.contexts_ == []
    assert model.model_.method == Method().for_novelty()
    assert model.model_.references.weight == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_the_line_follows_from_rows_that_were_not_trained_on(seed: int) -> None:
    model = ADMERCS(novelty=True, contamination=0.02).fit(normal_rows(seed))
    new, strange = normal_rows(100 + seed, 3000), strange_rows(200 + seed)
    # A share of 2% of unseen rows is to be flagged, and of unseen rows it is.
    assert 0.008 < (model.predict(new) == -1).mean() < 0.04
    assert (model.predict(strange) == -1).mean() > 0.4
    scores = np.concatenate([model.anomaly_score(new), model.anomaly_score(strange)])
    assert roc_auc_score(np.arange(len(scores)) >= len(new), scores) > 0.85


def test_the_order_of_rows_does_not_matter() -> None:
    table = normal_rows(1)
    shuffled = table.sample(frac=1, random_state=0)
    first, second = (ADMERCS(novelty=True).fit(each) for each in (table, shuffled))
    assert first.offset_ == second.offset_
    np.testing.assert_array_equal(first.score_samples(table), second.score_samples(table))


@pytest.mark.parametrize("kind", ["array", "dict", "polars"])
def test_any_table_can_be_cut_into_folds(kind: str) -> None:
    table = normal_rows(2, 200).drop(columns="kind")
    whole = ADMERCS(novelty=True).fit(table)
    if kind == "array":
        other = table.to_numpy()
    elif kind == "dict":
        other = {name: table[name].to_numpy() for name in table}
    else:
        other = pytest.importorskip("polars").from_pandas(table)
    assert ADMERCS(novelty=True).fit(other).offset_ == whole.offset_


def test_it_is_saved_and_small_tables_are_fitted(tmp_path: Path) -> None:
    table = normal_rows(3, 30)
    model = ADMERCS(novelty=True).fit(table)
    assert len(model.fit_predict(table)) == 30
    model.save(tmp_path / "model.admercs")
    again = ADMERCS.load(tmp_path / "model.admercs")
    assert again.novelty
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
