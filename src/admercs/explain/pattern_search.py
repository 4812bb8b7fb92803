"""The strongest normal patterns of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from admercs.arrays import Floats
from admercs.explain.access import Model, ModelAccess
from admercs.explain.model_words import ModelWords
from admercs.explain.records import Pattern, is_count
from admercs.explain.sentences import converse_sentence, pattern_sentence


def patterns(model: Model, top: int | None = 20, *, noun: str = "rows") -> list[Pattern]:
    """Return the ``top`` strongest normal patterns, the same relation once; None for all.

    The strength of a pattern is the share of its rows times the relative entropy of the target
    there against the whole table, in nats.

    Examples
    --------
    >>> from admercs import ADMERCS
    >>> model = ADMERCS().fit([["cat", "meow"], ["dog", "woof"]] * 100)
    >>> print(patterns(model.model_, top=1, noun="pets")[0])
    Pets with x1 = woof (n = 100) typically have x0 = dog (100%). Conversely, x1 follows from x0.
    """
    if top is not None and not is_count(top):
        raise ValueError(f"top must be None or a number of patterns, 0 or more; it is {top!r}")
    words = ModelWords(model, noun)
    kept: list[_Candidate] = []
    for candidate in _candidates(words.access):
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
    return [_pattern(words, candidate) for candidate in kept]


@dataclass
class _Candidate:
    node: int
    attribute: int
    strength: float
    mode: float  # the most likely working value
    also: list[_Candidate] = field(default_factory=list)


def _candidates(access: ModelAccess) -> list[_Candidate]:
    """Return the nodes that score leaves, the most informative first."""
    found = []
    for node in access.scoring_nodes():
        attribute = access.attribute_of(node)
        root = access.root(attribute)
        continuous = access.is_continuous(attribute)
        information = _continuous_information if continuous else _discrete_information
        nats, mode = information(access, node, root)
        missing, missing_root = (access.n_missing(each) for each in (node, root))
        n, n_root = (max(1, access.size(each)) for each in (node, root))
        recorded = 1.0 - missing / n
        # Whether there is a value at all is part of the information.
        presence = _relative_entropy(
            np.array([missing, n - missing]) / n,
            np.array([missing_root, n_root - missing_root]) / n_root,
        )
        nats = presence + (recorded * nats if recorded > 0 else 0.0)
        strength = nats * access.size(node) / access.model.n_rows
        found.append(_Candidate(node, attribute, strength, mode if recorded >= 0.5 else math.nan))
    return sorted(found, key=lambda candidate: (-candidate.strength, candidate.node))


def _discrete_information(access: ModelAccess, node: int, root: int) -> tuple[float, float]:
    """Return the relative entropy of a node against the whole table, and its mode."""
    counts, whole = access.value_counts(node), access.value_counts(root)
    known = access.columns[access.attribute_of(node)].distinct
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
    one = access.attributes(first.node) | 1 << first.attribute
    two = access.attributes(second.node) | 1 << second.attribute
    if one & two not in (one, two) or not one >> second.attribute & two >> first.attribute & 1:
        return False
    for each, other in ((first, second), (second, first)):
        allowed = access.ranges(other.node)[each.attribute]
        nominal = access.columns[each.attribute].role == "nominal"
        if not allowed.contains(np.array([each.mode]), nominal=nominal)[0]:
            return False
    return True


def _pattern(words: ModelWords, candidate: _Candidate) -> Pattern:
    access, name = words.access, words.column(candidate.attribute).name
    typical = words.typical(candidate.attribute, candidate.node)
    sides = dict.fromkeys(words.column(other.attribute).name for other in candidate.also)
    text = pattern_sentence(words.subject(candidate.node), name, typical)
    return Pattern(
        node=candidate.node,
        target=access.columns[candidate.attribute].name,
        conditions=words.conditions(candidate.node),
        typical=typical,
        n=access.size(candidate.node),
        strength=candidate.strength,
        also=tuple(_pattern(words, other) for other in candidate.also),
        text=text + converse_sentence(name, list(sides)),
    )
