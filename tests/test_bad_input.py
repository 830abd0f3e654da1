"""What cannot be read or parsed: one line each, with its place, and nothing is written."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import programs
import pytest
from click.testing import CliRunner

from adlint import linter, project
from adlint.cli import application
from adlint.config import Finder
from adlint.discovery import discover
from adlint.source import Source

BAD = programs.BAD.encode()
HEAD = b"import torch\nloss.backward()\n"


def lint(folder: Path) -> list[tuple[str, str, int, int]]:
    """Lint a folder from the command line; return file, code, row and column of what is reported."""
    done = CliRunner().invoke(
        application(), ["check", str(folder), "--no-cache", "--fix", "--output-format", "json"], standalone_mode=False
    )
    assert done.exception is None
    found = json.loads(done.stdout)
    return [
        (os.path.relpath(item["filename"], folder), item["code"], item["location"]["row"], item["location"]["column"])
        for item in found
    ]


@pytest.mark.parametrize(
    ("data", "row", "column"),
    [
        pytest.param(HEAD + b"def f(:\n", 3, 7, id="syntax error"),
        pytest.param(HEAD + b"print 'x'\n", 3, 1, id="python 2"),
        pytest.param(HEAD + b"if x:\n\ty\n        z\n", 5, None, id="tabs and blanks"),
        pytest.param(HEAD + b"s = '\xff'\n", 3, 6, id="not utf-8"),
        pytest.param("import torch\n".encode("utf-16"), 1, 1, id="utf-16"),
        pytest.param(b"# coding: klingon\n" + HEAD, 1, 11, id="unknown encoding"),
        pytest.param(HEAD + b"x = \0\n", 3, 5, id="nul"),
        pytest.param(b"\xef\xbb\xbf" + HEAD + b"def f(:\n", 3, 7, id="byte order mark"),
        pytest.param(HEAD.replace(b"\n", b"\r\n") + b"def f(:\r\n", 3, 7, id="crlf"),
        pytest.param(HEAD + b"x = " + b"+".join([b"1"] * 10_000) + b"\n", 3, None, id="10,000 terms"),
        pytest.param(HEAD + b"x = " + b"(" * 3_000 + b")" * 3_000 + b"\n", 3, None, id="3,000 brackets"),
        pytest.param(
            HEAD + b"".join(b" " * n + b"if x:\n" for n in range(200)) + b" " * 200 + b"y\n",
            None,
            None,
            id="200 blocks",
        ),
        pytest.param(HEAD + b"x = '''\n", 3, 5, id="open string"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_finding(
    tmp_path: Path, data: bytes, row: int | None, column: int | None
) -> None:
    """Reports the place once, does not touch the file, and finds what is in the next."""
    (tmp_path / "a.py").write_bytes(data)
    (tmp_path / "b.py").write_bytes(BAD)
    found = lint(tmp_path)
    assert [("a.py", "AD002")] == [item[:2] for item in found]
    assert row in (None, found[0][2])
    assert column in (None, found[0][3])
    assert data == (tmp_path / "a.py").read_bytes()
    assert programs.GOOD.encode() == (tmp_path / "b.py").read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf" + BAD, id="byte order mark"),
        pytest.param(BAD.replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(BAD.rstrip(b"\n"), id="no final newline"),
        pytest.param(b"# coding: latin-1\n# \xe9\n" + BAD, id="latin-1"),
        pytest.param(b"\x0c\n" + BAD, id="form feed"),
    ],
)
def test_what_is_merely_unusual_is_linted(tmp_path: Path, data: bytes) -> None:
    """Finds and mends in any encoding and with any line ends."""
    (tmp_path / "a.py").write_bytes(data)
    assert [] == lint(tmp_path)
    lost = data.replace(b"\r\n", b"\n").count(b"\n") - (tmp_path / "a.py").read_bytes().count(b"\n")
    assert 1 == lost


def test_empty_files_are_clean(tmp_path: Path) -> None:
    """Has nothing to say of no text."""
    for number, data in enumerate((b"", b"\n", b"\xef\xbb\xbf", b"# grad\n")):
        (tmp_path / f"{number}.py").write_bytes(data)
    assert [] == lint(tmp_path)


def test_files_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports each once and goes on."""
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_bytes(HEAD)
    opened = open

    def refuse(path, *arguments, **keywords):  # type: ignore[no-untyped-def]
        if str(path).endswith("a.py"):
            raise PermissionError(13, "Permission denied", path)
        return opened(path, *arguments, **keywords)

    monkeypatch.setattr(project, "open", refuse, raising=False)
    monkeypatch.chdir(tmp_path)
    found = discover(["."], Finder())
    (tmp_path / "b.py").unlink()
    results = project.lint(found)
    assert ["cannot be read: Permission denied"] == [item.message for item in results["a.py"]]
    assert ["cannot be read: No such file or directory"] == [item.message for item in results["b.py"]]
    assert [] == results["c.py"]


