"""The findings of each file below its name."""

from __future__ import annotations

from itertools import groupby

from adlint.diagnostics import Diagnostic, one_line
from adlint.reports import Result
from adlint.reports.hyperlinks import linked
from adlint.reports.summary import summarise


def render(result: Result) -> str:
    """Return a heading for each file, below it `line:column severity code name: message` in columns, and the summary;
    in a notebook `cell 3:line:column`."""
    parts = []
    for filename, items in groupby(result.diagnostics, key=lambda item: item.filename):
        parts.append(f"{one_line(filename)}:\n" + _rows(list(items), result))
    if result.summary:
        parts.append(summarise(result) + "\n")
    return "\n".join(parts)


def _rows(items: list[Diagnostic], result: Result) -> str:
    places = [_place(item, result) for item in items]
    wide = max(map(len, places))
    kind = max(len(item.severity.value) for item in items)
    lines = []
    for place, item in zip(places, items, strict=True):
        code = linked(item.code, item.url) if result.links else item.code
        lines.append(f"  {place:<{wide}}  {item.severity.value:<{kind}} {code} {item.name}: {one_line(item.message)}\n")
    return "".join(lines)


def _place(item: Diagnostic, result: Result) -> str:
    cell, place = result.place(item.filename, item.span.start)
    return f"{'' if cell is None else f'cell {cell}:'}{place.line}:{place.column}"
