"""Turns the parts of the scores of rows into reasons; the same finding seen twice is one."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from admercs.arrays import Bools, Floats, Ints, ShortInts
from admercs.explain import sentences
from admercs.explain.access import association
from admercs.explain.column_words import ColumnWords
from admercs.explain.model_findings import similar_contexts
from admercs.explain.model_words import ModelWords
from admercs.explain.part_words import is_clock, is_part, typical_parts
from admercs.explain.records import (
    Reason,
    ReasonKind,
    RowExplanation,
    Typical,
    is_count,
    label_text,
)
from admercs.explain.relation_words import broken_sentence
from admercs.explain.repairs import RepairWords
from admercs.explain.stated_words import (
    StatedCell,
    StatedSource,
    stated_expectation,
    stated_sentence,
    visible,
)
from admercs.pipeline.repair_search import Repaired, Replacement

if TYPE_CHECKING:
    from admercs.explain.scored_rows import ScoredRows

# Kinds of reasons are named as the parts of the evidence.
KINDS: tuple[ReasonKind, ...] = ("pattern", "context", "isolation", "neighbours")
# Reasons about the row as a whole; they are listed behind the others.
OF_ROW = ("isolation", "neighbours")
NEGLIGIBLE = 1e-3  # a part of the evidence not worth a reason of its own
MIN_SHARE = 0.02  # weaker reasons are left to the rest
# Of similar rows and of attributes in which rows differ, so many are named, if they contribute at
# least half as much as the first.
NAMED_ROWS, NAMED_ATTRIBUTES, NAMED_SHARE = 3, 2, 0.5
# Rows that are compared with training rows in one go: one by one they take 30 times as long.
TOGETHER = 128
# A view represents its relation only if it is at least this strong, relative to the strongest.
_STRONG = 0.5
# The culprit's own view comes first if it is at least this strong, relative to all that follows
# from it. A view follows from it if the repair leaves at most half of its evidence.
_OWN, _LEFT = 0.1, 0.5
# Two repairs of different cells remove the same if the second removes at least this share.
_SAME = 0.99


class RowLists(NamedTuple):
    """What is known of a row, by attribute: lists are read faster than arrays, one by one."""

    number: int
    values: list[float]
    leaves: list[int]
    nodes: list[int]
    log_omega: list[float]
    cells: list[float]
    relations: list[int]  # by which values are scored, or -1
    evidence: dict[ReasonKind, list[float]]


@dataclass(slots=True)
class EvidenceView:
    """One part of the evidence: an attribute of the row, compared with the rows of a node."""

    kind: ReasonKind
    attribute: int
    leaf: int
    node: int
    evidence: float
    attributes: frozenset[int]  # the attributes involved
    total: float  # its evidence and that of the views that are the same finding
    also: tuple[EvidenceView, ...] = ()  # these
    culprits: tuple[int, ...] = ()  # the attributes whose wrong values the others follow from

    def add(self, others: Sequence[EvidenceView]) -> None:
        """Join others that are the same finding."""
        self.also += tuple(others)
        self.total = self.evidence + sum([view.total for view in self.also])


class RowExplainer:
    """Explains rows that were scored together."""

    def __init__(
        self, words: ModelWords, rows: ScoredRows, repaired: Repaired, usual: float,
        top: int | None,
    ) -> None:  # fmt: skip
        """Get ready for giving at most ``top`` reasons; None for all."""
        if top is not None and not is_count(top):
            raise ValueError(f"top must be None or a number of reasons, 0 or more; it is {top!r}")
        self.words, self.access, self.top = words, words.access, top
        self.repaired, self.repair_words, self.usual = repaired, RepairWords(words, usual), usual
        self.values, self.rows, parts = rows.values, rows, rows.parts
        evidence = {kind: getattr(parts, kind) for kind in KINDS}
        self.evidence = {kind: each for kind, each in evidence.items() if each is not None}
        self._totals = {
            kind: self.evidence[kind].sum(axis=0) for kind in OF_ROW if kind in self.evidence
        }
        # Anomalous contexts (leaves) with nearly the same rows have a common number.
        self.groups = similar_contexts(self.access)
        self.names = [self.access.column_name(m) for m in range(len(self.access.columns))]
        self._used = {column.position: m for m, column in enumerate(self.access.columns)}
        self._stated_ones = set(np.flatnonzero(self.access.model.schema.is_stated).tolist())
        sources = {m: self.access.columns[m].sources[0] for m in self._stated_ones}
        self._told = {
            m: self._used[source] for m, source in sources.items() if source in self._used
        }
        self.cells = parts.cells()
        self.association = association(parts)
        self._involved = cache(lambda m, node: frozenset((m, *self.access.ranges(node))))
        self.percentiles = self.access.percentiles(self.cells.sum(axis=0))
        model = self.access.model
        likelihoods, leaves = parts.log_likelihoods(model), self.access.leaves(parts)
        relations = np.full((), -1) if parts.relation is None else parts.relation
        arrays = self.values, leaves, parts.nodes(model), likelihoods, self.cells, relations
        self._arrays = np.broadcast_arrays(*arrays)
        self._lists = lru_cache(1)(self._as_lists)
        self._compared = lru_cache(1)(self._compare)

    def _as_lists(self, first: int) -> list[RowLists]:
        """Return rows from one on as lists."""
        some = slice(first, first + TOGETHER)
        lists = [array[:, some].T.tolist() for array in self._arrays]
        evidence = {kind: array[:, some].T.tolist() for kind, array in self.evidence.items()}
        return [
            RowLists._make((k, *row, {kind: each[k - first] for kind, each in evidence.items()}))
            for k, row in enumerate(zip(*lists, strict=True), first)
        ]

    def explain(self, row: int, label: Any) -> RowExplanation:
        """Explain one row."""
        here, top = self._lists(row - row % TOGETHER)[row % TOGETHER], self.top
        evidence = math.fsum(here.cells)
        # Nearly every cell has a trace of evidence; merging traces would only take time.
        negligible = 0.0 if top is None else NEGLIGIBLE * evidence
        found = self.repaired.replacements[row]
        is_told = evidence > self.usual and bool(found) and found[0].removed > evidence / 2
        culprits = found[0].cells if is_told and not _is_open(found) else ()
        views = self._merged_views(here, negligible, culprits)
        listed = views
        if top is not None:
            listed = [view for view in views[:top] if view.total >= MIN_SHARE * evidence]
        listed = sorted(listed, key=lambda view: view.kind in OF_ROW)
        rest = evidence - math.fsum([view.total for view in listed])
        unknown = self.rows.unknown[row]
        repairs = tuple(
            [self.repair_words.repair(one, here.values, unknown, evidence) for one in found]
        )
        return RowExplanation(
            label=label,
            score=-math.expm1(-evidence),
            evidence=evidence,
            percentile=float(self.percentiles[row]),
            reasons=tuple([self._reason(view, here, evidence) for view in listed]),
            rest=max(0.0, rest) if len(listed) < len(views) or negligible else 0.0,
            n_rest=len(views) - len(listed),
            by_association=bool(self.association[row] > evidence / 2),
            cells=_by_name(self.names, here.cells),
            repairs=repairs,
            repair_text=repairs[0].text if is_told else "",
            beyond_training=self.access.is_beyond_training(evidence),
        )

    def _merged_views(
        self, here: RowLists, negligible: float, culprits: tuple[int, ...]
    ) -> list[EvidenceView]:
        """Return the views of a row with more evidence than ``negligible``, strongest first.

        What follows from a wrong value of the ``culprits`` comes before all others.
        """
        patterns = self._views("pattern", here.nodes, here, negligible)
        for view in patterns:
            if (relation := here.relations[view.attribute]) >= 0:
                view.kind = "relation"
                view.attributes |= {*self.access.model.related[relation]}
        causes, others = self._folded(patterns, here.number, culprits)
        contexts = self._views("context", here.leaves, here, negligible)
        views = _merge_relations(others) + _merge_contexts(contexts, self.groups)
        for kind, totals in self._totals.items():
            if (total := float(totals[here.number])) > negligible:
                amounts = self.evidence[kind][:, here.number]
                m = int(np.where(self._is_relation, 0.0, amounts).argmax())
                node = self.access.roots[m]
                involved = self._involved(m, node)
                views.append(EvidenceView(kind, m, here.leaves[m], node, total, involved, total))
        return causes + _strongest_first(views)

    def _views(
        self, kind: ReasonKind, nodes: list[int], here: RowLists, negligible: float
    ) -> list[EvidenceView]:
        """Return the views of one kind, the strongest first."""
        amounts = enumerate(here.evidence.get(kind, ()))
        strong = sorted([(-each, m) for m, each in amounts if each > negligible])
        return [
            EvidenceView(
                kind, m, here.leaves[m], nodes[m], -less, self._involved(m, nodes[m]), -less
            )
            for less, m in strong
        ]

    def _folded(
        self, views: list[EvidenceView], row: int, culprits: tuple[int, ...]
    ) -> tuple[list[EvidenceView], list[EvidenceView]]:
        """Fold what follows from wrong values under the views of these; return both kinds.

        Of all the strongest come first.
        """
        if not culprits:
            return [], views
        left = self.repaired.pattern[:, row]
        explained = [view for view in views if left[view.attribute] <= _LEFT * view.evidence]
        if not explained:
            return [], views
        least = _OWN * sum(view.evidence for view in explained)
        own = [view for view in explained if self._is_of(culprits, view) and view.evidence >= least]
        causes = [group[0] for group in _relations(own or explained[:1])]
        others = [view for view in views if view not in causes]
        follows = [
            view
            for view in others
            if view in explained or any(_mirrors(view, cause) for cause in causes)
        ]
        causes[0].culprits = culprits
        causes[0].add(follows)
        return causes, [view for view in others if view not in follows]

    def _is_of(self, culprits: tuple[int, ...], view: EvidenceView) -> bool:
        """Tell whether a view is about one of some cells, be it another facet of it."""
        cells = {self.access.columns[m].sources[0] for m in culprits}
        return self.access.columns[view.attribute].sources[0] in cells

    @cached_property
    def _is_relation(self) -> Bools:
        return np.isin(np.arange(len(self.values)), list(self.access.model.related))

    def _reason(self, view: EvidenceView, here: RowLists, evidence: float) -> Reason:
        """Put a view, and those that are the same finding, into words."""
        attribute, others, kind = view.attribute, _flat(view), view.kind
        # What is stated about a cell is told of its column, if that is used itself.
        told = self._told.get(attribute, attribute)
        own, unseen = here.values[told], self.rows.unknown[here.number].get(told)
        column = self.words.column(told)
        raw = _raw_text(column, own, unseen)
        value = column.native(own)
        conditions, who = self.words.described(view.node, here.values)
        says: dict[str, Any] = {"value_text": column.value_text(own, raw), "conditions": conditions}
        cell = self.rows.stated[here.number].get(attribute)
        is_stated = cell is not None and attribute in self._stated_ones
        if is_stated and cell is not None:
            says |= self._stated(kind, cell, attribute, here)
        if kind == "context":
            score = self.access.mean_score(view.leaf)
            says["text"] = sentences.context_sentence(who, score)
        elif kind in OF_ROW:
            says |= self._neighbours(here) if kind == "neighbours" else self._isolation(here)
        elif not is_stated:
            says["likelihood"] = math.exp(here.log_omega[attribute])
            if kind == "relation":
                says |= self._broken(attribute, here)
            else:
                says["typical"] = typical = self.words.typical(view.node, own)
                shown = visible(cell.texts[0] or "") if cell else self._time(attribute, here.values)
                says["value_text"] = shown or says["value_text"]
                text = self._pattern(who, view.node, own, typical, (raw, shown))
                says["text"] = text + self._either(view, others, evidence)
        return Reason(
            kind=kind,
            context=view.leaf,
            node=view.node,
            n=self.access.sizes[view.node],
            evidence=view.total,
            share=view.total / evidence if evidence > 0 else 0.0,
            also=tuple([self._reason(other, here, evidence) for other in others]),
            **{
                "target": column.column.name,
                "value": unseen if value is None else value,
                "typical": None,
                "likelihood": None,
                **says,
            },
        )

    def _either(self, view: EvidenceView, others: list[EvidenceView], evidence: float) -> str:
        """Name the other attributes that do not fit, or that follow from wrong values."""
        n, least = len(view.culprits), MIN_SHARE * evidence
        if n:
            others = [o for o in others if o.evidence >= least]
            others = [o for o in others if not self._is_of(view.culprits, o)]
        names = [self.words.column(other.attribute).name for other in others]
        return sentences.consequences_sentence(names, n) if n else sentences.either_sentence(names)

    def _time(self, attribute: int, values: list[float]) -> str:
        """Return the time of day of a date of which the hour is looked at; else nothing."""
        if not is_clock(self.words.column(attribute)) or math.isnan(values[attribute]):
            return ""
        date = self._used[self.access.columns[attribute].sources[0]]
        moment = self.words.column(date).native(values[date])
        return f"{moment:%H:%M}" if isinstance(moment, dt.datetime) else ""

    def _pattern(
        self, who: str, node: int, own: float, typical: Typical, texts: tuple[str, str]
    ) -> str:
        """Say what is typical in a node, and how a value differs."""
        column = self.words.column(self.access.targets[node])
        clause = self.words.own_clause(node, own, typical, *texts)
        if column.is_typical(own, typical):
            more_frequent = column.more_frequent(own, typical)
            if more_frequent and is_part(column):
                more_frequent = typical_parts(column, [], own, more_frequent)
            elif more_frequent:
                more_frequent = f"{column.name} = {more_frequent}"
            return sentences.rarer_sentence(who, typical.text, more_frequent, clause)
        return sentences.pattern_sentence(who, column.whole_name, typical, clause)

    def _stated(
        self, kind: str, cell: StatedCell, attribute: int, here: RowLists
    ) -> dict[str, Any]:
        """Say what a facet states about a cell."""
        column, says, text = self.access.columns[attribute], {}, cell.texts[0]
        sources = [self._source(place) for place in column.sources]
        if attribute not in self._told:
            shown = f"{text}" if text is None else sources[0].write(text)
            says = {"target": self.names[attribute], "value": text, "value_text": shown}
        unread = self.rows.unknown[here.number].get(attribute) if text is None else None
        cell, log_omega = cell._replace(unread=unread), here.log_omega[attribute]
        if kind != "pattern" or log_omega == 0:
            return says
        said = stated_sentence(column, cell, sources, self.words.noun)
        usual = stated_expectation(column, cell, sources[0])
        return says | {"likelihood": math.exp(log_omega), "text": said, "expected_text": usual}

    def _source(self, place: int) -> StatedSource:
        """Return the name of a column of the table, and how what facets know of it is written."""
        name, attribute = self.access.model.schema.columns[place].name, self._used.get(place)
        if attribute is None or self.access.columns[attribute].display not in ("number", "integer"):
            return StatedSource(name)
        words = self.words.column(attribute)
        origin = words.column.origin
        return StatedSource(words.name, lambda text: words.value_text(float(text) - origin))

    def _broken(self, attribute: int, here: RowLists) -> dict[str, Any]:
        """Name the other columns of a relation that a row breaks, and say how it does."""
        relation = here.relations[attribute]
        others = [m for m in self.access.model.related[relation] if m != attribute]
        related = tuple(self.access.columns[m].name for m in others)
        text = broken_sentence(self.words, relation, self.values[:, here.number])
        return {"conditions": (), "related": related, "text": text}

    def _neighbours(self, here: RowLists) -> dict[str, Any]:
        """Name the training rows that a row is most like, and what is unusual about them."""
        weights = self._near(here.number)[0]
        numbers, added = self.access.odd_neighbours(weights)
        found = [int(numbers[k]) for k in _foremost(added, NAMED_ROWS + 1)]
        # A training row is compared with itself, too.
        own = label_text(self.rows.labels[here.number])
        others = [number for number in found if self.rows.names(number) != own]
        rows = (others or found)[:NAMED_ROWS]
        labels = [self.rows.names(number) for number in rows]
        names = self._foremost_names(self.evidence["neighbours"][:, here.number])
        text = sentences.neighbours_sentence(self.words.noun, labels, names)
        return {"rows": tuple(rows), "labels": tuple(labels), "text": text}

    def _isolation(self, here: RowLists) -> dict[str, Any]:
        """Name the nearest training row, and in what it differs."""
        _, nearest, apart = self._near(here.number)
        names = self._foremost_names(apart.astype(float)) if apart.any() else []
        # A row that differs in one column only is much like it, however few of them there are.
        far = bool(self._is_far[here.number] and np.count_nonzero(apart) > 1)
        label = self.rows.names(nearest)
        text = sentences.isolation_sentence(self.words.noun, label, names, far=far)
        return {"rows": (nearest,), "labels": (label,), "text": text}

    def _near(self, row: int) -> tuple[Floats, int, ShortInts]:
        """Return how near training rows are to a row, the nearest one, and how it differs."""
        place = int(np.searchsorted(self._is_compared, row))
        weights, nearest, apart = self._compared(place - place % TOGETHER)
        place %= TOGETHER
        return weights[place], int(nearest[place]), apart[:, place]

    @cached_property
    def _is_compared(self) -> Ints:
        """The rows of which something may be told that comes from comparing them with others."""
        least = 0.0 if self.top is None else MIN_SHARE / 2 * self.cells.sum(axis=0)
        return np.flatnonzero(np.any([each > least for each in self._totals.values()], axis=0))

    def _compare(self, first: int) -> tuple[Floats, Ints, ShortInts]:
        some = self._is_compared[first : first + TOGETHER]
        return self.access.nearest_rows(np.ascontiguousarray(self.values[:, some]))

    @cached_property
    def _is_far(self) -> Bools:
        return self.access.is_far(self.values)

    def _foremost_names(self, amounts: Floats) -> list[str]:
        names = (self.words.column(m).name for m in _foremost(amounts, NAMED_ATTRIBUTES))
        return list(dict.fromkeys(names))


def _raw_text(column: ColumnWords, own: float, unseen: str | None) -> str:
    """Return what a cell holds that the model does not know; texts that are no values in quotes."""
    raw = "" if unseen is None else column.category(unseen)
    return f'"{raw.strip(chr(34))}"' if raw and (math.isnan(own) or column.is_kind) else raw


def _is_open(found: list[Replacement]) -> bool:
    """Tell whether a repair of other cells removes as much as the first: either may be wrong."""
    first, *others = found
    return any(
        each.removed >= _SAME * first.removed and not {*each.cells} & {*first.cells}
        for each in others
    )


def _by_name(names: list[str], amounts: list[float]) -> dict[str, float]:
    """Add up what is credited to the same column."""
    total = dict(zip(names, amounts, strict=True))
    if len(total) == len(names):
        return total
    total = dict.fromkeys(names, 0.0)
    for name, amount in zip(names, amounts, strict=True):
        total[name] += amount
    return total


def _foremost(amounts: Floats, most: int) -> list[int]:
    """Return the place of the largest amount, and of others that are half as large."""
    order = np.argsort(-amounts, kind="stable")[:most]
    places: list[int] = order[amounts[order] >= NAMED_SHARE * amounts.max()].tolist()
    return places


def _flat(view: EvidenceView) -> list[EvidenceView]:
    """Return the views that are the same finding, without nesting."""
    if not view.also:
        return []
    views = [each for other in view.also for each in (_alone(other), *_flat(other))]
    return sorted(views, key=lambda other: -other.evidence)


def _alone(view: EvidenceView) -> EvidenceView:
    """Return a view without those that are the same finding."""
    return replace(view, also=(), total=view.evidence) if view.also else view


def _strongest_first(views: list[EvidenceView]) -> list[EvidenceView]:
    return sorted(views, key=lambda view: (-view.total, view.attribute))


def _merge_relations(views: list[EvidenceView]) -> list[EvidenceView]:
    """Join views of one relation; of views, the strongest come first."""
    groups = _relations(views)
    if len(groups) == len(views):
        return views
    chosen = [_representative(group, views) for group in groups]
    # The view that represents a group may have more conditions than its strongest one, and so may
    # be the same finding as another group's.
    groups = _relations(_strongest_first(chosen))
    for first, *others in groups:
        if others:
            first.add(others)
    return [group[0] for group in groups]


def _relations(views: list[EvidenceView]) -> list[list[EvidenceView]]:
    """Group views of one relation: each one's target is among the conditions of the strongest."""
    groups: list[list[EvidenceView]] = []
    place: dict[int, int] = {}  # of the group that begins with an attribute
    for view in views:
        mirrored = [
            place[m]
            for m in view.attributes
            if m in place and view.attribute in groups[place[m]][0].attributes
        ]
        if mirrored:
            groups[min(mirrored)].append(view)
        else:
            place[view.attribute] = len(groups)
            groups.append([view])
    return groups


