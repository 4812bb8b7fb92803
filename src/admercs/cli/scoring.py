"""Judging a table stretch by stretch, and writing down what was found."""

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
    from admercs.report import Digest, Piece

__all__ = ["Wanted", "blamed", "labels_of", "results", "score_table", "without"]

RESULTS = ("row", "score", "evidence", "anomaly", "by_association", "reasons", "reasons_json")
EXPLAINED_AT_ONCE = 2_000


@dataclass(frozen=True)
class Wanted:
    """What the user wants to know of each row.

    Attributes
    ----------
    reasons : {"flagged", "all", "none"}
        The rows that get reasons in the file of scores.
    why : int
        Reasons per row.
    keep : bool
        Whether the file of scores holds all original columns.
    noun : str
        What rows are called.
    n_jobs : int
        Threads.
    """

    reasons: str = "flagged"
    why: int = 3
    keep: bool = False
    noun: str = "rows"
    n_jobs: int = 1


@contextmanager
def blamed(name: str) -> Iterator[None]:
    """Say which table the detector complains about; its messages name the column and the cure."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if not _about_the_table(error):
            raise
        raise UserError(f"{name}: {error}") from error
    except MemoryError as error:
        raise UserError(
            f"{name} does not fit into memory. Learn on disk (--dask), from fewer rows (--fit-rows), or "
            "leave columns out (--ignore)."
        ) from error


def _about_the_table(error: Exception) -> bool:
    """Tell a complaint about the table from a mistake of ours, by who raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raiser = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    return raiser.startswith(("admercs.table.", "admercs.estimator", "sklearn."))


def without(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return a table without some of its columns."""
    return table.drop_columns([name for name in names if name in table.column_names])


def labels_of(table: pa.Table, id_columns: list[str], first: int) -> list[Any]:
    """Return what the rows are called: the values of the label columns, or their numbers."""
    if not id_columns:
        return list(range(first, first + len(table)))
    parts = [table.column(name).to_pylist() for name in id_columns]
    return [
        " / ".join("missing" if value is None else str(value) for value in row)
        for row in zip(*parts, strict=True)
    ]


def score_table(
    model: ADMERCS,
    name: str,
    batches: Iterable[pa.Table],
    id_columns: list[str],
    wanted: Wanted,
    digest: Digest,
    sink: Any = None,
) -> Iterator[int]:
    """Judge all rows of a table; yield how many are done.

    Rows are counted from 1, as people count the rows of a file.
    """
    from admercs.report import judge_piece

    first = 1
    columns = [column.name for column in model.columns_]
    for batch in batches:
        labels = labels_of(batch, id_columns, first)
        with blamed(name):
            piece = judge_piece(
                model.model_,
                batch.select(columns),
                labels=labels,
                first=first,
                n_jobs=wanted.n_jobs,
            )
        digest.add(piece)
        if sink is not None:
            sink.write(results(piece, batch, id_columns, digest, wanted))
        first += len(batch)
        yield first - 1


def results(
    piece: Piece, batch: pa.Table, id_columns: list[str], digest: Digest, wanted: Wanted
) -> pa.Table:
    """Return the lines of the file of scores for a stretch of rows."""
    import numpy as np
    import pyarrow as pa

    flagged = piece.evidence > digest.threshold
    numbers = np.arange(piece.first, piece.first + len(batch))
    texts, details = _reasons(piece, flagged, digest.voice, wanted)
    columns: dict[str, Any] = {"row": pa.array(numbers)}
    if not wanted.keep:
        columns |= {name: _plain(batch.column(name)) for name in id_columns}
    columns |= {
        "score": pa.array(-np.expm1(-piece.evidence)),
        "evidence": pa.array(piece.evidence),
        "anomaly": pa.array(flagged),
        "by_association": pa.array(piece.association),
        "reasons": pa.array(texts, pa.string()),
        "reasons_json": pa.array(details, pa.string()),
    }
    taken = set(batch.column_names) if wanted.keep else set(id_columns)
    # A column of the table keeps its name; ours steps aside.
    renamed = {name: f"{name}_" if name in taken and name in RESULTS else name for name in columns}
    table = pa.table({renamed[name]: column for name, column in columns.items()})
    if wanted.keep:
        for name in batch.column_names:
            table = table.append_column(name, _plain(batch.column(name)))
    return table


def _plain(column: Any) -> Any:
    """Return a column in a type that every format can hold."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) or pa.types.is_decimal(column.type):
        return column.cast(pa.string())
    return column


def _reasons(
    piece: Piece, flagged: Any, voice: Any, wanted: Wanted
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
        rows = piece.rows(some, voice).explain(piece.model, wanted.why, wanted.noun)
        for k, row in zip(some.tolist(), rows, strict=True):
            sentences = [*(reason.text for reason in row.reasons), row.apart]
            texts[k] = " | ".join(filter(None, sentences))
            details[k] = json.dumps(
                [reason.to_dict() for reason in row.reasons], ensure_ascii=False
            )
    return texts, details
