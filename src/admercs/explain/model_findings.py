"""What a model has found: anomalous contexts, and the strongest normal patterns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from admercs.arrays import Floats, Ints
from admercs.explain.access import Model, ModelAccess
from admercs.explain.column_words import join
from admercs.explain.model_words import ModelWords
from admercs.explain.records import Context, Pattern, is_count
from admercs.explain.relation_words import relation_patterns
from admercs.explain.sentences import context_sentence, converse_sentence, pattern_sentence

SAME_ROWS = 0.7  # Jaccard similarity from which two contexts hold nearly the same rows


def anomalous_contexts(model: Model, *, noun: str = "rows") -> list[Context]:
    """Return the anomalous contexts, most anomalous first; the same rows once, with ``also``."""
    words = ModelWords(model, noun)
    groups: dict[int, list[int]] = {}
    for leaf, group in similar_contexts(words.access).items():
        groups.setdefault(group, []).append(leaf)
    contexts = [
        _context(words, first, tuple(_context(words, leaf) for leaf in others))
        for first, *others in groups.values()
    ]
    # The first of a group may have a slightly lower score than the next group's.
    return sorted(contexts, key=lambda context: -context.score)


def describe_context(model: Model, leaf: int, *, noun: str = "rows") -> Context:
    """Describe any leaf: its conditions, what is typical there, how anomalous it is."""
    words = ModelWords(model, noun)
    last = len(words.access.sizes) - 1
    if not is_count(leaf) or leaf > last:
        raise ValueError(f"there is no context {leaf!r}: the nodes are 0 to {last}")
    if not words.access.is_leaf(leaf):
        raise ValueError(f"node {leaf} is not a context: only leaves are")
    return _context(words, int(leaf))


def similar_contexts(access: ModelAccess) -> dict[int, int]:
    """Group anomalous contexts that hold nearly the same rows: leaf -> the group's first leaf."""
    members = access.members

    def rank(leaf: int) -> tuple[float, ...]:
        # Of equal scores, the simplest description represents the others.
        score = round(access.log_score(leaf), 2)
        return -score, len(access.ranges(leaf)), -access.sizes[leaf], leaf

    groups: dict[int, int] = {}
    for leaf in sorted(members, key=rank):
        firsts = (other for other, group in groups.items() if other == group)
        alike = (first for first in firsts if _alike(members[first], members[leaf]))
        groups[leaf] = next(alike, leaf)
    return groups


def _alike(first: Ints, second: Ints) -> bool:
    """Tell whether two ascending lists of rows are nearly the same."""
    smaller, larger = sorted((len(first), len(second)))
    if not smaller or larger > 2 * smaller:
        return False
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common >= SAME_ROWS * (len(first) + len(second) - common)


def _context(words: ModelWords, leaf: int, also: tuple[Context, ...] = ()) -> Context:
    access = words.access
    attribute, node = access.targets[leaf], access.scoring_node(leaf)
    target, (conditions, who) = access.columns[attribute].name, words.described(leaf)
    typical = words.typical(node)
    if leaf in access.members:
        text = context_sentence(who, access.mean_score(leaf))
        # Further attributes in which nearly the same rows stand out, except the conditions'.
        told = {target, *(each.attribute for each in conditions)}
        names = [name for name in dict.fromkeys(each.target for each in also) if name not in told]
        if names:
            text += f" Nearly the same {words.noun.plural} stand out for {join(names, 'and')}."
    else:
        text = pattern_sentence(
            words.described(node)[1], words.column(attribute).whole_name, typical
        )
    return Context(
        leaf=leaf,
        target=target,
        conditions=conditions,
        n=access.sizes[leaf],
        score=math.exp(access.log_score(leaf)),
        members=tuple(access.members.get(leaf, np.empty(0, np.int64)).tolist()),
        typical=typical,
        also=also,
        text=text,
    )