def _mirrors(one: EvidenceView, other: EvidenceView) -> bool:
    """Tell whether each of two views is about the target of the other."""
    return one.attribute in other.attributes and other.attribute in one.attributes


def _representative(group: list[EvidenceView], views: list[EvidenceView]) -> EvidenceView:
    """Choose the view that represents a relation; the others are the same finding."""
    if len(group) == 1:
        return group[0]

    # When two values do not go together, the one that fits no other value is more likely wrong.
    def involved(view: EvidenceView) -> float:
        return sum(other.total for other in views if view.attribute in other.attributes)

    strong = [view for view in group if view.total >= _STRONG * group[0].total]
    chosen = max(strong, key=lambda view: (involved(view), view.total, -view.attribute))
    chosen.add([view for view in group if view is not chosen])
    return chosen


def _merge_contexts(views: list[EvidenceView], groups: dict[int, int]) -> list[EvidenceView]:
    """Join contexts with nearly the same rows; among equals, one listed elsewhere comes first."""
    kept: dict[int, EvidenceView] = {}

    def rank(view: EvidenceView) -> tuple[float, bool, int]:
        return -view.total, groups.get(view.leaf) != view.leaf, view.attribute

    for view in sorted(views, key=rank):
        first = kept.setdefault(groups.get(view.leaf, -1 - view.leaf), view)
        if first is not view:
            first.add([view])
    return list(kept.values())
