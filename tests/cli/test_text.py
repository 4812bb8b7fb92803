"""Small texts: counts, lists, names, messages, quotes."""

import errno

import pytest

from admercs.cli.console import clean, counted
from admercs.cli.csvfile import _find_header
from admercs.cli.databases import quoted, quoted_files, sql_text
from admercs.cli.errors import listed, os_error, shown


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (clean("a\x1b[2Jb\nc"), r"a\x1b[2Jb\nc"),
        (counted(1, "row"), "1 row"),
        (counted(1200, "row"), "1,200 rows"),
        (listed(["a", "b"], 2), "a, b"),
        (listed(["a", "b", "c"], 2), "a, b and 1 more"),
        (shown("caf\udce9.csv"), r"caf\udce9.csv"),
        (shown("café.csv"), "café.csv"),
        (quoted('a "b" c'), '"a ""b"" c"'),
        (sql_text("it's"), "'it''s'"),
        (_find_header(['"a;b",c,d\n'], None, False)[0], ","),
        (_find_header(["a\tb"], None, False)[0], "\t"),
        (_find_header(["lonely"], None, False), (",", ["lonely"], 0)),
    ],
)
def test_small_texts(made, expected):
    assert made == expected


def test_messages_say_what_to_do():
    message = str(os_error(OSError(errno.ENOSPC, ""), "out.csv", "write"))
    assert message == (
        "cannot write out.csv: no space left on the device. Free some space or write elsewhere."
    )


def test_files_in_a_query():
    query = "select 'x' from 'a.csv' a, 'd.sqlite'.\"my t\" where b in (from 'c.csv')"
    assert [(named.file, named.table) for named in quoted_files(query)[0]] == [
        ("a.csv", ()), ("d.sqlite", ("my t",)), ("c.csv", ()),
    ]  # fmt: skip
    query = (
        "select 'x' from read_csv(['a.csv', 'b.csv'], sep = ';', nullstr = '?'), glob('*'), f('c') "
        "-- read_csv('d')"
    )
    assert quoted_files(query)[1] == ["a.csv", "b.csv", "*"]
