"""Codes and bin edges that come from one reading are those of the whole table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from admercs.distributed.drafts import draft_part, found_in, merge_found, settle
from admercs.distributed.edges import (
    bracket_columns,
    edges_if_right,
    grain_of,
    merge_column_samples,
    merge_grains,
    sample_columns,
)
from admercs.distributed.pieces import look_at
from admercs.table import learn_schema
from admercs.table.bins import edge_ranks, encode, find_edges, make_binning
from admercs.table.summary import merge_summaries

N_BINS = 20


def values_of(shape: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if shape == "whole numbers":
        return rng.integers(0, 5000, n)
    if shape == "many ties":
        return rng.integers(0, 600, n)
    if shape == "half zero":
        return np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n))
    if shape == "sorted":
        return np.sort(rng.normal(size=n))
    if shape == "huge":
        return rng.integers(2**61, 2**61 + 10**6, n)
    values = np.exp(5 * rng.normal(size=n)) * rng.choice([-1, 1], n)
    values[rng.random(n) < 0.05] = np.nan
    return values


@pytest.mark.parametrize(
    "shape", ["skewed", "whole numbers", "many ties", "half zero", "sorted", "huge"]
)
@pytest.mark.parametrize("sizes", [[60_000], [12_000] * 5, [2_000] * 30, [48_000, 6_000, 6_000]])
def test_one_reading_gives_the_edges_and_codes_of_the_whole(
    shape: str, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As small against the table as the real ones are against a real table.
    monkeypatch.setattr("admercs.distributed.pieces.N_PIVOTS", 2048)
    monkeypatch.setattr("admercs.distributed.edges.MOST_DISTINCT", 700)
    rng = np.random.default_rng(len(sizes))
    table = pd.DataFrame({"x": values_of(shape, 60_000, rng)})
    parts = [table[stop - size : stop] for size, stop in zip(sizes, np.cumsum(sizes), strict=True)]
    looks = [look_at(part, p, "auto", 1024) for p, part in enumerate(parts)]
    schema = learn_schema(merge_summaries([look.summary for look in looks]))
    sample = merge_column_samples([sample_columns(look, schema, [0]) for look in looks])
    working = table["x"].to_numpy() - schema.used[0].origin
    n_values = int(np.count_nonzero(~np.isnan(working)))
    ranks = [edge_ranks(n_values, N_BINS)]
    grain = merge_grains([grain_of(look, schema, [0]) for look in looks])
    brackets = bracket_columns(sample, [0], ranks, grain)
    rough = make_binning(schema, [np.empty(0)], N_BINS)
    drafts = [draft_part(part, schema, rough, brackets, {}) for part in parts]
    kept = sum(len(draft.inside[0].rows) for draft in drafts)
    assert kept < len(table) / 2  # else zones would be good for nothing
    found = merge_found([found_in([draft]) for draft in drafts])
    edges = edges_if_right(brackets, found, ranks, [n_values])
    assert edges is not None
    np.testing.assert_array_equal(edges[0], find_edges(working.astype(float), N_BINS))
    binning = make_binning(schema, edges, N_BINS)
    for part, draft in zip(parts, drafts, strict=True):
        x = (part["x"].to_numpy() - schema.used[0].origin).astype(float)
        codes = settle(draft, binning, brackets).codes[0]
        np.testing.assert_array_equal(codes, encode(x, edges[0]))
