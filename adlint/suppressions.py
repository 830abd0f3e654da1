"""Comments that silence findings: found in a Source, matched with Diagnostics, reported when they silence nothing.

    loss.backward()  # adlint: ignore[double-backward, AD201]   this line, or the statement that begins or ends on it
    loss.backward()  # adlint: ignore                           every rule
    # adlint: ignore-file[missing-zero-grad]                    above the first statement: the whole file
    loss.backward()  # noqa: AD201                              as other linters write it

Comments are found by Python's tokenizer, so text in strings is never one. Reads no files, prints nothing.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from adlint.catalog import load
from adlint.diagnostics import Applicability, Certainty, Diagnostic, Edit, Fix, Position
from adlint.source import Source

NAME = "unused-suppression"

_OURS = re.compile(r"#\s*adlint\s*:\s*(?P<verb>[\w-]*)[ \t]*(?P<list>\[(?P<codes>[^\]#]*)\])?(?P<rest>[^#]*)")
_NOQA = re.compile(r"#\s*noqa\b(?P<list>\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.I)
_WORD = re.compile(r"[^\s,]+")
_CODE = re.compile(r"AD\d+")
_LAYOUT = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.COMMENT)


@dataclass(frozen=True)
class Suppression:
    """One directive. `codes` are the words it lists, each with its place; none of them means every rule."""

    verb: str
    codes: tuple[tuple[str, int], ...]
    start: int
    end: int
    lines: frozenset[int]
    in_head: bool

    @property
    def words(self) -> list[str | None]:
        """The words that it lists, or a None that stands for every rule."""
        return [word for word, _ in self.codes] if self.codes else [None]

    @property
    def effective(self) -> bool:
        """Whether it can silence anything where it stands."""
        return self.verb in ("ignore", "noqa") or (self.verb == "ignore-file" and self.in_head)

    def covers(self, diagnostic: Diagnostic, code: str | None) -> bool:
        """Whether it silences a finding, by a word that it lists or, for None, by listing none."""
        if not self.effective or (code is not None and code not in (diagnostic.code, diagnostic.name)):
            return False
        return self.verb == "ignore-file" or diagnostic.span.start.line in self.lines


def find(source: Source, findings: bool) -> list[Suppression]:
    """Return the directives of a text, in their order; without findings, other tools' comments do not matter."""
    text = source.text
    theirs = ("noqa" in text or "NOQA" in text) and (findings or _CODE.search(text))
    if not theirs and "adlint" not in text:
        return []
    comments, statements, head = _layout(source)
    result = []
    for line, column in comments:
        start = source.offset(Position(line, column))
        text = source.line(line)[column - 1 :]
        held = next(((first, last) for first, last in statements if first <= line <= last), (line, line))
        lines = frozenset(range(held[0], held[1] + 1) if line in held else (line,))
        for found in (*_OURS.finditer(text), *_NOQA.finditer(text)):
            ours = "verb" in found.re.groupindex
            verb = found["verb"].lower() if ours else "noqa"
            listed = found["list"] is not None
            at = start + found.start("codes") if listed else 0
            codes = tuple((word[0], at + word.start()) for word in _WORD.finditer(found["codes"])) if listed else ()
            if listed and not codes:
                verb += "[]"
            end = start + found.start() + len(found[0].rstrip())
            result.append(Suppression(verb, codes, start + found.start(), end, lines, line < head))
    return result


def _layout(source: Source) -> tuple[list[tuple[int, int]], list[tuple[int, int]], int]:
    """Return where comments begin, the lines of multi-line statements (of blocks, the headers), the first code line."""
    comments: list[tuple[int, int]] = []
    statements: list[tuple[int, int]] = []
    head = source.line_count + 1
    first = 0
    lines = (source.line(number) + "\n" for number in range(1, source.line_count + 1))
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT:
                comments.append((token.start[0], token.start[1] + 1))
            elif token.type == tokenize.NEWLINE:
                if first and first < token.start[0]:
                    statements.append((first, token.start[0]))
                first = 0
            elif token.type not in _LAYOUT and token.type != tokenize.ENDMARKER and not first:
                first = token.start[0]
                head = min(head, first)
    except (tokenize.TokenError, SyntaxError):
        pass
    return comments, statements, head


