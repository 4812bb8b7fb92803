"""Comparing rows with each other, the rows lying on many workers.

Only tables of up to half a million cells are compared, and these fit into any memory: the client does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from admercs.detector.model import Model
from admercs.detector.neighbours import find_neighbours
from admercs.distributed.pieces import HalfRead, Placed
from admercs.distributed.run import Run
from admercs.evidence.neighbours import Neighbours
from admercs.table.bins import Binning
from admercs.table.schema import Schema

Floats = NDArray[np.float64]


def neighbours_on_cluster(
    run: Run,
    model: Model,
    binning: Binning,
    placed: Sequence[Future],
    base: Sequence[Future],
    columns: list[int],
) -> tuple[Neighbours, list[Future]] | None:
    """Return what ``detector.neighbours.find_neighbours`` does; the evidence is on the workers."""
    schema = run.share(model.schema)
    parts = run.read("neighbours", values_of_part, schema, each=[placed], columns=columns)
    values = run.result(parts)
    before = np.concatenate(run.result(list(base)))
    found = find_neighbours(model, binning, np.concatenate(values, axis=1), before)
    if found is None:
        return None
    neighbours, evidence = found
    together = run.share(evidence)
    ends = np.cumsum([0, *(part.shape[1] for part in values)]).tolist()
    return neighbours, [
        run.submit(some_of, together, start, stop) for start, stop in pairwise(ends)
    ]


def values_of_part(part: Any, placed: Placed, schema: Schema) -> Floats:
    """Return the working values of a partition (columns x rows)."""
    return HalfRead(part, schema, placed).block(0, placed.n_rows)


def some_of(values: Floats, start: int, stop: int) -> Floats:
    """Return some of the rows that lie together."""
    return values[start:stop]
