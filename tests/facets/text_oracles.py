"""Parts of texts by regular expressions: slow, and plain to read."""

from __future__ import annotations

import re

_DIGITS, _CAPITALS, _SPACES = re.compile(r"\d"), re.compile(r"[^\W\d_]+"), re.compile(r"\s+")
_RUN = r"(?:[^\W\d_]+|\d+)"
_FIRST, _LAST = re.compile(rf"^[\W_]*{_RUN}"), re.compile(rf"{_RUN}[\W_]*$")
_LONGEST = 20
_E_MAIL = re.compile(r"[^\s@,;:<>()\"]+@(?:[\w-]+\.)+[^\W\d_]{2,}")
_WORDS = re.compile(r"[^\W\d_]{4,}")


def shape_of(text: str) -> str:
    if _E_MAIL.fullmatch(text):
        return "an e-mail address"
    return _SPACES.sub(" ", _CAPITALS.sub(_letters, _DIGITS.sub("9", text)))


def _letters(match: re.Match[str]) -> str:
    word = match[0]
    if word.isupper():
        return "A"
    return "Aa" if word[0].isupper() else "a"


def first_token(text: str) -> str:
    return _token(_FIRST.search(text[: 2 * _LONGEST]))


def last_token(text: str) -> str:
    return _token(_LAST.search(text[-2 * _LONGEST :]))


def _token(match: re.Match[str] | None) -> str:
    token = "" if match is None else match[0].strip()
    return "a number" if token.isdigit() else token[:_LONGEST]


def words_of(text: str) -> set[str]:
    return {word.casefold() for word in _WORDS.findall(text)}
