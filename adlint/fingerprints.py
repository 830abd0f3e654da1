"""What makes a finding the same one after the file has changed elsewhere: its rule, its line, where that stands.

The number of the line is no part of it, nor the file's name: a finding keeps its fingerprint when lines come or go
above it and when its file is moved. Reads no files, prints nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

from adlint.diagnostics import Diagnostic
from adlint.source import Source

_HEADER = re.compile(r"(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")


def fingerprints(findings: Sequence[Diagnostic], sources: Mapping[str, Source]) -> list[str]:
    """Return the fingerprint of each finding, in their order; within a file each is different.

    It is a hash of the rule's name, the text of the finding's line, the names of the functions and classes around it,
    and how many findings of the same rule, text and surroundings stand above it. Where the source is not known, the
    message, without its numbers, stands for the line.
    """
    enclosing = lru_cache(maxsize=None)(lambda filename: _enclosing(sources[filename]))
    parts: list[tuple[str, ...]] = []
    for item in findings:
        source, line = sources.get(item.filename), item.span.start.line
        if source is None or line > source.line_count:
            parts.append((item.filename, item.name, "", re.sub(r"\d+", "", item.message)))
        else:
            words = " ".join(source.line(line).split())
            parts.append((item.filename, item.name, words, *enclosing(item.filename)[line - 1]))
    result = [""] * len(findings)
    seen: Counter[tuple[str, ...]] = Counter()
    for number in sorted(range(len(findings)), key=lambda number: findings[number].span):
        part = parts[number]
        text = repr((*part[1:], seen[part]))
        result[number] = blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()
        seen[part] += 1
    return result


def _enclosing(source: Source) -> list[tuple[str, ...]]:
    """Return for each line the names of the functions and classes that it is indented below."""
    result: list[tuple[str, ...]] = []
    around: list[tuple[int, str]] = []
    for number in range(1, source.line_count + 1):
        line = source.line(number)
        text = line.lstrip(" \t\f")
        if text and text[0] not in "#)]}":  # these may stand further left than the block that they are in
            indent = len(line) - len(text)
            while around and around[-1][0] >= indent:
                around.pop()
        result.append(tuple(name for _, name in around))
        if found := _HEADER.match(text):
            around.append((len(line) - len(text), found[1]))
    return result
