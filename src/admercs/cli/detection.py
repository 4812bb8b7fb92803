"""The commands that read a table."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyarrow import csv

from admercs.cli import sinks
from admercs.cli.commands import load_model, tell
from admercs.cli.console import Findings, Style, note, rows_text
from admercs.cli.csvfile import ReadOptions
from admercs.cli.errors import UsageError, UserError, listed, os_errors
from admercs.cli.learning import Scoring, learn
from admercs.cli.options import columns_that_fit, make_parser
from admercs.cli.reader import SourceTable, open_table
from admercs.progress import ProgressPrinter

if TYPE_CHECKING:
    from admercs import ADMERCS
    from admercs.report import Digest


DEMO_ORDERS = 2_000


def detect(options: Namespace) -> None:
    """Learn from a table, or from a reference of normal rows, and list the table's anomalies."""
    started = time.monotonic()
    if options.threshold is not None and options.contamination != "auto":
        raise UsageError("--contamination and --threshold exclude each other.")
    if options.dask and options.fit_rows is not None:
        raise UsageError("--dask learns from all rows, --fit-rows from some: choose one.")
    has_reference = options.reference is not None
    with (
        sinks.open_outputs(options.out, report=options.report, model=options.model) as outputs,
        _open(options, [options.reference] if has_reference else options.table) as table,
        closing(ProgressPrinter(keep=False, quiet=options.quiet or options.json)) as progress,
    ):
        outputs.check(table.inputs)
        n_columns = len(table.columns) - len(table.id)
        most = options.max_columns or columns_that_fit()
        if n_columns > most:
            raise UserError(
                f"{table.name} has {n_columns:,} columns. All pairs of columns are compared, and "
                f"there is memory for {most:,} columns at most. Choose "
                "some with a query, leave some out with --ignore, or raise --max-columns."
            )
        scoring = learn(options, table, progress)
        model = scoring.model
        if has_reference:
            findings = _score_table(options, model, options.reference, outputs, progress)
        else:
            findings = _findings(scoring, outputs)
        if "model" in outputs.streams:
            with sinks.scratch_folder() as folder:
                model.save(folder / "model")
                outputs.write("model", (folder / "model").read_bytes())
    _show(options, findings, time.monotonic() - started)


def score(options: Namespace) -> None:
    """Score new rows with a model; no more than a batch of them is in memory at a time."""
    started = time.monotonic()
    model = load_model(options.model)
    with (
        sinks.open_outputs(options.out, report=options.report) as outputs,
        closing(ProgressPrinter(keep=False, quiet=options.quiet or options.json)) as progress,
    ):
        outputs.check({sinks.file_id(os.stat(options.model))})
        findings = _score_table(options, model, options.model, outputs, progress)
    _show(options, findings, time.monotonic() - started)


def explain(options: Namespace) -> None:
    """Say why single rows got their scores."""
    model = load_model(options.model)
    with _open(options, options.table, model) as table:
        _match_columns(model, options.model, table)
        scoring = Scoring(options, model, table, table.batches(), lambda *_: None)
        rows = _chosen_rows(scoring) if options.row else _top_rows(options, _digest(scoring))
    tell(options, [row.to_dict() for row in rows], rows_text(rows, Style()))


def demo(options: Namespace) -> None:
    """Write generated orders to a file and detect what is wrong with them."""
    from admercs.datasets import make_orders

    folder = Path(options.folder)
    path = folder / "orders.csv"
    orders = make_orders(random_state=0, n_orders=DEMO_ORDERS, as_frame="pyarrow").table
    with os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with sinks.whole_file(str(path)) as stream, os_errors(path):
        csv.write_csv(orders, stream)
    arguments = ["detect", str(path), "--id", "order", "--noun", "orders", "--top", "3"]
    arguments += ["--report", str(folder / "report.html"), "--out", str(folder / "scores.csv")]
    arguments += ["--model", str(folder / "orders.admercs")]
    arguments += ["--jobs", str(options.jobs)] if options.jobs != -1 else []
    arguments += [f"--{flag}" for flag in ("json", "quiet", "debug") if getattr(options, flag)]
    if not (options.quiet or options.json):
        print(f"$ admercs {' '.join(arguments)}\n", file=sys.stderr)
    detect(make_parser().parse_args(arguments))


@contextmanager
def _open(
    options: Namespace, sources: Sequence[str], model: ADMERCS | None = None
) -> Iterator[SourceTable]:
    names = {field.name for field in fields(ReadOptions)}
    given = {name: value for name, value in vars(options).items() if name in names}
    if model is not None:
        # New tables are read as the model's own was.
        schema = model.model_.schema
        pairs = zip(schema.columns, schema.kinds, strict=False)
        given["expected"] = {c.name: "read" if c.reading else kind for c, kind in pairs}
        given["missing"] = (*given["missing"], *schema.rules.missing)
        given["encoding"] = given["encoding"] or schema.rules.encoding or None
    with open_table(sources, ReadOptions(**given)) as table:
        for text in table.notes:
            note(text, options.quiet)
        yield table


