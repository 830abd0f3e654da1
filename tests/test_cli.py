"""`adlint` from the outside: arguments, exit status, what is printed where, what is written."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from programs import BAD, GOOD, LINE

from adlint import __version__, cli, linter
from adlint.catalog import load
from adlint.config import read
from adlint.reports import FORMATS
from adlint.source import Source

ROOT = Path(__file__).resolve().parent.parent


def adlint(*arguments: str, folder: Path, data: bytes | str = b"", **env: str) -> tuple[int, str, str]:
    """Run `python -m adlint` in a folder; return exit status, standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "adlint", *arguments],
        cwd=folder,
        input=data.encode() if isinstance(data, str) else data,
        capture_output=True,
        env={
            **{
                key: value
                for key, value in os.environ.items()
                if key not in ("NO_COLOR", "FORCE_COLOR", "FORCE_HYPERLINK")
            },
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8",
            **env,
        },
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    return tmp_path


def test_findings_are_reported(project: Path) -> None:
    """Exits with 1 and says where."""
    status, out, err = adlint("check", "--output-format", "concise", folder=project)
    assert (1, "") == (status, err)
    assert out.startswith(f"train.py:{LINE}:5: error AD101 double-backward: ")
    assert out.endswith("Found 1 error (1 fixable with --fix).\n")


def test_nothing_found(project: Path) -> None:
    """Exits with 0 and says so, unless asked to be quiet."""
    assert (0, "All checks passed!\n", "") == adlint("check", "good.py", folder=project)
    assert (0, "", "") == adlint("check", "-q", "good.py", folder=project)
    assert (0, "[]\n", "") == adlint("check", "good.py", "--output-format", "json", folder=project)


def test_json_names_files_as_they_were_given(project: Path) -> None:
    """Keeps absolute paths absolute and relative ones relative."""
    for path, name in ((".", "train.py"), (str(project), str(project / "train.py")), ("./train.py", "train.py")):
        status, out, _ = adlint("check", path, "--output-format", "json", folder=project)
        assert (1, [(name, "double-backward", LINE)]) == (
            status,
            [(item["filename"], item["name"], item["location"]["row"]) for item in json.loads(out)],
        )


def test_exit_zero(project: Path) -> None:
    """Reports and exits with 0."""
    status, out, _ = adlint("check", "--exit-zero", folder=project)
    assert (0, True) == (status, "AD101" in out)


def test_rules_are_selected(project: Path) -> None:
    """Takes names, ids and families, from flags and from the configuration."""
    assert 0 == adlint("check", "--ignore", "double-backward", folder=project)[0]
    assert 0 == adlint("check", "--select", "AD2,scope", folder=project)[0]
    assert 1 == adlint("check", "--select", "AD2", "--extend-select", "graph", folder=project)[0]
    (project / "pyproject.toml").write_text('[tool.adlint.per-file-ignores]\n"train.py" = ["AD101"]\n')
    assert 0 == adlint("check", folder=project)[0]
    assert 2 == adlint("check", "--config", "other.toml", folder=project)[0]
    (project / "other.toml").write_text("")
    assert 1 == adlint("check", "--config", "other.toml", folder=project)[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "gone.py"), "gone.py: no such file or folder"),
        (("check", "--select", "dubble-backward"), "did you mean `double-backward`?"),
        (("check", "--config", "gone.toml"), "gone.toml: cannot be read"),
        (("check", "--output-format", "xml"), "'xml' is not one of"),
        (("check", "--fxi"), "--fix"),
        (("check", "-", "good.py"), "stands alone"),
        (("check", "--output-file", "gone/report.txt"), "there is no folder"),
        (("check", "--output-file", "."), ". is a folder"),
        (("check", "--output-file", ""), "the name is empty"),
        (("check", "--diff", "--output-file", "x"), "`--output-file` is about the report, and `--diff` makes none"),
        (("check", "--diff", "--statistics"), "`--statistics` is about the report, and `--diff` makes none"),
        (("check", "--statistics", "--output-format", "sarif"), "`--statistics` has the formats text, "),
        (("check", "--show-files", "--fix"), "`--show-files` lints nothing: `--fix` does not go with it"),
        (("check", "--show-settings", "--output-file", "x"), "`--show-settings` lints nothing: `--output-file`"),
        (("check", "--show-files", "--show-settings"), "do not go together"),
        (("check", "--show-files", "-"), "standard input is none"),
        (("check", "--show-files", "gone.py"), "gone.py: no such file or folder"),
        (("check", "--show-settings", "gone.py"), "gone.py: no such file or folder"),
        (("check", "--show-settings", "train.py", "good.py"), "takes one path"),
        (("rule", "dubble-backward"), "did you mean `double-backward`?"),
        (("chekc",), "No such command"),
    ],
)
def test_wrong_usage(project: Path, arguments: tuple[str, ...], words: str) -> None:
    """Exits with 2 and says what is wrong, without a traceback."""
    status, out, err = adlint(*arguments, folder=project)
    assert (2, "", True, False) == (status, out, words in err, "Traceback" in err)


