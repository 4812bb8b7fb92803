"""The baselines behave as scikit-learn's outlier detectors do."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import LocalOutlierFactor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from admercs.baselines import ALSO, HiCS
from admercs.baselines.outlier_factor import local_outlier_factor, nearest
from admercs.baselines.regression_forest import RegressionForest
from admercs.datasets import make_synth_c, make_synth_cs


@parametrize_with_checks([ALSO(random_state=0), HiCS(random_state=0, n_tests=5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", [ALSO(random_state=0), HiCS(random_state=0)])
def test_scores_of_the_training_table_and_after_pickling(model):
    X = make_synth_c(3).X[:300]
    fitted = clone(model).fit(X)
    np.testing.assert_allclose(fitted.score_samples(X), fitted.scores_, rtol=1e-12)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.score_samples(X[:9]), fitted.score_samples(X[:9]))
    np.testing.assert_array_equal(clone(model).fit(X).scores_, fitted.scores_)


@pytest.mark.parametrize("model", [ALSO(random_state=0), HiCS(random_state=0)])
def test_contamination_decides_how_many_are_flagged(model):
    X = make_synth_c(3).X[:300]
    flagged = clone(model).set_params(contamination=0.1).fit_predict(X) == -1
    assert flagged.sum() == 30


def test_new_rows_off_the_pattern_score_lower():
    data = make_synth_c(0)
    line = data.X[~data.y]
    for model in (ALSO(random_state=0), HiCS(random_state=0)):
        on, off = model.fit(line).score_samples([[0.3, 0.31], [0.3, 0.8]])
        assert off < on - 0.5


def test_also_weighs_attributes_by_how_well_they_are_predicted():
    data = make_synth_cs(20)
    weights = ALSO(random_state=0).fit(data.X).weights_
    relevant = sorted(d for pair in data.subspaces for d in pair)
    noise = np.setdiff1d(np.arange(20), relevant)
    assert weights[noise].max() < 0.05
    assert np.sort(weights[relevant])[-4] > 0.3


def test_also_compares_each_row_with_trees_that_have_not_seen_it():
    # Deep trees with leaves of one row predict what they have learnt to the last digit.
    X = np.column_stack([np.linspace(0, 1, 60), np.random.default_rng(0).random(60)])
    model = ALSO(max_depth=30, min_samples_leaf=0.001, min_impurity_decrease=0.0, random_state=0)
    assert (model.fit(X).scores_ < 0).all()
    np.testing.assert_array_equal(model.score_samples(X), model.scores_)


def test_also_deviations_do_not_depend_on_the_unit_of_an_attribute():
    X = make_synth_c(4).X[:400]
    for unit in ("deviation", "range"):
        plain = ALSO(unit=unit, random_state=0).fit(X).scores_
        np.testing.assert_allclose(
            ALSO(unit=unit, random_state=0).fit(X * [1000, 1]).scores_, plain, rtol=1e-6
        )


def test_also_residuals_agree_with_scikit_learn_trees():
    # Few distinct values, so that bins are exact.
    X = make_synth_c(4).X[:400].round(2)
    mine = RegressionForest(4, 0.05, 0.01).fit(X).predict(X)
    for target in (0, 1):
        spread = np.ptp(X[:, target])
        tree = DecisionTreeRegressor(
            max_depth=4, min_samples_leaf=0.05, min_impurity_decrease=0.01 * spread**2 / len(X)
        )
        theirs = tree.fit(X[:, [1 - target]], X[:, target]).predict(X[:, [1 - target]])
        np.testing.assert_allclose(mine[:, target], theirs, atol=1e-6)


@pytest.mark.parametrize("k", [1, 5, 20])
def test_local_outlier_factor_agrees_with_scikit_learn(k):
    X = make_synth_c(20).X[:400]
    mine, _ = local_outlier_factor(*nearest(X, k))
    theirs = -LocalOutlierFactor(k).fit(X).negative_outlier_factor_
    np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_factors_of_coinciding_rows_are_finite():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0], [5.0, 2.0]], [30, 30, 1], axis=0)
    factor, _ = local_outlier_factor(*nearest(X, 10))
    assert np.isfinite(factor).all()
    assert factor.argmax() == 60
