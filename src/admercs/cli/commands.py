"""The commands: each function runs the command of its name."""

from __future__ import annotations

import json
import math
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from admercs.cli.console import Style, columns_text, counted, filled, note, row_lines
from admercs.cli.csvfile import MISSING, Reading
from admercs.cli.errors import UsageError, UserError, listed, os_errors
from admercs.cli.findings import Findings, report_page
from admercs.cli.learning import learn
from admercs.cli.options import make_parser
from admercs.cli.reader import Roles, SourceTable, open_table
from admercs.cli.sinks import FileId, Outputs, file_id, open_outputs, scratch_folder, whole_file
from admercs.cli.streaming import pieces, results
from admercs.progress import ProgressPrinter

if TYPE_CHECKING:
    from admercs import ADMERCS
    from admercs.report import Digest


def detect(options: Namespace) -> None:
    """Learn from a table and list its anomalies."""
    started = time.monotonic()
    if options.threshold is not None and options.contamination != "auto":
        raise UsageError("--contamination and --threshold exclude each other.")
    if options.dask and options.fit_rows is not None:
        raise UsageError("--dask learns from all rows, --fit-rows from some: choose one.")
    if options.reference is not None:
        _detect_by_reference(options, started)
        return
    with (
        open_outputs(options.out, report=options.report, model=options.model) as outputs,
        _open(options) as table,
        closing(_progress(options)) as progress,
    ):
        outputs.check(table.inputs)
        _check_width(table, options.max_columns)
        model, rows, total = learn(options, table, progress)
        findings = _score_rows(
            options, model, table, outputs, _with_progress(progress, rows, total)
        )
        _keep_model(options, model, outputs, findings)
    _show(options, findings, time.monotonic() - started)


def _detect_by_reference(options: Namespace, started: float) -> None:
    """Learn from a table of normal rows, and list the anomalies of another."""
    clean = Namespace(**{**vars(options), "table": [options.reference]})
    with (
        open_outputs(options.out, report=options.report, model=options.model) as outputs,
        closing(_progress(options)) as progress,
    ):
        with _open(clean) as reference:
            outputs.check(reference.inputs)
            _check_width(reference, options.max_columns)
            model, _, _ = learn(clean, reference, progress)
        with _open(options, model) as table:
            outputs.check(table.inputs)
            besides = _match_columns(model, options.reference, table)
            if besides:
                note(f"not in the reference and left out: {', '.join(besides[:12])}", options.quiet)
            rows = _with_progress(progress, table.batches(), 0)
            findings = _score_rows(options, model, table, outputs, rows, options.reference)
            _keep_model(options, model, outputs, findings)
    _show(options, findings, time.monotonic() - started)


def _keep_model(options: Namespace, model: ADMERCS, outputs: Any, findings: Findings) -> None:
    """Write the model where the user wants it."""
    if "model" in outputs.streams:
        with scratch_folder() as folder:
            model.save(folder / "model")
            outputs.write("model", (folder / "model").read_bytes())
        findings.written["model"] = options.model


def score(options: Namespace) -> None:
    """Score new rows with a model; no more than a batch of them is in memory at a time."""
    started = time.monotonic()
    model, model_file = _load_model(options.model)
    with (
        open_outputs(options.out, report=options.report) as outputs,
        _open(options, model) as table,
        closing(_progress(options)) as progress,
    ):
        outputs.check({model_file, *table.inputs})
        besides = _match_columns(model, options.model, table)
        if besides:
            note(f"not in the model and left out: {', '.join(besides[:12])}", options.quiet)
        total = table.count() if progress.shown else 0
        rows = _with_progress(progress, table.batches(), total)
        findings = _score_rows(options, model, table, outputs, rows, options.model)
    _show(options, findings, time.monotonic() - started)


def explain(options: Namespace) -> None:
    """Say why single rows got their scores."""
    model, _ = _load_model(options.model)
    with _open(options, model) as table:
        _match_columns(model, options.model, table)
        if options.row:
            rows: Sequence[Any] = _chosen_rows(options, model, table)
        else:
            rows = _top_rows(options, model, _digest(options, model, table, table.batches()))
    text = "\n\n".join("\n".join(row_lines(row, Style())) for row in rows)
    _tell(options, [row.to_dict() for row in rows], text)


def patterns(options: Namespace) -> None:
    """List what is normal in a table."""
    from admercs.explain import patterns as find_patterns

    model, _ = _load_model(options.model)
    found = find_patterns(model.model_, options.top, noun=options.noun)
    style, lines = Style(), [] if found else ["No column depends noticeably on the others."]
    for rank, pattern in enumerate(found, 1):
        lines += filled(pattern.text, style.width, f"{rank:>3}. ", "     ")
    _tell(options, [pattern.to_dict() for pattern in found], "\n".join(lines))


