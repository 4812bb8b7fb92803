"""Sentences made of conditions, typical values and a row's own value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from admercs.explanation.reasons import Condition, Typical
from admercs.explanation.values import join

__all__ = [
    "Noun",
    "apart_sentence",
    "context_sentence",
    "neighbours_sentence",
    "own_clause",
    "pattern_sentence",
    "strain_sentence",
    "subject",
]

TYPICALLY = 0.9  # of the rows; what fewer have, or lack, they only mostly do
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}


@dataclass(frozen=True)
class Noun:
    """What a row is called.

    Examples
    --------
    >>> Noun.of("cars"), Noun.of("companies"), Noun.of("people").singular
    (Noun(plural='cars', singular='car'), Noun(plural='companies', singular='company'), 'person')
    """

    plural: str
    singular: str

    @classmethod
    def of(cls, plural: str) -> Noun:
        """Derive the singular from the plural; ValueError if there is no word at all."""
        if not isinstance(plural, str) or not plural.strip():
            raise ValueError(
                f"noun must say what rows are called, such as 'cars'; it is {plural!r}"
            )
        if plural in _IRREGULAR:
            return cls(plural, _IRREGULAR[plural])
        if plural.endswith("ies"):
            return cls(plural, f"{plural[:-3]}y")
        if plural.endswith(("sses", "xes", "ches", "shes")):
            return cls(plural, plural[:-2])
        return cls(plural, plural.removesuffix("s"))


def subject(noun: Noun, conditions: Sequence[Condition], n: int) -> str:
    """Name the rows a sentence speaks of."""
    if not conditions:
        return f"All {noun.plural}"
    listed = join([condition.text for condition in conditions], "and")
    return f"{noun.plural[:1].upper()}{noun.plural[1:]} with {listed} (n = {n:,})"


def pattern_sentence(who: str, typical: Typical, own: str = "") -> str:
    """State a pattern and, if given, how a row breaks it."""
    presence = typical.kind in {"missing", "recorded"}
    how = "mostly" if presence and typical.share < TYPICALLY else "typically"
    return f"{who} {how} have {typical.text}{f', but {own}' if own else ''}."


def strain_sentence(who: str, typical: str, commoner: str, own: str) -> str:
    """State that a row's value is typical, but among the rarer ones.

    ``commoner`` names the more frequent values if those are what most rows have.
    """
    if commoner:
        return f"{who} mostly have {commoner}, but {own}."
    return f"{who} typically have {typical}; {own}, one of the rarer values."


def context_sentence(who: str, guilt: float) -> str:
    """State that a context is anomalous, given the mean score of its rows."""
    how = "nearly all" if guilt >= 0.9 else "mostly" if guilt >= 0.75 else "often"
    return f"{who} are {how} anomalous."


def neighbours_sentence(noun: Noun, names: list[str]) -> str:
    """State that the rows most like a row are odd, and in which attributes.

    Examples
    --------
    >>> neighbours_sentence(Noun.of("cars"), ["price", "doors"])
    'The cars most like this car are odd as well, mostly in price and doors.'
    """
    return (
        f"The {noun.plural} most like this {noun.singular} are odd as well, mostly in "
        f"{join(names, 'and')}."
    )


def apart_sentence(noun: Noun, factor: float, names: list[str]) -> str:
    """State that even the rows most like a row are far away, in which attributes, and what that means.

    Examples
    --------
    >>> print(apart_sentence(Noun.of("cars"), 1.26, ["weight"]))
    All of this counts 1.3 times: the cars most like this car are further away than usual, mostly in weight.
    """
    return (
        f"All of this counts {factor:.1f} times: the {noun.plural} most like this {noun.singular} are further "
        f"away than usual, mostly in {join(names, 'and')}."
    )


def own_clause(noun: Noun, name: str, value: str, *, named: bool, note: str = "") -> str:
    """Say what a row has instead of what is typical."""
    shown = f"{name} = {value}" if named else value
    return f"this {noun.singular} has {shown}{note}"
