"""Which functions a project calls, file by file: a word index, made when a verdict first depends on it.

A function that nothing in its file calls may be called from another file, under `torch.no_grad()` for instance. Reads
the Python files and notebooks of the project, parses none of them; prints nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from adlint.follow import project_of

CALL = re.compile(rb"(?<!def )\b([A-Za-z_]\w*)[ \t]*\(")
IMPORT = re.compile(rb"(?:^[ \t]*\"?|\\n)[ \t]*(?:from|import)[ \t]+([^\n#\\]+)", re.MULTILINE)
WORD = re.compile(rb"[A-Za-z_]\w*")
SKIPPED = {"node_modules", "__pycache__", "build", "dist", "site-packages"}
MOST = 4_000


def called_elsewhere(filename: str, name: str, top: str) -> bool:
    """Tell whether another file of the project imports from this one and calls something of that name.

    The project is the nearest folder above the file with a mark of one, else `top`.
    """
    here = os.path.abspath(filename)
    stem = os.path.splitext(os.path.basename(here))[0]
    module = os.path.basename(os.path.dirname(here)) if stem == "__init__" else stem
    index = _index(project_of(here, top))
    if index is None:
        return True
    calls, imports = index
    return bool((calls.get(name.encode(), set()) & imports.get(module.encode(), set())) - {here})


@lru_cache(maxsize=8)
def _index(folder: str) -> tuple[dict[bytes, set[str]], dict[bytes, set[str]]] | None:
    """Return the files that call a name, and those that name it in an import; None if the project is too large."""
    paths = list(islice(_files(folder), MOST + 1))
    if len(paths) > MOST:
        return None
    calls: dict[bytes, set[str]] = {}
    imports: dict[bytes, set[str]] = {}
    for path in paths:
        try:
            with open(path, "rb") as stream:
                data = stream.read()
        except OSError:
            continue
        for name in set(CALL.findall(data)):
            calls.setdefault(name, set()).add(path)
        for name in {word for line in IMPORT.findall(data) for word in WORD.findall(line)}:
            imports.setdefault(name, set()).add(path)
    return calls, imports


def _files(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("."))
        for name in sorted(files):
            if name.endswith((".py", ".pyw", ".ipynb")):
                yield os.path.join(parent, name)
