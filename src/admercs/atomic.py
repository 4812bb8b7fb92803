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
from typing import IO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing; it takes its place when the block ends without an error.

    Until then the content is in a temporary file beside it. A replaced file keeps its permissions,
    and a link its target. A device or a pipe receives the content at the end.
    """
    target, mode = os.path.realpath(path), None
    with suppress(FileNotFoundError):
        mode = os.stat(target).st_mode
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    is_device = mode is not None and not stat.S_ISREG(mode)
    folder = tempfile.gettempdir() if is_device else os.path.dirname(target)
    temporary = os.path.join(folder, f".admercs-{secrets.token_hex(8)}")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # The system applies the umask here; asking for it would change it for other threads.
    try:
        handle = os.open(temporary, flags, 0o600 if is_device else 0o666)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
    stream = os.fdopen(handle, "wb", 1 << 20)
    try:
        if mode is not None and not is_device:
            os.chmod(temporary, stat.S_IMODE(mode))
        yield stream
        stream.close()
        if is_device:
            with open(temporary, "rb") as content, open(target, "wb") as device:
                shutil.copyfileobj(content, device)
        else:
            os.replace(temporary, target)
    finally:
        # After an error, what the stream still holds is useless and may fail to be written.
        with suppress(OSError):
            stream.close()
        with suppress(FileNotFoundError):
            os.unlink(temporary)
