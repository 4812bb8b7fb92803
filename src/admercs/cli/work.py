"""The work that detect and score have in common."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admercs.cli.console import Style
from admercs.cli.csvfile import MISSING
from admercs.cli.errors import UsageError, UserError
from admercs.cli.findings import Findings, write_report
from admercs.cli.progress import Progress
from admercs.cli.scoring import Wanted, score_table
from admercs.cli.sinks import check_ending, open_sink, whole_file
from admercs.cli.sources import Reading
from admercs.cli.tables import Roles, Table

if TYPE_CHECKING:
    from admercs import ADMERCS

__all__ = [
    "Outputs",
    "jobs_of",
    "load_model",
    "look",
    "match_columns",
    "open_outputs",
    "reading_of",
    "roles_of",
    "show",
]


def reading_of(options: argparse.Namespace) -> Reading:
    """Return how the user wants the table to be read."""
    return Reading(
        table=options.table_name,
        delimiter=options.delimiter,
        encoding=options.encoding,
        missing=MISSING if options.missing is None else tuple(options.missing),
        header=not options.no_header,
    )


def roles_of(options: argparse.Namespace, model: ADMERCS | None = None) -> Roles:
    """Return what the user says about columns, and what a model expects of them."""
    schema = None if model is None else model.model_.schema
    return Roles(
        expected={} if schema is None else dict(zip(schema.names, schema.kinds, strict=True)),
        numeric=options.numeric,
        nominal=getattr(options, "nominal", []),
        ignore=options.ignore,
        id=options.id,
    )


def jobs_of(options: argparse.Namespace) -> int:
    """Return the number of threads."""
    from joblib import effective_n_jobs

    return int(effective_n_jobs(options.jobs or 1))


def load_model(path: str) -> ADMERCS:
    """Read a model file."""
    from admercs.cli.errors import os_error
    from admercs.estimator import ADMERCS, ModelFileError

    try:
        return ADMERCS.load(path)
    except ModelFileError as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise os_error(error, path, "read") from error


def match_columns(model: ADMERCS, path: str, table: Table) -> list[str]:
    """Check that a table has the model's columns; return those it has besides."""
    known = [column.name for column in model.columns_]
    absent = [name for name in known if name not in table.columns]
    if absent:
        listed = ", ".join(absent[:12]) + (
            f" and {len(absent) - 12} more" if len(absent) > 12 else ""
        )
        raise UserError(
            f"{table.name} does not match {path}: it lacks {listed}. "
            "A table to be scored needs the columns the model was learned from."
        )
    return [name for name in table.columns if name not in known and name not in table.id]


class Outputs:
    """Files to be written, opened before the work starts."""

    def __init__(self, sink: Any, files: dict[str, tuple[str, Path]]) -> None:
        self.sink = sink
        self.files = files


@contextmanager
def open_outputs(inputs: Sequence[str], out: str | None, **paths: str | None) -> Iterator[Outputs]:
    """Open all outputs; none of them takes its place unless the work succeeds.

    Parameters
    ----------
    inputs : sequence of str
        What is read, and so must not be written.
    out : str or None
        Where the scores go.
    **paths : str or None
        Where other things go.
    """
    if out is not None:
        check_ending(out)
    _check_places({"out": out, **paths}, inputs)
    with ExitStack() as stack:
        files = {
            what: (path, stack.enter_context(whole_file(path)))
            for what, path in paths.items()
            if path is not None
        }
        yield Outputs(stack.enter_context(open_sink(out)), files)


def _check_places(outputs: Mapping[str, str | None], inputs: Sequence[str]) -> None:
    """Refuse to write a file twice, or in the place of what is read."""
    taken = {os.path.realpath(path): "is what is read" for path in inputs if os.path.isfile(path)}
    for what, path in outputs.items():
        if path is None or path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            continue
        place = os.path.realpath(path)
        if place in taken:
            raise UsageError(f"--{what} {path} {taken[place]}: choose another name.")
        taken[place] = f"is written by --{what} already"


def look(
    options: argparse.Namespace,
    model: ADMERCS,
    table: Table,
    batches: Iterable[Any],
    total: int,
    outputs: Outputs,
    progress: Progress,
    started: float,
) -> Findings:
    """Judge all rows, write what is wanted and return what was found."""
    from admercs.explanation import anomalous_contexts
    from admercs.report import Digest

    wanted = Wanted(options.reasons, options.why, options.keep, options.noun, jobs_of(options))
    digest = Digest(model.model_, -model.offset_, max(options.report_rows, options.top, 1))
    work = score_table(model, table.name, batches, table.id, wanted, digest, outputs.sink)
    for done in work:
        progress("scoring", done, total)
    if not digest.n_rows:
        raise UserError(f"{table.name} has no rows.")
    progress("explaining", 0, 1)
    top = digest.top(options.top)
    rows = [] if top is None else list(top.head(options.top).explain(
        model.model_, options.why, options.noun))  # fmt: skip
    contexts = anomalous_contexts(model.model_, noun=options.noun)
    written = {}
    if "report" in outputs.files:
        path, temporary = outputs.files["report"]
        write_report(model, digest, table.name, path, temporary, options.why, options.noun)
        written["report"] = path
    if options.out is not None and options.out != "-":
        written["scores"] = options.out
    progress("explaining", 1, 1)
    return Findings(
        name=table.name,
        model=model,
        digest=digest,
        rows=rows,
        contexts=[context for context in contexts if digest.members(context.leaf)],
        seconds=time.monotonic() - started,
        n_fitted=model.model_.n_rows,
        written=written,
        model_path=getattr(options, "model", "") if options.command == "score" else "",
    )


def show(options: argparse.Namespace, findings: Findings) -> None:
    """Print what was found, unless standard output is taken or nobody wants to know."""
    if options.quiet:
        return
    stream = sys.stderr if getattr(options, "out", None) == "-" else sys.stdout
    print(findings.json() if options.json else findings.text(Style(stream)), file=stream)
