"""Bins and codes of small tables, by the steps of a fit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from admercs.pipeline.encode import encode_rows
from admercs.pipeline.rows import RowsInMemory
from admercs.table import Binning, Schema, read_frame
from admercs.table.bins import edges_between
from admercs.table.quantiles import count_requests, edge_search, run_searches


def bin_table(
    table: Any, schema: Schema, max_bins: Any = 254, n_jobs: int = 1
) -> tuple[Binning, np.ndarray]:
    """Find the bins of every used column of a table and encode it."""
    frame = read_frame(table)
    rows = RowsInMemory(frame, n_jobs)
    rows.open(schema)
    binning, codes = encode_rows(rows, schema, frame.n_rows, max_bins)
    return binning, codes[0]


def search_edges(values: np.ndarray, max_bins: int = 254) -> np.ndarray:
    """Find the edges of a column as those of a long table are found."""
    present = values[~np.isnan(values)]
    search = edge_search(len(present), (float(present.min()), float(present.max())), max_bins)
    run_searches({0: search}, partial(count_requests, lambda _: present))
    return edges_between(*search.gaps())
