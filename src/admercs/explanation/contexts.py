"""Contexts: the groups of rows a model has found, anomalous ones first."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from admercs.detector.model import Model
from admercs.explanation.plain import is_count
from admercs.explanation.reasons import Condition, Context
from admercs.explanation.sentences import context_sentence, pattern_sentence, subject
from admercs.explanation.values import join
from admercs.explanation.voice import Voice

__all__ = ["anomalous_contexts", "describe_context", "similar_contexts"]

SAME_ROWS = 0.7  # Jaccard similarity from which two contexts hold nearly the same rows


def anomalous_contexts(model: Model, *, noun: str = "rows") -> list[Context]:
    """Return the anomalous contexts, most anomalous first, nearly the same rows once.

    Parameters
    ----------
    model : Model
        A fitted model.
    noun : str, default="rows"
        What the rows are called, in the plural.

    Returns
    -------
    contexts : list of Context
        Each with the contexts of other attributes that hold nearly the same rows in ``also``.
    """
    voice = Voice(model, noun)
    groups: dict[int, list[int]] = {}
    for leaf, group in similar_contexts(model).items():
        groups.setdefault(group, []).append(leaf)
    contexts = [
        _context(voice, leaves[0], tuple(_context(voice, leaf) for leaf in leaves[1:]))
        for leaves in groups.values()
    ]
    # Who speaks for a group may have a score a trace below that of the next group's.
    return sorted(contexts, key=lambda context: -context.score)


def describe_context(model: Model, leaf: int, *, noun: str = "rows") -> Context:
    """Describe any leaf: its conditions, what is typical there, how anomalous it is.

    Parameters
    ----------
    model : Model
        A fitted model.
    leaf : int
        The number of a leaf, for example from ``Reason.context``.
    noun : str, default="rows"
        What the rows are called, in the plural.

    Returns
    -------
    context : Context
        The context.

    Raises
    ------
    ValueError
        If there is no such leaf.

    Examples
    --------
    >>> from admercs import ADMERCS
    >>> model = ADMERCS().fit([["cat", "meow"], ["dog", "woof"]] * 100)
    >>> leaf = model.explain([["cat", "woof"]])[0].reasons[0].context
    >>> print(describe_context(model.model_, leaf, noun="pets"))
    Pets with x1 = woof (n = 100) typically have x0 = dog (100%).
    """
    forest = model.forest
    if not is_count(leaf) or leaf >= len(forest.feature):
        raise ValueError(
            f"there is no context {leaf!r}: the nodes are 0 to {len(forest.feature) - 1}"
        )
    if forest.feature[leaf] >= 0:
        raise ValueError(f"node {leaf} is not a context: only leaves are")
    return _context(Voice(model, noun), int(leaf))


def similar_contexts(model: Model) -> dict[int, int]:
    """Group the anomalous contexts that hold nearly the same rows.

    Returns
    -------
    groups : dict of int to int
        Leaf → the leaf that speaks for its group. Ordered by score, then by the number of
        conditions (a simpler description speaks for the others), then by size.
    """
    voice = Voice(model)
    leaves = sorted(
        model.members,
        key=lambda leaf: (
            -round(float(model.log_lambda[leaf]), 2),
            len(voice.paths.ranges(leaf)),
            -int(model.forest.n[leaf]),
            leaf,
        ),
    )
    groups: dict[int, int] = {}
    speakers: list[int] = []
    for leaf in leaves:
        alike = (s for s in speakers if _alike(model.members[s], model.members[leaf]))
        groups[leaf] = next(alike, leaf)
        if groups[leaf] == leaf:
            speakers.append(leaf)
    return groups


def _alike(first: NDArray[np.int64], second: NDArray[np.int64]) -> bool:
    """Tell whether two ascending lists of rows are nearly the same."""
    if not len(first) or not len(second):
        return False
    # Long lists are cut short: compare only as far as both go.
    if max(len(first), len(second)) > 2 * min(len(first), len(second)):
        return False
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common >= SAME_ROWS * (len(first) + len(second) - common)


def _context(voice: Voice, leaf: int, also: tuple[Context, ...] = ()) -> Context:
    model = voice.model
    attribute = model.forest.tree_of(leaf)
    conditions = voice.conditions(leaf)
    n = int(model.forest.n[leaf])
    score = math.exp(float(model.log_lambda[leaf]))
    who = subject(voice.noun, conditions, n)
    scorer = voice.scorer(leaf)
    typical = voice.typical(attribute, scorer)
    if leaf in model.members:
        text = context_sentence(who, voice.guilt(leaf)) + _echo(voice, attribute, conditions, also)
    else:
        scoring = subject(voice.noun, voice.conditions(scorer), int(model.forest.n[scorer]))
        text = pattern_sentence(scoring, typical)
    return Context(
        leaf=leaf,
        target=model.schema.used[attribute].name,
        conditions=conditions,
        n=n,
        score=score,
        members=tuple(model.members.get(leaf, np.empty(0, np.int64)).tolist()),
        typical=typical,
        also=also,
        text=text,
    )


def _echo(
    voice: Voice, attribute: int, conditions: tuple[Condition, ...], also: tuple[Context, ...]
) -> str:
    """Say for which further attributes nearly the same rows stand out; those of the conditions are no news."""
    told = {voice.model.schema.used[attribute].name, *(each.attribute for each in conditions)}
    names = [name for name in dict.fromkeys(other.target for other in also) if name not in told]
    same = f"Nearly the same {voice.noun.plural}"
    return f" {same} stand out for {join(names, 'and')}." if names else ""
