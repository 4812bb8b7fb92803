"""The synthetic benchmarks hide their anomalies where they say they do."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.metrics import roc_auc_score

from admercs.datasets import (
    PATTERNS,
    draw_pattern,
    make_synth_c,
    make_synth_cs,
    make_synth_i,
    synth_c,
    synth_cs,
    synth_i,
)
from admercs.datasets.synthetic import EDITION, repair


def histogram_auc(data, n_bins=10):
    """AUC of the sum over attributes of how rare a value's bin is."""
    score = np.zeros(len(data.y))
    for values in data.X.T:
        counts, edges = np.histogram(values, n_bins)
        score -= np.log(counts[np.digitize(values, edges[1:-1])] + 1)
    return roc_auc_score(data.y, score)


@pytest.fixture(scope="module")
def all_c():
    return synth_c()


def test_there_are_thirty_different_patterns(all_c):
    assert len(PATTERNS) == 30
    assert [data.name for data in all_c] == list(PATTERNS)
    for data in all_c:
        assert data.X.shape == (1000, 2)
        assert data.y.sum() == 50
        assert set(data.kind[data.y]) == {"local outlier"}
        assert set(data.odd_subspaces) == set(np.flatnonzero(data.y).tolist())


def test_single_attributes_say_nothing_in_synth_c(all_c):
    aucs = [histogram_auc(data) for data in all_c]
    assert np.mean(aucs) == pytest.approx(0.5, abs=0.05)
    assert max(aucs) < 0.7


def test_outliers_keep_away_from_the_pattern(all_c):
    for data in all_c:
        gap, _ = cKDTree(data.X[~data.y]).query(data.X[data.y])
        assert gap.min() > 0.005, data.name
        assert np.median(gap) > 0.03, data.name


def test_two_attributes_together_show_the_outliers(all_c):
    aucs = []
    for data in all_c:
        distance, _ = cKDTree(data.X).query(data.X, k=20)
        aucs.append(roc_auc_score(data.y, distance[:, -1]))
    assert np.mean(aucs) > 0.95
    assert min(aucs) > 0.8


def test_who_knows_the_pattern_finds_every_outlier(all_c):
    """Points of a pattern lie closer to other points of it than outliers do."""
    aucs = []
    for data in all_c:
        # The set was scaled to the range of its normal points, which tells the scale to one part in
        # hundred.
        known = draw_pattern(data.name, 50_000, 1)
        low, high = np.quantile(known, [0.0005, 0.9995], axis=0)
        distance, _ = cKDTree((known - low) / (high - low)).query(data.X)
        aucs.append(roc_auc_score(data.y, distance))
    assert np.mean(aucs) > 0.998
    assert min(aucs) > 0.98


def test_synth_cs_has_five_disjoint_subspaces_with_ten_outliers_each():
    data = make_synth_cs(30, version=1)
    dims = [d for pair in data.subspaces for d in pair]
    assert len(set(dims)) == 10
    counts = np.bincount([where for (where,) in data.odd_subspaces.values()])
    assert counts.tolist() == [10] * 5
    for i, pair in enumerate(data.subspaces):
        odd = [row for row, where in data.odd_subspaces.items() if where == (i,)]
        others = np.setdiff1d(np.arange(1000), odd)
        gap, _ = cKDTree(data.X[np.ix_(others, pair)]).query(data.X[np.ix_(odd, pair)])
        assert gap.min() > 0.02
    noise = np.setdiff1d(np.arange(30), dims)
    assert data.X[:, noise].min() >= 0
    assert data.X[:, noise].max() <= 1


def test_single_attributes_say_nothing_in_synth_cs():
    aucs = [histogram_auc(data) for data in synth_cs()]
    assert len(aucs) == 30
    assert np.mean(aucs) == pytest.approx(0.5, abs=0.03)


def test_synth_i_hides_a_minority_in_bad_clusters():
    shares = []
    for data in synth_i():
        assert data.X.shape == (1000, 4)
        assert data.y.sum() == 50
        hidden = data.kind == "accidental inlier"
        assert 8 <= hidden.sum() <= 12
        # In the clusters' attributes the hidden rows' neighbours are anomalies ...
        tree = cKDTree(data.X[:, 2:])
        _, near = tree.query(data.X[hidden, 2:], k=9)
        shares.append(data.y[near[:, 1:]].mean())
        # ... and in the pattern's attributes they are ordinary points.
        gap, _ = cKDTree(data.X[data.kind == "normal", :2]).query(data.X[hidden, :2])
        assert np.median(gap) < 0.03
    assert np.mean(shares) > 0.9
    assert min(shares) > 0.6


@pytest.mark.parametrize("make", [make_synth_c, lambda i: make_synth_cs(10 * i + 10), make_synth_i])
def test_same_arguments_same_set(make):
    first, again, other = make(1), make(1), make(2)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.kind, again.kind)
    assert first.X.shape != other.X.shape or (first.X != other.X).any()


def test_another_edition_when_the_same_arguments_give_another_set():
    assert EDITION == 3
    np.testing.assert_allclose(make_synth_c(20).X[0], [0.117755, 0.199998], atol=1e-6)
    np.testing.assert_allclose(
        make_synth_cs(10).X[0, :3], [0.453908, 0.265281, 0.623177], atol=1e-6
    )
    expected = [0.932982, 0.418443, 1.803553, 1.205568]
    np.testing.assert_allclose(make_synth_i(20).X[0], expected, atol=1e-6)


def test_seed_changes_the_set():
    assert (make_synth_c(0, 0).X != make_synth_c(0, 1).X).any()


def test_repair_keeps_every_value_once_where_it_can():
    rng = np.random.default_rng(0)
    normal, spare = draw_pattern("cross", 500, rng), draw_pattern("cross", 40, rng)
    out = repair(normal, spare, 0.05, rng)
    np.testing.assert_array_equal(np.sort(out[:, 0]), np.sort(spare[:, 0]))
    np.testing.assert_array_equal(np.sort(out[:, 1]), np.sort(spare[:, 1]))


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="index must be between 0 and 29"):
        make_synth_c(30)
    with pytest.raises(ValueError, match="n_dims must be at least 10"):
        make_synth_cs(8)
    with pytest.raises(ValueError, match="unknown pattern 'heart'"):
        draw_pattern("heart", 5)
