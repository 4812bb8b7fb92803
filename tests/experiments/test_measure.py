"""What the benchmark scripts share: halves of sets, results that last, runs that go on."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from admercs.datasets import DataNotFoundError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
measure = pytest.importorskip("measure")


@pytest.fixture
def case():
    X = np.arange(8.0).reshape(4, 2)
    return measure.Case(X, X, np.array([False, False, True, False]))


def test_halves_follow_from_the_hash_of_the_name(monkeypatch):
    # By the command md5sum, the hash of the first ends in an even digit, the other's in an odd one.
    assert measure.half_of("Glass") == "choose"
    assert measure.half_of("Shuttle") == "confirm"
    names = [f"set {k}" for k in range(20)]
    monkeypatch.setattr(measure, "list_oddbench", lambda: names)
    found = [measure.list_cases(measure.CLEAN, half) for half in measure.HALVES]
    assert not set(found[0]) & set(found[1])
    assert set(found[0]) | set(found[1]) == set(measure.list_cases(measure.CLEAN)) == set(names)
    # The sets of the paper's benchmarks are not divided.
    for half in measure.HALVES:
        assert len(measure.list_cases("Synth-C", half)) == 30


def test_a_run_goes_on_where_it_stopped(tmp_path, case, capsys):
    calls = []

    def method(case):
        calls.append(case)
        return measure.auc_ap(case.y, case.score[:, 0])

    def fails(case):
        raise RuntimeError("power cut")

    path = tmp_path / "results" / "few.json"
    tasks = {("Few", "a"): lambda: case, ("Few", "b"): lambda: case}
    with pytest.raises(RuntimeError, match="power cut"):
        measure.run(measure.Results(path), tasks, {"good": method, "bad": fails})
    again = measure.Results(path)
    assert ("Few", "a", "good") in again
    measure.run(again, tasks, {"good": method})
    assert len(calls) == 2
    assert capsys.readouterr().out.startswith("[1/1] Few: b; about 0 s left")
    assert measure.Results(path)["Few", "b", "good"] == pytest.approx([2 / 3, 1 / 2])
    again.forget("good")
    assert ("Few", "a", "good") not in measure.Results(path)


def test_absent_data_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ADMERCS_DATA", str(tmp_path))
    with pytest.raises(DataNotFoundError, match="no file of Campos is at hand"):
        measure.list_cases("Campos")
    for benchmark in (measure.CLEAN, measure.CONTAMINATED, measure.EXCHANGED):
        with pytest.raises(DataNotFoundError, match="OddBench is absent"):
            measure.list_cases(benchmark)
    with pytest.raises(SystemExit, match="ADMERCS_DATA"):
        measure.stop_without_data(lambda: measure.list_cases(measure.CLEAN))


def test_protocols_and_errors(tmp_path, monkeypatch):
    folder = tmp_path / "oddbench"
    folder.mkdir()
    rng = np.random.default_rng(0)
    parts = {"train": rng.random((2500, 4)), "test": rng.random((40, 4))}
    names = np.array(list("abcd"))
    labels = np.arange(40) < 4
    np.savez(folder / "Tiny.npz", test_labels=labels, feature_names=names, **parts)
    monkeypatch.setenv("ADMERCS_DATA", str(tmp_path))
    clean, contaminated, wrong = (
        measure.list_cases(b)["Tiny"]()
        for b in (measure.CLEAN, measure.CONTAMINATED, measure.EXCHANGED)
    )
    np.testing.assert_array_equal(clean.fit, parts["train"])
    np.testing.assert_array_equal(contaminated.fit, parts["test"])
    np.testing.assert_array_equal(clean.y, labels)
    assert wrong.fit.shape == (2000, 4)
    assert wrong.y.sum() == 40
