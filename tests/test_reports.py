"""What the reports look like."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from adlint.diagnostics import (
    Applicability,
    Certainty,
    Diagnostic,
    Edit,
    Fix,
    Position,
    Related,
    Severity,
    Span,
)
from adlint.reports import Result, renderer
from adlint.reports.frames import WIDTH, Row
from adlint.source import Source

TEXT = """\
for x, y in data:
\tloss = crit(模型(x), y)
\tloss.backward()
\tclip(model)
\tlog(loss)
\tloss.backward()  # again
"""


def span(source: Source, word: str, number: int = 0) -> Span:
    start = -1
    for _ in range(number + 1):
        start = source.text.index(word, start + 1)
    return source.span(start, start + len(word))


def finding(source: Source, *, mend: bool = True) -> Diagnostic:
    line = Span(Position(6, 1), Position(7, 1))
    return Diagnostic(
        code="AD101",
        name="double-backward",
        message="`loss` is backpropagated again",
        severity=Severity.ERROR,
        certainty=Certainty.DEFINITE,
        filename=source.filename,
        span=span(source, "loss.backward()", 1),
        related=(
            Related("recorded here", source.filename, span(source, "crit(模型(x), y)")),
            Related("freed here", source.filename, span(source, "loss.backward()")),
            Related("defined here", "nets.py", Span(Position(3, 1), Position(3, 9))),
        ),
        fix=Fix("drop the repeat", Applicability.SAFE, (Edit(line, ""),)) if mend else None,
    )


@pytest.fixture
def result() -> Result:
    source = Source("train.py", TEXT)
    return Result((finding(source),), {"train.py": source})


def test_text(result: Result) -> None:
    """Shows the lines that a finding is about, labelled, and what would mend it."""
    assert renderer("text")(result) == (
        "train.py:6:2: error AD101 double-backward: `loss` is backpropagated again\n"
        "  |\n"
        "2 |     loss = crit(模型(x), y)\n"
        "  |            ---------------- recorded here\n"
        "3 |     loss.backward()\n"
        "  |     --------------- freed here\n"
        "...\n"
        "6 |     loss.backward()  # again\n"
        "  |     ^^^^^^^^^^^^^^^\n"
        "  = note: nets.py:3:1: defined here\n"
        "  |\n"
        "  = help: drop the repeat\n"
        "6 -     loss.backward()  # again\n"
        "\n"
        "Found 1 error (1 fixable with --fix).\n"
    )


def test_concise(result: Result) -> None:
    """Gives a line to each finding."""
    assert renderer("concise")(result) == (
        "train.py:6:2: error AD101 double-backward: `loss` is backpropagated again\n"
        "Found 1 error (1 fixable with --fix).\n"
    )


def test_json(result: Result) -> None:
    """Has the promised shape, key by key."""
    assert json.loads(renderer("json")(result)) == [
        {
            "code": "AD101",
            "name": "double-backward",
            "message": "`loss` is backpropagated again",
            "severity": "error",
            "certainty": "definite",
            "filename": "train.py",
            "location": {"row": 6, "column": 2},
            "end_location": {"row": 6, "column": 17},
            "related": [
                {
                    "message": "recorded here",
                    "filename": "train.py",
                    "location": {"row": 2, "column": 9},
                    "end_location": {"row": 2, "column": 23},
                },
                {
                    "message": "freed here",
                    "filename": "train.py",
                    "location": {"row": 3, "column": 2},
                    "end_location": {"row": 3, "column": 17},
                },
                {
                    "message": "defined here",
                    "filename": "nets.py",
                    "location": {"row": 3, "column": 1},
                    "end_location": {"row": 3, "column": 9},
                },
            ],
            "fix": {
                "message": "drop the repeat",
                "applicability": "safe",
                "edits": [
                    {"content": "", "location": {"row": 6, "column": 1}, "end_location": {"row": 7, "column": 1}},
                ],
            },
            "url": "https://adlint.readthedocs.io/rules/double-backward",
        }
    ]
    bare = Result((finding(Source("train.py", TEXT), mend=False),))
    assert json.loads(renderer("json")(bare))[0]["fix"] is None


def test_nothing_found() -> None:
    """Says so, unless a program reads it or it was asked to be quiet."""
    for name in ("text", "concise", "grouped", "markdown"):
        assert renderer(name)(Result(())).endswith("All checks passed!\n")
        assert "" == renderer(name)(Result((), summary=False))
    for summary in (True, False):
        empty = Result((), summary=summary)
        assert ["[]\n", "[]\n", "", ""] == [
            renderer(name)(empty) for name in ("json", "gitlab", "json-lines", "github")
        ]
        assert [] == json.loads(renderer("rdjson")(empty))["diagnostics"]
        assert [] == json.loads(renderer("sarif")(empty))["runs"][0]["results"]


def test_the_summary_counts() -> None:
    """Counts severities, ways of mending, and what was mended."""
    source = Source("train.py", TEXT)
    error = finding(source)
    warning = Diagnostic(
        "AD301", "x", "y", Severity.WARNING, Certainty.DEFINITE, "train.py", error.span, (),
        Fix("look", Applicability.UNSAFE, (Edit(error.span, ""),)),
    )  # fmt: skip
    shown = renderer("concise")(Result((error, error, warning), fixed=4)).splitlines()[-1]
    assert "Fixed 4 problems. Found 2 errors and 1 warning (2 fixable with --fix, 1 with --unsafe-fixes)." == shown
    only = renderer("concise")(Result((warning,))).splitlines()[-1]
    assert "Found 1 warning (1 fixable with --unsafe-fixes)." == only
    assert "Fixed 1 problem.\n" == renderer("concise")(Result((), fixed=1))


def test_colours_change_nothing_but_the_colours(result: Result) -> None:
    """Is the same text once the escapes are taken out."""
    import re

    coloured = renderer("text")(Result(result.diagnostics, result.sources, color=True))
    assert "\x1b[1;31merror AD101\x1b[0m" in coloured
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == renderer("text")(result).splitlines()


def test_nothing_in_a_file_reaches_the_terminal() -> None:
    """Replaces control and direction characters, in lines, names and messages."""
    source = Source("a\x1b[2J.py", "x = '\x1b[2J\u202e'\n")
    item = Diagnostic(
        "AD101", "x", "a \x07", Severity.ERROR, Certainty.DEFINITE, source.filename, span(source, "x")
    )  # fmt: skip
    shown = renderer("text")(Result((item,), {source.filename: source}))
    assert not set("\x1b\x07\u202e") & set(shown)


def test_a_finding_without_its_source_is_a_line() -> None:
    """Shows the header if the lines cannot be had."""
    source = Source("train.py", TEXT)
    assert 2 == len(renderer("text")(Result((finding(source),), summary=False)).splitlines()) + 1


@pytest.mark.parametrize(
    ("line", "extent"),
    [
        ("ab|cd|e", (2, 2)),
        ("\ta|b|", (5, 1)),
        ("日本|語|", (4, 2)),
        ("e\u0301|x|", (1, 1)),
        ("a||", (1, 1)),
        ("ab\t|c|", (4, 1)),
    ],
)
def test_labels_stand_under_their_text(line: str, extent: tuple[int, int]) -> None:
    """Counts cells, not characters."""
    start, end = line.index("|"), line.rindex("|") - 1
    assert extent == Row.of(line.replace("|", "")).extent(start, end)


def test_long_lines_are_cut_around_the_label() -> None:
    """Keeps the label in sight."""
    line = "a" * 1000 + "BAD" + "z" * 1000
    row = Row.of(line, 1000)
    first, width = row.extent(1000, 1003)
    assert ("BAD", True) == (row.text[first : first + width], len(row.text) <= WIDTH + 2)
    first, width = Row.of(line, 1000).extent(1000, 2003)
    assert first + width <= WIDTH + 2


def test_lines_in_between() -> None:
    """Shows a line between two labels, and leaves out more than one."""
    source = Source("train.py", "".join(f"line{number}\n" for number in range(1, 9)))
    item = replace(
        finding(Source("train.py", TEXT), mend=False),
        span=span(source, "line1"),
        related=tuple(Related("here", "train.py", span(source, word)) for word in ("line3", "line4", "line7")),
    )
    assert renderer("text")(Result((item,), {"train.py": source}, summary=False)).splitlines()[1:] == [
        "  |",
        "1 | line1",
        "  | ^^^^^",
        "2 | line2",
        "3 | line3",
        "  | ----- here",
        "4 | line4",
        "  | ----- here",
        "...",
        "7 | line7",
        "  | ----- here",
    ]


def test_changes_far_from_one_another() -> None:
    """Shows each place that a fix changes, with the numbers of the new text behind the first."""
    source = Source("train.py", "".join(f"line{number}\n" for number in range(1, 9)))
    edits = (
        Edit(Span(Position(1, 1), Position(1, 1)), "new\n"),
        Edit(Span(Position(2, 5), Position(2, 6)), "two"),
        Edit(Span(Position(6, 1), Position(7, 1)), ""),
    )
    item = replace(
        finding(Source("train.py", TEXT)),
        span=span(source, "line1"),
        related=(),
        fix=Fix("x", Applicability.UNSAFE, edits),
    )
    assert renderer("text")(Result((item,), {"train.py": source}, summary=False)).splitlines()[4:] == [
        "  |",
        "  = help: x (unsafe: needs a look)",
        "1 + new",
        "2 - line2",
        "3 + linetwo",
        "...",
        "6 - line6",
    ]


def test_long_fixes_are_cut() -> None:
    """Shows the first lines of a fix and counts the others."""
    source = Source("train.py", "x\n")
    edit = Edit(Span(Position(1, 1), Position(1, 1)), "".join(f"y{number}\n" for number in range(20)))
    item = replace(
        finding(Source("train.py", TEXT)), span=span(source, "x"), related=(), fix=Fix("x", Applicability.SAFE, (edit,))
    )
    shown = renderer("text")(Result((item,), {"train.py": source}, summary=False)).splitlines()
    assert [line.split()[-1] for line in shown if "+ y" in line] == [f"y{number}" for number in range(16)]
    assert shown[-1] == "... 4 more lines"


def test_a_fix_without_edits_is_advice() -> None:
    """Shows what to do, and no lines."""
    source = Source("train.py", TEXT)
    item = replace(finding(source), related=(), fix=Fix("choose one", Applicability.DISPLAY, ()))
    shown = renderer("text")(Result((item,), {"train.py": source}, summary=False))
    assert shown.endswith("  |     ^^^^^^^^^^^^^^^\n  |\n  = help: choose one (by hand)\n")
