"""The parts of a row's evidence, and which of them are the same finding seen twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from admercs.arrays import Floats, ShortInts
from admercs.explain.access import ModelAccess, ScoreParts
from admercs.explain.records import ReasonKind

# A view represents its relation only if it is at least this strong, relative to the strongest.
_STRONG = 0.5


@dataclass
class EvidenceView:
    """One part of the evidence: an attribute of the row, compared with the rows of a node."""

    kind: ReasonKind
    attribute: int
    leaf: int
    node: int
    evidence: float
    attributes: int  # the attributes involved, as bits
    also: list[EvidenceView] = field(default_factory=list)

    @property
    def total(self) -> float:
        """Its evidence and that of the views that are the same finding."""
        return self.evidence + sum([view.total for view in self.also])


def merged_views(
    access: ModelAccess,
    parts: ScoreParts,
    row: int,
    groups: Mapping[int, int],
    negligible: float = 0.0,
) -> list[EvidenceView]:
    """Return the views of a row with more evidence than ``negligible``, strongest first.

    ``groups`` maps anomalous contexts (leaves) with nearly the same rows to a common number.
    """

    def views_of(kind: ReasonKind, amounts: Floats, nodes: ShortInts) -> list[EvidenceView]:
        found = []
        for attribute in np.flatnonzero(amounts[:, row] > negligible).tolist():
            leaf, node = (int(each[attribute, row]) for each in (parts.leaf, nodes))
            involved = access.attributes(node) | (1 << attribute if kind == "pattern" else 0)
            evidence = float(amounts[attribute, row])
            found.append(EvidenceView(kind, attribute, leaf, node, evidence, involved))
        return found

    patterns = views_of("pattern", parts.pattern, parts.node)
    contexts = views_of("context", parts.context, parts.leaf)
    views = _merge_relations(patterns) + _merge_contexts(contexts, groups)
    by_rows: dict[ReasonKind, Floats]
    by_rows = {"isolation": parts.isolation, "neighbours": parts.neighbours}
    for kind, amounts in by_rows.items():
        evidence = float(amounts[:, row].sum())
        if evidence > negligible:
            attribute = int(amounts[:, row].argmax())
            leaf, root = int(parts.leaf[attribute, row]), access.root(attribute)
            views.append(EvidenceView(kind, attribute, leaf, root, evidence, 1 << attribute))
    return _strongest_first(views)


def _strongest_first(views: list[EvidenceView]) -> list[EvidenceView]:
    return sorted(views, key=lambda view: (-view.total, view.attribute))


def _merge_relations(views: list[EvidenceView]) -> list[EvidenceView]:
    """Join views of one relation: each one's target is among the other's conditions."""
    groups: list[list[EvidenceView]] = []
    for view in _strongest_first(views):
        for group in groups:
            if _mutual(view, group[0]):
                group.append(view)
                break
        else:
            groups.append([view])
    kept: list[EvidenceView] = []
    # The view that represents a group may have more conditions than its strongest one, and so may
    # be the same finding as another group's.
    for view in _strongest_first([_joined(group, views) for group in groups]):
        same = next((other for other in kept if _mutual(view, other)), None)
        (kept if same is None else same.also).append(view)
    return kept


def _mutual(one: EvidenceView, other: EvidenceView) -> bool:
    """Tell whether each of two views has the other's target among its conditions."""
    return bool(one.attributes >> other.attribute & other.attributes >> one.attribute & 1)


def _joined(group: list[EvidenceView], views: list[EvidenceView]) -> EvidenceView:
    """Choose the view that represents a relation."""

    # When two values do not go together, the one that fits no other value is more likely wrong.
    def involved(view: EvidenceView) -> float:
        return sum(other.total for other in views if other.attributes >> view.attribute & 1)

    strong = [view for view in group if view.total >= _STRONG * group[0].total]
    chosen = max(strong, key=lambda view: (involved(view), view.total, -view.attribute))
    chosen.also.extend(view for view in group if view is not chosen)
    return chosen


def _merge_contexts(views: list[EvidenceView], groups: Mapping[int, int]) -> list[EvidenceView]:
    """Join contexts with nearly the same rows; among equals, one listed elsewhere comes first."""
    kept: dict[int, EvidenceView] = {}
    order = sorted(
        views, key=lambda view: (-view.total, groups.get(view.leaf) != view.leaf, view.attribute)
    )
    for view in order:
        group = groups.get(view.leaf, -1 - view.leaf)
        if group in kept:
            kept[group].also.append(view)
        else:
            kept[group] = view
    return list(kept.values())
