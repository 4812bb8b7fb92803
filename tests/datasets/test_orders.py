"""Orders have wrong values of nine kinds, at places that are known."""

from __future__ import annotations

import numpy as np
import pytest

from admercs.datasets import ORDER_ERRORS, make_orders


def test_clean_orders_keep_their_rules() -> None:
    clean = make_orders(1, as_frame="pandas").clean
    np.testing.assert_allclose(clean["net (EUR)"] + clean["vat (EUR)"], clean["total (EUR)"])
    assert (clean["shipped"] > clean["ordered"]).all()
    assert (clean.groupby("city")["country"].nunique() == 1).all()
    assert clean["order"].is_unique
    rate = (clean["vat (EUR)"] / clean["net (EUR)"]).round(2)
    assert (rate.groupby(clean["country"]).nunique() == 1).all()


def test_one_value_is_wrong_in_each_odd_order() -> None:
    orders = make_orders(2, as_frame="pandas")
    wrong = (orders.table != orders.clean).to_numpy()
    assert (wrong.sum(axis=1) == orders.is_anomaly).all()
    assert len(ORDER_ERRORS) == 9
    for kind, (column, _) in ORDER_ERRORS.items():
        rows = orders.rows(kind)
        assert len(rows) == 10
        assert wrong[rows, list(orders.table.columns).index(column)].all()
        assert all(orders.odd_columns[row] == (column,) for row in rows)
    assert (orders.table["shipped"] < orders.table["ordered"]).sum() == 10


def test_the_seed_decides() -> None:
    one, same, other = (make_orders(seed, 400, as_frame="pandas").table for seed in (0, 0, 1))
    assert one.equals(same)
    assert not one.equals(other)
    assert len(make_orders(0, 400, as_frame="dict").odd_columns) == 9


def test_few_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 300"):
        make_orders(n_orders=20)
