"""Forests grown on small tables by the steps of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from admercs.method.settings import Trees
from admercs.pipeline import grow as grow_module
from admercs.pipeline.encode import encode_rows
from admercs.pipeline.grow import count_codes, grow_forest, make_targets, tree_inputs
from admercs.pipeline.rows import Rows, RowsInMemory
from admercs.table import Binning, learn_schema, read_frame
from admercs.trees.forest import Forest
from admercs.trees.row_sample import merge_samples, sample_rows

PAPER = Trees(price=None, min_rows=1, max_bins="exact")
EXACT = Trees(max_bins="exact")


class Grown(NamedTuple):
    forest: Forest
    leaves: np.ndarray  # trees x rows
    codes: np.ndarray  # columns x rows
    values: np.ndarray  # working values, columns x rows
    binning: Binning
    code_counts: list[np.ndarray]


def grow(table: Any, settings: Trees, nominal: Sequence[Any] = (), n_jobs: int = 1) -> Grown:
    """Grow a forest on a table in memory."""
    rows = RowsInMemory(read_frame(table), n_jobs)
    forest, leaves, codes, binning, code_counts = grow_rows(rows, settings, nominal)
    values = rows.table.block(0, rows.table.n_rows)
    return Grown(forest, leaves[0], codes[0], values, binning, code_counts)


def grow_rows(
    rows: Rows, settings: Trees, nominal: Sequence[Any] = ()
) -> tuple[Forest, list[np.ndarray], list[np.ndarray], Binning, list[np.ndarray]]:
    """Grow a forest on rows in pieces; leaves and codes come piece by piece."""
    summary = rows.summary(list(nominal) or "auto")
    schema = learn_schema(summary)
    rows.open(schema)
    binning, codes = encode_rows(rows, schema, summary.n_rows, settings.max_bins)
    code_counts = count_codes(rows, codes, binning)
    drawn = rows.keep("", sample_rows, codes, shared=(settings.search.sample,))
    sample = rows.merge(merge_samples, drawn)
    layouts = tree_inputs(grow_module.allowed_inputs(schema), sample, binning, settings)
    targets = make_targets(schema, code_counts, settings)
    forest, kept = grow_forest(rows, codes, sample, targets, layouts, binning)
    leaves = [each.of(slice(None)) for each in rows.gather(kept)]
    return forest, leaves, rows.gather(codes), binning, code_counts


def mixed(seed: int, n: int = 600) -> np.ndarray:
    """Two numbers, one with holes, and two columns of categories that depend on each other."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.abs(a) + rng.normal(scale=0.1, size=n)
    c = rng.integers(1, 6, size=n).astype(float)
    d = np.where(rng.random(n) < 0.9, 1 + (c % 2), rng.integers(1, 4, size=n))
    a[rng.random(n) < 0.1] = np.nan
    d[rng.random(n) < 0.05] = np.nan
    return np.column_stack([a, b, c, d])


def same_forest(one: Forest, other: Forest) -> None:
    """Assert that two forests are equal, bit for bit."""
    for name, a, b in zip(one._fields, one, other, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
