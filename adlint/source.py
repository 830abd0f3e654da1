"""Bytes ⇄ Source: the first hop: decodes a file, keeps what it takes to write it back, does position arithmetic.

A notebook is the program that its code cells are, in their order; `place` says where in which cell a position is.

Lines end at "\\n", "\\r\\n" and "\\r" only, as Python's own tokenizer has it; form feeds and Unicode separators are
ordinary characters. Positions are 1-based lines and columns in code points. Knows nothing of rules; prints nothing.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

from adlint.diagnostics import Edit, Position, Span
from adlint.notebook import NotANotebook, Notebook

_BOM = b"\xef\xbb\xbf"
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_LINE_END = re.compile(r"\r\n|\n|\r")
NOTEBOOKS = (".ipynb",)
_LINE_END_BYTES = re.compile(rb"\r\n|\n|\r")


class Unreadable(Exception):
    """A text that cannot be taken for Python source, and where that shows."""

    def __init__(self, message: str, position: Position) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


@dataclass(frozen=True)
class Source:
    """The decoded text of one file, with what it takes to encode it again unchanged."""

    filename: str
    text: str
    encoding: str = field(default="utf-8", kw_only=True)
    bom: bool = field(default=False, kw_only=True)
    notebook: Notebook | None = field(default=None, kw_only=True, compare=False, repr=False)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Source:
        """Read and decode a file; raises `OSError` or `Unreadable`."""
        return cls.from_bytes(Path(path).read_bytes(), str(path))

    @classmethod
    def from_bytes(cls, data: bytes, filename: str = "<string>") -> Source:
        """Decode as Python would (byte order mark, coding cookie, UTF-8); raises `Unreadable`."""
        bom = data.startswith(_BOM)
        if bom:
            data = data[len(_BOM) :]
        if filename.endswith(NOTEBOOKS):
            return _notebook(data, filename, bom)
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise Unreadable("the file is UTF-16 text, which Python cannot read", Position(1, 1))
        encoding = _encoding(data)
        if bom and encoding != "utf-8":
            raise Unreadable(f"the coding cookie says {encoding}, the byte order mark UTF-8", Position(1, 1))
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            before = cls(filename, data[: error.start].decode(encoding, "replace"))
            place = before.position(len(before.text))
            byte = data[error.start]
            raise Unreadable(f"byte 0x{byte:02x} is not {encoding} text", place) from None
        source = cls(filename, text, encoding=encoding, bom=bom)
        if "\0" in text:
            raise Unreadable("the file contains a NUL character", source.position(text.index("\0")))
        return source

    def encode(self) -> bytes:
        """Return the bytes of the file; for an unchanged text exactly those it was made from."""
        return (_BOM if self.bom else b"") + self.content.encode(self.encoding)

    @property
    def content(self) -> str:
        """The text of the file: of a notebook its JSON; raises ValueError if a notebook cannot have this program."""
        return self.notebook.written(self.text) if self.notebook else self.text

    @property
    def problems(self) -> list[tuple[str, Position]]:
        """What is wrong with cells that were left out, and where that is in the text."""
        if self.notebook is None:
            return []
        wrong = [(cell.number, cell.error) for cell in self.notebook.cells if cell.error]
        return [(m, Position(self.notebook.line(number, line), column)) for number, (m, line, column) in wrong]

    def place(self, position: Position) -> tuple[int | None, Position]:
        """Return the number of the cell that a position is in, None outside notebooks, and its place there."""
        if self.notebook is None:
            return None, position
        cell, line = self.notebook.place(self.text, position.line)
        return cell, Position(line, position.column)

    def in_file(self, position: Position) -> Position:
        """Return where a position is in the file itself; of a notebook not yet known, and given as its start."""
        return position if self.notebook is None else Position(1, 1)

    def admits(self, edits: Iterable[Edit]) -> bool:
        """Whether these edits of the text can be made in the file."""
        if self.notebook is None:
            return True
        given = [(e.span.start, e.span.end, e.content) for e in edits]
        return self.notebook.admits([(a.line, a.column, b.line, b.column, content) for a, b, content in given])

    def with_text(self, text: str) -> Source:
        """Return the same file with another text."""
        return replace(self, text=text)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    @cached_property
    def newline(self) -> str:
        """The line ending that most lines of the file have."""
        endings = [found.group() for found in _LINE_END.finditer(self.text)]
        return max(("\n", "\r\n", "\r"), key=endings.count)

    @property
    def line_count(self) -> int:
        """How many lines there are; a final newline begins an empty last one."""
        return len(self._starts)

    def line(self, number: int) -> str:
        """Return a line (1-based) without its ending."""
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def shown(self, number: int) -> str:
        """Return a line as the file has it, which in a notebook may be a magic."""
        if self.notebook is None or self.text != self.notebook.text:
            return self.line(number)
        cell, line = self.notebook.place(self.text, number)
        lines = next((held.lines for held in self.notebook.cells if held.number == cell), ())
        return lines[line - 1].rstrip("\r\n") if 0 < line <= len(lines) else self.line(number)

    def offset(self, position: Position) -> int:
        """Return the index in the text of a position; positions past a line or the text are moved to its end."""
        if position.line > len(self._starts):
            return len(self.text)
        start = self._starts[position.line - 1]
        end = self._starts[position.line] if position.line < len(self._starts) else len(self.text)
        return min(start + position.column - 1, end)

    def position(self, offset: int) -> Position:
        """Return the position of an index in the text."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def span(self, start: int, end: int) -> Span:
        """Return the span of the text between two indices."""
        return Span(self.position(start), self.position(end))

    def slice(self, span: Span) -> str:
        """Return the text of a span."""
        return self.text[self.offset(span.start) : self.offset(span.end)]


def _notebook(data: bytes, filename: str, bom: bool) -> Source:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = Source(filename, data[: error.start].decode("utf-8", "replace"))
        message = f"byte 0x{data[error.start]:02x} is not utf-8 text"
        raise Unreadable(message, place.position(len(place.text))) from None
    try:
        notebook = Notebook.read(text)
    except NotANotebook as error:
        raise Unreadable(error.message, Source(filename, text).position(error.offset)) from None
    return Source(filename, notebook.text, bom=bom, notebook=notebook)


def _encoding(data: bytes) -> str:
    """Return the encoding that a coding cookie in the first two lines names, else UTF-8."""
    head = data[:4096] if b"coding" in data[:4096] else b""
    for number, line in enumerate(_LINE_END_BYTES.split(head, maxsplit=2)[:2], 1):
        if found := _COOKIE.match(line):
            name = found.group(1).decode()
            try:
                "".encode(name)
            except (LookupError, UnicodeError):
                place = Position(number, len(line[: found.start(1)].decode("utf-8", "replace")) + 1)
                raise Unreadable(f"unknown encoding `{name}`", place) from None
            plain = codecs.lookup(name).name
            return "utf-8" if plain.startswith("utf-8") else plain
        if not _BLANK.match(line):
            break
    return "utf-8"
