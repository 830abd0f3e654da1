"""What an editor's menu offers for some lines: fixes, silencing, explanations. Makes no edit itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from adlint import fixes
from adlint.diagnostics import Applicability, Diagnostic
from adlint.server.answers import Analysis

FIX_ALL, FIX_ALL_CELLS = "source.fixAll.adlint", "notebook.source.fixAll.adlint"
QUICK_FIX = "quickfix"
EXPLAIN = "adlint.explainRule"
_LOOK = " (unsafe: needs a look)"


@dataclass(frozen=True)
class Offer:
    """One entry of the menu: a command, a comment that silences a finding, or a mending.

    A mending is of one finding, if it has a `span`, of all findings of a `rule`, or of everything.
    """

    title: str = ""
    kind: str = QUICK_FIX
    finding: Diagnostic | None = None
    preferred: bool = False
    command: tuple[str, str] | None = None
    silences: Diagnostic | None = None
    rule: str = ""
    span: tuple[int, ...] = ()
    unsafe: bool = False

    def task(self) -> dict[str, Any]:
        """Return what it takes to make the edit later."""
        return {"rule": self.rule, "span": list(self.span), "unsafe": self.unsafe}

    @classmethod
    def of(cls, task: dict[str, Any]) -> Offer:
        """Take what `task` has returned, which has been with the editor meanwhile."""
        return cls(rule=str(task["rule"]), span=tuple(map(int, task["span"])), unsafe=task["unsafe"] is True)

    def wanted(self, item: Diagnostic) -> bool:
        """Whether a finding is to be mended."""
        return self.rule in ("", item.name) and self.span in ((), _flat(item))


def offers(analysis: Analysis, uri: str, first: int, last: int, only: object, unsafe: bool) -> Iterator[Offer]:
    """Yield what can be done about some lines of a text, counted in the program; `unsafe` is about mending all."""
    if wants(only, QUICK_FIX):
        here = touched(analysis, uri, first, last)
        for item in here:
            yield from _of_finding(item, analysis.findings)
        for item in here:
            yield Offer(f"{item.code}: silence {item.name} in this line", finding=item, silences=item)
        for item in {item.name: item for item in here}.values():
            yield Offer(f"{item.code}: explain {item.name}", finding=item, command=(EXPLAIN, item.name))
    kind = FIX_ALL if analysis.buffer.cells is None else FIX_ALL_CELLS
    if wants(only, kind) and any(fixes.applicable(item, unsafe) for item in analysis.findings):
        yield Offer("adlint: fix all" + (_LOOK if unsafe else ""), kind, unsafe=unsafe)


def _of_finding(item: Diagnostic, every: Sequence[Diagnostic]) -> Iterator[Offer]:
    if not item.fix or not fixes.applicable(item, True):
        return
    unsafe = item.fix.applicability is Applicability.UNSAFE
    look = _LOOK if unsafe else ""
    title = f"{item.code}: {item.fix.title}{look}"
    yield Offer(title, finding=item, preferred=not unsafe, rule=item.name, span=_flat(item), unsafe=unsafe)
    same = [other for other in every if other.name == item.name and fixes.applicable(other, unsafe)]
    if len(same) > 1:
        yield Offer(f"{item.code}: fix all {item.name}{look}", finding=item, rule=item.name, unsafe=unsafe)


def wants(only: object, kind: str) -> bool:
    """Whether an editor asks for actions of a kind, or of all."""
    if not isinstance(only, list):
        return True
    return any(isinstance(one, str) and (one in ("", kind) or kind.startswith(one + ".")) for one in only)


def touched(analysis: Analysis, uri: str, first: int, last: int) -> list[Diagnostic]:
    """Return the findings in some lines of a text."""
    return [
        item
        for item in analysis.findings
        if item.span.start.line <= last and first <= item.span.end.line
        if analysis.buffer.at(item.span.start.line)[0].uri == uri
    ]


def _flat(item: Diagnostic) -> tuple[int, ...]:
    return item.span.start.line, item.span.start.column, item.span.end.line, item.span.end.column
