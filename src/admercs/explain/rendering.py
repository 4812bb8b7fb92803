"""Explanations as plain text, and as HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from admercs.explain.records import Context, RowExplanation

_MUTED = "opacity:.65"


def label_text(label: object) -> str:
    """Name a row: by its label, or by its number."""
    return label if isinstance(label, str) else f"row {label}"


def score_text(score: float) -> str:
    """Write a score so that it does not look perfect."""
    if score > 0.9999:
        return "> 0.9999"
    if score < 0.99:
        return f"{min(score, 0.99):.2f}"
    decimals = 3 if score < 0.999 else 4
    return f"{int(score * 10**decimals) / 10**decimals:.{decimals}f}".rstrip("0")


def rank_text(percentile: float) -> str:
    """Compare a row with the training table."""
    if percentile >= 100:
        return "more anomalous than all other rows of the table"
    shown = int(percentile * 10) / 10 if percentile > 99 else int(percentile)
    return f"more anomalous than {shown:g}% of the table"


def association_text(row: RowExplanation) -> str:
    """Mark rows that are anomalous mainly by association."""
    return "mainly by association" if row.by_association else ""


def _rest_text(row: RowExplanation) -> tuple[str, str]:
    """Count the reasons that are not listed; also return their share."""
    if not row.n_rest or row.rest < 0.005 * row.evidence:
        return "", ""
    what = "reason" if row.n_rest == 1 else "reasons"
    return f"{row.n_rest} weaker {what}", f"{row.rest / row.evidence:.0%}"


def row_text(row: RowExplanation) -> str:
    """Write the explanation of one row: a heading and a line per reason."""
    head = [label_text(row.label), f"score {score_text(row.score)}"]
    if row.evidence <= 0:
        return "   ".join([*head, "nothing unusual"])
    head += [rank_text(row.percentile), association_text(row)]
    lines = ["   ".join(filter(None, head))]
    for rank, reason in enumerate(row.reasons, 1):
        share = f"({reason.share:.0%} of the evidence)" if rank == 1 else f"({reason.share:.0%})"
        lines.append(f"  {rank}. {reason.text}   {share}")
    rest, share = _rest_text(row)
    if rest:
        lines.append(f"     and {rest}   ({share})")
    return "\n".join(lines)


def row_html(row: RowExplanation) -> str:
    """Return one row's explanation as an HTML fragment; all text from the table is escaped."""
    note = rank_text(row.percentile) if row.evidence > 0 else "nothing unusual"
    head = (
        f"<strong>{escape(label_text(row.label))}</strong> &ensp;score "
        f"{escape(score_text(row.score))} &ensp;"
        f'<span style="{_MUTED}">{escape(note)}</span>'
    )
    if row.by_association:
        head += f" &ensp;<em>{escape(association_text(row))}</em>"
    items = "".join(
        f'<tr><td style="text-align:right;vertical-align:top;white-space:nowrap">'
        f"{reason.share:.0%}</td>"
        f'<td style="vertical-align:top;min-width:4em">{_bar(reason.share)}</td>'
        f'<td style="text-align:left">{escape(reason.text)}</td></tr>'
        for reason in row.reasons
    )
    rest, share = _rest_text(row)
    if rest:
        items += (
            f'<tr style="{_MUTED}"><td style="text-align:right">{share}</td>'
            f'<td></td><td style="text-align:left">{rest}</td></tr>'
        )
    return f'<div style="margin:.5em 0">{head}<table>{items}</table></div>'


def context_html(context: Context) -> str:
    """Return a context as an HTML fragment."""
    return (
        f"<div><strong>{escape(context.text)}</strong><br>"
        f'<span style="{_MUTED}">score {escape(score_text(context.score))}, found for '
        f"{escape(context.target)}, context {context.leaf}</span></div>"
    )


def _bar(share: float) -> str:
    return (
        f'<div style="background:currentColor;opacity:.5;height:.7em;margin-top:.25em;'
        f'width:{max(1, round(100 * share))}%"></div>'
    )
