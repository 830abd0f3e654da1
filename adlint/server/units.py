"""Positions ⇄ positions: columns in code points, counted from 1, and an editor's, counted from 0 in a unit of its own.

An editor counts bytes of UTF-8 or units of UTF-16 or UTF-32, whichever was agreed on. What lies outside of a line or a
text is taken for its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adlint.diagnostics import Position, Span
from adlint.server.wire import INVALID_PARAMS, Refused
from adlint.source import Source

Json = dict[str, object]


def _utf16(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_LENGTHS: dict[str, Callable[[str], int]] = {"utf-8": _utf8, "utf-16": _utf16, "utf-32": len}


@dataclass(frozen=True)
class Units:
    """What an editor counts in a line."""

    encoding: str = "utf-16"

    @classmethod
    def agreed(cls, offered: object) -> Units:
        """Choose the first known of the encodings that an editor offers; without an offer it is UTF-16."""
        listed = offered if isinstance(offered, list) else []
        return cls(next((name for name in listed if isinstance(name, str) and name in _LENGTHS), "utf-16"))

    def out(self, line: str, position: Position, first: int = 1) -> Json:
        """Return the editor's position for one in a text, whose line is given; lines count from line `first`."""
        before = line[: position.column - 1]
        return {"line": max(position.line - first, 0), "character": _LENGTHS[self.encoding](before)}

    def span_out(self, source: Source, span: Span, first: int = 1) -> Json:
        """Return the editor's range for a span of a source; lines count from line `first` of the source."""
        ends = (span.start, min(span.end, Position(source.line_count, len(source.line(source.line_count)) + 1)))
        start, end = (self.out(_line(source, place.line), place, first) for place in ends)
        return {"start": start, "end": end}

    def column(self, line: str, character: int) -> int:
        """Return the column, from 1, of an editor's position in a line."""
        length, count = _LENGTHS[self.encoding], 0
        if length is len or line.isascii():
            return min(character, len(line)) + 1
        for number, one in enumerate(line):
            if count >= character:
                return number + 1
            count += length(one)
        return len(line) + 1

    def position(self, lines: Sequence[str], given: object) -> Position:
        """Return the position in a text of the given lines; raises `Refused` for what is no position."""
        line, character = _numbers(given)
        if line >= len(lines):
            return Position(len(lines), len(lines[-1]) + 1)
        return Position(line + 1, self.column(lines[line], character))


def _line(source: Source, number: int) -> str:
    return source.shown(number) if number <= source.line_count else ""


def _numbers(given: object) -> tuple[int, int]:
    if isinstance(given, dict):
        line, character = given.get("line"), given.get("character")
        if isinstance(line, int) and isinstance(character, int) and line >= 0 and character >= 0:
            return line, character
    raise Refused(INVALID_PARAMS, "no position")
