"""For people: each finding with the lines that it is about, what is wrong where, and what would mend it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from adlint import fixes
from adlint.diagnostics import Applicability, Diagnostic, Edit, Fix, Position, Severity, Span, one_line
from adlint.reports import Result
from adlint.reports.frames import Row
from adlint.reports.hyperlinks import linked
from adlint.reports.summary import summarise
from adlint.source import Source

_SEVERITY = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}
_BOLD, _GUTTER, _SECOND, _OLD, _NEW = "1", "34", "34", "31", "32"
_LONGEST_DIFF = 16
_WHOLE = Span(Position(1, 1), Position(1, 1))  # about the file, not about a place in it


@dataclass(frozen=True)
class Label:
    """A stretch of one line to underline, and what to say about it."""

    line: int
    start: int
    end: int | None
    text: str
    primary: bool


def render(result: Result) -> str:
    """Return header, source frame and help of each finding, and the summary."""
    page = _Page(result.color)
    parts = ["".join(line.rstrip() + "\n" for line in page.finding(item, result)) for item in result.diagnostics]
    if result.summary:
        parts.append(summarise(result) + "\n")
    return "\n".join(parts)


@dataclass(frozen=True)
class _Page:
    color: bool

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.color and text else text

    def finding(self, item: Diagnostic, result: Result) -> Iterator[str]:
        place = one_line(result.spelled(item.filename, item.span.start))
        style = _SEVERITY[item.severity]
        doubt = "" if item.certainty.value == "definite" else f" ({item.certainty.value})"
        code = linked(item.code, item.url) if result.links else item.code
        kind = self._paint(f"{item.severity.value} {code}", style)
        yield f"{place}: {kind} {self._paint(item.name, _BOLD)}{doubt}: {one_line(item.message)}"
        source = result.sources.get(item.filename)
        if source is None or item.span == _WHOLE:
            return
        labels = [_label(item.span, "", True)]
        labels += [_label(r.span, r.message, False) for r in item.related if r.filename == item.filename]
        changes = list(_changes(source, item.fix)) if item.fix else []
        rows = [source.place(Position(label.line, 1)) for label in labels]
        numbers = [place.line for _, place in rows] + [number for number, _, _ in changes]
        gutter = len(str(max(numbers)))
        yield from self._frame(source, labels, gutter, style)
        for related in item.related:
            if related.filename != item.filename:
                where = one_line(result.spelled(related.filename, related.span.start))
                note = self._paint("note", _BOLD)
                yield f"{self._margin(gutter, '=')} {note}: {where}: {one_line(related.message)}"
        if item.fix:
            cell = source.place(item.fix.edits[0].span.start)[0] if item.fix.edits else None
            yield from self._help(item.fix, changes, gutter, "" if cell in {rows[0][0], None} else f" in cell {cell}")

    def _margin(self, gutter: int, sign: str, number: str = "") -> str:
        return self._paint(f"{number:>{gutter}} {sign}", _GUTTER)

    def _frame(self, source: Source, labels: list[Label], gutter: int, style: str) -> Iterator[str]:
        yield self._margin(gutter, "|")
        before = 0
        shown = sorted({label.line for label in labels if label.line <= source.line_count})
        places = [source.place(Position(number, 1)) for number in shown]
        last = None if len({cell for cell, _ in places}) > 1 else places[0][0] if places else None
        for number, (cell, place) in zip(shown, places, strict=True):
            if cell != last:
                last = cell
                yield self._paint(f"{'':>{gutter}} : cell {cell}", _GUTTER)
            elif before and number == before + 2:
                yield f"{self._margin(gutter, '|', str(place.line - 1))} {Row.of(source.shown(number - 1)).text}"
            elif before and number > before + 2:
                yield self._paint("...", _GUTTER)
            before = number
            here = sorted((label for label in labels if label.line == number), key=lambda label: not label.primary)
            line = source.shown(number)
            row = Row.of(line, here[0].start - 1)
            yield f"{self._margin(gutter, '|', str(place.line))} {row.text}"
            for label in here:
                end = label.end - 1 if label.end else len(line.rstrip())
                first, width = row.extent(label.start - 1, end)
                mark = self._paint(("^" if label.primary else "-") * width, style if label.primary else _SECOND)
                text = self._paint(one_line(label.text), _SECOND)
                yield f"{self._margin(gutter, '|')} {' ' * first}{mark} {text}"

    def _help(self, fix: Fix, changes: list[tuple[int, str, str]], gutter: int, where: str) -> Iterator[str]:
        safety = {
            Applicability.SAFE: "",
            Applicability.UNSAFE: " (unsafe: needs a look)",
            Applicability.DISPLAY: " (by hand)",
        }[fix.applicability]
        yield self._margin(gutter, "|")
        yield f"{self._margin(gutter, '=')} {self._paint('help', _BOLD)}: {one_line(fix.title)}{where}{safety}"
        before = 0
        for number, sign, line in changes[:_LONGEST_DIFF]:
            if before and number > before + 1:
                yield self._paint("...", _GUTTER)
            before = number
            text = self._paint(f"{sign} {Row.of(line).text}".rstrip(), _NEW if sign == "+" else _OLD)
            yield f"{self._paint(f'{number:>{gutter}}', _GUTTER)} {text}"
        if len(changes) > _LONGEST_DIFF:
            yield self._paint(f"... {len(changes) - _LONGEST_DIFF} more lines", _GUTTER)


def _label(span: Span, text: str, primary: bool) -> Label:
    end = span.end.column if span.end.line == span.start.line else None
    return Label(span.start.line, span.start.column, end, text, primary)


def _changes(source: Source, fix: Fix) -> Iterator[tuple[int, str, str]]:
    """Yield the lines that a fix takes out and puts in, each with its number in the old or the new text, in a
    notebook in the cell."""
    first_line = fix.edits[0].span.start if fix.edits else Position(1, 1)
    moved = 0
    above = first_line.line - source.place(first_line)[1].line
    for group in _neighbours(fix):
        mended = source.with_text(fixes.apply(source, [Fix(fix.title, fix.applicability, tuple(group))]))
        first = min(edit.span.start.line for edit in group)
        last = max(edit.span.end.line for edit in group)
        more = mended.line_count - source.line_count
        old = [source.line(number) for number in range(first, last + 1)]
        new = [mended.line(number) for number in range(first, last + more + 1)]
        for tag, old_start, old_end, new_start, new_end in SequenceMatcher(
            None, old, new, autojunk=False
        ).get_opcodes():
            if tag != "equal":
                yield from ((first - above + n, "-", old[n]) for n in range(old_start, old_end))
                yield from ((first - above + moved + n, "+", new[n]) for n in range(new_start, new_end))
        moved += more


def _neighbours(fix: Fix) -> Iterator[list[Edit]]:
    """Yield the edits in groups that touch the same or adjoining lines."""
    group: list[Edit] = []
    for edit in sorted(fix.edits, key=lambda edit: edit.span):
        if group and edit.span.start.line > max(other.span.end.line for other in group) + 1:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group
