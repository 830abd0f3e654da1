"""One line for each finding."""

from __future__ import annotations

from adlint.diagnostics import one_line
from adlint.reports import Result
from adlint.reports.hyperlinks import linked
from adlint.reports.summary import summarise


def render(result: Result) -> str:
    """Return `path:line:column: severity code name: message` for each finding, and the summary; in a notebook
    `path:cell 3:line:column`, with lines counted in the cell."""
    lines = [
        f"{one_line(result.spelled(item.filename, item.span.start))}: "
        f"{item.severity.value} {linked(item.code, item.url) if result.links else item.code} {item.name}: "
        f"{one_line(item.message)}"
        for item in result.diagnostics
    ]
    if result.summary:
        lines.append(summarise(result))
    return "".join(line + "\n" for line in lines)
