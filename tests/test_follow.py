"""Projects of several files: where imports lead, what the tape makes of them, and that nothing else decides.

Every folder in `projects` is a program, run by its `main.py`; marks are those of the fixtures.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import oracle
import pytest

from adlint import discovery, follow, linter, project
from adlint.cache import Cache
from adlint.config import Finder, Settings
from adlint.follow import LARGEST, Follower, Project
from adlint.source import Source
from adlint.tape.resolver import NOTHING, Nothing

MARK = re.compile(r"[ \t]*# want: ([\w-]+)[ \t]*$", re.M)
FOLDERS = sorted(path for path in (Path(__file__).parent / "projects").iterdir() if path.is_dir())
FREED = "Trying to backward through the graph a second time"
Found = dict[str, list[tuple[int, str]]]


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of a project, without the marks."""
    copy = tmp_path / request.param.name
    shutil.copytree(request.param, copy, ignore=shutil.ignore_patterns("__pycache__", ".adlint_cache"))
    for file in copy.rglob("*.py"):
        file.write_text(MARK.sub("", file.read_text()))
    return copy


def wanted(folder: Path) -> Found:
    original = next(path for path in FOLDERS if path.name == folder.name)
    marks = {
        file.relative_to(original).as_posix(): [
            (number, name) for number, line in enumerate(file.read_text().split("\n"), 1) for name in MARK.findall(line)
        ]
        for file in original.rglob("*.py")
    }
    return {name: lines for name, lines in marks.items() if lines}


def found(folder: Path, files: list[Path] | None = None, cache: bool = False) -> Found:
    paths = [str(file) for file in files] if files else [str(folder)]
    results = project.lint(discovery.discover(paths, Finder()), Cache(folder) if cache else None)
    return {
        Path(path).relative_to(folder).as_posix(): [(d.span.start.line, d.name) for d in items if d.code != "AD000"]
        for path, items in results.items()
        if items
    }


