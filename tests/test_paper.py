"""The paper's settings give the paper's results."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from admercs import ADMERCS, Method
from admercs.datasets import (
    HICS_DIMENSIONS,
    DataNotFoundError,
    LabelledArray,
    load_campos,
    load_hics,
)

CAMPOS_SAMPLE = [
    "Annthyroid", "Cardiotocography", "Glass", "HeartDisease", "Hepatitis", "Ionosphere",
    "Lymphography", "PageBlocks", "Parkinson", "Pima", "Shuttle", "Stamps", "WBC", "WDBC", "Wilt",
]  # fmt: skip


def hics(dimensions: int, version: int) -> LabelledArray:
    try:
        return load_hics(dimensions, version)
    except DataNotFoundError as error:
        pytest.skip(f"the HiCS sets are not at hand: {error}")


def evaluate(model: ADMERCS, data: LabelledArray) -> tuple[float, float]:
    evidence = -model.fit(data.X).score_samples(data.X)
    return roc_auc_score(data.y, evidence), average_precision_score(data.y, evidence)


def test_hics() -> None:
    sets = [hics(n, v) for n in HICS_DIMENSIONS for v in range(3)]
    auc, ap = np.mean([evaluate(ADMERCS.paper("HiCS"), data) for data in sets], axis=0)
    assert auc >= 0.98
    assert ap >= 0.84


def test_campos() -> None:
    try:
        sets = [load_campos(name, 1) for name in CAMPOS_SAMPLE]
    except DataNotFoundError as error:
        pytest.skip(f"the Campos sets are not at hand: {error}")
    results = [evaluate(ADMERCS.paper("Campos"), data) for data in sets]
    assert np.mean(results, axis=0)[0] >= 0.77


@pytest.mark.parametrize("dimensions", [75, 100])
def test_iterating_costs_nothing_in_wide_tables(dimensions: int) -> None:
    data = hics(dimensions, 0)
    once = evaluate(ADMERCS.paper("HiCS", n_iter=1), data)[0]
    method = Method.paper("HiCS").change({"feedback.n_iter": 20, "feedback.tol": 0.0})
    often = evaluate(ADMERCS(method=method), data)[0]
    assert often >= once - 1e-3


def test_unknown_benchmark() -> None:
    with pytest.raises(ValueError, match="HiCS"):
        ADMERCS.paper("MNIST")
