"""How far the ranking moves when a table is changed in ways that should hardly matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from admercs import ADMERCS
from admercs.datasets import make_synth_c, make_synth_cs, make_synth_i

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]

# A wave, five patterns among ten attributes of noise, and accidental inliers.
SETS = {"C": make_synth_c(4), "C&S": make_synth_cs(20), "I": make_synth_i(0)}


def duplicates(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ten copies of a row, put after the others."""
    return np.vstack([X, np.repeat(X[:1], 10, axis=0)])


def copied_column(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([X, X[:, 0]])


def noise_column(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([X, rng.random(len(X))])


def monotone(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([np.exp(2 * X[:, 0] / X[:, 0].max()), X[:, 1:]])


def missing(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(X.shape) < 0.2, np.nan, X)


def auc(X: np.ndarray, y: np.ndarray) -> float:
    """AUC of the original rows; rows added at the end are left out."""
    return float(roc_auc_score(y, ADMERCS().fit(X).scores_[: len(y)]))


# Per change how much AUC may be lost: about twice the most that was seen on the three sets. Of the
# local outliers 36% lose one of the two values that give them away when every fifth value is
# missing. A copy of one of two columns explains it so well that the other is asked less: 0.045 on
# the wave.
@pytest.mark.parametrize(
    ("change", "bound"),
    [
        (duplicates, 0.03),
        (copied_column, 0.09),
        (noise_column, 0.005),
        (monotone, 0.03),
        (missing, 0.25),
    ],
)
@pytest.mark.parametrize("name", SETS)
def test_the_ranking_hardly_moves(name: str, change: Change, bound: float) -> None:
    data = SETS[name]
    before = auc(data.X, data.y)
    after = auc(change(data.X, np.random.default_rng(0)), data.y)
    assert after > before - bound


@pytest.mark.parametrize("dependent", [False, True])
def test_a_glaring_cell_is_found_among_two_hundred_quiet_columns(dependent: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 200))
    if dependent:  # in groups of five
        X = 0.7 * X + 0.7 * np.repeat(rng.normal(size=(5000, 40)), 5, axis=1)
    rows, columns = rng.choice(5000, 20, replace=False), rng.integers(0, 200, 20)
    X[rows, columns] = np.linspace(7, 25, 20) * rng.choice([-1, 1], 20)
    model = ADMERCS().fit(X)
    first = np.argsort(-model.scores_, kind="stable")[:50]
    assert np.isin(rows, first).sum() >= 18
    assert (model.predict(X)[rows] == -1).sum() >= 15
