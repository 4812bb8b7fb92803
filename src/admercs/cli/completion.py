"""``admercs completion``: scripts for shells, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from admercs.cli.options import make_parser

_BASH = """\
# Completes admercs in bash. Use: source <(admercs completion bash)
_admercs() {
  local current="${COMP_WORDS[COMP_CWORD]}" words=""
  case "$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in
    "1 "*) words="@names --help --version" ;;
@cases
  esac
  if [[ "$words" != --* || "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -o default -o bashdefault -F _admercs admercs
"""
_ZSH = """\
#compdef admercs
# Completes admercs in zsh. Use: source <(admercs completion zsh), after compinit
_admercs() {
  local -a commands
  commands=(
@names
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
@cases
  esac
}
compdef _admercs admercs
"""
_FISH = "complete -c admercs -n"


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    subparsers: Any = next(action for action in make_parser()._actions if action.nargs == "A...")
    commands = {
        choice.dest: (_said(choice.help), subparsers.choices[choice.dest])
        for choice in subparsers._choices_actions
    }
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def _said(text: str | None) -> str:
    """Return a help text without what would end a quotation or a bracket."""
    return (text or "").translate(str.maketrans("'[]:", "’(),"))


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action, str]]:
    """Yield each option's name, the option, and the values to choose from."""
    for action in parser._actions:
        for name in action.option_strings or [""]:
            if not name.startswith("-") or name.startswith("--"):
                yield name, action, " ".join(action.choices or ())


def _bash(commands: dict[str, Any]) -> str:
    choices: dict[str, None] = {}
    options = []
    for command, (_, parser) in commands.items():
        names = [name for name, _, _ in _options(parser) if name]
        options.append(f'    *" {command} "*) words="{" ".join(names)}" ;;')
        for name, _, values in _options(parser):
            if values:
                choices[f'    *" {name or command}") words="{values}" ;;'] = None
    cases = "\n".join([*choices, *options])
    return _BASH.replace("@names", " ".join(commands)).replace("@cases", cases)


def _zsh(commands: dict[str, Any]) -> str:
    cases = []
    for command, (_, parser) in commands.items():
        words, rest = [], "'*:file:_files'"
        for name, action, values in _options(parser):
            takes = f":value:({values})" if values else f":{action.metavar or 'value'}:_files"
            if name:
                words.append(f"'{name}[{_said(action.help)}]{'' if action.nargs == 0 else takes}'")
            elif values:
                rest = f"'*:{action.dest}:({values})'"
        cases.append(f"    {command}) _arguments {' '.join(words)} {rest} ;;")
    names = "\n".join(f"    '{command}:{help}'" for command, (help, _) in commands.items())
    return _ZSH.replace("@names", names).replace("@cases", "\n".join(cases))


def _fish(commands: dict[str, Any]) -> str:
    lines = ["# Completes admercs in fish."]
    for command, (help, parser) in commands.items():
        lines.append(f"{_FISH} __fish_use_subcommand -f -a {command} -d '{help}'")
        start = f"{_FISH} '__fish_seen_subcommand_from {command}'"
        for name, action, values in _options(parser):
            takes = f" -x -a '{values}'" if values else " -r"
            if name:
                takes = "" if action.nargs == 0 else takes
                lines.append(f"{start} -l {name[2:]}{takes} -d '{_said(action.help)}'")
            elif values:
                lines.append(f"{start} -f -a '{values}'")
    return "\n".join(lines) + "\n"