def readable(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*.py") if file.name != "nonsense.py")


def test_findings(folder: Path) -> None:
    """Reports exactly what is marked, once, in the file that holds it."""
    assert found(folder, readable(folder)) == wanted(folder)


def test_each_file_alone(folder: Path) -> None:
    """Says of a file that is named alone what it says of it among the others, given the project's folder."""
    (folder / "adlint.toml").touch()
    alone: Found = {}
    for file in readable(folder):
        alone |= found(folder, [file])
    assert alone == wanted(folder)


def test_order_of_files(folder: Path) -> None:
    """Depends on no order: each file is linted in a process that has read any of the others before."""
    files = readable(folder)
    known = Project(str(folder), Settings().profiles.values())
    for order in list(permutations(files))[::7][:6]:
        got: Found = {}
        for file in order:
            items = linter.lint(Source.read(file), resolver=Follower(known, str(file)))
            if items:
                got[file.relative_to(folder).as_posix()] = [(d.span.start.line, d.name) for d in items]
        assert got == wanted(folder)


def test_workers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depends on no number of workers."""
    monkeypatch.setattr(project, "ALONE", 0)
    monkeypatch.setattr(project, "_processors", lambda: 2)
    assert found(folder, readable(folder)) == wanted(folder)


def test_cache(folder: Path) -> None:
    """Says the same from the cache."""
    for _ in range(2):
        assert found(folder, readable(folder), cache=True) == wanted(folder)


@pytest.mark.runtime
def test_programs_run(folder: Path) -> None:
    """Runs under PyTorch, or fails as a mark says."""
    main = next(folder.rglob("main.py"))
    ran = subprocess.run(
        [sys.executable, main.name],
        cwd=main.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    marks = [(main.name, mark) for marks in wanted(folder).values() for mark in marks if mark[1].endswith("backward")]
    if marks:
        assert FREED in ran.stderr
        assert f'{marks[0][0]}", line {marks[0][1][0]}' in ran.stderr
    else:
        assert ran.returncode == 0, ran.stderr
        assert "RESULT" in ran.stdout


NET = "import torch\n\n\ndef prepare(optimizer):\n    {}\n"
TRAIN = """import torch
from helpers import prepare

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    prepare(optimizer)
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
"""


def test_cache_sees_other_files(tmp_path: Path) -> None:
    """Looks at a file again when one that it imports changes, comes or goes."""
    train, helpers = tmp_path / "train.py", tmp_path / "helpers.py"
    train.write_text(TRAIN)

    def names() -> list[str]:
        return [name for _, name in found(tmp_path, cache=True).get("train.py", [])]

    assert names() == []  # nobody knows what `prepare` does
    helpers.write_text(NET.format("print(torch)"))
    assert names() == ["missing-zero-grad"]
    helpers.write_text(NET.format("optimizer.zero_grad()"))
    assert names() == []
    helpers.write_text(NET.format("print(torch)"))
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "__init__.py").write_text(NET.format("optimizer.zero_grad()"))
    assert names() == []
    shutil.rmtree(tmp_path / "helpers")
    assert names() == ["missing-zero-grad"]
    helpers.unlink()
    assert names() == []


@pytest.mark.parametrize(
    ("importer", "dotted", "led"),
    [
        ("src/lab/model.py", ".blocks.Block", ("src/lab/blocks.py", ("Block",))),
        ("src/lab/model.py", "..lab", ("src/lab/__init__.py", ())),
        ("src/lab/model.py", "lab.blocks", ("src/lab/blocks.py", ())),
        ("src/lab/model.py", "blocks", ("src/lab/blocks.py", ())),
        ("src/lab/model.py", "json", None),
        ("src/lab/model.py", "torch", None),
        ("scripts/run.py", "lab.Net", ("src/lab/__init__.py", ("Net",))),
        ("scripts/run.py", "json", ("scripts/json.py", ())),
        ("scripts/run.py", "tools.data.load", ("tools/data", ("load",))),
        ("scripts/run.py", "tools.data.more.x.y", ("tools/data/more.py", ("x", "y"))),
        ("scripts/run.py", ".json", ("scripts/json.py", ())),
        ("scripts/run.py", "numpy.random", None),
        ("scripts/run.py", "outputs", None),
    ],
)
def test_where_imports_lead(
    tmp_path: Path, importer: str, dotted: str, led: tuple[str, tuple[str, ...]] | None
) -> None:
    """Looks beside the script, then up to the project's folder and its `src`, last in the package itself."""
    for name in (
        "src/lab/__init__.py",
        "src/lab/blocks.py",
        "src/lab/model.py",
        "src/lab/json.py",
        "scripts/run.py",
        "scripts/json.py",
        "scripts/torch.py",
        "tools/data/more.py",
        "outputs/log.txt",
        "pyproject.toml",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    resolver = Project(str(tmp_path / "scripts"), Settings().profiles.values())
    path = resolver.find(str(tmp_path / importer), dotted)
    assert path == (None if led is None else (str(tmp_path / led[0]), led[1]))


IMPORTS = {
    "name": "from tools import prepare",
    "other name": "from tools import prepare as ready\nprepare = ready",
    "module": "import tools\nprepare = tools.prepare",
    "module by another name": "import tools as t\nprepare = t.prepare",
    "submodule": "import pack.inner\nprepare = pack.inner.prepare",
    "submodule of a package": "from pack import inner\nprepare = inner.prepare",
    "of a package": "from pack import prepare",
    "attribute of a package": "import pack\nprepare = pack.prepare",
    "star": "from tools import *",
    "star of a package": "from pack.stars import *",
    "star of a star": "from pack.more import *",
    "name of a star": "from pack.stars import prepare",
    "class of a module": "from tools import Tools\nprepare = Tools.prepare",
    "object of a module": "from tools import TOOLS\nprepare = TOOLS.prepare",
    "object's member": "from tools import held\nprepare = held['prepare']",
    "in a function": "def prepare(optimizer):\n    from tools import prepare as ready\n    ready(optimizer)",
    "in a try": "try:\n    from tools import prepare\nexcept ImportError:\n    prepare = None",
    "by name": "import importlib\nprepare = importlib.import_module('tools').prepare",
    "round and round": "from pack.one import prepare",
}
"""Ways to import `prepare`."""

FILES = {
    "tools.py": (
        "def prepare(optimizer):\n    {}\n\n\n"
        "class Tools:\n    @staticmethod\n    def prepare(optimizer):\n        {}\n"
        "\n\nTOOLS = Tools()\nheld = {{'prepare': prepare}}\n"
    ),
    "pack/__init__.py": "from .inner import prepare\n",
    "pack/inner.py": "def prepare(optimizer):\n    {}\n",
    "pack/stars.py": "from .inner import *\n",
    "pack/more.py": "from .stars import *\n",
    "pack/one.py": "from . import two\nfrom .inner import prepare\n",
    "pack/two.py": "from .one import *\n",
}
UNFOLLOWED = {"by name": "what is imported by its name is unknown"}


@pytest.mark.parametrize("way", IMPORTS)
def test_ways_to_import(tmp_path: Path, way: str) -> None:
    """A function that does not clear is met, and one that does, whatever the way to it; the programs run."""
    train = tmp_path / "train.py"
    train.write_text(TRAIN.replace("from helpers import prepare", IMPORTS[way]))
    results = {}
    for does in ("print(torch)", "optimizer.zero_grad()"):
        for name, text in FILES.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("import torch\n" + text.format(does, does))
        results[does] = [name for _, name in found(tmp_path).get("train.py", [])]
        if importlib.util.find_spec("torch") is not None:
            path = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nsys.dont_write_bytecode = True\n"
            assert oracle.run(path + train.read_text()).error is None
    assert results["optimizer.zero_grad()"] == []
    assert results["print(torch)"] == ([] if way in UNFOLLOWED else ["missing-zero-grad"])


def test_a_text_alone() -> None:
    """Without a resolver, imports lead nowhere."""
    assert linter.lint(Source("train.py", TRAIN)) == []


def test_what_cannot_be_followed(tmp_path: Path) -> None:
    """Takes a file that cannot be read, or is too large, and a folder for code that nobody can see."""
    (tmp_path / "adlint.toml").touch()
    (tmp_path / "train.py").write_text(TRAIN)
    helpers = tmp_path / "helpers.py"

    def names() -> list[str]:
        return [name for _, name in found(tmp_path, [tmp_path / "train.py"]).get("train.py", [])]

    helpers.write_text(NET.format("print(torch)"))
    assert names() == ["missing-zero-grad"]
    helpers.write_text(NET.format("print(torch)") + "#" * LARGEST)
    assert names() == []
    helpers.unlink()
    helpers.symlink_to("nowhere.py")
    assert names() == []
    helpers.unlink()
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "more.py").write_text(NET.format("print(torch)"))
    assert names() == []
    follower = Follower(Project(str(tmp_path), Settings().profiles.values()), str(tmp_path / "train.py"))
    folder = str(tmp_path / "helpers")
    assert (follower.program(folder), follower.names(folder, "prepare"), follower.uses.read) == (None, False, {})
    assert follower.submodule(folder, "more") == str(tmp_path / "helpers" / "more.py")


def test_programs_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the programs of so many characters of other files, and reads one again that it needs again."""
    texts = {name: NET.format(f"print(torch, '{name}')") for name in ("a", "b", "c")}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(follow, "KEPT", 2 * len(texts["a"]))
    known = Project(str(tmp_path), Settings().profiles.values())

    def program(name: str) -> object:
        return known.program(str(tmp_path / f"{name}.py"), f"{name}.py")

    first = program("a")
    assert first is not None
    assert program("b") is not None
    assert program("a") is first
    assert program("c") is not None
    assert program("a") is not first


def test_nothing_to_follow() -> None:
    """A text by itself is a project that has no other files."""
    assert NOTHING.identity("a.py") == "a.py"
    assert (NOTHING.find("a.py", "b"), NOTHING.submodule("b", "c"), NOTHING.program("b")) == (None, None, None)
    assert (NOTHING.names("b", "c"), NOTHING.callers("a.py", "f")) == (False, ())


def test_a_project_too_large_silences_only_what_depends_on_callers() -> None:
    """A finding that no caller could change is reported, though nobody can tell who the callers are."""

    class TooLarge(Nothing):
        def callers(self, path: str, name: str) -> tuple[str, ...] | None:
            return None

    text = (
        "import torch\nx = torch.ones(3, requires_grad=True)\nloss = (x * x).sum()\nloss.backward()\nloss.backward()\n"
    )
    assert [item.name for item in linter.lint(Source("train.py", text), resolver=TooLarge())] == ["double-backward"]
