"""What was found in a table, for the terminal, for machines and for the report."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from admercs.cli.console import Style, columns_text, counted, filled, row_lines

if TYPE_CHECKING:
    from admercs import ADMERCS
    from admercs.report import Digest

CONTEXTS_SHOWN = 5


@dataclass(frozen=True)
class Findings:
    """All that is said after a table was looked at."""

    name: str  # of the table
    model: ADMERCS
    digest: Digest  # what is known of the table's rows
    rows: Sequence[Any]  # the most anomalous rows, explained
    contexts: Sequence[Any]  # the anomalous contexts that rows of the table belong to
    written: dict[str, str]  # what was written where
    model_path: str = ""  # where the model came from, if it was not learned from this table

    def to_dict(self, seconds: float) -> dict[str, Any]:
        """Return the findings for machines."""
        digest = self.digest
        return {
            "table": self.name,
            "rows": digest.n_rows,
            "model": self.model_path or None,
            "rows_learned_from": self.model.model_.n_rows,
            "seconds": round(seconds, 3),
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
            "threshold": {"score": -math.expm1(-digest.threshold), "evidence": digest.threshold},
            "anomalies": [row.to_dict() for row in self.rows],
            "contexts": [context.to_dict() for context in self.contexts],
            "written": self.written,
        }

    def text(self, style: Style, seconds: float) -> str:
        """Return the findings for people."""
        from admercs.explain.rendering import score_text

        digest = self.digest
        missing = digest.missing.tolist()
        lines = [
            self._headline(style, seconds),
            *columns_text(self.model.columns_, missing, digest.n_rows, style),
        ]
        lines += ["", self._count(style)]
        if self.rows:
            lines += ["", style.bold("Most anomalous")]
            for row in self.rows:
                lines += [*row_lines(row, style), ""]
            lines.pop()
        if self.contexts:
            lines += ["", style.bold("Anomalous contexts")]
            for rank, context in enumerate(self.contexts[:CONTEXTS_SHOWN], 1):
                text = f"{context.text} (score {score_text(context.score)})"
                lines += filled(text, style.width, f"  {rank}. ", "     ")
        if self.written:
            # The report comes last: it is what to open next.
            last = sorted(self.written, key=lambda what: what == "report")
            lines += ["", *(f"{what:<8}{self.written[what]}" for what in last)]
        elif digest.n_flagged > len(self.rows):
            hint = "All of them: --out scores.csv, or a page: --report found.html"
            lines += ["", style.dim(hint)]
        return "\n".join(lines)

    def _headline(self, style: Style, seconds: float) -> str:
        n_rows, n_fitted = self.digest.n_rows, self.model.model_.n_rows
        learned = ""
        if self.model_path:
            source = f"learned from {counted(n_fitted, 'row')}"
            learned = f", scored with {self.model_path} ({source})"
        elif n_fitted != n_rows:
            learned = f", learned from {n_fitted:,} of them"
        minutes, rest = divmod(int(seconds), 60)
        duration = f"{minutes} min {rest} s" if seconds >= 60 else f"{seconds:.1f} s"
        return (
            f"{style.bold(self.name)}: {counted(n_rows, 'row')}{learned}, "
            f"{counted(len(self.model.columns_), 'column')}, {duration}"
        )

    def _count(self, style: Style) -> str:
        """Say how many rows are flagged."""
        from admercs.explain.column_words import percent
        from admercs.explain.rendering import score_text

        digest, n = self.digest, self.digest.n_flagged
        # Near 1 a score says little, so the evidence behind it is shown as well.
        score = score_text(-math.expm1(-digest.threshold))
        line = f"evidence above {digest.threshold:.1f} (score {score})"
        if not n:
            return f"No row is flagged: none has {line}."
        association = f", {digest.n_association:,} of them by association"
        flagged = style.accent(f"{counted(n, 'row')} flagged")
        share = f"{percent(n / digest.n_rows)}{association if digest.n_association else ''}"
        return f"{flagged} ({share}): {line}"


def report_page(model: ADMERCS, digest: Digest, name: str, options: Namespace) -> str:
    """Return the report as HTML."""
    from admercs.report import Report, summary_of, threshold_meaning

    meaning, top = threshold_meaning(model.contamination), max(5, options.why)
    return Report(summary_of(digest, name=name, meaning=meaning, top=top, noun=options.noun)).html()
