"""Findings → what an editor is sent: diagnostics, edits, the text about a suppression. Plain data in, JSON out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from adlint import suppressions
from adlint.catalog import load
from adlint.config import Settings
from adlint.diagnostics import Certainty, Diagnostic, Position, Severity, Span
from adlint.explanation import explanation
from adlint.linter import FAILED, UNREADABLE
from adlint.server.texts import Buffer, Text
from adlint.server.units import Json, Units
from adlint.source import Source

_LEVELS = {Severity.ERROR: 1, Severity.WARNING: 2, Severity.INFO: 3}
Uri = Callable[[str], str]
Lines = Callable[[str], "Source | None"]


@dataclass(frozen=True)
class Analysis:
    """What was found in a buffer, the files that this depends on, and what was found when it could last be read."""

    buffer: Buffer
    settings: Settings
    findings: tuple[Diagnostic, ...] = ()
    read: frozenset[str] = frozenset()
    kept: tuple[Diagnostic, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether the text cannot be read, as often while somebody types."""
        return any(item.name in (UNREADABLE, FAILED) for item in self.findings) and self.buffer.cells is None


@dataclass(frozen=True)
class Wording:
    """How one editor wants to be told: its units, its places of other files, and what it understands."""

    units: Units
    uri: Uri
    source: Lines
    related: bool = True
    versioned: bool = True

    def diagnostics(self, analysis: Analysis) -> dict[str, list[Json]]:
        """Return the diagnostics of each text of a buffer, by its URI."""
        buffer = analysis.buffer
        found: dict[str, list[Json]] = {text.uri: [] for _, text in buffer.texts}
        for item in (*analysis.findings, *analysis.kept):
            found[buffer.at(item.span.start.line)[0].uri].append(self.diagnostic(item, buffer))
        return found

    def diagnostic(self, item: Diagnostic, buffer: Buffer) -> Json:
        """Return one finding; its fix travels with it."""
        text, place = buffer.located(item.span, self.units)
        doubt = "" if item.certainty is Certainty.DEFINITE else " (possible)"
        result: Json = {
            "range": place,
            "severity": _LEVELS[item.severity],
            "code": item.code,
            "codeDescription": {"href": item.url},
            "source": "adlint",
            "message": f"{item.name}{doubt}: {item.message}",
        }
        if self.related and item.related:
            result["relatedInformation"] = list(self._related(item, buffer))
        fix = item.fix
        if fix and fix.edits:
            edits = [{"uri": t.uri, **edit} for t, edit in buffer.placed(fix.edits, self.units)]
            result["data"] = {
                "version": text.version,
                "title": fix.title,
                "applicability": fix.applicability.value,
                "edits": edits,
            }
        return result

    def _related(self, item: Diagnostic, buffer: Buffer) -> Iterator[Json]:
        for related in item.related:
            if related.filename == buffer.source.filename:
                text, place = buffer.located(related.span, self.units)
                uri = text.uri
            else:
                source = self.source(related.filename)
                uri = self.uri(related.filename)
                start = {"line": related.span.start.line - 1, "character": 0}
                place = self.units.span_out(source, related.span) if source else {"start": start, "end": start}
            yield {"location": {"uri": uri, "range": place}, "message": related.message}

    def mending(self, buffer: Buffer, program: str) -> Json | None:
        """Return the edit that makes another program of a buffer, None if it is the same."""
        return self._edit(buffer.mended(program, self.units))

    def silencing(self, analysis: Analysis, item: Diagnostic) -> Json | None:
        """Return the edit that silences a finding by a comment, None where there is no place for one."""
        edit = suppressions.silencing(analysis.buffer.source, item)
        placed = analysis.buffer.placed([edit] if edit else [], self.units)
        return self._edit([(text, [given]) for text, given in placed])

    def _edit(self, changed: Sequence[tuple[Text, list[Json]]]) -> Json | None:
        """Bind edits to the versions of the texts that they were made for, if the editor knows how."""
        if not changed:
            return None
        if not self.versioned:
            return {"changes": {text.uri: edits for text, edits in changed}}
        return {
            "documentChanges": [
                {"textDocument": {"uri": text.uri, "version": text.version}, "edits": edits} for text, edits in changed
            ]
        }


def kept(before: Analysis, now: Buffer, why: str) -> tuple[Diagnostic, ...]:
    """Return what was found before in lines that a text still has, at their new places, without fixes.

    Their messages say why they are not of this text.
    """
    found = before.kept or (() if before.broken else before.findings)
    old, new = before.buffer.texts[0][1].bare, now.texts[0][1].bare
    shortest = min(len(old), len(new))
    head = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    tail = next((n for n in range(shortest - head) if old[-1 - n] != new[-1 - n]), shortest - head)
    border, by = len(old) - tail, len(new) - len(old)

    def moved(span: Span) -> Span | None:
        if span.end.line <= head:
            return span
        if span.start.line <= border:
            return None
        start, end = (Position(place.line + by, place.column) for place in (span.start, span.end))
        return Span(start, end)

    result = []
    for item in found:
        span = moved(item.span)
        if span is None:
            continue
        related = [
            r if r.filename != item.filename else replace(r, span=place)
            for r in item.related
            if (place := moved(r.span)) is not None
        ]
        note = item.message if before.kept else f"{item.message} ({why})"
        result.append(replace(item, span=span, message=note, related=tuple(related), fix=None))
    return tuple(result)


def hover(buffer: Buffer, place: Position, units: Units) -> Json | None:
    """Return the text about the suppression comment at a place."""
    source = buffer.source
    offset = source.offset(place)
    catalog = load()
    for item in suppressions.find(source, findings=True):
        if not item.start <= offset <= item.end:
            continue
        words = [(word, at) for word, at in item.codes if at <= offset <= at + len(word)] or list(item.codes)
        shown = []
        for word, _ in words:
            try:
                shown.append(explanation(catalog.rule(word), catalog))
            except KeyError:
                shown.append(f"adlint has no rule `{word}`.")
        reach = "in this file" if item.verb == "ignore-file" else "in this statement"
        value = "\n\n---\n\n".join(shown) or f"Silences every rule of adlint {reach}."
        start, end = (words[0][1], words[-1][1] + len(words[-1][0])) if words else (item.start, item.end)
        _, given = buffer.located(source.span(start, end), units)
        return {"contents": {"kind": "markdown", "value": value}, "range": given}
    return None
