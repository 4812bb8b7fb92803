"""Comparing all rows with reference rows, and learning how much that counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from admercs.method.neighbours import (
    Nearest,
    ReferenceRows,
    choose_references,
    may_have_neighbours,
    weigh_neighbours,
)
from admercs.pipeline.model import Model
from admercs.pipeline.rows import Kept, Rows
from admercs.pipeline.score import (
    Parts,
    Scorer,
    add_neighbours,
    join_parts,
    run_blocks,
    sum_in_order,
)
from admercs.table.bins import Binning
from admercs.table.prepared import Prepared
from admercs.trees.forest import Leaves

Floats = NDArray[np.float64]


def compare_rows(
    rows: Rows, model: Model, binning: Binning, leaves: Kept
) -> tuple[ReferenceRows, Floats] | None:
    """Return the reference rows and the evidence of all rows after comparing them.

    The model has its anomalous contexts. The table is brought together: only tables of few cells
    are compared. None for others.
    """
    settings = model.method.neighbours
    if settings is None or not may_have_neighbours(settings, model.n_rows, model.forest.n_trees):
        return None
    pieces = rows.gather(rows.read("comparing", values_and_parts, leaves, shared=(model,)))
    values = np.concatenate([piece[0] for piece in pieces], axis=1)
    parts = join_parts([piece[1] for piece in pieces])
    cells = np.ascontiguousarray(parts.pattern.T)
    base = sum_in_order(parts.pattern)
    found = choose_references(settings, binning, values, cells, float(np.median(base)))
    nearest = Nearest(np.empty_like(cells), np.empty((len(base), 2)))

    def compare(start: int, stop: int) -> None:
        block = np.ascontiguousarray(values[:, start:stop])
        nearest.evidence[start:stop], nearest.distance[start:stop] = found.compare(block)

    run_blocks(compare, len(base), rows.n_jobs)
    references = weigh_neighbours(settings, found, nearest, base)
    whole = replace(model, references=references)
    return references, add_neighbours(parts, whole, values, nearest).evidence()


def values_and_parts(table: Prepared, leaves: Leaves, model: Model) -> tuple[Floats, Parts]:
    """Return the working values of a piece, and what is said of its rows."""
    block = table.block(0, table.n_rows)
    return block, Scorer(model).score_alone(block, leaves.of(slice(None)))