def test_wrong_settings(project: Path) -> None:
    """Names file, line and key."""
    (project / "adlint.toml").write_text("\nslect = []\n")
    status, out, err = adlint("check", folder=project)
    assert (2, "") == (status, out)
    assert err.endswith("adlint.toml:2: `slect`: unknown key; did you mean `select`?\n")
    assert 1 == err.count("\n")


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_in_a_file(project: Path, form: str) -> None:
    """Writes what it would have printed, and prints the summary."""
    _, expected, _ = adlint("check", "--output-format", form, folder=project)
    file = project / "report"
    file.write_text("old")
    file.chmod(0o600)
    done = adlint("check", "--output-format", form, "--output-file", "report", folder=project, PYTHONIOENCODING="ascii")
    assert (1, "Found 1 error (1 fixable with --fix).\n", "") == done
    assert (expected, 0o600) == (file.read_text(encoding="utf-8"), file.stat().st_mode & 0o777)
    done = adlint("check", "-q", "--output-format", form, "--output-file", str(file), "good.py", folder=project)
    assert (0, "", "") == done
    assert {"good.py", "train.py", "report"} == {path.name for path in project.iterdir()} - {".adlint_cache"}


def test_a_report_in_a_file_is_not_for_a_terminal(project: Path) -> None:
    """Has colours only if they are asked for by name."""
    adlint("check", "--output-file", "report", folder=project, FORCE_COLOR="")
    assert "\x1b" not in (project / "report").read_text()
    adlint("check", "--output-file", "report", "--color", "always", folder=project)
    assert "\x1b[1;31m" in (project / "report").read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_report_in_a_pipe(project: Path) -> None:
    """Writes to what is no regular file without putting one in its place."""
    os.mkfifo(project / "pipe")
    with subprocess.Popen(["cat", "pipe"], cwd=project, stdout=subprocess.PIPE) as reader:
        adlint("check", "--output-format", "concise", "--output-file", "pipe", "train.py", folder=project)
        out, _ = reader.communicate(timeout=60)
    assert out.startswith(b"train.py:13:5: error")
    assert (project / "pipe").is_fifo()


def test_a_report_file_that_cannot_be_written(project: Path) -> None:
    """Exits with 2 and one line, and leaves the file as it is."""
    file = project / "report"
    file.write_text("old")
    file.chmod(0o444)
    status, out, err = adlint("check", "--output-file", "report", folder=project)
    assert (2, "adlint: error: report: cannot be written: the file is read-only\n") == (status, err)
    assert ("old", True) == (file.read_text(), out.startswith("Found 1 error"))


def test_a_report_of_standard_input_in_a_file(project: Path) -> None:
    """Keeps standard output for the mended text."""
    done = adlint("check", "-", "--fix", "--output-file", "report", folder=project, data=BAD)
    assert (0, GOOD, "Fixed 1 problem.\n") == done
    assert "Fixed 1 problem.\n" == (project / "report").read_text()


