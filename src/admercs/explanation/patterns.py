"""The strongest normal patterns of a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from admercs.density.likelihoods import CONTINUOUS, Likelihoods
from admercs.density.lookup import to_log_density
from admercs.detector.model import Model
from admercs.explanation.curves import log_density
from admercs.explanation.plain import is_count
from admercs.explanation.reasons import Pattern
from admercs.explanation.sentences import pattern_sentence, subject
from admercs.explanation.values import join
from admercs.explanation.voice import Voice

__all__ = ["patterns"]

Density = Callable[[int], tuple[NDArray[np.float64], NDArray[np.float64]]]


def patterns(model: Model, top: int | None = 20, *, noun: str = "rows") -> list[Pattern]:
    """Return the normal patterns that say most about the table, the same relation once.

    A pattern says much when its rows are many and their values differ clearly from those of the
    whole table: its strength is the share of its rows times the relative entropy of the target
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

    Raises
    ------
    ValueError
        If ``top`` is negative.

    Examples
    --------
    >>> from admercs import ADMERCS
    >>> model = ADMERCS().fit([["cat", "meow"], ["dog", "woof"]] * 100)
    >>> print(patterns(model.model_, top=1, noun="pets")[0])
    Pets with x1 = woof (n = 100) typically have x0 = dog (100%). Also seen from x1.
    """
    if top is not None and not is_count(top):
        raise ValueError(f"top must be None or a number of patterns, 0 or more; it is {top!r}")
    voice = Voice(model, noun)
    kept: list[_Candidate] = []
    for candidate in _candidates(voice):
        for other in kept:
            if candidate.attribute == other.attribute:
                if _nested(voice, candidate.node, other.node):
                    break
            elif _mirrors(voice, candidate, other):
                other.also.append(candidate)
                break
        else:
            if top is None or len(kept) < top:
                kept.append(candidate)
    return [_pattern(voice, candidate) for candidate in kept]


@dataclass
class _Candidate:
    node: int
    attribute: int
    strength: float
    mode: float  # the most likely working value
    also: list[_Candidate] = field(default_factory=list)


def _candidates(voice: Voice) -> list[_Candidate]:
    """Return the leaves' own judges that know more than the whole table, the most telling first."""
    model = voice.model
    forest, likelihoods = model.forest, model.likelihoods
    leaves = np.flatnonzero(forest.feature < 0)
    found = []
    density = lru_cache(forest.n_trees)(partial(log_density, likelihoods))  # of the roots
    for node in np.unique(forest.scorer[leaves]).tolist():
        if forest.parent[node] < 0:
            continue
        attribute = forest.tree_of(node)
        root = voice.slot(int(forest.root[attribute]))
        nats, mode = _information(likelihoods, attribute, voice.slot(node), root, density)
        strength = nats * float(forest.n[node]) / model.n_rows
        found.append(_Candidate(node, attribute, strength, mode))
    return sorted(found, key=lambda candidate: (-candidate.strength, candidate.node))


def _information(
    likelihoods: Likelihoods, attribute: int, slot: int, root: int, density: Density
) -> tuple[float, float]:
    """Return the relative entropy of a slot against the whole table, and its mode.

    Whether there is a value at all is part of the information.
    """
    n, n_root = (max(1, int(likelihoods.n[each])) for each in (slot, root))
    missing, missing_root = (int(likelihoods.n_missing[each]) for each in (slot, root))
    recorded = 1.0 - missing / n
    presence = _relative_entropy(
        np.array([missing, n - missing]) / n,
        np.array([missing_root, n_root - missing_root]) / n_root,
    )
    if recorded <= 0:
        return presence, math.nan
    if likelihoods.kind[attribute] == CONTINUOUS:
        nats, mode = _continuous_information(likelihoods, slot, root, density)
    else:
        counts, whole = (
            likelihoods.count[likelihoods.value_ptr[each] : likelihoods.value_ptr[each + 1]]
            for each in (slot, root)
        )
        nats = _relative_entropy(counts / counts.sum(), whole / whole.sum())
        start, stop = likelihoods.distinct_ptr[attribute : attribute + 2]
        place = int(counts.argmax())
        mode = float(likelihoods.distinct[start + place]) if stop > start else float(place + 1)
    return presence + recorded * nats, mode if recorded >= 0.5 else math.nan


def _relative_entropy(share: NDArray[np.float64], overall: NDArray[np.float64]) -> float:
    here = (share > 0) & (overall > 0)
    return max(0.0, float(share[here] @ np.log(share[here] / overall[here])))


def _continuous_information(
    likelihoods: Likelihoods, slot: int, root: int, density: Density
) -> tuple[float, float]:
    x, logs = log_density(likelihoods, slot)
    x_root, logs_root = density(root)
    if not len(x) or not len(x_root):
        return 0.0, math.nan
    floor = float(to_log_density(likelihoods, root, likelihoods.log_floor[root : root + 1])[0])
    there = np.maximum(np.interp(x, x_root, logs_root, left=floor, right=floor), floor)
    mass = np.exp(logs)
    mass /= mass.sum()
    return max(0.0, float(mass @ (logs - there))), float(x[logs.argmax()])


def _nested(voice: Voice, first: int, second: int) -> bool:
    """Tell whether one of two nodes of a tree lies below the other: both say nearly the same."""
    forest = voice.model.forest
    return second in forest.path(first) or first in forest.path(second)


def _mirrors(voice: Voice, first: _Candidate, second: _Candidate) -> bool:
    """Tell whether two patterns are one relation seen from two of its attributes.

    Each one's target is among the other's conditions, and what is typical in one is what the
    other demands.
    """
    one = voice.paths.attributes(first.node) | 1 << first.attribute
    two = voice.paths.attributes(second.node) | 1 << second.attribute
    if one & two not in (one, two) or not one >> second.attribute & two >> first.attribute & 1:
        return False
    there, here = voice.paths.ranges(second.node), voice.paths.ranges(first.node)
    used = voice.model.schema.used
    return all(
        ranges[each.attribute].contains(each.mode, nominal=used[each.attribute].role == "nominal")
        for ranges, each in ((there, first), (here, second))
    )


def _pattern(voice: Voice, candidate: _Candidate) -> Pattern:
    model = voice.model
    conditions = voice.conditions(candidate.node)
    n = int(model.forest.n[candidate.node])
    typical = voice.typical(candidate.attribute, candidate.node)
    text = pattern_sentence(subject(voice.noun, conditions, n), typical)
    sides = dict.fromkeys(voice.column(other.attribute).name for other in candidate.also)
    if sides:
        text += f" Also seen from {join(list(sides), 'and')}."
    return Pattern(
        node=candidate.node,
        target=model.schema.used[candidate.attribute].name,
        conditions=conditions,
        typical=typical,
        n=n,
        strength=candidate.strength,
        also=tuple(_pattern(voice, other) for other in candidate.also),
        text=text,
    )
