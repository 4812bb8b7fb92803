"""Rows in memory, and that a fit in pieces is the fit of the whole table."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from admercs import Method
from admercs.datasets import make_electric_vehicles
from admercs.pipeline.fit import Fitted, fit_model
from admercs.pipeline.rows import RowsInMemory
from admercs.table import learn_schema, read_frame

from ..method.test_settings import shops
from ..rows_in_pieces import RowsInPieces


def assert_equal(one: Any, other: Any, name: str = "") -> None:
    """Assert that two parts of a model are equal, bit for bit."""
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other, err_msg=name)
    elif isinstance(one, tuple) and hasattr(one, "_fields"):
        for each in one._fields:
            assert_equal(getattr(one, each), getattr(other, each), f"{name}.{each}")
    elif is_dataclass(one) and any(isinstance(each, np.ndarray) for each in vars(one).values()):
        for field in fields(one):
            assert_equal(getattr(one, field.name), getattr(other, field.name), field.name)
    else:
        assert one == other, name


def same_fit(one: Fitted, other: Fitted) -> None:
    for each in fields(one.model):
        assert_equal(getattr(one.model, each.name), getattr(other.model, each.name), each.name)
    np.testing.assert_array_equal(np.concatenate(one.evidence), np.concatenate(other.evidence))
    assert one.n_iter == other.n_iter


TABLES = {
    "shops": lambda: shops(1500),
    "cars": lambda: make_electric_vehicles(1, as_frame="pandas").table,
    "numbers": lambda: np.random.default_rng(0).normal(size=(500, 4)).cumsum(axis=1),
}
METHODS = {
    "default": Method(),
    "paper": Method.paper("Campos"),
    "all leaves": Method().change({"feedback.candidates": None}),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("method", METHODS)
def test_pieces_give_the_model_of_the_whole(name: str, method: str) -> None:
    table = TABLES[name]()
    whole = fit_model(RowsInMemory(read_frame(table)), METHODS[method])
    for cuts in ([100, 100, 300], [0, 1, 2, 3, 250]):
        same_fit(fit_model(RowsInPieces(table, cuts), METHODS[method]), whole)


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_threads_give_the_same_model(n_jobs: int) -> None:
    frame = read_frame(shops(1500))
    one, many = (fit_model(RowsInMemory(frame, jobs), Method()) for jobs in (1, n_jobs))
    same_fit(one, many)


def test_items_are_worked_on_in_order_and_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    rows = RowsInMemory(read_frame(np.zeros((8000, 1))), 2, lambda *step: told.append(step))
    assert rows.for_each("squares", lambda batch: [k * k for k in batch], 4) == [0, 1, 4, 9]
    assert told == [("squares", k, 4) for k in (1, 2, 3, 4)]
    told.clear()
    few = RowsInMemory(read_frame(np.zeros((2000, 1))), 2, lambda *step: told.append(step))
    assert few.for_each("squares", lambda batch: [k * k for k in batch], 7) == [
        k * k for k in range(7)
    ]
    assert told == [("squares", 5, 7), ("squares", 7, 7)]  # some are worked on together
    told.clear()
    assert rows.keep("", lambda a, b: a + b, [1], shared=(2,)) == [3]
    assert told == []  # what has no name is not told
    assert rows.keep("adding", lambda a, b: a + b, [1], shared=(2,)) == [3]
    assert told == [("adding", 1, 1)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_and_interruptions_come_through(n_jobs: int) -> None:
    def stop(phase: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    rows = RowsInMemory(read_frame(np.zeros((2, 1))), n_jobs, stop)
    with pytest.raises(KeyboardInterrupt):
        rows.for_each("trees", lambda batch: batch, 5)

    def fail(batch: list[int]) -> list[int]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        RowsInMemory(read_frame(np.zeros((2, 1))), n_jobs).for_each("trees", fail, 5)


def test_a_table_is_read_once_it_is_open() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, np.nan, 5.0]})
    rows = RowsInMemory(read_frame(table))
    with pytest.raises(RuntimeError, match="not been opened"):
        _ = rows.table
    rows.open(learn_schema(rows.summary("auto")))
    read = rows.read("", lambda piece, m: piece.column(m), shared=(1,))
    np.testing.assert_array_equal(read[0], [3.0, np.nan, 5.0])
    # The last column is remembered, and another one is another one.
    assert rows.table.column(1) is rows.table.column(1)
    np.testing.assert_array_equal(rows.table.column(0), [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(rows.table.column(1), [3.0, np.nan, 5.0])
    assert rows.first_rows() == [0]
    np.testing.assert_array_equal(rows.quantiles([np.arange(5.0)], np.array([0.5])), [2.0])