def info(options: Namespace) -> None:
    """Describe what a model file holds."""
    model, _ = _load_model(options.model)
    about = _about(model, options.model)
    _tell(options, about, "\n".join(_about_lines(model, about, Style())))


def demo(options: Namespace) -> None:
    """Write the generated cars to a file and detect what is odd about them."""
    from pyarrow import csv

    from admercs.datasets import make_electric_vehicles

    folder = Path(options.folder)
    path = folder / "cars.csv"
    cars = make_electric_vehicles(random_state=0, as_frame="pyarrow").table
    with os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with whole_file(str(path)) as stream, os_errors(path):
        csv.write_csv(cars, stream)
    arguments = ["detect", str(path), "--noun", "cars", "--top", "5"]
    arguments += ["--report", str(folder / "report.html"), "--out", str(folder / "scores.csv")]
    arguments += ["--model", str(folder / "cars.admercs"), "--jobs", str(options.jobs)]
    arguments += [f"--{flag}" for flag in ("json", "quiet", "debug") if getattr(options, flag)]
    if not (options.quiet or options.json):
        print(f"$ admercs {' '.join(arguments)}\n", file=sys.stderr)
    detect(make_parser().parse_args(arguments))


def reproduce(options: Namespace) -> None:
    """Run the paper's experiments, which bring their own options along."""
    from admercs.experiments import command

    command.run(options)


def completion(options: Namespace) -> None:
    """Print a script for a shell."""
    from admercs.cli.completion import script

    print(script(options.shell), end="")


def _open(options: Namespace, model: ADMERCS | None = None) -> AbstractContextManager[SourceTable]:
    missing = MISSING if options.missing is None else tuple(options.missing)
    reading = Reading(
        options.table_name, options.delimiter, options.encoding, missing, not options.no_header
    )
    schema = None if model is None else model.model_.schema
    expected = {} if schema is None else dict(zip(schema.names, schema.kinds, strict=True))
    nominal = getattr(options, "nominal", [])
    roles = Roles(options.numeric, nominal, options.ignore, options.id, expected)
    return open_table(options.table, reading, roles)


def _progress(options: Namespace) -> ProgressPrinter:
    return ProgressPrinter(keep=False, quiet=options.quiet or options.json)


def _with_progress(progress: ProgressPrinter, batches: Iterable[Any], total: int) -> Iterator[Any]:
    """Pass on the rows to be scored, and say how many of them are done."""
    done = 0
    for batch in batches:
        yield batch
        done += len(batch)
        progress("scoring", done, total)


def _load_model(path: str) -> tuple[ADMERCS, FileId]:
    from admercs.estimator import ADMERCS, ModelFileError

    with os_errors(path, "read"):
        try:
            return ADMERCS.load(path), file_id(Path(path).stat())
        except ModelFileError as error:
            raise UserError(str(error)) from error


def _match_columns(model: ADMERCS, path: str, table: SourceTable) -> list[str]:
    """Check that a table has the model's columns; return those it has besides."""
    known = [column.name for column in model.columns_]
    absent = [name for name in known if name not in table.columns]
    if absent:
        raise UserError(
            f"{table.name} does not match {path}: it lacks {listed(absent)}. "
            "A table to be scored needs the columns the model was learned from."
        )
    return [name for name in table.columns if name not in known and name not in table.id]


def _check_width(table: SourceTable, most: int) -> None:
    """Refuse a table that would keep the machine busy for hours."""
    n_columns = len(table.columns) - len(table.id)
    if n_columns > most:
        raise UserError(
            f"{table.name} has {n_columns:,} columns. Each is predicted from all others, so the "
            f"time grows with the square of their number, and more than {most:,} are refused. "
            "Choose some with a query, leave some out with --ignore, or raise --max-columns."
        )


def _score_rows(
    options: Namespace,
    model: ADMERCS,
    table: SourceTable,
    outputs: Outputs,
    batches: Iterable[Any],
    model_path: str = "",
) -> Findings:
    """Score all rows, write what is wanted and return what was found."""
    from admercs.explain import anomalous_contexts

    digest = _digest(options, model, table, batches, outputs.sink)
    written = {}
    if "report" in outputs.streams:
        outputs.write("report", report_page(model, digest, table.name, options).encode())
        written["report"] = options.report
    if options.out not in (None, "-"):
        written["scores"] = options.out
    contexts = anomalous_contexts(model.model_, noun=options.noun)
    here = [context for context in contexts if digest.members(context.leaf)]
    rows = _top_rows(options, model, digest)
    return Findings(table.name, model, digest, rows, here, written, model_path)


