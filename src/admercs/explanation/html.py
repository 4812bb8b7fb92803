"""Explanations as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from admercs.explanation.reasons import Context, RowExplanation
from admercs.explanation.text import association_text, label_text, rank_text, score_text

__all__ = ["context_html", "row_html", "rows_html", "sentence_html"]

_MUTED = "opacity:.65"


def row_html(row: RowExplanation) -> str:
    """Return one row's explanation as an HTML fragment; all text from the table is escaped."""
    note = rank_text(row.percentile) if row.evidence > 0 else "nothing unusual"
    association = association_text(row)
    head = (
        f"<strong>{escape(label_text(row.label))}</strong> &ensp;score "
        f"{escape(score_text(row.score))} &ensp;"
        f'<span style="{_MUTED}">{escape(note)}</span>'
    )
    if association:
        head += f" &ensp;<em>{escape(association)}</em>"
    items = "".join(
        f'<tr><td style="text-align:right;vertical-align:top;white-space:nowrap">'
        f"{reason.share:.0%}</td>"
        f'<td style="vertical-align:top;min-width:4em">{_bar(reason.share)}</td>'
        f'<td style="text-align:left">{escape(reason.text)}</td></tr>'
        for reason in row.reasons
    )
    if row.rest >= 0.005 * row.evidence and row.n_rest:
        what = "reason" if row.n_rest == 1 else "reasons"
        items += (
            f'<tr style="{_MUTED}"><td style="text-align:right">{row.rest / row.evidence:.0%}</td>'
            f'<td></td><td style="text-align:left">{row.n_rest} weaker {what}</td></tr>'
        )
    apart = f'<div style="{_MUTED}">{escape(row.apart)}</div>' if row.apart else ""
    return f'<div style="margin:.5em 0">{head}<table>{items}</table>{apart}</div>'


def rows_html(rows: Iterable[RowExplanation]) -> str:
    """Return the explanations of several rows as an HTML fragment."""
    return "".join(row_html(row) for row in rows) or "<p>no rows</p>"


def context_html(context: Context) -> str:
    """Return a context as an HTML fragment."""
    return (
        f"<div><strong>{escape(context.text)}</strong><br>"
        f'<span style="{_MUTED}">score {escape(score_text(context.score))}, found for '
        f"{escape(context.target)}, context {context.leaf}</span></div>"
    )


def sentence_html(text: str) -> str:
    """Return a sentence as an HTML fragment."""
    return f"<div>{escape(text)}</div>"


def _bar(share: float) -> str:
    return (
        f'<div style="background:currentColor;opacity:.5;height:.7em;margin-top:.25em;'
        f'width:{max(1, round(100 * share))}%"></div>'
    )
