"""`adlint check --watch`: a report after every change, until somebody interrupts."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import BAD, GOOD

ROOT = Path(__file__).resolve().parent.parent


class Watcher:
    """A running `adlint check --watch` in a folder."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "adlint", "check", "--watch", "--output-format", "concise", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def line(self) -> str:
        return self._lines.get(timeout=30)

    def report(self) -> list[str]:
        """Return the lines up to the next word that it waits."""
        lines = []
        while not (line := self._lines.get(timeout=30)).startswith("adlint: info: watching"):
            lines.append(line)
        return lines

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=30)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[type]:
    running: list[Watcher] = []

    class Started(Watcher):
        def __init__(self, *words: str) -> None:
            super().__init__(tmp_path, *words)
            running.append(self)

    yield Started
    for watcher in running:
        watcher.process.kill()


def replace(file: Path, text: str) -> None:
    """Put a new file in the place of one, as many editors do."""
    new = file.with_suffix(".new")
    new.write_text(text)
    os.replace(new, file)


def test_every_change_is_linted(tmp_path: Path, start: type) -> None:
    """Reports a file that turns wrong, a new one, the settings, and ends when it is interrupted."""
    file = tmp_path / "train.py"
    file.write_text(GOOD)
    watcher = start()
    assert watcher.report() == ["All checks passed!"]
    replace(file, BAD)
    assert watcher.report()[0].startswith("train.py:")
    (tmp_path / "other.py").write_text(BAD)
    assert [line.partition(":")[0] for line in watcher.report()[:-1]] == ["other.py", "train.py"]
    (tmp_path / "adlint.toml").write_text('selct = ["all"]\n')
    assert "did you mean `select`?" in watcher.report()[0]
    (tmp_path / "adlint.toml").write_text('ignore = ["all"]\n')
    assert watcher.report() == ["All checks passed!"]
    assert watcher.end() == 130


def test_one_file(tmp_path: Path, start: type) -> None:
    """Watches a file by its name, and mends it if that is asked for."""
    file = tmp_path / "train.py"
    file.write_text(GOOD)
    watcher = start("--fix", "train.py")
    assert watcher.report() == ["All checks passed!"]
    replace(file, BAD)
    assert watcher.report()[-1].startswith("Fixed 1 problem")
    assert file.read_text() != BAD


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-",), "goes with files and folders"),
        (("--diff",), "not with `--diff`"),
        (("gone.py",), "no such file or folder"),
    ],
)
def test_what_cannot_be_watched(start: type, words: tuple[str, ...], message: str) -> None:
    """Says in one line what is wrong."""
    watcher = start(*words)
    assert watcher.process.wait(timeout=30) == 2
    assert message in watcher.line()
