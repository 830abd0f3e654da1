"""The pages hold what they show: the site builds without a warning, every rule has a page, and the examples run."""

from __future__ import annotations

import doctest
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from adlint import config
from adlint.catalog import Rule, load

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
RULES = list(load().rules.values())
PAGES = sorted(page for page in DOCS.glob("*.md"))
NAMED = re.compile(r"^<!-- (\S+?)(?:: (.+?))? -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WRITTEN_BY_HAND = ("index", "getting-started", "configuration", "how-it-works", "architecture", "limits")


def text_of(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def pages_with(pattern: re.Pattern[str]) -> list[str]:
    return [page.stem for page in PAGES if pattern.search(page.read_text(encoding="utf-8"))]


def environment() -> dict[str, str]:
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    return {**plain, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; the pages are copied first, so that nothing is written into the checkout."""
    home = tmp_path_factory.mktemp("docs")
    shutil.copytree(DOCS, home / "docs", ignore=shutil.ignore_patterns("rules", "_build", "__pycache__"))
    command = [sys.executable, "-m", "sphinx", "-b", "dirhtml", "-W", "-q", "--keep-going"]
    places = ["-d", str(home / "trees"), str(home / "docs"), str(home / "site")]
    done = subprocess.run([*command, *places], capture_output=True, text=True, env=environment(), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return home / "site"


def test_every_rule_has_its_page(site: Path) -> None:
    """It is at the address that a finding gives, and the index of rules leads to it."""
    index = (site / "rules" / "index.html").read_text(encoding="utf-8")
    for rule in RULES:
        page = (site / "rules" / rule.name / "index.html").read_text(encoding="utf-8")
        assert f"<title>{rule.name} - adlint</title>" in page
        for heading in ("why", "example", "message", "fix", "how-to-silence-it"):
            assert f'id="{heading}"' in page, f"{rule.name}: {heading}"
        assert ('id="frameworks"' in page) == (rule.family != "meta")
        assert rule.id in page
        assert f'href="{rule.name}/"' in index


def test_the_pages_say_what_adlint_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every wrong example is shown with its message, and what the profiles judge is said."""
    monkeypatch.syspath_prepend(str(DOCS))
    import rule_pages

    assert rule_pages.NAMES.keys() == load().profiles.keys()
    assert rule_pages.ASKS.keys() == {rule.family for rule in RULES}
    without = {rule.name for rule in RULES if not any(f.name == rule.name for f in found(rule_pages, rule))}
    assert without == {"internal-error", "partly-analysed"}
    page = rule_pages.page(load().rules["shared-backward"], load())
    assert "| burn | yes | every node | - |" in page
    assert "| tinygrad | no | nothing | - |" in page
    assert "+    (policy_loss + value_loss).backward()" in page


def found(rule_pages, rule):  # type: ignore[no-untyped-def]
    return rule_pages.findings(rule, rule_pages.MARK.sub("", rule.bad))


def test_pages_of_rules_that_are_gone_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing leaves the pages of the rules that are there, and touches none that stays the same."""
    monkeypatch.syspath_prepend(str(DOCS))
    import rule_pages

    rule_pages.write(tmp_path)
    (tmp_path / "gone.md").write_text("# gone\n", encoding="utf-8")
    os.utime(tmp_path / "index.md", (1, 1))
    rule_pages.write(tmp_path)
    assert {file.stem for file in tmp_path.iterdir()} == {"index", *(rule.name for rule in RULES)}
    assert (tmp_path / "index.md").stat().st_mtime == 1


def test_every_page_is_in_the_site(site: Path) -> None:
    """The table of contents reaches them all, with nothing loaded from elsewhere."""
    front = (site / "index.html").read_text(encoding="utf-8")
    for page in PAGES:
        if page.stem != "index":
            assert f'href="{page.stem}/"' in front
            assert (site / page.stem / "index.html").is_file()
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="https?:', front)


def test_links_within_the_site_lead_somewhere(site: Path) -> None:
    """Every page, picture and heading that a page refers to is there."""
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    marks = {page: set(re.findall(r'\sid="([^"]+)"', text)) for page, text in texts.items()}
    seen = 0
    for page, text in texts.items():
        for link in re.findall(r'\s(?:href|src)="([^"]+)"', text):
            address, _, mark = html.unescape(link).partition("#")
            if re.match(r"\w+:", address):
                continue
            there = (page.parent / unquote(address.partition("?")[0])).resolve() if address else page
            there = there / "index.html" if there.is_dir() else there
            assert there.is_file(), f"{page.relative_to(site)}: {link}"
            assert not mark or there not in marks or mark in marks[there], f"{page.relative_to(site)}: {link}"
            seen += 1
    assert seen > 1000


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.family != "meta"], ids=lambda rule: rule.name)
def test_the_tape_is_drawn(site: Path, rule: Rule) -> None:
    """The page about a rule shows the tape of its wrong example, and tells how to ask for it."""
    page = (site / "rules" / rule.name / "index.html").read_text(encoding="utf-8")
    picture = re.search(r'src="(\S+\.svg)"', page[page.index('id="how-the-tape-saw-it"') :])
    assert picture is not None
    drawing = (site / "rules" / rule.name / picture[1]).resolve().read_text(encoding="utf-8")
    assert ET.fromstring(drawing).findtext("{http://www.w3.org/2000/svg}title").startswith(f"{rule.name}.py:")
    assert re.search(rf">explain</span> <span class=\"pre\">{rule.name}\.py:\d+<", page)


def test_configuration_examples_are_read(tmp_path: Path) -> None:
    """Every example of settings is one, alone in a folder with the tables that it names."""
    page = text_of("configuration")
    files = {name: text for name, note, text in NAMED.findall(page)}
    examples = [(name, note, text) for name, note, text in NAMED.findall(page) if Path(name).name in config.FILES]
    assert len(examples) == page.count("```toml") - 1
    for number, (name, note, text) in enumerate(examples):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "ours.toml").write_text(files["ours.toml"], encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")
        settings = config.read(folder / name)
        assert set(settings.rules) <= {rule.name for rule in RULES}
        if note == "defaults":
            assert settings == config.Settings(root=folder, origin=folder / name)


def test_configuration_names_every_setting(tmp_path: Path) -> None:
    """The page has a section for each key that the reader knows, and none for another."""
    (tmp_path / "adlint.toml").write_text("x = 1", encoding="utf-8")
    with pytest.raises(config.ConfigError) as failure:
        config.read(tmp_path / "adlint.toml")
    known = str(failure.value).rpartition("known are ")[2].split(", ")
    assert sorted(re.findall(r"^### (\S+)$", text_of("configuration"), re.MULTILINE)) == sorted(known)


def test_the_example_of_ignoring_is_true(tmp_path: Path) -> None:
    """The more specific selector wins."""
    for _, _, text in NAMED.findall(text_of("configuration")):
        if "and foreign-grad is reported" in text:
            (tmp_path / "adlint.toml").write_text(text, encoding="utf-8")
    assert set(config.read(tmp_path / "adlint.toml").rules) == {"foreign-grad"}


@pytest.mark.parametrize("name", pages_with(CONSOLE))
def test_console_examples_run(tmp_path: Path, name: str) -> None:
    """What a page shows after `$` is what comes out, with the files that it names, one command after the other."""
    page = text_of(name)
    for file, note, text in NAMED.findall(page):
        if file not in config.FILES and not note:
            (tmp_path / file).write_text(text, encoding="utf-8")
    for block in CONSOLE.findall(page):
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            here = f"{shlex.quote(sys.executable)} -m adlint "
            command = re.sub(r"\badlint (?=check|rule|explain)", here, command, count=1)
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, env=environment(), check=False
            )
            assert done.stdout + done.stderr == shown, command


@pytest.mark.parametrize("name", pages_with(PYTHON))
def test_python_examples_run(name: str) -> None:
    """What a page shows after `>>>` is what the code yields; the examples of a page share their names."""
    text = "\n".join(PYTHON.findall(text_of(name)))
    test = doctest.DocTestParser().get_doctest(text, {}, name, f"docs/{name}.md", 0)
    assert test.examples
    said: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert results.failed == 0, "".join(said)


def test_the_architecture_page_shows_every_hop() -> None:
    page = text_of("architecture")
    for hop in ("Source", "Program", "Facts", "Diagnostics", "Fix"):
        assert re.search(rf"^## .*→ {hop}$", page, re.MULTILINE)
    assert page.count("```pycon") > 8


@pytest.mark.parametrize("name", WRITTEN_BY_HAND)
def test_lines_are_short(name: str) -> None:
    """Prose has lines of 120 columns at most; tables and what adlint prints may be longer."""
    prose = re.sub(r"^```.*?^```$", "", text_of(name), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in prose.splitlines() if len(line) > 120 and not line.startswith("|")] == []


def test_readme_keeps_the_blocks_that_are_run() -> None:
    """The commands between the marks are there, each once, and closed."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for mark in ("examples", "tests"):
        assert len(re.findall(rf"<!-- {mark} -->\n```sh\n[^`]+```\n<!-- end -->\n", readme)) == 1
    for page in re.findall(r"`?(docs/[\w-]+\.md)", readme):
        assert (ROOT / page).is_file(), page
