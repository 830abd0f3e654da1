"""Configuration files and flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from adlint.config import ConfigError, Finder, Flags, Settings, read
from adlint.diagnostics import Severity


def settings(folder: Path, text: str, name: str = "adlint.toml") -> Settings:
    (folder / name).write_text(text)
    return read(folder / name)


def test_all_keys(tmp_path: Path) -> None:
    """Reads every key."""
    found = settings(
        tmp_path,
        """
        select = ["graph", "AD2"]
        extend-select = ["eval-without-no-grad"]
        ignore = ["AD102"]
        exclude = ["a/"]
        extend-exclude = ["b/"]
        respect-gitignore = false
        frameworks = []
        [per-file-ignores]
        "tests/*" = ["double-backward"]
        [severity]
        slots = "warning"
        AD201 = "info"
        foreign-grad = "off"
        """,
    )
    assert {"double-backward", "missing-zero-grad", "eval-without-no-grad"} <= set(found.rules)
    assert not {"shared-backward", "foreign-grad", "unused-suppression"} & set(found.rules)
    assert Severity.INFO is found.rules["missing-zero-grad"]
    assert (("a/",), ("b/",), False) == (found.exclude, found.extend_exclude, found.respect_gitignore)
    assert {"double-backward"} == found.ignored_in(str(tmp_path / "tests" / "x.py"))
    assert set() == found.ignored_in(str(tmp_path / "x.py"))


def test_the_more_specific_selector_wins() -> None:
    """Lets a rule be picked out of an ignored family, and the other way round."""
    assert "double-backward" in Settings(select=("double-backward",), ignore=("graph",)).rules
    assert "double-backward" not in Settings(select=("graph",), ignore=("AD101",)).rules
    assert "double-backward" not in Settings(select=("AD1",), ignore=("AD10",)).rules
    assert "double-backward" not in Settings(select=("AD101",), ignore=("double-backward",)).rules
    assert {} == Settings(ignore=("all",)).rules


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('slect = ["all"]', 1, "`slect`: unknown key; did you mean `select`?"),
        ("extend_exclude = []", 1, "did you mean `extend-exclude`?"),
        ("zzz = 1", 1, "known are select"),
        ('\nselect = "all"', 2, "`select`: must be a list of strings, not a string"),
        (
            'select = [\n  "all",\n  "dubble-backward",\n]',
            3,
            "unknown rule `dubble-backward`; did you mean `double-backward`?",
        ),
        ("ignore = [1]", 1, "must be a list of strings"),
        ('ignore = ["AD999"]', 1, "unknown rule `AD999`"),
        ("respect-gitignore = 'no'", 1, "must be true or false, not a string"),
        ("per-file-ignores = []", 1, "must be a table, not a list"),
        (
            '[per-file-ignores]\n"a/*" = ["grahp"]',
            2,
            "`per-file-ignores.a/*`: unknown rule `grahp`; did you mean `graph`?",
        ),
        ('[severity]\ndouble-backward = "loud"', 2, "must be one of error, warning, info, off, not `loud`"),
        ('[severity]\ndubble-backward = "off"', 2, "did you mean `double-backward`?"),
        ("frameworks = ['gone.toml']", 0, "`frameworks`"),
        ('"sl\\u0065ct" = []', 0, "`slect`: unknown key; did you mean `select`?"),
        ("respect-gitignore = 1979-05-27", 1, "must be true or false, not a date or time"),
        ("extend-exclude = ['a/[z-a]']", 1, "is no pattern of paths"),
        ("select = [", 1, ""),
        ("a = 1\na = 2", 2, ""),
    ],
)
@pytest.mark.parametrize("name", ["adlint.toml", "pyproject.toml"])
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, line: int, words: str, name: str) -> None:
    """Says file, line and key, and what may have been meant."""
    if name == "pyproject.toml":
        head = '[project]\nname = "select"\n\n[tool.adlint]\n'
        text = (
            head + text.replace("\n[", "\n[tool.adlint.") if text[0] != "[" else text.replace("[", "[tool.adlint.", 1)
        )
        line += 4 if line and text.startswith(head) else 0
    with pytest.raises(ConfigError) as caught:
        settings(tmp_path, text, name)
    assert str(caught.value).startswith(str(tmp_path / name) + (f":{line}" if line else ""))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_closest_file_holds(tmp_path: Path) -> None:
    """Looks upwards, takes `adlint.toml` before `pyproject.toml`, and merges nothing."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "adlint.toml").write_text('ignore = ["AD101"]')
    (tmp_path / "pyproject.toml").write_text('[tool.adlint]\nignore = ["AD102"]')
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "x"')
    finder = Finder()
    assert ("AD101",) == finder.of(inner).ignore
    assert finder.of(inner) is finder.of(tmp_path)
    (inner / "pyproject.toml").write_text("[tool.adlint]")
    assert () == Finder().of(inner).ignore
    assert ("AD101",) == Finder(tmp_path / "adlint.toml").of(inner).ignore


