"""Where the command line starts and where its errors end."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TextIO

from admercs.cli.console import clean
from admercs.cli.errors import DISK_FULL, UserError, os_error
from admercs.cli.options import make_parser

INTERRUPTED, TERMINATED = 130, 143
_WITH_A_TABLE = ("detect", "score", "explain", "demo")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return 0, 1 (could not do it), 2 (usage) or 130 (Ctrl-C)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Outside of the main thread, signals are handled by the caller.
    with contextlib.suppress(ValueError):
        # Temporary files have to go before the process ends.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    with _reliable_streams():
        return _guarded(arguments, "--debug" in arguments)


def _guarded(arguments: Sequence[str], debug: bool) -> int:
    """Run the command line; return its exit status, whatever happens."""
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("\nadmercs: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough (| head).
        _drop_output()
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (*DISK_FULL, errno.EBADF):
            told = os_error(error, "standard output", "write")
        elif isinstance(error, UserError):
            told = error
        else:
            told = UserError(
                f"something went wrong that should not have: {type(error).__name__}: {error}. "
                "Run it again with --debug and report what it shows."
            )
        _drop_output()
        if debug:
            traceback.print_exc()
        print(*map(clean, f"admercs: {told}".split("\n")), sep="\n", file=sys.stderr)
        return told.status


@contextlib.contextmanager
def _reliable_streams() -> Iterator[None]:
    """Replace standard streams that are closed or unbuffered."""
    before = sys.stdout, sys.stderr
    if sys.stdin is None:
        # Its number must not be given to a file that is opened later.
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        # Nothing can be written to it, so printing is an error.
        sys.stdout = _stream(os.open(os.devnull, os.O_RDONLY))
    elif isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        # Python does not notice when an unbuffered stream takes only a part of what is written.
        sys.stdout = _stream(sys.stdout.fileno(), sys.stdout.encoding)
    if sys.stderr is None:
        sys.stderr = _stream(os.open(os.devnull, os.O_WRONLY))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character must not end the program.
            stream.reconfigure(errors="replace")
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _stream(number: int, encoding: str = "utf-8") -> TextIO:
    return open(number, "w", 1, encoding=encoding, closefd=False)


def _run(arguments: Sequence[str]) -> int:
    try:
        options = make_parser(arguments).parse_args(arguments)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    with warnings.catch_warnings():
        # Warnings are for programmers; what a user should know is part of the output.
        if not options.debug:
            warnings.simplefilter("ignore")
            # Without the cache every command takes seconds longer, which the user can change.
            warnings.filterwarnings("default", "Compiled code cannot be")
            warnings.showwarning = _print_warning
        module = "detection" if options.command in _WITH_A_TABLE else "commands"
        if module == "detection" and not (find_spec("duckdb") and find_spec("pyarrow")):
            raise UserError("reading tables needs DuckDB and pyarrow: pip install 'admercs[cli]'.")
        getattr(import_module(f"admercs.cli.{module}"), options.command)(options)
    return 0


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"admercs: {message}", file=sys.stderr)


def _drop_output() -> None:
    """Drop what cannot be printed: Python would try it again when it ends, and print an error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
