"""Workflow commands of GitHub Actions, which become annotations of the lines.

GitHub shows ten errors, ten warnings and ten notices of a step; the others are in the log alone.
"""

from __future__ import annotations

from adlint.diagnostics import Diagnostic, Severity
from adlint.reports import Result
from adlint.reports.places import Places

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(result: Result) -> str:
    """Return `::error file=...,line=...,col=...,endLine=...,endColumn=...,title=...::message` for each finding.

    The columns are left out where a finding ends on another line, since GitHub takes them for those of one line.
    """
    places = Places(result)
    return "".join(_command(item, places) + "\n" for item in result.diagnostics)


def _command(item: Diagnostic, places: Places) -> str:
    span = places.span(item.filename, item.span)
    one = span.start.line == span.end.line
    properties = {
        "file": places.path(item.filename),
        "line": str(span.start.line),
        **({"col": str(span.start.column)} if one else {}),
        "endLine": str(span.end.line),
        **({"endColumn": str(span.end.column)} if one else {}),
        "title": f"adlint {item.code} {item.name}",
    }
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[item.severity]} {listed}::{_data(places.message(item))}"


def _data(text: str) -> str:
    """Return what stands for a message; what a terminal would obey is shown as an escape."""
    shown = "".join(c if c.isprintable() or c in "\r\n" else c.encode("unicode_escape").decode() for c in text)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
