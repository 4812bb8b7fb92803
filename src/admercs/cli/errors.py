"""What can go wrong on the user's side, and how it is said."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

_QUOTA = getattr(errno, "EDQUOT", errno.ENOSPC)
DISK_FULL = (errno.ENOSPC, errno.EFBIG, _QUOTA)
_ADVICE = {
    errno.ENOENT: "no such file or folder. Check the path.",
    errno.EACCES: "permission denied. Check who may use it, or choose another place.",
    errno.EPERM: "permission denied. Check who may use it, or choose another place.",
    errno.EROFS: "the file system is read-only. Choose another place.",
    _QUOTA: "your disk quota is used up. Free some space or write elsewhere.",
    errno.ENOSPC: "no space left on the device. Free some space or write elsewhere.",
    errno.EFBIG: "the file would become larger than allowed here. Write elsewhere.",
    errno.EISDIR: "it is a folder. Give the name of a file.",
    errno.ENOTDIR: "part of its path is a file, not a folder. Check the path.",
    errno.ENAMETOOLONG: "the name is too long.",
    errno.EBADF: "it is closed.",
}


class UserError(Exception):
    """Something the user can put right: shown as a message, without a traceback."""

    status = 1


class UsageError(UserError):
    """The command line itself does not make sense."""

    status = 2


def os_error(error: OSError, path: str | os.PathLike[str], doing: str) -> UserError:
    """Return a message for a failed file operation that says what to do."""
    why = _ADVICE.get(error.errno or 0, f"{error.strerror or error}.")
    return UserError(f"cannot {doing} {os.fspath(path)}: {why}")


@contextmanager
def os_errors(path: str | os.PathLike[str], doing: str = "write") -> Iterator[None]:
    """Say which file could not be written or read, and why."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise os_error(error, path, doing) from error


def listed(names: list[str], most: int = 12) -> str:
    """List names, at most so many."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shown(path: str | os.PathLike[str]) -> str:
    """Return a name that can be printed, also of a file whose name is not UTF-8."""
    return os.fspath(path).encode("utf-8", "backslashreplace").decode()
