"""Which files are linted."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from adlint.config import Finder
from adlint.discovery import MissingPath, discover


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "a.py",
        "b.pyw",
        "c.txt",
        "d.ipynb",
        "pkg/e.py",
        "pkg/deep/f.py",
        "build/g.py",
        ".venv/h.py",
        "env/i.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*paths: str, force_exclude: bool = False) -> list[str]:
    found = discover(paths, Finder(), force_exclude=force_exclude)
    return [file.path.replace(os.sep, "/") for file in found.files]


def test_folders_are_searched(tree: Path) -> None:
    """Finds Python files, in order, each once, and leaves out what is built or installed."""
    assert ["a.py", "b.pyw", "d.ipynb", "env/i.py", "pkg/deep/f.py", "pkg/e.py"] == names(".")
    assert ["pkg/deep/f.py", "pkg/e.py"] == names("pkg", "pkg/e.py", "./pkg/deep")
    assert [str(tree / "pkg" / "deep" / "f.py")] == names(str(tree / "pkg" / "deep"))


def test_virtual_environments_are_left_out_by_their_mark(tree: Path) -> None:
    """Knows one by its `pyvenv.cfg`, whatever its name."""
    (tree / "env" / "pyvenv.cfg").touch()
    assert "env/i.py" not in names(".")


def test_git_ignores_are_respected(tree: Path) -> None:
    """Follows nested `.gitignore` files, also those above, and their exceptions."""
    (tree / ".git" / "info").mkdir(parents=True)
    (tree / ".git" / "info" / "exclude").write_text("b.pyw\n")
    (tree / ".gitignore").write_text("env/\ndeep/\n*.tmp.py\n")
    (tree / "pkg" / ".gitignore").write_text("/e.py\n!deep/\n")
    assert ["a.py", "d.ipynb", "pkg/deep/f.py"] == names(".")
    assert [] == names("pkg", "env", "pkg/e.py", force_exclude=True)[1:]
    (tree / "pkg" / "deep" / "x.tmp.py").touch()
    assert ["pkg/deep/f.py"] == names("pkg/deep")
    (tree / "adlint.toml").write_text("respect-gitignore = false")
    assert "env/i.py" in names(".")


def test_excludes_are_patterns(tree: Path) -> None:
    """Takes patterns relative to the configuration file, in place of or beside the usual ones."""
    (tree / "adlint.toml").write_text('extend-exclude = ["pkg/deep/", "*.pyw"]')
    assert ["a.py", "d.ipynb", "env/i.py", "pkg/e.py"] == names(".")
    (tree / "adlint.toml").write_text('exclude = ["/pkg"]')
    assert [".venv/h.py", "a.py", "b.pyw", "build/g.py", "d.ipynb", "env/i.py"] == names(".")


def test_named_files_are_linted_all_the_same(tree: Path) -> None:
    """Leaves out an excluded file that is named only if that is forced."""
    assert ["build/g.py", "c.txt", "d.ipynb"] == names("build/g.py", "c.txt", "d.ipynb")
    assert [] == names("build/g.py", "build", ".venv/h.py", force_exclude=True)
    assert ["pkg/e.py"] == names("pkg/e.py", force_exclude=True)


@pytest.mark.parametrize("name", ["gone.py", "gone", "link.py"])
def test_a_path_that_is_not_there_is_an_error(tree: Path, name: str) -> None:
    """Does not take a mistyped path for a clean one."""
    (tree / "link.py").symlink_to("nowhere.py")
    with pytest.raises(MissingPath, match=name):
        names(name)


def test_links(tree: Path) -> None:
    """Reports links that lead nowhere, follows those to files once, and those to folders not at all."""
    (tree / "dangling.py").symlink_to("nowhere.py")
    (tree / "loop.py").symlink_to("loop.py")
    (tree / "pkg" / ".#lock.py").symlink_to("user@host")
    (tree / "pkg" / "round").symlink_to("..")
    (tree / "z.py").symlink_to("a.py")
    found = discover(["."], Finder())
    assert ["dangling.py", "loop.py"] == [problem.path for problem in found.problems]
    assert 1 == len({file.path for file in found.files} & {"a.py", "z.py"})
    assert 6 == len(found.files)


def test_a_folder_that_cannot_be_listed_is_a_problem(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Goes on with the others."""
    listed = os.scandir

    def scandir(path: str) -> os.ScandirIterator[str]:  # type: ignore[name-defined]
        if os.path.basename(path) == "deep":
            raise PermissionError(13, "Permission denied", path)
        if os.path.basename(path) == "env":
            raise FileNotFoundError(2, "No such file or directory", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = discover(["."], Finder())
    assert ["a.py", "b.pyw", "d.ipynb", "pkg/e.py"] == [file.path for file in found.files]
    assert ["env", os.path.join("pkg", "deep")] == [problem.path for problem in found.problems]


def test_an_entry_that_cannot_be_looked_at_is_a_problem(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names it with the reason, and goes on with the others."""
    listed = os.scandir

    class Entry:
        """An entry of a folder whose kind the system does not tell."""

        name, path = "f.py", os.path.join("pkg", "deep", "f.py")

        def is_dir(self, follow_symlinks: bool = True) -> bool:
            raise OSError(5, "Input/output error", self.path)

    def scandir(path: str) -> object:
        if os.path.basename(path) == "deep":
            return contextlib.nullcontext([Entry()])
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = discover(["."], Finder())
    assert ["a.py", "b.pyw", "d.ipynb", "env/i.py", "pkg/e.py"] == [file.path for file in found.files]
    assert [(Entry.path, "cannot be looked at: Input/output error")] == [(p.path, p.reason) for p in found.problems]


def test_a_folder_may_be_called_like_a_file(tree: Path) -> None:
    """Searches it."""
    (tree / "x.py").mkdir()
    (tree / "x.py" / "y.py").touch()
    assert "x.py/y.py" in names(".")
    assert ["x.py/y.py"] == names("x.py")