def test_statistics(project: Path) -> None:
    """Counts in place of listing, with the same status."""
    table = "1  AD101  double-backward  [*]\n[*] fixable with --fix\n"
    status, out, _ = adlint("check", "--statistics", folder=project)
    assert (1, table + "Found 1 error (1 fixable with --fix).\n") == (status, out)
    assert (0, table) == adlint("check", "--statistics", "-q", "--exit-zero", folder=project)[:2]
    _, out, _ = adlint("check", "--statistics", "--output-format", "json", folder=project)
    assert [("AD101", 1, 1)] == [(item["code"], item["count"], item["fixable"]) for item in json.loads(out)]


def test_the_files_are_shown(project: Path) -> None:
    """Lists what would be linted, and lints nothing."""
    (project / "notes.txt").touch()
    (project / "a\nb.py").touch()
    (project / "adlint.toml").write_text('extend-exclude = ["good.py"]')
    assert (0, "a\\nb.py\ntrain.py\n", "") == adlint("check", "--show-files", folder=project)
    assert (0, "good.py\n", "") == adlint("check", "--show-files", "good.py", folder=project)
    assert (0, "", "") == adlint("check", "--show-files", "good.py", "--force-exclude", folder=project)
    assert not (project / ".adlint_cache").exists()


SETTINGS = """\
select = ["graph", "AD2"]
extend-select = ["scope"]
ignore = ["AD208"]
exclude = ["old/", "ä\\u007f\\"#"]
respect-gitignore = false

[per-file-ignores]
"tests/*" = ["scope", "AD101"]

[severity]
eval-without-no-grad = "error"
AD203 = "off"
"""


def test_the_settings_are_shown(project: Path) -> None:
    """Shows what holds for a path, as a file that would say the same."""
    (project / "src").mkdir()
    file = project / "src" / "adlint.toml"
    file.write_text(SETTINGS, encoding="utf-8")
    (project / "src" / "x.py").touch()
    status, out, err = adlint("check", "--show-settings", "src/x.py", folder=project)
    assert (0, "", f"# from {file}") == (status, err, out.splitlines()[0])
    assert out == adlint("check", "--show-settings", "src", folder=project)[1]
    assert out == adlint("check", "--show-settings", "-", "--stdin-filename", "src/new.py", folder=project)[1]
    assert "\n#   AD301 eval-without-no-grad: error\n" in out
    assert "AD203" not in out.partition("# enabled rules")[2]
    given = read(file)
    file.write_text(out, encoding="utf-8")
    assert given == read(file)


def test_settings_that_no_file_gives(project: Path) -> None:
    """Says that the defaults hold, and what the command line makes of them."""
    _, out, _ = adlint(
        "check", "--show-settings", "--select", "AD101", "--possible", "--port-to", "burn", folder=project
    )
    lines = out.splitlines()
    assert ["# from no file: the defaults hold", "# --possible", "# --port-to burn", 'select = ["AD101"]'] == lines[:4]
    assert ["# enabled rules (1):", "#   AD101 double-backward: error"] == lines[-2:]


