"""``admercs completion``: scripts for shells, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from admercs.cli.options import make_parser

__all__ = ["run", "script"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    print(script(options.shell), end="")


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _commands() -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Return each command's help and parser."""
    for action in make_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            return {name: (helps[name], parser) for name, parser in action.choices.items()}
    return {}


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    for action in parser._actions:
        for option in action.option_strings:
            if option.startswith("--") and action.help != argparse.SUPPRESS:
                yield option, action


def _bash() -> str:
    cases = "\n".join(
        f'    {name}) words="{" ".join(option for option, _ in _options(parser))}" ;;'
        for name, (_, parser) in _commands().items()
    )
    return f"""# Completes admercs in bash. Use: source <(admercs completion bash)
_admercs() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(_commands())} --help --version" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}" in
    "completion completion") COMPREPLY=($(compgen -W "bash zsh fish" -- "$current")); return ;;
    *" --reasons") COMPREPLY=($(compgen -W "flagged all none" -- "$current")); return ;;
  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}}
complete -o default -o bashdefault -F _admercs admercs
"""


def _said(text: str) -> str:
    """Return a help text without what would end a quotation or a bracket."""
    return (text or "").replace("'", "’").replace("[", "(").replace("]", ")").replace(":", ",")


def _zsh() -> str:
    commands = "\n".join(f"    '{name}:{_said(help)}'" for name, (help, _) in _commands().items())
    cases = []
    for name, (_, parser) in _commands().items():
        options = []
        for option, action in _options(parser):
            takes = "" if action.nargs == 0 else f":{(action.metavar or 'value')}:_files"
            if action.choices:
                takes = f":value:({' '.join(map(str, action.choices))})"
            options.append(f"'{option}[{_said(action.help or '')}]{takes}'")
        rest = "'*:shell:(bash zsh fish)'" if name == "completion" else "'*:file:_files'"
        cases.append(f"    {name}) _arguments {' '.join(options)} {rest} ;;")
    return f"""#compdef admercs
# Completes admercs in zsh. Use: source <(admercs completion zsh), after compinit
_admercs() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{chr(10).join(cases)}
  esac
}}
compdef _admercs admercs
"""


def _fish() -> str:
    lines = ["# Completes admercs in fish."]
    for name, (help, parser) in _commands().items():
        lines.append(
            f"complete -c admercs -n __fish_use_subcommand -f -a {name} -d '{_said(help)}'"
        )
        for option, action in _options(parser):
            takes = "" if action.nargs == 0 else " -r"
            if action.choices:
                takes = f" -x -a '{' '.join(map(str, action.choices))}'"
            lines.append(
                f"complete -c admercs -n '__fish_seen_subcommand_from {name}' "
                f"-l {option[2:]}{takes} -d '{_said(action.help or '')}'"
            )
    only = "__fish_seen_subcommand_from completion"
    lines.append(f"complete -c admercs -n '{only}' -f -a 'bash zsh fish'")
    return "\n".join(lines) + "\n"
