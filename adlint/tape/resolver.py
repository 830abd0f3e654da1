"""What the tape asks of a project: where an import leads, and the program of a file. The default knows no project."""

from __future__ import annotations

from typing import Protocol

from adlint import program as p

Place = tuple[str, tuple[str, ...]]
"""A file or folder, by its absolute path, and the names to look up in it."""


class Abandoned(BaseException):
    """Nobody waits for the result any more. No `Exception`, since nothing has failed."""


class Resolver(Protocol):
    """The modules of a project, as one of its files sees them."""

    def identity(self, filename: str) -> str:
        """Return the absolute path by which a file is known."""

    def find(self, importer: str, dotted: str) -> Place | None:
        """Return where a dotted name, relative ones beginning with dots, leads from a file; None out of the project."""

    def submodule(self, path: str, name: str) -> str | None:
        """Return the file or folder of a module in a package."""

    def program(self, path: str) -> p.Program | None:
        """Return the program of a file, if it can be read and means anything to the tape."""

    def names(self, path: str, name: str) -> bool:
        """Tell whether a file may have something under a name: it stands there, or a star import does."""

    def callers(self, path: str, name: str) -> tuple[str, ...] | None:
        """Return the other files that may call a function of a file; None if nobody can tell."""

    def abandoned(self) -> bool:
        """Tell whether nobody waits for the result any more; asked every few milliseconds."""


class Nothing:
    """A project of one file."""

    def identity(self, filename: str) -> str:
        return filename

    def find(self, importer: str, dotted: str) -> Place | None:
        return None

    def submodule(self, path: str, name: str) -> str | None:
        return None

    def program(self, path: str) -> p.Program | None:
        return None

    def names(self, path: str, name: str) -> bool:
        return False

    def callers(self, path: str, name: str) -> tuple[str, ...] | None:
        return ()

    def abandoned(self) -> bool:
        return False


NOTHING = Nothing()
