from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from admercs.table.columns import Column
from admercs.trees.forest import Forest
from admercs.trees.growth import TreeSettings, grow_forest


class Grown(NamedTuple):
    forest: Forest
    leaves: np.ndarray
    codes: np.ndarray


def grow(
    X: np.ndarray,
    settings: TreeSettings,
    nominal: Sequence[int] = (),
    exact: bool = True,
    n_jobs: int = 1,
) -> Grown:
    """Grow a forest on a plain array; nominal columns hold codes 1, 2, …"""
    columns, edges, codes, n_codes = [], [], [], []
    for m in range(X.shape[1]):
        x = X[:, m]
        distinct = np.unique(x[~np.isnan(x)])
        if m in nominal:
            columns.append(Column(f"x{m}", m, "nominal", "text", categories=tuple(distinct)))
            edges.append(np.zeros(0))
            codes.append(np.nan_to_num(x, nan=0.0))
            n_codes.append(len(distinct) + 2)
            continue
        cuts = (distinct[1:] + distinct[:-1]) / 2
        if not exact and len(cuts) > 253:
            cuts = cuts[np.linspace(0, len(cuts) - 1, 253).astype(int)]
        columns.append(Column(f"x{m}", m, "numeric", "number"))
        edges.append(cuts)
        codes.append(np.where(np.isnan(x), 0, 1 + np.searchsorted(cuts, x)))
        n_codes.append(len(cuts) + 2)
    table = np.stack(codes).astype(np.uint16 if exact else np.uint8)
    forest, leaves = grow_forest(
        table, edges, np.array(n_codes, np.int32), columns, lambda m: X[:, m], settings, n_jobs
    )
    return Grown(forest, leaves.of(slice(None)), table)
