"""Result → text, one module for each format; each has `render(result) -> str`. Prints nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from adlint.diagnostics import Diagnostic, Position
from adlint.source import Source

FORMATS = (
    "text",
    "concise",
    "grouped",
    "json",
    "json-lines",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "rdjson",
    "markdown",
)
COUNTED = ("text", "concise", "grouped", "json", "json-lines", "markdown")


@dataclass(frozen=True)
class Result:
    """What a run found: findings in their order, the sources that hold them, and how many were mended on the way.

    `links` asks for hyperlinks on the ids of rules; `root` is the folder that paths are relative to in reports for
    programs, `status` the exit status that those may name.
    """

    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, Source] = field(default_factory=dict)
    fixed: int = 0
    color: bool = False
    summary: bool = True
    links: bool = False
    root: str = os.curdir
    status: int = 0

    def place(self, filename: str, position: Position) -> tuple[int | None, Position]:
        """Return where a position is in its file: in which cell of a notebook, if it is one, and where there."""
        source = self.sources.get(filename)
        return (None, position) if source is None else source.place(position)

    def spelled(self, filename: str, position: Position) -> str:
        """Return `path:line:column`, in a notebook `path:cell 3:line:column`."""
        cell, place = self.place(filename, position)
        return f"{filename}:{'' if cell is None else f'cell {cell}:'}{place.line}:{place.column}"


def renderer(name: str) -> Callable[[Result], str]:
    """Return the `render` of a format."""
    render: Callable[[Result], str] = import_module(f"adlint.reports.{name.replace('-', '_')}").render
    return render
