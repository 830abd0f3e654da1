"""A verdict that depends on a function having no caller looks into the other files of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from adlint import callers, discovery, mentions, project
from adlint.config import Finder
from adlint.mentions import Mentions

EVALUATION = """import torch


def validate(model, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += (model(x) - y).abs().mean().item()
    return total
"""


def names(folder: Path) -> list[str]:
    found = discovery.discover([str(folder)], Finder())
    return [item.name for items in project.lint(found).values() for item in items]


def test_uncalled_function(tmp_path: Path) -> None:
    """Reports an evaluation that nobody calls."""
    (tmp_path / "validation.py").write_text(EVALUATION)
    assert names(tmp_path) == ["eval-without-no-grad"]


def test_called_from_another_file(tmp_path: Path) -> None:
    """Leaves it alone where another file that imports the module calls it, under no_grad perhaps."""
    (tmp_path / "validation.py").write_text(EVALUATION)
    (tmp_path / "train.py").write_text("from validation import validate\n\nwith scope():\n    validate(m, d)\n")
    assert names(tmp_path) == []


def test_same_name_without_import(tmp_path: Path) -> None:
    """A function of the same name in a file that does not import the module is another function."""
    (tmp_path / "validation.py").write_text(EVALUATION)
    (tmp_path / "other.py").write_text("def validate(x):\n    return x\n\n\nvalidate(1)\n")
    assert names(tmp_path) == ["eval-without-no-grad"]
    assert Mentions(str(tmp_path)).callers(str(tmp_path / "validation.py"), "validate") == ()


def test_a_project_that_is_too_large_to_look_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports nothing that a caller could change where nobody can tell who calls."""
    (tmp_path / "validation.py").write_text(EVALUATION)
    (tmp_path / "other.py").write_text("x = 1\n")
    assert names(tmp_path) == ["eval-without-no-grad"]
    monkeypatch.setattr(mentions, "MOST", 1)
    assert Mentions(str(tmp_path)).callers(str(tmp_path / "validation.py"), "validate") is None
    assert names(tmp_path) == []


def test_a_file_that_cannot_be_read_calls_nothing(tmp_path: Path) -> None:
    """Goes on with the others."""
    (tmp_path / "validation.py").write_text(EVALUATION)
    (tmp_path / "a.py").symlink_to("nowhere.py")
    (tmp_path / "b.py").write_text("from validation import validate\n\nvalidate(m, d)\n")
    found = Mentions(str(tmp_path)).callers(str(tmp_path / "validation.py"), "validate")
    assert found == (str(tmp_path / "b.py"),)


SCORE = """import torch


def validate(net, batches):
    net.eval()
    total = 0.0
    for x in batches:
        total += net(x).mean().item()
    return total
"""
RECORDED = """import torch
{imports}

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
batches = [torch.randn(4, 3) for _ in range(3)]
for _ in range(2):
    with torch.{mode}():
        total = {call}(net, batches)
"""
WAYS = [
    ("", "from lab.validation import validate", "validate"),
    ("", "import lab.validation", "lab.validation.validate"),
    ("", "from lab import validation", "validation.validate"),
    ("from .validation import validate", "from lab import validate", "validate"),
    ("from .validation import validate", "import lab", "lab.validate"),
    ("from . import validation", "import lab", "lab.validation.validate"),
    ("from .validation import *", "from lab import validate", "validate"),
    ("from .validation import (\n    validate as check,\n)", "from lab import check", "check"),
    ("", "from lab.validation import validate as check", "check"),
    ("", "import lab.validation as way", "way.validate"),
    ("", "from lab.everything import validate", "validate"),
    ("", "from lab.more import validate", "validate"),
]


def call_is_seen(imports: str) -> bool:
    """Whether a call is followed: a plain module that does nothing but import is not looked into."""
    return imports not in ("from lab.everything import validate", "from lab.more import validate")


@pytest.mark.parametrize(("package", "imports", "call"), WAYS)
def test_callers_are_run(tmp_path: Path, package: str, imports: str, call: str) -> None:
    """Judges a function as its callers in other files run it, with recording on or off, by whichever way they come."""
    for name, text in {
        "adlint.toml": "",
        "lab/__init__.py": package,
        "lab/everything.py": "from lab.validation import *",
        "lab/more.py": "from .everything import (\n    validate,\n)",
        "lab/validation.py": SCORE,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    for mode, reported in (("enable_grad", True), ("no_grad", False)):
        (tmp_path / "train.py").write_text(RECORDED.format(imports=imports, mode=mode, call=call))
        assert names(tmp_path) == ["eval-without-no-grad"] * (reported and call_is_seen(imports)), mode


def test_many_callers(tmp_path: Path) -> None:
    """Reports nothing where more files call a function than are looked into."""
    (tmp_path / "validation.py").write_text(SCORE)
    for number in range(callers.MOST + 1):
        main = RECORDED.format(imports="from validation import validate", mode="enable_grad", call="validate")
        (tmp_path / f"train{number}.py").write_text(main)
        assert names(tmp_path) == ["eval-without-no-grad"] * (number < callers.MOST), number
