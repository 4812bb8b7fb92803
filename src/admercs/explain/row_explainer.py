"""Turns the parts of the scores of rows into reasons."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from admercs.arrays import Floats
from admercs.explain.access import ScoreParts
from admercs.explain.described_contexts import similar_contexts
from admercs.explain.evidence_views import EvidenceView, merged_views
from admercs.explain.model_words import ModelWords
from admercs.explain.records import Reason, RowExplanation, Typical, is_count
from admercs.explain.sentences import (
    context_sentence,
    either_sentence,
    isolation_sentence,
    neighbours_sentence,
    pattern_sentence,
    rarer_sentence,
)

NEGLIGIBLE = 1e-3  # a part of the evidence not worth a reason of its own
MIN_SHARE = 0.02  # weaker reasons are left to the rest
# Of similar rows and of attributes in which rows differ, so many are named, if they contribute at
# least half as much as the first.
NAMED_ROWS, NAMED_ATTRIBUTES, NAMED_SHARE = 3, 2, 0.5


class RowExplainer:
    """Explains rows that were scored together, from their working values (attributes x rows).

    ``unknown`` has for each row the categories that the model does not know, by attribute, as
    text; ``training_name`` names a training row, given by its number.
    """

    def __init__(
        self,
        words: ModelWords,
        values: Floats,
        parts: ScoreParts,
        unknown: Sequence[Mapping[int, str | None]],
        training_name: Callable[[int], str],
    ) -> None:
        self.words, self.access = words, words.access
        self.values, self.parts = values, parts
        self.unknown, self.training_name = unknown, training_name
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
        listed = sorted(listed, key=lambda view: view.kind in ("isolation", "neighbours"))
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
            cells=dict(zip(self.names, cells, strict=True)),
        )

    def _reason(self, view: EvidenceView, row: int, evidence: float) -> Reason:
        """Put a view, and those that are the same finding, into words."""
        own = float(self.values[view.attribute, row])
        column, unseen = self.words.column(view.attribute), self.unknown[row].get(view.attribute)
        raw = "" if unseen is None else column.category(unseen)
        value = column.native(own)
        reason = Reason(
            kind=view.kind,
            target=self.names[view.attribute],
            value=unseen if value is None else value,
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
        if view.kind == "isolation":
            return self._isolation(reason, row)
        typical = self.words.typical(view.attribute, view.node, own)
        sides = [self.words.column(other.attribute).name for other in _flat(view)]
        return replace(
            reason,
            typical=typical,
            likelihood=math.exp(self.parts.log_omega[view.attribute, row]),
            text=self._pattern_text(view, row, typical, raw) + either_sentence(sides),
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

    def _neighbours(self, reason: Reason, row: int) -> Reason:
        """Add the training rows that a row is most like, and what is unusual about them."""
        numbers, added = self.access.odd_neighbours(self.values[:, row])
        rows = [int(numbers[k]) for k in _foremost(added, NAMED_ROWS)]
        labels = [self.training_name(number) for number in rows]
        names = self._foremost_names(self.parts.neighbours[:, row])
        text = neighbours_sentence(self.words.noun, labels, names)
        return replace(reason, rows=tuple(rows), labels=tuple(labels), text=text)

    def _isolation(self, reason: Reason, row: int) -> Reason:
        """Add the nearest training row, and in what it differs."""
        nearest, apart, far = self.access.nearest_row(self.values[:, row])
        names = self._foremost_names(apart) if apart.any() else []
        label = self.training_name(nearest)
        text = isolation_sentence(self.words.noun, label, names, far=far)
        return replace(reason, rows=(nearest,), labels=(label,), text=text)

    def _foremost_names(self, amounts: Floats) -> list[str]:
        return [self.words.column(m).name for m in _foremost(amounts, NAMED_ATTRIBUTES)]


def _foremost(amounts: Floats, most: int) -> list[int]:
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
