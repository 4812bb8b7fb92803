"""Few rows are read and scored by shorter ways, and nothing about them changes."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.arrays import FEW_ROWS
from admercs.pipeline.score import Scorer

N = 1000


@pytest.fixture(scope="module")
def mixed() -> pd.DataFrame:
    """Numbers, counts, texts, flags and dates, a sum, missing values and a few wrong ones."""
    rng = np.random.default_rng(3)
    x, net, vat = rng.normal(size=N), rng.integers(100, 9999, N), rng.integers(10, 999, N)
    table = pd.DataFrame(
        {
            "x": x,
            "y": (x**2 + rng.normal(scale=0.1, size=N)).astype(np.float32),
            "kind": np.where(x > 0, "warm", "cold"),
            "code": [f"A{k % 7}-{k:04d}" for k in range(N)],
            "flag": x > 1,
            "count": rng.poisson(3, N),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
            "net": net / 100,
            "vat": vat / 100,
            "total": (net + vat) / 100,
            "few": pd.Categorical(rng.choice(["a", "b", "c"], N)),
        }
    )
    table.loc[5, ["x", "kind"]] = np.nan
    table.loc[7, ["total", "y"]] = [1234.5, 99.0]
    table.loc[9, "code"] = "???"
    return table


@pytest.fixture(scope="module")
def model(mixed: pd.DataFrame) -> ADMERCS:
    return ADMERCS().fit(mixed)


def test_rows_alone_have_the_scores_that_they_have_among_others(
    mixed: pd.DataFrame, model: ADMERCS
) -> None:
    cells, scores = model.score_cells(mixed), model.score_samples(mixed)
    for start in (0, 5, 7, 9, 123, 600):
        one, few = mixed.iloc[[start]], mixed.iloc[start : start + FEW_ROWS]
        as_dict = {name: [value] for name, value in one.iloc[0].items()}
        assert model.score_samples(one)[0] == scores[start] == model.score_samples(as_dict)[0]
        np.testing.assert_array_equal(model.score_samples(few), scores[start : start + FEW_ROWS])
        np.testing.assert_array_equal(model.score_cells(few), cells[start : start + FEW_ROWS])


def test_one_row_of_an_array() -> None:
    X = np.random.default_rng(0).normal(size=(N, 6)).cumsum(axis=1)
    X[3, 2], X[4] = np.nan, 50.0
    model = ADMERCS().fit(X)
    scores = model.score_samples(X)
    frame = pd.DataFrame(X)
    for k in (0, 3, 4, 500):
        assert model.score_samples(X[k : k + 1])[0] == scores[k]
        assert model.score_samples(frame.iloc[k : k + 1])[0] == scores[k]


def test_what_follows_from_a_model_is_made_once_and_not_pickled(
    mixed: pd.DataFrame, model: ADMERCS
) -> None:
    scores = model.score_samples(mixed.iloc[:3])
    scorer = model.model_.once(Scorer)
    assert scorer is model.model_.once(Scorer)
    again = pickle.loads(pickle.dumps(model))
    assert not again.model_._made
    np.testing.assert_array_equal(again.score_samples(mixed.iloc[:3]), scores)


def test_threads_may_score_at_the_same_time(mixed: pd.DataFrame, model: ADMERCS) -> None:
    expected = model.score_samples(mixed)[:40]
    fresh = pickle.loads(pickle.dumps(model))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: fresh.score_samples(mixed.iloc[[k]])[0], range(40)))
    np.testing.assert_array_equal(found, expected)
