"""Texts that nobody wrote: whatever is in a file, a comment or a configuration, there is an answer and no traceback.

Programs are fixtures with lines and tokens moved about, and what hypothesmith makes of Python's grammar, with its names
replaced by those of a training script. The examples are the same in every run; `ADLINT_FUZZ=5000` tries that many
others. `python tests/guided.py` looks for more, led by the coverage, with atheris.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import keyword
import os
import re
import signal
import subprocess
import sys
import tokenize
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import conftest
import hypothesmith
import programs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutants import KINDS, Cut, mutant

from adlint import linter
from adlint.config import ConfigError, Settings, read
from adlint.discovery import left_out
from adlint.lower import CannotRead, lower
from adlint.source import Source, Unreadable
from adlint.tape import machine
from adlint.tape.abroad import IN_ALL

ROOT = Path(__file__).resolve().parent.parent
TEXTS = [case.text for case in conftest.cases()]
PROFILES = [file.read_text() for file in sorted((ROOT / "rules" / "frameworks").rglob("*.toml"))]
MANY = int(os.environ.get("ADLINT_FUZZ", "0"))
SECONDS = 60
WORDS = (
    *("torch", "nn", "loss", "model", "optimizer", "backward", "zero_grad", "step", "eval", "train", "no_grad", "grad"),
    *(
        "detach",
        "parameters",
        "x",
        "self",
        "forward",
        "retain_graph",
        "data",
        "item",
        "requires_grad",
        "Module",
        "scaler",
    ),
)
HEAD = """\
import torch
from torch import nn
x = torch.ones(2, requires_grad=True)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(x).sum()
loss.backward()
"""


def fuzz(examples: int) -> settings:
    return settings(
        max_examples=MANY or examples,
        derandomize=not MANY,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail where something goes on for longer."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def survive(source: Source, chosen: Settings | None = None) -> None:
    """Lint and mend a text in every way; fail if adlint does, points outside the text, or breaks it."""
    chosen = chosen or Settings(possible=True)
    with within(SECONDS):
        found = linter.lint(source, chosen, always_parse=True)
        result = linter.fix(source, chosen, unsafe=True, always_parse=True)
    for item in (*found, *result.remaining, *result.applied):
        assert item.name != linter.FAILED, item.message
    for item in found:
        assert item.span.start <= item.span.end
        assert item.span.end.line <= source.line_count
        assert "\n" not in item.message
    if parses(source.text):
        assert parses(result.text)
    else:
        assert {item.name for item in result.applied} <= {"unused-suppression"}


@pytest.fixture(autouse=True)
def _bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the steps of every run, by whoever starts it."""
    burn = machine.Machine.burn

    def counted(self: machine.Machine, units: int = 1) -> None:
        used = self.spent + self.granted - self.fuel
        assert self.abroad.inside or used <= machine.IN_FILE + machine.A_NODE
        assert self.abroad.total >= -IN_ALL
        burn(self, units)

    monkeypatch.setattr(machine.Machine, "burn", counted)


@st.composite
def mutants(draw: st.DrawFn, texts: list[str]) -> str:
    """A text with up to five changes, which take from another one."""
    text, donor = draw(st.sampled_from(texts)), draw(st.sampled_from(texts))
    cuts = st.builds(
        Cut,
        st.sampled_from(KINDS),
        st.booleans(),
        st.integers(0, 10**6),
        st.integers(0, 10**6),
        st.integers(1, 12),
    )
    return mutant(text, donor, draw(st.lists(cuts, min_size=1, max_size=5)))


