"""Comments that silence findings, with a made-up analysis in the place of the tape."""

from __future__ import annotations

import re

import pytest

from adlint import linter
from adlint.config import Settings
from adlint.diagnostics import Certainty, Diagnostic, Severity
from adlint.source import Source

HEAD = "import torch  # backward\n"


def findings(source: Source) -> list[Diagnostic]:
    """Report AD101 at each `bad`, AD201 at each `awful`, and AD102, as possible, at each `perhaps`."""
    words = {
        "bad": ("AD101", "double-backward", Certainty.DEFINITE),
        "awful": ("AD201", "missing-zero-grad", Certainty.DEFINITE),
        "perhaps": ("AD102", "shared-backward", Certainty.POSSIBLE),
    }
    return [
        Diagnostic(code, name, "wrong", Severity.ERROR, certainty, "x.py", source.span(*place.span()))
        for word, (code, name, certainty) in words.items()
        for place in re.finditer(rf"\b{word}\b", source.text)
    ]


@pytest.fixture(autouse=True)
def _made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linter, "_analyse", lambda source, *_: findings(source))


def lint(text: str, **settings: object) -> list[tuple[int, str]]:
    """Return line, counted below the head, and code of what is reported."""
    found = linter.lint(Source("x.py", HEAD + text), Settings(**settings))  # type: ignore[arg-type]
    return [(item.span.start.line - 1, item.code) for item in found]


@pytest.mark.parametrize(
    "text",
    [
        "bad  # adlint: ignore",
        "bad  # adlint: ignore -- the graph is retained elsewhere",
        "bad  # adlint: ignore[double-backward]",
        "bad  # adlint: ignore[AD101]",
        "bad  # adlint:ignore[ AD101 ]",
        "bad  # NOQA:AD101",
        "bad, awful  # adlint: ignore[double-backward, AD201]",
        "bad, awful  # adlint: ignore[double-backward]  # adlint: ignore[AD201]",
        "bad  # type: ignore  # adlint: ignore[AD101]  # pragma: no cover",
        "bad  # noqa",
        "bad  # noqa: AD101",
        "bad  # noqa: E501, AD101",
        "bad  # noqa:AD101 E501",
        "f(\n    1,\n    bad,\n)  # adlint: ignore[AD101]",
        "f(  # adlint: ignore[AD101]\n    1,\n    bad,\n)",
        "f(\n    1,\n    bad,  # adlint: ignore[AD101]\n)",
        "with f(\n    bad,\n):  # adlint: ignore[AD101]\n    pass",
        "x = '''\nbad\n'''  # adlint: ignore[AD101]",
        "x = 1 + \\\n    bad  # adlint: ignore[AD101]",
    ],
)
def test_a_comment_silences_its_statement(text: str) -> None:
    """Silences the line, or the statement that begins or ends there, and is not unused."""
    assert [] == lint(text + "\n")
    assert [] == lint(text.replace("\n", "\r\n") + "\r\n")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x = '# adlint: ignore'; bad", [(1, "AD101")]),
        ("bad\n# adlint: ignore[AD101]", [(1, "AD101"), (2, "AD001")]),
        ("bad  # noqa: E501", [(1, "AD101")]),
        ("f(\n    1,  # adlint: ignore[AD101]\n    bad,\n)", [(2, "AD001"), (3, "AD101")]),
        ("with f():  # adlint: ignore[AD101]\n    bad", [(1, "AD001"), (2, "AD101")]),
        ("bad  # adlint: ignore[AD201]", [(1, "AD101"), (1, "AD001")]),
    ],
)
def test_a_comment_silences_nothing_else(text: str, left: list[tuple[int, str]]) -> None:
    """Leaves findings of other lines and other rules alone."""
    assert left == lint(text + "\n")


