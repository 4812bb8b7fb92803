"""The commands: each function runs the command of its name."""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admercs.cli.console import Style, columns_text, counted, filled, note, row_lines
from admercs.cli.csvfile import MISSING
from admercs.cli.errors import UsageError, UserError, listed, os_error, writing
from admercs.cli.findings import Findings, report_page
from admercs.cli.learning import jobs_of, learn
from admercs.cli.options import make_parser
from admercs.cli.reader import Roles, SourceTable, open_table
from admercs.cli.sinks import FileId, Outputs, file_id, open_outputs, scratch_folder, whole_file
from admercs.cli.sources import Reading
from admercs.cli.streaming import Wanted, pieces, results
from admercs.progress import ProgressPrinter

if TYPE_CHECKING:
    from admercs import ADMERCS

__all__ = ["completion", "demo", "detect", "explain", "info", "patterns", "reproduce", "score"]


def detect(options: argparse.Namespace) -> None:
    """Learn from a table and list its anomalies."""
    started = time.monotonic()
    if options.threshold is not None and options.contamination != "auto":
        raise UsageError("--contamination and --threshold exclude each other.")
    if options.dask and options.fit_rows is not None:
        raise UsageError("--dask learns from all rows, --fit-rows from some: choose one.")
    with (
        open_outputs(options.out, report=options.report, model=options.model) as outputs,
        open_table(options.table, _reading(options), _roles(options)) as table,
        closing(_progress(options)) as progress,
    ):
        outputs.check(table.inputs)
        _check_width(table, options.max_columns)
        model, rows, total = learn(options, table, progress)
        findings = _look(options, model, table, outputs, _told(progress, rows, total))
        if "model" in outputs.streams:
            _save_model(model, options.model, outputs)
            findings.written["model"] = options.model
    _show(options, findings, time.monotonic() - started)


def score(options: argparse.Namespace) -> None:
    """Score new rows with a model; no more than a stretch of them is in memory at a time."""
    started = time.monotonic()
    model, model_file = _load_model(options.model)
    with (
        open_outputs(options.out, report=options.report) as outputs,
        open_table(options.table, _reading(options), _roles(options, model)) as table,
        closing(_progress(options)) as progress,
    ):
        outputs.check({model_file, *table.inputs})
        besides = _match_columns(model, options.model, table)
        if besides:
            note(f"not in the model and left out: {', '.join(besides[:12])}", options.quiet)
        total = table.count() if progress.shown else 0
        rows = _told(progress, table.batches(), total)
        findings = _look(options, model, table, outputs, rows, options.model)
    _show(options, findings, time.monotonic() - started)


def explain(options: argparse.Namespace) -> None:
    """Say why single rows got their scores."""
    model, _ = _load_model(options.model)
    with open_table(options.table, _reading(options), _roles(options, model)) as table:
        _match_columns(model, options.model, table)
        rows = (_chosen_rows if options.row else _top_rows)(options, model, table)
    if options.json:
        _print_json([row.to_dict() for row in rows])
    elif not options.quiet:
        style = Style()
        print("\n\n".join("\n".join(row_lines(row, style)) for row in rows))


def patterns(options: argparse.Namespace) -> None:
    """List what is normal in a table."""
    from admercs.explain import patterns as find_patterns

    model, _ = _load_model(options.model)
    found = find_patterns(model.model_, options.top, noun=options.noun)
    if options.json:
        _print_json([pattern.to_dict() for pattern in found])
        return
    if options.quiet:
        return
    if not found:
        print("No column depends noticeably on the others.")
    style = Style()
    for rank, pattern in enumerate(found, 1):
        print("\n".join(filled(pattern.text, style.width, f"{rank:>3}. ", "     ")))


def info(options: argparse.Namespace) -> None:
    """Describe what a model file holds."""
    model, _ = _load_model(options.model)
    about = _about(model, options.model)
    if options.json:
        _print_json(about)
    elif not options.quiet:
        print("\n".join(_about_lines(model, about, Style())))


