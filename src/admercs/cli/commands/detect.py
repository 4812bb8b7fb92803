"""``admercs detect``: learn from a table and list its anomalies."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from admercs.cli.console import note
from admercs.cli.errors import UsageError, UserError
from admercs.cli.options import FIT_ROWS
from admercs.cli.outofcore import dask_is_installed, fit_out_of_core
from admercs.cli.progress import Progress
from admercs.cli.scoring import blamed, without
from admercs.cli.sinks import writing
from admercs.cli.tables import Table, open_table
from admercs.cli.work import jobs_of, look, open_outputs, reading_of, roles_of, show

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    started = time.monotonic()
    if options.threshold is not None and options.contamination != "auto":
        raise UsageError("--contamination and --threshold exclude each other.")
    if options.dask and options.fit_rows is not None:
        raise UsageError("--dask learns from all rows, --fit-rows from some: choose one.")
    quiet = options.quiet or options.json
    with (
        open_outputs(
            options.table, options.out, report=options.report, model=options.model
        ) as outputs,
        open_table(options.table, reading_of(options), roles_of(options)) as table,
        Progress(quiet) as progress,
    ):
        check_width(table, options.max_columns)
        model, whole, total = learn(options, table, progress)
        findings = look(options, model, table, whole, total, outputs, progress, started)
        if "model" in outputs.files:
            path, temporary = outputs.files["model"]
            with writing(path):
                model.save(temporary)
            findings.written["model"] = path
    show(options, findings)


def learn(
    options: argparse.Namespace, table: Table, progress: Progress
) -> tuple[Any, Iterator[pa.Table], int]:
    """Fit the detector; also return the rows to be scored and their number."""
    # Only a large table is worth starting worker processes for, unless the user says so.
    may_grow = options.dask is None and options.fit_rows is None and dask_is_installed()
    n_rows = table.count() if progress.shown or may_grow else 0

    def told(rows: int) -> None:
        progress("reading", rows, n_rows)

    if options.dask or (may_grow and n_rows > FIT_ROWS):
        return learn_from_all(options, table, progress, n_rows, told)
    sample, total = table.read(options.fit_rows or FIT_ROWS, options.seed, told)
    if may_grow and total > len(sample):  # a query, of which the size was not known before
        return learn_from_all(options, table, progress, total, told)
    if total > len(sample):
        more = "--dask learns from all" if dask_is_installed() else "admercs[dask] learns from all"
        note(
            f"learning from {len(sample):,} of {total:,} rows ({more}); all are scored",
            options.quiet,
        )
    with blamed(table.name):
        model = detector(options, table, progress).fit(without(sample, table.id))
    whole = slices(sample, table.stretch) if total == len(sample) else table.batches()
    return model, whole, total


def learn_from_all(
    options: argparse.Namespace,
    table: Table,
    progress: Progress,
    n_rows: int,
    told: Callable[[int], None],
) -> tuple[Any, Iterator[pa.Table], int]:
    """Fit the detector to a table that may be larger than memory."""
    if not options.dask:
        note(
            f"learning from all {n_rows:,} rows in worker processes (--no-dask learns from a sample of "
            f"{FIT_ROWS:,}, which is faster)",
            options.quiet,
        )
    unfitted = detector(options, table, progress)
    model, total = fit_out_of_core(unfitted, table, options.memory, jobs_of(options), told)
    return model, table.batches(), total


def check_width(table: Table, most: int) -> None:
    """Refuse a table that would keep the machine busy for hours."""
    n_columns = len(table.columns) - len(table.id)
    if n_columns > most:
        raise UserError(
            f"{table.name} has {n_columns:,} columns. Each is predicted from all others, so the "
            f"time grows with the square of their number, and more than {most:,} are refused. "
            "Choose some with a query, leave some out with --ignore, or raise --max-columns."
        )


def slices(table: pa.Table, size: int) -> Iterator[pa.Table]:
    """Cut a table in memory into stretches."""
    for start in range(0, len(table), size):
        yield table.slice(start, size)


def detector(options: argparse.Namespace, table: Table, progress: Progress) -> Any:
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
