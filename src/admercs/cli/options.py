"""The command line's words: commands, options and help that teaches."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from typing import Any

from admercs._version import __version__

__all__ = ["FIT_ROWS", "MAX_COLUMNS", "make_parser"]

# Up to so many rows a table is learned from in memory; above, on disk, or from a sample of so many rows.
FIT_ROWS = 1_000_000
# Every column is predicted from all others: the work grows with the square of their number.
MAX_COLUMNS = 2_000

_SOURCES = """\
a table can be
  a file       CSV, TSV (also .gz, .zst, .bz2, .xz), Parquet, JSON lines, ARFF
  several      trips/*.parquet, or a folder
  a database   a DuckDB or SQLite file, with --table if it holds several
  a query      "select * from 'trips/*.parquet' where year = 2025" over any of these;
               a database's table is called 'shop.sqlite'.orders there
  -            standard input
"""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=96)
        # Leaves room for the longest command, which argparse forgets to indent.
        self._action_max_length = 14


def _command(commands: Any, name: str, help: str, examples: str, more: str = "") -> Any:
    parser = commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=f"{more}{chr(10) if more else ''}examples\n{examples}",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=name)
    return parser


def make_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser; ``argv`` decides which guests have to be asked for their options."""
    parser = argparse.ArgumentParser(
        prog="admercs",
        description="Finds anomalies in tables and says why, in plain words.",
        epilog="examples\n"
        "  admercs demo\n"
        "  admercs detect cars.parquet --report cars.html\n"
        "  admercs detect --help\n",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"admercs {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True, dest="command")
    _detect(commands)
    _score(commands)
    _explain(commands)
    _patterns(commands)
    _info(commands)
    _demo(commands)
    _reproduce(commands, argv)
    _completion(commands)
    return parser


def _detect(commands: Any) -> None:
    parser = _command(
        commands,
        "detect",
        "learn what is normal in a table and list the rows that are not",
        "  admercs detect cars.parquet --report cars.html --out scores.csv --model cars.admercs\n"
        "  admercs detect people.csv --id name --ignore notes --nominal zip\n"
        "  admercs detect \"select * from 'trips/*.parquet' where year = 2025\"\n"
        "  gunzip -c log.csv.gz | admercs detect - --json > found.json\n",
        _SOURCES,
    )
    parser.add_argument("table", nargs="+", help="the table to look at; see below")
    _reading(parser)
    _roles(parser, numeric=True)
    learning = parser.add_argument_group("learning")
    learning.add_argument(
        "--contamination",
        type=_share,
        default="auto",
        metavar="SHARE",
        help="flag this share of the rows, such as 0.01, instead of finding the line "
        "automatically (an ordinary row is then flagged with a chance of 1 in 1,000)",
    )
    learning.add_argument(
        "--threshold", type=_score_threshold, metavar="SCORE", help="flag rows above this score"
    )
    learning.add_argument(
        "--fit-rows",
        type=_positive,
        metavar="N",
        help="learn from a sample of N rows if there are more; all rows are scored",
    )
    learning.add_argument(
        "--dask",
        action=argparse.BooleanOptionalAction,
        help="learn from all rows in worker processes that keep the table on disk; this is what "
        f"happens above {FIT_ROWS:,} rows if admercs[dask] is installed. --no-dask: learn from a "
        f"sample of {FIT_ROWS:,} rows then",
    )
    learning.add_argument(
        "--memory",
        default="auto",
        metavar="SIZE",
        help="what those workers may use together, such as 4GB (default: all there is)",
    )
    learning.add_argument(
        "--max-columns",
        type=_positive,
        default=MAX_COLUMNS,
        metavar="N",
        help=f"refuse wider tables, which take very long (default: {MAX_COLUMNS:,})",
    )
    learning.add_argument("--seed", type=int, default=0, help="seed of that sample (default: 0)")
    output = _outputs(parser)
    output.add_argument("--model", metavar="FILE", help="keep what was learned, for score")
    _common(parser)


def _score(commands: Any) -> None:
    parser = _command(
        commands,
        "score",
        "score new rows with what was learned before",
        "  admercs score cars.admercs new.csv --out scored.csv\n"
        "  admercs score cars.admercs new.csv --id plate --reasons all --out scored.jsonl\n",
        _SOURCES,
    )
    parser.add_argument("model", help="a model file written by detect --model")
    parser.add_argument("table", nargs="+", help="the new rows; see below")
    _reading(parser)
    _roles(parser)
    _outputs(parser)
    _common(parser)


def _explain(commands: Any) -> None:
    parser = _command(
        commands,
        "explain",
        "say why rows got their scores",
        "  admercs explain cars.admercs new.csv --row 17\n"
        "  admercs explain cars.admercs new.csv --id plate --row B-AD-17 --why 10\n",
        _SOURCES,
    )
    parser.add_argument("model", help="a model file written by detect --model")
    parser.add_argument("table", nargs="+", help="the table that holds the rows; see below")
    parser.add_argument(
        "--row",
        action="append",
        default=[],
        metavar="ROW",
        help="the row's number, counted from 1 without the header, or its label with --id; "
        "can be repeated (default: the most anomalous rows)",
    )
    parser.add_argument(
        "--top",
        type=_positive,
        default=5,
        metavar="N",
        help="rows shown without --row (default: 5)",
    )
    _why(parser, 5)
    _reading(parser)
    _roles(parser)
    _common(parser)


def _patterns(commands: Any) -> None:
    parser = _command(
        commands,
        "patterns",
        "list what is normal in the table a model was learned from",
        "  admercs patterns cars.admercs\n  admercs patterns cars.admercs --top 50 --noun cars\n",
    )
    parser.add_argument("model", help="a model file written by detect --model")
    parser.add_argument(
        "--top", type=_positive, default=20, metavar="N", help="patterns shown (default: 20)"
    )
    _common(parser)


def _info(commands: Any) -> None:
    parser = _command(
        commands,
        "info",
        "describe a model file: columns, parameters, threshold",
        "  admercs info cars.admercs\n  admercs info cars.admercs --json\n",
    )
    parser.add_argument("model", help="a model file written by detect --model")
    _common(parser)


def _demo(commands: Any) -> None:
    parser = _command(
        commands,
        "demo",
        "find the odd ones among 1,000 generated electric cars",
        "  admercs demo\n  admercs demo --out cars\n",
    )
    parser.add_argument(
        "--out",
        dest="folder",
        default="admercs-demo",
        metavar="FOLDER",
        help="where the table, the scores and the report go (default: admercs-demo)",
    )
    _common(parser)


def _reproduce(commands: Any, argv: Sequence[str]) -> None:
    parser = _command(
        commands,
        "reproduce",
        "repeat the experiments of the paper",
        "  admercs reproduce --quick\n  admercs reproduce --benchmark HiCS --data data --out results\n",
    )
    examples = parser.epilog
    # The experiments bring their own options along; nobody else should wait for their import.
    if argv and argv[0] == "reproduce":
        from admercs.experiments.command import add_arguments

        add_arguments(parser)
        if parser.epilog != examples:
            parser.epilog = f"{textwrap.fill(parser.epilog, 96)}\n\n{examples}"
    parser.add_argument("--debug", action="store_true", help="show a traceback when it fails")


def _completion(commands: Any) -> None:
    parser = _command(
        commands,
        "completion",
        "print a script that completes commands and options in a shell",
        "  bash   source <(admercs completion bash)            in ~/.bashrc\n"
        "  zsh    source <(admercs completion zsh)             in ~/.zshrc, after compinit\n"
        "  fish   admercs completion fish > ~/.config/fish/completions/admercs.fish\n",
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)


def _reading(parser: Any) -> None:
    group = parser.add_argument_group("reading")
    group.add_argument("--table", dest="table_name", metavar="NAME", help="the table of a database")
    group.add_argument(
        "--delimiter", type=_delimiter, metavar="C", help="CSV: what separates fields (tab: \\t)"
    )
    group.add_argument(
        "--encoding", default="utf-8", help="CSV, ARFF: the encoding, such as latin-1"
    )
    group.add_argument(
        "--missing",
        action="append",
        metavar="TEXT",
        help="CSV: what stands for a missing value, can be repeated "
        "(default: nothing at all, NA, N/A, NaN, nan, null, NULL and ?)",
    )
    group.add_argument(
        "--no-header", action="store_true", help="CSV: the first line is a row already"
    )


def _roles(parser: Any, numeric: bool = False) -> None:
    group = parser.add_argument_group("columns (names separated by commas; can be repeated)")
    group.add_argument(
        "--id", action="append", default=[], metavar="COLUMNS",
        help="label rows with these; they are not looked at otherwise",
    )  # fmt: skip
    group.add_argument(
        "--ignore", action="append", default=[], metavar="COLUMNS", help="leave these out"
    )
    group.add_argument(
        "--numeric", action="append", default=[], metavar="COLUMNS", help="text that is numbers"
    )
    if numeric:
        group.add_argument(
            "--nominal", action="append", default=[], metavar="COLUMNS",
            help="numbers that are only names, such as codes",
        )  # fmt: skip


def _outputs(parser: Any) -> Any:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out",
        metavar="FILE",
        help="write the scores of all rows: .csv, .parquet, .jsonl; - is CSV on standard output",
    )
    group.add_argument("--keep", action="store_true", help="with all original columns in that file")
    group.add_argument(
        "--reasons",
        choices=("flagged", "all", "none"),
        default="flagged",
        help="the rows that get reasons in that file (default: flagged)",
    )
    group.add_argument("--report", metavar="FILE", help="write a page to look at: .html")
    group.add_argument(
        "--report-rows", type=_positive, default=500, metavar="N",
        help="the most rows listed in it (default: 500)",
    )  # fmt: skip
    group.add_argument(
        "--top", type=_count, default=10, metavar="N", help="rows shown here (default: 10)"
    )
    _why(group, 3)
    return group


def _why(parser: Any, default: int) -> None:
    parser.add_argument(
        "--why", type=_positive, default=default, metavar="N",
        help=f"reasons per row (default: {default})",
    )  # fmt: skip


def _common(parser: Any) -> None:
    group = parser.add_argument_group("general")
    group.add_argument(
        "--noun", type=_word, default="rows", help="what rows are called in sentences, such as cars"
    )
    group.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads (default: all)")
    group.add_argument("--json", action="store_true", help="print JSON, for machines")
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")
    group.add_argument("--debug", action="store_true", help="show a traceback when it fails")


def _positive(text: str) -> int:
    number = int(text) if text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return number


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _share(text: str) -> str | float:
    if text == "auto":
        return text
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 0.5:
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor between 0 and 0.5")
    return share


def _score_threshold(text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = -1.0
    if not 0 <= score < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a score from 0 up to, not including, 1")
    return score


def _word(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is no word")
    return text


def _delimiter(text: str) -> str:
    character = text.encode().decode("unicode_escape") if text.startswith("\\") else text
    if len(character) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a single character")
    return character
