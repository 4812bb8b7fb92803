"""Relations in a model: found, scored, told, saved; the same in any order and on pieces."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS, Method
from tests.rows_in_pieces import RowsInPieces

TOTAL, SHIPPED, GIRTH, AMOUNT = 7, 20, 30, 11


def make_orders(n: int = 1500) -> pd.DataFrame:
    """Return orders with four wrong values."""
    rng = np.random.default_rng(0)
    net = np.round(rng.lognormal(3, 1, n), 2)
    vat = np.round(np.where(rng.random(n) < 0.5, 0.21, 0.06) * net, 2)
    quantity, price = rng.integers(1, 9, n), np.round(rng.lognormal(2, 0.6, n), 2)
    radius = np.round(rng.uniform(5, 20, n), 1)
    ordered = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 600, n), "D")
    orders = pd.DataFrame(
        {
            "net": net,
            "vat": vat,
            "total": np.round(net + vat, 2),
            "quantity": quantity,
            "price": price,
            "amount": np.round(quantity * price, 2),
            "radius": radius,
            "girth": np.round(6.6 * radius + rng.normal(0, 1, n), 0),
            "ordered": ordered,
            "shipped": ordered + pd.to_timedelta(rng.integers(0, 20, n), "D"),
        }
    )
    orders.loc[TOTAL, ["net", "vat", "total"]] = 84.70, 17.79, 512.40
    orders.loc[SHIPPED, "shipped"] = orders.loc[SHIPPED, "ordered"] - pd.Timedelta(3, "D")
    orders.loc[GIRTH, ["radius", "girth"]] = 14.0, 130
    orders.loc[AMOUNT, "amount"] *= 10
    return orders


@pytest.fixture(scope="module")
def orders() -> pd.DataFrame:
    return make_orders()


@pytest.fixture(scope="module")
def model(orders: pd.DataFrame) -> ADMERCS:
    return ADMERCS().fit(orders)


def test_relations_are_listed(model: ADMERCS) -> None:
    found = {each.formula: each for each in model.relations_}
    assert {"ordered ≤ shipped", "girth ≈ 6.6 × radius"} <= found.keys()
    total = next(each for text, each in found.items() if text.startswith("total = "))
    assert (total.n, total.exceptions, total.exact) == (1500, 1, True)
    assert total.share == pytest.approx(1499 / 1500)
    assert {*total.columns} == {"net", "vat", "total"}
    assert total.to_dict()["formula"] == total.formula
    assert not found["girth ≈ 6.6 × radius"].exact
    first = [pattern.text for pattern in model.patterns(top=len(found), noun="orders")]
    assert "shipped is hardly ever before ordered (1 of 1,500)." in first
    assert len(model.patterns(top=3)) == 3


@pytest.mark.parametrize(
    ("row", "texts"),
    [
        (TOTAL, ("for 99.9% of the orders; here 512.4 ≠ ", "(102.49 expected).")),
        (SHIPPED, ("shipped is hardly ever before ordered (1 of 1,500), but here by 3 days.",)),
        (GIRTH, ("girth is about 6.6 × radius; expected 92, here 130.",)),
        (AMOUNT, ("amount = ", "for 99.9% of the orders; here ", "expected).")),
    ],
)
def test_a_broken_relation_is_told(
    model: ADMERCS, orders: pd.DataFrame, row: int, texts: tuple[str, ...]
) -> None:
    (told,) = model.explain(orders.iloc[[row]], noun="orders")
    (reason, *_) = told.reasons
    assert reason.kind == "relation"
    assert all(text in reason.text for text in texts), reason.text
    assert reason.share > 0.5
    assert sum(told.cells.values()) == pytest.approx(told.evidence)


@pytest.mark.parametrize("row", [TOTAL, AMOUNT])
def test_a_broken_equation_has_the_odds_of_an_error(
    model: ADMERCS, orders: pd.DataFrame, row: int
) -> None:
    (told,) = model.explain(orders.iloc[[row]], top=None)
    reason = max(told.reasons, key=lambda each: each.evidence if each.kind == "relation" else 0.0)
    assert reason.evidence >= -np.log(reason.likelihood) > 6
    less = ADMERCS(method=Method().change({"relations.odds": 0.1})).fit(orders)
    (before,) = less.explain(orders.iloc[[row]], top=None)
    assert told.evidence - before.evidence == pytest.approx(np.log(10), abs=0.5)


def test_wrong_values_come_first(model: ADMERCS, orders: pd.DataFrame) -> None:
    ranks = np.argsort(np.argsort(-model.scores_, kind="stable"), kind="stable")
    assert max(ranks[[TOTAL, GIRTH, AMOUNT]]) < 4
    assert ranks[SHIPPED] < 15
    cells = pd.DataFrame(model.score_cells(orders), columns=orders.columns)
    np.testing.assert_allclose(cells.sum(axis=1), -model.score_samples(orders), rtol=1e-12)
    assert [cells.loc[row].idxmax() for row in (TOTAL, GIRTH, AMOUNT)] == [
        "total",
        "girth",
        "amount",
    ]


def test_a_new_row_may_break_what_all_training_rows_satisfied(orders: pd.DataFrame) -> None:
    clean = orders.drop(index=[TOTAL, SHIPPED, GIRTH, AMOUNT])
    model = ADMERCS().fit(clean)
    assert all(each.exceptions == 0 for each in model.relations_ if each.exact)
    (told,) = model.explain(orders.iloc[[TOTAL]], noun="orders")
    assert "for all orders; here 512.4 ≠ " in told.reasons[0].text
    assert -model.score_samples(orders.iloc[[TOTAL]])[0] > np.quantile(model.scores_, 0.99)


def test_the_order_of_rows_and_columns_changes_nothing(
    model: ADMERCS, orders: pd.DataFrame
) -> None:
    rng = np.random.default_rng(0)
    other = orders.iloc[rng.permutation(len(orders)), rng.permutation(orders.shape[1])]
    again = ADMERCS().fit(other)
    np.testing.assert_array_equal(again.score_samples(orders), model.score_samples(orders))


def test_pieces_have_the_relations_of_the_whole(model: ADMERCS, orders: pd.DataFrame) -> None:
    from admercs.pipeline.fit import fit_model

    rows: Any = RowsInPieces(orders, [100, 100, 900])
    pieces = fit_model(rows, Method()).model
    assert pieces.schema.facets == model.model_.schema.facets


def test_a_saved_model_scores_alike(model: ADMERCS, orders: pd.DataFrame, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again = ADMERCS.load(tmp_path / "model")
    np.testing.assert_array_equal(again.score_samples(orders), model.score_samples(orders))
    assert again.relations_ == model.relations_


def test_without_relations(orders: pd.DataFrame) -> None:
    model = ADMERCS(method=replace(Method(), relations=None)).fit(orders)
    assert model.relations_ == []
    assert model.model_.related == {}


def make_invoices(n: int = 600) -> pd.DataFrame:
    """Return rows with a length and a weight that follows from it, and three amounts."""
    rng = np.random.default_rng(0)
    length = np.round(rng.normal(175, 8, n), 1)
    net, vat = np.round(rng.gamma(2, 100, n), 2), np.round(rng.gamma(2, 20, n), 2)
    return pd.DataFrame(
        {
            "length": length,
            "weight": np.round(length * 1.1 - 10 + rng.normal(0, 1, n), 1),
            "net": net,
            "vat": vat,
            "total": np.round(net + vat, 2),
        }
    )


def test_a_small_expected_value_is_not_rounded_to_nothing() -> None:
    table = make_invoices()
    table.loc[3, "weight"] = 180_800.0
    reason = ADMERCS().fit(table).explain(table.loc[[3]])[0].reasons[0]
    expected = 1.1 * table.loc[3, "length"] - 10
    said = re.search(r"expected ([\d.]+), here 180,800", reason.text)
    assert said is not None
    assert float(said[1]) == pytest.approx(expected, rel=0.03)


def test_a_small_difference_is_visible() -> None:
    table = make_invoices()
    table.loc[3, ["net", "vat", "total"]] = 1203.18, 252.67, 1455.88
    row = ADMERCS().fit(table).explain(table.loc[[3]], top=None)[0]
    text = next(reason.text for reason in row.reasons if reason.kind == "relation")
    assert "1455.88" in text
    assert "1455.85" in text


def test_repairs_stay_within_what_columns_have() -> None:
    table = make_invoices()
    places = range(0, 60, 4)
    for row in places:
        table.loc[row, "total"] = table.loc[row, "net"] / 3
    model = ADMERCS().fit(table)
    for row in model.explain(table.loc[[*places]]):
        assert row.repairs
        for repair in row.repairs:
            for cell in (repair, *repair.also):
                low, high = table[cell.column].min(), table[cell.column].max()
                is_exchange = cell.typical is None
                assert is_exchange or low <= cell.expected <= high


def test_any_cell_of_a_broken_relation_may_be_the_wrong_one() -> None:
    table = make_invoices()
    truth = table.copy()
    rng, places = np.random.default_rng(1), range(0, 60, 5)
    for row in places:
        table.loc[row, "vat"] = truth["vat"][rng.integers(len(table))]
    model = ADMERCS().fit(table)
    tried = {(each.label, r.column): r for each in model.explain(table) for r in each.repairs}
    known = [row for row in places if abs(table["vat"] - truth["vat"])[row] > 5]
    assert len(known) > 5
    for row in known:
        repairs = [r for column in ("net", "vat", "total") if (r := tried.get((row, column)))]
        assert len(repairs) > 1
        assert any(
            r.column == "vat" and r.expected == pytest.approx(truth.loc[row, "vat"])
            for r in repairs
        )


def test_what_is_expected_is_written_like_the_values_of_the_column() -> None:
    rng = np.random.default_rng(0)
    pieces = rng.integers(2, 40, 800).astype(float)
    price = np.round(rng.uniform(3, 60, 800), 1)
    table = pd.DataFrame({"pieces": pieces, "price": price, "amount": np.round(pieces * price, 1)})
    table.loc[3] = 20, 25.4, 20 * 22.9
    repairs = ADMERCS().fit(table).explain(table.loc[[3]])[0].repairs
    expected = {each.column: each.expected for each in repairs}
    assert (expected["price"], expected["amount"]) == (22.9, 508.0)
    # No whole number of pieces of this price has the amount.
    assert repairs[0].column != "pieces"


def test_values_are_told_to_the_digits_in_which_they_differ() -> None:
    table = make_invoices()
    table.loc[3, ["net", "vat", "total"]] = 900.0, 52.67, 719.95
    row = ADMERCS().fit(table).explain(table.loc[[3]])[0]
    assert "If total were 952.67 instead of 719.95" in {
        each.text.partition(",")[0] for each in row.repairs
    }
