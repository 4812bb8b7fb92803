"""Keys and whole rows that repeat in a table are told, piece by piece, with their rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.cli import main
from admercs.explain import repeated_rows
from admercs.explain.repeated_rows import FirstRows
from admercs.explain.scored_rows import score_rows
from admercs.report import Digest

N = 1500


def make_orders(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "order_id": [f"O-{100_000 + k}" for k in range(n)],
            "amount": rng.lognormal(3, 1, n),
            "price": [f"{x:.2f}" for x in rng.uniform(1, 9, n)],
            "channel": rng.choice(["web", "shop"], n),
            "note": [f"called back on day {k}, nobody answered us then" for k in range(n)],
        }
    )


def told(model: ADMERCS, table: pd.DataFrame, cuts: tuple[int, ...] = ()) -> list[tuple[str, str]]:
    digest = Digest(model.model_, -model.offset_, 5.0)
    for start, stop in zip((0, *cuts), (*cuts, len(table)), strict=True):
        piece = table.iloc[start:stop]
        digest.add(score_rows(model.model_, piece, first=start + 1, count_from=1))
    found = digest.findings()
    return [(each.column, each.text) for each in found if each.kind == "duplicates"]


def test_keys_and_rows_are_told_in_any_pieces() -> None:
    orders = make_orders()
    orders.loc[1043, "order_id"] = orders.loc[16, "order_id"]
    for row in (900, 1200):
        orders.iloc[row, 1:] = orders.iloc[40, 1:]
    orders.loc[[300, 301], "price"] = ["?", "!"]
    # All but equal: the texts that are no numbers differ.
    orders.iloc[301, [1, 3, 4]] = orders.iloc[300, [1, 3, 4]]
    model = ADMERCS().fit(orders)
    expected = [
        ("order_id", "unique in 1,498 rows; O-100016 occurs twice (rows 17 and 1,044)"),
        ("order_id", "rows 41, 901 and 1,201 are equal in all columns but order_id"),
    ]
    assert told(model, orders) == expected
    assert told(model, orders, (17, 18, 41, 1000)) == expected
    without = orders.drop(columns="order_id")
    text = "rows 41, 901 and 1,201 are equal in all columns"
    assert told(ADMERCS().fit(without), without) == [("", text)]


def test_keys_that_repeat_in_new_rows_are_told() -> None:
    orders = make_orders()
    model = ADMERCS().fit(orders)
    assert told(model, orders) == []
    new = orders.iloc[[*range(100), 5, 5, 6]]
    (key,) = told(model, new)  # five equal rows of 103 may be natural
    assert key[1] == (
        "unique in 98 rows; O-100005 occurs 3 times (rows 6, 101 and 102) and O-100006 occurs "
        "twice (rows 7 and 103)"
    )
    text = "rows 6 and 101 are equal in all columns but order_id"
    assert told(model, orders.iloc[[*range(100), 5]])[1] == ("order_id", text)
    assert told(model, new.head(20)) == []
    often = told(model, pd.concat([new.head(9)] * 2))[0][1]
    assert often.startswith("O-100000 occurs twice (rows 1 and 10), ")
    assert often.endswith(" and 6 more values repeat")


def test_rows_that_are_equal_by_nature_are_not_told() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"kind": rng.choice(list("abc"), 900), "size": rng.integers(0, 5, 900)})
    assert told(ADMERCS().fit(table), table) == []


def test_first_rows_are_those_of_a_dict(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, known = np.random.default_rng(2), dict[int, int]()
    first, row = FirstRows(), 0
    for n in rng.integers(0, 60, 40).tolist():
        values = rng.integers(0, 500, n).astype(np.uint64)
        rows = np.arange(row, row + n)
        expected = [known.setdefault(v, r) for v, r in zip(values.tolist(), rows, strict=True)]
        assert first.add(values, rows).tolist() == expected
        row += n
    # What is beyond the limit is found among the rows before it.
    monkeypatch.setattr(repeated_rows, "MOST_ROWS", 1)
    first = FirstRows()
    for k, value in enumerate([3, 4, 3, 4, 3]):
        found = first.add(np.array([value], np.uint64), np.array([k]))
        assert found == [0] if value == 3 else [k]


def test_the_command_line_and_the_page_tell_of_rows(tmp_path: Any, capsys: Any) -> None:
    orders = make_orders().drop(columns="order_id")
    orders.iloc[90] = orders.iloc[7]
    path = tmp_path / "orders.csv"
    orders.to_csv(path, index=False)
    arguments = ["detect", str(path), "--jobs", "1", "--top", "1"]
    assert main([*arguments, "--report", str(tmp_path / "t.html")]) == 0
    assert "  rows 8 and 91 are equal in all columns\n" in capsys.readouterr().out
    assert "rows 8 and 91 are equal in all columns" in (tmp_path / "t.html").read_text()
    assert main([*arguments, "--json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["kind"], finding["n"], finding["rows"]) == (
        "duplicates",
        2,
        ["row 8", "row 91"],
    )
