"""The files that an SQL query names where a table belongs: ``from 'shop.sqlite'.orders``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Named", "named_files", "quoted"]

_TOKEN = re.compile(
    r"""(?P<comment> --[^\n]* | /\*.*?\*/ )
      | (?P<dollars> \$(?P<tag>\w*)\$ .*? \$(?P=tag)\$ )
      | (?P<text> ' (?:[^']|'')* ' )
      | (?P<name> " (?:[^"]|"")* " )
      | (?P<word> \w+ )
      | (?P<sign> \S )""",
    re.VERBOSE | re.DOTALL,
)
# What a table may stand behind, and what ends a list of tables.
_BEFORE_TABLES = {"FROM", "JOIN", "PIVOT", "UNPIVOT", "SUMMARIZE", "DESCRIBE"}
_AFTER_TABLES = {"SELECT", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT",
                 "UNION", "EXCEPT", "INTERSECT", "VALUES", "SET"}  # fmt: skip


@dataclass(frozen=True)
class Named:
    """A file in a query.

    Attributes
    ----------
    file : str
        As written, without its quotes.
    table : tuple of str
        The table of a database that is meant, its schema before it if that is written; or empty.
    is_text : bool
        Whether it is written as a text, ``'a.csv'``, not as a name, ``"a.csv"``.
    start, end : int
        Where the file's name stands in the query, quotes included.
    """

    file: str
    table: tuple[str, ...]
    is_text: bool
    start: int
    end: int


def quoted(name: str) -> str:
    """Quote an identifier for SQL.

    Examples
    --------
    >>> print(quoted('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def named_files(query: str) -> list[Named]:
    r"""Find what a query names in quotes where a table belongs.

    Whether there is such a file is not asked here. The arguments of functions, such as
    ``read_csv('a.csv')``, are none of them, nor is any other text.

    Examples
    --------
    >>> query = "select 'x' from 'a.csv' a, 'd.sqlite'.\"my t\" where b in (from 'c.csv')"
    >>> [(named.file, named.table) for named in named_files(query)]
    [('a.csv', ()), ('d.sqlite', ('my t',)), ('c.csv', ())]
    """
    tokens = [match for match in _TOKEN.finditer(query) if match.lastgroup != "comment"]
    return [_named(tokens, k) for k in _places(tokens)]


def _places(tokens: list[re.Match[str]]) -> Iterator[int]:
    """Yield the tokens that are quoted and stand where a table belongs."""
    # Per open parenthesis: whether we are in a list of tables there.
    listing = [False]
    before = ""
    for k, token in enumerate(tokens):
        text = token[0].upper()
        expected = before in _BEFORE_TABLES or (before in ("(", ",") and listing[-1])
        if token.lastgroup in ("text", "name"):
            if expected:
                yield k
        elif text == "(":
            listing.append(expected)
        elif text == ")":
            listing = listing[:-1] or [False]
        elif text in _BEFORE_TABLES and before != "DISTINCT":  # "is distinct from" compares
            listing[-1] = True
        elif text in _AFTER_TABLES:
            listing[-1] = False
        before = "" if text == "FROM" and before == "DISTINCT" else text


def _named(tokens: list[re.Match[str]], k: int) -> Named:
    parts = []
    following = k + 1
    while _text(tokens, following) == "." and following + 1 < len(tokens):
        parts.append(_unquoted(tokens[following + 1]))
        following += 2
    token = tokens[k]
    return Named(
        _unquoted(token), tuple(parts), token.lastgroup == "text", token.start(), token.end()
    )


def _text(tokens: list[re.Match[str]], k: int) -> str:
    return tokens[k][0] if k < len(tokens) else ""


def _unquoted(token: re.Match[str]) -> str:
    text = token[0]
    if token.lastgroup == "text":
        return text[1:-1].replace("''", "'")
    return text[1:-1].replace('""', '"') if token.lastgroup == "name" else text
