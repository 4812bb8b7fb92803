"""Files of tables that were damaged, or made to do harm: they are refused, and say why."""

from __future__ import annotations

import gzip
import os
import threading
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, ipc

from admercs.cli import console
from admercs.cli.console import Style
from admercs.cli.csvfile import ReadOptions
from admercs.cli.errors import UserError
from admercs.cli.reader import open_table
from tests.fuzz import Sources
from tests.table_files import CSV


def read(path: Path) -> list[str]:
    with open_table([str(path)], ReadOptions()) as table:
        return table.read(10_000)[0].column_names


def test_random_damage(tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    n = len(sources.samples)
    assert Counter(sources.run(number) for number in range(n)) == {"used": n}
    found = Counter(sources.run(number) for number in range(n, 12 * n))
    assert found["refused"] > 5 * n


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
def test_an_arrow_file_whose_texts_lie_elsewhere(tmp_path: Path, kind: pa.DataType) -> None:
    """Arrow itself believes what a file says, and reads what is not the file's."""
    path = tmp_path / "a.arrow"
    texts = pa.array([f"this is the text of row {k:03}" for k in range(64)], kind)
    table = pa.table({"text": texts, "x": range(64)})
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    content = path.read_bytes()
    if kind == pa.string_view():
        place = content.index(b"\x1b\0\0\0this") + 12  # the length, the beginning, buffer, offset
    else:
        size = 4 if kind != pa.large_string() else 8
        place = content.index((27 * 5).to_bytes(size, "little") + (27 * 6).to_bytes(size, "little"))
    path.write_bytes(content[:place] + b"\xf0\xff\xff\x7f" + content[place + 4 :])
    with pytest.raises(UserError, match=r"cannot read .*damaged"):
        read(path)


def damaged(change: Callable[[bytearray], None], path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", CSV)
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)


def set_bytes(content: bytearray, place: int, value: int) -> None:
    """Change a byte in the header of a member, and in the directory, where it is 2 further."""
    content[place] = content[content.index(b"PK\1\2") + place + 2] = value


ZIPS: dict[str, Callable[[bytearray], None]] = {
    "encrypted": lambda content: set_bytes(content, 6, 1),
    "compression": lambda content: set_bytes(content, 8, 99),
    "Bad CRC": lambda content: set_bytes(content, 14, content[14] ^ 1),
    "version": lambda content: set_bytes(content, 4, 255),
}


@pytest.mark.parametrize("fault", ZIPS)
def test_damaged_archives(tmp_path: Path, fault: str) -> None:
    damaged(ZIPS[fault], tmp_path / "a.zip")
    with pytest.raises(UserError, match=f"a.zip is damaged or was cut short: .*{fault}"):
        read(tmp_path / "a.zip")


@pytest.mark.parametrize("name", ["../../a.csv", "/a.csv", "x/..", ".", "a" * 300, "é" * 300])
def test_names_in_an_archive_name_no_file_of_the_user(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, CSV)
    assert read(tmp_path / "a.zip") == ["a", "b", "c"]
    assert os.listdir(tmp_path) == ["a.zip"]


@pytest.mark.parametrize("name", ["packed.csv", "packed.csv.zst", "packed.csv.xz", "plain.csv.gz"])
def test_endings_that_say_something_else(tmp_path: Path, name: str) -> None:
    content = CSV.encode()
    (tmp_path / name).write_bytes(content if "plain" in name else gzip.compress(content))
    assert read(tmp_path / name) == ["a", "b", "c"]


@pytest.mark.parametrize("content", [CSV.encode(), gzip.compress(CSV.encode())])
def test_pipes_are_read(tmp_path: Path, content: bytes) -> None:
    """A shell gives a pipe for <(command), whose size is not known."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    assert read(path) == ["a", "b", "c"]
    writer.join()


def test_lines_of_two_ends(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"1,2\r\n3,4\n" * 50)
    with pytest.raises(UserError, match=r"has lines that end in .*: give all the same end"):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["rot13", "base64", "none such", "a\0b"])
def test_no_encoding_of_texts(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.arff").write_text("@attribute a real\n@data\n1\n2\n")
    reading = ReadOptions(encoding=name)
    with (
        pytest.raises(UserError, match="there is no encoding"),
        open_table([str(tmp_path / "a.arff")], reading),
    ):
        pytest.fail("must not get here")


def test_a_name_that_is_empty_is_not_the_present_folder() -> None:
    with pytest.raises(UserError, match="name of a table is empty"):
        open_table([""], ReadOptions()).__enter__()


def test_a_view_in_a_database_reads_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text(CSV)
    with duckdb.connect(tmp_path / "d.duckdb") as database:
        database.execute(f"create view v as from read_csv('{tmp_path}/secret.csv')")
    with pytest.raises(UserError, match=r"cannot read d\.duckdb, v: Cannot access"):
        read(tmp_path / "d.duckdb")


def test_errors_say_nothing_that_a_terminal_obeys(tmp_path: Path, run: Any) -> None:
    (tmp_path / "a.csv").write_text("a\x1b[2J,b\x9b,c\u202e\n")
    status, _, told = run("detect", str(tmp_path / "a.csv"))
    assert status == 1
    assert r"only the columns a\x1b[2J, b\x9b, c" in told
    assert all(character.isprintable() for character in told.removesuffix("\n"))


def test_values_are_shown_in_colour_without_what_a_terminal_obeys() -> None:
    odd = "a\x1b[2J"
    value = SimpleNamespace(
        column=odd, label=odd, value_text=odd, expected_text=odd, slip=odd, text=odd
    )
    style = Style()
    style.on = True
    lines = console._value_lines(value, 1, style)
    shown = r"a\x1b[2J"
    assert lines[0].startswith(f"  1. \x1b[1m{shown}\x1b[0m   {shown}: \x1b[1;31m{shown}\x1b[0m, ")
    assert lines[1] == f"     {shown}"


def test_numbers_of_half_precision(tmp_path: Path) -> None:
    halves = pa.array(np.arange(60, dtype=np.float16))
    feather.write_feather(pa.table({"half": halves, "x": range(60)}), tmp_path / "a.feather")
    assert read(tmp_path / "a.feather") == ["half", "x"]


@pytest.mark.parametrize("out", ["scores.csv", "scores.jsonl"])
def test_dates_that_python_does_not_know_label_rows(tmp_path: Path, run: Any, out: str) -> None:
    days = pa.array(range(3_000_000, 3_000_060), pa.int32()).cast(pa.date32())
    table = pa.table({"day": days, "x": np.arange(60) % 7, "y": np.arange(60) % 5})
    pq.write_table(table, tmp_path / "a.parquet")
    for more in (["--id", "day"], ["--keep"]):
        path = tmp_path / out
        status, _, told = run("detect", str(tmp_path / "a.parquet"), "--out", str(path), *more)
        assert (status, told) == (0, "")
        assert "10183-09-22" in path.read_text()


def test_a_header_whose_quote_ends_too_early(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"a"x,b\n1,2\n')
    with pytest.raises(UserError, match=r"a\.csv, line 1: "):
        read(tmp_path / "a.csv")


def test_a_name_with_nul(tmp_path: Path) -> None:
    """Between DuckDB and Arrow a name ends there."""
    pq.write_table(pa.table({"a\0b": [1, 2], "x": [3, 4]}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match=r"a column is called 'a\\x00b'"):
        read(tmp_path / "a.parquet")
