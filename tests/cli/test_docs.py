"""The page about the command line speaks of commands and options that exist and work."""

import gzip
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from admercs.cli import main
from admercs.cli.options import make_parser

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(?:console)?\n(.*?)^```", re.M | re.S)
BLOCKS = [block.replace("\\\n", " ") for block in _BLOCK.findall(PAGE)]
# Commands in blocks may go on to the next line within quotes.
SHOWN = [
    command
    for block in BLOCKS
    for command in re.findall(r'^(?:\$ )?(admercs (?:"[^"]*"|[^"\n#])*)', block, re.M)
]
INLINE = [
    text.replace("\\|", "|")
    for text in re.findall(r"`([^`\n]*\badmercs [^`\n]*)`", PAGE)
    if "pip" not in text
]


def parsers():
    """Return the parser of each command, with the options that the experiments bring along."""
    (action,) = make_parser(["reproduce"])._subparsers._group_actions
    return action.choices


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the page speaks of."""
    folder = tmp_path_factory.mktemp("page")
    n = 1700
    table = pa.table(
        {
            "year": [2024 + k % 2 for k in range(n)],
            "age": [20 + k * 37 % 60 for k in range(n)],
            "customer": [k * 31 % 23 for k in range(n)],
            "kind": ["abc"[k % 3] for k in range(n)],
        }
    )
    for name in ("hypothyroid.csv", "new.csv", "patients.csv"):
        csv.write_csv(table, folder / name)
    packed = gzip.compress((folder / "new.csv").read_bytes())
    for name in ("log.csv.gz", "log.gz"):
        (folder / name).write_bytes(packed)
    pq.write_table(table, folder / "trips.parquet")
    (folder / "trips").mkdir()
    for k in (0, 1):
        pq.write_table(table.slice(850 * k, 850), folder / "trips" / f"{k}.parquet")
    with sqlite3.connect(folder / "shop.sqlite") as database:
        database.execute("create table orders (year integer, age integer, customer integer)")
        rows = zip(
            *(table.column(name).to_pylist() for name in table.column_names[:3]), strict=True
        )
        database.executemany("insert into orders values (?, ?, ?)", rows)
        database.execute("create table others (x integer)")
    database.close()
    regions = {"customer": range(23), "region": [k % 3 for k in range(23)]}
    csv.write_csv(
        pa.table({name: list(v) for name, v in regions.items()}), folder / "customers.csv"
    )
    return folder


def test_commands_are_found():
    assert {command.split()[1] for command in SHOWN} >= {
        "demo", "detect", "score", "explain", "patterns", "info",
    }  # fmt: skip
    assert len(SHOWN) >= 9
    assert len(INLINE) >= 8


# In the order of the page: a model that one command writes is read by later ones.
@pytest.mark.parametrize("line", [*SHOWN, *INLINE])
def test_commands_of_the_page_run(line, folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    if re.match(r'admercs [^"*]*("|$)', line):
        assert main(shlex.split(line)[1:]) == 0
        assert capfd.readouterr().out
    else:
        # What a shell does with it is part of the command.
        shell = f'admercs() {{ "{sys.executable}" -m admercs "$@"; }}; set -o pipefail; {line}'
        subprocess.run(["bash", "-c", shell], check=True, capture_output=True)


def test_commands_that_do_not_exist_would_be_noticed(capsys):
    assert main(["detect", "--nonsense", "--help"]) == 0  # argparse asks for help first
    assert main(["detect", "hypothyroid.csv", "--nonsense"]) == 2
    assert main(["detekt", "hypothyroid.csv"]) == 2


@pytest.mark.parametrize("option", sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))))
def test_options_of_the_page_exist(option):
    known = {name for parser in parsers().values() for name in parser._option_string_actions}
    assert option in known
