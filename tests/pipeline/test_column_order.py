"""A table with its columns in another order gives the same model, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from admercs import ADMERCS
from admercs.datasets import make_electric_vehicles
from admercs.method.settings import Method
from admercs.pipeline.fit import fit_model
from admercs.pipeline.rows import RowsInMemory
from admercs.table import read_frame
from tests.fuzz import make_facets
from tests.pipeline.test_rows import same_fit
from tests.rows_in_pieces import RowsInPieces


def numbers(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(200, 5)) + rng.normal(size=(200, 1))


def rounded(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 6, (200, 5)).astype(float)


def flags(rng: np.random.Generator) -> np.ndarray:
    """Return three independent flags and the parity of each two: many splits gain the same."""
    a, b, c = rng.permuted(np.tile([0, 1], (3, 100)), axis=1)
    return np.column_stack([a, b, c, a ^ b, b ^ c, a ^ c]).astype(float)


def gaps(rng: np.random.Generator) -> np.ndarray:
    X = numbers(rng)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def twins(rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(200, 3))
    return np.column_stack([X, X[:, :2], X[::-1, 0], -X[:, 1]])


def mixed(rng: np.random.Generator) -> pd.DataFrame:
    cars = pd.DataFrame(make_electric_vehicles(int(rng.integers(1000)), 200).table)
    return cars.assign(paint=rng.choice(["red", "blue"], 200), roof=rng.choice(["a", "b"], 200))


def with_facets(rng: np.random.Generator) -> pd.DataFrame:
    """Return texts, dates and numbers in texts, keys, relations, columns that determine others."""
    return make_facets(200, int(rng.integers(2**31)))


SHAPES = [numbers, rounded, flags, gaps, twins, mixed, with_facets]


@settings(max_examples=12)
@given(data=st.data())
@pytest.mark.parametrize("make", SHAPES)
def test_scores_do_not_depend_on_the_order_of_columns(make: Any, data: st.DataObject) -> None:
    X = pd.DataFrame(make(np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))))
    X.columns = X.columns.astype(str)
    order = data.draw(st.permutations(range(X.shape[1])), label="order")
    Y = X.iloc[:, order]
    one, other = ADMERCS().fit(X), ADMERCS().fit(Y)
    np.testing.assert_array_equal(one.score_samples(X), other.score_samples(Y))
    # Of columns that are copies of each other, an equation has the evidence of one. Which one it is
    # cannot follow from their content.
    columns = np.asarray(X, dtype=object).T.tolist()
    copies = [columns.index(column) for column in columns]
    cells, again = one.score_cells(X), other.score_cells(Y)[:, np.argsort(order)]
    for first in set(copies):
        same = np.array(copies) == first
        total = [np.sort(each[:, same]).sum(axis=1) for each in (cells, again)]
        np.testing.assert_array_equal(*total)
    assert one.offset_ == other.offset_


@settings(max_examples=6)
@example(seed=1_960_599_623, order=[0, 2, 1, 3, 4, 5])
@given(seed=st.integers(0, 2**32), order=st.permutations(range(6)))
def test_columns_that_nothing_tells_apart_change_scores_by_rounding(
    seed: int, order: list[int]
) -> None:
    """Two flags may be exchanged with their parities: only names say which is which."""
    X = flags(np.random.default_rng(seed))
    one, other = ADMERCS().fit(X), ADMERCS().fit(X[:, order])
    again = other.score_samples(X[:, order])
    np.testing.assert_allclose(one.score_samples(X), again, rtol=1e-12, atol=1e-12)


@settings(max_examples=4)
@given(data=st.data())
@pytest.mark.parametrize("make", SHAPES)
def test_neither_pieces_nor_threads_nor_the_order_of_rows_matter(
    make: Any, data: st.DataObject
) -> None:
    X = make(np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed")))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(X)), max_size=3), label="cuts"))
    whole, threads = (fit_model(RowsInMemory(read_frame(X), n), Method()) for n in (1, 2))
    same_fit(threads, whole)
    same_fit(fit_model(RowsInPieces(X, cuts), Method()), whole)
    order = np.array(data.draw(st.permutations(range(len(X))), label="order"))
    Y = X[order] if isinstance(X, np.ndarray) else X.iloc[order]
    one, other = ADMERCS().fit(X), ADMERCS().fit(Y)
    np.testing.assert_allclose(other.score_samples(X), one.score_samples(X), 1e-9, 1e-12)


def test_rows_that_columns_share_tell_columns_apart_that_hold_the_same_values() -> None:
    """All columns hold each of six values ten times, in other rows."""
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(6.0), (5, 10)), axis=1).T
    used = [column.name for column in ADMERCS().fit(X).model_.schema.used]
    order = rng.permutation(5)
    again = [column.name for column in ADMERCS().fit(X[:, order]).model_.schema.used]
    assert [f"x{order[int(name[1:])]}" for name in again] == used


def test_names_do_not_matter() -> None:
    X = flags(np.random.default_rng(0))
    plain = ADMERCS().fit(X).score_samples(X)
    named = pd.DataFrame(X, columns=list("zyxwvu"))
    np.testing.assert_array_equal(ADMERCS().fit(named).score_samples(named), plain)


def test_names_settle_the_order_of_copies() -> None:
    rng = np.random.default_rng(0)
    whole, place = rng.integers(0, 90, 231), rng.choice(["low", "high"], 231)
    columns = {"b": whole, "a": whole.astype(float), "kind": place, "class": place}
    one = pd.DataFrame(columns).assign(more=rng.integers(0, 9, 231))
    other = one[one.columns[::-1]]
    first, second = ADMERCS().fit(one), ADMERCS().fit(other)
    again = second.score_cells(other)[:, ::-1]
    np.testing.assert_array_equal(first.score_cells(one), again)
    assert [each.formula for each in first.relations_] == ["a = b"]
    assert [each.formula for each in second.relations_] == ["a = b"]


def test_last_digits_of_what_is_computed_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other versions of numpy give other last digits."""
    X = make_electric_vehicles(random_state=0).table
    one, solve = ADMERCS().fit(X), np.linalg.lstsq
    for wrong in (1e-14, -1e-14, 3e-14):

        def rounded(*arguments: Any, wrong: float = wrong, **options: Any) -> Any:
            solved, *others = solve(*arguments, **options)
            return solved * (1 + wrong), *others

        monkeypatch.setattr("numpy.linalg.lstsq", rounded)
        other = ADMERCS().fit(X)
        assert other.model_.schema.order == one.model_.schema.order
        assert [each.text for each in other.relations_] == [each.text for each in one.relations_]
        np.testing.assert_allclose(other.score_samples(X), one.score_samples(X), 1e-6)
