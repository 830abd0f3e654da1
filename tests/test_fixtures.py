"""Every fixture program, unasked: what is reported, what the fix makes of it, and that line endings change neither."""

from __future__ import annotations

import io
import itertools
import tokenize
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adlint.config import Settings
from adlint.diagnostics import Certainty, Diagnostic
from adlint.linter import FixResult, fix, lint
from adlint.source import Source

if TYPE_CHECKING:
    from conftest import Case, Finding

EXAMPLES = {
    "actor_critic.py": {"critic_loss.backward()": "shared-backward"},
    "char_model.py": {"loss.backward()": "missing-zero-grad"},
    "oscillator.py": {},
    "ring_gan.py": {"loss.backward()": "foreign-grad"},
    "segmentation.py": {"logits = model(image)": "eval-without-no-grad"},
}
"""What is wrong with the shipped examples: the text of the reported line and the rule."""


@cache
def findings(text: str, *, possible: bool = False) -> list[Diagnostic]:
    return lint(Source("case.py", text), Settings(possible=possible))


@cache
def mend(text: str) -> FixResult:
    return fix(Source("case.py", text), Settings(), unsafe=True)


def places(diagnostics: Iterable[Diagnostic]) -> list[Finding]:
    return sorted((item.span.start.line, item.name) for item in diagnostics)


def show(text: str, diagnostics: Iterable[Diagnostic]) -> str:
    lines = text.split("\n")
    return "\n".join(
        f"  {item.span.start.line}: {item.name}: {item.message}\n      {lines[item.span.start.line - 1].strip()}"
        for item in diagnostics
    )


def test_findings(case: Case) -> None:
    """Reports what the marks say, no more and no less."""
    found = findings(case.text)
    unexpected = [item for item in found if (item.span.start.line, item.name) not in case.marks.reported]
    stale = case.marks.todo & set(places(found))
    assert not stale, f"reported by now, turn `todo` into `want`: {sorted(stale)}"
    gone = case.marks.todo_ok - set(places(found))
    assert not gone, f"no longer reported, delete the `todo-ok`: {sorted(gone)}"
    missing = case.marks.want - set(places(found))
    assert not missing, f"not reported: {sorted(missing)}\nreported:\n{show(case.text, found)}"
    assert not unexpected, f"reported without a mark:\n{show(case.text, unexpected)}"
    assert places(found) == sorted(set(places(found))), "one place is reported twice"


def test_possible_findings(case: Case) -> None:
    """Reports `want: rule?` when possible findings are asked for."""
    found = [item for item in findings(case.text, possible=True) if item.certainty is Certainty.POSSIBLE]
    assert places(found) == sorted(case.marks.possible), show(case.text, found)


def test_fix(case: Case) -> None:
    """Makes exactly the expert's text of it, or leaves alone what needs a choice."""
    if case.marks.todo:
        pytest.skip("a known miss cannot be mended yet")
    result = mend(case.text)
    assert result.text == (case.text if case.golden is None else case.golden)


def test_fixed_text(mended: Case) -> None:
    """The expert's text parses, is silent, and is left alone by a second fix."""
    assert mended.golden is not None
    compile(mended.golden, str(mended.path), "exec")
    silent = findings(mended.golden)
    assert not silent, show(mended.golden, silent)
    assert mend(mended.golden).text == mended.golden


def test_our_own_fix_converges(wrong: Case) -> None:
    """Whatever a fix made of it parses, and a second fix changes nothing."""
    once = mend(wrong.text)
    compile(once.text, str(wrong.path), "exec")
    again = mend(once.text)
    assert again.text == once.text
    assert not again.applied


def test_comments_survive(mended: Case) -> None:
    """A comment at the end of every line is kept on every line that the expert keeps."""
    noted = with_notes(mended.text)
    assert places(findings(noted)) == places(findings(mended.text))
    kept = Counter(line.strip() for line in (mended.golden or "").split("\n"))
    there = Counter(line.strip() for line in mended.text.split("\n"))
    fixed = mend(noted).text
    for number, (line, note) in enumerate(zip(mended.text.split("\n"), noted.split("\n"), strict=True), start=1):
        if note != line and kept[line.strip()] >= there[line.strip()]:
            assert f"# note {number}\n" in fixed, line


def test_line_endings(case: Case) -> None:
    """Finds the same, and makes the same of it, where lines end as on Windows."""
    windows = case.text.replace("\n", "\r\n")
    assert places(findings(windows)) == places(findings(case.text))
    assert mend(windows).text == mend(case.text).text.replace("\n", "\r\n")


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    """Every shipped example has the finding that its README names, and after fixing none."""
    folder = Path(__file__).parent.parent / "examples"
    assert {path.name for path in folder.glob("*.py")} == set(EXAMPLES)
    text = (folder / name).read_text(encoding="utf-8")
    lines = text.split("\n")
    assert {lines[line - 1].strip(): rule for line, rule in places(findings(text))} == EXAMPLES[name]
    assert not mend(text).remaining


def with_notes(text: str) -> str:
    """Add a comment of its own to the end of every logical line that has none."""
    lines = text.split("\n")
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for before, token in itertools.pairwise(tokens):
        if token.type == tokenize.NEWLINE and before.type != tokenize.COMMENT:
            lines[token.start[0] - 1] += f"  # note {token.start[0]}"
    return "\n".join(lines)
