"""An array of objects, for programs: rows and columns are 1-based and count code points; ends are exclusive.

In a notebook a place has its `cell` too, and rows are counted there; `file_row` is the line of the file. The text is
ASCII, so that no encoding of a stream can break it.
"""

from __future__ import annotations

import json
from typing import Any

from adlint.diagnostics import Diagnostic, Edit, Fix, Position, Related
from adlint.reports import Result


def render(result: Result) -> str:
    """Return the findings as JSON."""
    return json.dumps([finding(item, result) for item in result.diagnostics], indent=2) + "\n"


def finding(item: Diagnostic, result: Result) -> dict[str, Any]:
    """Return one finding as an object of JSON."""
    return {
        "code": item.code,
        "name": item.name,
        "message": item.message,
        "severity": item.severity.value,
        "certainty": item.certainty.value,
        "filename": item.filename,
        "location": _place(result, item.filename, item.span.start),
        "end_location": _place(result, item.filename, item.span.end),
        "related": [_related(related, result) for related in item.related],
        "fix": _fix(item.fix, item.filename, result) if item.fix else None,
        "url": item.url,
    }


def _related(related: Related, result: Result) -> dict[str, Any]:
    return {
        "message": related.message,
        "filename": related.filename,
        "location": _place(result, related.filename, related.span.start),
        "end_location": _place(result, related.filename, related.span.end),
    }


def _fix(fix: Fix, filename: str, result: Result) -> dict[str, Any]:
    return {
        "message": fix.title,
        "applicability": fix.applicability.value,
        "edits": [_edit(edit, filename, result) for edit in fix.edits],
    }


def _edit(edit: Edit, filename: str, result: Result) -> dict[str, Any]:
    return {
        "content": edit.content,
        "location": _place(result, filename, edit.span.start),
        "end_location": _place(result, filename, edit.span.end),
    }


def _place(result: Result, filename: str, position: Position) -> dict[str, int]:
    cell, place = result.place(filename, position)
    found = {"row": place.line, "column": place.column}
    if cell is None:
        return found
    return {"cell": cell, **found, "file_row": result.sources[filename].in_file(position).line}
