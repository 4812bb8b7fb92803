"""``admercs score``: judge new rows with a model from a file."""

from __future__ import annotations

import argparse
import time

from admercs.cli.console import note
from admercs.cli.progress import Progress
from admercs.cli.tables import open_table
from admercs.cli.work import (
    load_model,
    look,
    match_columns,
    open_outputs,
    reading_of,
    roles_of,
    show,
)

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command; no more than a stretch of the table is in memory at a time."""
    started = time.monotonic()
    model = load_model(options.model)
    with (
        open_outputs(
            [options.model, *options.table], options.out, report=options.report
        ) as outputs,
        open_table(options.table, reading_of(options), roles_of(options, model)) as table,
        Progress(options.quiet or options.json) as progress,
    ):
        besides = match_columns(model, options.model, table)
        if besides:
            note(f"not in the model and left out: {', '.join(besides[:12])}", options.quiet)
        n_rows = table.count() if progress.shown else 0
        findings = look(options, model, table, table.batches(), n_rows, outputs, progress, started)
    show(options, findings)
