"""Fitting the detector to a table, and scoring the table a batch of rows at a time."""

from __future__ import annotations

import traceback
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from admercs.cli.console import note
from admercs.cli.errors import UserError, os_errors
from admercs.cli.options import FIT_ROWS
from admercs.cli.reader import SourceTable
from admercs.cli.sinks import plain_values, scratch_folder
from admercs.progress import ProgressPrinter

if TYPE_CHECKING:
    from admercs import ADMERCS
    from admercs.explain import SummedTable


def learn(options: Namespace, table: SourceTable, progress: ProgressPrinter) -> Scoring:
    """Fit the detector to a table that is to be scored then."""
    from admercs import ADMERCS

    threshold = None if options.threshold is None else {"score": options.threshold}
    model = ADMERCS(
        nominal=table.nominal or "auto",
        contamination=threshold or options.contamination,
        novelty=options.novelty or options.reference is not None,
        missing=options.missing or None,
        decimal=options.decimal,
        dayfirst=options.dayfirst,
        n_jobs=_n_jobs(options),
        verbose=progress,
    )
    called: dict[int, str] = {}
    has_dask = find_spec("distributed") is not None
    # Only a large table is worth starting worker processes for, unless the user says so.
    may_use_dask = options.dask is None and options.fit_rows is None and has_dask
    total = table.count() if progress.shown or may_use_dask else 0
    on_read = partial(progress, "reading", total=total)
    batches = table.batches()
    on_disk = options.dask or (may_use_dask and total > FIT_ROWS)
    if not on_disk:
        sample, total = table.read(options.fit_rows or FIT_ROWS, options.seed, on_read)
        # The size of a query is not known before.
        on_disk = may_use_dask and total > len(sample)
    if on_disk:
        if not options.dask:
            how = f"(--no-dask learns from a sample of {FIT_ROWS:,}, which is faster)"
            note(f"learning from all {total:,} rows in worker processes {how}", options.quiet)
        total = _learn_on_disk(model, table, options.memory, on_read)
    else:
        if total > len(sample):
            how = f"({'--dask' if has_dask else 'admercs[dask]'} learns from all); all are scored"
            note(f"learning from {len(sample):,} of {total:,} rows {how}", options.quiet)
        else:
            size = table.batch_rows
            batches = (sample.slice(start, size) for start in range(0, len(sample), size))
        with table_errors(table.name):
            model.fit(_without(sample, table.id))
        if total == len(sample) and model.model_.references is not None:
            labels = _labels(sample, table.id)
            called = {k: labels[k] for k in model.model_.references.row.tolist() if labels}
    _remember(model, options.encoding)
    return Scoring(options, model, table, batches, partial(progress, total=total), called)


def _remember(model: ADMERCS, encoding: str | None) -> None:
    """Let a model know how text files of its table are encoded."""
    schema = model.model_.schema
    schema = replace(schema, rules=replace(schema.rules, encoding=encoding or ""))
    model.model_ = replace(model.model_, schema=schema)


def _n_jobs(options: Namespace) -> int:
    from joblib import effective_n_jobs

    return int(effective_n_jobs(options.jobs or 1))


def _without(table: pa.Table, names: Iterable[str]) -> pa.Table:
    return table.drop_columns([name for name in names if name in table.column_names])


@contextmanager
def table_errors(name: str) -> Iterator[None]:
    """Say which table the detector refuses; its messages name the column and what to do."""
    try:
        yield
    except (ValueError, TypeError) as error:
        # An error about the table and a mistake of ours differ in who raised them.
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        raiser: str = frame.f_globals.get("__name__", "")
        if not raiser.startswith(("admercs.table.", "admercs.estimator", "sklearn.")):
            raise
        raise UserError(f"{name}: {error}") from error
    except MemoryError as error:
        raise UserError(
            f"{name} does not fit into memory. Learn on disk (--dask), from fewer rows "
            "(--fit-rows), or leave columns out (--ignore)."
        ) from error


def _learn_on_disk(
    model: ADMERCS, table: SourceTable, memory: str, on_read: Callable[[int], None]
) -> int:
    """Fit a detector to all rows of a table within a limit of memory; return their number."""
    try:
        import dask.dataframe as dd

        from admercs.pipeline.cluster_run import ClusterError, PartitionError
        from admercs.pipeline.local_cluster import local_cluster
    except ImportError:
        raise UserError("--dask needs Dask: pip install 'admercs[dask]'.") from None
    with scratch_folder() as folder:
        # Workers need pieces that they can read by themselves, whatever the source is.
        n_rows = 0
        for number, batch in enumerate(table.batches()):
            path = folder / f"{number:06d}.parquet"
            with os_errors(path, "write a temporary copy of the table to"):
                pq.write_table(_without(batch, table.id), path, compression="lz4")
            n_rows += len(batch)
            on_read(n_rows)
        if not n_rows:
            raise UserError(f"{table.name} has no rows.")
        try:
            with local_cluster(memory, model.n_jobs), table_errors(table.name):
                # Columns stay in Arrow's types, which are those that scoring reads.
                model.fit(dd.read_parquet(folder, dtype_backend="pyarrow"))
        except (ClusterError, PartitionError) as error:
            raise UserError(f"{table.name}: {error}") from error
    # It would refer to files that are gone.
    del model.scores_
    return n_rows


@dataclass(frozen=True)
class Scoring:
    """The rows of a table, with their scores by a model."""

    options: Namespace
    model: ADMERCS
    table: SourceTable
    batches: Iterable[pa.Table]  # the rows
    progress: Callable[[str, int], None]
    called: Mapping[int, str] = field(default_factory=dict)  # rows that others are compared with

    def __iter__(self) -> Iterator[tuple[SummedTable, pa.Table]]:
        """Score the rows; yield each batch with its scores."""
        from admercs.explain import score_rows

        columns, options = [column.name for column in self.model.columns_], self.options
        score = partial(
            score_rows, self.model.model_, count_from=1, n_jobs=_n_jobs(options),
            keep="columns" if getattr(options, "report", None) or options.json else "rows",
        )  # fmt: skip
        done = 0  # rows are counted from 1, as people count the rows of a file
        for batch in self.batches:
            labels = _labels(batch, self.table.id)
            with table_errors(self.table.name):
                piece = score(batch.select(columns), first=done + 1, labels=labels)
            if self.called:
                piece = replace(piece, names=partial(_name, self.called, piece.names))
            yield piece, batch
            done += len(batch)
            self.progress("scoring", done)


def _name(called: Mapping[int, str], otherwise: Callable[[int], str], row: int) -> str:
    return called[row] if row in called else otherwise(row)


def _labels(table: pa.Table, id_columns: list[str]) -> list[str] | None:
    """Return the values of the label columns; without any, rows are called by their numbers."""
    parts = [plain_values(table.column(name)) for name in id_columns]
    return [
        " / ".join("missing" if value is None else str(value) for value in row)
        for row in zip(*parts, strict=True)
    ] or None
