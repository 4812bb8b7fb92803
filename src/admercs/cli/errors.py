"""What can go wrong on the user's side, and how it is told."""

from __future__ import annotations

import errno
import os

__all__ = ["DISK_FULL", "UsageError", "UserError", "os_error"]

DISK_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


class UserError(Exception):
    """Something the user can put right: shown as a message, without a traceback."""

    status = 1


class UsageError(UserError):
    """The command line itself does not make sense."""

    status = 2


def os_error(error: OSError, path: str | os.PathLike[str], doing: str) -> UserError:
    """Return a message for a failed file operation that says what to do.

    Examples
    --------
    >>> import errno
    >>> str(os_error(OSError(errno.ENOSPC, ""), "out.csv", "write"))
    'cannot write out.csv: no space left on the device. Free some space or write elsewhere.'
    """
    advice = {
        errno.ENOENT: "no such file or folder. Check the path.",
        errno.EACCES: "permission denied. Check who may use it, or choose another place.",
        errno.EPERM: "permission denied. Check who may use it, or choose another place.",
        errno.EROFS: "the file system is read-only. Choose another place.",
        errno.ENOSPC: "no space left on the device. Free some space or write elsewhere.",
        getattr(
            errno, "EDQUOT", -1
        ): "your disk quota is used up. Free some space or write elsewhere.",
        errno.EFBIG: "the file would become larger than allowed here. Write elsewhere.",
        errno.EISDIR: "it is a folder. Give the name of a file.",
        errno.ENOTDIR: "part of its path is a file, not a folder. Check the path.",
        errno.ENAMETOOLONG: "the name is too long.",
    }
    why = advice.get(error.errno or 0, f"{error.strerror or error}.")
    return UserError(f"cannot {doing} {os.fspath(path)}: {why}")
