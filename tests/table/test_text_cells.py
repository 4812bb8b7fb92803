"""Columns of texts as bytes: nothing is lost, and what is looked for is found."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from admercs.table import read_frame
from admercs.table.date_texts import date_forms
from admercs.table.number_texts import number_forms
from admercs.table.text_cells import TextCells
from admercs.table.text_forms import by_shape, shape_of
from tests.random_tables import DATES, NUMBERS, ODD_TEXTS, random_texts

TEXTS = [*ODD_TEXTS, None, "", "x", None, "x", "x\0", "x\0\0"]


def test_texts_are_kept() -> None:
    texts = random_texts(3000) + ODD_TEXTS
    cells = TextCells.of(texts)
    assert cells.column("x").values.tolist() == texts
    assert sorted(cells.values) == sorted(set(texts))
    assert cells.n.tolist() == [texts.count(text) for text in cells.values]
    sizes = [(len(text), text.count(" ")) for text in cells.values]
    assert list(zip(*(each.tolist() for each in cells.sizes), strict=True)) == sizes
    wanted = ["not there", *cells.values[::-1], "", "not there"]
    known = {text: place for place, text in enumerate(cells.values)}
    assert cells.find(wanted).tolist() == [known.get(text, -1) for text in wanted]
    assert TextCells.of([]).find(["a"]).tolist() == [-1]
    assert len(cells.without(["not there"])) == len(cells)
    fewer = cells.without(wanted[1:4]).column("x")
    assert fewer.missing is not None
    assert fewer.missing.tolist() == [text in wanted[1:4] for text in texts]


@pytest.mark.parametrize(
    "make",
    [
        lambda texts: pl.DataFrame({"a": texts}),
        lambda texts: pl.DataFrame({"b": [1] * len(texts), "a": texts})[:, [1]],
        lambda texts: pl.DataFrame({"a\0b": texts}),
        lambda texts: pd.DataFrame({"a": pd.Series(texts, dtype=object)}),
        lambda texts: pd.DataFrame({"a": pd.Series(texts, dtype="str")}),
        lambda texts: pd.DataFrame({"a": pd.Series(texts, dtype="string")}),
        lambda texts: pd.DataFrame({"a": pd.Series(texts, dtype="string[pyarrow]")}),
        lambda texts: pa.table({"a": pa.chunked_array([texts[:7], texts[7:]])}),
        lambda texts: pa.table({"a": ["before", *texts, "behind"]}).slice(1, len(texts)),
        lambda texts: {"a": texts},
        lambda texts: np.array(texts, object)[:, None],
    ],
)
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("has_arrow", [True, False])
def test_all_libraries_hold_the_same_texts(make, n, has_arrow, monkeypatch) -> None:
    texts = TEXTS * n
    frame = read_frame(make(texts))
    if not has_arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    cells = frame.texts(0)
    assert cells is not None
    assert cells.column("a").values.tolist() == texts
    assert cells.is_missing().tolist() == [text is None for text in texts]


def test_a_number_behind_a_hundred_texts_is_found() -> None:
    frame = read_frame(pd.DataFrame({"a": pd.Series(["x"] * 200 + [3.5], dtype=object)}))
    assert frame.texts(0) is None
    assert frame.column(0).kind == "mixed"


def test_what_may_be_read_has_its_shape() -> None:
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**8, 200), unit="s")
    forms = [*DATES, "%a, %d %b %Y", "%A %d %B %y", "%d%b%Y", "%b. %dth, %Y", "%H:%M, %d %b %Y"]
    texts = [day.strftime(form) for form in forms for day in days]
    texts += [form(x) for form in NUMBERS for x in rng.normal(0, 10_000, 100)]
    texts += ["US$ 5", "-$3.20", "EUR 1 234,5", "12 km/h", "3e-7", "(4)", "R$9", "−5", "1’000 m²"]
    distinct = list(dict.fromkeys(texts + random_texts(20_000)))
    found = by_shape(TextCells.of(distinct))
    shapes = {text: some.shape for some in found for text in some.values}
    for text in distinct:
        shape = shape_of(text)
        is_read = bool(number_forms(shape) or date_forms(shape))
        assert shapes.get(text, "" if is_read else shape) == shape, text
    assert {*texts[-5:]} < {*shapes}
