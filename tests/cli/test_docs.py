"""The page about the command line speaks of commands and options that exist."""

import re
import shlex
from pathlib import Path

import pytest

from admercs.cli.options import make_parser
from admercs.report.report_summary import summary_of

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^\$ (admercs .*)$", PAGE, re.M)
INLINE = re.findall(r"`(admercs (?:detect|score) [^`]*)`", PAGE)


@pytest.mark.parametrize("line", [*SHOWN, *INLINE])
def test_commands_of_the_page_can_be_parsed(line):
    words = shlex.split(line)[1:]
    make_parser(words).parse_args(words if words[1] != "--help" else ["demo"])


def test_options_of_the_page_exist():
    text = make_parser().format_help()
    for command in ("detect", "score", "explain"):
        actions = make_parser()._subparsers._group_actions[0].choices[command]
        text += actions.format_help()
    for option in set(re.findall(r"--[a-z][a-z-]+", PAGE)):
        assert option in text, option


def test_fields_of_the_data_are_described():
    source = Path(summary_of.__code__.co_filename).read_text(encoding="utf-8")
    fields = set(re.findall(r'^ +"(\w+)":', source, re.M))
    for field in fields - {"format", "version"}:
        assert f"`{field}`" in PAGE, field
