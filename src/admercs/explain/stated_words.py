"""What facets state about a cell, in words: look-alikes, repetitions, what other columns say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from admercs.explain.column_words import join
from admercs.explain.sentences import TYPICALLY, Noun, either_sentence
from admercs.facets.determined_columns import contradictions
from admercs.facets.look_alikes import LookAlike, Spelling, spelling_by
from admercs.facets.repeated_keys import REPEATS, SCATTERED
from admercs.table.columns import Column, Facet
from admercs.table.summary import text_category

LONGEST, WIDEST = 60, 30  # characters of a text that a sentence shows, or a list of them
STRONG = 0.5  # other columns are named if they say at least this share of what the first says


def cut(text: str) -> str:
    """Return a text, the end of a long one left out."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def visible(text: str) -> str:
    """Return a text as it is, in quotation marks where spaces would be overlooked."""
    return f'"{cut(text)}"' if "  " in text or text != text.strip() else cut(text)


def shortened(text: str) -> str:
    """Return a text of a list, the end of a long one left out."""
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def quoted(text: str) -> str:
    """Return a text in quotation marks, with what cannot be seen written out."""
    return repr(cut(text))


class StatedSource(NamedTuple):
    """A column that a facet is made of, and how its values are written."""

    name: str
    write: Callable[[str], str] = cut


class StatedCell(NamedTuple):
    """A cell, and the values of the columns that a facet of it is made of; None is missing."""

    texts: tuple[str | None, ...]
    is_training: bool
    unread: str | None = None  # what is there where the column has no value that can be read


def stated_sentence(
    column: Column, cell: StatedCell, sources: Sequence[StatedSource], noun: Noun
) -> str:
    """Return what a facet states about a cell."""
    names = [source.name for source in sources]
    if column.facet is None:
        raise ValueError(f"{column.name} is not a facet")
    if column.facet.kind == "spelling":
        return _spelling_sentence(column.facet, cell, names[0])
    if column.facet.kind == REPEATS:
        return _repeats_sentence(column.facet, cell, names[0], noun)
    if column.facet.kind == SCATTERED:
        return _scattered_sentence(column.facet, cell, names, noun)
    return _determined_sentence(column.facet, cell, sources, noun)


def stated_expectation(column: Column, cell: StatedCell, source: StatedSource) -> str:
    """Return what a facet expects where it states that something is odd."""
    if column.facet is None or column.facet.kind in (REPEATS, SCATTERED):
        return "a value of its own"
    text = cell.texts[0] or ""
    if column.facet.kind == "spelling" and (found := _look_alike(column.facet, text)):
        own, other, _ = as_written(found, text)
        if own != text:
            return f"{quoted(other)} for {quoted(own)}"
    value = stated_value(column.facet, cell)
    return source.write(value) if value else ""


def stated_value(facet: Facet, cell: StatedCell) -> str | None:
    """Return the value that a facet expects where it states that a cell is odd, if it knows it."""
    if facet.kind == "spelling":
        text = cell.texts[0] or ""
        found = _look_alike(facet, text)
        return as_written(found, text)[2] if found else None
    if facet.kind == "determined":
        known = contradictions(cell.texts, facet)
        return known[0].group.usual if known else None
    return None


def _spelling_sentence(facet: Facet, cell: StatedCell, name: str) -> str:
    text = cell.texts[0]
    found = None if text is None else _look_alike(facet, text)
    if found is None or text is None:
        raise ValueError("a text resembles nothing")
    shown, other, _ = as_written(found, text)
    place = "" if shown == text else f" in {quoted(text)}"
    often = "occurs once" if found.n == 1 else f"occurs {found.n:,} times"
    if not cell.is_training and found.n == 1:
        often = "is rare"  # it was seen once or never
    resembles = f"resembles {quoted(other)} ({found.n_other:,} times)"
    return f"{name}: {quoted(shown)}{place} {often} and {resembles}."


def _look_alike(facet: Facet, text: str) -> LookAlike | None:
    return spelling_of_facet(facet).look_alike(text)


def as_written(found: LookAlike, text: str) -> tuple[str, str, str]:
    """Return what resembles something, that, and the text with that in its place.

    Words are known in lower case; they are shown as large or small as the one in the text.
    """
    own = None
    if found.text != text:
        own = re.search(rf"\b{re.escape(found.text)}\b", text, re.IGNORECASE)
    if own is None:
        return text, found.other, found.other
    word, other = own[0], found.other
    if 2 * sum(map(str.isupper, word)) > len(word):
        other = other.upper()
    elif word[0].isupper():
        other = other[:1].upper() + other[1:]
    return word, other, text[: own.start()] + other + text[own.end() :]


def spelling_of_facet(facet: Facet) -> Spelling:
    """Return what a facet knows of the texts of a column."""
    return spelling_by(*facet.settings)


def often(n: int) -> str:
    """Say how many times something happens."""
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")


def _counted(facet: Facet, cell: StatedCell) -> int:
    """Return how often the value of a cell occurs in the training table."""
    return {text_category(value): n for value, n in facet.settings[1]}.get(cell.texts[0] or "", 1)


def _repeats_sentence(facet: Facet, cell: StatedCell, name: str, noun: Noun) -> str:
    n, known = facet.settings
    count = _counted(facet, cell)
    training = "" if cell.is_training else "training "
    unique = n - sum(count for _, count in known)
    text = f"{name} is unique in {unique:,} {training}{noun.plural}"
    there = "" if cell.is_training else " there"
    return f"{text}, but {cut(cell.texts[0] or '')} occurs {often(count)}{there}."


def _scattered_sentence(facet: Facet, cell: StatedCell, names: list[str], noun: Noun) -> str:
    value = cell.texts[0] or ""
    n, (name, *others) = _counted(facet, cell), names
    more = [f"{len(others) - 3:,} more columns"] if len(others) > 4 else []
    those = join([*others[: 3 if more else 4], *more], "and")
    training = "" if cell.is_training else "training "
    who = f"{noun.plural[:1].upper()}{noun.plural[1:]} with the same {name}"
    return (
        f"{who} mostly agree in {those}, but the {n:,} {training}{noun.plural} with {name} = "
        f"{cut(value)} do not."
    )


def _determined_sentence(
    facet: Facet, cell: StatedCell, sources: Sequence[StatedSource], noun: Noun
) -> str:
    first, *others = contradictions(cell.texts, facet)
    group, target, source = first.group, sources[0], sources[first.source]
    text, name = cell.texts[0], target.name
    who = f"{noun.plural[:1].upper()}{noun.plural[1:]} with {source.name} = "
    usual = f"{name} = {target.write(group.usual)} ({group.n_usual:,} of {group.n:,})"
    value = target.write(text) if text else cell.unread and cut(cell.unread)
    but = f"has no {name}" if value is None else f"has {name} = {value}"
    how = "typically" if group.n_usual >= TYPICALLY * group.n else "mostly"
    said = f"{who}{source.write(first.value)} {how} have {usual}, but this {noun.singular} {but}."
    strong = [each for each in others if each.weight >= STRONG * first.weight]
    return said + either_sentence([sources[each.source].name for each in strong])