def renamed(text: str) -> str:
    """Put the words of training in the place of a program's names."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    lines = text.splitlines(keepends=True)
    for token in reversed(tokens):
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            row, start = token.start
            word = WORDS[zlib.crc32(token.string.encode("utf-8", "replace")) % len(WORDS)]
            lines[row - 1] = lines[row - 1][:start] + word + lines[row - 1][token.end[1] :]
    return "".join(lines)


@fuzz(80)
@given(mutants(TEXTS))
def test_programs_that_were_tampered_with(text: str) -> None:
    """Lints and mends fixtures whose lines and tokens were moved about."""
    survive(Source("case.py", text))


@fuzz(15)
@given(hypothesmith.from_node(), st.booleans())
def test_programs_out_of_the_grammar(text: str, below: bool) -> None:
    """Lints and mends any syntax, about whatever it is."""
    text = renamed(text)
    body = "".join("    " + line for line in text.splitlines(keepends=True))
    survive(Source("case.py", f"{HEAD}def run(x, self):\n{body}\n    loss.backward()\n" if below else HEAD + text))


@fuzz(150)
@given(mutants(TEXTS), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]), st.data())
def test_bytes_that_were_tampered_with(text: str, encoding: str, data: st.DataObject) -> None:
    """Takes a file for what it is or says where it is none; writes back what it read."""
    raw = bytearray(text.encode(encoding, "replace"))
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4)):
        if raw:
            raw[at % len(raw)] = byte
    try:
        source = Source.from_bytes(bytes(raw), "case.py")
    except Unreadable:
        return
    assert source.encode() == bytes(raw)
    line = 1
    try:
        lower(source.text, "case.py")
    except CannotRead as error:
        line = error.line
    assert 1 <= line <= source.line_count + 1


PIECES = ["# ", "#", "adlint", ":", "ignore", "ignore-file", "noqa", "[", "]", ",", "AD101", "AD1", "AD999", "all"]
PIECES += ["double-backward", "--", "E501", "]]", "[]", "\\", "'", " ", "\t", "\x0c", "\u2028", "ﬀ", "İ"]
COMMENTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@fuzz(25)
@given(st.sampled_from([programs.BAD, *TEXTS[::60]]), st.lists(st.tuples(st.integers(0, 500), COMMENTS), max_size=5))
def test_comments_that_may_silence(text: str, comments: list[tuple[int, str]]) -> None:
    """Makes of a comment a suppression or nothing: it hides findings and brings none but those about itself."""
    lines = text.split("\n")
    for at, comment in comments:
        lines[at % len(lines)] += f"  # {comment}"
    source = Source("case.py", "\n".join(lines))
    survive(source)
    if parses(source.text) and parses(text):
        ours = {"unused-suppression"}
        before = {(item.name, item.span.start) for item in linter.lint(Source("case.py", text))}
        after = {(item.name, item.span.start) for item in linter.lint(source) if item.name not in ours}
        assert after <= before


NOTEBOOK = """\
{"cells": [
 {"cell_type": "code", "source": ["import torch\\n", "%time x = 1\\n", "loss = model(x).sum()"], "metadata": {}},
 {"cell_type": "markdown", "source": "text"},
 {"cell_type": "code", "source": "!ls\\nloss.backward()\\nloss.backward()\\n", "outputs": [], "execution_count": null},
 {"cell_type": "code", "source": ["%%bash\\n", "ls"]}
], "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}
"""


@fuzz(150)
@given(mutants([NOTEBOOK, NOTEBOOK.replace("null", "1e400"), '{"cells": [{"source": ["\\ud800"]}]}']))
def test_notebooks_that_were_tampered_with(text: str) -> None:
    """Reads the cells that can be read, or says where the file is no notebook."""
    try:
        source = Source.from_bytes(text.encode(), "case.ipynb")
    except Unreadable:
        return
    with within(SECONDS):
        found = linter.lint(source, always_parse=True)
        result = linter.fix(source, unsafe=True, always_parse=True)
    assert linter.FAILED not in {item.name for item in (*found, *result.remaining)}
    source.with_text(result.text).encode()


CONFIGURATION = """\
select = ["graph", "AD2"]
extend-select = ["eval-without-no-grad"]
ignore = ["AD102"]
exclude = ["a/", "*.py[cod]", "!b"]
extend-exclude = ["b/**/c"]
respect-gitignore = false
frameworks = []
[per-file-ignores]
"tests/*" = ["double-backward"]
[severity]
slots = "warning"
AD201 = "off"
"""
WRONG = [
    "1",
    "-0x" + "f" * 200,
    "9" * 5_000,
    "inf",
    "1979-05-27T07:32:00",
    '"\\u0000"',
    "[[]]",
    "{}",
    "{a.b=1}",
    "''",
    "[1]",
]
WRONG += [
    "[" * 4_000 + "]" * 4_000,
    "['[z-a]']",
    "['!']",
    "['" + "*" * 500 + "']",
    '["\\u001b[2J\\n"]',
    "[{}]",
    "['a'",
    "nan",
]


def configure(folder: Path, text: str, name: str) -> Settings | None:
    """Read a configuration and use what it says; fail unless what is wrong with it is one line of plain text."""
    file = folder / name
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        with within(SECONDS):
            found = read(file)
            left_out(str(folder / "case.py"), found)
            found.ignored_in(str(folder / "case.py"))
            assert found.rules is not None
    except ConfigError as error:
        found, said = None, str(error)
    else:
        said = str(file)
    assert said.startswith(str(file))
    assert said.isprintable()
    assert len(said) < 5_000
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("configured")


NAMES = st.sampled_from(["adlint.toml", "pyproject.toml"])


def named(text: str, name: str) -> str:
    if name == "adlint.toml":
        return text
    return "[tool.adlint]\n" + text.replace("\n[", "\n[tool.adlint.")


@fuzz(200)
@given(mutants([CONFIGURATION, CONFIGURATION, '[tool]\nadlint.select = ["all"]\n']), NAMES)
def test_settings_that_were_tampered_with(folder: Path, text: str, name: str) -> None:
    """Uses a configuration or says in one line what is wrong with it."""
    configure(folder, named(text, name), name)


@pytest.mark.parametrize("name", ["adlint.toml", "pyproject.toml"])
@pytest.mark.parametrize("value", WRONG, ids=lambda value: value[:12])
@pytest.mark.parametrize("key", re.findall(r"^[\w-]+(?= =)|(?<=^\[)[\w-]+", CONFIGURATION, re.MULTILINE))
def test_values_that_no_setting_has(folder: Path, key: str, value: str, name: str) -> None:
    """Refuses what is of another kind, too large or too deep; takes what is merely odd."""
    found = configure(folder, named(f"{key} = {value}\n", name), name)
    odd = {"[[]]", "{}", "['!']", "['" + "*" * 500 + "']", '["\\u001b[2J\\n"]'}
    assert found is None or value in odd


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(".".join(["a"] * 100_000) + " = 1", id="a key of 100,000 parts"),
        pytest.param("[" + " . ".join(['"a"'] * 100_000) + "]", id="a header of 100,000 parts"),
        pytest.param("a = " + "{b=" * 5_000 + "1" + "}" * 5_000, id="5,000 tables"),
        pytest.param("a = 1\n" * 5_000_000, id="30 million characters"),
        pytest.param("\n" * 900_000 + "a = 1", id="900,000 blank lines"),
        pytest.param("tool = 3", id="no table of tools"),
        pytest.param("[[tool]]\nadlint = 1", id="a list of tools"),
        pytest.param("[tool]\nadlint = [1]", id="a list of settings"),
        pytest.param("\ufeffa = 1", id="byte order mark"),
        pytest.param("a = '\ud800'", id="surrogate"),
        pytest.param("frameworks = ['" + "x" * 10_000 + "']", id="a name of 10,000 characters"),
        pytest.param("frameworks = ['.', '/', 'adlint.toml']", id="folders as profiles"),
    ],
)
@pytest.mark.parametrize("name", ["adlint.toml", "pyproject.toml"])
def test_hostile_settings(folder: Path, text: str, name: str) -> None:
    """Says so at once where a configuration cannot be one."""
    tables = name == "pyproject.toml" and "tool" not in text
    found = configure(folder, f"[tool.adlint]\n{text}" if tables else text, name)
    assert found is None or (name == "pyproject.toml" and "tool" in text)


@fuzz(80)
@given(mutants([text for text in PROFILES if "\nroots" in text or text.startswith("id")] or PROFILES))
def test_profiles_that_were_tampered_with(folder: Path, text: str) -> None:
    """Uses a project's own profile or says what is wrong with it."""
    text = re.sub(r'^id = ".*"', 'id = "ours"', text, flags=re.MULTILINE)
    (folder / "ours.toml").write_bytes(text.encode("utf-8", "replace"))
    found = configure(folder, 'frameworks = ["ours.toml"]', "adlint.toml")
    if found is not None:
        text = programs.BAD.replace("torch", "ours") if "ours" in found.profiles else programs.BAD
        survive(Source("case.py", text), found)
        survive(Source("case.py", programs.BAD), found)


NEWER = {
    "match": "match loss:\n    case {'a': [x, *_], **rest} if x: pass\n    case nn.Linear(weight=w) | None: pass\n",
    "type": "type A[T: (int, str) = int, *Ts = *tuple[int], **P = []] = list[T]\n",
    "type parameters": "def f[T: int = int](x: T) -> T: return x\nclass C[T](list): pass\n",
    "f-strings": "print(f'{'a' + f\"{'b'}\"}')\nprint(f'{\n1\n}')\n",
    "t-strings": "x = t'a {loss!r:>{3}} b'\n",
    "except": "try: pass\nexcept ValueError, TypeError: pass\n",
    "except star": "try: pass\nexcept* (ValueError, TypeError): pass\n",
    "lazy": "lazy import json\nlazy from os import path\n",
    "with": "with (open('a') as a, open('b') as b,): pass\n",
    "star": "def g(*args: *tuple[int]): return a[*args]\n",
    "finally": "def g():\n    for i in x:\n        try: pass\n        finally: continue\n",
}


@pytest.mark.parametrize("name", NEWER)
def test_newer_syntax(name: str) -> None:
    """Lints and mends what this Python may not yet parse, and calls it no error."""
    head, rest = HEAD.rsplit("loss.backward()\n", 1)
    text = f"{head}{NEWER[name]}loss.backward(){rest}\n"
    twice = Source("case.py", text + "loss.backward()\n")
    assert ["double-backward"] == [item.name for item in linter.lint(twice)]
    assert text == linter.fix(twice).text
    assert [] == linter.lint(Source("case.py", NEWER[name]), always_parse=True)
    broken = linter.lint(Source("case.py", NEWER[name] + "def f(:\n"), always_parse=True)
    assert ["unreadable-source"] == [item.name for item in broken]


def test_guided_by_coverage(tmp_path: Path) -> None:
    """Finds nothing in a short search with atheris, where that is installed."""
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "guided.py"), "-runs=150", "-seed=1", f"-artifact_prefix={tmp_path}/"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert "Done 150 runs" in done.stderr