def test_a_folder_that_vanishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports its files and goes on."""
    (tmp_path / "gone").mkdir()
    for name in ("gone/a.py", "b.py"):
        (tmp_path / name).write_bytes(HEAD)
    monkeypatch.chdir(tmp_path)
    found = discover(["."], Finder())
    shutil.rmtree("gone")
    results = project.lint(found)
    assert {"b.py": [], os.path.join("gone", "a.py"): ["AD002"]} == {
        path: [item.code for item in items] for path, items in results.items()
    }


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    """Is one finding, and does not hide the others."""
    (tmp_path / "a.py").symlink_to("nowhere.py")
    (tmp_path / "b.py").symlink_to("b.py")
    assert [("a.py", "AD002", 1, 1), ("b.py", "AD002", 1, 1)] == lint(tmp_path)


def test_a_file_that_is_named_is_parsed_even_without_autograd(tmp_path: Path) -> None:
    """Reports the syntax error of a file that the user points at."""
    (tmp_path / "a.py").write_text("def f(:\n")
    done = CliRunner().invoke(application(), ["check", str(tmp_path / "a.py"), "--no-cache"], standalone_mode=False)
    assert (1, True) == (done.return_value, "a.py:1:7: error AD002" in done.stdout)


def test_a_failure_of_the_linter_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names the file and the failure, exits with 2, lints the others."""

    def fail(source: Source, profile: object, resolver: object) -> list[object]:
        if source.filename.endswith("a.py"):
            raise AssertionError("the tape is torn")
        return []

    monkeypatch.setattr(linter, "_analyse", fail)
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_bytes(HEAD)
    done = CliRunner().invoke(application(), ["check", str(tmp_path), "--no-cache"], standalone_mode=False)
    assert (2, True) == (done.return_value, "the tape is torn" in done.stdout)
    assert "Found 1 error." in done.stdout


def test_a_fix_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Says so, exits with 2, and leaves the file and the folder as they were."""
    (tmp_path / "a.py").write_bytes(BAD)

    def refuse(source: str, target: str) -> None:
        raise PermissionError(13, "Permission denied", target)

    monkeypatch.setattr(os, "replace", refuse)
    done = CliRunner().invoke(application(), ["check", str(tmp_path), "--no-cache", "--fix"], standalone_mode=False)
    assert (2, True) == (done.return_value, "cannot be written: Permission denied" in done.stderr)
    assert ["a.py"] == os.listdir(tmp_path)
    assert BAD == (tmp_path / "a.py").read_bytes()


def test_containers_that_hold_themselves() -> None:
    """Takes a list or dict that is an element of itself for one, wherever a value is looked into."""
    text = """\
import copy
import torch
from torch import nn

model = nn.Linear(2, 1)
table = {}
table["self"] = table
values = [model.weight]
values.append(values)
values.append((values, 1))
optimizer = torch.optim.SGD(values, lr=0.1)


def run(network):
    network.eval()
    for value in values:
        output = network(value)
    torch.autograd.grad(output, values)
    torch.stack([table, values])
    print(sum(copy.deepcopy(values)), copy.deepcopy(table))
    for key, value in table.items():
        optimizer.step(value)
    nn.Sequential(*values)
    nn.ModuleList(values)


run(model)
run(table)
"""
    assert linter.FAILED not in {item.name for item in linter.lint(Source("case.py", text))}