@pytest.mark.parametrize(
    "head",
    [
        "# adlint: ignore-file\n",
        "# adlint: ignore-file[double-backward]\n",
        "#!/bin/sh\n\n# adlint: ignore-file[AD101]\n",
    ],
)
def test_a_comment_at_the_top_silences_the_file(head: str) -> None:
    """Looks at the comments above the first statement."""
    source = Source("x.py", head + HEAD + "bad\n\nbad\n")
    assert [] == linter.lint(source)
    assert [(1, "AD101"), (2, "AD001")] == lint("bad\n# adlint: ignore-file[AD101]\n")


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("good  # adlint: ignore", "good"),
        ("good  # adlint: ignore -- once it was wrong", "good"),
        ("good  # adlint: ignore[double-backward]  # pragma: no cover", "good  # pragma: no cover"),
        ("good  # pragma: no cover  # adlint: ignore[AD101]", "good  # pragma: no cover"),
        ("bad  # adlint: ignore[AD101, AD201]", "bad  # adlint: ignore[AD101]"),
        ("bad  # adlint: ignore[AD201,AD101]  # why", "bad  # adlint: ignore[AD101]  # why"),
        ("good  # noqa: E501, AD101", "good  # noqa: E501"),
        ("good  # noqa: AD101, AD201", "good"),
        ("good  # noqa: AD101 was wrong", "good  # was wrong"),
        ("# adlint: ignore[AD101]\ngood", "good"),
        ("bad  # adlint: ignore[AD101, dubble-backward]", "bad  # adlint: ignore[AD101]"),
        ("    \nif good:\n    # adlint: ignore\n    pass", "    \nif good:\n    pass"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_unused_comment_is_reported_and_removed(text: str, better: str, newline: str) -> None:
    """Takes out what has no effect, and nothing else."""
    text, better = ((HEAD + part + "\n").replace("\n", newline) for part in (text, better))
    assert ["AD001"] == [item.code for item in linter.lint(Source("x.py", text))]
    assert better == linter.fix(Source("x.py", text)).text


def test_an_empty_list_is_reported() -> None:
    """Takes brackets without a rule for a mistake: they silence nothing, not everything."""
    for comment in ("# adlint: ignore[]", "# adlint: ignore[ ]", "# adlint: ignore-file[]"):
        text = f"{comment}\nbad  {comment}\n"
        found = linter.lint(Source("x.py", text + HEAD), Settings())
        verb = comment.partition(": ")[2].replace(" ", "")
        assert [(item.span.start.line, item.code) for item in found] == [(1, "AD001"), (2, "AD101"), (2, "AD001")]
        assert all(f"`adlint: {verb}`" in item.message for item in found if item.code == "AD001")


def test_what_is_unknown_is_reported() -> None:
    """Says which rule or directive it does not know."""
    found = linter.lint(
        Source("x.py", "# adlint: ignroe\nx = 1  # adlint: ignore[dubble-backward]\ny = 1  # noqa: AD999\n")
    )
    assert [
        "`adlint: ignroe`" in found[0].message,
        "`dubble-backward`" in found[1].message,
        "`AD999`" in found[2].message,
    ]
    assert [1, 2, 3] == [item.span.start.line for item in found]


def test_other_tools_comments_are_not_judged() -> None:
    """Says nothing of a `noqa` without our codes."""
    assert [] == lint("good  # noqa\ngood  # noqa: E501, F401\ngood  # type: ignore\n")


def test_rules_that_are_not_enabled_are_not_judged() -> None:
    """Leaves a comment alone if this run does not look for its rule."""
    assert [] == lint("good  # adlint: ignore[AD101]\n", ignore=("AD101",))
    assert [] == lint("good  # adlint: ignore[AD101]\n", select=("missing-zero-grad", "unused-suppression"))
    assert [] == lint("good  # adlint: ignore\n", ignore=("AD101",))
    assert [] == lint("good  # adlint: ignore[AD101]\n", select=("double-backward",))
    assert [] == lint("good  # adlint: ignore[AD101]\n", per_file_ignores=(("x.py", ("AD101",)),))


def test_a_comment_for_a_possible_finding_is_used() -> None:
    """Does not depend on whether possible findings are shown."""
    assert [] == lint("perhaps  # adlint: ignore[shared-backward]\n")
    assert [] == lint("perhaps  # adlint: ignore[shared-backward]\n", possible=True)
    assert [(1, "AD102")] == lint("perhaps\n", possible=True)


def test_a_text_that_no_tokenizer_takes_is_survived() -> None:
    """Uses the comments up to the place where the tokenizer stops."""
    assert [] == lint("bad  # adlint: ignore\nx = (\n")
    assert [(2, "AD101")] == lint("x = '''\nbad  # adlint: ignore\n")
