"""The command line's words: commands, options and help that teaches."""

from __future__ import annotations

import argparse
import math
import os
import re
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from admercs._version import __version__

# Up to so many rows a table is learned from in memory; above, on disk, or from a sample.
FIT_ROWS = 1_000_000
# What a fit to some thousand rows holds: bytes for each column, and for each pair of columns.
PER_COLUMN, PER_PAIR = 600_000, 8

_SOURCES = """\
a table can be
  a file       CSV, TSV (also .gz, .zst, .bz2, .xz, .zip), Parquet, Feather, JSON lines, ARFF,
               workbooks (.xlsx, .xls, .ods) with admercs[excel]
  several      trips/*.parquet, or a folder
  a database   a DuckDB or SQLite file, with --table if it holds several
  a query      "select * from 'trips/*.parquet' where year = 2025" over any of these;
               a database's table is called 'shop.sqlite'.orders there
  -            standard input

"""
_EXAMPLES = """\
examples
  admercs demo
  admercs detect cars.parquet --report cars.html
  admercs detect --help
"""

# Of each command what it does, and examples.
_COMMANDS = """\
detect: learn what is normal in a table and list the rows that are not
  admercs detect cars.parquet --report cars.html --out scores.csv --model cars.admercs
  admercs detect people.csv --id name --ignore notes --nominal zip
  admercs detect "select * from 'trips/*.parquet' where year = 2025"
  gunzip -c log.csv.gz | admercs detect - --json > found.json

score: score new rows with what was learned before
  admercs score cars.admercs new.csv --out scored.csv
  admercs score cars.admercs new.csv --id plate --reasons all --out scored.jsonl

explain: say why rows got their scores
  admercs explain cars.admercs new.csv --row 17
  admercs explain cars.admercs new.csv --id plate --row B-AD-17 --why 10

patterns: list what is normal in the table a model was learned from
  admercs patterns cars.admercs
  admercs patterns cars.admercs --top 50 --noun cars

info: describe a model file: columns, parameters, threshold
  admercs info cars.admercs
  admercs info cars.admercs --json

demo: find the wrong values in 2,000 generated orders
  admercs demo
  admercs demo --out orders

reproduce: repeat the experiments of the paper
  admercs reproduce --quick
  admercs reproduce --benchmark HiCS --data data --out results

completion: print a script that completes commands and options in a shell
  bash   source <(admercs completion bash)            in ~/.bashrc
  zsh    source <(admercs completion zsh)             in ~/.zshrc, after compinit
  fish   admercs completion fish > ~/.config/fish/completions/admercs.fish"""

