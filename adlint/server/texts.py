"""What an editor has open → Source, and back: a file is one text, a notebook one text for each code cell.

Knows the protocol's shapes of texts and changes; reads no files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

from adlint.diagnostics import Edit, Position, Span
from adlint.notebook import Notebook
from adlint.server.units import Json, Units
from adlint.server.wire import INVALID_PARAMS, Refused
from adlint.source import Source

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BOM = "\ufeff"
PYTHON = "python"


def path_of(uri: str) -> str | None:
    """Return the path of a file by its URI; None for what is no file on this machine."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # half a bracket where the host ought to be
        return None
    if "%00" in uri or "\0" in uri or parts.scheme != "file" or not parts.path:
        return None
    host = f"//{parts.netloc}" if parts.netloc not in ("", "localhost") else ""
    if os.name == "nt":
        from urllib.request import url2pathname  # which takes long to load

        return url2pathname(host + parts.path)
    return host + unquote(parts.path)


@dataclass(frozen=True)
class Text:
    """One text as an editor has it: a file or a cell."""

    uri: str
    language: str
    version: int | None
    content: str

    @classmethod
    def opened(cls, item: dict[str, Any]) -> Text:
        """Take a `TextDocumentItem`; raises `Refused`."""
        uri, language, version, content = (item.get(key) for key in ("uri", "languageId", "version", "text"))
        if not isinstance(uri, str) or not isinstance(content, str):
            raise Refused(INVALID_PARAMS, "no text document")
        return cls(uri, str(language), version if isinstance(version, int) else None, content)

    @cached_property
    def lines(self) -> list[str]:
        """The lines with their endings; the last one has none."""
        found: list[str] = _LINE.findall(self.content)
        return [*found, ""] if not found or found[-1].endswith(("\r", "\n")) else found

    @cached_property
    def bare(self) -> list[str]:
        """The lines without their endings."""
        return [line.rstrip("\r\n") for line in self.lines]

    def changed(self, changes: object, version: object, units: Units) -> Text:
        """Apply an editor's changes, whole texts or parts; raises `Refused`."""
        text = replace(self, version=version if isinstance(version, int) else self.version)
        for change in changes if isinstance(changes, list) else [None]:
            if not isinstance(change, dict) or not isinstance(change.get("text"), str):
                raise Refused(INVALID_PARAMS, "no change")
            content, given = change["text"], change.get("range")
            if given is not None:
                start, end = (text.index(given, key, units) for key in ("start", "end"))
                content = text.content[:start] + content + text.content[max(start, end) :]
            text = replace(text, content=content)
        return text

    def index(self, given: object, end: str, units: Units) -> int:
        """Return the index in the text of one end of an editor's range."""
        place = units.position(self.bare, given.get(end) if isinstance(given, dict) else None)
        return sum(map(len, self.lines[: place.line - 1])) + place.column - 1

    def edits(self, lines: Sequence[str], units: Units) -> list[Json]:
        """Return the edits that make this text of new lines."""
        old = self.lines if self.lines[-1] else self.lines[:-1]
        edits: list[Json] = []
        for tag, first, last, start, end in SequenceMatcher(None, old, lines, autojunk=False).get_opcodes():
            if tag != "equal":
                ends = (self._border(first, units), self._border(last, units))
                edits.append(
                    {"range": dict(zip(("start", "end"), ends, strict=True)), "newText": "".join(lines[start:end])}
                )
        return edits

    def _border(self, number: int, units: Units) -> Json:
        """Return the editor's position above a line, counted from 0; past the last one the end of the text."""
        if number < len(self.lines):
            return {"line": number, "character": 0}
        last = self.bare[-1]
        return units.out(last, Position(len(self.lines), len(last) + 1))


