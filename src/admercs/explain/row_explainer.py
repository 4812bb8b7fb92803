"""Turns the parts of the scores of rows into reasons."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admercs.explain.access import ScoreParts
from admercs.explain.described_contexts import similar_contexts
from admercs.explain.evidence_views import EvidenceView, merged_views
from admercs.explain.model_words import ModelWords
from admercs.explain.records import Reason, RowExplanation, Typical, Value, is_count
from admercs.explain.sentences import (
    apart_sentence,
    context_sentence,
    either_sentence,
    neighbours_sentence,
    pattern_sentence,
    rarer_sentence,
)

__all__ = ["RowExplainer"]

RawText = Callable[[int, int], str | None]

NEGLIGIBLE = 1e-3  # a part of the evidence not worth a reason of its own
MIN_SHARE = 0.02  # weaker reasons are left to the rest
# Of similar rows and of attributes in which rows differ, so many are named, if they contribute at
# least half as much as the first.
NAMED_ROWS, NAMED_ATTRIBUTES, NAMED_SHARE = 3, 2, 0.5
TOLD_FACTOR = 1.05  # a smaller factor of the evidence is not mentioned


class RowExplainer:
    """Explains rows that were scored together.

    Parameters
    ----------
    words : ModelWords
        Puts the model into words.
    values : ndarray of float64, attributes x rows
        The working values of the rows.
    parts : ScoreParts
        What scoring them returned.
    raw : callable
        ``raw(attribute, row)`` returns the text in the table; it is asked only for categories that
        the model does not know.
    training_name : callable
        Names a training row, given by its number.
    """

    def __init__(
        self,
        words: ModelWords,
        values: NDArray[np.float64],
        parts: ScoreParts,
        raw: RawText,
        training_name: Callable[[int], str],
    ) -> None:
        self.words, self.access = words, words.access
        self.values, self.parts = values, parts
        self.raw = raw
        self.training_name = training_name
        self.groups = similar_contexts(self.access)
        self.names = [column.name for column in self.access.columns]
        self.cells = parts.cells()
        self.association = parts.association()
        self.percentiles = self.access.percentiles(self.cells.sum(axis=0))

    def explain(self, row: int, label: Any, top: int | None) -> RowExplanation:
        """Explain one row with at most ``top`` reasons; None for all."""
        if top is not None and not is_count(top):
            raise ValueError(f"top must be None or a number of reasons, 0 or more; it is {top!r}")
        cells = self.cells[:, row].tolist()
        evidence = math.fsum(cells)
        # Nearly every cell has a trace of evidence; merging traces would only take time.
        negligible = 0.0 if top is None else NEGLIGIBLE * evidence
        views = merged_views(self.access, self.parts, row, self.groups, negligible)
        listed = views
        if top is not None:
            listed = [view for view in views[:top] if view.total >= MIN_SHARE * evidence]
        listed = sorted(listed, key=lambda view: view.kind == "neighbours")
        rest = evidence - math.fsum(view.total for view in listed)
        return RowExplanation(
            label=label,
            score=-math.expm1(-evidence),
            evidence=evidence,
            percentile=float(self.percentiles[row]),
            reasons=tuple(self._reason(view, row, evidence) for view in listed),
            rest=max(0.0, rest) if len(listed) < len(views) or negligible else 0.0,
            n_rest=len(views) - len(listed),
            by_association=bool(self.association[row] > evidence / 2),
            factor=float(self.parts.factor[row]),
            apart=self._apart(row) if listed else "",
            cells=dict(zip(self.names, cells, strict=True)),
        )

    def _reason(self, view: EvidenceView, row: int, evidence: float) -> Reason:
        """Put a view, and those that are the same finding, into words."""
        own = float(self.values[view.attribute, row])
        raw = self._raw_category(view.attribute, row)
        reason = Reason(
            kind=view.kind,
            target=self.names[view.attribute],
            value=self._native(view.attribute, row, raw),
            value_text=self.words.value_text(view.attribute, own, raw),
            conditions=self.words.conditions(view.node, self.values[:, row]),
            typical=None,
            n=self.access.size(view.node),
            likelihood=None,
            evidence=view.total,
            share=view.total / evidence if evidence > 0 else 0.0,
            context=view.leaf,
            node=view.node,
            also=tuple(self._reason(other, row, evidence) for other in _flat(view)),
        )
        if view.kind == "context":
            who = self.words.subject(view.node, self.values[:, row])
            return replace(reason, text=context_sentence(who, self.access.mean_score(view.leaf)))
        if view.kind == "neighbours":
            return self._neighbours(reason, row)
        typical = self.words.typical(view.attribute, view.node, own)
        return replace(
            reason,
            typical=typical,
            likelihood=math.exp(self.parts.log_omega[view.attribute, row]),
            text=self._pattern_text(view, row, typical, raw) + self._either(reason),
        )

    def _pattern_text(self, view: EvidenceView, row: int, typical: Typical, raw: str) -> str:
        words, attribute = self.words, view.attribute
        own = float(self.values[attribute, row])
        who = words.subject(view.node, self.values[:, row])
        clause = words.own_clause(attribute, view.node, own, typical, raw)
        if words.is_typical(attribute, own, typical):
            more_frequent = words.more_frequent(attribute, own, typical)
            return rarer_sentence(who, typical.text, more_frequent, clause)
        return pattern_sentence(who, words.column(attribute).name, typical, clause)

    def _either(self, reason: Reason) -> str:
        """Name the other attributes of the same finding."""
        sides = [self.words.column(self.names.index(each.target)).name for each in reason.also]
        return either_sentence(sides)

    def _neighbours(self, reason: Reason, row: int) -> Reason:
        """Add the training rows that a row is most like, and what is unusual about them."""
        numbers, added = self.access.odd_neighbours(self.values[:, row])
        rows = [int(numbers[k]) for k in _foremost(added, NAMED_ROWS)]
        labels = [self.training_name(number) for number in rows]
        names = self._foremost_names(self.parts.neighbours[:, row])
        text = neighbours_sentence(self.words.noun, labels, names)
        return replace(reason, rows=tuple(rows), labels=tuple(labels), text=text)

    def _apart(self, row: int) -> str:
        """State that no row is much like a row, if its evidence grows much for that."""
        if self.parts.factor[row] < TOLD_FACTOR:
            return ""
        nearest, apart = self.access.nearest_row(self.values[:, row])
        names = self._foremost_names(apart) if apart.any() else []
        return apart_sentence(self.words.noun, self.training_name(nearest), names)

    def _foremost_names(self, amounts: NDArray[np.float64]) -> list[str]:
        return [self.words.column(m).name for m in _foremost(amounts, NAMED_ATTRIBUTES)]

    def _raw_category(self, attribute: int, row: int) -> str:
        """Return the text of a category that the model does not know."""
        column = self.access.columns[attribute]
        if column.role != "nominal" or not self.values[attribute, row] > len(column.categories):
            return ""
        return self.words.column(attribute).category(self.raw(attribute, row))

    def _native(self, attribute: int, row: int, raw: str) -> Value:
        value = self.words.column(attribute).native(float(self.values[attribute, row]))
        # As the table has it: the text may be in quotes.
        return self.raw(attribute, row) if value is None and raw else value


def _foremost(amounts: NDArray[np.float64], most: int) -> list[int]:
    """Return the place of the largest amount, and of others that are half as large."""
    order = np.argsort(-amounts, kind="stable")[:most]
    places: list[int] = order[amounts[order] >= NAMED_SHARE * amounts.max()].tolist()
    return places


def _flat(view: EvidenceView) -> list[EvidenceView]:
    """Return the views that are the same finding, without nesting."""
    views: list[EvidenceView] = []
    for other in view.also:
        views.extend([replace(other, also=[]), *_flat(other)])
    return sorted(views, key=lambda other: -other.evidence)
