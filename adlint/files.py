"""Write files whole or not at all. Prints nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from os import PathLike


def write_atomically(path: str | PathLike[str], data: bytes) -> None:
    """Replace the content of a file, following links and keeping its mode; whoever looks sees the old or the new."""
    target = os.path.realpath(path)
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
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
