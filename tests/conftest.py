"""Fixture programs as test parameters, and the gate for tests that need PyTorch.

A test that takes `case`, `wrong`, `right` or `mended` runs once for every fixture program of that kind; its test id is
the program's path below `tests/fixtures`.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"
FAMILIES = ("graph", "slots", "scope")
REQUIRE_TORCH = "ADLINT_REQUIRE_TORCH"
MARK = re.compile(r"[ \t]*# (want|todo|todo-ok)(?:\+(\d+))?: (\S+(?:, \S+)*)[ \t]*$")

Finding = tuple[int, str]


@dataclass(frozen=True)
class Marks:
    """The (line, rule) pairs that a program's marks name, by kind of mark."""

    want: frozenset[Finding]
    possible: frozenset[Finding]
    todo: frozenset[Finding]
    todo_ok: frozenset[Finding]

    @classmethod
    def strip(cls, marked: str) -> tuple[str, Marks]:
        """Return the text as a user would have it, and what its marks said."""
        lines, found = marked.split("\n"), {"want": set(), "want?": set(), "todo": set(), "todo-ok": set()}
        for index, line in enumerate(lines):
            if mark := MARK.search(line):
                kind, offset, rules = mark.groups()
                for rule in rules.split(", "):
                    key = "want?" if kind == "want" and rule.endswith("?") else kind
                    found[key].add((index + 1 + int(offset or 0), rule.rstrip("?")))
                lines[index] = line[: mark.start()]
        sets = (frozenset(found[kind]) for kind in ("want", "want?", "todo", "todo-ok"))
        return "\n".join(lines), cls(*sets)

    @property
    def reported(self) -> frozenset[Finding]:
        """What has to be reported on default settings: what ought to be, and the known false alarms."""
        return self.want | self.todo_ok


@dataclass(frozen=True)
class Case:
    """One fixture program: its text without the marks, what the marks said, and the expert's fix where there is one."""

    path: Path
    text: str
    marks: Marks
    golden: str | None

    @classmethod
    def load(cls, path: Path) -> Case:
        text, marks = Marks.strip(path.read_text(encoding="utf-8"))
        golden = path.with_name(f"{path.stem}.fixed.py")
        return cls(path, text, marks, golden.read_text(encoding="utf-8") if golden.exists() else None)

    @property
    def id(self) -> str:
        return path_id(self.path)

    @property
    def family(self) -> str:
        return self.path.parent.parent.name

    @property
    def rule(self) -> str:
        return self.path.parent.name

    @property
    def wrong(self) -> bool:
        return bool(self.marks.want | self.marks.possible | self.marks.todo)


def path_id(path: Path) -> str:
    """Return a fixture's path below `tests/fixtures`, without its ending."""
    return path.relative_to(FIXTURES).with_suffix("").as_posix()


def cases() -> Iterator[Case]:
    """Yield every fixture program, in the order of the paths."""
    for path in sorted(FIXTURES.glob("*/*/*.py")):
        if not path.name.endswith(".fixed.py"):
            yield Case.load(path)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "runtime: runs programs under PyTorch")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    kinds = {
        "case": lambda case: True,
        "wrong": lambda case: case.wrong,
        "right": lambda case: not case.wrong,
        "mended": lambda case: case.golden is not None,
    }
    for name, wanted in kinds.items():
        if name in metafunc.fixturenames:
            chosen = [case for case in cases() if wanted(case)]
            if metafunc.definition.get_closest_marker("runtime"):
                chosen = [case for case in chosen if case.family in FAMILIES]
            metafunc.parametrize(name, chosen, ids=[case.id for case in chosen])


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("runtime") and importlib.util.find_spec("torch") is None:
        if os.environ.get(REQUIRE_TORCH) == "1":
            pytest.fail(f"PyTorch is not installed, and {REQUIRE_TORCH}=1 demands the runtime tests", pytrace=False)
        pytest.skip("PyTorch is not installed")
