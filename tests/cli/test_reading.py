"""Every kind of source gives the same table, and bad ones give messages that help."""

import bz2
import errno
import gzip
import io
import json
import lzma
import sqlite3

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from admercs.cli.csvfile import ReadOptions
from admercs.cli.errors import UserError
from admercs.cli.reader import open_table


def read(*sources, reading=None, limit=10**6):
    with open_table([str(source) for source in sources], reading or ReadOptions()) as table:
        return table.read(limit)[0]


def same(found, expected):
    assert found.column_names == expected.column_names
    for name in expected.column_names:
        assert found.column(name).to_pylist() == expected.column(name).to_pylist()


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.bz2", "csv.xz", "csv.zst"])
def test_csv_plain_and_compressed(tmp_path, people, people_csv, ending):
    raw = people_csv.read_bytes()
    path = tmp_path / f"people.{ending}"
    packed = {
        "csv": lambda: raw,
        "csv.gz": lambda: gzip.compress(raw),
        "csv.bz2": lambda: bz2.compress(raw),
        "csv.xz": lambda: lzma.compress(raw),
        "csv.zst": lambda: pa.Codec("zstd").compress(raw, asbytes=True),
    }
    path.write_bytes(packed[ending]())
    same(read(path), people)


def test_tsv_semicolons_and_chosen_delimiters(tmp_path):
    expected = pa.table({"a": [1, 2], "b": ["x,y", "z"]})
    same(read(write(tmp_path / "t.tsv", "a\tb\n1\tx,y\n2\tz\n")), expected)
    same(read(write(tmp_path / "s.csv", "a;b\n1;x,y\n2;z\n")), expected)
    odd = write(tmp_path / "o.csv", "a^b\n1^x,y\n2^z\n")
    same(read(odd, reading=ReadOptions(delimiter="^")), expected)


def test_types_come_from_all_lines(tmp_path):
    lines = "a,b\n" + "1,2\n" * 30_000 + "x,3\n"
    table = read(write(tmp_path / "late.csv", lines))
    assert table.schema.field("a").type == pa.string()
    assert table.num_rows == 30_001


def test_missing_values_are_the_usual_and_what_the_user_says(tmp_path):
    path = write(tmp_path / "m.csv", "x,y\n1,a\nNA,b\n?,\n-99,c\n")
    assert read(path).to_pydict() == {"x": [1, None, None, -99], "y": ["a", "b", None, "c"]}
    table = read(path, reading=ReadOptions(missing=("-99", "a")))
    assert table.to_pydict() == {"x": [1, None, None, None], "y": [None, "b", None, "c"]}


def test_no_header_and_hash_lines_are_rows(tmp_path):
    path = write(tmp_path / "n.csv", "1,a\n2,b\n")
    assert read(path, reading=ReadOptions(no_header=True)).num_rows == 2
    assert read(write(tmp_path / "h.csv", "a,b\n1,2\n#3,4\n")).num_rows == 2


def test_parquet_files_patterns_and_folders(tmp_path, people):
    (tmp_path / "parts").mkdir()
    pq.write_table(people.slice(0, 100), tmp_path / "parts" / "0.parquet")
    pq.write_table(people.slice(100), tmp_path / "parts" / "1.parquet")
    same(read(tmp_path / "parts" / "*.parquet"), people)
    same(read(tmp_path / "parts"), people)
    same(read(tmp_path / "parts" / "1.parquet"), people.slice(100))
    # What a shell makes of a pattern without quotes.
    same(read(tmp_path / "parts" / "0.parquet", tmp_path / "parts" / "1.parquet"), people)
    with pytest.raises(UserError, match=r"parts is no file"):
        read(tmp_path / "parts" / "0.parquet", tmp_path / "parts")


def test_files_that_do_not_belong_together(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"b": [1]}), tmp_path / "1.parquet")
    with pytest.raises(UserError, match=r'cannot read .*1\.parquet.*column "a"') as caught:
        read(tmp_path / "*.parquet")
    assert "union_by_name" not in str(caught.value)


