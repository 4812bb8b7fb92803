"""A query reaches every kind of file, and reads it as it is read alone."""

import bz2
import io
import sqlite3

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from admercs.cli.csvfile import ReadOptions
from admercs.cli.databases import quoted_files
from admercs.cli.errors import UsageError, UserError
from admercs.cli.reader import open_table

ARFF = "@relation r\n@attribute id numeric\n@attribute colour {red, green}\n@data\n1, red\n2, ?\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with one file of each kind, to be named without a path."""
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("shop.sqlite") as database:
        database.execute("create table orders (id integer, year integer, paid real, raw blob)")
        database.executemany(
            "insert into orders values (?, ?, ?, ?)",
            [(1, 2024, 9.5, b"\x00"), (2, 2025, 3.0, b"\x01"), (3, 2025, None, None)],
        )
        database.execute('create table "order lines" (id integer, line integer)')
        database.execute('insert into "order lines" values (2, 7)')
    database.close()
    with sqlite3.connect("one.sqlite") as database:
        database.execute("create table only_one (x integer)")
        database.execute("insert into only_one values (5)")
    database.close()
    with duckdb.connect("ware.duckdb") as database:
        database.execute("create table stock as select range as id, 10 * range as n from range(4)")
        database.execute("create schema old; create table old.stock as select 1 as id, 'x' as why")
    (tmp_path / "people.csv").write_text("id,who\n1,ann\n2,?\n3,cem\n")
    (tmp_path / "colours.arff").write_text(ARFF)
    (tmp_path / "more").mkdir()
    pq.write_table(pa.table({"id": [2, 3]}), "more/a.parquet")
    pq.write_table(pa.table({"id": [4]}), "more/b.parquet")
    return tmp_path


def read(query, reading=None):
    with open_table([query], reading or ReadOptions()) as table:
        return table.read(10**6)[0].to_pydict()


QUERIES = {
    "a table of an SQLite file": (
        "select id, paid from 'shop.sqlite'.orders where year = 2025",
        {"id": [2, 3], "paid": [3.0, None]},
    ),
    "the only table": ("select * from 'one.sqlite'", {"x": [5]}),
    "a name with a blank": ("from 'shop.sqlite'.\"order lines\"", {"id": [2], "line": [7]}),
    "capital letters": ("select max(Paid) as m from 'shop.sqlite'.Orders", {"m": [9.5]}),
    "as an identifier": ('select orders.id from "shop.sqlite".orders limit 1', {"id": [1]}),
    "SQLite and CSV": (
        "select o.id, who from 'shop.sqlite'.orders o join 'people.csv' p using (id) order by o.id",
        {"id": [1, 2, 3], "who": ["ann", None, "cem"]},
    ),
    "two tables of one file": (
        "select line, year from 'shop.sqlite'.\"order lines\" l, 'shop.sqlite'.orders o "
        "where l.id = o.id",
        {"line": [7], "year": [2025]},
    ),
    "ARFF": ("select * from 'colours.arff'", {"id": [1.0, 2.0], "colour": ["red", None]}),
    "ARFF in a subquery": (
        "select who from 'people.csv' where id in (select id from 'colours.arff') order by id",
        {"who": ["ann", None]},
    ),
    "a DuckDB file": ("select sum(n) as n from 'ware.duckdb'.stock", {"n": [60.0]}),
    "a schema of a DuckDB file": ("select why from 'ware.duckdb'.old.stock", {"why": ["x"]}),
    "a DuckDB file and SQLite": (
        "select n from 'ware.duckdb'.main.stock s semi join 'shop.sqlite'.orders o using (id)",
        {"n": [10, 20, 30]},
    ),
    "a pattern": ("select id from 'more/*.parquet' order by id", {"id": [2, 3, 4]}),
    "a folder": ("select id from 'more' order by id", {"id": [2, 3, 4]}),
    "a file twice": (
        "select a.id from 'people.csv' a join 'people.csv' b on a.id = b.id + 2",
        {"id": [3]},
    ),
    "a subquery with a name": ('with "x.csv" as (select 1 as a) from "x.csv"', {"a": [1]}),
    "text that is no table": (
        "select id from 'people.csv' where who is distinct from 'more' and who != 'nobody.csv' "
        "and id in (1, 3) -- from 'none.csv'\n order by id",
        {"id": [1, 3]},
    ),
    "a reader of DuckDB's": ("select who from read_csv('people.csv') where id = 2", {"who": ["?"]}),
    "in parentheses": ("(select 1 as a)", {"a": [1]}),
}


