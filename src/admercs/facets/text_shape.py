"""Parts of texts: their shape, with all punctuation kept, their length, how they begin and end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from admercs.arrays import Array
from admercs.table.values import RawColumn

_DIGITS, _CAPITALS, _LETTERS = re.compile(r"\d"), re.compile(r"[^\W\d_]+"), re.compile(r"a{2,}")
_SPACES = re.compile(r"\s+")
_RUN = r"(?:[^\W\d_]+|\d+)"
_FIRST, _LAST = re.compile(rf"^[\W_]*{_RUN}"), re.compile(rf"{_RUN}[\W_]*$")
_NUMBER, _LONGEST = "a number", 20  # characters of a beginning or an end that may repeat
_E_MAIL = re.compile(r"[^\s@,;:<>()\"]+@(?:[\w-]+\.)+[^\W\d_]{2,}")
E_MAIL = "an e-mail address"  # the shape of one, whatever letters and digits it has
TEXT_PARTS = ("shape", "length", "first", "last")


def shape_of(text: str) -> str:
    """Return the shape of a text: 9 for a digit, A and a for runs of capitals and of letters.

    Examples
    --------
    >>> shape_of("+32 471 23 45"), shape_of("John  Smith-Doe"), shape_of("A7-120")
    ('+99 999 99 99', 'Aa Aa-Aa', 'A9-999')
    >>> shape_of("ann.lee7@mail.com")
    'an e-mail address'
    """
    if "@" in text and _E_MAIL.fullmatch(text):
        return E_MAIL
    text = _CAPITALS.sub(_letters, _DIGITS.sub("9", text))
    return _SPACES.sub(" ", text)


def _letters(match: re.Match[str]) -> str:
    word = match[0]
    if word.isupper():
        return "A"
    return "Aa" if word[0].isupper() else "a"


def first_token(text: str) -> str:
    """Return the first word of a text, or what stands for any number.

    >>> first_token("BE-2041"), first_token("Dr. Who"), first_token("+32 471 2"), first_token("471")
    ('BE', 'Dr', '+32', 'a number')
    """
    return _token(_FIRST.search(text[: 2 * _LONGEST]))


def last_token(text: str) -> str:
    """Return the last word of a text, or what stands for any number.

    >>> last_token("4 Main Street"), last_token("BE-2041")
    ('Street', 'a number')
    """
    return _token(_LAST.search(text[-2 * _LONGEST :]))


def _token(match: re.Match[str] | None) -> str:
    token = "" if match is None else match[0].strip()
    return _NUMBER if token.isdigit() else token[:_LONGEST]


def tokens_repeat(
    counts: Mapping[str, int], token: Callable[[str], str], most: float, repeats: int
) -> bool:
    """Say whether the beginnings or ends of texts, which occur so often, say something.

    There are several, and at most a share of the rows has a rare one: fewer rows than `repeats`
    have it.
    """
    found: Counter[str] = Counter()
    n = sum(counts.values())
    for text, count in counts.items():
        found[token(text)] += count
        if len(found) > max(2.0, most * n):
            return False
    rare = sum(count for count in found.values() if count < repeats)
    return len(found) > 1 and rare <= most * n


def text_first(name: str, texts: RawColumn) -> RawColumn:
    """Return how each text begins."""
    return _of_distinct(name, texts, first_token, "text", object)


def text_last(name: str, texts: RawColumn) -> RawColumn:
    """Return how each text ends."""
    return _of_distinct(name, texts, last_token, "text", object)


def text_shape(name: str, texts: RawColumn) -> RawColumn:
    """Return the shape of each text."""
    return _of_distinct(name, texts, shape_of, "text", object)


def text_length(name: str, texts: RawColumn) -> RawColumn:
    """Return the number of characters of each text."""
    return _of_distinct(name, texts, len, "integer", np.int64)


def _of_distinct(
    name: str, texts: RawColumn, function: Callable[[str], Any], kind: Any, dtype: Any
) -> RawColumn:
    """Call a function once for each distinct text."""
    missing = texts.is_missing()
    known: dict[Any, Any] = {}
    values: Array = np.zeros(len(missing), dtype)
    given = texts.values.tolist()
    for row in np.flatnonzero(~missing).tolist():
        text = given[row]
        if text not in known:
            known[text] = function(str(text))
        values[row] = known[text]
    return RawColumn(name, kind, values, missing if missing.any() else None)
