"""Explains rows: turns the model's judgement into reasons."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from admercs.detector.fit import QUANTILE_LEVELS
from admercs.detector.model import Judgement, Model
from admercs.explanation.collection import Explanations
from admercs.explanation.contexts import similar_contexts
from admercs.explanation.plain import Value, is_count
from admercs.explanation.reasons import Reason, RowExplanation
from admercs.explanation.sentences import (
    apart_sentence,
    context_sentence,
    neighbours_sentence,
    pattern_sentence,
    strain_sentence,
    subject,
)
from admercs.explanation.values import join
from admercs.explanation.views import View, merged_views
from admercs.explanation.voice import Voice

__all__ = ["explain_rows"]

Raw = Callable[[int, int], object]

NEGLIGIBLE = 1e-3  # a part of the evidence not worth a reason of its own
_SAME = 1e-12  # sums of the same numbers in another order
MIN_SHARE = 0.02  # weaker reasons are left to the rest
# Of a row's neighbours, of what is odd about them and of what sets them apart from it so many are named, if they
# say half as much as the first.
NAMED_ROWS, NAMED_ATTRIBUTES, NAMED_SHARE = 3, 2, 0.5
TOLD_FACTOR = 1.05  # by what evidence must be multiplied, at least, to be told


def explain_rows(
    model: Model,
    values: NDArray[np.float64],
    judgement: Judgement,
    labels: Sequence[Any] | None = None,
    top: int | None = 3,
    *,
    noun: str = "rows",
    raw: Raw | None = None,
    frame: Literal["pandas", "polars"] | None = None,
) -> Explanations:
    r"""Explain rows that a model has judged.

    Parameters
    ----------
    model : Model
        The fitted model; it is only read.
    values : ndarray of float64, one row per attribute
        The working values of the rows.
    judgement : Judgement
        What the model says about these rows.
    labels : sequence, optional
        What the rows are called; by default their numbers 0, 1, …
    top : int or None, default=3
        The most reasons given per row; 0 gives none (only scores), None all, even those that
        make up less than two per cent of the evidence.
    noun : str, default="rows"
        What the rows are called, in the plural: "cars" makes "Cars with …".
    raw : callable, optional
        ``raw(attribute, row)`` returns what the table holds there; it is asked only for categories
        that the model does not know.
    frame : {"pandas", "polars"}, optional
        The kind of frame that ``to_frame`` makes unless told otherwise.

    Returns
    -------
    explanations : Explanations
        One `RowExplanation` per row, in the order of the rows.

    Raises
    ------
    ValueError
        If ``top`` is negative or the number of labels is wrong.

    Examples
    --------
    The estimator's ``explain`` judges the rows and calls this function.

    >>> from admercs import ADMERCS
    >>> model = ADMERCS().fit([["cat", "meow"], ["dog", "woof"]] * 100)
    >>> reason = model.explain([["cat", "woof"]], noun="pets")[0].reasons[0]
    >>> reason.target, reason.value, reason.n
    ('x0', 'cat', 100)
    >>> print(reason.text.replace(", but", ",\nbut"))
    Pets with x1 = woof (n = 100) typically have x0 = dog (100%),
    but this pet has x0 = cat (none of 100). Also seen from x1.
    """
    n_rows = values.shape[1]
    if top is not None and not is_count(top):
        raise ValueError(f"top must be None or a number of reasons, 0 or more; it is {top!r}")
    if labels is not None and len(labels) != n_rows:
        raise ValueError(f"there are {len(labels)} labels for {n_rows} rows")
    teller = _Teller(Voice(model, noun), values, judgement, top, raw)
    names = range(n_rows) if labels is None else labels
    return Explanations(tuple(teller.explain(i, names[i]) for i in range(n_rows)), frame)


class _Teller:
    """Explains one row after the other."""

    def __init__(
        self,
        voice: Voice,
        values: NDArray[np.float64],
        judgement: Judgement,
        top: int | None,
        raw: Raw | None,
    ) -> None:
        self.voice = voice
        self.values = values
        self.judgement = judgement
        self.top = top
        self.raw = raw
        self.groups = similar_contexts(voice.model)
        self.names = [column.name for column in voice.model.schema.used]
        self.cells = judgement.cells()
        self.association = judgement.association()
        self.percentiles = _percentiles(voice.model, self.cells.sum(axis=0))

    def explain(self, row: int, label: Any) -> RowExplanation:
        cells = self.cells[:, row].tolist()
        evidence = math.fsum(cells)
        # Nearly every cell has a trace of evidence; merging traces would only take time.
        negligible = 0.0 if self.top is None else NEGLIGIBLE * evidence
        views = merged_views(self.voice, self.judgement, row, self.groups, negligible)
        listed = views
        if self.top is not None:
            listed = [view for view in views[: self.top] if view.total >= MIN_SHARE * evidence]
        # What a row did itself comes first, what company it keeps last.
        listed = sorted(listed, key=lambda view: view.kind == "neighbours")
        rest = evidence - math.fsum(view.total for view in listed)
        return RowExplanation(
            label=label,
            score=-math.expm1(-evidence),
            evidence=evidence,
            percentile=float(self.percentiles[row]),
            reasons=tuple(self.reason(view, row, evidence) for view in listed),
            rest=max(0.0, rest) if len(listed) < len(views) or negligible else 0.0,
            n_rest=len(views) - len(listed),
            by_association=bool(self.association[row] > evidence / 2),
            factor=float(self.judgement.factor[row]),
            apart=self.apart(row) if listed else "",
            cells=dict(zip(self.names, cells, strict=True)),
        )

    def reason(self, view: View, row: int, evidence: float) -> Reason:
        """Put a view, and those that say the same, into words."""
        voice, own = self.voice, float(self.values[view.attribute, row])
        raw = self.raw_text(view.attribute, row)
        conditions = voice.conditions(view.node, self.values[:, row])
        n = int(voice.model.forest.n[view.node])
        who = subject(voice.noun, conditions, n)
        typical = likelihood = None
        rows: tuple[int, ...] = ()
        if view.kind == "context":
            text = context_sentence(who, voice.guilt(view.leaf))
        elif view.kind == "neighbours":
            rows = self.odd_neighbours(row)
            text = neighbours_sentence(voice.noun, self.foremost(self.judgement.neighbours[:, row]))
        else:
            typical = voice.typical(view.attribute, view.node, own)
            likelihood = math.exp(self.judgement.log_omega[view.attribute, row])
            clause = voice.own(view.attribute, view.node, own, typical, raw)
            if voice.is_typical(view.attribute, own, typical):
                commoner = voice.commoner(view.attribute, own, typical)
                text = strain_sentence(who, typical.text, commoner, clause)
            else:
                text = pattern_sentence(who, typical, clause)
        also = tuple(self.reason(other, row, evidence) for other in _flat(view))
        return Reason(
            kind=view.kind,
            target=self.names[view.attribute],
            value=self.native(view.attribute, row, raw),
            value_text=voice.value_text(view.attribute, own, raw),
            conditions=conditions,
            typical=typical,
            n=n,
            likelihood=likelihood,
            evidence=view.total,
            share=view.total / evidence if evidence > 0 else 0.0,
            context=view.leaf,
            also=also,
            rows=rows,
            text=text + self.echo(view, also),
        )

    def odd_neighbours(self, row: int) -> tuple[int, ...]:
        """Return the training rows that say most about a row they are like."""
        known = self.voice.model.neighbours
        said = known.nearest(self.values[:, row]) * known.guilt.sum(axis=1)
        return tuple(known.row[_foremost(said, NAMED_ROWS)].tolist())

    def foremost(self, amounts: NDArray[np.float64]) -> list[str]:
        """Name the attributes with the largest amounts."""
        return [self.voice.column(m).name for m in _foremost(amounts, NAMED_ATTRIBUTES).tolist()]

    def apart(self, row: int) -> str:
        """Say that no row is much like a row, and by how much everything counts more for that."""
        factor = float(self.judgement.factor[row])
        if factor < TOLD_FACTOR:
            return ""
        known = self.voice.model.neighbours
        further = known.differences(self.values[:, [row]])[:, 0] - known.mostly
        return apart_sentence(self.voice.noun, factor, self.foremost(further))

    def echo(self, view: View, also: tuple[Reason, ...]) -> str:
        """Mention the other sides from which the same oddity is seen."""
        if view.kind == "context":
            return ""
        sides = [self.voice.column(self.names.index(other.target)).name for other in also]
        return f" Also seen from {join(sides, 'and')}." if sides else ""

    def raw_text(self, attribute: int, row: int) -> str:
        """Return the text of a category that the model does not know."""
        column = self.voice.model.schema.used[attribute]
        own = float(self.values[attribute, row])
        if self.raw is None or column.role != "nominal" or not own > len(column.categories):
            return ""
        return self.voice.column(attribute).category(self.raw(attribute, row))  # type: ignore[arg-type]

    def native(self, attribute: int, row: int, raw: str) -> Value:
        value = self.voice.column(attribute).native(float(self.values[attribute, row]))
        # As the table has it: the text may be in quotes.
        return self.raw(attribute, row) if value is None and raw and self.raw else value  # type: ignore[return-value]


def _foremost(amounts: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the place of the largest amount, and of others that are half as large."""
    order = np.argsort(-amounts, kind="stable")[:most]
    named = amounts[order] >= NAMED_SHARE * amounts.max()
    named[0] = True  # all may be negative
    return order[named]


def _flat(view: View) -> list[View]:
    """Return the views that say the same, without nesting."""
    views: list[View] = []
    for other in view.also:
        views.extend([View(**{**vars(other), "also": []}), *_flat(other)])
    return sorted(views, key=lambda other: -other.evidence)


def _percentiles(model: Model, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the percentage of training rows with less evidence than each row."""
    known = model.evidence_quantiles
    levels = np.interp(evidence, known, QUANTILE_LEVELS, left=0.0)
    # Rows alike have the same evidence, and then the same quantile at several levels: the lowest one counts.
    first = np.searchsorted(known, evidence * (1 - _SAME))
    first = np.minimum(first, len(known) - 1)
    alike = known[first] <= evidence * (1 + _SAME)
    return 100.0 * np.where(alike, np.minimum(levels, QUANTILE_LEVELS[first]), levels)
