"""What was found in a table, for the terminal, for machines and for the report."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from admercs.cli.console import (
    Style,
    columns_text,
    contexts_text,
    counted,
    row_lines,
    seconds_text,
)
from admercs.cli.sinks import writing

if TYPE_CHECKING:
    from pathlib import Path

    from admercs import ADMERCS
    from admercs.report import Digest

__all__ = ["Findings", "write_report"]


@dataclass(frozen=True)
class Findings:
    """All that is said after a table was looked at.

    Attributes
    ----------
    name : str
        The table.
    model : ADMERCS
        The fitted detector.
    digest : Digest
        What is known of the table's rows.
    rows : sequence of RowExplanation
        The most anomalous rows.
    contexts : sequence of Context
        The anomalous contexts that rows of the table belong to.
    seconds : float
        The time it took.
    n_fitted : int
        Rows learned from.
    written : dict of str to str
        What was written where.
    model_path : str
        The file the model came from; empty if it was learned from this table.
    """

    name: str
    model: ADMERCS
    digest: Digest
    rows: Sequence[Any]
    contexts: Sequence[Any]
    seconds: float
    n_fitted: int
    written: dict[str, str] = field(default_factory=dict)
    model_path: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the findings for machines."""
        digest = self.digest
        return {
            "table": self.name,
            "rows": digest.n_rows,
            "model": self.model_path or None,
            "rows_learned_from": self.n_fitted,
            "seconds": round(self.seconds, 3),
            "columns": [
                {
                    "name": column.name,
                    "role": column.role,
                    "reason": column.reason,
                    "missing": int(digest.missing[column.position]),
                    "evidence": float(digest.column_evidence[column.position]),
                }
                for column in self.model.columns_
            ],
            "flagged": digest.n_flagged,
            "flagged_by_association": digest.n_association,
            "threshold": {
                "score": -math.expm1(-digest.threshold),
                "evidence": digest.threshold,
            },
            "anomalies": [row.to_dict() for row in self.rows],
            "contexts": [context.to_dict() for context in self.contexts],
            "written": self.written,
        }

    def json(self) -> str:
        """Return the findings as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def text(self, style: Style) -> str:
        """Return the findings for people."""
        digest = self.digest
        columns = self.model.columns_
        lines = [
            self._headline(style),
            *columns_text(columns, digest.missing.tolist(), digest.n_rows, style),
        ]
        lines += ["", self._verdict(style)]
        if self.rows:
            lines += ["", style.bold("Most anomalous")]
            for row in self.rows:
                lines += [*row_lines(row, style), ""]
            lines.pop()
        if self.contexts:
            lines += ["", style.bold("Anomalous contexts"), *contexts_text(self.contexts, style)]
        if self.written:
            # The report comes last: it is what to open next.
            last = sorted(self.written, key=lambda what: what == "report")
            lines += ["", *(f"{what:<8}{self.written[what]}" for what in last)]
        if digest.n_flagged > len(self.rows) and not self.written:
            lines += [
                "",
                style.dim("All of them: --out scores.csv, or a page: --report found.html"),
            ]
        return "\n".join(lines)

    def _headline(self, style: Style) -> str:
        n_columns = len(self.model.columns_)
        learned = ""
        if self.model_path:
            learned = (
                f", scored with {self.model_path} (learned from {counted(self.n_fitted, 'row')})"
            )
        elif self.n_fitted != self.digest.n_rows:
            learned = f", learned from {self.n_fitted:,} of them"
        return (
            f"{style.bold(self.name)}: {counted(self.digest.n_rows, 'row')}{learned}, "
            f"{counted(n_columns, 'column')}, {seconds_text(self.seconds)}"
        )

    def _verdict(self, style: Style) -> str:
        from admercs.explanation.text import score_text

        digest, n = self.digest, self.digest.n_flagged
        # Near 1 a score says little, so the evidence behind it is told as well.
        score = score_text(-math.expm1(-digest.threshold))
        line = f"evidence above {digest.threshold:.1f} (score {score})"
        if not n:
            return f"No row is flagged: none has {line}."
        from admercs.explanation.typical import percent

        share = percent(n / digest.n_rows)
        association = ""
        if digest.n_association:
            association = f", {digest.n_association:,} of them by association"
        flagged = style.accent(f"{counted(n, 'row')} flagged")
        return f"{flagged} ({share}{association}): {line}"


def write_report(
    model: ADMERCS, digest: Digest, name: str, path: str, temporary: Path, why: int, noun: str
) -> None:
    """Write the report page."""
    from admercs.report import Report, summary_of, threshold_meaning

    meaning = threshold_meaning(model.contamination)
    summary = summary_of(digest, name=name, meaning=meaning, top=max(5, why), noun=noun)
    page = Report(summary).html()
    with writing(path):
        temporary.write_text(page, encoding="utf-8")
