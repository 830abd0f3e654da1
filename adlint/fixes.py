"""Choose, merge and apply Fixes to a text.

A fix is applied with all its edits or not at all. Fixes that touch the same text cannot go together: the earlier one
goes first, the other waits for the next round. Edits that several fixes share, such as a missing import, are made once.
Knows no rules and no trees; reads no files, prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from adlint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position
from adlint.source import Source


def applicable(diagnostic: Diagnostic, unsafe: bool) -> bool:
    """Whether the finding has a fix that may be applied."""
    fix = diagnostic.fix
    if fix is None or not fix.edits:
        return False
    return fix.applicability is Applicability.SAFE or (unsafe and fix.applicability is Applicability.UNSAFE)


def choose(source: Source, fixes: Iterable[Fix]) -> list[Fix]:
    """Return those fixes, in their order, that can be applied together."""
    chosen: list[Fix] = []
    taken: list[Edit] = []
    for fix in fixes:
        if all(_compatible(source, edit, other) for edit in fix.edits for other in taken):
            chosen.append(fix)
            taken += [edit for edit in fix.edits if edit not in taken]
    return chosen


def apply(source: Source, fixes: Sequence[Fix]) -> str:
    """Return the text with fixes that `choose` found to go together."""
    text = source.text
    for start, end, content in reversed(_placed(source, fixes)):
        text = text[:start] + content + text[end:]
    return text


def shift(source: Source, mended: Source, fixes: Sequence[Fix]) -> Callable[[Position], Position | None]:
    """Return where places of the old text are in the new one; None for what was replaced."""
    placed = _placed(source, fixes)

    def moved(position: Position) -> Position | None:
        offset = source.offset(position)
        by = 0
        for start, end, content in placed:
            if start <= offset < end:
                return None
            if end <= offset:
                by += len(content) - (end - start)
        return mended.position(offset + by)

    return moved


def _placed(source: Source, fixes: Sequence[Fix]) -> list[tuple[int, int, str]]:
    """Return each edit once, from where to where, in the order of the text; insertions at one place in their order."""
    edits = dict.fromkeys(edit for fix in fixes for edit in fix.edits)
    placed = [(source.offset(edit.span.start), source.offset(edit.span.end), edit.content) for edit in edits]
    return sorted(placed, key=lambda item: item[:2])


def _compatible(source: Source, edit: Edit, other: Edit) -> bool:
    """Two edits go together if they are the same or lie apart; two insertions at one place depend on their order."""
    if edit == other:
        return True
    start, end = source.offset(edit.span.start), source.offset(edit.span.end)
    other_start, other_end = source.offset(other.span.start), source.offset(other.span.end)
    if start == other_start:
        return False
    return end <= other_start or other_end <= start
