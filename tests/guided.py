"""Search, led by coverage, for a text that adlint fails on: `python tests/guided.py [-runs=N] [CORPUS]`, with atheris.

The first byte of an input says what the rest is: a program, a notebook, or a configuration.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["adlint"]):
    from adlint import linter
    from adlint.config import ConfigError, Settings, read
    from adlint.discovery import left_out
    from adlint.source import Source, Unreadable

TESTS = Path(__file__).resolve().parent
FOLDER = Path(tempfile.mkdtemp(prefix="adlint-guided-"))


def one_input(data: bytes) -> None:
    """Fail on any exception, and on a finding that says that there was one."""
    kind, rest = data[:1], data[1:]
    if kind == b"c":
        (FOLDER / "adlint.toml").write_bytes(rest)
        try:
            left_out(str(FOLDER / "case.py"), read(FOLDER / "adlint.toml"))
        except ConfigError:
            return
        return
    try:
        source = Source.from_bytes(rest, "case.ipynb" if kind == b"n" else "case.py")
    except Unreadable:
        return
    result = linter.fix(source, Settings(possible=True), unsafe=True, always_parse=True)
    source.with_text(result.text).encode()
    for item in result.remaining:
        if item.name == linter.FAILED:
            raise AssertionError(item.message)


def main() -> None:
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    for number, file in enumerate(sorted((TESTS / "fixtures").glob("*/*/*.py"))[::10]):
        (corpus / str(number)).write_bytes(b"p" + file.read_bytes())
    (corpus / "settings").write_bytes(b'cselect = ["all"]\nexclude = ["a"]\n[severity]\nslots = "off"\n')
    (corpus / "notebook").write_bytes(b'n{"cells": [{"cell_type": "code", "source": "x"}], "nbformat": 4}')
    atheris.Setup([*sys.argv, str(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
