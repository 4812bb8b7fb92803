"""Where the command line starts and where its errors end."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from admercs.cli.errors import DISK_FULL, UserError, os_error
from admercs.cli.options import make_parser

__all__ = ["main"]

INTERRUPTED, TERMINATED = 130, 143


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of this process.

    Returns
    -------
    status : int
        0, 1 (could not do it), 2 (usage), 130 (Ctrl-C).
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that cannot show a character must not end the program.
        sys.stdout.reconfigure(errors="replace")
        sys.stderr.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        options = make_parser(arguments).parse_args(arguments)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return _guarded(options)


def _guarded(options: argparse.Namespace) -> int:
    _end_cleanly_on_termination()
    try:
        with warnings.catch_warnings():
            # Warnings are for programmers; what a user should know is part of the output.
            if not options.debug:
                warnings.simplefilter("ignore")
            command = importlib.import_module(f"admercs.cli.commands.{options.command}")
            command.run(options)
        sys.stdout.flush()
    except UserError as error:
        return _failed(options, str(error), error.status)
    except KeyboardInterrupt:
        print("\nadmercs: interrupted", file=sys.stderr)
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    except BrokenPipeError:
        # The reader has seen enough (| head).
        _drop_output()
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            _drop_output()
            return _failed(options, str(os_error(error, "standard output", "write")), 1)
        return _failed(
            options,
            f"something went wrong that should not have: {type(error).__name__}: {error}. "
            "Run it again with --debug and report what it shows.",
            1,
        )
    return 0


def _drop_output() -> None:
    """Forget what is still to be printed: Python would try once more when it ends, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(options: argparse.Namespace, message: str, status: int) -> int:
    if options.debug:
        import traceback

        traceback.print_exc()
    print(f"admercs: {message}", file=sys.stderr)
    return status


class _Terminated(BaseException):
    """The process was asked to end; temporary files still have to go."""


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Terminated


def _end_cleanly_on_termination() -> None:
    # Outside of the main thread signals are the business of whoever runs us there.
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, _end)