def apply(
    suppressions: Sequence[Suppression], findings: Iterable[Diagnostic]
) -> tuple[list[Diagnostic], set[tuple[Suppression, str | None]]]:
    """Return the findings that no directive silences, and the directives, word by word, that silence something."""
    left: list[Diagnostic] = []
    used: set[tuple[Suppression, str | None]] = set()
    for finding in findings:
        hits = {(item, code) for item in suppressions for code in item.words if item.covers(finding, code)}
        used |= hits
        if not hits:
            left.append(finding)
    return left, used


def unused(
    source: Source,
    suppressions: Sequence[Suppression],
    used: set[tuple[Suppression, str | None]],
    enabled: Container[str],
    *,
    complete: bool,
) -> Iterator[Diagnostic]:
    """Report directives that silence nothing.

    Only enabled rules are judged, directives for every rule only if all are (`complete`), and of other tools' comments
    only our codes.
    """
    rule = load().rules[NAME]
    for item in suppressions:
        if item.verb not in ("ignore", "ignore-file", "noqa"):
            yield _report(source, item, rule.messages["unknown-directive"].format(verb=item.verb), None)
        elif not item.effective:
            yield _report(source, item, rule.messages["below-code"], None)
        elif item.codes:
            for kind, words in _idle_words(item, used, enabled).items():
                message = rule.messages[kind].format(words=", ".join(f"`{word}`" for word in words))
                yield _report(source, item, message, _without(source, item, words))
        elif complete and item.verb != "noqa" and (item, None) not in used:
            yield _report(source, item, rule.message, _without(source, item, ()))


def _idle_words(
    item: Suppression, used: set[tuple[Suppression, str | None]], enabled: Container[str]
) -> dict[str, list[str]]:
    """Return the words that silence nothing, under the name of the message that says why."""
    idle: dict[str, list[str]] = {}
    for word in dict.fromkeys(word for word, _ in item.codes):
        if item.verb == "noqa" and not _CODE.fullmatch(word):
            continue
        try:
            rule = load().rule(word)
        except KeyError:
            idle.setdefault("unknown-rule", []).append(word)
            continue
        if (item, word) not in used and rule.name in enabled:
            idle.setdefault("words", []).append(word)
    return idle


def _report(source: Source, item: Suppression, message: str, fix: Fix | None) -> Diagnostic:
    rule = load().rules[NAME]
    return Diagnostic(
        code=rule.id,
        name=rule.name,
        message=message,
        severity=rule.severity,
        certainty=Certainty.DEFINITE,
        filename=source.filename,
        span=source.span(item.start, item.end),
        fix=fix,
        url=rule.url,
    )


def _without(source: Source, item: Suppression, words: Container[str]) -> Fix:
    """Return the fix that takes out those words, or the whole directive if none is left."""
    edit = _removal(source, item, words)
    return Fix(load().rules[NAME].fix_title or "", Applicability.SAFE, (edit,))


def _removal(source: Source, item: Suppression, words: Container[str]) -> Edit:
    kept = [word for word, _ in item.codes if word not in words]
    if kept:
        first, last = item.codes[0][1], item.codes[-1][1] + len(item.codes[-1][0])
        return Edit(source.span(first, last), ", ".join(kept))
    start, end = item.start, item.end
    place = source.position(start)
    line = source.line(place.line)
    begin, stop = source.offset(Position(place.line, 1)), source.offset(Position(place.line, len(line) + 1))
    before, after = source.text[begin:start], source.text[end:stop]
    if after.strip():
        end += len(after) - len(after.lstrip())
        if not after.lstrip().startswith("#"):
            return Edit(source.span(start, end), "# ")
    elif before.strip():
        start, end = begin + len(before.rstrip()), stop
    else:
        start, end = begin, source.offset(Position(place.line + 1, 1))
    return Edit(source.span(start, end), "")
