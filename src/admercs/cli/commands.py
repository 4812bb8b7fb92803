"""The commands that need no table: what a model holds, experiments, completion in shells."""

from __future__ import annotations

import json
import math
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from admercs.cli.console import Style, columns_text, counted, filled, threshold_text
from admercs.cli.errors import UserError, os_errors
from admercs.cli.options import make_parser

if TYPE_CHECKING:
    from admercs import ADMERCS

_OF_A_RUN = ("verbose", "n_jobs", "random_state")  # parameters that say nothing about a model


def load_model(path: str) -> ADMERCS:
    """Read a model file."""
    from admercs.estimator import ADMERCS, ModelFileError

    with os_errors(path, "read"):
        try:
            return ADMERCS.load(path)
        except ModelFileError as error:
            raise UserError(str(error)) from error


def tell(options: Namespace, content: Any, text: str, stream: TextIO | None = None) -> None:
    """Print something for machines or for people."""
    if options.json:
        print(json.dumps(content, ensure_ascii=False, indent=2), file=stream)
    elif not options.quiet:
        print(text, file=stream)


def patterns(options: Namespace) -> None:
    """List what is normal in a table."""
    from admercs.explain import patterns as find_patterns

    found = find_patterns(load_model(options.model).model_, options.top, noun=options.noun)
    style, lines = Style(), [] if found else ["No column depends noticeably on the others."]
    for rank, pattern in enumerate(found, 1):
        lines += filled(pattern.text, style, f"{rank:>3}. ")
    tell(options, [pattern.to_dict() for pattern in found], "\n".join(lines))


def info(options: Namespace) -> None:
    """Describe what a model file holds."""
    model = load_model(options.model)
    forest, parameters = model.model_.forest, model.get_params()
    about = {
        "file": options.model,
        "bytes": Path(options.model).stat().st_size,
        "rows": model.model_.n_rows,
        "columns": [
            {
                "name": column.name,
                "role": column.role,
                "kind": column.display,
                "reason": column.reason,
                "missing": column.n_missing,
                "values": len(column.categories) + column.n_grouped,
            }
            for column in model.columns_
        ],
        "trees": int(forest.n_trees),
        "contexts": int((forest.feature < 0).sum()),
        "anomalous_contexts": len(model.contexts_),
        "threshold": {"score": -math.expm1(model.offset_), "evidence": -model.offset_},
        "parameters": {name: parameters[name] for name in parameters if name not in _OF_A_RUN},
    }
    tell(options, about, "\n".join(_about_lines(model, about, Style())))


def _about_lines(model: ADMERCS, about: dict[str, Any], style: Style) -> list[str]:
    from admercs.report import threshold_meaning

    default = type(model)().get_params()
    changed = [f"{k} = {value}" for k, value in about["parameters"].items() if value != default[k]]
    meaning = threshold_meaning(model.contamination)
    missing = [column.n_missing for column in model.columns_]
    return [
        f"{style.bold(about['file'])}: learned from {counted(about['rows'], 'row')}, "
        f"{counted(len(about['columns']), 'column')}, {about['bytes'] / 1000:,.0f} kB",
        *columns_text(model.columns_, missing, about["rows"], style),
        "",
        f"  trees      {about['trees']:,}, with {counted(about['contexts'], 'context')}, "
        f"{about['anomalous_contexts']:,} of them anomalous",
        *filled(
            f"evidence {threshold_text(-model.offset_)}. {meaning}", style, "  threshold  ", 13
        ),
        *filled(", ".join(changed) or "all as they come", style, "  settings   ", 13),
    ]


def reproduce(options: Namespace) -> None:
    """Run the paper's experiments, which bring their own options along."""
    from admercs.experiments import command

    command.run(options)


def completion(options: Namespace) -> None:
    """Print a script that completes commands and options in a shell, made from the parser."""
    subparsers: Any = next(action for action in make_parser()._actions if action.nargs == "A...")
    commands = {
        choice.dest: (_said(choice.help), list(_options(subparsers.choices[choice.dest])))
        for choice in subparsers._choices_actions
    }
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](commands), end="")


def _said(text: str | None) -> str:
    """Return a help text without what would end a quotation or a bracket."""
    return (text or "").translate(str.maketrans("'[]:", "’(),"))


def _options(parser: ArgumentParser) -> Iterator[tuple[str, Action, str]]:
    """Yield each option's name, the option, and the values to choose from."""
    for action in parser._actions:
        for name in action.option_strings or [""]:
            if not name.startswith("-") or name.startswith("--"):
                yield name, action, " ".join(action.choices or ())


def _bash(commands: dict[str, Any]) -> str:
    words: dict[str, str] = {}  # by what stands before the cursor; what to choose from comes first
    for command, (_, options) in commands.items():
        words |= {f'" {name or command}"': values for name, _, values in options if values}
    for command, (_, options) in commands.items():
        words[f'" {command} "*'] = " ".join(name for name, _, _ in options if name)
    cases = [f'    *{before}) words="{values}" ;;' for before, values in words.items()]
    return _script("bash", " ".join(commands), cases)


def _zsh(commands: dict[str, Any]) -> str:
    cases = []
    for command, (_, options) in commands.items():
        words, rest = [], "'*:file:_files'"
        for name, action, values in options:
            takes = f":value:({values})" if values else f":{action.metavar or 'value'}:_files"
            if name:
                words.append(f"'{name}[{_said(action.help)}]{'' if action.nargs == 0 else takes}'")
            elif values:
                rest = f"'*:{action.dest}:({values})'"
        cases.append(f"    {command}) _arguments {' '.join(words)} {rest} ;;")
    names = "\n".join(f"    '{command}:{help}'" for command, (help, _) in commands.items())
    return _script("zsh", names, cases)


def _script(shell: str, names: str, cases: list[str]) -> str:
    template = resources.files("admercs.cli") / f"completion.{shell}"
    text = template.read_text(encoding="utf-8")
    return text.replace("@names", names).replace("@cases", "\n".join(cases))


def _fish(commands: dict[str, Any]) -> str:
    lines, start = ["# Completes admercs in fish.\n"], "complete -c admercs -n"
    for command, (help, options) in commands.items():
        lines.append(f"{start} __fish_use_subcommand -f -a {command} -d '{help}'\n")
        then = f"{start} '__fish_seen_subcommand_from {command}'"
        for name, action, values in options:
            takes = "" if action.nargs == 0 else f" -x -a '{values}'" if values else " -r"
            if name:
                lines.append(f"{then} -l {name[2:]}{takes} -d '{_said(action.help)}'\n")
            elif values:
                lines.append(f"{then} -f -a '{values}'\n")
    return "".join(lines)