@pytest.mark.parametrize(
    ("env", "linked"),
    [
        ({}, False),
        ({"FORCE_HYPERLINK": "1"}, False),
        ({"FORCE_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "xterm-kitty"}, False),
        ({"FORCE_COLOR": "1", "FORCE_HYPERLINK": "1"}, True),
        ({"FORCE_COLOR": "1", "FORCE_HYPERLINK": "0"}, False),
    ],
)
def test_hyperlinks(project: Path, env: dict[str, str], linked: bool) -> None:
    """Has none without colours, nor where no terminal is, unless they are asked for."""
    _, out, _ = adlint("check", "train.py", folder=project, **env)
    assert linked == ("\x1b]8;;https://adlint.readthedocs.io/rules/double-backward\x1b\\AD101\x1b]8;;\x1b\\" in out)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")
@pytest.mark.parametrize(("term", "linked"), [("xterm-kitty", True), ("xterm", False), ("dumb", False)])
def test_hyperlinks_in_a_terminal(project: Path, term: str, linked: bool) -> None:
    """Has them where the terminal is known to follow them."""
    master, slave = os.openpty()
    unset = (
        "NO_COLOR",
        "FORCE_COLOR",
        "FORCE_HYPERLINK",
        "TERM_PROGRAM",
        "VTE_VERSION",
        "KONSOLE_VERSION",
        "WT_SESSION",
        "TMUX",
        "STY",
    )
    subprocess.run(
        [sys.executable, "-m", "adlint", "check", "--output-format", "concise", "train.py"],
        cwd=project,
        stdout=slave,
        env={**{k: v for k, v in os.environ.items() if k not in unset}, "PYTHONPATH": str(ROOT), "TERM": term},
        check=False,
    )
    os.close(slave)
    out = os.read(master, 65_536)
    os.close(master)
    assert (True, linked) == (b"double-backward" in out, b"\x1b]8;;https://" in out)


def test_fix(project: Path) -> None:
    """Writes the mended file, keeps its mode, and exits with 0 if nothing is left."""
    (project / "train.py").chmod(0o755)
    status, out, _ = adlint("check", "--fix", folder=project)
    assert (0, "Fixed 1 problem.\n") == (status, out)
    assert GOOD == (project / "train.py").read_text()
    assert 0o755 == (project / "train.py").stat().st_mode & 0o777
    assert (0, "All checks passed!\n") == adlint("check", "--fix", folder=project)[:2]


def test_fix_follows_links_and_keeps_bytes(project: Path) -> None:
    """Writes where a link leads; byte order mark, line ends and encoding stay."""
    data = b"\xef\xbb\xbf" + BAD.replace("\n", "\r\n").encode() + "# é\r\n".encode()
    (project / "train.py").unlink()
    (project / "real").mkdir()
    (project / "real" / "x.py").write_bytes(data)
    (project / "train.py").symlink_to(project / "real" / "x.py")
    assert 0 == adlint("check", "--fix", "train.py", folder=project)[0]
    assert (project / "train.py").is_symlink()
    good = GOOD.replace("\n", "\r\n").encode()
    assert b"\xef\xbb\xbf" + good + "# é\r\n".encode() == (project / "real" / "x.py").read_bytes()


def test_diff(project: Path) -> None:
    """Shows the change, writes nothing, and exits with 1 if there is one."""
    status, out, err = adlint("check", "--diff", folder=project)
    assert (1, "adlint: info: would fix 1 problem\n") == (status, err)
    assert out.startswith("--- train.py\n+++ train.py\n@@ ")
    assert "\n-    loss.backward()\n" in out
    assert BAD == (project / "train.py").read_text()
    subprocess.run(["git", "apply", "-p0"], cwd=project, input=out.encode(), check=True)
    assert GOOD == (project / "train.py").read_text()
    assert (0, "") == adlint("check", "--diff", folder=project)[:2]


def test_standard_input(project: Path) -> None:
    """Lints what it reads under the name it is given; with `--fix` it is a filter."""
    status, out, _ = adlint("check", "-", "--output-format", "concise", folder=project, data=BAD)
    assert (1, True) == (status, out.startswith(f"-:{LINE}:5: "))
    status, out, _ = adlint(
        "check", "-", "--stdin-filename", "a/b.py", "--output-format", "concise", folder=project, data=BAD
    )
    assert (1, True) == (status, out.startswith(f"a/b.py:{LINE}:5: "))
    status, out, err = adlint("check", "-", "--fix", folder=project, data=BAD)
    assert (0, GOOD, "Fixed 1 problem.\n") == (status, out, err)
    status, out, err = adlint("check", "-", "--fix", folder=project, data="def f(:\n")
    assert (1, "def f(:\n", True) == (status, out, "AD002" in err)
    assert 1 == adlint("check", "-", "--diff", folder=project, data=BAD)[0]
    (project / "adlint.toml").write_text('extend-exclude = ["a/"]')
    assert (0, BAD) == adlint(
        "check", "-", "--fix", "--stdin-filename", "a/b.py", "--force-exclude", folder=project, data=BAD
    )[:2]


@pytest.mark.parametrize("flags", [(), ("--fix",), ("--diff",), ("--fix", "--diff")])
def test_standard_input_that_cannot_be_read(project: Path, flags: tuple[str, ...]) -> None:
    """Says where and why; as a filter it passes on what it was given, and nothing else."""
    data = b"import torch\nx = '\xff'\n"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "adlint",
            "check",
            "-",
            "--stdin-filename",
            "a/b.py",
            "--output-format",
            "concise",
            *flags,
        ],
        cwd=project,
        input=data,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    report = b"a/b.py:2:6: error AD002 unreadable-source: byte 0xff is not utf-8 text\nFound 1 error.\n"
    passed_on = flags == ("--fix",)
    assert (1, data if passed_on else report) == (done.returncode, done.stdout)
    assert done.stderr == (report if passed_on else b"")


def test_what_is_done_is_said(project: Path) -> None:
    """Names the settings that hold for the folder, and counts the files."""
    _, out, err = adlint("check", "-v", "--no-cache", folder=project)
    first, second = err.splitlines()
    assert first == "adlint: info: settings: none, the defaults hold"
    assert re.fullmatch(r"adlint: info: 2 files in \d+\.\d\d s", second)
    (project / "adlint.toml").touch()
    _, again, err = adlint("check", "-v", "--no-cache", "train.py", folder=project)
    assert err.startswith(f"adlint: info: settings: {project / 'adlint.toml'}\nadlint: info: 1 files in ")
    assert out == again


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away(project: Path, unbuffered: str) -> None:
    """Ends without a word when nobody reads what is printed."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "adlint", "rules"],
        cwd=project,
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
        check=False,
    )
    os.close(writer)
    assert (1, b"") == (done.returncode, done.stderr)


@pytest.mark.parametrize(
    ("failure", "status", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
        (click.UsageError("no such\nthing"), 2, "Error: no such\nthing\n"),
        (AssertionError("the tape\nis torn"), 2, "adlint: error: internal error: AssertionError: the tape\\nis torn\n"),
        (RecursionError(), 2, "adlint: error: internal error: RecursionError: \n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_how_it_ends(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failure: BaseException,
    status: int,
    said: str,
) -> None:
    """Turns whatever happens into a status and one line, without a traceback."""

    def fail(**_: object) -> int:
        raise failure

    monkeypatch.setattr(cli, "application", lambda: fail)
    monkeypatch.setattr(sys, "argv", ["adlint", "check"])
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # as a host program may have it
    with pytest.raises(SystemExit) as ending:
        cli.main()
    assert status == ending.value.code
    err = capsys.readouterr().err
    assert said == (err[err.index("Error:") :] if "Error: no" in said else err)


@pytest.mark.parametrize("path", [".", "train.py", "-"])
@pytest.mark.parametrize("exit_zero", [(), ("--exit-zero",)])
def test_a_failure_is_not_hidden_by_a_diff(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    exit_zero: tuple[str, ...],
) -> None:
    """Exits with 2 and names the file and the failure, though there is nothing to show."""

    def fail(source: Source, *_: object) -> list[object]:
        if source.filename != "good.py":
            raise AssertionError("the tape is torn")
        return []

    monkeypatch.setattr(linter, "_analyse", fail)
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "argv", ["adlint", "check", "--diff", "--no-cache", *exit_zero, path])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    with pytest.raises(SystemExit) as ending:
        cli.main()
    out, err = capsys.readouterr()
    first, second = err.splitlines()
    assert (2, "", "adlint: info: would fix 0 problems") == (ending.value.code, out, second)
    assert first.startswith(f"adlint: error: {'-' if path == '-' else 'train.py'}: ")
    assert "AssertionError: the tape is torn" in first


def test_excluded_files_are_left_out_if_forced(project: Path) -> None:
    """Does for pre-commit what a search of the folder does by itself."""
    (project / "adlint.toml").write_text('extend-exclude = ["train.py"]')
    assert 0 == adlint("check", folder=project)[0]
    assert 1 == adlint("check", "train.py", folder=project)[0]
    assert 0 == adlint("check", "train.py", "--force-exclude", folder=project)[0]


def test_no_python_files(tmp_path: Path) -> None:
    """Warns and exits with 0."""
    status, _, err = adlint("check", folder=tmp_path)
    assert (0, "adlint: warning: no Python files under the given paths\n") == (status, err)


@pytest.mark.parametrize(
    ("flags", "env", "coloured"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours(project: Path, flags: tuple[str, ...], env: dict[str, str], coloured: bool) -> None:
    """Obeys the flag, then NO_COLOR, then FORCE_COLOR, then the terminal."""
    assert coloured == ("\x1b[" in adlint("check", *flags, folder=project, **env)[1])


def test_the_cache(project: Path) -> None:
    """Gives the same answer without loading the front end, and notices every change."""
    first = adlint("check", folder=project)
    os.utime(project / "train.py", (1, 1))
    again = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "adlint", "check"],
        cwd=project,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert first[:2] == (again.returncode, again.stdout.decode())
    assert b"libcst" not in again.stderr
    assert 0 == adlint("check", "--ignore", "AD101", folder=project)[0]
    (project / "train.py").write_text(GOOD)
    assert 0 == adlint("check", folder=project)[0]
    for file in (project / ".adlint_cache").glob("*.json"):
        file.write_text("{broken")
    assert 0 == adlint("check", folder=project)[0]


def test_no_cache(project: Path) -> None:
    """Leaves nothing behind."""
    adlint("check", "--no-cache", folder=project)
    assert not (project / ".adlint_cache").exists()


def test_many_files_are_shared_out(project: Path) -> None:
    """Reports in the order of the paths whatever the workers do."""
    for number in range(20):
        (project / f"train{number:02}.py").write_text(BAD)
    _, out, _ = adlint("check", "--output-format", "json", "--no-cache", folder=project)
    names = [item["filename"] for item in json.loads(out)]
    assert ["train.py", *(f"train{number:02}.py" for number in range(20))] == names


def test_a_rule_is_explained(project: Path) -> None:
    """Knows rules by name and id."""
    rule = load().rules["double-backward"]
    status, out, _ = adlint("rule", "AD101", folder=project)
    assert (0, out) == adlint("rule", "double-backward", folder=project)[:2]
    assert (0, True, True, False) == (status, rule.why in out, rule.good.strip() in out, "{" in out.split("##")[0])
    assert "## Fix safety" in out
    _, out, _ = adlint("rule", "unreadable-source", folder=project)
    assert (True, False) == ("\n- fix: none\n" in out, "Fix safety" in out)
    status, out, _ = adlint("rule", "AD101", folder=project, FORCE_COLOR="1")
    assert (0, True, False) == (status, "double-backward" in out and "\x1b[" in out, "## Why" in out)


def test_the_rules_are_listed(project: Path) -> None:
    """Has a line for each rule."""
    _, out, _ = adlint("rules", folder=project)
    assert list(load().rules) == [line.split()[1] for line in out.splitlines()]


def test_version_and_help(project: Path) -> None:
    """Answers at once."""
    assert (0, f"adlint {__version__}\n", "") == adlint("--version", folder=project)
    assert (0, f"adlint {__version__}\n", "") == adlint("--version", "check", folder=project)
    assert (0, True) == (lambda done: (done[0], "check" in done[1]))(adlint("--help", folder=project))
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "adlint", "--version"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
        capture_output=True,
        check=True,
    ).stderr
    assert not {b"click", b"libcst", b"rich", b"tomllib"} & set(loaded.replace(b"|", b" ").split())


def test_the_package_itself_is_cheap_to_import() -> None:
    """Loads public names when they are used, and only those it has."""
    script = "import adlint, sys; assert not {'adlint.linter', 'libcst'} & set(sys.modules); from adlint import *; lint"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
    import adlint as package

    assert "lint" in dir(package)
    with pytest.raises(AttributeError, match="lnit"):
        package.lnit  # noqa: B018


def test_the_folder_is_not_imported_from(project: Path) -> None:
    """Runs none of the modules that it lints, however Python looks for modules."""
    for name in ("click", "ast", "torch", "tokenize"):
        (project / f"{name}.py").write_text("raise SystemExit(7)\n")
    expected = adlint("check", "--output-format", "concise", folder=project)
    assert (1, True) == (expected[0], expected[1].startswith(f"train.py:{LINE}:5: error AD101"))
    if sys.version_info >= (3, 11):
        assert expected == adlint("check", "--output-format", "concise", folder=project, PYTHONSAFEPATH="1")
    module = importlib.import_module("adlint.__main__")  # does nothing where it is not what is run
    assert "main" not in vars(module)
