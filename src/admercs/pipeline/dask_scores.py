"""Scoring Dask tables: lazy, partition by partition, and the most anomalous rows of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import dask
import numpy as np
import pandas as pd
from dask.dataframe import DataFrame
from numpy.typing import NDArray

from admercs.pipeline.cluster_run import ClusterRun, naming
from admercs.pipeline.dask_rows import open_part
from admercs.pipeline.local_cluster import some_client
from admercs.pipeline.model import Model
from admercs.pipeline.score import score_cells, score_evidence

Floats = NDArray[np.float64]


def lazy_scores(
    model: Model, table: DataFrame, finish: Callable[[Floats], NDArray[Any]], name: str
) -> Any:
    """Return a lazy Dask series of scores, partitioned and indexed like the table.

    Parameters
    ----------
    model : Model
    table : dask.dataframe.DataFrame
    finish : callable
        Turns evidence into the score wanted.
    name : str
        Name of the series.
    """
    meta = pd.Series(finish(np.zeros(0)), index=table._meta.index[:0], name=name)
    shared = dask.delayed(model, pure=False, traverse=False)
    return table.map_partitions(score_part, shared, finish, name, meta=meta)


def score_part(
    part: pd.DataFrame,
    model: Model,
    finish: Callable[[Floats], NDArray[Any]],
    name: str,
    partition_info: dict[str, Any],
) -> pd.Series:
    """Score a partition; Dask tells which one it is."""
    with naming(partition_info["number"]):
        evidence = score_evidence(model, open_part(part, model.schema))
    return pd.Series(finish(evidence), index=part.index, name=name)


def lazy_cells(model: Model, table: DataFrame) -> DataFrame:
    """Return the evidence per cell as a lazy Dask table, partitioned and indexed like the table."""
    names = model.schema.names
    meta = pd.DataFrame(np.zeros((0, len(names))), columns=names, index=table._meta.index[:0])
    shared = dask.delayed(model, pure=False, traverse=False)
    return table.map_partitions(cells_of_part, shared, meta=meta)


def cells_of_part(part: pd.DataFrame, model: Model, partition_info: dict[str, Any]) -> pd.DataFrame:
    """Return the evidence per cell of a partition; Dask tells which one it is."""
    with naming(partition_info["number"]):
        cells = score_cells(model, open_part(part, model.schema))
    return pd.DataFrame(cells, columns=model.schema.names, index=part.index)


class Top(NamedTuple):
    """The most anomalous rows of a part of the table, most anomalous first."""

    rows: pd.DataFrame
    evidence: Floats
    number: NDArray[np.int64]  # row numbers, counted from the start of the part
    n_rows: int  # rows of the part


def top_rows(model: Model, table: DataFrame, n: int) -> tuple[pd.DataFrame, list[Any]]:
    """Return the `n` most anomalous rows of a Dask table, and what to call them.

    Every worker keeps the best of its partitions only, and only `n` rows come to the client. Rows
    are called by the table's index; where that is nothing but a number that starts anew in each
    partition, by their number in the whole table.
    """
    with some_client() as client, ClusterRun(client, table) as run:
        parts = run.read("scoring", top_of_part, run.share(model), n)
        top: Top = run.result(run.reduce(merge_top, parts, n))
    index = table._meta.index
    if index.name is None and not table.known_divisions and index.dtype.kind in "iu":
        return top.rows, top.number.tolist()
    return top.rows, list(top.rows.index)


def top_of_part(part: pd.DataFrame, model: Model, n: int) -> Top:
    """Return the most anomalous rows of a partition."""
    evidence = score_evidence(model, open_part(part, model.schema))
    order = np.argsort(-evidence, kind="stable")[:n]
    return Top(part.iloc[order], evidence[order], order.astype(np.int64), len(part))


def merge_top(parts: list[Top], n: int) -> Top:
    """Return the most anomalous rows of several parts that follow each other."""
    first = np.cumsum([0, *(part.n_rows for part in parts)])
    evidence = np.concatenate([part.evidence for part in parts])
    number = np.concatenate(
        [part.number + start for part, start in zip(parts, first, strict=False)]
    )
    order = np.lexsort((number, -evidence))[:n]
    rows = pd.concat([part.rows for part in parts])
    return Top(rows.iloc[order], evidence[order], number[order], int(first[-1]))
