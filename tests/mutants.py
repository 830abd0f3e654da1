"""Fixture programs with lines and tokens taken out, doubled, swapped, or put in from another program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

PARTS = re.compile(r"\r\n|\n[ \t]*|[ \t]+|\w+|'''|\"\"\"|[^\w\s]|\s")


class Cut(NamedTuple):
    """One change. The numbers choose among the parts of the text whatever its length."""

    kind: str
    by_lines: bool
    at: int
    other: int
    count: int


KINDS = ("delete", "double", "swap", "splice", "replace", "cut", "indent")


def mutant(text: str, donor: str, cuts: Iterable[Cut]) -> str:
    """Return a text after some changes; what is put in comes from the donor."""
    for cut in cuts:
        split = _lines if cut.by_lines else PARTS.findall
        text = "".join(_changed(split(text), split(donor), cut))
    return text


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _changed(parts: Sequence[str], donor: Sequence[str], cut: Cut) -> list[str]:
    if not parts or not donor:
        return [*parts, *donor]
    at, other, there = cut.at % len(parts), cut.other % len(parts), cut.other % len(donor)
    end = at + cut.count
    given = donor[there : there + cut.count]
    if cut.kind == "delete":
        return [*parts[:at], *parts[end:]]
    if cut.kind == "double":
        return [*parts[:end], *parts[at:]]
    if cut.kind == "swap":
        swapped = list(parts)
        swapped[at], swapped[other] = swapped[other], swapped[at]
        return swapped
    if cut.kind == "splice":
        return [*parts[:at], *given, *parts[at:]]
    if cut.kind == "replace":
        return [*parts[:at], *given, *parts[end:]]
    if cut.kind == "indent":
        return [*parts[:at], *("    " + part for part in parts[at:end]), *parts[end:]]
    return list(parts[:at])