def test_json_lines(tmp_path):
    rows = [{"a": 1, "b": "x"}, {"a": 2.5, "b": None}]
    path = write(tmp_path / "rows.jsonl", "\n".join(json.dumps(row) for row in rows))
    assert read(path).to_pydict() == {"a": [1, 2.5], "b": ["x", None]}


def test_databases(tmp_path):
    with duckdb.connect(str(tmp_path / "d.duckdb")) as database:
        database.execute("create table one as select range as x, 'a' as y from range(5)")
    table = read(tmp_path / "d.duckdb")
    assert table.column("x").to_pylist() == [0, 1, 2, 3, 4]
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        database.execute("create table t (x integer, r real, s text, d date, ok boolean)")
        database.execute("create table other (z)")
        database.executemany(
            "insert into t values (?, ?, ?, ?, ?)",
            [(1, 1.5, "a", "2024-02-29", 1), (2, None, None, None, 0)],
        )
    database.close()
    with pytest.raises(UserError, match=r"2 tables: other, t\. Choose one with --table"):
        read(tmp_path / "s.sqlite")
    table = read(tmp_path / "s.sqlite", reading=ReadOptions(table_name="t"))
    assert [str(kind) for kind in table.schema.types] == [
        "int64", "double", "string", "date32[day]", "bool",
    ]  # fmt: skip
    assert table.column("s").to_pylist() == ["a", None]
    with pytest.raises(UserError, match="has no table 'nope'; it has other, t"):
        read(tmp_path / "s.sqlite", reading=ReadOptions(table_name="nope"))


def test_dates_and_odd_values_in_sqlite(tmp_path):
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        database.execute(
            "create table t (day text, moment datetime, almost date, mixed, large real)"
        )
        database.executemany(
            "insert into t values (?, ?, ?, ?, ?)",
            [
                ("2024-02-29", "2024-02-29 10:00:00", "2024-02-29", 1, 0.5),
                (None, "2024-03-01T11:30:00+01:00", "2024-02-31", "x", 2**60),
            ],
        )
    database.close()
    table = read(tmp_path / "s.sqlite")
    assert [str(kind) for kind in table.schema.types] == [
        "date32[day]", "timestamp[us]", "string", "string", "double",
    ]  # fmt: skip
    assert table.column("mixed").to_pylist() == ["1", "x"]


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("fault", ["cut", "scrambled"])
def test_damaged_compressed_files(tmp_path, ending, fault):
    raw = b"a,b\n" + b"".join(b"%d,%d\n" % (k, k * 7919 % 9973) for k in range(20_000))
    pack = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
    }
    packed = pack[ending](raw)
    half = len(packed) // 2
    # Without a checksum, as pyarrow's zstd is, a decoder may not notice fewer bytes.
    scrambled = packed[:half] + b"x" * 4000 + packed[half + 4000 :]
    path = tmp_path / f"t.csv.{ending}"
    path.write_bytes(packed[:half] if fault == "cut" else scrambled)
    with pytest.raises(UserError, match=f"t.csv.{ending} is damaged or was cut short"):
        read(path)


def test_faults_behind_the_part_that_is_looked_at_first(tmp_path, monkeypatch):
    monkeypatch.setattr("admercs.cli.sources._WHOLE_FILE_BYTES", 0)
    monkeypatch.setattr("admercs.cli.sources._SAMPLE_LINES", 100)
    lines = b"a,b\n" + b"1,2\n" * 300_000
    path = tmp_path / "late.csv"
    path.write_bytes(lines + b"1,2,3\n")
    with pytest.raises(UserError, match=r"late.csv, line 300002: 3 fields where the header has 2"):
        read(path)
    path.write_bytes(lines + b"x,2\n")
    with pytest.raises(UserError, match=r"cannot read late.csv: .*[Ll]ine"):
        read(path)


