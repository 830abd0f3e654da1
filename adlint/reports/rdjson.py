"""The Diagnostic Format of reviewdog: one object with the findings in it.

Columns count bytes of UTF-8 from 1, ends are exclusive. Only keys that every version of reviewdog knows are written,
since it refuses a report with others; hence nothing is said of related lines.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from adlint import fixes
from adlint.diagnostics import HOME, Applicability, Diagnostic, Position, Severity, Span
from adlint.reports import Result
from adlint.reports.places import Places, whole

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render(result: Result) -> str:
    """Return the report; its severity is that of the worst finding."""
    places = Places(result)
    worst = next((one for one in Severity if any(item.severity is one for item in result.diagnostics)), Severity.INFO)
    report = {
        "source": {"name": "adlint", "url": HOME},
        "severity": _SEVERITIES[worst],
        "diagnostics": [_finding(item, places) for item in result.diagnostics],
    }
    return json.dumps(report, indent=2) + "\n"


def _finding(item: Diagnostic, places: Places) -> dict[str, Any]:
    suggestions = _suggestions(item, places)
    return {
        "message": places.message(item),
        "location": {
            "path": places.path(item.filename),
            "range": _range(item.filename, places.span(item.filename, item.span), places),
        },
        "severity": _SEVERITIES[item.severity],
        "code": {"value": whole(item.code), **({"url": whole(item.url)} if item.url else {})},
        **({"suggestions": suggestions} if suggestions else {}),
    }


def _suggestions(item: Diagnostic, places: Places) -> list[dict[str, Any]]:
    """Return the fix as one suggestion, from its first edit to its last, because each suggestion is taken by itself."""
    text = places.text(item.filename)
    edits = places.edits(item)
    if text is None or item.fix is None or item.fix.applicability is Applicability.DISPLAY or not edits:
        return []
    mended = fixes.apply(text, [replace(item.fix, edits=edits)])
    span = Span(min(edit.span.start for edit in edits), max(edit.span.end for edit in edits))
    start, behind = text.offset(span.start), len(text.text) - text.offset(span.end)
    new = mended[start : len(mended) - behind]
    return [{"range": _range(item.filename, span, places), "text": whole(new)}]


def _range(filename: str, span: Span, places: Places) -> dict[str, Any]:
    return {"start": _position(filename, span.start, places), "end": _position(filename, span.end, places)}


def _position(filename: str, position: Position, places: Places) -> dict[str, int]:
    """Return a position with its column in bytes; without one where the line is not known."""
    text = places.text(filename)
    if text is None:
        return {"line": position.line}
    before = text.line(position.line)[: position.column - 1] if position.line <= text.line_count else ""
    return {"line": position.line, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
