"""Values as findings, and flags of values."""

from __future__ import annotations

import json
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.datasets import make_orders


@pytest.fixture(scope="module")
def orders() -> Any:
    return make_orders(0, 2000, as_frame="pandas")


@pytest.fixture(scope="module")
def model(orders: Any) -> ADMERCS:
    return ADMERCS().fit(orders.table)


def wrong_cells(orders: Any) -> np.ndarray:
    return (orders.table != orders.clean).to_numpy()


def test_planted_values_are_the_first_findings(model: ADMERCS, orders: Any) -> None:
    found = model.top_cells(orders.table, 20, noun="orders")
    places = [(value.label, value.column) for value in found]
    assert len(set(places)) == len(found) == 20
    planted = [orders.odd_columns.get(row) == (column,) for row, column in places]
    assert sum(planted) >= 17
    evidence = [value.evidence for value in found]
    assert evidence == sorted(evidence, reverse=True)
    for value in found:
        assert value.expected_text
        assert value.text.endswith(".")


def test_a_value_is_told_as_the_table_has_it(model: ADMERCS, orders: Any) -> None:
    for value in model.top_cells(orders.table, 20):
        given = orders.table.loc[value.label, value.column]
        if isinstance(given, str):
            assert value.value == given
    mail = next(v for v in model.top_cells(orders.table, 40) if v.column == "e-mail")
    assert mail.expected == "an e-mail address"
    made = json.loads(json.dumps(mail.to_dict(), allow_nan=False))
    assert made["column"] == "e-mail"
    assert str(mail).splitlines()[0].endswith("expected: an e-mail address")


def test_what_is_expected_is_told_without_the_name_of_its_column() -> None:
    rng = np.random.default_rng(0)
    amount = np.append(rng.uniform(20, 40, 999), 4_000)
    table = pd.DataFrame({"amount": amount, "kind": rng.choice(["a", "b"], 1000)})
    (value,) = ADMERCS().fit(table).top_cells(table, 1)
    assert (value.label, value.column) == (999, "amount")
    assert value.text.startswith("All rows typically have amount ")
    assert value.expected_text[0].isdigit()


def test_a_value_is_told_with_a_reason_about_it() -> None:
    rng = np.random.default_rng(0)
    n = 2000
    phone = [f"+32 4{k:02} {m:03} 11" for k, m in rng.integers(10, 99, (n, 2))]
    table = pd.DataFrame({"weight": rng.gamma(4, 2, n), "phone": phone})
    table.loc[7, "weight"], table.loc[7, "phone"] = 31.0, None
    table.loc[9, "weight"], table.loc[9, "phone"] = 27.0, "0471 234567"
    found = ADMERCS().fit(table).top_cells(table, 6)
    told = {(value.label, value.column): value.text for value in found}
    assert "phone is normally recorded" in told[7, "phone"]
    assert "this row has 0471 234567" in told[9, "phone"]
    for (_, column), text in told.items():
        assert column in text


def test_values_of_a_dask_table(model: ADMERCS, orders: Any) -> None:
    lazy = dd.from_pandas(orders.table, npartitions=3)
    here, there = model.top_cells(orders.table, 12), model.top_cells(lazy, 12)
    assert [(v.label, v.column, v.text) for v in here] == [
        (v.label, v.column, v.text) for v in there
    ]
    flags = model.predict_cells(lazy).compute()
    assert list(flags.columns) == list(orders.table.columns)
    np.testing.assert_array_equal(flags.to_numpy(), model.predict_cells(orders.table))
    again = ADMERCS().fit(lazy)
    assert again.value_line_ == model.value_line_


def test_flagged_values_are_wrong(model: ADMERCS, orders: Any, tmp_path: Any) -> None:
    flags, wrong = model.predict_cells(orders.table), wrong_cells(orders)
    assert flags.shape == orders.table.shape
    assert (flags & wrong).sum() >= 17
    assert flags[~wrong.any(axis=1)].any(axis=1).mean() < 1 / 100  # as the line promises
    model.save(tmp_path / "model")
    loaded = ADMERCS.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_cells(orders.table), flags)


def test_one_glaring_value_among_many_quiet_columns_is_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 120))
    rows, columns = rng.permutation(3000)[:12], rng.integers(0, 120, 12)
    X[rows, columns] += np.linspace(8, 25, 12) * rng.choice([-1, 1], 12)
    model = ADMERCS().fit(X)
    found = {(value.label, value.column) for value in model.top_cells(X, 12)}
    assert found == {(row, f"x{column}") for row, column in zip(rows, columns, strict=True)}
    flags = model.predict_cells(X)
    assert flags[rows, columns].all()
    assert flags.any(axis=1).sum() <= 12 + 3000 / 200


def test_rows_with_one_glaring_value_are_flagged_in_a_wide_table() -> None:
    rng = np.random.default_rng(2)
    n, n_columns, n_odd = 2500, 150, 16
    X = rng.normal(size=(n, 20)) @ rng.normal(size=(20, n_columns)) / np.sqrt(20)
    X += rng.normal(size=X.shape)
    X /= X.std(axis=0)
    rows, columns = rng.permutation(n)[:n_odd], rng.integers(0, n_columns, n_odd)
    X[rows, columns] += np.linspace(8, 25, n_odd) * rng.choice([-1, 1], n_odd)
    model = ADMERCS().fit(X)
    flagged = model.predict(X) < 0
    assert flagged[rows].sum() >= 14
    assert flagged.sum() <= n_odd + n / 200
    # What 150 ordinary values add up to does not look like an anomaly.
    assert np.median(-model.score_samples(X)) < 3


def test_ordinary_rows_have_few_flagged_values() -> None:
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(4000, 2))
    X = hidden @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(4000, 6))
    model = ADMERCS().fit(X[:2000])
    assert model.predict_cells(X[:2000]).any(axis=1).mean() <= 0.01
    assert model.predict_cells(X[2000:]).any(axis=1).mean() < 0.015


def test_bad_input(model: ADMERCS, orders: Any) -> None:
    assert model.top_cells(orders.table, 0) == []
    with pytest.raises(ValueError, match="n must be a number of values"):
        model.top_cells(orders.table, -1)
    with pytest.raises(ValueError, match="now missing"):
        model.predict_cells(pd.DataFrame({"zip": ["1"]}))


def test_what_is_stated_of_an_unused_column_is_a_value_of_that_column() -> None:
    mails = [f"{a}.{b}@mail.example" for a in ("ann", "bob", "cleo", "dan") for b in range(100)]
    mails[7] = mails[311]
    table = pd.DataFrame({"mail": mails, "price": np.random.default_rng(0).normal(50, 5, 400)})
    values = ADMERCS().fit(table).top_cells(table, 2)
    assert [(v.label, v.column, v.value) for v in values] == [
        (7, "mail", mails[7]),
        (311, "mail", mails[7]),
    ]
    assert {value.expected_text for value in values} == {"a value of its own"}
    assert all("mail is unique in 398 training rows" in value.text for value in values)


def test_a_repaired_form_is_told_by_what_is_odd_about_the_text() -> None:
    rng = np.random.default_rng(1)
    phone = [f"+49 {a} {b}" for a, b in rng.integers((100, 10**6), (1000, 10**7), (800, 2))]
    phone[5] = phone[5].replace(" ", "")
    table = pd.DataFrame({"price": rng.lognormal(3, 0.5, 800), "phone": phone})
    table.loc[5, "price"] = 65.0
    (row,) = ADMERCS().fit(table).explain(table.iloc[[5]])
    assert row.reasons[0].target.endswith("of phone")
    assert "looks odd only because" not in row.reasons[0].text
