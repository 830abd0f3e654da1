"""Where imports lead in a project: dotted name → file → program, as the tape asks for them.

    from engine import train      the folder of the script (the nearest without `__init__.py`), then those above it up
    from ..losses import focal    to the project's, its `src`, and last the folders of the package itself

A name of Python's own library is the project's only beside the script; a framework's name never is. A file of which no
word concerns the tape, or that is too large, is not looked into. Reads the files of the project; prints nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from adlint import program as p
from adlint.files import read_regular
from adlint.mentions import WORD, Mentions
from adlint.outline import CannotRead, outline
from adlint.profiles import Profile
from adlint.source import Source, Unreadable
from adlint.tape.resolver import NOTHING

MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "adlint.toml")
TELLING = ("backward", "clear", "step", "no_grad", "eval")
LARGEST = 200_000
KEPT = 8_000_000
INIT = "__init__.py"
STAR = b"import *"
STARS = re.compile(rb"import \*")


@dataclass
class Uses:
    """What a result depends on besides its own file: where names led, and what the files held that were read."""

    found: dict[tuple[str, str], str] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    called: dict[tuple[str, str], tuple[str, ...] | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.found or self.read or self.called)


class Project:
    """The files of one run, each listed, read and parsed once; `top` is the folder that all linted files are in.

    `read` returns what a file holds, which in an editor may not be what is on disk; it raises `OSError`.
    """

    def __init__(self, top: str, profiles: Iterable[Profile], read: Callable[[str], bytes] = read_regular) -> None:
        self.top = os.path.abspath(top)
        self._content = read
        profiles = tuple(profiles)
        self._outside = {root for profile in profiles for root in profile.roots}
        methods = {name for profile in profiles for name in profile.names(*TELLING)} - {""}
        self._words = {*self._outside, *(f".{name}(" for name in methods)}
        self._listed: dict[str, dict[str, bool]] = {}
        self._roots: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._programs: dict[str, p.Program | None] = {}
        self._digests: dict[str, str] = {}
        self._mentions: dict[str, Mentions] = {}
        self._words_in: dict[str, frozenset[bytes]] = {}
        self._kept = 0

    def find(self, importer: str, dotted: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the file or folder of the longest part of a name that is a module, and the rest of the name."""
        bare = dotted.lstrip(".")
        names = tuple(bare.split(".")) if bare else ()
        folder = os.path.dirname(importer)
        if len(bare) < len(dotted):
            for _ in range(len(dotted) - len(bare) - 1):
                folder = os.path.dirname(folder)
            return self._descend(folder, names)
        if names[0] in self._outside:
            return None
        beside, others = self._search(folder)
        for root in beside if names[0] in sys.stdlib_module_names else (*beside, *others):
            path, rest = self._descend(root, names)
            if len(rest) < len(names):
                return path, rest
        return None

    def submodule(self, path: str, name: str) -> str | None:
        """Return the file or folder of a module in a package."""
        folder = _package(path)
        return None if folder is None else self._module(folder, name)

    def callers(self, path: str, name: str) -> tuple[str, ...] | None:
        """Return the other files that may call a function of a file; None if the project is too large to tell."""
        folder = project_of(path, self.top)
        if folder not in self._mentions:
            self._mentions[folder] = Mentions(folder)
        return self._mentions[folder].callers(path, name)

    def names(self, path: str, name: str) -> bool:
        """Tell whether a name stands in a file, or may come into it from a star import."""
        if path not in self._words_in:
            data = self._read(path)
            self._words_in[path] = frozenset([*WORD.findall(data), *STARS.findall(data)])
        words = self._words_in[path]
        return name.encode() in words or STAR in words

    def digest(self, path: str) -> str:
        """Return the name of a file's content, empty if it cannot be read."""
        if path not in self._digests:
            self._read(path)
        return self._digests[path]

    def program(self, path: str, shown: str) -> p.Program | None:
        """Return the program of a file, None if it cannot be read or parsed or does not concern the tape."""
        if path not in self._programs:
            data = self._read(path)
            if self._kept + len(data) > KEPT:
                self._programs.clear()
                self._kept = 0
            self._programs[path] = self._parse(data, path, shown)
            self._kept += len(data)
        return self._programs[path]

    def _parse(self, data: bytes, path: str, shown: str) -> p.Program | None:
        if len(data) > LARGEST:
            return None
        try:
            source = Source.from_bytes(data, shown)
            if os.path.basename(path) != INIT and not any(word in source.text for word in self._words):
                return None
            return outline(source.text, shown)
        except (Unreadable, CannotRead):
            return None

    def _read(self, path: str) -> bytes:
        try:
            data = self._content(path)
            self._digests[path] = blake2b(data, digest_size=16).hexdigest()
        except OSError:
            data = b""
            self._digests[path] = ""
        return data

    def _search(self, folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the folders in which a file's absolute imports are looked for: beside it, and the others."""
        if folder not in self._roots:
            top = project_of(os.path.join(folder, INIT), self.top)
            above = [folder]
            while above[-1] != top and len(above[-1]) > len(top):
                above.append(os.path.dirname(above[-1]))
            plain = [one for one in above if INIT not in self._entries(one)]
            packages = [one for one in above if one not in plain]
            found = (*plain[1:], os.path.join(top, "src"), *packages)
            self._roots[folder] = (tuple(plain[:1]), found)
        return self._roots[folder]

    def _descend(self, folder: str, names: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        path = os.path.join(folder, INIT) if INIT in self._entries(folder) else folder
        inside: str | None = folder
        for number, name in enumerate(names):
            found = None if inside is None else self._module(inside, name)
            if found is None:
                return path, names[number:]
            path, inside = found, _package(found)
        return path, ()

    def _module(self, folder: str, name: str) -> str | None:
        entries = self._entries(folder)
        path = os.path.join(folder, name)
        if entries.get(name) and INIT in self._entries(path):
            return os.path.join(path, INIT)
        if entries.get(name + ".py") is False:
            return path + ".py"
        if entries.get(name) and any(is_folder or n.endswith(".py") for n, is_folder in self._entries(path).items()):
            return path
        return None

    def _entries(self, folder: str) -> dict[str, bool]:
        """Return what a folder holds, and whether that is a folder."""
        if folder not in self._listed:
            try:
                with os.scandir(folder) as entries:
                    self._listed[folder] = {entry.name: _is_folder(entry) for entry in entries}
            except OSError:
                self._listed[folder] = {}
        return self._listed[folder]


class Follower:
    """A project as the lint of one file sees it; `uses` says what the result depends on.

    `abandoned` tells whether nobody waits for that lint any more.
    """

    def __init__(self, project: Project, filename: str, abandoned: Callable[[], bool] = NOTHING.abandoned) -> None:
        self._project = project
        self.abandoned = abandoned
        self._relative = not os.path.isabs(filename)
        self.uses = Uses()

    def identity(self, filename: str) -> str:
        return os.path.abspath(filename)

    def find(self, importer: str, dotted: str) -> tuple[str, tuple[str, ...]] | None:
        found = self._project.find(importer, dotted)
        self.uses.found[importer, dotted] = found[0] if found else ""
        return found

    def submodule(self, path: str, name: str) -> str | None:
        found = self._project.submodule(path, name)
        self.uses.found[path, "/" + name] = found or ""
        return found

    def program(self, path: str) -> p.Program | None:
        if _package(path) == path:
            return None
        program = self._project.program(path, self._shown(path))
        self.uses.read[path] = self._project.digest(path)
        return program

    def names(self, path: str, name: str) -> bool:
        if _package(path) == path:
            return False
        found = self._project.names(path, name)
        self.uses.read[path] = self._project.digest(path)
        return found

    def callers(self, path: str, name: str) -> tuple[str, ...] | None:
        found = self.uses.called[path, name] = self._project.callers(path, name)
        return found

    def _shown(self, path: str) -> str:
        return os.path.relpath(path) if self._relative else path


def holds(project: Project, uses: Uses) -> bool:
    """Tell whether a result would be made of the same files again."""
    for (path, name), led in uses.found.items():
        if name.startswith("/"):
            now = project.submodule(path, name[1:]) or ""
        else:
            found = project.find(path, name)
            now = found[0] if found else ""
        if now != led:
            return False
    if any(project.digest(path) != digest for path, digest in uses.read.items()):
        return False
    return all(project.callers(*function) == callers for function, callers in uses.called.items())


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle
        return False


def _package(path: str) -> str | None:
    """Return the folder of a package, which is a folder or its `__init__.py`; None for a plain module."""
    if path.endswith(".py"):
        return os.path.dirname(path) if os.path.basename(path) == INIT else None
    return path


@lru_cache(maxsize=256)
def project_of(path: str, top: str) -> str:
    """Return the folder of the project that a file belongs to: the nearest above it with a mark of one, else `top`."""
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder):
        if any(os.path.exists(os.path.join(folder, marker)) for marker in MARKERS):
            return folder
        folder = os.path.dirname(folder)
    return os.path.abspath(top)
