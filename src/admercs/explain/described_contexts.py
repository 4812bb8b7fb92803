"""Contexts: the groups of similar rows a model has found, anomalous ones first."""

from __future__ import annotations

import math

import numpy as np

from admercs.arrays import Ints
from admercs.explain.access import Model, ModelAccess
from admercs.explain.column_words import join
from admercs.explain.model_words import ModelWords
from admercs.explain.records import Condition, Context, is_count
from admercs.explain.sentences import context_sentence, pattern_sentence

SAME_ROWS = 0.7  # Jaccard similarity from which two contexts hold nearly the same rows


def anomalous_contexts(model: Model, *, noun: str = "rows") -> list[Context]:
    """Return the anomalous contexts, most anomalous first; the same rows once, with ``also``."""
    words = ModelWords(model, noun)
    groups: dict[int, list[int]] = {}
    for leaf, group in similar_contexts(words.access).items():
        groups.setdefault(group, []).append(leaf)
    contexts = [
        _context(words, leaves[0], tuple(_context(words, leaf) for leaf in leaves[1:]))
        for leaves in groups.values()
    ]
    # The first of a group may have a slightly lower score than the next group's.
    return sorted(contexts, key=lambda context: -context.score)


def describe_context(model: Model, leaf: int, *, noun: str = "rows") -> Context:
    """Describe any leaf: its conditions, what is typical there, how anomalous it is.

    Raises a ValueError if there is no such leaf.

    Examples
    --------
    >>> from admercs import ADMERCS
    >>> model = ADMERCS().fit([["cat", "meow"], ["dog", "woof"]] * 100)
    >>> leaf = model.explain([["cat", "woof"]])[0].reasons[0].context
    >>> print(describe_context(model.model_, leaf, noun="pets"))
    Pets with x1 = woof (n = 100) typically have x0 = dog (100%).
    """
    words = ModelWords(model, noun)
    if not is_count(leaf) or leaf >= words.access.n_nodes:
        last = words.access.n_nodes - 1
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
        return -score, len(access.ranges(leaf)), -access.size(leaf), leaf

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
    attribute, node = access.attribute_of(leaf), access.scoring_node(leaf)
    target = access.columns[attribute].name
    conditions = words.conditions(leaf)
    typical = words.typical(attribute, node)
    if leaf in access.members:
        text = context_sentence(words.subject(leaf), access.mean_score(leaf))
        text += _also_text(words, target, conditions, also)
    else:
        text = pattern_sentence(words.subject(node), words.column(attribute).name, typical)
    return Context(
        leaf=leaf,
        target=target,
        conditions=conditions,
        n=access.size(leaf),
        score=math.exp(access.log_score(leaf)),
        members=tuple(access.members.get(leaf, np.empty(0, np.int64)).tolist()),
        typical=typical,
        also=also,
        text=text,
    )


def _also_text(
    words: ModelWords, target: str, conditions: tuple[Condition, ...], also: tuple[Context, ...]
) -> str:
    """Name further attributes in which nearly the same rows stand out, except the conditions'."""
    told = {target, *(each.attribute for each in conditions)}
    names = [name for name in dict.fromkeys(other.target for other in also) if name not in told]
    if not names:
        return ""
    return f" Nearly the same {words.noun.plural} stand out for {join(names, 'and')}."
