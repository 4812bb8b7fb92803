"""The report as a plain dict: what the page shows, and nothing it would have to compute."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from admercs._version import __version__
from admercs.explain import Context, Reason, RowExplanation, anomalous_contexts, patterns
from admercs.explain.model_words import ModelWords
from admercs.explain.records import SuspiciousValue, label_text, rank_text
from admercs.explain.scored_rows import ScoredRows
from admercs.report.digest import Digest
from admercs.report.plot_data import AXES, PlotDistributions, axis_value, significant
from admercs.table.columns import Column
from admercs.table.schema import Schema

FORMAT, VERSION = "admercs-report", 1
MOST_CONTEXTS, SHOWN_CONTEXTS, SHOWN_PATTERNS = 200, 20, 20
_KINDS = {"boolean": "yes / no", "text": "text", "number": "number", "integer": "whole number"}


def threshold_meaning(contamination: str | float | dict[str, float]) -> str:
    """State where the threshold between normal and anomalous comes from."""
    start = "Rows above the threshold are flagged:"
    if contamination == "auto":
        return (
            f"{start} an ordinary row lies above it with a chance of about 1 in 500. "
            "No more than 1% are flagged unless they stand out from the rest."
        )
    if isinstance(contamination, dict):
        what, value = next(iter(contamination.items()))
        return f"{start} it was set by hand to {what} {value:g}."
    share = f"{100 * float(contamination):.2g}%"
    return f"{start} it was set so that {share} of the rows learned from are."


def summary_of(
    digest: Digest, *, name: str = "table", meaning: str = "", top: int = 5, noun: str = "rows"
) -> dict[str, Any]:
    """Return the dict behind a report; ``meaning`` is where the threshold comes from."""
    model = digest.model
    contexts = anomalous_contexts(model, noun=noun)[:MOST_CONTEXTS]
    distributions = PlotDistributions(ModelWords(model, noun))
    edges, counts = digest.histogram()
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
        "n_suspicious": digest.n_suspicious,
        "n_association": digest.n_association,
        "threshold": {
            "score": -math.expm1(-digest.threshold),
            "evidence": round(digest.threshold, 4),
            "suspicious": round(digest.suspicious, 4),
            "meaning": meaning,
        },
        "histogram": {"edges": edges, "counts": counts},
        "columns": _columns(digest, distributions),
        "findings": [each.to_dict() for each in digest.findings() if not each.column],
        "distributions": distributions.listed,
        "values": [_suspicious(value, digest.model.schema) for value in digest.values(noun)],
        "rows": _ListedRows(digest, contexts, distributions).listed(top, noun),
        "contexts": [_context(digest, k, context) for k, context in enumerate(contexts)],
        "patterns": [
            {"text": pattern.text, "n": pattern.n, "strength": significant(pattern.strength)}
            for pattern in patterns(model, SHOWN_PATTERNS, noun=noun)
        ],
    }


def _columns(digest: Digest, distributions: PlotDistributions) -> list[dict[str, Any]]:
    model, found = digest.model, digest.findings()
    attributes = {column.position: m for m, column in enumerate(model.schema.used)}
    total = float(digest.column_evidence.sum()) or 1.0
    return [
        {
            "name": column.name,
            "role": column.role,
            "kind": _KINDS.get(column.display, column.display),
            "axis": AXES.get(column.display, "number"),
            "missing": significant(int(digest.missing[k]) / max(1, digest.n_rows)),
            "evidence": significant(float(digest.column_evidence[k]) / total),
            "remark": _remark(column),
            "findings": [each.to_dict() for each in found if each.column == column.name],
            "distribution": distributions.of_column(attributes[k]) if k in attributes else None,
        }
        for k, column in enumerate(model.schema.columns)
    ]


def _remark(column: Column) -> str:
    if column.role == "text" and column.is_free_text:
        return f"only the spelling of its texts is looked at: {column.reason}"
    if column.role == "text":
        return f"only the form of its texts is used: {column.reason}"
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
        self.digest, self.distributions = digest, distributions
        # A facet stands for the first of the columns that it is made of.
        schema = digest.model.schema
        self.place = {column.name: column.sources[0] for column in schema.facets + schema.columns}
        self.context_of = {
            part.leaf: k for k, context in enumerate(contexts) for part in (context, *context.also)
        }

    def listed(self, top: int, noun: str) -> list[dict[str, Any]]:
        rows = self.digest.top()
        if rows is None:
            return []
        explained = rows.explain(self.digest.model, top, noun)
        leaves = self.distributions.access.leaves(rows.parts).T.tolist()
        return [self.row(k, row, rows, leaves[k]) for k, row in enumerate(explained)]

    def row(
        self, k: int, row: RowExplanation, rows: ScoredRows, leaves: list[int]
    ) -> dict[str, Any]:
        cells = [0.0] * len(rows.texts[k])
        for name, evidence in row.cells.items():
            cells[self.place[name]] = significant(evidence, 3)
        return {
            "rank": k + 1,
            "row": int(rows.numbers[k]),
            "label": label_text(row.label),
            "score": row.score,
            "evidence": round(row.evidence, 4),
            "percentile": round(row.percentile, 4),
            "standing": rank_text(row),
            "flagged": row.evidence > self.digest.threshold,
            "association": row.by_association,
            "values": rows.texts[k],
            "cells": cells,
            "repair": row.repair_text,
            "column": self.column(row),
            "reasons": [self.reason(reason, rows.values[:, k]) for reason in row.reasons],
            "rest": significant(row.rest / row.evidence if row.evidence else 0.0),
            "contexts": sorted(
                {self.context_of[leaf] for leaf in leaves if leaf in self.context_of}
            ),
        }

    def column(self, row: RowExplanation) -> int | None:
        """Return the column to look at first: that of the repair, or of the first reason."""
        if row.repair_text:
            return self.place[row.repairs[0].column]
        return self.place[row.reasons[0].target] if row.reasons else None

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
        access = self.distributions.access
        # The plot of a broken pattern shows the column; a facet has other values.
        if reason.typical is None or access.columns[m := access.targets[reason.node]].facet:
            return told
        missing = bool(np.isnan(values[m]))  # or it is no value of the column, such as "n.a."
        shape = self.distributions.of_node(reason.node)
        curve = self.distributions.listed[shape]["kind"] == "curve"
        mark = axis_value(reason.value) if curve or missing else access.place(m, values[m])
        ends = [[axis_value(low), axis_value(high)] for low, high in reason.typical.intervals]
        return told | {
            "value": None if missing else reason.value_text,
            "mark": mark,
            # What is odd may be that there is a value, or none: then its size is beside the point.
            "presence": reason.typical.kind in ("missing", "recorded"),
            "typical": [pair for pair in ends if None not in pair],
            "distribution": shape,
        }


def _suspicious(value: SuspiciousValue, schema: Schema) -> dict[str, Any]:
    return {
        "label": label_text(value.label),
        "column": schema.names.index(value.column),
        "value": value.value_text,
        "expected": value.expected_text,
        "slip": value.slip,
        "evidence": significant(value.evidence),
        "text": value.text,
    }


def _context(digest: Digest, k: int, context: Context) -> dict[str, Any]:
    counts, members = digest.context_histogram(context.leaf), digest.members(context.leaf)
    return {
        "text": context.text,
        "score": context.score,
        "target": context.target,
        "n": context.n,
        "n_here": sum(counts),
        "counts": counts,
        "members": [{"row": row, "label": label_text(label)} for row, label in members],
        "shown": k < SHOWN_CONTEXTS,
    }
