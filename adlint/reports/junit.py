"""JUnit's XML: a suite for each file, a test that failed for each finding.

What could not be read or analysed is an error rather than a failure. Where nothing is found there is one test that
passed, because many readers refuse a report without any.
"""

from __future__ import annotations

from itertools import groupby

from adlint.diagnostics import Diagnostic
from adlint.linter import FAILED, UNREADABLE
from adlint.reports import Result
from adlint.reports.places import Places

_NAMES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def render(result: Result) -> str:
    """Return the report; its text is ASCII and holds no character that XML has not."""
    places = Places(result)
    ordered = sorted(result.diagnostics, key=lambda item: item.filename)
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append(f"<testsuites {_attributes(name='adlint', **_counts(ordered or [None]))}>")
    for filename, items in groupby(ordered, key=lambda item: item.filename):
        lines += _suite(places.path(filename), list(items), places)
    if not ordered:
        lines.append(f"  <testsuite {_attributes(name='adlint', **_counts([None]))}>")
        lines.append(f"    <testcase {_attributes(name='nothing found', classname='adlint')}/>")
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "".join(line + "\n" for line in lines)


def _suite(path: str, items: list[Diagnostic], places: Places) -> list[str]:
    lines = [f"  <testsuite {_attributes(name=path, **_counts(items))}>"]
    for item in items:
        span = places.span(item.filename, item.span)
        message = places.message(item)
        place = {"file": path, "line": str(span.start.line)}
        name = f"{item.code} {item.name} ({span.start.line}:{span.start.column})"
        kind = "error" if _is_error(item) else "failure"
        said = _attributes(message=message, type=item.severity.value)
        text = f"{path}:{span.start.line}:{span.start.column}: {item.code} {item.name}: {message}"
        lines.append(f"    <testcase {_attributes(name=name, classname=path, **place)}>")
        lines.append(f"      <{kind} {said}>{_escaped(text)}</{kind}>")
        lines.append("    </testcase>")
    lines.append("  </testsuite>")
    return lines


def _counts(items: list[Diagnostic] | list[None]) -> dict[str, str]:
    found = [item for item in items if item]
    errors = sum(map(_is_error, found))
    return {"tests": str(len(items)), "failures": str(len(found) - errors), "errors": str(errors)}


def _is_error(item: Diagnostic) -> bool:
    return item.name in (FAILED, UNREADABLE)


def _attributes(**values: str) -> str:
    return " ".join(f'{name}="{_escaped(value)}"' for name, value in values.items())


def _escaped(text: str) -> str:
    return "".join(_character(c) for c in text)


def _character(c: str) -> str:
    """Return what stands for a character in XML; one that XML cannot hold is shown as an escape of Python's."""
    code = ord(c)
    if 0x20 <= code < 0x7F:
        return _NAMES.get(c, c)
    if c in "\t\n\r" or 0x7F <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF:
        return f"&#{code};"
    return c.encode("unicode_escape").decode()
