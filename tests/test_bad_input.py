"""What cannot be read or parsed: one line each, with its place, and nothing is written."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import programs
import pytest
from click.testing import CliRunner

from adlint import linter, project
from adlint.cache import Cache
from adlint.cli import application
from adlint.config import Finder, Settings
from adlint.diagnostics import Diagnostic
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

    def fail(source: Source, *_: object) -> list[object]:
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


def broken(results: dict[str, list[Diagnostic]]) -> dict[str, list[str]]:
    """Return the names of what is reported, file by file."""
    return {os.path.basename(path): [item.name for item in items] for path, items in results.items()}


def test_a_failure_outside_the_analysis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is one finding for its file, in linting and in fixing, and is not kept in the cache."""
    lints, fixes = linter.lint, linter.fix
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_bytes(BAD)
    found = discover([str(tmp_path)], Finder())

    def fail(function: Callable[..., Any]) -> Callable[..., Any]:
        def tried(source: Source, *arguments: Any, **keywords: Any) -> Any:
            if source.filename.endswith("a.py"):
                raise OSError("no room")
            return function(source, *arguments, **keywords)

        return tried

    results = project.lint(found)
    assert broken(results) == {"a.py": ["double-backward"], "b.py": ["double-backward"]}
    monkeypatch.setattr(linter, "fix", fail(fixes))
    torn, whole = project.fix(found.files, results, unsafe=False)
    assert (torn.text, torn.applied) == (BAD.decode(), ())
    assert [item.name for item in torn.remaining] == ["double-backward", linter.FAILED]
    assert "OSError: no room (test_bad_input:" in torn.remaining[1].message
    assert whole.text == programs.GOOD
    monkeypatch.setattr(linter, "lint", fail(lints))
    for _ in range(2):
        assert broken(project.lint(found, Cache(tmp_path))) == {"a.py": [linter.FAILED], "b.py": ["double-backward"]}
    monkeypatch.setattr(linter, "lint", lints)
    assert broken(project.lint(found, Cache(tmp_path))) == {"a.py": ["double-backward"], "b.py": ["double-backward"]}


def test_a_worker_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finds out which file takes its worker down, reports it there, and lints the others."""
    lints = linter.lint
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_bytes(BAD)

    def die(source: Source, *arguments: Any, **keywords: Any) -> list[Diagnostic]:
        if source.filename.endswith("b.py"):
            os._exit(9)
        return lints(source, *arguments, **keywords)

    monkeypatch.setattr(linter, "lint", die)
    monkeypatch.setattr(project, "ALONE", 0)
    monkeypatch.setattr(project, "_processors", lambda: 2)
    results = project.lint(discover([str(tmp_path)], Finder()))
    assert broken(results) == {"a.py": ["double-backward"], "b.py": [linter.FAILED], "c.py": ["double-backward"]}
    assert "BrokenProcessPool" in results[str(tmp_path / "b.py")][0].message


def test_workers_tidy_up_and_end_with_their_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for cycles only after a good deal of text, and ends when nobody waits for the result any more."""
    done: list[object] = []
    for name in ("freeze", "disable", "collect"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    monkeypatch.setattr(project, "_COLLECT_AFTER", 10)
    monkeypatch.setattr(project, "_done", 0)
    project._start()  # this process has no parent that could end
    task = project._Task(Source("a.py", "x = 123"), Settings())
    assert [project._work(lambda task: task.source.text, task) for _ in range(3)] == ["x = 123"] * 3
    assert done == ["freeze", "disable", "collect"]
    reader, writer = os.pipe()
    os.close(writer)  # readable at once, as the sentinel of a process that has ended
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(sentinel=reader))
    monkeypatch.setattr(os, "_exit", done.append)
    project._end_with_parent()
    os.close(reader)
    assert done[-1] == 1


def test_how_many_processors_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts those that this process may use where the system tells, else all, else one."""
    assert project._processors() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    assert project._processors() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert project._processors() == 1


def test_a_fix_that_the_encoding_lacks(tmp_path: Path) -> None:
    """Does not write a text that the file's encoding has no characters for."""
    file = tmp_path / "a.py"
    file.write_bytes(b"# coding: ascii\nx = 1\n")
    fixed = project.Fixed(Source.read(str(file)), "# coding: ascii\n\u00e9 = 1\n", (), ())
    with pytest.raises(OSError, match="the fix has characters that ascii lacks") as caught:
        project.write(fixed)
    assert caught.value.filename == str(file)
    assert file.read_bytes() == b"# coding: ascii\nx = 1\n"


def test_a_failure_without_a_place() -> None:
    """Names the error, and where it was raised if that is known."""
    error = KeyError("x\ny")
    assert "KeyError: 'x\\ny'" in linter.failed("a.py", error).message
    assert "(" not in linter.failed("a.py", error).message
    with pytest.raises(KeyError) as raised:
        raise error
    assert f"({__name__}:" in linter.failed("a.py", raised.value).message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = '\ud800'\n", "cannot be parsed: 'utf-8' codec can't encode character '\\ud800'"),
        (f"x = {'1' * 5_000}\n", ""),
        ("def f(:\n", "syntax error: invalid syntax"),
    ],
)
def test_a_text_without_autograd_that_is_no_python(text: str, message: str) -> None:
    """Says so only if every text is to be parsed."""
    source = Source("a.py", text)
    assert linter.lint(source) == []
    found = linter.lint(source, always_parse=True)
    assert [item.message[: len(message)] for item in found] == [message] * bool(message)


def test_files_that_come_and_go_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Says of a file that is gone that it cannot be read, whatever the cache knows, and keeps nothing of it."""
    file = tmp_path / "a.py"
    file.write_bytes(BAD)
    os.utime(file, (1, 1))
    found = discover([str(tmp_path)], Finder())
    assert broken(project.lint(found, Cache(tmp_path))) == {"a.py": ["double-backward"]}
    assert broken(project.lint(found, Cache(tmp_path))) == {"a.py": ["double-backward"]}
    file.unlink()
    (gone,) = project.lint(found, Cache(tmp_path))[str(file)]
    assert (gone.name, gone.message) == ("unreadable-source", "cannot be read: No such file or directory")
    (tmp_path / "b.py").write_text("x = 1\n")
    skims = linter.skim

    def skim(source: Source, settings: Settings) -> list[Diagnostic]:
        os.unlink(source.filename)
        return skims(source, settings)

    monkeypatch.setattr(linter, "skim", skim)
    results = project.lint(discover([str(tmp_path)], Finder()), Cache(tmp_path))
    assert broken(results) == {"b.py": []}
    assert not any("b.py" in table.read_text() for table in (tmp_path / ".adlint_cache").glob("*.json"))


def test_the_cache_of_another_version(tmp_path: Path) -> None:
    """Is taken away when something new is kept."""
    (tmp_path / "a.py").write_bytes(BAD)
    old = tmp_path / ".adlint_cache" / "0123-4567.json"
    old.parent.mkdir()
    old.write_text("{}")
    assert broken(project.lint(discover([str(tmp_path)], Finder()), Cache(tmp_path))) == {"a.py": ["double-backward"]}
    assert not old.exists()
    assert len(list(old.parent.glob("*.json"))) == 1