@pytest.mark.parametrize("case", QUERIES)
def test_queries(here, case):
    query, expected = QUERIES[case]
    assert read(query) == expected


def test_a_file_is_read_as_it_is_alone(here):
    (here / "odd.csv").write_bytes("a;b\ncafé;-9\n07;1\n".encode("latin-1"))
    reading = ReadOptions(encoding="latin-1", missing=("-9",))
    assert read("from 'odd.csv'", reading) == read("odd.csv", reading)
    assert read("from 'odd.csv'", reading) == {"a": ["café", "07"], "b": [None, 1]}


def test_copies_of_files_do_not_get_into_each_others_way(here):
    for folder, row in (("p", "1"), ("q", "2")):
        (here / folder).mkdir()
        (here / folder / "x.csv.bz2").write_bytes(bz2.compress(f"v\n{row}\n".encode()))
    query = "select p.v as a, q.v as b from 'p/x.csv.bz2' p, 'q/x.csv.bz2' q"
    assert read(query) == {"a": [1], "b": [2]}


def test_codes_stay_codes_for_a_model(here):
    (here / "new.csv").write_text("zip,n\n01234,1\n")
    reading = ReadOptions(expected={"zip": "text", "n": "integer"})
    assert read("select * from 'new.csv' where n = 1", reading) == read("new.csv", reading)
    assert read("from 'new.csv'", reading)["zip"] == ["01234"]


def test_standard_input_in_a_query(here, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3,4\n")))
    assert read("select b from '-' where a > 1") == {"b": [4]}


BAD = {
    "no such table": ("from 'shop.sqlite'.nope", "no table 'nope'; it has order lines, orders"),
    "no table named": (
        "from 'shop.sqlite'",
        "2 tables: order lines, orders.*'shop.sqlite'.\"order",
    ),
    "no such database": ("from 'none.sqlite'.t", "cannot read none.sqlite: no such file"),
    "no such file": ("from 'none.csv'", "cannot read none.csv: no such file"),
    "no such pattern": ("from 'none/*.parquet'", "no file matches"),
    "a table of a CSV file": ("from 'people.csv'.t", "people.csv has no table 't'"),
    "binary values": ("from 'shop.sqlite'.orders", "raw holds nested or binary values"),
    "a ragged file": ("select a from 'ragged.csv'", "ragged.csv, line 3: 3 fields"),
    "no such column": ("select nope from 'shop.sqlite'.orders", "(?s)query cannot be run.*nope"),
    "a broken ARFF file": ("from 'bad.arff'", "bad.arff, line 5: 1 values for 2 attributes"),
    "no database": ("from 'fake.sqlite'.t", "fake.sqlite is neither a DuckDB nor an SQLite"),
    "a broken database": ("from 'broken.duckdb'.t", "cannot read broken.duckdb"),
    "a name that is too long": (f"from '{'x' * 300}.csv'", "the name is too long"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_queries(here, case):
    (here / "ragged.csv").write_text("a,b\n1,2\n3,4,5\n")
    (here / "bad.arff").write_text(ARFF.replace("1, red", "1"))
    (here / "fake.sqlite").write_text("hello")
    (here / "broken.duckdb").write_bytes(b"\x00" * 8 + b"DUCK" + b"\x00" * 5000)
    query, message = BAD[case]
    with pytest.raises(UserError, match=message):
        read(f"select * {query}" if query.startswith("from") else query)


def test_a_query_longer_than_a_path():
    columns = ", ".join(f"{k} as column_{k}" for k in range(100))
    assert len(read(f"select {columns}")) == 100


def test_the_option_for_tables_is_not_for_queries(here):
    with pytest.raises(UsageError, match="--table is not for queries"):
        read("select 1", ReadOptions(table_name="orders"))


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select * from ('a.csv' x join \"b.csv\" y on x.k = 'c.csv'), 'd.csv'", "a b d"),
        ("select f('a.csv', 'b.csv') from 'c.csv' where k in ('d.csv', 'e.csv')", "c"),
        ("pivot 'a.csv' on year using sum(v)", "a"),
        ("select 1 union all from 'a.csv' order by 'b.csv'", "a"),
        ("select $$ from 'a.csv' $$, 'it''s from' from 'b.csv' /* from 'c.csv' */", "b"),
        ("select extract(year from now()) from x", ""),
    ],
)
def test_places_of_tables(query, files):
    assert [named.file for named in quoted_files(query)[0]] == [f"{k}.csv" for k in files.split()]
