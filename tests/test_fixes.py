"""Edits on a text, and the rounds of fixing, with a made-up analysis in the place of the tape."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import permutations

import pytest

from adlint import fixes, linter
from adlint.config import Settings
from adlint.diagnostics import Applicability, Certainty, Diagnostic, Edit, Fix, Position, Severity
from adlint.source import Source


def edit(source: Source, start: int, end: int, content: str) -> Edit:
    return Edit(source.span(start, end), content)


def fix_of(*edits: Edit, safety: Applicability = Applicability.SAFE) -> Fix:
    return Fix("mend it", safety, edits)


def test_edits_are_made_together() -> None:
    """Applies several fixes, whatever their order."""
    source = Source("x.py", "one two three")
    made = [fix_of(edit(source, 0, 3, "1"), edit(source, 8, 13, "3")), fix_of(edit(source, 4, 7, "2"))]
    assert {"1 2 3"} == {fixes.apply(source, list(order)) for order in permutations(made)}


def test_the_same_edit_is_made_once() -> None:
    """Lets fixes share a missing import."""
    source = Source("x.py", "a\nb\n")
    made = [fix_of(edit(source, 0, 0, "import c\n"), edit(source, at, at + 1, "c")) for at in (0, 2)]
    assert made[:1] == fixes.choose(source, made)  # an insertion and a replacement begin at one place
    apart = [fix_of(edit(source, 0, 0, "import c\n"), edit(source, at, at, "!")) for at in (1, 3)]
    assert apart == fixes.choose(source, apart)
    assert "import c\na!\nb!\n" == fixes.apply(source, apart)


@pytest.mark.parametrize(("first", "second"), [((0, 3), (2, 4)), ((1, 3), (2, 2)), ((2, 2), (2, 2)), ((0, 4), (1, 2))])
def test_overlapping_fixes_wait(first: tuple[int, int], second: tuple[int, int]) -> None:
    """Takes the first of two fixes that touch the same text."""
    source = Source("x.py", "abcdef")
    made = [fix_of(edit(source, *first, "X")), fix_of(edit(source, *second, "Y"))]
    assert made[:1] == fixes.choose(source, made)


def test_insertions_of_one_fix_keep_their_order() -> None:
    """Puts the first of two insertions at one place first."""
    source = Source("x.py", "ab")
    assert "a12b" == fixes.apply(source, [fix_of(edit(source, 1, 1, "1"), edit(source, 1, 1, "2"))])


def test_places_move_with_the_text() -> None:
    """Says where a place has gone, unless it was replaced."""
    source = Source("x.py", "one two\nthree")
    made = [fix_of(edit(source, 0, 3, "1\n"), edit(source, 8, 8, "!"))]
    mended = source.with_text(fixes.apply(source, made))
    moved = fixes.shift(source, mended, made)
    assert None is moved(Position(1, 2))
    assert [Position(2, 2), Position(3, 2)] == [moved(Position(1, 5)), moved(Position(2, 1))]


def findings(source: Source, mend: dict[str, str], safety: Applicability) -> list[Diagnostic]:
    """Report each word of `mend`; its fix puts the other word there."""
    found = []
    for word, better in mend.items():
        for place in re.finditer(rf"\b{word}\b", source.text):
            span = source.span(*place.span())
            mended = Fix("mend it", safety, (Edit(span, better),))
            found.append(
                Diagnostic(
                    "AD101", "double-backward", word, Severity.ERROR, Certainty.DEFINITE, "x.py", span, (), mended
                )
            )
    return found


def fixed(
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    mend: dict[str, str],
    *,
    safety: Applicability = Applicability.SAFE,
    unsafe: bool = False,
) -> tuple[str, int, int]:
    monkeypatch.setattr(linter, "_analyse", lambda source, *_: findings(source, mend, safety))
    result = linter.fix(Source("x.py", "import torch  # backward\n" + text), Settings(), unsafe)
    return result.text.partition("\n")[2], len(result.applied), len(result.remaining)


def test_all_findings_are_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Applies what goes together and goes on with the rest."""
    assert ("good\ngood\n", 2, 0) == fixed(monkeypatch, "bad\nbad\n", {"bad": "good"})
    assert ("good.good\n", 2, 0) == fixed(
        monkeypatch, "bad.awful\n", {"bad": "good", "awful": "good", "bad.awful": "x.y"}
    )


def test_a_fix_that_only_moves_its_finding_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not run in circles."""
    assert ("bad\n", 0, 1) == fixed(monkeypatch, "bad\n", {"bad": "worse", "worse": "bad"})


def test_a_fix_that_breaks_the_text_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the text as it is, and still makes the other fixes."""
    assert ("bad\ngood\n", 1, 1) == fixed(monkeypatch, "bad\nawful\n", {"bad": "if", "awful": "good"})


def test_a_fix_that_does_not_help_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves a text whose finding would still be there."""
    assert ("bad\ngood\n", 1, 1) == fixed(monkeypatch, "bad\nawful\n", {"bad": "(bad)", "awful": "good"})


def test_a_fix_that_brings_findings_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not trade one finding for two."""
    mend = {"bad": "awful, awful", "awful": "(awful)"}
    assert ("bad\n", 0, 1) == fixed(monkeypatch, "bad\n", mend)


def test_a_fix_that_mends_another_finding_is_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at the finding that was to be mended, not at the number of findings."""

    def analyse(source: Source, *_: object) -> list[Diagnostic]:
        found = findings(source, {"one": "1", "two": "2"}, Applicability.SAFE)
        return [replace(item, fix=found[-1].fix if number == 0 else None) for number, item in enumerate(found)]

    monkeypatch.setattr(linter, "_analyse", analyse)
    text = "import torch  # backward\none, two\n"
    result = linter.fix(Source("x.py", text), Settings())
    assert (text, 0, 2) == (result.text, len(result.applied), len(result.remaining))


def test_one_fix_that_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the fixes one by one where they cannot be made together."""
    mend = {"awful": "good", "bad": "if", "worse": "fine"}
    assert ("good\nbad\nfine\n", 2, 1) == fixed(monkeypatch, "awful\nbad\nworse\n", mend)


def test_rounds_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stops after so many rounds, with what is mended until then."""

    def analyse(source: Source, *_: object) -> list[Diagnostic]:
        top = source.span(0, 0)
        return [
            replace(item, fix=Fix("mend it", Applicability.SAFE, (*item.fix.edits, Edit(top, f"# {item.message}\n"))))
            for item in findings(source, {f"bad{number}": "good" for number in range(20)}, Applicability.SAFE)
            if item.fix and f"# {item.message}\n" not in source.text
        ]

    monkeypatch.setattr(linter, "_analyse", analyse)
    text = "import torch  # backward\n" + "".join(f"bad{number}\n" for number in range(12))
    result = linter.fix(Source("x.py", text), Settings())
    assert (linter.ROUNDS, 12 - linter.ROUNDS) == (len(result.applied), len(result.remaining))
    assert result.text.count("good\n") == linter.ROUNDS


def test_unsafe_fixes_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Applies unsafe fixes on request and fixes for display never."""
    mend = {"bad": "good"}
    assert ("bad\n", 0, 1) == fixed(monkeypatch, "bad\n", mend, safety=Applicability.UNSAFE)
    assert ("good\n", 1, 0) == fixed(monkeypatch, "bad\n", mend, safety=Applicability.UNSAFE, unsafe=True)
    assert ("bad\n", 0, 1) == fixed(monkeypatch, "bad\n", mend, safety=Applicability.DISPLAY, unsafe=True)
