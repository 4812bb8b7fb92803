"""Values far outside of all others: slips of the pen, and the largest values of heavy tails."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from admercs import ADMERCS


def ages(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(50, 18, n), 1, 94).round()
    return np.column_stack([age, rng.normal(size=n), rng.lognormal(size=n)])


def test_a_digit_too_many_is_the_first_finding() -> None:
    people = ages(2000)
    people[7, 0] = 455
    model = ADMERCS().fit(people)
    assert np.argmax(model.scores_) == 7
    assert model.predict(people)[7] == -1
    first = model.explain(people[[7]])[0].reasons[0]
    assert (first.target, first.conditions) == ("x0", ())


def test_several_slips_in_one_column_are_found() -> None:
    people = ages(2000)
    people[[3, 4, 5], 0] = 455, 320, 999
    assert set(np.argsort(-ADMERCS().fit(people).scores_)[:3]) == {3, 4, 5}


@pytest.mark.parametrize("n_iter", [1, 20])
def test_further_out_is_never_more_likely_and_has_an_end(n_iter: int) -> None:
    model = ADMERCS(n_iter=n_iter).fit(ages(1000))
    far = np.zeros((6, 3))
    far[:, 0] = 95, 120, 200, 455, 1e6, 1e300
    evidence = -model.score_samples(far)
    assert np.all(np.diff(evidence) >= 0)
    assert evidence[3] > evidence[0] + 2
    assert evidence[-1] == evidence[-2] < 3 * np.log(1000)


def test_both_ends_are_as_odd() -> None:
    ends = np.array([[1e300, 0, 0], [-1e300, 0, 0]])
    low, high = -ADMERCS(n_iter=1).fit(ages(1000)).score_samples(ends)
    assert low == high
    # Other rows are like those at the other end: these may be a little odder, and further away.
    with patch("admercs.detector.neighbours.APART", 0.0):
        low, high = -ADMERCS().fit(ages(1000)).score_samples(ends)
    assert low == pytest.approx(high, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_values_of_a_heavy_tail_are_no_slips(seed: int) -> None:
    rng = np.random.default_rng(seed)
    incomes = np.exp(rng.normal(size=(2000, 2)) * 1.5)
    model = ADMERCS().fit(incomes)
    # As unlikely as a value seen once, and not more.
    assert np.all(model.score_cells(incomes).max(axis=0) <= np.log(1 + 0.1 * 2 * 2000))


def test_a_small_group_far_out_is_not_alone() -> None:
    people = ages(2000)
    people[:20, 0] = 400 + np.arange(20) % 5
    cells = ADMERCS(n_iter=1).fit(people).score_cells(people)[:20, 0]
    assert np.all(cells < np.log(1 + 0.1 * 2000))
