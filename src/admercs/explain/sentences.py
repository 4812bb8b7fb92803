"""Sentences made of conditions, typical values and a row's own value."""

from __future__ import annotations

import re
from typing import NamedTuple

from admercs.explain.column_words import join, percent
from admercs.explain.records import Typical

TYPICALLY = 0.9  # the share of rows from which something is normal instead of most often so
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman"}


class Noun(NamedTuple):
    """What a row is called."""

    plural: str
    singular: str

    @classmethod
    def of(cls, plural: str) -> Noun:
        """Derive the singular from the plural; ValueError if there is no word at all."""
        if not isinstance(plural, str) or not plural.strip():
            given = f"it is {plural!r}"
            raise ValueError(f"noun must say what rows are called, such as 'cars'; {given}")
        if plural.endswith("ies"):
            return cls(plural, f"{plural[:-3]}y")
        if plural.endswith(("sses", "xes", "ches", "shes")):
            return cls(plural, plural[:-2])
        return cls(plural, _IRREGULAR.get(plural, plural.removesuffix("s")))


def _capital(text: str) -> str:
    """Begin a sentence with a word; a name that is no plain word keeps its spelling."""
    return text[:1].upper() + text[1:] if re.fullmatch(r"[a-z ,]+", text) else text


def _subject(names: list[str], listed: str = "") -> tuple[str, str]:
    """Return names as the subject of a sentence, and the ending of its verb.

    Whether a name such as "doors" or "breathes" is a plural cannot be told: its value is singular.
    """
    if len(names) == 1 and re.search(r"[a-z](?<![sui])s$", names[0]):
        return f"The value of {names[0]}", "s"
    # A name of its own spelling begins the list, or a plain word, which is written large.
    listed = listed or join(names, "and")
    return _capital(names[0]) + listed.removeprefix(names[0]), "" if len(names) > 1 else "s"


def subject(noun: Noun, conditions: list[str], n: int) -> str:
    """Name the rows a sentence is about."""
    if not conditions:
        return f"All {noun.plural}"
    rows = noun.plural[:1].upper() + noun.plural[1:]
    return f"{rows} with {join(conditions, 'and')} (n = {n:,})"


def pattern_sentence(who: str, name: str, typical: Typical, own: str = "") -> str:
    """State what is typical for an attribute and, if given, how a row differs."""
    but = f", but {own}" if own else ""
    if typical.kind not in {"missing", "recorded"}:
        return f"{who} typically have {typical.text}{but}."
    how = "normally" if typical.share >= TYPICALLY else "mostly"
    state = "empty" if typical.kind == "missing" else "recorded"
    here = "" if who.startswith("All ") else " here"
    return f"{who}: {name} is {how} {state}{here} ({percent(typical.share)}){but}."


def rarer_sentence(who: str, typical: str, more_frequent: str, own: str) -> str:
    """State that a row's value is typical, but rarer than the ``more_frequent`` ones, if given."""
    if more_frequent:
        return f"{who} mostly have {more_frequent}, but {own}."
    return f"{who} typically have {typical}; {own}, one of the rarer values."


def either_sentence(names: list[str]) -> str:
    """Name the other attributes that do not fit."""
    if not names:
        return ""
    who, ending = _subject(names)
    return f" {who} do{'es' if ending else ''} not fit either."


def consequences_sentence(names: list[str], n_wrong: int) -> str:
    """Name the attributes that are odd only because of one or two wrong values."""
    if not names:
        return ""
    more = f"{', '.join(names[:2])} and {len(names) - 2} more" if len(names) > 3 else ""
    who, ending = _subject(names, more)
    return f" {who} look{ending} odd only because of {'it' if n_wrong == 1 else 'these values'}."


def converse_sentence(target: str, names: list[str]) -> str:
    """Name the attributes that follow from the target of a pattern in turn."""
    verb = "follow" if len(names) > 1 else "follows"
    return f" Conversely, {join(names, 'and')} {verb} from {target}." if names else ""


def context_sentence(who: str, mean_score: float) -> str:
    """State that a context is anomalous, given the mean score of its rows."""
    how = "nearly all" if mean_score >= 0.9 else "mostly" if mean_score >= 0.75 else "often"
    return f"{who} are {how} anomalous."


def neighbours_sentence(noun: Noun, rows: list[str], names: list[str]) -> str:
    """State that the rows most like a row are anomalous, and in which attributes."""
    return (
        f"The {noun.plural} most like this one (such as {join(rows, 'and')}) are anomalous "
        f"too, mostly in {join(names, 'and')}."
    )


def isolation_sentence(noun: Noun, nearest: str, names: list[str], *, far: bool) -> str:
    """State that hardly any row is like a row, and how the nearest one differs."""
    few = f"Few {noun.plural} are much like this one"
    if not names:
        return f"{few}."
    who = f"No other {noun.singular} is much like this one" if far else few
    return f"{who} (nearest: {nearest}, which differs in {join(names, 'and')})."


def repair_sentence(clauses: list[str], rest: str) -> str:
    """State what would be odd if some values were others."""
    return f"If {join(clauses, 'and')}, {rest}."


def exchange_sentence(names: list[str], rest: str) -> str:
    """State what would be odd if two values changed places."""
    return f"If {join(names, 'and')} changed places, {rest}."
