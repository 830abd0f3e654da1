"""A summary in GitHub's Markdown: for a comment on a pull request, or for `$GITHUB_STEP_SUMMARY`.

Two tables: how many findings of each rule, and which. What does not fit into a comment of 65,536 characters is counted.
"""

from __future__ import annotations

from adlint.diagnostics import Diagnostic, one_line
from adlint.reports import Result
from adlint.reports.summary import summarise
from adlint.reports.tally import Count, counted

MOST = 60_000
_MEANING = str.maketrans({c: f"\\{c}" for c in "\\|*_[]~`$"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def render(result: Result) -> str:
    """Return the summary sentence, a table of rules and a table of findings; the sentence alone if nothing is found."""
    parts = [f"**adlint:** {summarise(result)}\n"] if result.summary else []
    if result.diagnostics:
        parts.append(statistics(result))
        parts.append(_findings(result, sum(map(len, parts))))
    return "\n".join(parts)


def statistics(result: Result) -> str:
    """Return the table of rules: how many findings of each, and how many of them `--fix` mends."""
    lines = ["| rule | severity | findings | fixable |", "|---|---|--:|--:|"]
    for count in counted(result.diagnostics):
        lines.append(f"| {_rule(count)} | {count.severity.value} | {count.count} | {count.fixable or ''} |")
    return "".join(line + "\n" for line in lines)


def _findings(result: Result, used: int) -> str:
    rows: list[str] = []
    size = used
    for number, item in enumerate(result.diagnostics):
        place = code(result.spelled(item.filename, item.span.start))
        row = f"| {place} | {item.severity.value} | {_rule(item)} | {prose(item.message)} |\n"
        size += len(row)
        if size > MOST:
            rows.append(f"\n... and {len(result.diagnostics) - number} more\n")
            break
        rows.append(row)
    return "| place | severity | rule | finding |\n|---|---|---|---|\n" + "".join(rows)


def _rule(item: Diagnostic | Count) -> str:
    name = f"{_escaped(item.code)} {_escaped(item.name)}"
    if not item.url or not item.url.isascii() or not item.url.isprintable() or set(item.url) & set(" ()<>|\\"):
        return name
    return f"[{name}]({item.url})"


def code(text: str) -> str:
    """Return a text as code in a cell of a table, whatever is in it."""
    shown = one_line(text).replace("|", "\\|")
    fence = "`"
    while fence in shown:
        fence += "`"
    padding = " " if shown[:1] in ("`", "", " ") or shown[-1:] in ("`", " ") else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def prose(text: str) -> str:
    """Return a message in a cell of a table: what stands in backticks is code, all other signs mean themselves."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:  # a backtick without its other half
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(code(part) if number % 2 and part.strip() else _escaped(part) for number, part in enumerate(parts))


def _escaped(text: str) -> str:
    """Return a text without signs that mean something, and that mentions nobody and no issue."""
    shown = one_line(text).translate(_MEANING)
    return shown.replace("@", "@<!-- -->").replace("#", "#<!-- -->").replace("://", ":<!-- -->//")
