"""``admercs explain``: the reasons of single rows."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from admercs.cli.console import Style, row_lines
from admercs.cli.errors import UserError
from admercs.cli.scoring import blamed, labels_of
from admercs.cli.tables import Table, open_table
from admercs.cli.work import jobs_of, load_model, match_columns, reading_of, roles_of

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    model = load_model(options.model)
    with open_table(options.table, reading_of(options), roles_of(options, model)) as table:
        match_columns(model, options.model, table)
        rows = _asked(options, model, table) if options.row else _top(options, model, table)
    if options.json:
        print(json.dumps([row.to_dict() for row in rows], ensure_ascii=False, indent=2))
    elif not options.quiet:
        style = Style()
        print("\n\n".join("\n".join(row_lines(row, style)) for row in rows))


def _pieces(model: Any, table: Table, n_jobs: int) -> Iterator[Any]:
    from admercs.report import judge_piece

    first = 1
    columns = [column.name for column in model.columns_]
    for batch in table.batches():
        labels = labels_of(batch, table.id, first)
        with blamed(table.name):
            yield judge_piece(
                model.model_, batch.select(columns), labels=labels, first=first, n_jobs=n_jobs
            )
        first += len(batch)


def _top(options: argparse.Namespace, model: Any, table: Table) -> list[Any]:
    """Explain the most anomalous rows."""
    from admercs.report import Digest

    digest = Digest(model.model_, -model.offset_, options.top)
    for piece in _pieces(model, table, jobs_of(options)):
        digest.add(piece)
    top = digest.top(options.top)
    if top is None:
        raise UserError(f"{table.name} has no rows.")
    return list(top.head(options.top).explain(model.model_, options.why, options.noun))


def _asked(options: argparse.Namespace, model: Any, table: Table) -> list[Any]:
    """Explain the rows the user asks for, in the order of the question."""
    import numpy as np

    wanted = dict.fromkeys(options.row)
    if not table.id:
        for text in wanted:
            if not text.isdigit() or int(text) < 1:
                raise UserError(
                    f"--row {text}: rows are counted from 1. To ask by label, say which column "
                    "holds it with --id."
                )
    found: dict[str, Any] = {}
    n_rows = 0
    for piece in _pieces(model, table, jobs_of(options)):
        n_rows += len(piece.evidence)
        places = {str(label): k for k, label in enumerate(piece.labels)}
        here = [text for text in wanted if text not in found and _key(text, table) in places]
        if here:
            chosen = np.array([places[_key(text, table)] for text in here])
            rows = piece.rows(chosen).explain(model.model_, options.why, options.noun)
            found |= dict(zip(here, rows, strict=True))
        if len(found) == len(wanted):
            break
    absent = [text for text in wanted if text not in found]
    if absent:
        what = f"no row labelled {absent[0]!r}" if table.id else f"no row {absent[0]}"
        raise UserError(f"{table.name} has {what}; it has {n_rows:,} rows.")
    return [found[text] for text in wanted]


def _key(text: str, table: Table) -> str:
    """Return a row's number or label the way the labels are written."""
    return text if table.id else str(int(text))
