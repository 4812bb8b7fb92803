"""ADMERCS as a scikit-learn estimator."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from admercs import ADMERCS, Method
from admercs.estimator import ModelFileError
from admercs.pipeline.model_file import HEADER
from tests.fuzz import pack, unpack


@parametrize_with_checks([ADMERCS(), ADMERCS.paper("HiCS")])
def test_scikit_learns_own_checks(estimator, check) -> None:  # type: ignore[no-untyped-def]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


def mixed_table(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    capacity = rng.choice([40.0, 60.0, 80.0], n)
    table = pd.DataFrame(
        {
            "capacity": capacity,
            "range": 6 * capacity + rng.normal(scale=10, size=n),
            "factory": rng.choice(["Ghent", "Bremen", "Turin"], n),
            "made": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D"),
            "recalled": rng.random(n) < 0.1,
        }
    )
    table.loc[rng.random(n) < 0.05, "factory"] = None
    table.loc[5, ["capacity", "range"]] = [80.0, 240.0]  # breaks the pattern, each value is common
    return table


@pytest.fixture(scope="module")
def cars() -> pd.DataFrame:
    return mixed_table()


@pytest.fixture(scope="module")
def model(cars: pd.DataFrame) -> ADMERCS:
    return ADMERCS().fit(cars)


def test_the_broken_pattern_is_found(model: ADMERCS) -> None:
    assert 5 in np.argsort(-model.scores_)[:2]


def test_scores_belong_together(model: ADMERCS, cars: pd.DataFrame) -> None:
    log_score = model.score_samples(cars)
    np.testing.assert_allclose(model.score_cells(cars).sum(axis=1), -log_score, rtol=1e-12)
    np.testing.assert_array_equal(model.anomaly_score(cars), -np.expm1(log_score))
    np.testing.assert_array_equal(model.anomaly_score(cars), model.scores_)
    np.testing.assert_array_equal(model.decision_function(cars), log_score - model.offset_)
    np.testing.assert_array_equal(model.predict(cars), np.where(log_score < model.offset_, -1, 1))
    np.testing.assert_array_equal(ADMERCS().fit_predict(cars), model.predict(cars))
    assert model.scores_.min() >= 0
    assert model.scores_.max() < 1


@pytest.mark.parametrize(
    "convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"]
)
def test_all_kinds_of_tables_give_the_same_scores(
    convert: Any, model: ADMERCS, cars: pd.DataFrame
) -> None:
    table = convert(cars)
    np.testing.assert_array_equal(ADMERCS().fit(table).scores_, model.scores_)
    np.testing.assert_array_equal(model.anomaly_score(table), model.scores_)


def test_a_batch_in_parts_gives_the_same_scores(model: ADMERCS, cars: pd.DataFrame) -> None:
    whole = model.score_samples(cars)
    parts = [model.score_samples(cars.iloc[a:b]) for a, b in [(0, 1), (1, 150), (150, 400)]]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_any_number_of_threads_gives_the_same_model(
    n_jobs: int, model: ADMERCS, cars: pd.DataFrame
) -> None:
    other = ADMERCS(n_jobs=n_jobs).fit(cars)
    np.testing.assert_array_equal(other.scores_, model.scores_)
    for a, b in zip(other.model_.likelihoods, model.model_.likelihoods, strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_and_columns_in_another_order(model: ADMERCS, cars: pd.DataFrame) -> None:
    rows = np.random.default_rng(0).permutation(len(cars))
    shuffled = ADMERCS().fit(cars.iloc[rows])
    np.testing.assert_array_equal(shuffled.scores_, model.scores_[rows])
    np.testing.assert_array_equal(
        model.score_samples(cars[cars.columns[::-1]]), model.score_samples(cars)
    )
    turned = ADMERCS().fit(cars[cars.columns[::-1]])
    np.testing.assert_allclose(turned.scores_, model.scores_, atol=1e-12)


def test_other_units_change_nothing(model: ADMERCS, cars: pd.DataFrame) -> None:
    miles = cars.assign(range=cars["range"] * 0.621371 + 100, capacity=cars["capacity"] * 3.6)
    np.testing.assert_allclose(ADMERCS().fit(miles).scores_, model.scores_, atol=1e-6)


def test_new_rows(model: ADMERCS, cars: pd.DataFrame) -> None:
    new = cars.head(4).copy()
    new.loc[0, "factory"] = "Atlantis"
    new.loc[1, "range"] = 1e9
    new.loc[2, "made"] = pd.Timestamp("1990-01-01")
    new.loc[3, "range"] = np.nan
    scores = model.anomaly_score(new)
    assert np.isfinite(scores).all()
    assert (scores > model.anomaly_score(cars.head(4))).all()


def test_a_column_too_many_or_too_few(model: ADMERCS, cars: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="range"):
        model.score_samples(cars.drop(columns="range"))
    with pytest.raises(ValueError, match="colour"):
        model.score_samples(cars.assign(colour="red"))


def test_missing_is_odd_where_it_is_rare_and_normal_where_it_is_common() -> None:
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 1000)
    value = rng.normal(size=1000)
    value[group == "a"] = np.nan
    value[np.flatnonzero(group == "b")[:3]] = np.nan
    value[np.flatnonzero(group == "a")[:3]] = 0.1
    scores = ADMERCS().fit(pd.DataFrame({"group": group, "value": value})).scores_
    odd = np.r_[np.flatnonzero(group == "a")[:3], np.flatnonzero(group == "b")[:3]]
    assert set(np.argsort(-scores)[:6]) == set(odd)


def test_columns_that_cannot_be_used_are_named() -> None:
    n = 600
    table = pd.DataFrame(
        {
            "x": np.arange(n) % 17,
            "same": 1,
            "nothing": np.nan,
            "name": [f"row {k}" for k in range(n)],
        }
    )
    with pytest.warns(UserWarning, match="nothing") as told:
        model = ADMERCS().fit(table)
    assert "name" not in str(told[0].message)  # the shape of the texts is used
    roles = {column.name: column.role for column in model.columns_}
    assert roles == {
        "x": "numeric",
        "same": "set aside",
        "nothing": "set aside",
        "name": "text",
    }
    assert all(column.reason for column in model.columns_ if column.role == "set aside")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_table_without_usable_columns() -> None:
    with pytest.raises(ValueError, match="column"):
        ADMERCS().fit(pd.DataFrame({"same": [1, 1, 1], "nothing": [None, None, None]}))


def test_one_usable_column_is_scored_by_its_density() -> None:
    x = np.random.default_rng(0).normal(size=(500, 1))
    x[7] = 50
    assert ADMERCS().fit(x).scores_.argmax() == 7


def test_one_row() -> None:
    with pytest.raises(ValueError, match=r"1 sample|one row"):
        ADMERCS().fit([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.inf, "infinity"), (-np.inf, "infinity"), (1j, "Complex")],
)
def test_values_that_are_no_values(value: object, message: str) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2)).astype(type(value) if value == 1j else float)
    X[3, 1] = value
    with pytest.raises(ValueError, match=message):
        ADMERCS().fit(X)


def test_saved_and_loaded(model: ADMERCS, cars: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "cars.admercs"
    model.save(path)
    again = ADMERCS.load(path)
    np.testing.assert_array_equal(again.score_samples(cars), model.score_samples(cars))
    np.testing.assert_array_equal(again.predict(cars), model.predict(cars))
    assert again.get_params() == model.get_params()
    assert list(again.feature_names_in_) == list(cars.columns)
    assert [str(c) for c in again.contexts_] == [str(c) for c in model.contexts_]
    assert not list(tmp_path.glob(".*"))


def test_numpy_numbers_as_parameters_are_saved(cars: pd.DataFrame, tmp_path: Path) -> None:
    model = ADMERCS(
        method=Method().change({"density.rho": np.float64(0.8)}),
        max_depth=np.int64(5),
        min_samples_leaf=np.float32(0.25),
        max_bins=np.str_("exact"),
        n_iter=np.int32(3),
        nominal=np.array(["capacity"]),
        contamination=np.float64(0.02),
        n_jobs=np.int64(1),
    ).fit(cars)
    model.save(tmp_path / "cars.admercs")
    again = ADMERCS.load(tmp_path / "cars.admercs")
    assert again.max_depth == 5
    assert again.min_samples_leaf == 0.25
    assert again.max_bins == "exact"
    assert again.method == model.method
    np.testing.assert_array_equal(again.score_samples(cars), model.score_samples(cars))
    np.testing.assert_array_equal(again.predict(cars), model.predict(cars))


@pytest.mark.parametrize("wrong", [{"n_jobs": 0}, {"max_depth": -1}, {"contamination": 0.7}])
def test_parameters_of_a_file_are_checked(model: ADMERCS, tmp_path: Path, wrong: dict) -> None:
    model.save(tmp_path / "m")
    members = unpack(tmp_path / "m")
    members[HEADER]["extra"]["parameters"] |= wrong
    pack(tmp_path / "m", members)
    with pytest.raises(ModelFileError, match=f"m is damaged .*{next(iter(wrong))}"):
        ADMERCS.load(tmp_path / "m")


def test_pickled_and_cloned(model: ADMERCS, cars: pd.DataFrame) -> None:
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.score_samples(cars), model.score_samples(cars))
    fresh = clone(model)
    assert not hasattr(fresh, "model_")
    with pytest.raises(NotFittedError):
        fresh.score_samples(cars)


def test_pipeline_and_grid_search(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    X = np.hstack([x, x + rng.normal(scale=0.1, size=(300, 1))])
    y = np.zeros(300)
    y[::30] = 1  # some in each fold
    X[::30, 1] *= -1
    pipeline = make_pipeline(StandardScaler(), ADMERCS())
    np.testing.assert_allclose(
        pipeline.fit(X).score_samples(X), ADMERCS().fit(X).score_samples(X), atol=1e-6
    )

    def auc(model: object, X: np.ndarray, y: np.ndarray) -> float:
        return roc_auc_score(y, -model.score_samples(X))  # type: ignore[attr-defined]

    grid = {
        "max_depth": np.arange(2, 5, 2),
        "method": [Method(), Method().change({"density.rho": 0.7})],
    }
    search = GridSearchCV(ADMERCS(), grid, scoring=auc, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    best = search.best_estimator_
    best.save(tmp_path / "best.admercs")
    again = ADMERCS.load(tmp_path / "best.admercs")
    assert again.get_params() == best.get_params()
    np.testing.assert_array_equal(again.score_samples(X), best.score_samples(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "magic"}, "method"),
        ({"n_iter": 0}, "n_iter"),
        ({"min_samples_leaf": 0.0}, "min_samples_leaf"),
        ({"contamination": {"score": 2}}, "contamination"),
        ({"contamination": {"score": 1}}, "contamination"),
        ({"contamination": {"evidence": np.inf}}, "0 <= e < inf; it is {'evidence': inf}"),
        ({"contamination": {"evidence": np.nan}}, "contamination"),
        ({"contamination": {"evidence": -1}}, "contamination"),
        ({"contamination": {"evidence": 10**400}}, "contamination"),
        ({"contamination": {"evidence": "3"}}, "contamination"),
        ({"contamination": {"evidence": 3, "score": 0.9}}, "contamination"),
        ({"contamination": {}}, "contamination"),
        ({"contamination": 0.7}, "contamination"),
        ({"nominal": ["no such column"]}, "no such column"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": 2**31}, "n_jobs"),
        ({"max_bins": 1}, "max_bins"),
    ],
)
def test_bad_parameters(parameters: dict, message: str, cars: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=message):
        ADMERCS(**parameters).fit(cars)


def test_contamination(cars: pd.DataFrame, model: ADMERCS) -> None:
    assert (ADMERCS(contamination=0.05).fit_predict(cars) == -1).sum() == 20
    stated = ADMERCS(contamination={"score": 0.9}).fit(cars)
    np.testing.assert_array_equal(stated.predict(cars) == -1, model.scores_ > 0.9)
    assert model.predict(cars)[5] == -1


CLEAN = {
    "normal": lambda rng, n, m: rng.normal(size=(n, m)),
    "uniform": lambda rng, n, m: rng.uniform(size=(n, m)),
    "heavy": lambda rng, n, m: rng.standard_t(5, size=(n, m)),
    "correlated": lambda rng, n, m: rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, m)),
    "clusters": lambda rng, n, m: rng.integers(0, 3, (n, 1)) * 5 + rng.normal(size=(n, m)),
    "discrete": lambda rng, n, m: rng.integers(0, 6, (n, m)).astype(float),
}


@pytest.mark.parametrize("shape", CLEAN)
@pytest.mark.parametrize(("n", "m"), [(300, 3), (2000, 8), (1000, 40)])
def test_clean_data_is_hardly_flagged(shape: str, n: int, m: int) -> None:
    shares = []
    for seed in range(3):
        X = CLEAN[shape](np.random.default_rng(seed), n, m)
        shares.append((ADMERCS().fit_predict(X) == -1).mean())
    assert np.mean(shares) <= 0.01


PLANTED = {
    "normal": lambda rng, X: X,
    "log-normal": lambda rng, X: np.exp(X / 2),
    "uniform": lambda rng, X: rng.uniform(size=X.shape),
    "clusters": lambda rng, X: X + 4 * rng.integers(0, 3, (len(X), 1)),
}


@pytest.mark.parametrize("shape", PLANTED)
def test_ten_per_cent_far_above_the_rest_are_flagged(shape: str) -> None:
    planted, hits, flagged = 100, [], []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 2)) @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(1000, 6))
        X = PLANTED[shape](rng, X)
        spread = np.quantile(X, 0.9, axis=0) - np.quantile(X, 0.1, axis=0)
        change = rng.choice([-1, 1], (planted, 6)) * rng.uniform(1.5, 4, (planted, 6))
        X[:planted] += spread * change * (rng.random((planted, 6)) < 0.6)
        found = ADMERCS().fit_predict(X) == -1
        hits.append(found[:planted].sum())
        flagged.append(found.sum())
    assert np.sum(hits) >= 0.5 * 16 * planted
    assert np.sum(hits) >= 0.8 * np.sum(flagged)


def test_progress_is_told(cars: pd.DataFrame, capsys) -> None:  # type: ignore[no-untyped-def]
    phases: list[str] = []
    ADMERCS(verbose=lambda phase, done, total: phases.append(phase)).fit(cars)
    # Without any candidate contexts there is no feedback.
    before = ["columns", "reading", "encoding", "trees", "densities", "conditions"]
    assert list(dict.fromkeys(phases)) == [*before, "scoring", "references", "comparing"]
    ADMERCS(verbose=1).fit(cars)
    assert re.search(r"trees (\d+)/\1\b", capsys.readouterr().err)