# Options as help shows them: the name, what it takes, two blanks, what it does.
_LEARNING = f"""
--contamination SHARE  flag this share of the rows, such as 0.01, instead of finding the line
    automatically (an ordinary row is then flagged with a chance of 1 in 500, and no more than 1 in
    100 rows are unless they stand out from the rest)
--threshold SCORE  flag rows above this score
--novelty  the rows are known to be normal: trust all of them, and draw the line for new rows
--reference FILE  learn from the rows of this file, which are known to be normal, and look at TABLE
--fit-rows N  learn from a sample of N rows if there are more; all rows are scored
--seed SEED  seed of that sample (default: 0)
--dask  learn from all rows in worker processes that keep the table on disk; this is what happens
    above {FIT_ROWS:,} rows if admercs[dask] is installed. --no-dask: learn from a sample of
    {FIT_ROWS:,} rows then
--memory SIZE  what those workers may use together, such as 4GB (default: all there is)
--max-columns N  refuse wider tables (default: as many as there is memory for)
"""
_READING = """
--table NAME  the table of a database, or the sheet of a workbook by its name or number
--delimiter C  CSV: what separates fields (tab: \\t)
--encoding ENCODING  CSV, ARFF: the encoding, such as latin-1 (default: utf-8, or utf-16 where the
    file begins like it)
--missing TEXT  what stands for a missing value, such as -99, beside the usual texts (nothing at
    all, NA, N/A, NaN, nan, null, NULL and ?); can be repeated
--no-header  CSV: the first line is a row already
--decimal C  text that is numbers: the sign before the decimals, . or , (default: decided for each
    column)
--dayfirst  text that is dates: 03/04/2021 is in April; --no-dayfirst: in March (default: decided
    for each column)
"""
_ROLES = """
--id COLUMNS  label rows with these; they are not looked at otherwise
--ignore COLUMNS  leave these out
--numeric COLUMNS  text that is numbers
"""
_OUTPUTS = """
--out FILE  write the scores of all rows: .csv, .parquet, .jsonl; - is CSV on standard output
--keep  with all original columns in that file
--reasons  the rows that get reasons in that file (default: flagged)
--report FILE  write a page to look at: .html
--report-rows N  the most rows listed in it (default: 500)
--top N  rows shown here (default: 10)
--why N  reasons per row (default: 3)
--cells N  suspicious values shown here (default: 5)
"""
_ROWS = """
--row ROW  the row's number, counted from 1 without the header, or its label with --id; can be
    repeated (default: the most anomalous rows)
--top N  rows shown without --row (default: 5)
--why N  reasons per row (default: 5)
"""
_NOUN = "--noun NOUN  what rows are called in sentences, such as cars\n"
_JOBS = "--jobs N  threads (default: all)"
_PRINTED = """
--json  print JSON, for machines
--quiet  print nothing but errors
--debug  show a traceback when it fails
"""
_GENERAL = f"{_NOUN}{_JOBS}{_PRINTED}"
_COLUMNS = "columns (names separated by commas; can be repeated)"
_NOMINAL = "--nominal COLUMNS  numbers that are only names, such as codes"
_MODEL = "--model FILE  keep what was learned, for score"
_FOLDER = "--out FOLDER  where the table, the scores and the report go (default: admercs-demo)"
# The groups of options of each command, with their titles.
_GROUPS = {
    "detect": {"reading": _READING, _COLUMNS: f"{_ROLES}{_NOMINAL}", "learning": _LEARNING,
               "output": f"{_OUTPUTS}{_MODEL}", "general": _GENERAL},
    "score": {"reading": _READING, _COLUMNS: _ROLES, "output": _OUTPUTS, "general": _GENERAL},
    "explain": {"": _ROWS, "reading": _READING, _COLUMNS: _ROLES, "general": _GENERAL},
    "patterns": {"": "--top N  patterns shown (default: 20)", "general": f"{_NOUN}{_PRINTED}"},
    "info": {"general": _PRINTED},
    "demo": {"": _FOLDER, "general": f"{_JOBS}{_PRINTED}"},
    "reproduce": {"": "--debug  show a traceback when it fails"},
    "completion": {"": "--debug  show a traceback when it fails"},
}  # fmt: skip
# What is said of the table that some commands read.
_TABLES = {
    "detect": "the table to look at; see below",
    "score": "the new rows; see below",
    "explain": "the table that holds the rows; see below",
}


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=96)
        # Leaves room for the longest command, which argparse forgets to indent.
        self._action_max_length = 14


def make_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser; with the options of the experiments if ``argv`` asks for them."""
    common: dict[str, Any] = {"formatter_class": _Formatter, "allow_abbrev": False}
    description = "Finds anomalies in tables and says why, in plain words."
    parser = argparse.ArgumentParser("admercs", None, description, _EXAMPLES, **common)
    parser.add_argument("--version", action="version", version=f"admercs {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True, dest="command")
    for text in _COMMANDS.split("\n\n"):
        head, examples = text.split("\n", 1)
        name, help = head.split(": ", 1)
        description = f"{help[0].upper()}{help[1:]}."
        epilog = f"{_SOURCES if name in _TABLES else ''}examples\n{examples}\n"
        command = commands.add_parser(
            name, help=help, description=description, epilog=epilog, **common
        )
        if argv and argv[0] == name == "reproduce":
            # Only this command has to wait for the import of the experiments.
            from admercs.experiments.command import add_arguments

            add_arguments(command)
            command.epilog = f"{textwrap.fill(str(command.epilog), 96)}\n\n{epilog}"
        if name in ("score", "explain", "patterns", "info"):
            command.add_argument("model", help="a model file written by detect --model")
        if name in _TABLES:
            command.add_argument("table", nargs="+", help=_TABLES[name])
        if name == "completion":
            command.add_argument("shell", choices=("bash", "zsh", "fish"))
        for title, described in _GROUPS[name].items():
            _add_options(command.add_argument_group(title) if title else command, described)
    return parser


def _checked(convert: Callable[[str], Any], is_valid: Callable[[Any], Any], message: str) -> Any:
    """Return what turns the text of an option into its value, or says what is wrong with it."""

    def value_of(text: str) -> Any:
        with suppress(ValueError):
            if is_valid(value := convert(text)):
                return value
        raise argparse.ArgumentTypeError(f"{text!r} {message}")

    return value_of


def columns_that_fit() -> int:
    """Return how many columns a table may have for this machine's memory; 20,000 if unknown."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this system
        return 20_000
    return int((math.sqrt(PER_COLUMN**2 + 4.0 * PER_PAIR * memory) - PER_COLUMN) / (2 * PER_PAIR))


