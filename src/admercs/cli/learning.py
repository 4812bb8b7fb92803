"""Fitting the detector: to a table in memory, to a sample of it, or through files on disk."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admercs.cli.console import note
from admercs.cli.errors import UserError, os_error
from admercs.cli.options import FIT_ROWS
from admercs.cli.reader import SourceTable
from admercs.cli.sinks import scratch_folder
from admercs.cli.streaming import table_errors, without
from admercs.progress import ProgressPrinter

if TYPE_CHECKING:
    import pyarrow as pa

    from admercs import ADMERCS

__all__ = ["jobs_of", "learn"]


def jobs_of(options: argparse.Namespace) -> int:
    """Return the number of threads."""
    from joblib import effective_n_jobs

    return int(effective_n_jobs(options.jobs or 1))


def learn(
    options: argparse.Namespace, table: SourceTable, progress: ProgressPrinter
) -> tuple[ADMERCS, Iterator[pa.Table], int]:
    """Fit the detector; also return the rows to be scored and their number."""
    has_dask = find_spec("distributed") is not None
    # Only a large table is worth starting worker processes for, unless the user says so.
    may_use_dask = options.dask is None and options.fit_rows is None and has_dask
    n_rows = table.count() if progress.shown or may_use_dask else 0

    def told(rows: int) -> None:
        progress("reading", rows, n_rows)

    unfitted = detector(options, table, progress)
    total = n_rows
    if not (options.dask or (may_use_dask and n_rows > FIT_ROWS)):
        sample, total = table.read(options.fit_rows or FIT_ROWS, options.seed, told)
        # The size of a query is not known before.
        if total == len(sample) or not may_use_dask:
            return _learn_in_memory(options, table, unfitted, sample, total)
    if not options.dask:
        note(
            f"learning from all {total:,} rows in worker processes (--no-dask learns from a sample "
            f"of {FIT_ROWS:,}, which is faster)",
            options.quiet,
        )
    total = _learn_on_disk(unfitted, table, options.memory, jobs_of(options), told)
    return unfitted, table.batches(), total


def detector(options: argparse.Namespace, table: SourceTable, progress: ProgressPrinter) -> ADMERCS:
    """Return the detector to be fitted."""
    from admercs import ADMERCS

    contamination: Any = options.contamination
    if options.threshold is not None:
        contamination = {"score": options.threshold}
    return ADMERCS(
        nominal=table.nominal or "auto",
        contamination=contamination,
        n_jobs=jobs_of(options),
        verbose=progress,
    )


def _learn_in_memory(
    options: argparse.Namespace, table: SourceTable, model: ADMERCS, sample: pa.Table, total: int
) -> tuple[ADMERCS, Iterator[pa.Table], int]:
    is_whole = total == len(sample)
    if not is_whole:
        has_dask = find_spec("distributed") is not None
        more = f"{'--dask' if has_dask else 'admercs[dask]'} learns from all"
        note(
            f"learning from {len(sample):,} of {total:,} rows ({more}); all are scored",
            options.quiet,
        )
    with table_errors(table.name):
        model.fit(without(sample, table.id))
    size = table.stretch
    slices = (sample.slice(start, size) for start in range(0, len(sample), size))
    return model, slices if is_whole else table.batches(), total


def _learn_on_disk(
    model: ADMERCS, table: SourceTable, memory: str, jobs: int, told: Callable[[int], None]
) -> int:
    """Fit a detector to all rows of a table within a limit of memory; return their number.

    The table is written to a temporary folder first, a stretch of rows at a time: workers need
    pieces that they can read by themselves, and so every source that can be read will do.
    """
    try:
        import dask.dataframe as dd

        from admercs.distributed import ClusterError, PartitionError, local_cluster
    except ImportError:
        raise UserError("--dask needs Dask: pip install 'admercs[dask]'.") from None
    with scratch_folder() as folder:
        n_rows = _spool(table, folder, told)
        try:
            with local_cluster(memory, jobs), table_errors(table.name):
                # Columns stay in Arrow's types, which are those that scoring reads.
                model.fit(dd.read_parquet(folder, dtype_backend="pyarrow"))
        except (ClusterError, PartitionError) as error:
            raise UserError(f"{table.name}: {error}") from error
    # It would refer to files that are gone.
    del model.scores_
    return n_rows


def _spool(table: SourceTable, folder: Path, told: Callable[[int], None]) -> int:
    """Write a table to Parquet files, one for each stretch of rows; return the number of rows."""
    import pyarrow.parquet as pq

    n_rows = 0
    for number, batch in enumerate(table.batches()):
        path = folder / f"{number:06d}.parquet"
        try:
            pq.write_table(without(batch, table.id), path, compression="lz4")
        except OSError as error:
            raise os_error(error, path, "write a temporary copy of the table to") from error
        n_rows += len(batch)
        told(n_rows)
    if not n_rows:
        raise UserError(f"{table.name} has no rows.")
    return n_rows
