"""SQL: quoting, and the files that a query names where a table belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["NamedFile", "named_files", "quoted", "reader_arguments", "sql_text"]

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
_READER = re.compile(r"read_\w+|\w+_scan|parquet_\w+|sniff_csv|glob", re.IGNORECASE)


class NamedFile(NamedTuple):
    """A file in a query."""

    file: str  # as written, without its quotes
    table: tuple[str, ...]  # of a database, its schema before it if that is written; or empty
    is_text: bool  # written as a text, 'a.csv', not as a name, "a.csv"
    start: int  # where the file's name stands in the query, quotes included
    end: int


def quoted(name: str) -> str:
    """Quote an identifier for SQL.

    Examples
    --------
    >>> print(quoted('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Quote a text for SQL.

    Examples
    --------
    >>> sql_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def reader_arguments(query: str) -> list[str]:
    """Return the texts that DuckDB's own readers of files are called with.

    Examples
    --------
    >>> reader_arguments("select 'x' from read_csv(['a.csv', 'b.csv']), glob('*')")
    ['a.csv', 'b.csv', '*']
    """
    found = []
    calls: list[bool] = []  # per open parenthesis: whether it is in the call of a reader
    before = ""
    for token in _tokens(query):
        if token[0] == "(":
            calls.append(any(calls[-1:]) or _READER.fullmatch(before) is not None)
        elif token[0] == ")":
            calls = calls[:-1]
        elif token.lastgroup == "text" and any(calls[-1:]):
            found.append(_unquoted(token))
        before = token[0]
    return found


def named_files(query: str) -> list[NamedFile]:
    r"""Find what is quoted in a query and stands where a table belongs.

    Examples
    --------
    >>> query = "select 'b.csv' from 'a.csv', 'd.sqlite'.\"my t\" where x in (from 'c.csv')"
    >>> [(named.file, named.table) for named in named_files(query)]
    [('a.csv', ()), ('d.sqlite', ('my t',)), ('c.csv', ())]
    """
    tokens = _tokens(query)
    found = []
    for k in _places(tokens):
        parts, following = [], k + 1
        while following + 1 < len(tokens) and tokens[following][0] == ".":
            parts.append(_unquoted(tokens[following + 1]))
            following += 2
        token = tokens[k]
        is_text = token.lastgroup == "text"
        found.append(NamedFile(_unquoted(token), tuple(parts), is_text, token.start(), token.end()))
    return found


def _tokens(query: str) -> list[re.Match[str]]:
    return [match for match in _TOKEN.finditer(query) if match.lastgroup != "comment"]


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


def _unquoted(token: re.Match[str]) -> str:
    text = token[0]
    if token.lastgroup == "text":
        return text[1:-1].replace("''", "'")
    return text[1:-1].replace('""', '"') if token.lastgroup == "name" else text
