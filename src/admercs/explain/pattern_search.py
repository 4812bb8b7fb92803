"""The strongest normal patterns of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from admercs.explain.access import Model, ModelAccess
from admercs.explain.model_words import ModelWords
from admercs.explain.records import Pattern, is_count
from admercs.explain.sentences import converse_sentence, pattern_sentence

__all__ = ["patterns"]


def patterns(model: Model, top: int | None = 20, *, noun: str = "rows") -> list[Pattern]:
    """Return the normal patterns that tell most about the table, the same relation once.

    The strength of a pattern is the share of its rows times the relative entropy of the target
    there against the whole table, in nats.

    Parameters
    ----------
    model : Model
        A fitted model.
    top : int or None, default=20
        The most patterns returned; None for all.
    noun : str, default="rows"
        What the rows are called, in the plural.

    Returns
    -------
    patterns : list of Pattern
        Strongest first; the same relation seen from its other attributes is in ``also``.

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
    root_curve = lru_cache(len(access.columns))(access.log_curve)
    for node in access.scoring_nodes():
        attribute = access.attribute_of(node)
        root = access.root(attribute)
        if access.is_continuous(attribute):
            nats, mode = _continuous_information(access, node, root, root_curve(root))
        else:
            nats, mode = _discrete_information(access, attribute, node, root)
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


def _discrete_information(
    access: ModelAccess, attribute: int, node: int, root: int
) -> tuple[float, float]:
    """Return the relative entropy of a node against the whole table, and its mode."""
    counts, whole = access.value_counts(node), access.value_counts(root)
    known = access.columns[attribute].distinct
    place = int(counts.argmax())
    nats = _relative_entropy(counts / max(1, counts.sum()), whole / max(1, whole.sum()))
    return nats, float(known[place]) if known else float(place + 1)


def _relative_entropy(share: NDArray[np.float64], overall: NDArray[np.float64]) -> float:
    here = (share > 0) & (overall > 0)
    return max(0.0, float(share[here] @ np.log(share[here] / overall[here])))


def _continuous_information(
    access: ModelAccess,
    node: int,
    root: int,
    root_curve: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[float, float]:
    """Return the relative entropy of a density against the whole table's, and its mode."""
    x, logs = access.log_curve(node)
    x_root, logs_root = root_curve
    if not len(x) or not len(x_root):
        return 0.0, math.nan
    floor = access.log_floor(root)
    there = np.maximum(np.interp(x, x_root, logs_root, left=floor, right=floor), floor)
    mass = np.exp(logs)
    mass /= mass.sum()
    return max(0.0, float(mass @ (logs - there))), float(x[logs.argmax()])


def _mirrors(access: ModelAccess, first: _Candidate, second: _Candidate) -> bool:
    """Tell whether two patterns are one relation seen from two of its attributes.

    Each one's target is among the other's conditions, and what is typical in one satisfies the
    other's condition.
    """
    one = access.attributes(first.node) | 1 << first.attribute
    two = access.attributes(second.node) | 1 << second.attribute
    if one & two not in (one, two) or not one >> second.attribute & two >> first.attribute & 1:
        return False
    there, here = access.ranges(second.node), access.ranges(first.node)
    return all(
        ranges[each.attribute].contains(
            each.mode, nominal=access.columns[each.attribute].role == "nominal"
        )
        for ranges, each in ((there, first), (here, second))
    )


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
