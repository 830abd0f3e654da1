"""What happens around a run: kills, races, full disks, odd names, and projects that would like to be executed."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from errno import ENOSPC, EROFS
from pathlib import Path

import pytest
from click.testing import CliRunner
from programs import BAD, GOOD

import adlint.lower  # noqa: F401  # loaded before a child is forked
from adlint import linter, project
from adlint.cli import application
from adlint.config import Finder, Settings
from adlint.diagnostics import Severity
from adlint.discovery import discover
from adlint.files import read_regular, write_atomically
from adlint.profiles import read_profile
from adlint.reports import FORMATS
from adlint.source import Source
from adlint.tables import CatalogError
from adlint.tape import machine

ROOT = Path(__file__).resolve().parent.parent
OLD, NEW = BAD.encode(), GOOD.encode()


def check(*arguments: str) -> tuple[int, str, str]:
    """Run `adlint check` here; return exit status, standard output and standard error."""
    done = CliRunner().invoke(application(), ["check", *arguments], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, done.stdout, done.stderr


def command(
    *arguments: str, folder: Path, start: Sequence[str] = ("-m", "adlint"), **more: object
) -> subprocess.Popen[bytes]:
    """Start `python -m adlint check` in a folder."""
    return subprocess.Popen(
        [sys.executable, *start, "check", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        start_new_session=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},  # type: ignore[call-overload]
    )


def forked(action: Callable[[], object]) -> int:
    """Do something in a child; return how it ended, as `os.waitpid` has it."""
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except BaseException as error:
            os.write(2, repr(error).encode())
        finally:
            os._exit(70)
    return os.waitpid(child, 0)[1]


def tree(folder: Path, count: int) -> list[Path]:
    """Write some files, each with something to mend."""
    files = [folder / f"part{number}" / "train.py" for number in range(count)]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(OLD)
    return files


MOMENTS = [(tempfile, "mkstemp"), (os, "fsync"), (shutil, "copymode"), (os, "replace")]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("home", "name"), MOMENTS, ids=[name for _, name in MOMENTS])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_kill_at_each_step_of_writing(tmp_path: Path, home: object, name: str, after: bool, nth: int) -> None:
    """Leaves every file old or new, and nothing that a second run stumbles over."""
    files = tree(tmp_path, 3)
    calls = [0]
    whole = getattr(home, name)

    def dying(*arguments: object, **keywords: object) -> object:
        calls[0] += 1
        if calls[0] == nth and not after:
            os._exit(9)
        result = whole(*arguments, **keywords)
        if calls[0] == nth:
            os._exit(9)
        return result

    def run() -> None:
        setattr(home, name, dying)
        check(str(tmp_path), "--no-cache", "--fix")

    assert 9 == os.waitstatus_to_exitcode(forked(run))
    found = [file.read_bytes() for file in files]
    done = nth if name == "replace" and after else nth - 1
    assert [NEW] * done + [OLD] * (len(files) - done) == found
    assert 0 == check(str(tmp_path), "--fix")[0]
    assert [NEW] * len(files) == [file.read_bytes() for file in files]
    assert 0 == check(str(tmp_path))[0]


def test_a_kill_at_any_moment(tmp_path: Path) -> None:
    """Leaves every file old or new, the cache usable, and no worker behind."""
    for number in range(6):
        files = tree(tmp_path, 9)
        with command(".", "--fix", folder=tmp_path) as child:
            time.sleep(0.15 + 0.15 * number)
            child.kill()
        assert {file.read_bytes() for file in files} <= {OLD, NEW}
    status, _, err = check(str(tmp_path), "--fix")
    assert (0, "") == (status, err)
    assert {NEW} == {file.read_bytes() for file in files}
    until = time.monotonic() + 20
    while members(child.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert [] == members(child.pid)


def members(session: int) -> list[int]:
    """Return the living processes of a session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == str(session) and fields[0] != "Z":
            found.append(int(folder.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_killed_run_leaves_no_worker(tmp_path: Path) -> None:
    """Ends the workers, busy or idle, when the run that they work for is killed."""
    tree(tmp_path, 12)
    with command(".", "--no-cache", folder=tmp_path) as child:
        until = time.monotonic() + 30
        while len(members(child.pid)) < 2 and child.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        workers = len(members(child.pid))
        child.kill()
    while members(child.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert [] == members(child.pid)
    assert workers > 1 or len(os.sched_getaffinity(0)) == 1


def test_two_runs_at_once(tmp_path: Path) -> None:
    """Mends every file once, whoever comes first, and says so where the other one did."""
    files = tree(tmp_path, 6)
    runs = [command(".", "--fix", folder=tmp_path) for _ in range(2)]
    for run in runs:
        _, err = run.communicate()
        assert run.returncode in (0, 2)
        said = err.decode().splitlines()
        assert all(line.endswith("cannot be written: the file has changed meanwhile") for line in said)
        assert (run.returncode == 2) == bool(said)
    assert {NEW} == {file.read_bytes() for file in files}
    assert ["train.py"] == os.listdir(files[0].parent)
    assert 0 == check(str(tmp_path))[0]


NEWER = b"# somebody else's\n" + OLD


@pytest.mark.parametrize("moment", ["mkstemp", "fsync"])
def test_a_file_that_changes_while_it_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """Does not overwrite what somebody has saved meanwhile, says so, and goes on with the next file."""
    files = tree(tmp_path, 2)
    home = tempfile if moment == "mkstemp" else os
    whole = getattr(home, moment)

    def save(*arguments: object, **keywords: object) -> object:
        if files[0].read_bytes() == OLD:
            files[0].write_bytes(NEWER)
        return whole(*arguments, **keywords)

    monkeypatch.setattr(home, moment, save)
    status, _, err = check(str(tmp_path), "--no-cache", "--fix")
    assert 2 == status
    assert f"adlint: error: {files[0]}: cannot be written: the file has changed meanwhile\n" == err
    assert [NEWER, NEW] == [file.read_bytes() for file in files]
    assert ["train.py"] == os.listdir(files[0].parent)


@pytest.mark.parametrize("kind", ["gone", "folder", "fifo"])
@pytest.mark.parametrize("moment", ["lint", "fix"])
def test_a_file_that_vanishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, moment: str) -> None:
    """Reports the others where a file is taken away, or another thing is put in its place, before it is mended."""
    files = tree(tmp_path, 2)
    whole = getattr(project, moment)

    def vanish() -> None:
        files[0].unlink()
        if kind == "folder":
            files[0].mkdir()
        if kind == "fifo":
            os.mkfifo(files[0])

    def around(*arguments: object, **keywords: object) -> object:
        results = whole(*arguments, **keywords)
        results = results if moment == "lint" else list(results)
        vanish()
        return results

    monkeypatch.setattr(project, moment, around)
    if kind == "fifo":
        monkeypatch.setattr(
            Source, "read", classmethod(lambda cls, path: cls.from_bytes(read_regular(path), str(path)))
        )
    status, out, err = check(str(tmp_path), "--no-cache", "--fix")
    assert (moment == "fix") == ("cannot be written" in err)
    assert NEW == files[1].read_bytes()
    assert (1 if moment == "lint" else 2) == status
    assert "double-backward" in out


def refusing(error: OSError) -> Callable[..., object]:
    def refuse(*arguments: object, **keywords: object) -> object:
        raise error

    return refuse


@pytest.mark.parametrize(
    ("home", "name", "error"),
    [
        pytest.param(tempfile, "mkstemp", OSError(ENOSPC, "No space left on device"), id="no room for a file"),
        pytest.param(os, "fsync", OSError(ENOSPC, "No space left on device"), id="no room for its content"),
        pytest.param(tempfile, "mkstemp", OSError(EROFS, "Read-only file system"), id="read-only folder"),
        pytest.param(shutil, "copymode", PermissionError(1, "Operation not permitted"), id="foreign file"),
    ],
)
def test_a_disk_that_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: object, name: str, error: OSError
) -> None:
    """Says why, keeps the old files and nothing else, and still reports what is wrong in them."""
    files = tree(tmp_path, 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(home, name, refusing(error))
    status, out, err = check(".", "--fix")
    assert (2, 2) == (status, err.count(f"cannot be written: {error.strerror}\n"))
    assert 2 == out.count(" double-backward: ")
    assert [(OLD, ["train.py"])] * 2 == [(file.read_bytes(), os.listdir(file.parent)) for file in files]


def test_a_disk_that_is_full_half_way(tmp_path: Path) -> None:
    """Keeps the old file where the system takes only the first bytes of the new one."""
    file = tree(tmp_path, 1)[0]

    def run() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        status, _, err = check(str(tmp_path), "--fix")
        assert (status, "cannot be written: File too large" in err) == (2, True), err

    assert 0 == forked(run)
    assert (OLD, ["train.py"]) == (file.read_bytes(), os.listdir(file.parent))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("form", FORMATS)
def test_a_report_that_cannot_be_written(tmp_path: Path, form: str) -> None:
    """Exits with 2 and one line where standard output is full."""
    tree(tmp_path, 1)
    with open("/dev/full", "wb") as full, command(".", "--output-format", form, folder=tmp_path, stdout=full) as child:
        _, err = child.communicate()
    assert (2, b"adlint: error: No space left on device\n") == (child.returncode, err)


def test_a_file_that_is_marked_read_only(tmp_path: Path) -> None:
    """Is reported and stays as it is, also where the folder would let it be replaced."""
    files = tree(tmp_path, 2)
    files[0].chmod(0o444)
    status, out, err = check(str(tmp_path), "--no-cache", "--fix")
    assert (2, f"adlint: error: {files[0]}: cannot be written: the file is read-only\n") == (status, err)
    assert [OLD, NEW] == [file.read_bytes() for file in files]
    assert " double-backward: " in out


def test_links_in_circles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at every file once, follows imports past the circle, and reports what leads nowhere."""
    (tmp_path / "train.py").write_text("from engine import model\nfrom deep.deep.deep.engine import other\n" + BAD)
    (tmp_path / "engine.py").write_text("from torch import nn\nmodel = other = nn.Linear(1, 1)\n")
    (tmp_path / "deep").symlink_to(".")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "over").symlink_to(f"../{'ab'.replace(name, '')}")
    (tmp_path / "left.py").symlink_to("right.py")
    (tmp_path / "right.py").symlink_to("left.py")
    for name in (".gitignore", "adlint.toml", "pyproject.toml", "circle"):
        (tmp_path / name).symlink_to(name)
    monkeypatch.chdir(tmp_path)
    status, out, _ = check(".", "--fix", "--output-format", "json")
    assert (1, ["left.py", "right.py"]) == (status, [item["filename"] for item in json.loads(out)])
    assert (tmp_path / "train.py").read_text().endswith(GOOD)
    entries = project.Project(str(tmp_path), Settings().profiles.values())
    assert (str(tmp_path / "engine.py"), ()) == entries.find(str(tmp_path / "train.py"), "engine")


def test_pipes_among_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not wait for what will never be written, whoever asks for the file."""
    for name in (".gitignore", "engine.py", "adlint.toml", "pyproject.toml", "case.ipynb", "__init__.py"):
        os.mkfifo(tmp_path / name)
    caller = "def evaluate(model, x):\n    model.eval()\n    return model(x).sum().item()\n"
    (tmp_path / "train.py").write_text("from engine import model\n" + BAD + caller)
    monkeypatch.chdir(tmp_path)
    with command(".", "--fix", "--possible", folder=tmp_path) as child:
        try:
            child.wait(60)
        finally:
            child.kill()
    assert child.returncode in (0, 1)
    with pytest.raises(OSError, match="is not a regular file"):
        read_regular("engine.py")
    with pytest.raises(OSError, match="is not a regular file"):
        read_regular(os.devnull)


NAMES = [
    *(b"new\nline.py", b"--fix.py", b"-q", b"tab\t\x1b[2J.py", b"sur\xffrogate.py"),
    *("é\u2028\u202e.py".encode(), b"a:1:2: error.py", b" '\"%s{0}$(x)[bold].py"),
]


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Files with names that are no good for a report; every one can be mended."""
    monkeypatch.chdir(tmp_path)
    names = [name if name.endswith(b".py") else name + b"/" + name + b".py" for name in NAMES]
    for name in names:
        path = os.fsencode(tmp_path) + b"/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(OLD)
    return names


def lines(folder: Path, *arguments: str, status: int = 1) -> list[str]:
    """Run `adlint check` in a folder as a terminal sees it; return the lines, which are text without surprises."""
    with command(".", *arguments, folder=folder) as child:
        out, err = child.communicate()
    assert b"Traceback" not in err
    assert status == child.returncode, err
    assert b"\x1b" not in out
    assert "json" in arguments or all(line.isprintable() for line in out.decode().split("\n"))
    return out.decode().split("\n")[:-1]


def test_odd_names_in_json(odd: list[bytes], tmp_path: Path) -> None:
    """Gives back every name as it is."""
    found = json.loads("".join(lines(tmp_path, "--output-format", "json")))
    assert sorted(odd) == sorted(os.fsencode(item["filename"]) for item in found)


def test_odd_names_in_lines(odd: list[bytes], tmp_path: Path) -> None:
    """Has one line for each finding, whatever is in its name."""
    found = lines(tmp_path, "--output-format", "concise")
    assert len(odd) == sum(": error AD101 double-backward: " in line for line in found)
    assert len(odd) + 1 == len(found)
    assert any(line.startswith(r"new\nline.py:13:5: ") for line in found)


def test_odd_names_in_frames(odd: list[bytes], tmp_path: Path) -> None:
    """Shows nothing that moves the cursor or turns the text around, and says the same from the cache."""
    found = lines(tmp_path)
    assert len(odd) == sum("error AD101 double-backward: " in line for line in found)
    assert found == lines(tmp_path)


def test_odd_names_in_differences(odd: list[bytes], tmp_path: Path) -> None:
    """Keeps the header of a difference in one line."""
    found = lines(tmp_path, "--diff")
    assert len(odd) == sum(line.startswith("--- ") for line in found)
    assert '--- "new\\nline.py"' in found


def test_odd_names_are_mended(odd: list[bytes], tmp_path: Path) -> None:
    """Writes to the file itself."""
    assert [f"Fixed {len(odd)} problems."] == lines(tmp_path, "--fix", status=0)
    assert {NEW} == {Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).read_bytes() for name in odd}


def test_names_that_begin_with_a_dash(odd: list[bytes], tmp_path: Path) -> None:
    """Takes what comes after `--` for paths."""
    assert (1, True) == (lambda done: (done[0], "--fix.py:13:5" in done[1]))(check("--no-cache", "--", "--fix.py"))


MARKING = """\
import os
with open({marker!r}, "a") as stream:
    stream.write({name!r} + "\\n")
"""
EXECUTED = [
    *(
        "conftest.py",
        "setup.py",
        "sitecustomize.py",
        "usercustomize.py",
        "noxfile.py",
        "adlint_plugin.py",
        "__init__.py",
    ),
    *("__main__.py", "engine.py", "pack/__init__.py", "pack/deep.py", "torch.py", "nn.py", "click.py", "libcst.py"),
    *(
        "json.py",
        "typing.py",
        "rich.py",
        "pathspec/__init__.py",
        "tomllib.py",
        "hatch_build.py",
        "shutil.py",
    ),
    *("concurrent.py", "multiprocessing.py", "difflib.py", "tempfile.py", "ast.py", "tokenize.py", "yaml.py"),
]


@pytest.mark.parametrize(
    ("script", "arguments"),
    [(False, ("--fix", "--unsafe-fixes")), (True, ("--fix", "--unsafe-fixes")), (True, ("--possible",))],
    ids=["module", "script", "script, possible"],
)
def test_nothing_of_the_project_is_executed(tmp_path: Path, script: bool, arguments: tuple[str, ...]) -> None:
    """Reads modules, configuration and plugins without importing any, also those that bear the name of a library."""
    home, marker = tmp_path / "project", tmp_path / "marker"
    start = tmp_path / "adlint"
    start.write_text("from adlint.cli import main\nmain()\n")
    for name in (*EXECUTED, *(["adlint.py"] if script else [])):
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(MARKING.format(marker=str(marker), name=name) + "import torch\nmodel = torch.nn.Linear(3, 1)\n")
    imports = "from engine import model as first\nimport pack.deep\nfrom . import conftest\n"
    for number in range(9):
        (home / f"train{number}.py").write_text(
            imports + BAD + "first(pack.deep.model).backward()\n__import__('setup')\n"
        )
    (home / "ours.toml").write_text('id = "ours"\nroots = ["ours"]\nconsume = "never"\n[terms]\nbackward = "pull()"\n')
    (home / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "hatch_build"\nbackend-path = ["."]\n'
        '[project.entry-points.adlint]\nx = "adlint_plugin"\n[tool.pytest.ini_options]\naddopts = "-p adlint_plugin"\n'
        '[tool.adlint]\nframeworks = ["ours.toml"]\n'
    )
    with command(".", *arguments, folder=home, start=[str(start)] if script else ["-m", "adlint"]) as child:
        out, err = child.communicate()
    assert b"double-backward" in out or b"Fixed 9" in out, err
    assert not marker.exists(), marker.read_text()
    with subprocess.Popen([sys.executable, "engine.py"], cwd=home, stderr=subprocess.DEVNULL) as proof:
        proof.wait()
    assert "engine.py" in marker.read_text()


def test_a_project_of_broken_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes over a line of `.gitignore` that is no pattern, as git does, and keeps the others."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_bytes(b"[z-a]\n!\nleft.py\n\xff\n\\\n[\n")
    for name in ("left.py", "kept.py"):
        (tmp_path / name).write_bytes(OLD)
    monkeypatch.chdir(tmp_path)
    assert ["kept.py"] == [file.path for file in discover(["."], Finder()).files]


@pytest.mark.parametrize(
    "table", ['[roles]\nloss = ["*[z-a]"]', 'patterns = [["loss", "[z-a]"]]', "patterns = [[0x" + "f" * 9_000 + "]]"]
)
def test_profiles_of_broken_patterns(tmp_path: Path, table: str) -> None:
    """Names the file and the key."""
    keys = 'id = "ours"\nroots = ["ours"]\nconsume = "never"\n'
    text = keys + table + "\n[terms]\n" if table.startswith("patterns") else keys + "[terms]\n" + table
    (tmp_path / "ours.toml").write_text(text)
    with pytest.raises(CatalogError, match=r"ours\.toml: (roles\.loss|patterns): .*pa(ttern|irs)"):
        read_profile(tmp_path / "ours.toml", ())


HEAD = "import torch\nfrom torch import nn\n"
LARGE = {
    "branches": "def f(m, x, o, a):\n"
    + "".join(f"    if a.b{n}:\n        x = m(x)\n    elif a.c{n}:\n        o.step()\n" for n in range(800))
    + "    x.backward()\n",
    "nested": "".join("    " * n + f"for i{n} in range(9):\n" for n in range(90))
    + "    " * 90
    + "torch.ones(1).backward()\n",
    "nested functions": "".join("    " * n + f"def f{n}(x):\n" for n in range(90)) + "    " * 90 + "x.backward()\n",
    "brackets": "loss = " + "(" * 95 + "torch.ones(1)" + ")" * 95 + "\nloss.backward()\n",
    "statements": "m = nn.Linear(2, 2)\nx = torch.ones(2)\n"
    + "".join(f"x{n} = m(x)\n" for n in range(3_000))
    + "x.backward()\n",
    "elements": "x = [" + "torch.ones(2, requires_grad=True),\n" * 2_000 + "]\nfor a in x:\n    a.sum().backward()\n",
    "numbers": "x = [torch.ones(2) for _ in range(10**9)]\ny = [0] * 10**9\nz = 'a' * 10**10\nk = 10**10**8\n"
    "w = 1 << 10**9\n"
    "for i in range(10**12):\n    x[i].sum().backward()\nq = list(range(10**9))\nq[10**30:]\n",
    "recursion": "def f(x, o):\n    "
    + " + ".join(f"f(x.g{n}, o)" for n in range(40))
    + "\n    x.backward()\n    return f(x, o)\n",
    "classes": "".join(
        f"class A{n}(nn.Module):\n    def forward(self, x):\n        return x\n    def fit(self, o, x):\n"
        "        self(x).sum().backward()\n        o.step()\n"
        for n in range(150)
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_programs(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Takes seconds and less than 400 MB more, however much there is of it."""

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = linter.lint(Source("case.py", HEAD + LARGE[name]), Settings(possible=True))
        assert linter.FAILED not in {item.name for item in found}, found
        used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        assert used < 400, f"{used} MB"

    assert 0 == forked(run), capfd.readouterr().err


MANY = (
    HEAD
    + "def helper(m, x, o):\n"
    + "".join(f"    if x.a{n}:\n        x = m(x) + {n}\n    o.step()\n" for n in range(20))
)
MANY += "".join(f"def train{n}(m, x, o):\n    for _ in range(9):\n        helper(m, x, o)\n" for n in range(12))


def test_a_file_has_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs what it suffices for, reports what is wrong there, and says which functions are left out."""
    monkeypatch.setattr(machine, "IN_FILE", 60_000)
    methods = (
        "class Trainer:\n    def fit(self, x):\n        x.backward()\n    def stop(self, x):\n        x.backward()\n"
    )
    source = Source("case.py", BAD + MANY + methods)
    first, second = linter.lint(source)
    assert ("double-backward", "partly-analysed") == (first.name, second.name)
    assert Severity.INFO is second.severity
    left = second.message.split()
    assert 2 <= int(left[left.index("for") + 1]) < 14
    assert source.line(second.span.start.line).startswith(
        f"def {second.message.rpartition('`')[0].rpartition('`')[2]}("
    )
    assert ["double-backward"] == [item.name for item in linter.lint(source, Settings(ignore=("partly-analysed",)))]
    assert GOOD + MANY + methods == linter.fix(source).text


def test_the_budget_of_a_file_is_for_many_functions() -> None:
    """Suffices for the functions of an ordinary file, each with a budget of its own."""
    assert [] == linter.lint(Source("case.py", MANY))
    assert machine.IN_FILE >= 25 * machine.FUEL


def test_a_new_file_is_written_whole(tmp_path: Path) -> None:
    """Makes what is not there, for others to read; does not make what was taken away while it was mended."""
    write_atomically(tmp_path / "new", b"new")
    assert (b"new", 0o644) == ((tmp_path / "new").read_bytes(), (tmp_path / "new").stat().st_mode & 0o777)
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "gone", b"new", old=b"old")
    assert ["new"] == os.listdir(tmp_path)