def demo(options: argparse.Namespace) -> None:
    """Write the generated cars to a file and detect what is odd about them."""
    from pyarrow import csv

    from admercs.datasets import make_electric_vehicles

    folder = Path(options.folder)
    path = folder / "cars.csv"
    cars = make_electric_vehicles(random_state=0, as_frame="pyarrow").table
    with writing(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
    with whole_file(str(path)) as stream, writing(str(path)):
        csv.write_csv(cars, stream)
    arguments = ["detect", str(path), "--noun", "cars", "--top", "5"]
    arguments += ["--report", str(folder / "report.html")]
    arguments += ["--out", str(folder / "scores.csv"), "--model", str(folder / "cars.admercs")]
    arguments += ["--jobs", str(options.jobs)]
    for flag in ("json", "quiet", "debug"):
        arguments += [f"--{flag}"] if getattr(options, flag) else []
    if not (options.quiet or options.json):
        print(f"$ admercs {' '.join(arguments)}\n", file=sys.stderr)
    detect(make_parser().parse_args(arguments))


def reproduce(options: argparse.Namespace) -> None:
    """Run the paper's experiments, which bring their own options along."""
    from admercs.experiments import command

    command.run(options)


def completion(options: argparse.Namespace) -> None:
    """Print a script for a shell."""
    from admercs.cli.completion import script

    print(script(options.shell), end="")


def _reading(options: argparse.Namespace) -> Reading:
    return Reading(
        table=options.table_name,
        delimiter=options.delimiter,
        encoding=options.encoding,
        missing=MISSING if options.missing is None else tuple(options.missing),
        header=not options.no_header,
    )


def _roles(options: argparse.Namespace, model: ADMERCS | None = None) -> Roles:
    schema = None if model is None else model.model_.schema
    return Roles(
        expected={} if schema is None else dict(zip(schema.names, schema.kinds, strict=True)),
        numeric=options.numeric,
        nominal=getattr(options, "nominal", []),
        ignore=options.ignore,
        id=options.id,
    )


def _progress(options: argparse.Namespace) -> ProgressPrinter:
    return ProgressPrinter(keep=False, quiet=options.quiet or options.json)


def _told(progress: ProgressPrinter, batches: Iterable[Any], total: int) -> Iterator[Any]:
    """Pass on the rows to be scored, and say how many of them are done."""
    done = 0
    for batch in batches:
        yield batch
        done += len(batch)
        progress("scoring", done, total)


def _load_model(path: str) -> tuple[ADMERCS, FileId]:
    from admercs.estimator import ADMERCS, ModelFileError

    try:
        return ADMERCS.load(path), file_id(Path(path).stat())
    except ModelFileError as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise os_error(error, path, "read") from error


def _save_model(model: ADMERCS, path: str, outputs: Outputs) -> None:
    with scratch_folder() as folder:
        model.save(folder / "model")
        with writing(path), (folder / "model").open("rb") as content:
            shutil.copyfileobj(content, outputs.streams["model"])


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


def _look(
    options: argparse.Namespace,
    model: ADMERCS,
    table: SourceTable,
    outputs: Outputs,
    batches: Iterable[Any],
    model_path: str = "",
) -> Findings:
    """Score all rows, write what is wanted and return what was found."""
    from admercs.explain import anomalous_contexts
    from admercs.report import Digest

    wanted = Wanted(options.reasons, options.why, options.keep, options.noun)
    digest = Digest(model.model_, -model.offset_, max(options.report_rows, options.top, 1))
    for piece, batch in pieces(model, table.name, batches, table.id, jobs_of(options)):
        digest.add(piece)
        if outputs.sink is not None:
            outputs.sink.write(results(piece, batch, table.id, digest, wanted))
    if not digest.n_rows:
        raise UserError(f"{table.name} has no rows.")
    top = digest.top(options.top)
    rows = () if top is None else top.head(options.top).explain(
        model.model_, options.why, options.noun)  # fmt: skip
    contexts = anomalous_contexts(model.model_, noun=options.noun)
    written = {}
    if "report" in outputs.streams:
        page = report_page(model, digest, table.name, options.why, options.noun)
        with writing(options.report):
            outputs.streams["report"].write(page.encode())
        written["report"] = options.report
    if options.out not in (None, "-"):
        written["scores"] = options.out
    here = [context for context in contexts if digest.members(context.leaf)]
    return Findings(table.name, model, digest, list(rows), here, written, model_path)


def _show(options: argparse.Namespace, findings: Findings, seconds: float) -> None:
    """Print what was found, unless nobody wants to know; standard output may be for scores."""
    if options.quiet:
        return
    stream = sys.stderr if options.out == "-" else sys.stdout
    if options.json:
        _print_json(findings.to_dict(seconds), stream)
    else:
        print(findings.text(Style(stream), seconds), file=stream)


def _print_json(content: Any, stream: Any = None) -> None:
    print(json.dumps(content, ensure_ascii=False, indent=2), file=stream or sys.stdout)


def _top_rows(options: argparse.Namespace, model: ADMERCS, table: SourceTable) -> list[Any]:
    """Explain the most anomalous rows."""
    from admercs.report import Digest

    digest = Digest(model.model_, -model.offset_, options.top)
    for piece, _ in pieces(model, table.name, table.batches(), table.id, jobs_of(options)):
        digest.add(piece)
    top = digest.top(options.top)
    if top is None:
        raise UserError(f"{table.name} has no rows.")
    return list(top.head(options.top).explain(model.model_, options.why, options.noun))


def _chosen_rows(options: argparse.Namespace, model: ADMERCS, table: SourceTable) -> list[Any]:
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
    for piece, batch in pieces(model, table.name, table.batches(), table.id, jobs_of(options)):
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
        "anomalous_contexts": len(fitted.members),
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
