"""When a finding is the same one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_reports import span

from adlint.diagnostics import Certainty, Diagnostic, Position, Severity, Span
from adlint.fingerprints import fingerprints
from adlint.source import Source

TEXT = """\
class Trainer:
    def step(
        self,
        loss,
    ):
        loss.backward()
# a comment at the margin
        loss.backward()

    async def other(self, loss):
        loss.backward()


loss.backward()
"""


def marks(text: str, word: str = "loss.backward()", filename: str = "a.py", name: str = "double-backward") -> list[str]:
    """Return the fingerprints of findings at each place where a word is."""
    source = Source(filename, text)
    items = [at(source, span(source, word, number), name) for number in range(text.count(word))]
    return fingerprints(items, {filename: source})


def at(source: Source, place: Span, name: str = "double-backward") -> Diagnostic:
    return Diagnostic("AD101", name, "on line 3", Severity.ERROR, Certainty.DEFINITE, source.filename, place)


def test_each_is_different() -> None:
    """Tells apart findings on lines that read the same."""
    assert 4 == len(set(marks(TEXT)))


@pytest.mark.parametrize(
    "changed",
    [
        "import torch\n\n\n" + TEXT,
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("    ", "  "),
        TEXT.replace("        loss,\n", ""),
        TEXT.replace("backward()\n\n", "backward()\n        print(loss)\n\n\n"),
        TEXT + "\n\ndef more():\n    pass\n",
    ],
)
def test_it_stays_when_the_file_changes_elsewhere(changed: str) -> None:
    """Depends neither on numbers of lines nor on how far lines are indented."""
    assert marks(TEXT) == marks(changed)


def test_it_stays_when_the_file_is_moved() -> None:
    """Does not depend on the name of the file."""
    assert marks(TEXT) == marks(TEXT, filename="b/c.py")


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("def step", "def train", [True, True, False, False]),
        ("class Trainer", "class Other", [True, True, True, False]),
        ("def other(self, loss):", "def other(self, loss):\n        def inner():\n            pass", [False] * 4),
        ("\n\nloss.backward()", "\n\ntotal.backward()", [False, False, False, True]),
    ],
)
def test_it_changes_with_the_line_and_what_is_around(old: str, new: str, changed: list[bool]) -> None:
    """Depends on the text of the line and on the names of the functions and classes around it."""
    before, after = marks(TEXT, "backward()"), marks(TEXT.replace(old, new), "backward()")
    assert changed == [one != other for one, other in zip(before, after, strict=True)]


def test_the_order_of_the_findings_does_not_count() -> None:
    """Numbers equal lines from above, however the findings are given."""
    source = Source("a.py", TEXT)
    items = [at(source, span(source, "loss.backward()", number)) for number in range(4)]
    assert fingerprints(items, {"a.py": source})[::-1] == fingerprints(items[::-1], {"a.py": source})


def test_rules_do_not_share_one() -> None:
    """Depends on the rule."""
    assert not set(marks(TEXT)) & set(marks(TEXT, name="stale-forward"))


def test_without_the_source_the_message_counts() -> None:
    """Takes the message without its numbers where the line cannot be had."""
    source = Source("a.py", TEXT)
    item = at(source, Span(Position(99, 1), Position(99, 1)))
    far, unknown = fingerprints([item], {"a.py": source}), fingerprints([item], {})
    other = Diagnostic("AD101", "double-backward", "on line 9", Severity.ERROR, Certainty.DEFINITE, "a.py", item.span)
    assert far == unknown == fingerprints([other], {})


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["def f(a):", "    x", "  )", "# no", "class é:", "\ud800", "", "\tloss()"]), max_size=12)
)
def test_within_a_file_none_comes_twice(lines: list[str]) -> None:
    """Gives each finding its own, whatever the text."""
    source = Source("a.py", "\n".join(lines))
    places = [Span(Position(number, 1), Position(number, 1)) for number in range(1, source.line_count + 1)] * 2
    assert len(places) == len(set(fingerprints([at(source, place) for place in places], {"a.py": source})))
