"""The report as a plain dict: what the page shows, and nothing it would have to compute."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

from admercs._version import __version__
from admercs.explain import Context, Reason, RowExplanation, anomalous_contexts, patterns
from admercs.explain.model_words import ModelWords
from admercs.explain.rendering import label_text, rank_text
from admercs.report.digest import Digest
from admercs.report.plot_data import AXES, PlotDistributions, axis_value, significant
from admercs.table.columns import Column

__all__ = ["FORMAT", "VERSION", "summary_of", "threshold_meaning"]

FORMAT, VERSION = "admercs-report", 1
MOST_CONTEXTS, SHOWN_CONTEXTS, SHOWN_PATTERNS = 200, 20, 20
_KINDS = {"boolean": "yes / no", "text": "text", "number": "number", "integer": "whole number"}


def threshold_meaning(contamination: str | float | dict[str, float]) -> str:
    """Say in words where the line between normal and anomalous comes from.

    Examples
    --------
    >>> threshold_meaning(0.02)
    'Rows above the threshold are flagged: it was set so that 2% of the rows learned from are.'
    """
    start = "Rows above the threshold are flagged:"
    if contamination == "auto":
        return f"{start} an ordinary row lies above it with a chance of about 1 in 1,000."
    if isinstance(contamination, dict):
        what, value = next(iter(contamination.items()))
        return f"{start} it was set by hand to {what} {value:g}."
    share = f"{100 * float(contamination):.2g}%"
    return f"{start} it was set so that {share} of the rows learned from are."


def summary_of(
    digest: Digest,
    *,
    name: str = "table",
    meaning: str = "",
    top: int = 5,
    noun: str = "rows",
) -> dict[str, Any]:
    """Return the dict behind a report.

    Parameters
    ----------
    digest : Digest
        What is known of the table.
    name : str, default="table"
        What the table is called.
    meaning : str
        Where the threshold comes from, in words.
    top : int, default=5
        Reasons per row.
    noun : str, default="rows"
        What the rows are called, in the plural.

    Returns
    -------
    summary : dict
        JSON-ready; the page on the command line describes its fields.
    """
    model = digest.model
    contexts = anomalous_contexts(model, noun=noun)[:MOST_CONTEXTS]
    words = ModelWords(model, noun)
    distributions = PlotDistributions(words.access)
    columns = _columns(digest, words, distributions)
    edges, counts = digest.histogram()
    rows = _ListedRows(digest, contexts, distributions).listed(top, noun)
    return {
        "format": FORMAT,
        "version": VERSION,
        "generator": f"admercs {__version__}",
        "name": name,
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "n_rows": digest.n_rows,
        "n_columns": len(model.schema.columns),
        "n_trained": model.n_rows,
        "n_flagged": digest.n_flagged,
        "n_association": digest.n_association,
        "threshold": {
            "score": -math.expm1(-digest.threshold),
            "evidence": round(digest.threshold, 4),
            "meaning": meaning,
        },
        "histogram": {"edges": edges, "counts": counts},
        "columns": columns,
        "distributions": distributions.listed,
        "rows": rows,
        "contexts": [_context(digest, k, context) for k, context in enumerate(contexts)],
        "patterns": [
            {"text": pattern.text, "n": pattern.n, "strength": significant(pattern.strength)}
            for pattern in patterns(model, SHOWN_PATTERNS, noun=noun)
        ],
    }


def _columns(
    digest: Digest, words: ModelWords, distributions: PlotDistributions
) -> list[dict[str, Any]]:
    model = digest.model
    attributes = {column.position: m for m, column in enumerate(model.schema.used)}
    total = float(digest.column_evidence.sum()) or 1.0
    listed = []
    for column in model.schema.columns:
        m = attributes.get(column.position)
        whole = None if m is None else distributions.of_column(m, words.column(m))
        listed.append(
            {
                "name": column.name,
                "role": column.role,
                "kind": _KINDS.get(column.display, column.display),
                "axis": AXES.get(column.display, "number"),
                "missing": significant(
                    int(digest.missing[column.position]) / max(1, digest.n_rows)
                ),
                "evidence": significant(float(digest.column_evidence[column.position]) / total),
                "remark": _remark(column),
                "distribution": whole,
            }
        )
    return listed


def _remark(column: Column) -> str:
    if column.role == "set aside":
        return f"not used: {column.reason}"
    if column.role == "nominal":
        n = len(column.categories) + column.n_grouped
        grouped = f", {column.n_grouped:,} rare ones taken together" if column.n_grouped else ""
        return f"{n:,} values{grouped}"
    return f"{len(column.distinct)} distinct values" if column.distinct else ""


class _ListedRows:
    """Turns explanations into what the page needs of them."""

    def __init__(
        self, digest: Digest, contexts: Sequence[Context], distributions: PlotDistributions
    ) -> None:
        self.digest = digest
        self.model = digest.model
        self.distributions = distributions
        self.place = {column.name: column.position for column in self.model.schema.columns}
        self.attribute = {column.name: m for m, column in enumerate(self.model.schema.used)}
        self.context_of = {
            part.leaf: k for k, context in enumerate(contexts) for part in (context, *context.also)
        }

    def listed(self, top: int, noun: str) -> list[dict[str, Any]]:
        rows = self.digest.top()
        if rows is None:
            return []
        explained = rows.explain(self.model, top, noun)
        return [
            self.row(k, int(rows.numbers[k]), row, rows.texts[k], rows.values[:, k])
            | {"contexts": self.contexts(rows.parts.leaf[:, k].tolist())}
            for k, row in enumerate(explained)
        ]

    def contexts(self, leaves: list[int]) -> list[int]:
        """Return the listed contexts that a row belongs to."""
        return sorted({self.context_of[leaf] for leaf in leaves if leaf in self.context_of})

    def row(
        self, rank: int, number: int, row: RowExplanation, texts: list[str | None], values: Any
    ) -> dict[str, Any]:
        cells = [0.0] * len(texts)
        for name, evidence in row.cells.items():
            cells[self.place[name]] = significant(evidence, 3)
        return {
            "rank": rank + 1,
            "row": number,
            "label": label_text(row.label),
            "score": row.score,
            "evidence": round(row.evidence, 4),
            "percentile": round(row.percentile, 4),
            "standing": rank_text(row.percentile),
            "flagged": row.evidence > self.digest.threshold,
            "association": row.by_association,
            "values": texts,
            "cells": cells,
            "reasons": [self.reason(reason, values) for reason in row.reasons],
            "rest": significant(row.rest / row.evidence if row.evidence else 0.0),
            "apart": row.apart,
        }

    def reason(self, reason: Reason, values: Any) -> dict[str, Any]:
        names = [name for part in (reason, *reason.also) for name in part.attributes]
        told = {
            "kind": reason.kind,
            "text": reason.text,
            "target": self.place[reason.target],
            "columns": sorted({self.place[name] for name in names}),
            "n": reason.n,
            "evidence": significant(reason.evidence, 6),
            "share": significant(reason.share),
            "context": self.context_of.get(reason.context) if reason.kind == "context" else None,
            "neighbours": list(reason.labels),
        }
        return told | self.plot(reason, values) if reason.kind == "pattern" else told

    def plot(self, reason: Reason, values: Any) -> dict[str, Any]:
        """Return what the plot of a broken pattern needs besides the distribution."""
        m = self.attribute[reason.target]
        missing = reason.value is None and reason.value_text == "missing"
        typical = reason.typical
        # What is odd may be that there is a value, or none: then its size is beside the point.
        presence = typical is not None and typical.kind in ("missing", "recorded")
        place = self.distributions.place(m, values[m])
        shape = self.distributions.of_node(m, reason.node)
        curve = self.distributions.listed[shape]["kind"] == "curve"
        ends = [
            [axis_value(low), axis_value(high)]
            for low, high in (typical.intervals if typical else ())
        ]
        return {
            "value": None if missing else reason.value_text,
            "mark": axis_value(reason.value) if curve else place,
            "presence": presence,
            "typical": [pair for pair in ends if None not in pair],
            "distribution": shape,
        }


def _context(digest: Digest, k: int, context: Context) -> dict[str, Any]:
    counts = digest.context_histogram(context.leaf)
    return {
        "text": context.text,
        "score": context.score,
        "target": context.target,
        "n": context.n,
        "n_here": sum(counts),
        "counts": counts,
        "members": [
            {"row": row, "label": label_text(label)} for row, label in digest.members(context.leaf)
        ],
        "shown": k < SHOWN_CONTEXTS,
    }