def _digest(
    options: Namespace, model: ADMERCS, table: SourceTable, batches: Iterable[Any], sink: Any = None
) -> Digest:
    """Score all rows; keep the most anomalous ones."""
    from admercs.report import Digest

    n_kept = max(getattr(options, "report_rows", 1), options.top)
    digest = Digest(model.model_, -model.offset_, n_kept)
    for piece, batch in pieces(options, model, table, batches):
        digest.add(piece)
        if sink is not None:
            sink.write(results(piece, batch, table.id, digest, options))
    if not digest.n_rows:
        raise UserError(f"{table.name} has no rows.")
    return digest


def _top_rows(options: Namespace, model: ADMERCS, digest: Digest) -> Sequence[Any]:
    """Explain the most anomalous rows."""
    top: Any = digest.top(options.top)
    rows: Sequence[Any] = top.head(options.top).explain(model.model_, options.why, options.noun)
    return rows


def _show(options: Namespace, findings: Findings, seconds: float) -> None:
    """Print what was found, unless nobody wants to know; standard output may be for scores."""
    if not options.quiet:
        stream = sys.stderr if options.out == "-" else sys.stdout
        text = findings.text(Style(stream), seconds)
        _tell(options, findings.to_dict(seconds), text, stream)


def _tell(options: Namespace, content: Any, text: str, stream: TextIO | None = None) -> None:
    """Print something for machines or for people."""
    if options.json:
        print(json.dumps(content, ensure_ascii=False, indent=2), file=stream)
    elif not options.quiet:
        print(text, file=stream)


def _chosen_rows(options: Namespace, model: ADMERCS, table: SourceTable) -> list[Any]:
    """Explain the rows the user asks for, in the order of the question."""
    import numpy as np

    wanted = {text: text for text in options.row}  # what is asked for, as labels are written
    if not table.id:
        for text in wanted:
            if not text.isdigit() or int(text) < 1:
                raise UserError(
                    f"--row {text}: rows are counted from 1. To ask by label, say which column "
                    "holds it with --id."
                )
            wanted[text] = str(int(text))
    found: dict[str, Any] = {}
    n_rows = 0
    for piece, batch in pieces(options, model, table, table.batches()):
        n_rows += len(batch)
        places = {str(label): k for k, label in enumerate(piece.labels)}
        here = [text for text, key in wanted.items() if text not in found and key in places]
        if here:
            chosen = np.array([places[wanted[text]] for text in here])
            rows = piece.rows(chosen).explain(model.model_, options.why, options.noun)
            found |= dict(zip(here, rows, strict=True))
        if len(found) == len(wanted):
            break
    absent = [text for text in wanted if text not in found]
    if absent:
        what = f"no row labelled {absent[0]!r}" if table.id else f"no row {absent[0]}"
        raise UserError(f"{table.name} has {what}; it has {n_rows:,} rows.")
    return [found[text] for text in wanted]


def _about(model: ADMERCS, path: str) -> dict[str, Any]:
    """Return what a model file holds as a dict."""
    fitted = model.model_
    return {
        "file": path,
        "bytes": Path(path).stat().st_size,
        "rows": fitted.n_rows,
        "columns": [
            {
                "name": column.name,
                "role": column.role,
                "kind": column.display,
                "reason": column.reason,
                "missing": column.n_missing,
                "values": len(column.categories) + column.n_grouped,
            }
            for column in model.columns_
        ],
        "trees": int(fitted.forest.n_trees),
        "contexts": int((fitted.forest.feature < 0).sum()),
        "anomalous_contexts": len(model.contexts_),
        "threshold": {"score": -math.expm1(model.offset_), "evidence": -model.offset_},
        "parameters": {
            name: value
            for name, value in model.get_params().items()
            if name not in ("verbose", "n_jobs", "random_state")
        },
    }


def _about_lines(model: ADMERCS, about: dict[str, Any], style: Style) -> list[str]:
    from admercs.explain.rendering import score_text
    from admercs.report import threshold_meaning

    changed = [
        f"{name} = {value}"
        for name, value in about["parameters"].items()
        if value != getattr(type(model)(), name)
    ]
    line = about["threshold"]
    threshold = (
        f"evidence {line['evidence']:.1f} (score {score_text(line['score'])}). "
        f"{threshold_meaning(model.contamination)}"
    )
    missing = [column.n_missing for column in model.columns_]
    return [
        f"{style.bold(about['file'])}: learned from {counted(about['rows'], 'row')}, "
        f"{counted(len(about['columns']), 'column')}, {about['bytes'] / 1000:,.0f} kB",
        *columns_text(model.columns_, missing, about["rows"], style),
        "",
        f"  trees      {about['trees']:,}, with {counted(about['contexts'], 'context')}, "
        f"{about['anomalous_contexts']:,} of them anomalous",
        *filled(threshold, style.width, "  threshold  ", " " * 13),
        *filled(", ".join(changed) or "all as they come", style.width, "  settings   ", " " * 13),
    ]
