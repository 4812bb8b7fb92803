"""Fitting the detector: to a table in memory, to a sample of it, or through files on disk."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from admercs.cli.console import note
from admercs.cli.errors import UserError, os_errors
from admercs.cli.options import FIT_ROWS
from admercs.cli.reader import SourceTable
from admercs.cli.sinks import scratch_folder
from admercs.cli.streaming import jobs_of, table_errors, without
from admercs.progress import ProgressPrinter

if TYPE_CHECKING:
    import pyarrow as pa

    from admercs import ADMERCS


def learn(
    options: Namespace, table: SourceTable, progress: ProgressPrinter
) -> tuple[ADMERCS, Iterator[pa.Table], int]:
    """Fit the detector; also return the rows to be scored and their number."""
    # Only a large table is worth starting worker processes for, unless the user says so.
    may_use_dask = options.dask is None and options.fit_rows is None and _has_dask()
    n_rows = table.count() if progress.shown or may_use_dask else 0

    def on_read(rows: int) -> None:
        progress("reading", rows, n_rows)

    unfitted = detector(options, table, progress)
    total = n_rows
    if not (options.dask or (may_use_dask and n_rows > FIT_ROWS)):
        sample, total = table.read(options.fit_rows or FIT_ROWS, options.seed, on_read)
        # The size of a query is not known before.
        if total == len(sample) or not may_use_dask:
            return _learn_in_memory(options, table, unfitted, sample, total)
    if not options.dask:
        note(
            f"learning from all {total:,} rows in worker processes (--no-dask learns from a sample "
            f"of {FIT_ROWS:,}, which is faster)",
            options.quiet,
        )
    total = _learn_on_disk(unfitted, table, options.memory, jobs_of(options), on_read)
    return unfitted, table.batches(), total


def _has_dask() -> bool:
    return find_spec("distributed") is not None


def detector(options: Namespace, table: SourceTable, progress: ProgressPrinter) -> ADMERCS:
    """Return the detector to be fitted."""
    from admercs import ADMERCS

    threshold = None if options.threshold is None else {"score": options.threshold}
    return ADMERCS(
        nominal=table.nominal or "auto",
        contamination=threshold or options.contamination,
        novelty=options.novelty or options.reference is not None,
        n_jobs=jobs_of(options),
        verbose=progress,
    )


def _learn_in_memory(
    options: Namespace, table: SourceTable, model: ADMERCS, sample: pa.Table, total: int
) -> tuple[ADMERCS, Iterator[pa.Table], int]:
    is_whole = total == len(sample)
    if not is_whole:
        how = f"{len(sample):,} of {total:,} rows ({'--dask' if _has_dask() else 'admercs[dask]'}"
        note(f"learning from {how} learns from all); all are scored", options.quiet)
    with table_errors(table.name):
        model.fit(without(sample, table.id))
    size = table.batch_rows
    slices = (sample.slice(start, size) for start in range(0, len(sample), size))
    return model, slices if is_whole else table.batches(), total


def _learn_on_disk(
    model: ADMERCS, table: SourceTable, memory: str, jobs: int, on_read: Callable[[int], None]
) -> int:
    """Fit a detector to all rows of a table within a limit of memory; return their number.

    The table is written to a temporary folder first, a batch of rows at a time: workers need
    pieces that they can read by themselves, and so every source that can be read will do.
    """
    try:
        import dask.dataframe as dd

        from admercs.pipeline.cluster_run import ClusterError, PartitionError
        from admercs.pipeline.local_cluster import local_cluster
    except ImportError:
        raise UserError("--dask needs Dask: pip install 'admercs[dask]'.") from None
    with scratch_folder() as folder:
        n_rows = _spool(table, folder, on_read)
        try:
            with local_cluster(memory, jobs), table_errors(table.name):
                # Columns stay in Arrow's types, which are those that scoring reads.
                model.fit(dd.read_parquet(folder, dtype_backend="pyarrow"))
        except (ClusterError, PartitionError) as error:
            raise UserError(f"{table.name}: {error}") from error
    # It would refer to files that are gone.
    del model.scores_
    return n_rows


def _spool(table: SourceTable, folder: Path, on_read: Callable[[int], None]) -> int:
    """Write a table to Parquet files, one for each batch of rows; return the number of rows."""
    import pyarrow.parquet as pq

    n_rows = 0
    for number, batch in enumerate(table.batches()):
        path = folder / f"{number:06d}.parquet"
        with os_errors(path, "write a temporary copy of the table to"):
            pq.write_table(without(batch, table.id), path, compression="lz4")
        n_rows += len(batch)
        on_read(n_rows)
    if not n_rows:
        raise UserError(f"{table.name} has no rows.")
    return n_rows
