"""Names, streams and queries that could harm the user's files or lose rows silently."""

import io
import os
import subprocess
import sys
import warnings

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from admercs._compile import KernelCache
from admercs.cli.csvfile import ReadOptions
from admercs.cli.errors import UserError
from admercs.cli.reader import open_table

TABLE = "a,b\n" + "".join(f"{k % 7},{k % 5}\n" for k in range(60))


def read(*sources):
    with open_table([str(source) for source in sources], ReadOptions()) as table:
        return table.read(10**6)[0].to_pydict()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(line, **options):
    """Run a line of shell; ``admercs`` stands for this program."""
    command = f'"{sys.executable}" -m admercs'
    return subprocess.run(
        ["bash", "-c", line.replace("admercs", command)],
        capture_output=True, check=False, **options,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["data[1].csv", "star*.csv", "q?.csv", "[!x].csv", "d[1]/x.csv"])
@pytest.mark.parametrize("how", ["alone", "query", "folder", "list", "pattern"])
def test_a_name_that_exists_is_that_file_only(here, name, how):
    odd = here / "odd" / name
    odd.parent.mkdir(parents=True)
    odd.write_text("a\n7\n")
    others = ["data1.csv", "star2.csv", "qq.csv", "y.csv", "d1/x.csv"]
    for other in others:
        place = here / ("other" if how in ("folder", "pattern") else "odd") / other
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("a\n1\n")
    sources = {
        "alone": [f"odd/{name}"],
        "query": [f"select * from 'odd/{name}'"],
        "folder": ["odd"],
        "list": [f"odd/{name}"] * 2,
        "pattern": ["odd/**/*.csv"],
    }[how]
    assert set(read(*sources)["a"]) == {7}


def test_a_name_that_exists_is_that_file_only_in_other_formats(here):
    for name, value in (("p[1].parquet", 7), ("p1.parquet", 1)):
        pq.write_table(pa.table({"a": [value]}), name)
    assert read("p[1].parquet") == {"a": [7]}
    (here / "j[1].jsonl").write_text('{"a": 7}\n')
    (here / "j1.jsonl").write_text('{"a": 1}\n')
    assert read("from 'j[1].jsonl'") == {"a": [7]}
    with duckdb.connect("d[1].duckdb") as database:
        database.execute("create table t as select 7 as a")
    assert read("from 'd[1].duckdb'.t") == {"a": [7]}


@pytest.mark.parametrize("unbuffered", ["", "PYTHONUNBUFFERED=1"])
def test_scores_for_a_full_disk_are_an_error(here, unbuffered):
    (here / "t.csv").write_text(TABLE)
    ran = shell(f"{unbuffered} admercs detect t.csv --out - > /dev/full", text=True)
    assert ran.returncode == 1
    assert "cannot write standard output: no space left" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


@pytest.mark.parametrize("unbuffered", ["", "PYTHONUNBUFFERED=1"])
def test_output_that_is_cut_short_is_an_error(here, unbuffered):
    """An unbuffered stream takes what there is room for, and reports no error."""
    ran = shell(f"ulimit -f 1; {unbuffered} admercs completion bash > out", text=True)
    assert ran.returncode == 1
    assert "cannot write standard output: the file would become larger" in ran.stderr


LIMITED = """
import resource
import sys
from admercs.cli import main, sinks
write = sinks.Sink.write
def limited(sink, table):
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    write(sink, table)
sinks.Sink.write = limited
sys.exit(main(sys.argv[1:]))
"""


