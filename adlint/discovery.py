"""Paths → files to lint: folders are searched, what is excluded or ignored by git is left out.

A file that is named is linted even if it is excluded, unless that is forced. Links to folders are not followed inside a
search. What cannot be looked at becomes a `Problem`, never an exception. Lists folders and reads `.gitignore` files;
opens no source file, prints nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from adlint.config import Finder, Settings, is_pattern
from adlint.files import read_regular
from adlint.source import NOTEBOOKS

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES = (".py", ".pyw", *NOTEBOOKS)
EXCLUDED = frozenset(
    {
        ".adlint_cache",
        ".bzr",
        ".direnv",
        ".eggs",
        ".git",
        ".hg",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pants.d",
        ".pyenv",
        ".pytest_cache",
        ".pytype",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        ".vscode",
        "__pycache__",
        "__pypackages__",
        "_build",
        "buck-out",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    }
)


class MissingPath(Exception):
    """A path that was asked for and is not there."""


@dataclass(frozen=True)
class File:
    """A file to lint. `explicit` means that the user named it."""

    path: str
    settings: Settings
    explicit: bool = False


@dataclass(frozen=True)
class Problem:
    """Something that could not be looked at, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Findings:
    """The files in the order of their paths, each once, and what went wrong."""

    files: tuple[File, ...]
    problems: tuple[Problem, ...]


def discover(paths: Iterable[str], finder: Finder, *, force_exclude: bool = False) -> Findings:
    """Find the files under some paths; raises `MissingPath` and `ConfigError`."""
    return _Search(finder, force_exclude).run(paths)


@dataclass(frozen=True)
class _Ignores:
    """The `.gitignore` files that hold in a folder, the outermost first."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def within(self, folder: str) -> _Ignores:
        """Add the file of a folder, if it has one."""
        return self._with(folder, os.path.join(folder, ".gitignore"))

    def _with(self, folder: str, file: str) -> _Ignores:
        try:
            patterns = read_regular(file).decode("utf-8", "replace").splitlines()
        except OSError:
            return self
        from pathspec import GitIgnoreSpec

        try:
            spec = GitIgnoreSpec.from_lines(patterns)
        except (ValueError, re.error):  # git passes over what is no pattern
            spec = GitIgnoreSpec.from_lines(filter(is_pattern, patterns))
        return _Ignores((*self.specs, (folder, spec)))

    @classmethod
    def above(cls, folder: str) -> _Ignores:
        """Collect those between a folder, itself left out, and the root of its repository."""
        parents = [folder]
        while not os.path.exists(os.path.join(parents[-1], ".git")):
            up = os.path.dirname(parents[-1])
            if up == parents[-1]:
                return cls()
            parents.append(up)
        ignores = cls()._with(parents[-1], os.path.join(parents[-1], ".git", "info", "exclude"))
        for parent in reversed(parents[1:]):
            ignores = ignores.within(parent)
        return ignores

    def match(self, path: str, is_folder: bool) -> bool:
        """Whether git ignores a path in one of these folders; the innermost file that speaks of it decides."""
        for folder, spec in reversed(self.specs):
            inside = os.path.relpath(path, folder).replace(os.sep, "/") + ("/" if is_folder else "")
            found = spec.check_file(inside)
            if found.include is None:
                continue
            above = os.path.dirname(inside.rstrip("/")) + "/"
            if (
                above == "/" or spec.check_file(above).index != found.index
            ):  # what holds for the folder above held there
                return found.include
        return False


@dataclass
class _Search:
    finder: Finder
    force_exclude: bool
    files: dict[str, File] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def run(self, paths: Iterable[str]) -> Findings:
        folders = []
        for path in dict.fromkeys(os.path.normpath(path) for path in paths):
            if os.path.isdir(path):
                folders.append(path)
            elif os.path.lexists(path) and not os.path.exists(path):
                raise MissingPath(f"{path}: the link leads nowhere")
            elif not os.path.exists(path):
                raise MissingPath(f"{path}: no such file or folder")
            else:
                settings = self.finder.of(Path(os.path.abspath(path)).parent)
                if not (self.force_exclude and left_out(path, settings)):
                    self._add(File(path, settings, explicit=True), os.path.islink(path))
        for folder in folders:
            self._folder(folder)
        ordered = sorted(self.files.values(), key=lambda file: file.path.split(os.sep))
        return Findings(tuple(ordered), tuple(sorted(self.problems, key=lambda problem: problem.path)))

    def _add(self, file: File, is_link: bool) -> None:
        real = os.path.realpath(file.path) if is_link else os.path.abspath(file.path)
        self.files.setdefault(real, file)

    def _folder(self, folder: str) -> None:
        absolute = os.path.abspath(folder)
        settings = self.finder.of(Path(absolute))
        if self.force_exclude and left_out(folder, settings):
            return
        stack = [(folder, _Ignores.above(absolute) if settings.respect_gitignore else _Ignores())]
        while stack:
            here, ignores = stack.pop()
            absolute = os.path.abspath(here)
            settings = self.finder.of(Path(absolute))
            if settings.respect_gitignore:
                ignores = ignores.within(absolute)
            for entry, is_folder in self._entries(here):
                path = entry.name if here == os.curdir else os.path.join(here, entry.name)
                if not is_folder and not entry.name.endswith(SUFFIXES):
                    continue
                if _excluded(path, is_folder, settings):
                    continue
                if settings.respect_gitignore and ignores.match(os.path.join(absolute, entry.name), is_folder):
                    continue
                if not is_folder:
                    self._file(entry, path, settings)
                elif not os.path.exists(os.path.join(path, "pyvenv.cfg")):
                    stack.append((path, ignores))

    def _entries(self, folder: str) -> Iterator[tuple[os.DirEntry[str], bool]]:
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError as error:
            self.problems.append(Problem(folder, f"the folder cannot be listed: {error.strerror}"))
            return
        for entry in listed:
            try:
                yield entry, entry.is_dir(follow_symlinks=False)
            except OSError as error:
                self.problems.append(Problem(entry.path, f"cannot be looked at: {error.strerror}"))

    def _file(self, entry: os.DirEntry[str], path: str, settings: Settings) -> None:
        is_link = entry.is_symlink()
        if is_link and not os.path.exists(path):
            if not entry.name.startswith(".#"):  # an editor's lock
                self.problems.append(Problem(path, "the link leads nowhere"))
        elif entry.is_file():
            self._add(File(path, settings), is_link)


def left_out(path: str, settings: Settings) -> bool:
    """Whether a path, or a folder that it is in, is excluded or ignored."""
    absolute = os.path.abspath(path)
    is_folder = os.path.isdir(path)
    ignores = _Ignores.above(absolute) if settings.respect_gitignore else _Ignores()
    root = str(settings.root.absolute())
    while True:
        if _excluded(absolute, is_folder, settings) or ignores.match(absolute, is_folder):
            return True
        up = os.path.dirname(absolute)
        if up == absolute or absolute == root or not absolute.startswith(root):
            return False
        absolute, is_folder = up, True


def _excluded(path: str, is_folder: bool, settings: Settings) -> bool:
    if settings.exclude is None and os.path.basename(path) in EXCLUDED:
        return True
    patterns = (*(settings.exclude or ()), *settings.extend_exclude)
    return bool(patterns) and _spec(patterns).match_file(settings.relative(path) + ("/" if is_folder else ""))


@lru_cache(maxsize=256)
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)
