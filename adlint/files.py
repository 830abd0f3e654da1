"""Read what is a file, and nothing that could block; write files whole or not at all. Prints nothing."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from errno import EACCES
from os import PathLike


def read_regular(path: str | PathLike[str]) -> bytes:
    """Return what a file holds; raises `OSError`, also for pipes and devices, which may have no end."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(None, "is not a regular file", path)
        return stream.read()


def write_atomically(path: str | PathLike[str], data: bytes, old: bytes | None = None) -> None:
    """Replace the content of a file, following links and keeping its mode; whoever looks sees the old or the new.

    Raises `OSError` for a file that is marked read-only, and for one that no longer holds `old`, if that is given.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.stat(target).st_mode & 0o222:
        raise PermissionError(EACCES, "the file is read-only", path)
    handle, temporary = tempfile.mkstemp(prefix=".adlint-", dir=os.path.dirname(target))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        else:
            os.chmod(temporary, 0o644)
        if old is not None and read_regular(target) != old:
            raise OSError(None, "the file has changed meanwhile", path)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
