"""Writing a file that is either complete or not there."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file for writing; it takes its place when the block ends without an error.

    Until then the content is in a temporary file in the same folder, which is removed if anything
    goes wrong. A new file gets the permissions that the umask gives, a replaced file keeps its
    own, and a link keeps pointing to the file that is replaced. A device or a pipe cannot be
    replaced, so it receives the content at the end.

    Parameters
    ----------
    path : path
        The file.
    mode : {"wb", "w"}, default="wb"
        Bytes, or text in UTF-8.

    Yields
    ------
    stream : file object

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     with atomic_write(path, "w") as stream:
    ...         _ = stream.write("complete")
    ...         early = path.exists()
    ...     early, path.read_text()
    (False, 'complete')
    """
    target = os.path.realpath(path)
    old = _mode_of(target)
    if old is not None and stat.S_ISDIR(old):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if old is not None and not stat.S_ISREG(old):
        with _copied_at_the_end(path, mode) as stream:
            yield stream
        return
    temporary = os.path.join(os.path.dirname(target), f".admercs-{secrets.token_hex(8)}")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # The system applies the umask here; asking for it would change it for other threads.
    handle = os.open(temporary, flags, 0o666)
    try:
        with _closed(_opened(handle, mode)) as stream:
            if old is not None:
                os.chmod(temporary, stat.S_IMODE(old))
            yield stream
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _opened(file: int | str | os.PathLike[str], mode: str) -> IO[Any]:
    return open(file, mode, 1 << 20, encoding=None if "b" in mode else "utf-8")


@contextmanager
def _closed(stream: IO[Any]) -> Iterator[IO[Any]]:
    """Close a stream; after an error, what it still holds is of no use and may fail to be written."""
    try:
        yield stream
    except BaseException:
        with suppress(OSError):
            stream.close()
        raise
    stream.close()


@contextmanager
def _copied_at_the_end(path: str | os.PathLike[str], mode: str) -> Iterator[IO[Any]]:
    with tempfile.TemporaryFile() as content:
        with _closed(_opened(os.dup(content.fileno()), mode)) as stream:
            yield stream
        content.seek(0)
        with open(path, "wb") as device:
            shutil.copyfileobj(content, device)
