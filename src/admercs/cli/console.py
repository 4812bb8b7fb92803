"""What the terminal shows: plain text, with a little colour where there is a terminal."""

from __future__ import annotations

import math
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partialmethod
from typing import TYPE_CHECKING, Any, TextIO

from admercs.cli.errors import listed

if TYPE_CHECKING:
    from admercs import ADMERCS
    from admercs.report import Digest

CONTEXTS_SHOWN = 5
FINDINGS_SHOWN = 30
_USED = ("numeric", "nominal", "text")


class Style:
    """Colours for a stream, or none if it is not a terminal or the user does not want any."""

    def __init__(self, stream: TextIO | None = None) -> None:
        stream = sys.stdout if stream is None else stream
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        self.on = stream.isatty() and not plain
        # A file has no width: lines in it are only broken where a person would read them.
        self.width = min(110, shutil.get_terminal_size((100, 24)).columns) if self.on else 100

    def _wrapped(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on else text

    bold = partialmethod(_wrapped, "1")
    dim = partialmethod(_wrapped, "2")
    accent = partialmethod(_wrapped, "1;31")  # for what is anomalous


def clean(text: str) -> str:
    """Take control characters out of text from a table: a terminal would obey them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def note(text: str, quiet: bool = False) -> None:
    """Say something worth knowing on standard error."""
    if not quiet:
        print(f"admercs: {clean(text)}", file=sys.stderr)


def counted(number: int, what: str) -> str:
    """Count things."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def filled(text: str, style: Style, first: str, indent: int = 5) -> list[str]:
    """Break a text into lines; ``first`` starts the first one, the others are indented."""
    return _wrapped(clean(text), style, first, indent)


def _wrapped(text: str, style: Style, first: str, indent: int = 5) -> list[str]:
    wrapper = textwrap.TextWrapper(style.width, first, " " * indent, break_on_hyphens=False)
    return wrapper.wrap(text) or [first]


def rows_text(rows: Iterable[Any], style: Style) -> str:
    """Return the explanations of rows."""
    return "\n\n".join("\n".join(_row_lines(row, style)) for row in rows)


def _row_lines(row: Any, style: Style) -> list[str]:
    from admercs.explain.records import association_text, label_text, rank_text, score_text

    label, score = clean(label_text(row.label)), f"score {score_text(row.score)}"
    head = f"{style.bold(label)}   {style.accent(score)}   evidence {row.evidence:.1f}"
    if row.evidence <= 0:
        return [f"{style.bold(label)}   {score}   nothing unusual"]
    rank = ", ".join(filter(None, (rank_text(row), association_text(row))))
    room = style.width - len(f"{label}   {score}   evidence {row.evidence:.1f}   ")
    lines = [f"{head}   {style.dim(rank)}"] if len(rank) <= room else [head, f"     {rank}"]
    if row.repair_text:
        lines += filled(row.repair_text, style, "  ", 2)
    for place, reason in enumerate(row.reasons, 1):
        text = f"{reason.text} ({reason.share:.0%} of the evidence)"
        lines += filled(text, style, f"  {place}. ")
    if row.n_rest and row.rest >= 0.005 * row.evidence:
        rest = counted(row.n_rest, "weaker reason")
        lines.append(style.dim(f"     and {rest} ({row.rest / row.evidence:.0%})"))
    return lines


def _value_lines(value: Any, rank: int, style: Style) -> list[str]:
    from admercs.explain.records import label_text

    slip = f" ({value.slip})" if value.slip else ""
    expected = f", expected {value.expected_text}{slip}" if value.expected_text else ""
    what = f"{clean(value.column)}: {style.accent(clean(value.value_text))}{clean(expected)}"
    head = f"  {rank}. {style.bold(clean(label_text(value.label)))}   "
    return [*_wrapped(what, style, head), *filled(value.text, style, "     ")]


def columns_text(
    columns: Sequence[Any], missing: Iterable[int], n_rows: int, style: Style
) -> list[str]:
    """Return what became of each column, a line per column; many of one kind are taken together."""
    from admercs.explain.column_words import percent

    is_aside = [column.role == "set aside" or column.is_free_text for column in columns]
    used = [column for column, aside in zip(columns, is_aside, strict=True) if not aside]
    names = {role: [column.name for column in used if column.role == role] for role in _USED}
    told = [(role, listed(names[role], 30)) for role in _USED if names[role]]
    aside = [f"{c.name}: {c.reason}" for c, aside in zip(columns, is_aside, strict=True) if aside]
    told += [("set aside", text) for text in aside[:20]]
    if len(aside) > 20:
        told.append(("", f"and {len(aside) - 20:,} more"))
    absent = [(n / n_rows, column.name) for column, n in zip(columns, missing, strict=True) if n]
    if absent:
        worst = [f"{name} {percent(share)}" for share, name in sorted(absent, reverse=True)]
        told.append(("missing", listed(worst, 6)))
    return [line for what, text in told for line in filled(text, style, f"  {what:<10} ", 13)]


def findings_text(findings: Sequence[Any], style: Style) -> list[str]:
    """Return what stands out in columns, at most so many lines."""
    lines: list[str] = []
    for finding in findings[:FINDINGS_SHOWN]:
        who = f"{finding.column}: " if finding.column else ""
        lines += filled(f"{who}{finding.text}", style, "  ", 5)
    if len(findings) > FINDINGS_SHOWN:
        lines.append(style.dim(f"  and {len(findings) - FINDINGS_SHOWN:,} more"))
    return lines


@dataclass(frozen=True)
class Findings:
    """What was found in a table, for people and for machines."""

    name: str  # of the table
    model: ADMERCS
    digest: Digest  # what is known of the table's rows
    rows: Sequence[Any]  # the most anomalous rows, explained
    values: Sequence[Any]  # the most suspicious values
    contexts: Sequence[Any]  # the anomalous contexts that rows of the table belong to
    written: dict[str, str]  # what was written where
    model_path: str | None  # where the model came from, if it was not learned from this table

    def to_dict(self, seconds: float) -> dict[str, Any]:
        """Return the findings for machines."""
        digest, found = self.digest, self.digest.findings()
        return {
            "table": self.name,
            "rows": digest.n_rows,
            "model": self.model_path,
            "rows_learned_from": self.model.model_.n_rows,
            "seconds": round(seconds, 3),
            "columns": [
                {
                    "name": column.name,
                    "role": column.role,
                    "reason": column.reason,
                    "missing": int(digest.missing[column.position]),
                    "evidence": float(digest.column_evidence[column.position]),
                    "findings": [f.to_dict() for f in found if f.column == column.name],
                }
                for column in self.model.columns_
            ],
            "findings": [each.to_dict() for each in found if not each.column],
            "flagged": digest.n_flagged,
            "suspicious": digest.n_suspicious,
            "flagged_by_association": digest.n_association,
            "threshold": {"score": -math.expm1(-digest.threshold), "evidence": digest.threshold},
            "anomalies": [row.to_dict() for row in self.rows],
            "values": [value.to_dict() for value in self.values],
            "contexts": [context.to_dict() for context in self.contexts],
            "written": self.written,
        }

    def text(self, style: Style, seconds: float) -> str:
        """Return the findings for people."""
        from admercs.explain.records import score_text

        digest = self.digest
        columns = columns_text(self.model.columns_, digest.missing.tolist(), digest.n_rows, style)
        parts = ["\n".join([self._headline(style, seconds), *columns])]
        if found := findings_text(digest.findings(), style):
            parts.append("\n".join([style.bold("Columns"), *found]))
        parts.append(self._count(style))
        if self.rows:
            parts.append(f"{style.bold('Most anomalous')}\n{rows_text(self.rows, style)}")
        if self.values:
            lines = [style.bold("Most suspicious values")]
            for rank, value in enumerate(self.values, 1):
                lines += _value_lines(value, rank, style)
            parts.append("\n".join(lines))
        if self.contexts:
            lines = [style.bold("Anomalous contexts")]
            for rank, context in enumerate(self.contexts[:CONTEXTS_SHOWN], 1):
                text = f"{context.text} (score {score_text(context.score)})"
                lines += filled(text, style, f"  {rank}. ")
            parts.append("\n".join(lines))
        if self.written:
            # The report comes last: it is what to open next.
            last = sorted(self.written, key=lambda what: what == "report")
            parts.append("\n".join(f"{what:<8}{self.written[what]}" for what in last))
        elif digest.n_flagged > len(self.rows):
            parts.append(style.dim("All of them: --out scores.csv, or a page: --report found.html"))
        return "\n\n".join(parts)

    def _headline(self, style: Style, seconds: float) -> str:
        n_rows, n_fitted = self.digest.n_rows, self.model.model_.n_rows
        learned = "" if n_fitted == n_rows else f", learned from {n_fitted:,} of them"
        if self.model_path:
            learned = f", scored with {self.model_path} (learned from {counted(n_fitted, 'row')})"
        minutes, rest = divmod(int(seconds), 60)
        duration = f"{minutes} min {rest} s" if seconds >= 60 else f"{seconds:.1f} s"
        return (
            f"{style.bold(clean(self.name))}: {counted(n_rows, 'row')}{learned}, "
            f"{counted(len(self.model.columns_), 'column')}, {duration}"
        )

    def _count(self, style: Style) -> str:
        """Say how many rows are flagged."""
        from admercs.explain.column_words import percent

        digest, n = self.digest, self.digest.n_flagged
        line = f"evidence above {threshold_text(digest.threshold)}"
        if not n:
            return f"No row is flagged: none has {line}."
        association = f", {digest.n_association:,} of them by association"
        flagged = style.accent(f"{counted(n, 'row')} flagged")
        share = f"{percent(n / digest.n_rows)}{association if digest.n_association else ''}"
        return f"{flagged} ({share}): {line}{self._suspicious()}"

    def _suspicious(self) -> str:
        """Say how many rows more would be flagged if it were not for the limit of 1%."""
        n, line = self.digest.n_suspicious, threshold_text(self.digest.suspicious)
        if not n:
            return ""
        look = "row looks" if n == 1 else "rows look"
        return f"\n{n:,} more {look} suspicious: evidence above {line}"


def threshold_text(evidence: float) -> str:
    """Say how much evidence it is; near 1 the score alone says little."""
    from admercs.explain.records import score_text

    return f"{evidence:.1f} (score {score_text(-math.expm1(-evidence))})"
