"""How many findings of each rule there are, in place of the findings: `--statistics`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from adlint.diagnostics import Applicability, Diagnostic, Severity
from adlint.reports import Result
from adlint.reports.hyperlinks import linked
from adlint.reports.summary import summarise


@dataclass(frozen=True)
class Count:
    """The findings of one rule at one severity; `fixable` counts those that `--fix` mends, `unsafe` those that need
    `--unsafe-fixes` too."""

    code: str
    name: str
    url: str
    severity: Severity
    count: int
    fixable: int
    unsafe: int


def counted(items: Iterable[Diagnostic]) -> list[Count]:
    """Return the counts, the largest first, then in the order of the ids."""
    groups: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for item in items:
        groups.setdefault((item.code, item.name, item.severity.value), []).append(item)
    counts = []
    for (code, name, severity), found in groups.items():
        ways = [item.fix.applicability for item in found if item.fix and item.fix.edits]
        safe, unsafe = ways.count(Applicability.SAFE), ways.count(Applicability.UNSAFE)
        counts.append(Count(code, name, found[0].url, Severity(severity), len(found), safe, unsafe))
    return sorted(counts, key=lambda count: (-count.count, count.code, count.name))


def render(result: Result, form: str) -> str:
    """Return the counts in one of the formats of `COUNTED`: a table, or objects of JSON."""
    counts = counted(result.diagnostics)
    if form == "json":
        return json.dumps([_object(count) for count in counts], indent=2) + "\n"
    if form == "json-lines":
        return "".join(json.dumps(_object(count)) + "\n" for count in counts)
    if form == "markdown":
        from adlint.reports.markdown import statistics

        parts = [f"**adlint:** {summarise(result)}\n"] if result.summary else []
        return "\n".join([*parts, *([statistics(result)] if counts else [])])
    return _table(counts, result) + (summarise(result) + "\n" if result.summary else "")


def _table(counts: list[Count], result: Result) -> str:
    wide = max((len(str(count.count)) for count in counts), default=0)
    long = max((len(count.name) for count in counts), default=0)
    lines = []
    for count in counts:
        code = linked(count.code, count.url) if result.links else count.code
        mark = "  [*]" if count.fixable else ""
        lines.append(f"{count.count:>{wide}}  {code}  {count.name:<{long}}{mark}".rstrip() + "\n")
    if any(count.fixable for count in counts):
        lines.append("[*] fixable with --fix\n")
    return "".join(lines)


def _object(count: Count) -> dict[str, object]:
    return {
        "code": count.code,
        "name": count.name,
        "severity": count.severity.value,
        "count": count.count,
        "fixable": count.fixable,
        "unsafe_fixable": count.unsafe,
        "url": count.url,
    }