def _match_columns(model: ADMERCS, path: str, table: SourceTable) -> list[str]:
    """Check that a table has the model's columns; return those it has besides."""
    known = [column.name for column in model.columns_]
    if absent := [name for name in known if name not in table.columns]:
        raise UserError(
            f"{table.name} does not match {path}: it lacks {listed(absent)}. "
            "A table to be scored needs the columns the model was learned from."
        )
    return [name for name in table.columns if name not in known and name not in table.id]


def _score_table(
    options: Namespace, model: ADMERCS, path: str, outputs: sinks.Outputs, progress: ProgressPrinter
) -> Findings:
    """Score a table with a model that was learned from another one."""
    with _open(options, options.table, model) as table:
        outputs.check(table.inputs)
        if besides := _match_columns(model, path, table):
            where = "model" if options.command == "score" else "reference"
            note(f"not in the {where} and left out: {', '.join(besides[:12])}", options.quiet)
        on_scored = partial(progress, total=table.count() if progress.shown else 0)
        scoring = Scoring(options, model, table, table.batches(), on_scored)
        return _findings(scoring, outputs, path)


def _findings(scoring: Scoring, outputs: sinks.Outputs, model_path: str | None = None) -> Findings:
    """Score all rows, write what is wanted, and return what was found."""
    from admercs.explain import anomalous_contexts
    from admercs.report import Report, summary_of, threshold_meaning

    options, model, name = scoring.options, scoring.model, scoring.table.name
    digest = _digest(scoring, outputs.sink)
    if "report" in outputs.streams:
        meaning, top = threshold_meaning(model.contamination), max(5, options.why)
        page = summary_of(digest, name=name, meaning=meaning, top=top, noun=options.noun)
        outputs.write("report", Report(page).html().encode())
    contexts = anomalous_contexts(model.model_, noun=options.noun)
    here = [context for context in contexts if digest.members(context.leaf)]
    rows, values = _top_rows(options, digest), digest.values(options.noun)[: options.cells]
    written = {what.replace("out", "scores"): path for what, path in outputs.paths.items()}
    return Findings(name, model, digest, rows, values, here, written, model_path)


def _digest(scoring: Scoring, sink: sinks.Sink | None = None) -> Digest:
    """Write the scores of all rows; keep the most anomalous rows."""
    from admercs.report.digest import VALUES, Digest

    options, model, table = scoring.options, scoring.model, scoring.table
    n_kept = max(getattr(options, "report_rows", 1), options.top)
    n_values = max(VALUES if getattr(options, "report", None) else 0, getattr(options, "cells", 0))
    lines = -model.offset_, model.suspicious_line_
    digest = Digest(model.model_, *lines, rows=n_kept, values=n_values)
    for piece, batch in scoring:
        digest.add(piece)
        if sink is not None:
            sink.write(sinks.results(piece, batch, table.id, digest.threshold, options))
    if not digest.n_rows:
        raise UserError(f"{table.name} has no rows.")
    return digest


def _top_rows(options: Namespace, digest: Digest) -> Sequence[Any]:
    """Explain the most anomalous rows."""
    top = digest.top(options.top)
    return top.head(options.top).explain(digest.model, options.why, options.noun) if top else ()


def _show(options: Namespace, findings: Findings, seconds: float) -> None:
    """Print what was found, unless nobody wants to know; standard output may be for scores."""
    if not options.quiet:
        stream = sys.stderr if options.out == "-" else sys.stdout
        tell(options, findings.to_dict(seconds), findings.text(Style(stream), seconds), stream)


def _chosen_rows(scoring: Scoring) -> list[Any]:
    """Explain the rows the user asks for, in the order of the question."""
    options, table = scoring.options, scoring.table
    for text in options.row:
        if not table.id and (not text.isdecimal() or int(text) < 1):
            raise UserError(
                f"--row {text}: rows are counted from 1. To ask by label, say which column holds "
                "it with --id."
            )
    # What is asked for, as labels are written.
    wanted = {text: text if table.id else str(int(text)) for text in options.row}
    found, n_rows = dict[str, Any](), 0
    for piece, batch in scoring:
        n_rows += len(batch)
        places = {str(label): k for k, label in enumerate(piece.labels)}
        if here := [text for text, key in wanted.items() if text not in found and key in places]:
            chosen = np.array([places[wanted[text]] for text in here])
            rows = piece.rows(chosen).explain(piece.model, options.why, options.noun)
            found |= dict(zip(here, rows, strict=True))
        if len(found) == len(wanted):
            return [found[text] for text in wanted]
    absent = next(text for text in wanted if text not in found)
    what = f"no row labelled {absent!r}" if table.id else f"no row {absent}"
    raise UserError(f"{table.name} has {what}; it has {n_rows:,} rows.")
