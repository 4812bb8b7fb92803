"""Explanations as plain text."""

from __future__ import annotations

from admercs.explanation.reasons import RowExplanation

__all__ = ["association_text", "label_text", "rank_text", "row_text", "score_text"]


def label_text(label: object) -> str:
    """Name a row: by its label, or by its number."""
    return label if isinstance(label, str) else f"row {label}"


def score_text(score: float) -> str:
    """Write a score so that it does not look perfect unless it is as good as that.

    Examples
    --------
    >>> score_text(0.981), score_text(0.9994), score_text(1 - 1e-12)
    ('0.98', '0.9994', '> 0.9999')
    """
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


def row_text(row: RowExplanation) -> str:
    """Write the explanation of one row: a heading and a line per reason."""
    head = [label_text(row.label), f"score {score_text(row.score)}"]
    if row.evidence <= 0:
        return "   ".join([*head, "nothing unusual"])
    head.append(rank_text(row.percentile))
    if row.by_association:
        head.append(association_text(row))
    lines = ["   ".join(head)]
    for rank, reason in enumerate(row.reasons, 1):
        share = f"({reason.share:.0%} of the evidence)" if rank == 1 else f"({reason.share:.0%})"
        lines.append(f"  {rank}. {reason.text}   {share}")
    if row.rest >= 0.005 * row.evidence and row.n_rest:
        what = "reason" if row.n_rest == 1 else "reasons"
        lines.append(f"     and {row.n_rest} weaker {what}   ({row.rest / row.evidence:.0%})")
    if row.apart:
        lines.append(f"     {row.apart}")
    return "\n".join(lines)
