"""Which facets the columns of a table have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from admercs.facets import choose_facets
from admercs.method.settings import Columns, Determined, Facets
from admercs.pipeline.joint_questions import find_together
from admercs.pipeline.made_columns import determined_facets
from admercs.pipeline.rows import RowsInMemory
from admercs.table import read_frame, summarise
from tests.rows_in_pieces import RowsInPieces


def chosen(table: pd.DataFrame, settings: Facets | None) -> list[tuple[str, tuple[int, ...]]]:
    facets = choose_facets(summarise(read_frame(table)), Columns(), settings)
    return [(facet.kind, facet.sources) for facet in facets]


@pytest.mark.parametrize(("repeats", "has_facets"), [(1, True), (2, True), (3, False)])
def test_the_form_of_texts_counts_where_they_hardly_repeat(repeats: int, has_facets: bool) -> None:
    codes = [f"{k // 50}-{k % 50:03d}" for k in range(600 // repeats)] * repeats
    table = pd.DataFrame({"code": codes, "size": np.arange(600.0)})
    found = chosen(table, Facets(look_alikes=None))
    assert found == ([("shape", (0,)), ("length", (0,))] if has_facets else [])


def test_rare_texts_beside_frequent_ones_have_a_spelling() -> None:
    cities = pd.DataFrame({"size": np.arange(100.0), "city": ["Leuven", "Gent"] * 50})
    assert chosen(cities, Facets()) == []
    cities.loc[7, "city"] = "Gentt"
    assert chosen(cities, Facets()) == [("spelling", (1,))]
    assert chosen(cities, Facets(look_alikes=None)) == []
    assert chosen(cities, None) == []


@pytest.mark.parametrize("cuts", [None, (1, 30, 400)])
def test_texts_that_follow_from_another_column_are_determined(cuts: tuple[int, ...] | None) -> None:
    place = np.arange(900) % 90
    size = np.random.default_rng(0).normal(size=900)
    table = pd.DataFrame({"city": [f"city {k // 9}" for k in place], "size": size, "zip": place})

    def determined(settings: Determined | None, smallest_leaf: int = 50) -> list[tuple[int, ...]]:
        rows = RowsInMemory(read_frame(table)) if cuts is None else RowsInPieces(table, cuts)
        finder = determined_facets(rows.summary("auto"), settings, smallest_leaf)
        facets = find_together(rows, [finder])[0]
        assert {facet.kind for facet in facets} <= {"determined"}
        return [facet.sources for facet in facets]

    assert determined(Determined()) == [(0, 2)]
    assert determined(Determined(), smallest_leaf=10) == []  # trees know of groups that large
    assert determined(None) == []


@pytest.mark.parametrize("cuts", [None, (1, 30, 400)])
def test_numbers_determine_numbers(cuts: tuple[int, ...] | None) -> None:
    rng = np.random.default_rng(0)
    sizes = rng.normal(size=90).round(2)
    place = rng.permutation(np.arange(900) % 90)
    table = np.column_stack([place, sizes[place], rng.normal(size=900)])
    frame = pd.DataFrame(table, columns=["place", "size", "chance"])
    rows = RowsInMemory(read_frame(frame)) if cuts is None else RowsInPieces(frame, cuts)
    found = find_together(rows, [determined_facets(rows.summary("auto"), Determined(), 50)])[0]
    assert [facet.sources for facet in found] == [(0, 1), (1, 0)]
