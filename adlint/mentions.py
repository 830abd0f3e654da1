"""Which functions a project calls, file by file: a word index, made when a verdict first depends on it.

A function that nothing in its file calls may be called from another file, under `torch.no_grad()` for instance. Reads
the Python files and notebooks of the project, parses none of them; prints nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice

from adlint.files import read_regular

CALL = re.compile(rb"(?<!def )\b([A-Za-z_]\w*)[ \t]*\(")
IMPORT = re.compile(rb"(?:^[ \t]*\"?|\\n)[ \t]*(?:from|import)[ \t]+([^\n#\\]+)", re.MULTILINE)
WORD = re.compile(rb"[A-Za-z_]\w*")
SKIPPED = {"node_modules", "__pycache__", "build", "dist", "site-packages"}
MOST = 4_000


class Mentions:
    """The files below a folder that call a name, and those that name it in an import."""

    def __init__(self, folder: str) -> None:
        paths = list(islice(_files(folder), MOST + 1))
        self._too_many = len(paths) > MOST
        self._calls: dict[bytes, set[str]] = {}
        self._imports: dict[bytes, set[str]] = {}
        for path in () if self._too_many else paths:
            self._add(path)

    def _add(self, path: str) -> None:
        try:
            data = read_regular(path)
        except OSError:
            return
        for name in set(CALL.findall(data)):
            self._calls.setdefault(name, set()).add(path)
        for name in {word for line in IMPORT.findall(data) for word in WORD.findall(line)}:
            self._imports.setdefault(name, set()).add(path)

    def callers(self, path: str, name: str) -> tuple[str, ...] | None:
        """Return the other files that import from a file and call something of a name; None if nobody can tell."""
        if self._too_many:
            return None
        stem = os.path.splitext(os.path.basename(path))[0]
        module = os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem
        found = self._calls.get(name.encode(), set()) & self._imports.get(module.encode(), set())
        return tuple(sorted(found - {path}))


def _files(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        for name in sorted(files):
            if name.endswith((".py", ".pyw", ".ipynb")):
                yield os.path.join(parent, name)
