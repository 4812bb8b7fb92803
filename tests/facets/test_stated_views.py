"""What facets state about cells: found, said, kept in files, and the same on Dask."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from admercs import ADMERCS, Method
from admercs.explain.stated_words import as_written
from admercs.facets.facet_kinds import facet_fits
from admercs.facets.look_alikes import LookAlike
from admercs.method.settings import Facets
from admercs.pipeline.model_file import ModelFileError
from admercs.table.columns import Facet

CITIES = ["Birmingham", "Mobile", "Montgomery", "Huntsville", "Tuscaloosa", "Dothan", "Auburn"]
TYPO, SWAP = 17, 50


def make_shops(n: int = 700, seed: int = 0) -> pd.DataFrame:
    """Return shops whose zip determines the city; one is misspelt, one in another city."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 63, n)
    zips = 35000 + 7 * place
    city = np.array(CITIES, dtype=object)[place // 9]
    city[TYPO] = city[TYPO][:-1] + "x"
    city[SWAP] = CITIES[(place[SWAP] // 9 + 1) % 7]
    size = rng.normal(100, 10, n)
    return pd.DataFrame({"size": size, "zip": zips, "city": city})


@pytest.fixture(scope="module")
def fitted() -> tuple[pd.DataFrame, ADMERCS]:
    shops = make_shops()
    return shops, ADMERCS().fit(shops)


def kinds(model: ADMERCS) -> list[tuple[str, tuple[int, ...]]]:
    facets = (column.facet for column in model.model_.schema.facets)
    return [(facet.kind, facet.sources) for facet in facets if facet is not None]


def test_wrong_cells_have_the_most_evidence(fitted: tuple[pd.DataFrame, ADMERCS]) -> None:
    shops, model = fitted
    assert kinds(model) == [("spelling", (2,)), ("determined", (2, 1))]
    cells = model.score_cells(shops)
    order = np.argsort(-cells[:, 2])[:2]
    assert sorted(order.tolist()) == [TYPO, SWAP]
    others = np.delete(cells[:, 2], order)
    assert others.max() < 0.5 * cells[order, 2].min()
    assert cells.sum(axis=1) == pytest.approx(-model.score_samples(shops))


def test_sentences(fitted: tuple[pd.DataFrame, ADMERCS]) -> None:
    shops, model = fitted
    group = shops[shops["zip"] == shops["zip"][TYPO]]["city"]
    usual, count = group.mode()[0], int((group == group.mode()[0]).sum())
    (row,) = model.explain(shops.iloc[[TYPO]], top=1)
    text = row.reasons[0].text
    how = "typically" if count >= 0.9 * len(group) else "mostly"
    assert text == (
        f"Rows with zip = {shops['zip'][TYPO]} {how} have city = {usual} "
        f"({count} of {len(group)}), but this row has city = {shops['city'][TYPO]}."
    )
    assert row.reasons[0].value == shops["city"][TYPO]
    # Without other columns the spelling alone speaks.
    named = pd.DataFrame({"size": shops["size"], "city": shops["city"]})
    named.loc[SWAP, "city"] = "Mobile"
    alone = ADMERCS().fit(named)
    often = int((named["city"] == usual).sum())
    found = alone.top(named, 1)[0]
    assert found.label == TYPO
    said = f"city: '{shops['city'][TYPO]}' occurs once and resembles '{usual}' ({often} times)."
    assert said in [reason.text for reason in found.reasons]


def test_no_training_row_is_needed_to_know_a_rule() -> None:
    """A table without an exception: new rows that break the rule are found."""
    shops = make_shops().drop(index=[TYPO, SWAP])
    model = ADMERCS().fit(shops)
    new = shops.iloc[:5].copy()
    new.iloc[3, 2] = next(city for city in CITIES if city != new.iloc[3, 2])
    assert model.score_cells(new)[:, 2].argmax() == 3
    assert model.score_cells(new)[3, 2] > 4


def test_numbers_that_cannot_be_read_are_told_with_what_they_should_have_been() -> None:
    shops = make_shops()
    right = int(shops["zip"][3])
    shops["shop"] = [f"shop {each % 97}" for each in shops["zip"]]
    shops["zip"] = shops["zip"].astype(str)
    shops.loc[3, "zip"] = "35x0x"
    model = ADMERCS().fit(shops)
    (found,) = [each for each in model.top_cells(shops, 5) if each.label == 3]
    assert (found.column, found.value_text, found.expected) == ("zip", "35x0x", right)
    assert found.text.startswith("Rows with shop = ")
    assert found.text.endswith("but this row has zip = 35x0x.")


@pytest.mark.parametrize(
    ("text", "word", "other"),
    [("Ann Peetres", "Peetres", "Peeters"), ("ANN PEErTERS", "PEErTERS", "PEETERS"),
     ("ann pEeters-Li", "pEeters", "peeters"), ("peetres", "peetres", "peeters")],
)  # fmt: skip
def test_words_are_as_large_or_small_as_the_one_in_the_text(
    text: str, word: str, other: str
) -> None:
    found = LookAlike(word.lower(), 1, "peeters", 100, -4.0)
    assert as_written(found, text) == (word, other, text.replace(word, other))


def test_a_misspelt_word_is_put_right_as_it_would_be_written() -> None:
    rng = np.random.default_rng(0)
    names = [[*"ABC"], ["Peeters", "Janssens", "Mertens"]]
    name = np.array([" ".join(map(rng.choice, names)) for _ in range(400)], dtype=object)
    name[7] = "B Peetres"
    people = pd.DataFrame({"size": rng.normal(100, 10, 400), "name": name})
    (row,) = ADMERCS().fit(people).top(people, 1)
    often = sum("Peeters" in each for each in name)
    said = f"name: 'Peetres' in 'B Peetres' occurs once and resembles 'Peeters' ({often} times)."
    assert row.reasons[0].text == said
    assert row.repairs[0].expected == "B Peeters"


def test_no_other_value_is_expected_where_the_right_one_is_not_in_the_column() -> None:
    """The county that is meant occurs nowhere else, and no frequent one takes its place."""
    rng = np.random.default_rng(0)
    county = rng.choice(["Clark County", "Wake County", "Cook County"], 300).astype(object)
    county[7] = "Logan Coumty"
    table = pd.DataFrame({"rent": rng.normal(1000, 50, 300), "county": county})
    (row,) = ADMERCS().fit(table).top(table, 1)
    assert row.reasons[0].text.startswith("county: 'Coumty' in 'Logan Coumty' occurs once")
    assert row.reasons[0].expected_text == "'County' for 'Coumty'"
    assert not [each for each in row.repairs if each.column == "county"]


def test_a_value_that_another_row_has_and_no_more_determines_nothing() -> None:
    """Of two rows with one ticket that differ nobody knows which one is right."""
    k = np.arange(600)
    table = pd.DataFrame({
        "ticket": [f"T{i // 2}" for i in k],
        "boat": [f"B{i // 2 % 30}" for i in k],
        "size": np.random.default_rng(0).normal(size=len(k)),
    })  # fmt: skip
    table.loc[10, "boat"] = "B17"
    model = ADMERCS().fit(table)
    said = [each.text for row in model.top(table, 20) for each in row.reasons]
    assert not [text for text in said if "(1 of" in text and "ticket" in text]


def test_a_value_that_was_written_into_rows_of_others(tmp_path: Path) -> None:
    """Its rows have nothing in common; what follows from it elsewhere does not follow here."""
    k = np.arange(1200)
    shops = pd.DataFrame({
        "zip": 10_000 + 7 * (k % 400),
        "city": [f"{CITIES[c % len(CITIES)]} {'NSEW'[c // len(CITIES) % 4]}" for c in k % 40],
        "state": [f"{chr(65 + s)}{chr(75 + s)}" for s in k % 40 // 5],
        "size": np.random.default_rng(0).normal(100, 10, len(k)).round(1),
    })  # fmt: skip
    shops.loc[k % 57 == 5, "zip"] = 11_907
    model = ADMERCS().fit(shops)
    cells = model.score_cells(shops)[:, 0]
    rows = np.flatnonzero(k % 57 == 5)
    assert set(np.argsort(-cells)[: len(rows)]) == set(rows)
    said = {reason.text for row in model.top(shops, 3) for reason in row.reasons}
    assert (
        f"Rows with the same zip mostly agree in city and state, but the {len(rows)} rows with zip "
        "= 11907 do not."
    ) in said
    model.save(tmp_path / "shops.admercs")
    again = ADMERCS.load(tmp_path / "shops.admercs")
    assert np.array_equal(again.score_cells(shops)[:, 0], cells)


def test_model_file(fitted: tuple[pd.DataFrame, ADMERCS], tmp_path: Path) -> None:
    shops, model = fitted
    model.save(tmp_path / "shops.admercs")
    again = ADMERCS.load(tmp_path / "shops.admercs")
    assert again.model_.schema == model.model_.schema
    assert np.array_equal(again.score_cells(shops), model.score_cells(shops))


def test_order_of_rows_and_columns_changes_nothing(fitted: tuple[pd.DataFrame, ADMERCS]) -> None:
    shops, model = fitted
    order = np.random.default_rng(1).permutation(len(shops))
    turned = shops.iloc[order][["city", "size", "zip"]]
    other = ADMERCS().fit(turned)
    assert np.array_equal(other.score_samples(turned), model.score_samples(shops)[order])


def test_left_out() -> None:
    shops = make_shops()
    for name in ("look_alikes", "determined"):
        method = replace(Method(), facets=replace(Facets(), **{name: None}))
        left = {kind for kind, _ in kinds(ADMERCS(method=method).fit(shops))}
        assert left == {"spelling", "determined"} - {{"look_alikes": "spelling"}.get(name, name)}


@pytest.mark.parametrize(
    "settings",
    [
        (0.0, ((0.9, 0.1, ()),)),
        (1e-320, ((0.9, 0.1, ()),)),
        (float("inf"), ((0.9, 0.1, ()),)),
        (float("nan"), ((0.9, 0.1, ()),)),
        (2.0, ((0.9, 0.1, (("a", "b", 10**400, 1, ()),)),)),
        (2.0, ()),
        (2.0, ((0.9, 0.0, ()),)),
        (2.0, ((2.0, 0.1, ()),)),
        (2.0, ((0.9, 0.1, (("a", "b", 1, 1, ()),)),)),
        (2.0, ((0.9, 0.1, (("a", "b", 9, 10, ()),)),)),
        (2.0, ((0.9, 0.1, (("a", "b", 9, 8, (("c", 0),)),)),)),
        (2.0, ((0.9, 0.1, (("a", None, 9, 8, ()),)),)),
        (2.0, ((0.9, 0.1, (("a", "b", 9),)),)),
    ],
)
def test_settings_that_make_no_sense(settings: tuple[Any, ...]) -> None:
    kinds_ = ("text", "integer")
    good = (2.0, ((0.9, 0.1, (("a", "b", 9, 8, (("c", 2), (None, 3))),)),))
    facet = Facet("determined", (0, 1), is_condition=False, is_stated=True)

    def fits(settings: tuple[Any, ...], **flags: Any) -> bool:
        return facet_fits(replace(facet, settings=settings, **flags), "float", kinds_, range(2))

    assert fits(good)
    assert not fits(settings)
    assert not fits(good, is_stated=False)
    assert not fits(good, is_condition=True)


def test_damaged_file(fitted: tuple[pd.DataFrame, ADMERCS], tmp_path: Path) -> None:
    _, model = fitted
    path, damaged = tmp_path / "shops.admercs", tmp_path / "damaged.admercs"
    model.save(path)
    with zipfile.ZipFile(path) as given, zipfile.ZipFile(damaged, "w") as made:
        for name in given.namelist():
            content = given.read(name)
            if name.endswith(".json"):
                header = json.loads(content)
                header["schema"]["facets"][1]["facet"]["settings"][0] = -1.0
                content = json.dumps(header).encode()
            made.writestr(name, content)
    with pytest.raises(ModelFileError, match="city"):
        ADMERCS.load(damaged)
