"""The layout of the house: what imports what, who prints, what every rule must have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adlint.catalog import load

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "adlint"
MODULES = sorted(PACKAGE.rglob("*.py"))

LEVELS = [
    {"diagnostics", "files", "notebook", "tables", "wildcards"},
    {"source", "profiles"},
    {"catalog", "program"},
    {"guard", "positions", "config", "explanation", "fingerprints"},
    {"lower", "outline", "rewrite", "tape", "fixes", "suppressions"},
    {"checks"},
    {"linter", "discovery", "cache", "mentions", "follow", "callers"},
    {"project", "reports", "trace", "watching"},
    {"server"},
    {"cli"},
    {"__main__"},
]
TREE = {"lower", "rewrite", "positions"}
RULES = [rule for rule in load().rules.values() if rule.family != "meta"]


def room(module: Path) -> str:
    """Return the part of the house that a module belongs to."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(module: Path) -> Iterator[str]:
    """Yield every module that is imported, anywhere in the text."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def level(name: str) -> int:
    return next(number for number, names in enumerate(LEVELS) if name in names)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(module: Path) -> None:
    """Follows the arrows of the architecture, and only a few rooms know the concrete syntax tree."""
    here = room(module)
    if here == "__init__":
        return
    for name in imports(module):
        top, _, rest = name.partition(".")
        if top == "libcst":
            assert here in TREE
            assert "matchers" not in name
            assert "metadata" not in name
        there = rest.partition(".")[0]
        if top == "adlint" and there and there not in (here, "__version__"):
            assert level(there) <= level(here), f"{here} imports {there}"


def test_every_room_has_a_level() -> None:
    """Has no room that the architecture does not know, and knows none that is not there."""
    assert {room(module) for module in MODULES} - {"__init__"} == set().union(*LEVELS)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_front_door_speaks(module: Path) -> None:
    """Prints, exits and reads arguments in `cli` alone."""
    if room(module) != "cli":
        text = module.read_text(encoding="utf-8")
        assert not re.search(r"\bprint\(|sys\.(stdin|stdout|stderr|argv|exit)|SystemExit\(", text)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_are_short_and_say_what_they_are(module: Path) -> None:
    """Keeps a module to one job, says which, and names no framework."""
    text = module.read_text(encoding="utf-8")
    assert text.count("\n") <= 600, "holds two jobs"
    assert not text or ast.get_docstring(ast.parse(text))
    if room(module) != "profiles":
        assert not re.search(r"profile\.(id|name)\s*(==|!=|in\b)", text), "asks for a framework by name"
    assert not re.search(r"\b(TODO|FIXME)\b", text)


def test_the_rules_folder_is_data() -> None:
    """Holds nothing but tables."""
    assert {".toml"} == {file.suffix for file in (ROOT / "rules").rglob("*") if file.is_file()}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_complete(rule) -> None:  # type: ignore[no-untyped-def]
    """Has a check of its name, a wrong and a right fixture, and an id of its family."""
    check = PACKAGE / "checks" / f"{rule.family}.py"
    functions = {node.name for node in ast.parse(check.read_text()).body if isinstance(node, ast.FunctionDef)}
    assert rule.name.replace("-", "_") in functions
    if rule.family == "port":  # its programs stand in tests/test_porting.py: they are right until they are to be ported
        return
    cases = [file.read_text() for file in (ROOT / "tests" / "fixtures" / rule.family / rule.name).glob("*.py")]
    assert any(f"# want: {rule.name}" in text for text in cases), "no wrong fixture"
    assert any("# want" not in text for text in cases), "no right fixture"
    assert {"graph": "AD1", "slots": "AD2", "scope": "AD3"}[rule.family] == rule.id[:3]


@pytest.mark.parametrize("rule", load().rules.values(), ids=lambda rule: rule.name)
def test_the_wording_of_messages(rule) -> None:  # type: ignore[no-untyped-def]
    """Begins in lower case, ends without a stop, and does not order the reader about."""
    texts = [rule.summary, *rule.messages.values(), *([rule.fix_title] if rule.fix_title else [])]
    for text in texts:
        assert re.match(r"[a-z`{]|AD", text), text
        assert not text.endswith((".", "!", " ")), text
        assert "\n" not in text
        assert not re.search(r"\bplease\b|\btry\b|\bshould\b", text), text


def test_ids_are_unique() -> None:
    """Gives no id twice; the numbers of the rules are never used again."""
    ids = [rule.id for rule in load().rules.values()]
    assert sorted(set(ids)) == ids
