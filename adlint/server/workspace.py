"""The folders of an editor's workspace: what settings hold for a file, and what else belongs to its project.

Reads configuration files and the project's files, those that are open as they are in the editor.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from adlint.config import FILES, ConfigError, Finder, Flags, Settings
from adlint.discovery import left_out
from adlint.files import read_regular
from adlint.follow import Follower, Project
from adlint.server.texts import Buffer, path_of

AGE = 30.0
"""Seconds after which what is known of a project is looked up anew, for editors that do not tell what changes."""


@dataclass(frozen=True)
class Wishes:
    """What a user sets in the editor, for a folder or for all.

    `unsafe_fixes`: mending everything applies unsafe fixes too. `run`: lint while typing ("onType") or on saving.
    """

    enable: bool = True
    configuration: str = ""
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    possible: bool = False
    port_to: str = ""
    unsafe_fixes: bool = False
    run: str = "onType"

    @classmethod
    def read(cls, given: object) -> tuple[Wishes, list[str]]:
        """Take an editor's settings; return them and what is wrong with them. What is not set has its default."""
        values: dict[str, Any] = {}
        wrong: list[str] = []
        table = given if isinstance(given, dict) else {}
        for item in fields(cls):
            first, *others = item.name.split("_")
            name = first + "".join(other.title() for other in others)
            value = table.get(name)
            if value is None:
                continue
            if isinstance(item.default, tuple) and isinstance(value, list) and all(isinstance(v, str) for v in value):
                values[item.name] = tuple(value)
            elif type(value) is type(item.default) and (item.name != "run" or value in ("onType", "onSave")):
                values[item.name] = value
            else:
                wrong.append(f"`adlint.{name}` cannot be {str(value)[:80]!r}")
        return cls(**values), wrong

    @property
    def flags(self) -> Flags:
        return Flags(self.select, self.extend_select, self.ignore, self.possible, self.port_to)


class Workspace:
    """Folders by their paths, with the user's wishes for each; `""` holds the wishes for what is in none of them."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self.wishes: dict[str, Wishes] = {"": Wishes()}
        self._complain = complain
        self._settings: dict[tuple[str, Wishes], tuple[object, Settings]] = {}
        self._out: dict[tuple[str, int], bool] = {}
        self._project: tuple[object, float, Project] | None = None

    def folder(self, path: str) -> str:
        """Return the folder that a file is in, the innermost one; "" if it is in none."""
        return max((one for one in self.wishes if one and _inside(path, one)), key=len, default="")

    def wishes_for(self, path: str | None) -> Wishes:
        return self.wishes[self.folder(path)] if path else next(iter(self.wishes.values()))

    def settings(self, path: str | None) -> Settings:
        """Return the settings that hold for a file, as they are on disk now.

        Where they are wrong, that is told once, and the last right ones go on to hold.
        """
        wishes = self.wishes_for(path)
        base = next((one for one in self.wishes if one), os.curdir)
        folder = os.path.dirname(path) if path else base
        home = (self.folder(path) if path else "") or base
        config = os.path.join(home, os.path.expanduser(wishes.configuration)) if wishes.configuration else None
        key = (folder, wishes)
        known = self._settings.get(key)
        if known and known[0] == _signature(folder, config, known[1]):
            return known[1]
        try:
            found = Finder(Path(config) if config else None, wishes.flags).of(Path(folder))
        except (ConfigError, OSError, ValueError) as error:  # ValueError: the name of no file can be that
            self._complain(str(error))
            found = known[1] if known else Settings(root=Path(folder))
        self._settings[key] = (_signature(folder, config, found), found)
        self._out.clear()
        return found

    def leaves_out(self, path: str, settings: Settings) -> bool:
        """Whether the settings exclude a file, or git ignores it."""
        key = (path, id(settings))
        if key not in self._out:
            self._out[key] = left_out(path, settings)
        return self._out[key]

    def follower(
        self, buffer: Buffer, settings: Settings, opened: Mapping[str, Buffer], abandoned: Callable[[], bool]
    ) -> Follower | None:
        """Return where the imports of a file lead; None for a text that is no file."""
        path = buffer.path
        if path is None:
            return None
        key = (buffer.uri, settings.frameworks)
        if not self._project or self._project[0] != key or time.monotonic() - self._project[1] > AGE:
            top = self.folder(path) or os.path.dirname(path)
            project = Project(top, settings.profiles.values(), lambda one: _content(one, opened))
            self._project = (key, time.monotonic(), project)
        return Follower(self._project[2], path, abandoned)

    def forget(self, but: str = "") -> None:
        """Look files up anew from now on, except for a text that has changed itself, by its URI."""
        if self._project and self._project[0][0] != but:  # type: ignore[index]
            self._project = None
        if not but:
            self._settings.clear()
            self._out.clear()


def _content(path: str, opened: Mapping[str, Buffer]) -> bytes:
    for buffer in opened.values():
        if buffer.cells is None and path_of(buffer.uri) == path:
            return buffer.source.text.encode("utf-8", "replace")
    return read_regular(path)


def _inside(path: str, folder: str) -> bool:
    return path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def _signature(folder: str, config: str | None, settings: Settings) -> tuple[object, ...]:
    """Return what changes when another configuration file comes to hold for a folder, or what was read changes."""
    folders = [Path(folder), *Path(folder).parents]
    own = [Path(config)] if config else [one / name for one in folders for name in FILES]
    found: list[object] = []
    for path in (*own, *(settings.root / one for one in settings.frameworks)):
        try:
            status = os.stat(path)
            found.append((path, status.st_mtime_ns, status.st_size))
        except (OSError, ValueError):
            continue
    return tuple(found)
