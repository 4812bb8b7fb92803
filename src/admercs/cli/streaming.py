"""Scoring a table stretch by stretch, and the lines of the file of scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from admercs.cli.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from admercs import ADMERCS
    from admercs.explain import ScoredTable
    from admercs.report import Digest

__all__ = ["Wanted", "pieces", "results", "table_errors", "without"]

EXPLAINED_AT_ONCE = 2_000


@dataclass(frozen=True)
class Wanted:
    """What the file of scores is to hold."""

    reasons: str = "flagged"  # the rows that get reasons: "flagged", "all" or "none"
    why: int = 3  # reasons per row
    keep: bool = False  # all original columns
    noun: str = "rows"  # what rows are called


@contextmanager
def table_errors(name: str) -> Iterator[None]:
    """Say which table the detector refuses; its messages name the column and what to do."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if not _is_about_the_table(error):
            raise
        raise UserError(f"{name}: {error}") from error
    except MemoryError as error:
        raise UserError(
            f"{name} does not fit into memory. Learn on disk (--dask), from fewer rows "
            "(--fit-rows), or leave columns out (--ignore)."
        ) from error


def _is_about_the_table(error: Exception) -> bool:
    """Tell an error about the table from a mistake of ours, by who raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raiser = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    return raiser.startswith(("admercs.table.", "admercs.estimator", "sklearn."))


def without(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return a table without some of its columns."""
    return table.drop_columns([name for name in names if name in table.column_names])


def pieces(
    model: ADMERCS, name: str, batches: Iterable[pa.Table], id_columns: list[str], n_jobs: int
) -> Iterator[tuple[Piece, pa.Table]]:
    """Score all rows of a table; yield each stretch with its scores.

    Rows are counted from 1, as people count the rows of a file.
    """
    from admercs.explain import score_rows

    first = 1
    columns = [column.name for column in model.columns_]
    for batch in batches:
        labels = _labels(batch, id_columns, first)
        with table_errors(name):
            piece = score_rows(
                model.model_,
                batch.select(columns),
                labels=labels,
                first=first,
                count_from=1,
                n_jobs=n_jobs,
            )
        yield piece, batch
        first += len(batch)


def _labels(table: pa.Table, id_columns: list[str], first: int) -> list[Any]:
    """Return what the rows are called: the values of the label columns, or their numbers."""
    if not id_columns:
        return list(range(first, first + len(table)))
    parts = [table.column(name).to_pylist() for name in id_columns]
    return [
        " / ".join("missing" if value is None else str(value) for value in row)
        for row in zip(*parts, strict=True)
    ]


def results(
    piece: ScoredTable, batch: pa.Table, id_columns: list[str], digest: Digest, wanted: Wanted
) -> pa.Table:
    """Return the lines of the file of scores for a stretch of rows."""
    import numpy as np
    import pyarrow as pa

    flagged = piece.evidence > digest.threshold
    texts, details = _reasons(piece, flagged, wanted)
    ours = {
        "row": pa.array(range(piece.first, piece.first + len(batch))),
        "score": pa.array(-np.expm1(-piece.evidence)),
        "evidence": pa.array(piece.evidence),
        "anomaly": pa.array(flagged),
        "by_association": pa.array(piece.association),
        "reasons": pa.array(texts, pa.string()),
        "reasons_json": pa.array(details, pa.string()),
    }
    kept = {name: batch.column(name) for name in batch.column_names if wanted.keep}
    labels = {name: batch.column(name) for name in id_columns if not wanted.keep}
    row, *rest = ((_free_name(name, {*kept, *labels}), column) for name, column in ours.items())
    named = [row, *labels.items(), *rest, *kept.items()]
    return pa.table({name: _plain(column) for name, column in named})


def _free_name(name: str, taken: set[str]) -> str:
    """Return the name of one of our columns; a column of the table keeps its own."""
    while name in taken:
        name += "_"
    return name


def _plain(column: Any) -> Any:
    """Return a column in a type that every format can hold."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) or pa.types.is_decimal(column.type):
        return column.cast(pa.string())
    return column


def _reasons(
    piece: ScoredTable, flagged: Any, wanted: Wanted
) -> tuple[list[str | None], list[str | None]]:
    """Return the reasons per row as text and as JSON; None for rows that get none."""
    import numpy as np

    texts: list[str | None] = [None] * len(flagged)
    details: list[str | None] = [None] * len(flagged)
    if wanted.reasons == "none":
        return texts, details
    chosen = np.arange(len(flagged)) if wanted.reasons == "all" else np.flatnonzero(flagged)
    for start in range(0, len(chosen), EXPLAINED_AT_ONCE):
        some = chosen[start : start + EXPLAINED_AT_ONCE]
        rows = piece.rows(some).explain(piece.model, wanted.why, wanted.noun)
        for k, row in zip(some.tolist(), rows, strict=True):
            texts[k] = " | ".join(filter(None, [*(r.text for r in row.reasons), row.apart]))
            details[k] = json.dumps([r.to_dict() for r in row.reasons], ensure_ascii=False)
    return texts, details
