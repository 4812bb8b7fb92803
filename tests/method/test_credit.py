"""Credit: cells add up to their row, and those that rank high are odd themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from admercs import ADMERCS, Method
from admercs.method.credit import (
    LEVELS,
    CellCredit,
    add_counts,
    count_above,
    raise_lowest,
    usual_evidence,
)
from admercs.method.settings import Credit

AMOUNTS = st.floats(0, 50)


@given(arrays(float, (4, 6), elements=AMOUNTS), arrays(float, 6, elements=AMOUNTS), AMOUNTS)
def test_the_lowest_cells_are_raised_to_one_level(
    cells: np.ndarray, more: np.ndarray, most: float
) -> None:
    total = cells.sum(axis=0) + more
    raised = raise_lowest(cells, total, most)
    assert (raised >= cells).all()
    assert (raised.sum(axis=0) <= total * (1 + 1e-12) + 1e-12).all()
    for before, after, whole in zip(cells.T, raised.T, total, strict=True):
        changed = after > before
        levels = after[changed]
        assert np.ptp(levels) == 0 if len(levels) else True
        assert (levels <= most).all()
        if len(levels):
            assert (before[~changed] >= levels[0]).all()
        if after.max() < most:  # nothing is left
            assert after.sum() == pytest.approx(whole, abs=1e-9)


@given(arrays(float, (5, 8), elements=AMOUNTS), arrays(bool, (5, 8)))
def test_cells_add_up_to_the_row(pattern: np.ndarray, is_gap: np.ndarray) -> None:
    credited, usual = np.array([2, 0, 2, 3, 0]), np.array([0.0, 0.3, 0.1, 0.0, 1.0])
    step = CellCredit(credited, usual, Credit())
    evidence = pattern.sum(axis=0) + 3.0
    cells = step.cells(pattern, is_gap, evidence)
    assert (cells >= np.where(is_gap, pattern, 0.0)).all()
    np.testing.assert_allclose(cells.sum(axis=0), evidence, rtol=1e-12)


def test_what_is_said_of_the_row_raises_its_strongest_cell() -> None:
    step = CellCredit(np.arange(3), np.array([0.0, 0.5, 0.0]), Credit())
    pattern = np.array([[1.0], [1.9], [0.0]])
    cells = step.cells(pattern, np.zeros((3, 1), bool), np.array([10.0]))
    # Of 1.9 in a column of numbers, where 0.5 is usual, a quarter is notable.
    np.testing.assert_allclose(cells, [[9.325], [0.475], [0.2]])


def test_usual_evidence_is_a_quantile() -> None:
    rng = np.random.default_rng(0)
    pattern = rng.exponential(0.3, (3, 20_000)) * np.array([[1.0], [0.001], [2.0]])
    halves = [count_above(pattern[:, :7000]), count_above(pattern[:, 7000:])]
    plain = [[(own > level).sum() for level in LEVELS] for own in pattern]
    np.testing.assert_array_equal(add_counts(halves), plain)
    found = usual_evidence(add_counts(halves), 20_000, 0.25)
    expected = np.quantile(pattern, 0.75, axis=1)
    assert found[1] == 0  # less than the lowest level
    np.testing.assert_allclose(found[[0, 2]], expected[[0, 2]], rtol=0.1)
    assert usual_evidence(np.full((1, len(LEVELS)), 9), 9, 0.25) == [LEVELS[-1]]


@pytest.fixture(scope="module")
def lists() -> pd.DataFrame:
    """Numbers with tails, and a word that is misspelt in some rows."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.standard_t(4, size=(600, 4)), columns=list("abcd"))
    table["town"] = [
        f"{'LMNPR'[k % 5]}{'aeiou'[k // 5]}{'bdg'[k % 3]}ental" for k in rng.integers(0, 25, 600)
    ]
    table.loc[:29, "town"] = table["town"][:30].str.replace("ent", "nt")
    return table


def test_wrong_words_rank_above_ordinary_numbers(lists: pd.DataFrame) -> None:
    def found(method: Method) -> int:
        model = ADMERCS(method=method).fit(lists)
        cells = model.score_cells(lists)
        np.testing.assert_allclose(cells.sum(axis=1), -model.score_samples(lists), rtol=1e-9)
        first = np.argsort(-cells, axis=None)[:30]
        row, column = np.unravel_index(first, cells.shape)
        return int(np.sum((column == 4) & (row < 30)))

    assert found(Method()) > found(replace(Method(), credit=None))
    assert found(Method()) >= 12


def test_rows_have_the_same_scores_without_the_step(lists: pd.DataFrame) -> None:
    with_it, without = ADMERCS(), ADMERCS(method=replace(Method(), credit=None))
    np.testing.assert_array_equal(with_it.fit(lists).scores_, without.fit(lists).scores_)
    for own, each in zip(with_it.score_cells(lists), with_it.explain(lists).rows, strict=True):
        assert [each.cells[name] for name in lists] == pytest.approx(own, abs=1e-9)


def test_numbers_alone_are_credited_to_their_columns(lists: pd.DataFrame) -> None:
    numbers = lists[list("abcd")]
    known = Method().change({"neighbours": None, "feedback": None})
    cells = ADMERCS(method=known).fit(numbers).score_cells(numbers)
    other = ADMERCS(method=replace(known, credit=None)).fit(numbers).score_cells(numbers)
    np.testing.assert_array_equal(cells, other)
