"""Scoring a table in batches, and the lines of the file of scores."""

from __future__ import annotations

import json
import traceback
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from admercs.cli.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from admercs import ADMERCS
    from admercs.cli.reader import SourceTable
    from admercs.explain import ScoredTable
    from admercs.report import Digest

EXPLAINED_AT_ONCE = 2_000


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
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    raiser: str = frame.f_globals.get("__name__", "")
    return raiser.startswith(("admercs.table.", "admercs.estimator", "sklearn."))


def without(table: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return a table without some of its columns."""
    return table.drop_columns([name for name in names if name in table.column_names])


def jobs_of(options: Namespace) -> int:
    """Return the number of threads."""
    from joblib import effective_n_jobs

    return int(effective_n_jobs(options.jobs or 1))


def pieces(
    options: Namespace, model: ADMERCS, table: SourceTable, batches: Iterable[pa.Table]
) -> Iterator[tuple[ScoredTable, pa.Table]]:
    """Score all rows of a table; yield each batch with its scores.

    Rows are counted from 1, as people count the rows of a file.
    """
    from admercs.explain import score_rows

    first, n_jobs = 1, jobs_of(options)
    columns = [column.name for column in model.columns_]
    for batch in batches:
        where: dict[str, Any] = {"labels": _labels(batch, table.id, first), "first": first}
        known = batch.select(columns)
        with table_errors(table.name):
            piece = score_rows(model.model_, known, count_from=1, n_jobs=n_jobs, **where)
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
    piece: ScoredTable, batch: pa.Table, id_columns: list[str], digest: Digest, options: Namespace
) -> pa.Table:
    """Return the lines of the file of scores for a batch of rows."""
    import numpy as np
    import pyarrow as pa

    flagged = piece.evidence > digest.threshold
    texts, details = zip(*_reasons(piece, flagged, options), strict=True)
    ours = {
        "row": pa.array(range(piece.first, piece.first + len(batch))),
        "score": pa.array(-np.expm1(-piece.evidence)),
        "evidence": pa.array(piece.evidence),
        "anomaly": pa.array(flagged),
        "by_association": pa.array(piece.association),
        "reasons": pa.array(texts, pa.string()),
        "reasons_json": pa.array(details, pa.string()),
    }
    kept = {name: batch.column(name) for name in batch.column_names if options.keep}
    labels = {name: batch.column(name) for name in id_columns if not options.keep}
    row, *rest = ((_free_name(name, {*kept, *labels}), column) for name, column in ours.items())
    named = [row, *labels.items(), *rest, *kept.items()]
    return pa.table({name: _plain(column) for name, column in named})


def _free_name(name: str, taken: set[str]) -> str:
    """Return the name of one of our columns; a column of the table keeps its own."""
    return _free_name(f"{name}_", taken) if name in taken else name


def _plain(column: Any) -> Any:
    """Return a column in a type that every format can hold."""
    import pyarrow as pa

    is_plain = not (pa.types.is_dictionary(column.type) or pa.types.is_decimal(column.type))
    return column if is_plain else column.cast(pa.string())


def _reasons(
    piece: ScoredTable, flagged: Any, options: Namespace
) -> list[tuple[str | None, str | None]]:
    """Return the reasons of each row as text and as JSON; None for rows that get none."""
    import numpy as np

    wanted = {"none": np.zeros_like(flagged), "all": np.ones_like(flagged), "flagged": flagged}
    chosen = np.flatnonzero(wanted[options.reasons])
    found: list[tuple[str | None, str | None]] = [(None, None)] * len(flagged)
    for start in range(0, len(chosen), EXPLAINED_AT_ONCE):
        some = chosen[start : start + EXPLAINED_AT_ONCE]
        rows = piece.rows(some).explain(piece.model, options.why, options.noun)
        for k, row in zip(some.tolist(), rows, strict=True):
            details = json.dumps([reason.to_dict() for reason in row.reasons], ensure_ascii=False)
            found[k] = " | ".join(reason.text for reason in row.reasons), details
    return found