def patterns(model: Model, top: int | None = 20, *, noun: str = "rows") -> list[Pattern]:
    """Return the ``top`` strongest normal patterns, the same relation once; None for all.

    The strength of a pattern is the share of its rows times the relative entropy of the target
    there against the whole table, in nats.
    """
    if top is not None and not is_count(top):
        raise ValueError(f"top must be None or a number of patterns, 0 or more; it is {top!r}")
    words = ModelWords(model, noun)
    is_stated, targets = model.schema.is_stated, words.access.targets
    silent = {m for m, stated in enumerate(is_stated) if stated} | set(model.related)
    nodes = [node for node in words.access.scoring_nodes() if targets[node] not in silent]
    found = [_candidate(words.access, node) for node in nodes]
    kept: list[_Candidate] = []
    for candidate in sorted(found, key=lambda each: (-each.strength, each.node)):
        for other in kept:
            if candidate.attribute == other.attribute:
                if words.access.nested(candidate.node, other.node):
                    break
            elif _mirrors(words.access, candidate, other):
                other.also.append(candidate)
                break
        else:
            if top is None or len(kept) < top:
                kept.append(candidate)
    known = relation_patterns(model, noun=noun)[:top]
    return (
        known
        + [_pattern(words, each) for each in kept][: None if top is None else top - len(known)]
    )


@dataclass
class _Candidate:
    node: int
    attribute: int
    strength: float
    mode: float  # the most likely working value
    also: list[_Candidate] = field(default_factory=list)


def _candidate(access: ModelAccess, node: int) -> _Candidate:
    """Tell how informative a node is about its target."""
    attribute = access.targets[node]
    root, recorded = access.roots[attribute], 1.0 - access.share_missing(node)
    continuous = access.continuous[attribute]
    information = _continuous_information if continuous else _discrete_information
    nats, mode = information(access, node, root)
    # Whether there is a value at all is part of the information.
    counts = ((access.n_missing(each), access.sizes[each]) for each in (node, root))
    here, overall = (np.array([missing, n - missing]) / n for missing, n in counts)
    nats = _relative_entropy(here, overall) + recorded * nats
    strength = nats * access.sizes[node] / access.model.n_rows
    return _Candidate(node, attribute, strength, mode if recorded >= 0.5 else math.nan)


def _discrete_information(access: ModelAccess, node: int, root: int) -> tuple[float, float]:
    """Return the relative entropy of a node against the whole table, and its mode."""
    counts, whole = access.value_counts(node), access.value_counts(root)
    known = access.columns[access.targets[node]].distinct
    place = int(counts.argmax())
    nats = _relative_entropy(counts / max(1, counts.sum()), whole / max(1, whole.sum()))
    return nats, float(known[place]) if known else float(place + 1)


def _relative_entropy(share: Floats, overall: Floats) -> float:
    here = (share > 0) & (overall > 0)
    return max(0.0, float(share[here] @ np.log(share[here] / overall[here])))


def _continuous_information(access: ModelAccess, node: int, root: int) -> tuple[float, float]:
    """Return the relative entropy of a density against the whole table's, and its mode."""
    (x, logs), (x_root, logs_root) = access.log_curve(node), access.log_curve(root)
    if not len(x) or not len(x_root):
        return 0.0, math.nan
    floor = access.log_floor(root)
    there = np.maximum(np.interp(x, x_root, logs_root, left=floor, right=floor), floor)
    mass = np.exp(logs)
    mass /= mass.sum()
    return max(0.0, float(mass @ (logs - there))), float(x[logs.argmax()])


def _mirrors(access: ModelAccess, first: _Candidate, second: _Candidate) -> bool:
    """Tell whether the conditions of two patterns ask for what is typical in the other one."""
    one, two = ({each.attribute, *access.ranges(each.node)} for each in (first, second))
    if not (one <= two or two <= one) or second.attribute not in one or first.attribute not in two:
        return False
    pairs = ((first, second), (second, first))
    asked = [(access.ranges(other.node)[each.attribute], each.mode) for each, other in pairs]
    return all(allowed.contains(np.array([mode]))[0] for allowed, mode in asked)


def _pattern(words: ModelWords, candidate: _Candidate) -> Pattern:
    access, column = words.access, words.column(candidate.attribute)
    typical = words.typical(candidate.node)
    sides = dict.fromkeys(words.column(other.attribute).name for other in candidate.also)
    conditions, who = words.described(candidate.node)
    text = pattern_sentence(who, column.whole_name, typical)
    return Pattern(
        node=candidate.node,
        target=access.columns[candidate.attribute].name,
        conditions=conditions,
        typical=typical,
        n=access.sizes[candidate.node],
        strength=candidate.strength,
        also=tuple(_pattern(words, other) for other in candidate.also),
        text=text + converse_sentence(column.name, list(sides)),
    )
