"""An array of objects, for programs: rows and columns are 1-based and count code points; ends are exclusive."""

from __future__ import annotations

import json
from typing import Any

from adlint.diagnostics import Diagnostic, Edit, Fix, Position, Related
from adlint.reports import Result


def render(result: Result) -> str:
    """Return the findings as JSON."""
    return json.dumps([_finding(item) for item in result.diagnostics], indent=2, ensure_ascii=False) + "\n"


def _finding(item: Diagnostic) -> dict[str, Any]:
    return {
        "code": item.code,
        "name": item.name,
        "message": item.message,
        "severity": item.severity.value,
        "certainty": item.certainty.value,
        "filename": item.filename,
        "location": _place(item.span.start),
        "end_location": _place(item.span.end),
        "related": [_related(related) for related in item.related],
        "fix": _fix(item.fix) if item.fix else None,
        "url": item.url,
    }


def _related(related: Related) -> dict[str, Any]:
    return {
        "message": related.message,
        "filename": related.filename,
        "location": _place(related.span.start),
        "end_location": _place(related.span.end),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "message": fix.title,
        "applicability": fix.applicability.value,
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "content": edit.content,
        "location": _place(edit.span.start),
        "end_location": _place(edit.span.end),
    }


def _place(position: Position) -> dict[str, int]:
    return {"row": position.line, "column": position.column}