def _whole_number(least: int) -> Any:
    message = f"is not a whole number from {least}"
    return _checked(lambda text: int(text) if text.isdigit() else -1, lambda n: n >= least, message)


_share = _checked(
    lambda text: text if text == "auto" else float(text),
    lambda share: share == "auto" or 0 < share <= 0.5,
    "is neither auto nor between 0 and 0.5",
)
_score = _checked(float, lambda s: 0 <= s < 1, "is not a score from 0 up to, not including, 1")
_size = _checked(
    str,
    re.compile(r"auto|\d+(\.\d+)? ?([kMGTP]i?)?B?", re.IGNORECASE).fullmatch,
    "is no size, such as 4GB",
)
_word = _checked(str, str.strip, "is no word")
_delimiter = _checked(
    lambda text: text.encode().decode("unicode_escape") if text.startswith("\\") else text,
    lambda character: len(character) == 1,
    "is not a single character",
)
# What argparse has to know besides; an option that takes nothing and is not here is a flag.
_MORE: dict[str, dict[str, Any]] = {
    "--contamination SHARE": {"type": _share, "default": "auto"},
    "--threshold SCORE": {"type": _score},
    "--dask": {"action": argparse.BooleanOptionalAction},
    "--memory SIZE": {"type": _size, "default": "auto"},
    "--seed SEED": {"type": _whole_number(0), "default": 0},
    "--table NAME": {"dest": "table_name"},
    "--delimiter C": {"type": _delimiter},
    "--missing TEXT": {"action": "append", "default": []},
    "--decimal C": {"choices": (".", ",")},
    "--dayfirst": {"action": argparse.BooleanOptionalAction},
    "--reasons": {"choices": ("flagged", "all", "none"), "default": "flagged"},
    "--row ROW": {"action": "append", "default": []},
    "--noun NOUN": {"type": _word, "default": "rows"},
    "--out FOLDER": {"dest": "folder", "default": "admercs-demo"},
    "--jobs N": {"type": int, "default": -1},
}
_OPTION = re.compile(r"^(--\S+)(?: (\S+))?  (.+(?:\n    .+)*)", re.MULTILINE)


def _add_options(parser: Any, text: str) -> None:
    """Add the options that a text describes."""
    for name, metavar, described in _OPTION.findall(text):
        help = " ".join(described.split())
        more: dict[str, Any] = {"metavar": metavar} if metavar else {}
        if (key := f"{name} {metavar}".strip()) in _MORE:
            more |= _MORE[key]
        elif metavar == "COLUMNS":
            more |= {"action": "append", "default": []}
        elif metavar == "N":
            default = re.search(r"\(default: ([\d,]+)\)", help)
            # Beside the files that are written, nothing may be shown.
            may_be_none = name in ("--top", "--cells") and text.startswith(_OUTPUTS)
            least = 0 if may_be_none else 1
            more["type"] = _whole_number(least)
            more["default"] = None if default is None else int(default[1].replace(",", ""))
        elif not metavar:
            more["action"] = "store_true"
        parser.add_argument(name, help=help, **more)
