"""Beginnings and ends of texts are facets where they repeat, and what is odd is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS
from admercs.facets import choose_facets
from admercs.facets.text_shape import shapes_of, tokens_of, tokens_repeat
from admercs.method.settings import Columns, Facets
from admercs.table import read_frame, summarise
from admercs.table.text_cells import TextCells
from tests.facets.text_oracles import first_token, last_token, shape_of
from tests.random_tables import random_texts

PREFIXES = {"BE": "+32", "DE": "+49", "FR": "+33"}


def make_orders(n: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    country = rng.choice(list(PREFIXES), n, p=[0.5, 0.3, 0.2])
    digits = rng.integers(100, 999, (n, 3))
    phone = [f"{PREFIXES[c]} {a} {b} {d}" for c, (a, b, d) in zip(country, digits, strict=True)]
    code = [f"{c}-{k}" for c, k in zip(country, rng.permutation(9000)[:n] + 1000, strict=True)]
    words = rng.choice(["Street", "Road", "Lane"], n, p=[0.6, 0.2, 0.2])
    street = [
        f"{a} Queen's {b} {c}" for a, b, c in zip(digits[:, 0], digits[:, 1], words, strict=True)
    ]
    size = rng.normal(100, 10, n)
    return pd.DataFrame(
        {"country": country, "phone": phone, "code": code, "street": street, "size": size}
    )


@pytest.fixture(scope="module")
def found() -> dict[int, tuple[str, float]]:
    """Return the first reason of each planted row, and the evidence of the wrong cell."""
    orders = make_orders()
    belgian = np.flatnonzero(orders["country"] == "BE")[[3, 30, 60, 90]].tolist()
    orders.loc[belgian[0], "phone"] = "+49 471 234 567"
    orders.loc[belgian[1], "code"] = "DE-2041"
    orders.loc[belgian[2], "street"] = "12 Queen's 4 Way"
    orders.loc[belgian[3], "phone"] = "0471234567"
    model = ADMERCS().fit(orders)
    cells = model.score_cells(orders)
    rows = {row.label: row for row in model.top(orders, 12, noun="orders")}
    assert np.asarray(model.predict_cells(orders))[belgian, [1, 2, 3, 1]].all()
    return {
        k: (rows[row].reasons[0].text, float(cells[row].sum())) for k, row in enumerate(belgian)
    }


def test_what_does_not_fit_is_found_and_told_as_it_is_written(
    found: dict[int, tuple[str, float]],
) -> None:
    assert (
        "typically have phone beginning with +32 (99.7%), but this order has +49 471" in found[0][0]
    )
    assert (
        "typically have code beginning with BE (99.9%), but this order has DE-2041." in found[1][0]
    )
    assert "but this order has 12 Queen's 4 Way" in found[2][0]
    # Its form and its length are as rare.
    assert found[3][0] in (
        "All orders typically have phone of the form +99 999 999 999 (99.9%), but this order has "
        "0471234567.",
        "All orders typically have the length of phone = 15 (99.9%), but this order has "
        "0471234567.",
    )


def test_tokens() -> None:
    texts = {
        "": ("", ""),
        "- -": ("", ""),
        "+32 471 23": ("+32", "a number"),
        "0471": ("a number", "a number"),
        "BE2041x": ("BE", "x"),
        "_id.9": ("_id", "a number"),
        "Main Street.": ("Main", "Street."),
        "é à": ("é", "à"),
        "w" * 500: ("w" * 20, "w" * 20),
        "x\0y": ("x", "y"),
        "שלום 12": ("שלום", "a number"),
    }
    cells = TextCells.of(texts)
    first, last = (each_of(tokens_of(cells, kind)) for kind in ("first", "last"))
    assert dict(zip(texts, zip(first, last, strict=True), strict=True)) == texts


def each_of(texts: TextCells) -> list[str | None]:
    return texts.column("").values.tolist()


def test_parts_of_texts_are_those_of_regular_expressions() -> None:
    texts = random_texts(20_000)
    cells = TextCells.of(texts)
    assert each_of(shapes_of(cells)) == list(map(shape_of, texts))
    assert each_of(tokens_of(cells, "first")) == list(map(first_token, texts))
    assert each_of(tokens_of(cells, "last")) == list(map(last_token, texts))


def first_repeats(counts: dict[str, int]) -> bool:
    return tokens_repeat(tokens_of(TextCells.of(counts), "first"), [*counts.values()], 0.01, 3)


def test_tokens_repeat_if_hardly_any_is_rare() -> None:
    assert first_repeats({"BE-1": 50, "DE-2": 50})
    assert not first_repeats({"BE-1": 50, "BE-2": 50})
    assert first_repeats({"BE-1": 500, "DE-2": 500, "XX-3": 1})
    assert not first_repeats({f"{chr(97 + k)}-1": 2 for k in range(20)})
    rng = np.random.default_rng(1)
    names = ["".join(rng.choice(list("abcdefgh"), 5)) for _ in range(900)]
    table = pd.DataFrame({"name": [f"{a} {b}" for a, b in zip(names, names[::-1], strict=True)]})
    kinds = {
        facet.kind for facet in choose_facets(summarise(read_frame(table)), Columns(), Facets())
    }
    assert not kinds & {"first", "last"}


def test_free_text_stays_aside_and_is_said_to() -> None:
    rng = np.random.default_rng(0)
    n = 1000
    words = np.array(
        [
            "please",
            "ring",
            "the",
            "bell",
            "leave",
            "at",
            "neighbour",
            "door",
            "fragile",
            "gift",
            "call",
        ]
    )
    note = [" ".join(rng.choice(words, rng.integers(6, 15))) for _ in range(n)]
    place = [f"Block {a}, Tract {b}, Some County, This State" for a, b in enumerate(range(n))]
    table = pd.DataFrame({"note": note, "place": place, "sum": rng.normal(size=n)})
    for X in (table, table.sample(frac=1, random_state=0)):
        schema = ADMERCS().fit(X).model_.schema
        kinds = {each.facet.kind for each in schema.facets if each.sources == (0,)}
        assert kinds <= {"spelling", "repeats"}
        assert schema.columns[0].reason == "free text, 1,000 distinct values in 1,000 rows"
        assert schema.columns[0].is_free_text
        # Texts of one form are none.
        assert "shape" in {each.facet.kind for each in schema.facets if each.sources == (1,)}
        assert not schema.columns[1].is_free_text


def test_an_address_of_any_length_has_one_form() -> None:
    addresses = TextCells.of(["a@b.be", "Ann.Lee-7@mail.example.com", "x_y+z@a-b.co.uk"])
    assert shapes_of(addresses).values == ["an e-mail address"]
    others = TextCells.of(["a@b", "a b@c.com", "@c.com", "a@c,com", "a@@c.com", "a_at_c.com"])
    assert "an e-mail address" not in shapes_of(others).values