def test_files_elsewhere(tmp_path: Path) -> None:
    """Compares a file that is not below the settings by its whole path."""
    (tmp_path / "a").mkdir()
    found = settings(tmp_path / "a", '[per-file-ignores]\n"b/x.py" = ["AD101"]\n"y.py" = ["AD102"]')
    assert found.relative(str(tmp_path / "b" / "x.py")) == (tmp_path / "b" / "x.py").as_posix().lstrip("/")
    assert set() == found.ignored_in(str(tmp_path / "b" / "x.py"))
    assert {"shared-backward"} == found.ignored_in(str(tmp_path / "b" / "y.py"))
    assert {"double-backward"} == found.ignored_in(str(tmp_path / "a" / "b" / "x.py"))


def test_a_project_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes one that nobody may read for one of another tool, unless it is asked for."""
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.adlint]\nignore = ["AD101"]')
    reads = Path.read_text

    def refuse(path: Path, *arguments: str, **keywords: str) -> str:
        if path == file:
            raise PermissionError(13, "Permission denied", path)
        return reads(path, *arguments, **keywords)

    monkeypatch.setattr(Path, "read_text", refuse)
    assert Finder().of(tmp_path).origin is None
    with pytest.raises(ConfigError, match=r"pyproject\.toml: cannot be read: Permission denied$"):
        Finder(file)


def test_flags_change_the_settings(tmp_path: Path) -> None:
    """Begins anew with `--select` and adds with the others."""
    (tmp_path / "adlint.toml").write_text('select = ["graph"]\nignore = ["AD101"]')
    assert {"AD101"} <= set(Finder(flags=Flags(ignore=("AD102",))).of(tmp_path).ignore)
    assert ["double-backward"] == list(Finder(flags=Flags(select=("AD101",))).of(tmp_path).rules)
    assert "missing-zero-grad" in Finder(flags=Flags(extend_select=("slots",))).of(tmp_path).rules
    with pytest.raises(ConfigError, match="`--select`: unknown rule `AD1O1`"):
        Finder(flags=Flags(select=("AD1O1",))).of(tmp_path)


def test_own_frameworks(tmp_path: Path) -> None:
    """Reads profiles that the project describes."""
    (tmp_path / "ours.toml").write_text(
        'id = "ours"\nroots = ["ours"]\nconsume = "never"\n[terms]\nbackward = "pull()"\n'
    )
    assert {"torch", "ours"} <= set(settings(tmp_path, 'frameworks = ["ours.toml"]').profiles)
    (tmp_path / "ours.toml").write_text('id = "ours"\nroots = ["ours"]\nconsume = "maybe"\n[terms]\n')
    with pytest.raises(ConfigError, match="consume"):
        settings(tmp_path, 'frameworks = ["ours.toml"]')
