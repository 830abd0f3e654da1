"""A verdict that depends on a function having no caller looks into the other files of the project."""

from __future__ import annotations

from pathlib import Path

from adlint import discovery, project
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
