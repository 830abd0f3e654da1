"""SARIF 2.1.0, as GitHub's code scanning and other readers of it want it.

Columns count code points, as the run declares; URIs are relative to `%SRCROOT%`, the folder that adlint ran in; the
rules carry the texts of the catalogue. GitHub takes 25,000 results in a run and 1,000 locations in a result: past that
the least severe results are left out, and a notification says how many.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from adlint import __version__
from adlint.catalog import Catalog, Rule, load
from adlint.diagnostics import HOME, Applicability, Diagnostic, Position, Severity, Span
from adlint.explanation import explanation
from adlint.fingerprints import fingerprints
from adlint.linter import FAILED, PARTLY, UNREADABLE
from adlint.reports import Result
from adlint.reports.places import Places, folder_uri, whole

MOST_RESULTS, MOST_LOCATIONS = 25_000, 1_000
ROOT = "%SRCROOT%"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "adlint/v1"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
_CONDITIONS = (UNREADABLE, FAILED, PARTLY)
_LONGEST = 1_000
_LINK = re.compile(r"\[(?=[^\[\]]*\]\()")
_ARGUMENT = re.compile(r"\{(\d+)\}")


def render(result: Result) -> str:
    """Return a log with one run; its text is ASCII."""
    catalog = load()
    places = Places(result)
    indices = {name: number for number, name in enumerate(catalog.rules)}
    marks = fingerprints(result.diagnostics, result.sources)
    kept = _kept(result.diagnostics)
    run = {
        "tool": {"driver": _driver(catalog)},
        "invocations": [_invocation(result, places, indices, len(result.diagnostics) - len(kept))],
        "originalUriBaseIds": {ROOT: {"uri": folder_uri(places.root)}},
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "results": [_result(result.diagnostics[number], marks[number], places, indices) for number in kept],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _kept(items: Sequence[Diagnostic]) -> list[int]:
    """Return which findings fit into a run, in their order."""
    if len(items) <= MOST_RESULTS:
        return list(range(len(items)))
    order = list(Severity)
    return sorted(sorted(range(len(items)), key=lambda number: order.index(items[number].severity))[:MOST_RESULTS])


def _driver(catalog: Catalog) -> dict[str, Any]:
    return {
        "name": "adlint",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": HOME,
        "rules": [_rule(rule, explanation(rule, catalog)) for rule in catalog.rules.values()],
    }


def _rule(rule: Rule, page: str) -> dict[str, Any]:
    why = " ".join(rule.why.partition("\n\n")[0].split())
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": f"{rule.summary[:1].upper()}{rule.summary[1:]}."},
        "fullDescription": {"text": why if len(why) <= _LONGEST else why[:_LONGEST] + "..."},
        "help": {"text": page, "markdown": page},
        "helpUri": rule.url,
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "tags": ["autograd", rule.family, rule.name],
            "precision": "very-high" if rule.family == "meta" else "high",
            "problem.severity": _PROBLEMS[rule.severity],
        },
    }


def _invocation(result: Result, places: Places, indices: dict[str, int], left_out: int) -> dict[str, Any]:
    """Return how the run ended, and what it could not do: read a file, analyse it, report everything."""
    failed = any(item.name == FAILED for item in result.diagnostics)
    notes = [
        {
            "level": _LEVELS[item.severity],
            "message": {"text": places.message(item)},
            "locations": [_location(item.filename, item.span, places)],
            "associatedRule": _reference(item, indices),
        }
        for item in result.diagnostics
        if item.name in _CONDITIONS
    ]
    if left_out:
        notes.append({"level": "warning", "message": {"text": f"{left_out} of the least severe results are left out"}})
    return {
        "executionSuccessful": not failed,
        "exitCode": result.status,
        "workingDirectory": {"uri": folder_uri(places.root)},
        "toolExecutionNotifications": notes,
    }


def _reference(item: Diagnostic, indices: dict[str, int]) -> dict[str, Any]:
    index = indices.get(item.name)
    return {"id": whole(item.code), **({} if index is None else {"index": index})}


def _result(item: Diagnostic, mark: str, places: Places, indices: dict[str, int]) -> dict[str, Any]:
    related = [
        _location(one.filename, one.span, places, places.said(one.filename, one.span.start, one.message), number)
        for number, one in enumerate(item.related[:MOST_LOCATIONS], 1)
    ]
    fix = _fix(item, places)
    cell = places.cell(item.filename, item.span.start)
    index = indices.get(item.name)
    return {
        "ruleId": whole(item.code),
        **({} if index is None else {"ruleIndex": index}),
        "level": _LEVELS[item.severity],
        "message": {"text": _plain(places.message(item))},
        "locations": [_location(item.filename, item.span, places)],
        **({"relatedLocations": related} if related else {}),
        **({"fixes": [fix]} if fix else {}),
        "partialFingerprints": {FINGERPRINT: mark},
        "properties": {
            "certainty": item.certainty.value,
            **({"cell": cell[0], "lineInCell": cell[1].line, "columnInCell": cell[1].column} if cell else {}),
        },
    }


def _location(filename: str, span: Span, places: Places, message: str = "", number: int = 0) -> dict[str, Any]:
    return {
        **({"id": number} if number else {}),
        "physicalLocation": {
            "artifactLocation": _artifact(filename, places),
            "region": _region(places.span(filename, span)),
        },
        **({"message": {"text": _plain(message)}} if message else {}),
    }


def _artifact(filename: str, places: Places) -> dict[str, str]:
    inside = places.inside(filename) is not None
    return {"uri": places.uri(filename), **({"uriBaseId": ROOT} if inside else {})}


def _region(span: Span) -> dict[str, int]:
    def named(prefix: str, position: Position) -> Iterable[tuple[str, int]]:
        return (f"{prefix}Line", position.line), (f"{prefix}Column", position.column)

    return dict((*named("start", span.start), *named("end", span.end)))


def _fix(item: Diagnostic, places: Places) -> dict[str, Any] | None:
    """Return the fix of a finding; None if it is for display only, or cannot be made in the file."""
    edits = places.edits(item)
    if item.fix is None or item.fix.applicability is Applicability.DISPLAY or not edits:
        return None
    safety = "safe" if item.fix.applicability is Applicability.SAFE else "unsafe: needs a look"
    replacements = [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": whole(edit.content)}} for edit in edits
    ]
    return {
        "description": {"text": _plain(whole(f"{item.fix.title} ({safety})"))},
        "artifactChanges": [{"artifactLocation": _artifact(item.filename, places), "replacements": replacements}],
    }


def _plain(text: str) -> str:
    """Return a message whose brackets no reader takes for a link, and whose braces none takes for an argument."""
    return _ARGUMENT.sub(r"{{\1}}", _LINK.sub(r"\\[", text))
