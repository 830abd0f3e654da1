"""Where findings are, for programs that read files: the line in the file itself, paths from the root, URIs, edits.

Of a notebook that is the line of its JSON text; in which cell it is, and where there, goes into the message.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from adlint import fixes
from adlint.diagnostics import Diagnostic, Edit, Position, Span
from adlint.reports import Result
from adlint.source import Source


@dataclass(frozen=True)
class Places:
    """What is asked of the places in one result; what is worked out for a file is kept."""

    result: Result

    @cached_property
    def root(self) -> str:
        """The folder that paths are relative to, as an absolute path."""
        return os.path.abspath(self.result.root)

    def inside(self, filename: str) -> str | None:
        """Return the path of a file from the root, with slashes; None if the file is not below it."""
        try:
            path = os.path.relpath(os.path.join(self.root, filename), self.root)
        except ValueError:  # another drive, or a name that no file has
            return None
        path = path.replace(os.sep, "/")
        return None if path == ".." or path.startswith("../") else path

    def path(self, filename: str) -> str:
        """Return the path of a file from the root, or the absolute one if it is not below the root."""
        return whole(self.inside(filename) or os.path.abspath(os.path.join(self.root, filename)))

    def uri(self, filename: str) -> str:
        """Return a file's reference from the root, or the `file:` URI of one that is not below it."""
        inside = self.inside(filename)
        return folder_uri(os.path.join(self.root, filename)).rstrip("/") if inside is None else _quoted(inside)

    def span(self, filename: str, span: Span) -> Span:
        """Return where a span is in the file itself; its end is never before its start."""
        source = self.result.sources.get(filename)
        if source is None:
            return Span(span.start, max(span.start, span.end))
        start = source.in_file(span.start)
        return Span(start, max(start, source.in_file(span.end)))

    def cell(self, filename: str, position: Position) -> tuple[int, Position] | None:
        """Return in which cell of a notebook a position is, and where there; None outside notebooks."""
        cell, place = self.result.place(filename, position)
        return None if cell is None else (cell, place)

    def message(self, item: Diagnostic) -> str:
        """Return what is wrong, in a notebook with the place in the cell before it."""
        return self.said(item.filename, item.span.start, item.message)

    def said(self, filename: str, position: Position, message: str) -> str:
        """Return a message about a position, in a notebook with the place in the cell before it."""
        place = self.cell(filename, position)
        return whole(f"cell {place[0]}, line {place[1].line}: {message}" if place else message)

    def text(self, filename: str) -> Source | None:
        """Return the text of the file itself, of a notebook its JSON; None if it is not known."""
        source = self.result.sources.get(filename)
        if source is None or source.notebook is None:
            return source
        if filename not in self._texts:
            self._texts[filename] = Source(filename, source.content)
        return self._texts[filename]

    @cached_property
    def _texts(self) -> dict[str, Source]:
        return {}

    def edits(self, item: Diagnostic) -> tuple[Edit, ...]:
        """Return what the fix of a finding changes in the file itself; nothing if it has none or cannot be placed."""
        source = self.result.sources.get(item.filename)
        if item.fix is None or not item.fix.edits:
            return ()
        if source is None or source.notebook is None:
            return item.fix.edits
        old = self.text(item.filename)
        try:
            new = source.with_text(fixes.apply(source, [item.fix])).content
        except ValueError:
            return ()
        return () if old is None else tuple(_difference(old, new))


def _difference(old: Source, new: str) -> Iterator[Edit]:
    """Yield the one edit that makes the new text of the old one; none if they are the same."""
    if old.text == new:
        return
    before = _alike(old.text, new)
    after = _alike(old.text[before:][::-1], new[before:][::-1])
    yield Edit(old.span(before, len(old.text) - after), new[before : len(new) - after])


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def folder_uri(path: str) -> str:
    """Return the `file:` URI of a folder, which ends with a slash."""
    slashed = os.path.abspath(path).replace(os.sep, "/").rstrip("/") + "/"
    return "file://" + ("" if slashed.startswith("/") else "/") + _quoted(slashed)


def _quoted(path: str) -> str:
    try:
        data = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = path.encode("utf-8", "surrogatepass")
    return quote(data)


def whole(text: str) -> str:
    """Return a text in which halves of characters, which no encoding has, are replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
