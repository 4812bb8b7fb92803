"""Averages, ranks, critical distances and what the paper published."""

import numpy as np
import pytest

from admercs.experiments.benchmarks import BenchmarkSet, list_sets
from admercs.experiments.protocol import best_point
from admercs.experiments.published import (
    ALGORITHMS,
    BENCHMARKS,
    CRITICAL_DISTANCE,
    GRIDS,
    SELECTED,
    TABLE,
)
from admercs.experiments.ranking import (
    compare,
    critical_distance,
    mean_ranks,
    not_distinguishable,
    per_set,
)
from admercs.experiments.store import Result, encode_point


def result(algorithm="kNN", name="a", version=1, auc=0.5, parameters="{}", benchmark="Campos"):
    return Result(algorithm, parameters, benchmark, name, version, auc, auc / 2, 1.0)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_critical_distance_agrees_with_the_published_one(benchmark):
    n_sets = len({item.name for item in list_sets(benchmark)})
    ours = critical_distance(len(ALGORITHMS), n_sets)
    assert ours == pytest.approx(CRITICAL_DISTANCE[benchmark], abs=0.01)


def test_ranks_of_published_averages_add_up():
    # Mean ranks of seven algorithms average to four, up to rounding.
    for benchmark in BENCHMARKS:
        ranks = [TABLE[algorithm, benchmark].auc_rank for algorithm in ALGORITHMS]
        assert np.mean(ranks) == pytest.approx(4, abs=0.02)


def test_grids_have_the_published_sizes_and_hold_the_selected_points():
    sizes = {
        "AD-MERCS": 384,
        "ALSO": 48,
        "HBOS": 8,
        "HiCS": 11,
        "iForest": 25,
        "kNN": 48,
        "LOF": 48,
    }
    assert {algorithm: len(grid) for algorithm, grid in GRIDS.items()} == sizes
    for (algorithm, _), point in SELECTED.items():
        assert point in GRIDS[algorithm]


def test_equal_values_share_ranks():
    values = np.array([[3.0, 2.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    np.testing.assert_allclose(mean_ranks(values), [1.75, 2.5, 2.5, 3.25])


def test_groups_within_the_critical_distance():
    assert not_distinguishable([1.0, 4.0, 8.0], 1.0) == []
    assert not_distinguishable([1.0, 1.5, 2.0], 1.5) == [(0, 2)]
    assert not_distinguishable([1.0, 2.0, 3.0, 4.0], 1.5) == [(0, 1), (1, 2), (2, 3)]


def test_versions_are_averaged_before_sets():
    results = [
        result(version=1, auc=0.2),
        result(version=2, auc=0.4),
        result(name="b", auc=0.9),
    ]
    assert per_set(results) == {
        ("kNN", "a"): pytest.approx(0.3),
        ("kNN", "b"): pytest.approx(0.9),
    }
    comparison = compare("Campos", results, ["kNN"])
    assert comparison.average("auc", "kNN") == pytest.approx(0.6)


def test_sets_that_are_not_complete_are_left_out():
    results = [result("kNN", "a"), result("LOF", "a"), result("kNN", "b")]
    comparison = compare("Campos", results, ["kNN", "LOF", "HBOS"])
    assert comparison.algorithms == ("kNN", "LOF")
    assert comparison.sets == ("a",)
    assert compare("HiCS", results, ["kNN"]) is None


def test_algorithms_are_compared_on_the_same_versions():
    results = [
        result("kNN", "a", version=1, auc=0.6),
        result("kNN", "a", version=2, auc=0.8),
        result("LOF", "a", version=2, auc=0.7),
    ]
    comparison = compare("Campos", results, ["kNN", "LOF"])
    np.testing.assert_array_equal(comparison.auc, [[0.8, 0.7]])
    assert comparison.n_versions == 1


def test_the_best_point_is_best_on_average_over_the_sample():
    points = [{"k": 1}, {"k": 2}, {"k": 3}]
    sample = [BenchmarkSet("Campos", name, 1, name, 10, True) for name in "ab"]
    aucs = {1: (0.9, 0.1), 2: (0.6, 0.6), 3: (1.0, None)}
    results = [
        result(name=name, auc=auc, parameters=encode_point({"k": k}))
        for k, pair in aucs.items()
        for name, auc in zip("ab", pair, strict=True)
        if auc is not None
    ]
    # A set outside the sample must not count, nor a point that was not run everywhere.
    results.append(result(name="c", auc=1.0, parameters=encode_point({"k": 1})))
    assert best_point(results, points, sample) == {"k": 2}
    with pytest.raises(ValueError, match="no parameter point"):
        best_point([], points, sample)


def test_number_of_sets():
    names = {b: len({item.name for item in list_sets(b)}) for b in BENCHMARKS}
    assert names == dict(zip(BENCHMARKS, (23, 21, 21, 30, 30, 30), strict=True))
    samples = {b: sum(item.in_sample for item in list_sets(b)) for b in BENCHMARKS}
    assert samples["HiCS"] == 7
    assert samples["Synth-C"] == samples["Synth-C&S"] == samples["Synth-I"] == 10
    with pytest.raises(ValueError, match="unknown benchmark 'Iris'"):
        list_sets("Iris")
