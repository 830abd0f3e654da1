"""FILE:LINE and FILE:CELL:LINE, as reports write them; a column may follow that nobody needs. Reads nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from adlint.source import NOTEBOOKS, Source

_PLACE = re.compile(r"(?P<path>.+?)(?::cell (?P<named>\d{1,9}))?(?P<numbers>(?::\d{1,9})+)", re.DOTALL)


class WrongPlace(Exception):
    """A place that is none, or is not in the file."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, in a notebook of one of its cells."""

    path: str
    cell: int | None
    line: int

    def line_in(self, source: Source) -> int:
        """Return the line of the text; raises `WrongPlace` for one that is not there."""
        if self.cell is None:
            if not 0 < self.line <= source.line_count:
                raise WrongPlace(f"{self.path} has no line {self.line}, only 1 to {source.line_count}")
            return self.line
        assert source.notebook is not None
        cell = next((held for held in source.notebook.cells if held.number == self.cell), None)
        if cell is None:
            raise WrongPlace(f"{self.path} has no code cell {self.cell}")
        if not 0 < self.line <= len(cell.python):
            raise WrongPlace(f"cell {self.cell} of {self.path} has no line {self.line}, only 1 to {len(cell.python)}")
        return source.notebook.line(self.cell, self.line)


def parse(text: str) -> Place:
    """Take a place apart from its end, so that a colon in the path, as after a drive, stays there."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise WrongPlace(f"`{text}` is not of the form FILE:LINE")
    path, numbers = found["path"], [int(number) for number in found["numbers"][1:].split(":")]
    if not path.endswith(NOTEBOOKS):
        return Place(path, None, numbers[0])
    if found["named"]:
        return Place(path, int(found["named"]), numbers[0])
    if len(numbers) < 2:
        raise WrongPlace(f"`{text}` is not of the form FILE:CELL:LINE, which a notebook needs")
    return Place(path, numbers[0], numbers[1])
