"""The last line of a report: how many findings, how many of them can be mended."""

from __future__ import annotations

from collections import Counter

from adlint.diagnostics import Applicability, Severity
from adlint.reports import Result


def summarise(result: Result) -> str:
    """Return a sentence such as `Found 3 errors and 1 warning (2 fixable with --fix, 1 with --unsafe-fixes).`"""
    count = Counter(item.severity for item in result.diagnostics)
    done = f"Fixed {_number(result.fixed, 'problem')}. " if result.fixed else ""
    if not count:
        return done.rstrip() or "All checks passed!"
    kinds = [_number(count[severity], severity.value) for severity in Severity if count[severity]]
    listed = " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
    ways = Counter(item.fix.applicability for item in result.diagnostics if item.fix and item.fix.edits)
    fixable = []
    if ways[Applicability.SAFE]:
        fixable.append(f"{ways[Applicability.SAFE]} fixable with --fix")
    if ways[Applicability.UNSAFE]:
        fixable.append(f"{ways[Applicability.UNSAFE]} {'' if fixable else 'fixable '}with --unsafe-fixes")
    hint = f" ({', '.join(fixable)})" if fixable else ""
    return f"{done}Found {listed}{hint}."


def _number(count: int, noun: str) -> str:
    noun = "note" if noun == "info" else noun
    return f"{count} {noun}{'' if count == 1 else 's'}"
