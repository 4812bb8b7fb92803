"""The points of view from which a row looks odd, and which of them say the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from admercs.detector.model import Judgement
from admercs.explanation.voice import Voice

__all__ = ["View", "merged_views"]

# A view speaks for its relation only if it is at least so strong, compared with the strongest.
_SPEAKS = 0.5


@dataclass
class View:
    """One piece of evidence: what an attribute looks like from one node."""

    kind: Literal["pattern", "context", "neighbours"]
    attribute: int
    leaf: int
    node: int  # the node it is compared with
    evidence: float
    attributes: int  # the attributes involved, as bits
    also: list[View] = field(default_factory=list)

    @property
    def total(self) -> float:
        """Its evidence and that of the views that say the same."""
        return (
            self.evidence + sum([view.total for view in self.also]) if self.also else self.evidence
        )


def merged_views(
    voice: Voice,
    judgement: Judgement,
    row: int,
    groups: Mapping[int, int],
    negligible: float = 0.0,
) -> list[View]:
    """Return the views of a row with evidence, the same oddity once, strongest first.

    Parameters
    ----------
    voice : Voice
        Speaks for the model.
    judgement : Judgement
        What the model says about the rows.
    row : int
        Which of those rows.
    groups : mapping of int to int
        Leaves that are anomalous contexts with nearly the same rows, by a common number.
    negligible : float, default=0
        Views with no more evidence than this are left out.
    """
    patterns: list[View] = []
    contexts: list[View] = []
    for attribute in np.flatnonzero(judgement.pattern[:, row] > negligible).tolist():
        leaf, node = (int(nodes[attribute, row]) for nodes in (judgement.leaf, judgement.node))
        evidence = float(judgement.pattern[attribute, row])
        involved = 1 << attribute | voice.paths.attributes(node)
        patterns.append(View("pattern", attribute, leaf, node, evidence, involved))
    for attribute in np.flatnonzero(judgement.context[:, row] > negligible).tolist():
        leaf = int(judgement.leaf[attribute, row])
        evidence = float(judgement.context[attribute, row])
        involved = voice.paths.attributes(leaf)
        contexts.append(View("context", attribute, leaf, leaf, evidence, involved))
    views = _merge_relations(patterns) + _merge_contexts(contexts, groups)
    heard = judgement.neighbours[:, row]
    evidence = float(heard.sum())
    if evidence > negligible:
        attribute = int(heard.argmax())
        leaf, root = int(judgement.leaf[attribute, row]), int(voice.model.forest.root[attribute])
        views.append(View("neighbours", attribute, leaf, root, evidence, 1 << attribute))
    return sorted(views, key=lambda view: (-view.total, view.attribute))


def _merge_relations(views: list[View]) -> list[View]:
    """Join views of one relation: each one's target is among the other's conditions.

    Both may have further conditions: each tree chooses its own helpers.
    """
    groups: list[list[View]] = []
    for view in sorted(views, key=lambda view: (-view.total, view.attribute)):
        for group in groups:
            if _mutual(view, group[0]):
                group.append(view)
                break
        else:
            groups.append([view])
    kept: list[View] = []
    # Who speaks may have more conditions than the strongest view, and so say what another group says.
    for view in sorted(
        (_joined(group, views) for group in groups), key=lambda view: (-view.total, view.attribute)
    ):
        same = next((other for other in kept if _mutual(view, other)), None)
        (kept if same is None else same.also).append(view)
    return kept


def _mutual(one: View, other: View) -> bool:
    """Tell whether each of two views has the other's target among its conditions."""
    return bool(one.attributes >> other.attribute & other.attributes >> one.attribute & 1)


def _joined(group: list[View], views: list[View]) -> View:
    """Let one view of a relation speak for all.

    When two values do not go together, either may be wrong. The one that is at odds with other
    values too is the more likely culprit.
    """
    if len(group) == 1:
        return group[0]

    def blame(view: View) -> float:
        return sum(other.total for other in views if other.attributes >> view.attribute & 1)

    strong = [view for view in group if view.total >= _SPEAKS * group[0].total]
    speaker = max(strong, key=lambda view: (blame(view), view.total, -view.attribute))
    speaker.also.extend(view for view in group if view is not speaker)
    return speaker


def _merge_contexts(views: list[View], groups: Mapping[int, int]) -> list[View]:
    """Join contexts that hold nearly the same rows; among equals the one that speaks for them elsewhere."""
    kept: dict[int, View] = {}
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