def test_scores_that_are_cut_short_are_an_error(here):
    (here / "t.csv").write_text(TABLE)
    arguments = ["detect", "t.csv", "--quiet", "--out", "-"]
    with (here / "out").open("wb") as out:
        ran = subprocess.run(
            [sys.executable, "-u", "-c", LIMITED, *arguments],
            stdout=out, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ran.returncode == 1
    assert "cannot write standard output: the file would become larger" in ran.stderr


QUERIES = {
    "a query": ("select * from 'in.csv'", ["--out", "in.csv"]),
    "a reader of DuckDB's": ("select * from read_csv('in.csv')", ["--out", "./in.csv"]),
    "a pattern for a reader": ("select * from read_csv(['i*.csv'])", ["--report", "in.csv"]),
    "a folder": (".", ["--out", "in.csv"]),
    "a pattern": ("i?.csv", ["--model", "in.csv"]),
    "a list": ("in.csv in.csv", ["--out", "in.csv"]),
}


@pytest.mark.parametrize("case", QUERIES)
def test_what_is_read_is_not_replaced(here, run, case):
    (here / "in.csv").write_text(TABLE)
    source, output = QUERIES[case]
    sources = source.split() if case == "a list" else [source]
    status, _, err = run("detect", *sources, *output)
    assert (status, "is what is read" in err) == (2, True)
    assert (here / "in.csv").read_text() == TABLE
    assert [path.name for path in here.iterdir()] == ["in.csv"]


def test_standard_input_is_not_replaced(here):
    (here / "in.csv").write_text(TABLE)
    for source in ("-", "\"select * from '-'\""):
        ran = shell(f"admercs detect {source} --out in.csv < in.csv", text=True)
        assert (ran.returncode, "is what is read" in ran.stderr) == (2, True)
    assert (here / "in.csv").read_text() == TABLE


def test_a_database_that_is_read_is_not_replaced(here, run):
    with duckdb.connect("d.csv") as database:
        database.execute("create table t as select range % 7 as a, range % 5 as b from range(60)")
    status, _, err = run("detect", "select * from 'd.csv'.t", "--out", "d.csv")
    assert (status, "is what is read" in err) == (2, True)


@pytest.mark.parametrize(
    "query",
    [
        "select 1 as a; copy (select 1 as a) to 'pwn.csv'",
        "select 1 as a; select 2 as a",
        "with x as (select 1 as a) insert into t from x",
        "pivot 'in.csv' on a using count(*)",
        "from 'in.csv'; attach 'pwn.csv' as p; create table p.t as select 1 as a",
    ],
)
def test_a_query_is_one_select(here, query):
    (here / "in.csv").write_text(TABLE)
    with pytest.raises(UserError, match="must be one select statement"):
        read(query)
    assert [path.name for path in here.iterdir()] == ["in.csv"]


@pytest.mark.parametrize("write", [
    "copy (select 1 as a) to 'in.csv' (use_tmp_file false)", "insert into t values (1) returning *",
])  # fmt: skip
@pytest.mark.parametrize("query", [
    "with x as ({}) select * from 'in.csv'",
    "from 'in.csv' where a in (with x as (select 1), y as ({}) select 1 from y)",
    "from 'in.csv' union all (with x as ({}) select * from x)",
])  # fmt: skip
def test_nothing_in_a_query_writes(here, query, write):
    (here / "in.csv").write_text(TABLE)
    with pytest.raises(UserError, match=r"one select statement|A CTE needs a SELECT"):
        read(query.format(write))
    assert (here / "in.csv").read_text() == TABLE


def test_the_connection_of_a_query_cannot_write_or_reach_other_files(here):
    (here / "in.csv").write_text(TABLE)
    (here / "other.csv").write_text(TABLE)
    with open_table(["from 'in.csv'"], ReadOptions()) as table:
        assert table.read(10)[1] == 60
        for statement in (
            "copy (select 1) to 'pwn.csv'",
            "copy (select 1) to 'in.csv'",
            "attach 'pwn.duckdb' as pwn",
            "from read_csv('other.csv')",
            "set enable_external_access = true",
        ):
            with pytest.raises(duckdb.Error):
                table._connection.execute(statement)
    assert sorted(path.name for path in here.iterdir()) == ["in.csv", "other.csv"]
    assert (here / "in.csv").read_text() == TABLE


def test_readers_of_duckdb_still_read(here):
    for k in (1, 2):
        (here / f"x{k}.csv").write_text(f"a\n{k}\n")
    assert read("from read_csv('x*.csv') order by a") == {"a": [1, 2]}
    assert read(f"from read_csv(['x1.csv', '{here}/x2.csv']) order by a") == {"a": [1, 2]}
    assert read("pivot 'x*.csv' on a in (1, 2) using count(*)") == {"1": [1], "2": [1]}


@pytest.mark.parametrize(
    "query",
    ["select a, b as a from 'in.csv'", "select * from 'in.csv' x join 'in.csv' y on x.b = y.b"],
)
def test_a_column_twice_is_an_error(here, query):
    (here / "in.csv").write_text(TABLE)
    with pytest.raises(UserError, match="more than one column 'a'"):
        read(query)


def test_a_folder_of_several_kinds_is_an_error(here):
    folder = here / "both"
    folder.mkdir()
    (folder / "x.csv").write_text("a\n1\n")
    pq.write_table(pa.table({"a": [2]}), folder / "x.parquet")
    for source in ("both", "select * from 'both'"):
        with pytest.raises(UserError, match=r"several kinds \(\.parquet, \.csv\)"):
            read(source)
    assert read("both/*.csv") == {"a": [1]}


def test_a_cache_of_compiled_code_that_cannot_be_used_is_told_once(run, monkeypatch):
    def detect(options):
        for text in ("full", "still full"):
            KernelCache.warn(OSError(text))
            warnings.warn("for programmers", stacklevel=1)

    monkeypatch.setattr(KernelCache, "_warned", False)
    monkeypatch.setattr("admercs.cli.detection.detect", detect)
    before = warnings.showwarning
    status, _, err = run("detect", "t.csv")
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("admercs: Compiled code cannot be read from the cache or saved")
    assert warnings.showwarning is before


def test_closed_standard_streams(here):
    (here / "t.csv").write_text(TABLE)
    ran = shell("admercs detect - <&-", text=True)
    assert (ran.returncode, ran.stderr) == (
        1,
        "admercs: standard input is closed: give a file, or pipe one in.\n",
    )
    for line in ("detect t.csv", "detect t.csv --out -", "--help"):
        ran = shell(f"admercs {line} >&-", text=True)
        assert ran.returncode == 1, line
        assert ran.stderr.endswith("cannot write standard output: it is closed.\n"), line
    ran = shell("admercs detect t.csv --quiet --out s.csv <&- >&- 2>&-")
    assert (ran.returncode, len((here / "s.csv").read_text().splitlines())) == (0, 61)
    ran = shell("admercs detect none.csv 2>&-")
    assert (ran.returncode, ran.stdout) == (1, b"")


def test_a_tilde_is_part_of_a_name(here):
    with pytest.raises(UserError, match=r"cannot read ~\.csv: no such file"):
        read("~.csv")
    (here / "~.csv").write_text("a\n7\n")
    assert read("~.csv") == {"a": [7]}
    assert read("from '~.csv'") == {"a": [7]}
    (here / "~").mkdir()
    (here / "~" / "x.csv").write_text("a\n7\n")
    assert read("~/x.csv") == {"a": [7]}


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "jsonl", "duckdb", "arff"])
def test_names_that_are_not_utf_8(here, form, people_csv):
    import gzip

    name = os.fsdecode(b"caf\xe9.") + form
    content = {"csv": b"a\n7\n", "csv.gz": gzip.compress(b"a\n7\n"), "jsonl": b'{"a": 7}\n',
               "arff": b"@attribute a real\n@data\n7\n"}  # fmt: skip
    if form == "parquet":
        buffer = io.BytesIO()
        pq.write_table(pa.table({"a": [7]}), buffer)
        content[form] = buffer.getvalue()
    if form == "duckdb":
        with duckdb.connect("plain") as database:
            database.execute("create table t as select 7 as a")
        os.rename("plain", name)
    else:
        (here / name).write_bytes(content[form])
    assert read(name) == {"a": [7]}
    with pytest.raises(UserError, match="the query is not UTF-8"):
        read(f"from '{name}'")


def test_commands_with_names_that_are_not_utf_8(here):
    (here / os.fsdecode(b"caf\xe9.csv")).write_text(TABLE)
    files = "--out $'s\\xe9.csv' --report $'r\\xe9.html' --model $'m\\xe9'"
    ran = shell(f"admercs detect $'caf\\xe9.csv' {files} --json", text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert '"table": "caf\\\\udce9.csv"' in ran.stdout
    assert len(list(here.iterdir())) == 4
    ran = shell("admercs score $'m\\xe9' $'caf\\xe9.csv'", text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
