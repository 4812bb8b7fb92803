"""Facets are columns like any other: in memory, on Dask, in files, in other orders of columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from admercs import ADMERCS, Method
from admercs.facets import FacetFrame, choose_facets, prepare, summarise_facets
from admercs.method.settings import Columns, Facets
from admercs.table import learn_schema, read_frame, summarise

WRONG = 5


def make_calls(n: int = 1200, seed: int = 0) -> pd.DataFrame:
    """Return phone numbers whose form depends on the country; one has the other country's."""
    rng = np.random.default_rng(seed)
    country = rng.choice(["BE", "DE"], n)
    country[WRONG] = "BE"
    digits = rng.integers(100, 1000, (n, 3))
    belgian = [f"+32 {a} {b}" for a, b, _ in digits]
    german = [f"00{a}/{b}{c}" for a, b, c in digits]
    phone = np.where(country == "BE", belgian, german)
    phone[WRONG] = german[WRONG]
    cost = rng.normal(size=n)
    return pd.DataFrame({"cost": cost, "phone": phone, "country": country})


@pytest.fixture(scope="module")
def fitted() -> tuple[pd.DataFrame, ADMERCS]:
    calls = make_calls()
    return calls, ADMERCS().fit(calls)


def test_text_of_many_values_has_a_shape_and_a_length() -> None:
    frame = read_frame(make_calls(100))
    facets = choose_facets(summarise(frame), Columns(), Facets())
    expected = [("shape", (1,)), ("length", (1,)), ("first", (1,))]
    assert [(facet.kind, facet.sources) for facet in facets] == expected
    made = FacetFrame(frame, facets)
    shapes, lengths, first = made.column(3), made.column(4), made.column(5)
    assert set(first.values) == {"+32", "a number"}
    assert set(shapes.values) == {"+99 999 999", "99999/999999"}
    assert lengths.values.tolist() == [len(text) for text in make_calls(100)["phone"]]
    assert made.column(3, 10, 20).values.tolist() == shapes.values[10:20].tolist()


def test_a_malformed_code_is_found_among_codes_that_repeat() -> None:
    codes = np.array([f"K-{k}" for k in range(1000, 1400)] * 2, dtype=object)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"code": rng.permutation(codes), "size": rng.normal(size=800)})
    table.loc[WRONG, "code"] = "K12-34"
    model = ADMERCS().fit(table)
    assert model.score_cells(table)[:, 0].argmax() == WRONG
    assert "A99-99" in str(model.explain(table.iloc[[WRONG]], top=1)[0])


def test_facets_of_all_columns_are_left_out_without_their_settings() -> None:
    calls = make_calls()
    with pytest.warns(UserWarning, match="'phone' .an identifier"):
        model = ADMERCS(method=replace(Method(), facets=None)).fit(calls)
    assert model.model_.schema.facets == ()


def test_a_text_that_does_not_fit_its_country_is_found(
    fitted: tuple[pd.DataFrame, ADMERCS],
) -> None:
    calls, model = fitted
    assert model.scores_.argmax() == WRONG
    cells = pd.DataFrame(model.score_cells(calls), columns=calls.columns)
    assert cells.loc[WRONG, ["phone", "country"]].sum() > 0.9 * cells.loc[WRONG].sum()
    np.testing.assert_allclose(cells.sum(axis=1), -model.score_samples(calls), rtol=1e-12)


def test_no_tree_splits_on_facets_of_its_own_column(fitted: tuple[pd.DataFrame, ADMERCS]) -> None:
    model = fitted[1].model_
    sources = [set(column.sources) for column in model.schema.used]
    on_facets = 0
    for node in np.flatnonzero(model.forest.feature >= 0).tolist():
        feature, target = model.forest.feature[node], model.forest.tree_of(node)
        assert sources[feature].isdisjoint(sources[target])
        on_facets += model.schema.used[feature].facet is not None
    assert on_facets


def test_one_cell_has_the_evidence_of_one_view(fitted: tuple[pd.DataFrame, ADMERCS]) -> None:
    calls, model = fitted
    other = calls.assign(phone="+32")  # wrong in its shape and in its length
    parts = model._scored(other, None, keep_parts=True).parts
    views = np.flatnonzero(model.model_.credited == calls.columns.get_loc("phone"))
    assert parts is not None
    assert len(views) > 2
    assert (np.count_nonzero(parts.pattern[views], axis=0) == 1).all()


def test_other_libraries_orders_and_files_give_the_same(
    fitted: tuple[pd.DataFrame, ADMERCS], tmp_path: Path
) -> None:
    calls, model = fitted
    known = model.score_samples(calls)
    assert np.array_equal(model.score_samples(pl.from_pandas(calls)), known)
    assert np.array_equal(model.score_samples(calls[["country", "phone", "cost"]]), known)
    other = ADMERCS().fit(calls[["phone", "cost", "country"]])
    assert np.array_equal(other.score_samples(calls), known)
    model.save(tmp_path / "calls.admercs")
    loaded = ADMERCS.load(tmp_path / "calls.admercs")
    assert np.array_equal(loaded.score_samples(calls), known)
    assert loaded.model_.schema == model.model_.schema


def test_missing_texts_have_missing_facets() -> None:
    calls = make_calls(100)
    calls.loc[3:9, "phone"] = None
    frame = read_frame(calls)
    facets = choose_facets(summarise(frame), Columns(), Facets())
    assert [each.n_missing for each in summarise_facets(frame, facets)] == [7, 7, 7]
    made = list(zip(facets, summarise_facets(frame, facets), strict=True))
    schema = learn_schema(summarise(frame), None, made)
    lengths = prepare(frame, schema).column(schema.order.index(4))
    assert np.isnan(lengths).sum() == 7