@dataclass(frozen=True)
class Buffer:
    """What is linted as one program: a file's text, under the number 0, or the cells of a notebook by their numbers.

    `stamp` is another one after every change. `cells` are all cells of a notebook, as the editor has them, by URI and
    whether they are code; a notebook is None for a file.
    """

    uri: str
    stamp: int
    texts: tuple[tuple[int, Text], ...]
    cells: tuple[tuple[str, bool], ...] | None = None

    @classmethod
    def of_file(cls, text: Text, stamp: int) -> Buffer:
        return cls(text.uri, stamp, ((0, text),))

    @classmethod
    def of_notebook(cls, book: dict[str, Any], opened: Iterable[Text], stamp: int) -> Buffer:
        """Take a `NotebookDocument` and the texts of its cells; raises `Refused` and, for other things, KeyError."""
        return _book(book["uri"], stamp, _cells(book["cells"]), {text.uri: text for text in opened})

    def changed(self, change: dict[str, Any], units: Units, stamp: int) -> Buffer:
        """Apply a `NotebookDocumentChangeEvent`: cells that come and go, and what changes in their texts."""
        changes = change.get("cells") or {}
        cells = list(self.cells or ())
        texts = {text.uri: text for _, text in self.texts}
        if structure := changes.get("structure"):
            array = structure["array"]
            start, gone = int(array["start"]), int(array["deleteCount"])
            cells[start : start + gone] = _cells(array.get("cells") or ())
            texts |= {text.uri: text for text in map(Text.opened, structure.get("didOpen") or ())}
            for item in structure.get("didClose") or ():
                texts.pop(item["uri"], None)
        kinds = dict(_cells(changes.get("data") or ()))
        cells = [(uri, kinds.get(uri, code)) for uri, code in cells]
        for item in changes.get("textContent") or ():
            uri = item["document"]["uri"]
            if uri in texts:
                texts[uri] = texts[uri].changed(item["changes"], item["document"].get("version"), units)
        return _book(self.uri, stamp, cells, texts)

    @property
    def path(self) -> str | None:
        """The path of the file on disk, if it has one."""
        return path_of(self.uri)

    @cached_property
    def source(self) -> Source:
        """The program."""
        name = self.path or self.uri
        if self.cells is None:
            return Source(name, self.texts[0][1].content.removeprefix(_BOM))
        held = Notebook.of((number, text.content) for number, text in self.texts)
        return Source(name, held.text, notebook=held)

    def holds(self, uri: str) -> bool:
        """Whether a text is part of this."""
        return any(text.uri == uri for _, text in self.texts)

    def at(self, line: int) -> tuple[Text, int]:
        """Return the text that a line of the program is in, and the line of the program that is its first."""
        if self.source.notebook is None:
            return self.texts[0][1], 1
        cell, place = self.source.place(Position(line, 1))
        text = next((text for number, text in self.texts if number == cell), self.texts[0][1])
        return text, line - place.line + 1

    def located(self, span: Span, units: Units) -> tuple[Text, Json]:
        """Return the text that a span of the program is in, and the editor's range in it."""
        text, first = self.at(span.start.line)
        return text, units.span_out(self.source, span, first)

    def position(self, uri: str, given: object, units: Units) -> Position:
        """Return the position in the program of one in one of its texts; raises `Refused`."""
        for number, text in self.texts:
            if text.uri == uri:
                place = units.position(text.bare, given)
                notebook = self.source.notebook
                return place if notebook is None else Position(notebook.line(number, place.line), place.column)
        raise Refused(INVALID_PARAMS, "the text is not open")

    def mended(self, program: str, units: Units) -> list[tuple[Text, list[Json]]]:
        """Return the edits, text by text, that make another program of this one."""
        if self.source.notebook is None:
            text = self.texts[0][1]
            head = _BOM if text.content.startswith(_BOM) else ""
            parts = [(text, _LINE.findall(head + program))]
        else:
            texts = dict(self.texts)
            parts = [(texts[cell.number], lines) for cell, lines in self.source.notebook.changed(program)]
        return [(text, edits) for text, lines in parts if (edits := text.edits(lines, units))]

    def placed(self, edits: Sequence[Edit], units: Units) -> Iterator[tuple[Text, Json]]:
        """Yield each edit of the program as the editor's, with the text it belongs to."""
        for edit in edits:
            text, given = self.located(edit.span, units)
            yield text, {"range": given, "newText": edit.content}


_CODE = 2
"""The kind of a cell that is code."""


def _cells(listed: Iterable[dict[str, Any]]) -> list[tuple[str, bool]]:
    return [(cell["document"], cell["kind"] == _CODE) for cell in listed]


def _book(uri: str, stamp: int, cells: Sequence[tuple[str, bool]], texts: Mapping[str, Text]) -> Buffer:
    numbered = enumerate(cells, 1)
    found = ((number, texts[cell]) for number, (cell, code) in numbered if code and cell in texts)
    return Buffer(uri, stamp, tuple((n, text) for n, text in found if text.language == PYTHON), tuple(cells))
