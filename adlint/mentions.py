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
ALIAS = re.compile(rb"\b([A-Za-z_]\w*)[ \t]+as[ \t]+([A-Za-z_]\w*)")
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
        self._open: set[str] = set()
        self._aliases: dict[bytes, set[bytes]] = {}
        for path in () if self._too_many else paths:
            self._add(path)

    def _add(self, path: str) -> None:
        try:
            data = read_regular(path)
        except OSError:
            return
        for name in set(CALL.findall(data)):
            self._calls.setdefault(name, set()).add(path)
        for name, alias in ALIAS.findall(data):
            self._aliases.setdefault(name, set()).add(alias)
        lines = IMPORT.findall(data)
        for name in {word for line in lines for word in WORD.findall(line)}:
            self._imports.setdefault(name, set()).add(path)
        if os.path.basename(path) == "__init__.py" or any(b"*" in line or b"(" in line for line in lines):
            self._open.add(path)

    def callers(self, path: str, name: str) -> tuple[str, ...] | None:
        """Return the other files that import from a file, or from one that passes on what it imports from there, and
        call something of a name; None if nobody can tell."""
        if self._too_many:
            return None
        names = {name.encode(), *self._aliases.get(name.encode(), ())}
        calling, naming = (
            {file for one in names for file in words.get(one, ())} for words in (self._calls, self._imports)
        )
        found: set[str] = set()
        ways = [path] if calling else []
        for way in ways:
            importing = self._imports.get(_module(way), set())
            found |= calling & importing
            ways += sorted((importing & (naming | self._open)).difference(ways))
        return tuple(sorted(found - {path}))


def _module(path: str) -> bytes:
    """Return the last part of the name by which a file is imported."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return (os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem).encode()


def _files(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        for name in sorted(files):
            if name.endswith((".py", ".pyw", ".ipynb")):
                yield os.path.join(parent, name)
