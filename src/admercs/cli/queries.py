"""SQL: quoting, and the files that a query names where a table belongs."""

from __future__ import annotations

import re
from typing import NamedTuple

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
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_files(query: str) -> tuple[list[NamedFile], list[str]]:
    """Find the files that a query names where a table belongs, and what its readers are given.

    Readers are DuckDB's own functions, such as ``read_csv``; of their options nothing is returned.
    """
    tokens = [match for match in _TOKEN.finditer(query) if match.lastgroup != "comment"]
    named: list[NamedFile] = []
    arguments: list[str] = []
    # Per open parenthesis: whether we are in a list of tables there, or in the call of a reader.
    places = [(False, False)]
    before = ""
    for k, token in enumerate(tokens):
        text = token[0].upper()
        in_list, in_call = places[-1]
        expected = before in _BEFORE_TABLES or (before in ("(", ",") and in_list)
        if token.lastgroup in ("text", "name"):
            if expected:
                named.append(_named_file(tokens, k))
            elif token.lastgroup == "text" and in_call and before != "=":
                arguments.append(_unquoted(token))
        elif text == "(":
            places.append((expected, in_call or _READER.fullmatch(before) is not None))
        elif text == ")":
            places = places[:-1] or [(False, False)]
        elif text in _BEFORE_TABLES and before != "DISTINCT":  # "is distinct from" compares
            places[-1] = (True, in_call)
        elif text in _AFTER_TABLES:
            places[-1] = (False, in_call)
        before = "" if text == "FROM" and before == "DISTINCT" else text
    return named, arguments


def _named_file(tokens: list[re.Match[str]], k: int) -> NamedFile:
    token, parts = tokens[k], []
    while k + 2 < len(tokens) and tokens[k + 1][0] == ".":
        parts.append(_unquoted(tokens[k + 2]))
        k += 2
    is_text = token.lastgroup == "text"
    return NamedFile(_unquoted(token), tuple(parts), is_text, token.start(), token.end())


def _unquoted(token: re.Match[str]) -> str:
    text = token[0]
    if token.lastgroup == "text":
        return text[1:-1].replace("''", "'")
    return text[1:-1].replace('""', '"') if token.lastgroup == "name" else text