def test_a_temporary_folder_that_is_full(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    path = write(tmp_path / "l.csv", "a\n1\n", "latin-1")
    with pytest.raises(UserError, match=r"cannot write to the temporary .*no space.*TMPDIR"):
        read(path, reading=ReadOptions(encoding="latin-1"))


def test_counts_rows_where_that_is_cheap(people_csv):
    for source, n_rows in ((people_csv, 300), (f"select * from '{people_csv}'", 0)):
        with open_table([str(source)], ReadOptions()) as table:
            assert table.count() == n_rows
            assert table.read(10**6)[1] == 300


def test_query(tmp_path, people, people_csv):
    table = read(f"select age, income from '{people_csv}' where age > 60;")
    assert table.column_names == ["age", "income"]
    assert min(table.column("age").to_pylist()) > 60
    with pytest.raises(UserError, match=r"(?s)the query cannot be run.*Nonsense"):
        read("select Nonsense from (select 1 as a)")
    with pytest.raises(UserError, match="syntax error"):
        read("select * frm x")


def test_standard_input(tmp_path, monkeypatch, people, people_csv):
    class Piped(io.TextIOWrapper):
        def isatty(self):
            return False

    monkeypatch.setattr("sys.stdin", Piped(io.BytesIO(people_csv.read_bytes())))
    same(read("-"), people)
    pq.write_table(people, tmp_path / "p")
    monkeypatch.setattr("sys.stdin", Piped(io.BytesIO((tmp_path / "p").read_bytes())))
    same(read("-"), people)
    monkeypatch.setattr("sys.stdin", Piped(io.BytesIO(b"")))
    with pytest.raises(UserError, match="standard input is empty"):
        read("-")


def test_arff(tmp_path):
    text = """% a comment
@relation weather
@attribute outlook {sunny, 'partly cloudy', rainy}
@attribute "wind speed" real
@attribute day date "yyyy-MM-dd"
@DATA
sunny, 1.5, 2024-01-01
'partly cloudy', ?, 2024-01-02
"""
    table = read(write(tmp_path / "w.arff", text))
    assert table.column("outlook").to_pylist() == ["sunny", "partly cloudy"]
    assert table.column("wind speed").to_pylist() == [1.5, None]
    with pytest.raises(UserError, match="line 7: 'x' is no number"):
        read(write(tmp_path / "bad.arff", text.replace("1.5", "x")))
    with pytest.raises(UserError, match="no @data line"):
        read(write(tmp_path / "cut.arff", text[:60]))


def test_roles(tmp_path):
    path = write(tmp_path / "r.csv", "a,b,c\n1,x,07\n2,y,08\n")
    table = read(path, reading=ReadOptions(ignore=["a,b"], numeric=["c"]))
    assert table.to_pydict() == {"c": [7.0, 8.0]}
    with pytest.raises(UserError, match=r"r.csv: column 'b' holds 'x', which is no number"):
        read(path, reading=ReadOptions(numeric=["b"]))
    with pytest.raises(UserError, match=r"--id: r.csv has no column 'z'; it has a, b, c"):
        read(path, reading=ReadOptions(id=["z"]))
    with pytest.raises(UserError, match="no columns left"):
        read(path, reading=ReadOptions(ignore=["a", "b"], id=["c"]))
    comma = write(tmp_path / "comma.csv", '"x,y",z\n1,2\n')
    assert read(comma, reading=ReadOptions(ignore=["x,y"])).column_names == ["z"]


def test_odd_types(tmp_path):
    table = read(
        "select 1.25::decimal(9,2) as d, 5::hugeint as h, interval 2 minutes as i, "
        "'a'::enum('a', 'b') as e, uuid() as u, timestamptz '2024-01-01 00:00:00+00' as z"
    )
    assert table.column("d").to_pylist() == [1.25]
    assert table.column("i").to_pylist() == [120.0]
    assert table.column("e").to_pylist() == ["a"]
    with pytest.raises(UserError, match="holds nested or binary values"):
        read("select [1, 2] as list, 3 as x")
    assert (
        read("select [1, 2] as list, 3 as x", reading=ReadOptions(ignore=["list"])).num_columns == 1
    )


def test_sample_is_even_reproducible_and_in_order():
    source = "select range as x from range(50000)"
    with open_table([source], ReadOptions()) as table:
        sample, total = table.read(1000, seed=1)
        again, _ = table.read(1000, seed=1)
        other, _ = table.read(1000, seed=2)
    x = sample.column("x").to_pylist()
    assert total == 50_000
    assert len(x) == 1000
    assert x == sorted(x)
    assert x == again.column("x").to_pylist() != other.column("x").to_pylist()
    assert 20_000 < sum(x) / len(x) < 30_000


@pytest.mark.parametrize("seed", range(3))
def test_the_sample_of_a_table_that_was_made_with_the_same_seed_is_even(tmp_path, seed):
    drawn = np.random.default_rng(seed).random(20_000)
    pq.write_table(pa.table({"x": drawn}), tmp_path / "drawn.parquet")
    with open_table([str(tmp_path / "drawn.parquet")], ReadOptions()) as table:
        sample, _ = table.read(2000, seed=seed)
    assert 0.45 < np.mean(sample.column("x").to_numpy()) < 0.55


BAD = {
    "a missing file": (None, "none.csv", "cannot read .*none.csv: no such file"),
    "an empty file": (b"", "e.csv", "e.csv is empty"),
    "a header only": (b"a,b\n", "h.csv", "has no rows, only the columns a, b"),
    "a binary file": (bytes(range(256)) * 40, "b.csv", "is not a text file, though its name"),
    "an open quote": (b'a,b\n1,2\n3,"x\n4,y\n', "q.csv", "line 3: a quote is not closed. Put"),
    "a word after a quote": (
        b'a,b\n1,"x"y\n2,z\n',
        "w.csv",
        "line 2: ',' expected after",
    ),
    "a short line": (b"a,b,c\n1,2,3\n4,5\n", "r.csv", "line 3: 2 fields where the header has 3"),
    "a long line": (b"a,b\n1,2\n3,4\n5,6,7\n", "l.csv", "line 4: 3 fields where the header has 2"),
    "latin-1": (
        "a,b\ncafé,1\nthé,2\n".encode("latin-1"),
        "x.csv",
        "line 2: byte 0xe9 is not utf-8",
    ),
    "a name twice": (b"a,b,a\n1,2,3\n", "d.csv", "the column 'a' more than once"),
    "no database": (b"nothing", "n.duckdb", "neither a DuckDB nor an SQLite file"),
    "broken parquet": (b"PAR1 and then nothing", "p.parquet", "cannot read p.parquet"),
    "broken json": (b'{"a": 1}\n{"a": \n', "j.jsonl", "cannot read j.jsonl"),
    "an empty folder": ("folder", "folder", "holds no Parquet, CSV or JSON lines"),
    "a pattern without files": (None, "*.parquet", "no file matches"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_sources(tmp_path, case):
    content, name, message = BAD[case]
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        read(path)
    assert "Traceback" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_encodings(tmp_path):
    text = "name,v\ncafé,1\nthé,2\n"
    for encoding in ("latin-1", "utf-16", "cp1252"):
        path = write(tmp_path / f"{encoding}.csv", text, encoding)
        assert read(path, reading=ReadOptions(encoding=encoding)).column("name").to_pylist() == [
            "café",
            "thé",
        ]
    bom = write(tmp_path / "bom.csv", text, "utf-8-sig")
    assert read(bom).column_names == ["name", "v"]
    with pytest.raises(UserError, match="there is no encoding 'klingon'"):
        read(bom, reading=ReadOptions(encoding="klingon"))
