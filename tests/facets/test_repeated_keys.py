"""Values of keys that repeat are evidence, in memory and on Dask, in training and new tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from admercs import ADMERCS, Method
from admercs.facets.facet_kinds import facet_fits
from admercs.facets.repeated_keys import REPEATS
from admercs.method.settings import Facets, KeyColumns
from admercs.pipeline.joint_questions import find_together
from admercs.pipeline.made_columns import key_facets
from admercs.pipeline.rows import RowsInMemory
from admercs.table import read_frame
from admercs.table.columns import Facet
from tests.rows_in_pieces import RowsInPieces

N, FIRST, SECOND = 3000, 16, 2043


def make_orders(n: int = N) -> pd.DataFrame:
    """Return orders; one number was given twice."""
    rng = np.random.default_rng(0)
    orders = pd.DataFrame(
        {
            "order_id": [f"O-{100_000 + k}" for k in range(n)],
            "amount": rng.lognormal(3, 1, n).round(2),
            "channel": rng.choice(["web", "shop"], n),
        }
    )
    orders.loc[SECOND, "order_id"] = orders.loc[FIRST, "order_id"]
    return orders


def keys(table: Any, settings: KeyColumns | None = None, cuts: Any = None) -> dict[str, Any]:
    frame = read_frame(table)
    rows = RowsInMemory(frame) if cuts is None else RowsInPieces(table, cuts)
    summary = rows.summary("auto")
    (facets,) = find_together(rows, [key_facets(summary, settings or KeyColumns())])
    return {frame.names[facet.sources[0]]: facet.settings for facet in facets}


def plain_counts(values: Any) -> dict[Any, int]:
    return {value: n for value, n in Counter(values).items() if n > 1}


def test_both_rows_of_a_number_given_twice_are_found_and_told() -> None:
    orders = make_orders()
    model = ADMERCS().fit(orders)
    assert set(np.argsort(-model.scores_)[:2]) == {FIRST, SECOND}
    cells = model.score_cells(orders)
    assert cells[SECOND, 0] > 0.9 * cells[SECOND].sum()
    (row,) = model.top(orders, 1, top=1, noun="orders")
    assert row.reasons[0].text == "order_id is unique in 2,998 orders, but O-100016 occurs twice."
    assert row.reasons[0].target == "order_id"
    # Nobody knows what the number should have been.
    assert row.repair_text == ""
    without = Method().change({"facets.keys": None})
    assert ADMERCS(method=without).fit(orders).score_cells(orders)[SECOND, 0] < 1


def test_new_rows_are_odd_for_numbers_that_repeated_in_training_alone() -> None:
    orders = make_orders()
    model = ADMERCS().fit(orders)
    new = orders.iloc[[5, FIRST, 7, 8]].copy()
    new.loc[8, "order_id"] = "O-999999"
    cells = model.score_cells(new)[:, 0]
    assert cells.argmax() == 1
    assert cells[1] > 4
    assert np.delete(cells, 1).max() < 0.1
    text = model.explain(new.iloc[[1]], top=1)[0].reasons[0].text
    assert text == "order_id is unique in 2,998 training rows, but O-100016 occurs twice there."


def test_counts_are_those_of_a_plain_count() -> None:
    rng = np.random.default_rng(1)
    codes = [f"{k:05d}-x" for k in range(5000)]
    for k in rng.integers(0, 5000, 15):
        codes[k] = codes[int(rng.integers(0, 5000))]
    numbers = np.arange(-2000, 3000)
    numbers[[4, 5, 999]] = numbers[[7, 7, 0]]
    table = pd.DataFrame({"code": codes, "number": numbers})
    found = keys(table)
    assert {name: dict(known) for name, (_, known) in found.items()} == {
        "code": plain_counts(codes),
        "number": plain_counts(numbers.tolist()),
    }
    assert keys(pl.from_pandas(table)) == found
    shuffled = table.sample(frac=1, random_state=2).reset_index(drop=True)
    assert keys(shuffled, cuts=(7, 7, 2500)) == found


def test_texts_of_too_many_values_are_counted_in_pieces(monkeypatch: Any) -> None:
    monkeypatch.setattr("admercs.table.summary.NOMINAL_CAP", 1000)
    orders = make_orders()
    expected = {"order_id": (N, (("O-100016", 2),))}
    assert keys(orders) == expected
    assert keys(orders, cuts=(1, 1500)) == expected
    # Texts that share a number by chance are told apart.
    monkeypatch.setattr(
        "admercs.pipeline.made_columns.repeated_numbers",
        lambda counted, **_: [(each.number, int(each.n.sum())) for each in counted],
    )
    assert keys(orders) == expected


def test_of_a_huge_table_a_share_of_the_values_is_counted(monkeypatch: Any) -> None:
    monkeypatch.setattr("admercs.table.summary.NOMINAL_CAP", 1000)
    table = pd.DataFrame({"code": [f"{k // 2 if k < 20 else k:06d}" for k in range(4000)]})
    ((n, known),) = keys(table, KeyColumns(most=1000)).values()
    assert 800 < n < 1200
    assert dict(known).items() <= plain_counts(table["code"]).items()
    assert keys(table, KeyColumns(most=1000), cuts=(11, 2000)) == {"code": (n, known)}


def test_what_repeats_by_nature_is_no_key() -> None:
    rng = np.random.default_rng(3)
    n = 2000
    table = pd.DataFrame(
        {
            "salary": rng.integers(0, 200_000, n),
            "measure": rng.integers(0, 1_000_000, n),
            "name": rng.choice([f"Name {k}" for k in range(n)], n),
            "note": [f"we called back on day {k} and nobody answered it" for k in range(n)],
            "price": rng.normal(size=n),
        }
    )
    table.loc[1, "note"] = table.loc[0, "note"]
    assert keys(table) == {}
    small = pd.DataFrame({"code": [f"c{k}" for k in range(49)]})
    assert keys(small) == {}
    assert list(keys(pd.concat([small, small + "x"]))) == ["code"]


@pytest.mark.parametrize("kind", ["text", "integer", "float"])
def test_values_written_into_rows_of_others_are_told_from_names_that_repeat(kind: str) -> None:
    rng = np.random.default_rng(5)
    n = 1000
    codes = rng.permutation(10**6)[:n] * 10
    wrong = rng.permutation(n)[:150]
    codes[wrong] = rng.choice(codes[:12], 150)
    made: dict[str, Any] = {
        "text": [f"c-{k}" for k in codes],
        "integer": codes,
        "float": codes + 0.25,
    }
    table = pd.DataFrame({"code": made[kind], "group": rng.choice(["a", "b"], n)})
    table["name"] = [f"Name {k}" for k in rng.integers(0, 4 * n, n)]  # some by two, hardly by four
    found = keys(table)
    assert list(found) == ["code"]
    assert dict(found["code"][1]) == plain_counts(table["code"].tolist())
    assert keys(table[::-1], cuts=(3, 500)) == found
    model = ADMERCS().fit(table)
    assert not any(column.is_key for column in model.columns_)
    cells = model.score_cells(table)[:, 0]
    assert np.median(cells[wrong]) > 0.3 > np.quantile(np.delete(cells, wrong), 0.9)
    # Numbers alone repeat for other reasons, and so do columns of which most values repeat.
    assert keys(table[["code"]] if kind != "text" else table[["group"]]) == {}
    assert "code" not in keys(pd.concat([table, table, table]))


def test_files_other_orders_and_missing_values(tmp_path: Path) -> None:
    orders = make_orders()
    orders.loc[[3, 4], "order_id"] = None
    model = ADMERCS().fit(orders)
    model.save(tmp_path / "orders.admercs")
    again = ADMERCS.load(tmp_path / "orders.admercs")
    assert again.model_.schema == model.model_.schema
    assert np.array_equal(again.score_cells(orders), model.score_cells(orders))
    turned = orders[::-1][["channel", "order_id", "amount"]]
    other = ADMERCS().fit(turned)
    assert np.array_equal(other.score_samples(orders), model.score_samples(orders))


def test_whole_numbers_may_come_as_floats() -> None:
    orders = make_orders().assign(order_id=lambda table: table["order_id"].str[2:].astype(int))
    model = ADMERCS().fit(orders)
    floats = orders.assign(order_id=orders["order_id"].astype(float))
    assert np.array_equal(model.score_samples(floats), model.score_samples(orders))
    assert model.score_cells(floats)[SECOND, 0] > 4


@pytest.mark.parametrize(
    "settings",
    [(0, ()), (9, (("a", 1),)), (9, (("a", 10),)), (9, ((None, 2),)), (9, ((2**70, 2),))],
)
def test_settings_that_make_no_sense(settings: tuple[Any, ...]) -> None:
    def fits(*settings: Any) -> bool:
        facet = Facet(REPEATS, (0,), settings, is_condition=False, is_stated=True)
        return facet_fits(facet, "float", ("text",), {0})

    assert fits(9, (("a", 2), (7, 3), (1.5, 2)))
    assert not fits(*settings)


def test_a_key_without_repetitions_changes_no_score() -> None:
    orders = make_orders().drop(index=[SECOND]).reset_index(drop=True)
    known = ADMERCS().fit(orders)
    assert [column.name for column in known.columns_ if column.is_key] == ["order_id"]
    method = replace(Method(), facets=replace(Facets(), keys=None))
    without = ADMERCS(method=method).fit(orders)
    assert np.array_equal(known.scores_, without.scores_)
