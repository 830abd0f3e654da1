"""Source lines as a terminal shows them: what is wide, what is a tab, what must not reach the terminal, where to cut.

Columns of the source are code points; columns of a terminal are cells.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

TAB = 4
WIDTH = 160
_MARGIN = 40
_CUT = "…"


@dataclass(frozen=True)
class Row:
    """One shown line. `text` is what to print; `cells[i]` is the cell at which character `i` of the line begins."""

    text: str
    cells: tuple[int, ...]

    @classmethod
    def of(cls, line: str, focus: int = 0) -> Row:
        """Lay out a line; a very long one is cut around the 0-based column `focus`."""
        text: list[str] = []
        cells = [0]
        for character in line:
            shown, width = _shown(character, cells[-1])
            text.append(shown)
            cells.append(cells[-1] + width)
        if cells[-1] <= WIDTH:
            return cls("".join(text), tuple(cells))
        begin = max(0, min(focus, len(line) - 1) - _MARGIN)
        end = begin
        while end < len(line) and cells[end] - cells[begin] < WIDTH:
            end += 1
        head = _CUT if begin else ""
        tail = _CUT if end < len(line) else ""
        limit = cells[end] - cells[begin] + len(head)
        moved = (min(max(cell - cells[begin] + len(head), 0), limit) for cell in cells)
        return cls(head + "".join(text[begin:end]) + tail, tuple(moved))

    def extent(self, start: int, end: int) -> tuple[int, int]:
        """Return the first cell and the number of cells (at least one) of the characters from `start` up to `end`."""
        last = len(self.cells) - 1
        first = self.cells[min(start, last)]
        return first, max(1, self.cells[min(end, last)] - first)


def _shown(character: str, cell: int) -> tuple[str, int]:
    """Return what stands for a character at a cell, and how many cells it takes."""
    if character == "\t":
        width = TAB - cell % TAB
        return " " * width, width
    category = unicodedata.category(character)
    if category == "Cc":
        code = ord(character)
        return (chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"), 1
    if category in ("Mn", "Me"):
        return character, 0
    if category in ("Cf", "Cs", "Zl", "Zp"):
        return "\ufffd", 1
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1
