"""Reports for programs and for pull requests: what they look like, and that hostile names and messages break none."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import BAD, GOOD
from test_reports import TEXT, finding, span

from adlint import fixes
from adlint.catalog import load
from adlint.diagnostics import Applicability, Certainty, Diagnostic, Edit, Fix, Position, Related, Severity, Span
from adlint.linter import lint, unreadable
from adlint.reports import FORMATS, Result, hyperlinks, markdown, renderer, sarif, tally
from adlint.reports.places import Places
from adlint.source import Source

ROOT = "/project"
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
)
ESCAPES = re.compile(r"\x1b\]8;;[^\x1b]*\x1b\\|\x1b\[[\d;]*m")

NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# title"]},
            {
                "cell_type": "code",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                "source": BAD.splitlines(keepends=True),
            },
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    },
    indent=1,
)


def rule_finding(source: Source, **changes: Any) -> Diagnostic:
    return replace(finding(source), **changes)


@pytest.fixture
def result() -> Result:
    """Two findings of one rule, and a warning in another file whose text is not known."""
    source = Source("train.py", TEXT)
    warning = Diagnostic(
        "AD301", "eval-without-no-grad", "forward is recorded", Severity.WARNING, Certainty.DEFINITE, "nets.py",
        Span(Position(3, 1), Position(4, 2)), (), Fix("decorate", Applicability.UNSAFE, (
            Edit(Span(Position(2, 1), Position(2, 1)), "@torch.no_grad()\n"),
        )),
    )  # fmt: skip
    first = rule_finding(source, span=span(source, "loss.backward()"), related=(), fix=None)
    return Result((warning, first, rule_finding(source)), {"train.py": source}, root=ROOT, status=1)


@pytest.fixture
def book() -> Result:
    source = Source.from_bytes(NOTEBOOK.encode(), "a.ipynb")
    return Result(tuple(lint(source)), {"a.ipynb": source}, root=ROOT, status=1)


def report(name: str, result: Result) -> Any:
    return json.loads(renderer(name)(result))


def test_grouped(result: Result) -> None:
    """Puts the findings of a file below its name, in columns."""
    assert renderer("grouped")(result) == (
        "nets.py:\n"
        "  3:1  warning AD301 eval-without-no-grad: forward is recorded\n"
        "\n"
        "train.py:\n"
        "  3:2  error AD101 double-backward: `loss` is backpropagated again\n"
        "  6:2  error AD101 double-backward: `loss` is backpropagated again\n"
        "\n"
        "Found 2 errors and 1 warning (1 fixable with --fix, 1 with --unsafe-fixes).\n"
    )


def test_json_lines(result: Result) -> None:
    """Has the objects of the format `json`, each on its line."""
    assert report("json", result) == [json.loads(line) for line in renderer("json-lines")(result).splitlines()]


def test_github(result: Result) -> None:
    """Has a command for each finding, without columns where the end is on another line."""
    text = "double-backward::`loss` is backpropagated again\n"
    assert renderer("github")(result) == (
        "::warning file=nets.py,line=3,endLine=4,title=adlint AD301 eval-without-no-grad::forward is recorded\n"
        f"::error file=train.py,line=3,col=2,endLine=3,endColumn=17,title=adlint AD101 {text}"
        f"::error file=train.py,line=6,col=2,endLine=6,endColumn=17,title=adlint AD101 {text}"
    )


def test_gitlab(result: Result) -> None:
    """Has the keys that GitLab reads, and a fingerprint of its own for each finding."""
    items = report("gitlab", result)
    marks = [item.pop("fingerprint") for item in items]
    assert len(set(marks)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{32}", mark) for mark in marks)
    assert items[0] == {
        "description": "AD301: forward is recorded",
        "check_name": "eval-without-no-grad",
        "severity": "minor",
        "location": {"path": "nets.py", "lines": {"begin": 3, "end": 4}},
    }
    assert ["minor", "major", "major"] == [item["severity"] for item in items]


def test_gitlab_knows_a_finding_again(result: Result) -> None:
    """Keeps the fingerprint when lines come above it, and when adlint is given another name for the file."""
    source = result.sources["train.py"]
    moved = Source("./train.py", "import torch\n\n" + source.text)
    down = tuple(
        replace(
            item,
            filename=moved.filename,
            span=Span(
                Position(item.span.start.line + 2, item.span.start.column),
                Position(item.span.end.line + 2, item.span.end.column),
            ),
        )
        for item in result.diagnostics[1:]
    )
    after = report("gitlab", Result(down, {"./train.py": moved}, root=ROOT))
    assert [item["fingerprint"] for item in after] == [item["fingerprint"] for item in report("gitlab", result)][1:]


def test_junit(result: Result) -> None:
    """Has a suite for each file and a test for each finding."""
    failed = replace(result.diagnostics[0], name="internal-error", code="AD003", message="a < b & \x1b")
    tree = ET.fromstring(renderer("junit")(replace(result, diagnostics=(*result.diagnostics, failed))))
    assert {"name": "adlint", "tests": "4", "failures": "3", "errors": "1"} == tree.attrib
    assert [("nets.py", "2"), ("train.py", "2")] == [(suite.get("name"), suite.get("tests")) for suite in tree]
    case = tree[1][1]
    assert case.attrib == {
        "name": "AD101 double-backward (6:2)",
        "classname": "train.py",
        "file": "train.py",
        "line": "6",
    }
    assert ("failure", {"message": "`loss` is backpropagated again", "type": "error"}) == (case[0].tag, case[0].attrib)
    assert "train.py:6:2: AD101 double-backward: `loss` is backpropagated again" == case[0].text
    assert ("error", "a < b & \\x1b") == (tree[0][1][0].tag, tree[0][1][0].get("message"))


def test_junit_without_findings() -> None:
    """Has one test that passed."""
    tree = ET.fromstring(renderer("junit")(Result(())))
    assert {"name": "adlint", "tests": "1", "failures": "0", "errors": "0"} == tree.attrib
    assert [[]] == [list(case) for case in tree[0]]


def test_rdjson(result: Result) -> None:
    """Counts bytes where the line is known, and suggests the whole fix at once."""
    wide = Source("wide.py", "x = '模型'; loss.backward(); a\nb\n")
    edits = (
        Edit(span(wide, "; a"), ""),
        Edit(span(wide, "b", 1), "c"),
    )
    item = replace(
        result.diagnostics[2],
        filename="wide.py",
        span=span(wide, "loss"),
        related=(),
        fix=Fix("x", Applicability.UNSAFE, edits),
    )
    given = replace(result, diagnostics=(result.diagnostics[0], item), sources={"wide.py": wide})
    url = "https://adlint.readthedocs.io"
    assert report("rdjson", given) == {
        "source": {"name": "adlint", "url": url},
        "severity": "ERROR",
        "diagnostics": [
            {
                "message": "forward is recorded",
                "location": {"path": "nets.py", "range": {"start": {"line": 3}, "end": {"line": 4}}},
                "severity": "WARNING",
                "code": {"value": "AD301", "url": f"{url}/rules/eval-without-no-grad"},
            },
            {
                "message": "`loss` is backpropagated again",
                "location": {
                    "path": "wide.py",
                    "range": {"start": {"line": 1, "column": 15}, "end": {"line": 1, "column": 19}},
                },
                "severity": "ERROR",
                "code": {"value": "AD101", "url": f"{url}/rules/double-backward"},
                "suggestions": [
                    {
                        "range": {"start": {"line": 1, "column": 30}, "end": {"line": 2, "column": 2}},
                        "text": "\nc",
                    }
                ],
            },
        ],
    }


def test_markdown(result: Result) -> None:
    """Has a table of rules and a table of findings."""
    page = "https://adlint.readthedocs.io/rules"
    twice = f"[AD101 double-backward]({page}/double-backward)"
    once = f"[AD301 eval-without-no-grad]({page}/eval-without-no-grad)"
    assert renderer("markdown")(result) == (
        "**adlint:** Found 2 errors and 1 warning (1 fixable with --fix, 1 with --unsafe-fixes).\n"
        "\n"
        "| rule | severity | findings | fixable |\n"
        "|---|---|--:|--:|\n"
        f"| {twice} | error | 2 | 1 |\n"
        f"| {once} | warning | 1 |  |\n"
        "\n"
        "| place | severity | rule | finding |\n"
        "|---|---|---|---|\n"
        f"| `nets.py:3:1` | warning | {once} | forward is recorded |\n"
        f"| `train.py:3:2` | error | {twice} | `loss` is backpropagated again |\n"
        f"| `train.py:6:2` | error | {twice} | `loss` is backpropagated again |\n"
    )


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("`a|b` | c", "`a\\|b` \\| c"),
        ("a `b", "a \\`b"),
        ("`a` is `b", "`a` is \\`b"),
        ("<b> & *x* [y](z) _w_", "&lt;b&gt; &amp; \\*x\\* \\[y\\](z) \\_w\\_"),
        ("@torch `@torch` #12", "@<!-- -->torch `@torch` #<!-- -->12"),
        ("a\nb", "a\\\\nb"),
    ],
)
def test_markdown_means_what_it_says(message: str, shown: str) -> None:
    """Escapes signs outside of code, splits no cell, and mentions nobody."""
    assert shown == markdown.prose(message)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a`b", "``a`b``"), ("`", "`` ` ``"), ("``a", "``` ``a ```"), ("", "`  `"), ("a|b", "`a\\|b`")],
)
def test_code_in_markdown(text: str, shown: str) -> None:
    """Takes a fence that the text does not have."""
    assert shown == markdown.code(text)


def test_markdown_fits_into_a_comment(result: Result) -> None:
    """Leaves out what is too much, and counts it."""
    many = replace(result, diagnostics=result.diagnostics * 1_000)
    text = renderer("markdown")(many)
    assert len(text) < 65_536
    shown = text.count("\n| `")
    assert text.endswith(f"\n... and {3_000 - shown} more\n")
    assert "| 2000 | 1000 |" in text


def test_sarif(result: Result) -> None:
    """Is valid, and has what code scanning asks for."""
    log = report("sarif", result)
    SCHEMA.validate(log)
    (run,) = log["runs"]
    assert "unicodeCodePoints" == run["columnKind"]
    assert {"%SRCROOT%": {"uri": "file:///project/"}} == run["originalUriBaseIds"]
    assert {
        "executionSuccessful": True,
        "exitCode": 1,
        "workingDirectory": {"uri": "file:///project/"},
        "toolExecutionNotifications": [],
    } == run["invocations"][0]
    other, _, item = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in load().rules.values()]
    assert ("AD101", "AD101", "warning") == (item["ruleId"], rules[item["ruleIndex"]]["id"], other["level"])
    place = {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    region = {"startLine": 6, "startColumn": 2, "endLine": 6, "endColumn": 17}
    assert [{"physicalLocation": {"artifactLocation": place, "region": region}}] == item["locations"]
    assert [(1, "recorded here"), (2, "freed here"), (3, "defined here")] == [
        (one["id"], one["message"]["text"]) for one in item["relatedLocations"]
    ]
    line = {"startLine": 6, "startColumn": 1, "endLine": 7, "endColumn": 1}
    assert item["fixes"] == [
        {
            "description": {"text": "drop the repeat (safe)"},
            "artifactChanges": [
                {
                    "artifactLocation": place,
                    "replacements": [{"deletedRegion": line, "insertedContent": {"text": ""}}],
                }
            ],
        }
    ]
    assert "decorate (unsafe: needs a look)" == other["fixes"][0]["description"]["text"]


def test_the_rules_of_sarif() -> None:
    """Carry their texts, and what GitHub sorts by, within its limits."""
    rules = report("sarif", Result(()))["runs"][0]["tool"]["driver"]["rules"]
    for rule, described in zip(load().rules.values(), rules, strict=True):
        assert rule.why in described["help"]["markdown"]
        assert rule.url == described["helpUri"]
        assert re.fullmatch(r"([A-Z][a-z0-9]*)+", described["name"])
        assert len(described["fullDescription"]["text"]) <= 1_024
        assert len(described["properties"]["tags"]) <= 10
        assert rule.name in described["properties"]["tags"]
        assert described["defaultConfiguration"]["level"] in ("error", "warning", "note")


def test_a_fix_by_hand_is_no_fix_for_programs(result: Result) -> None:
    """Leaves out what is for display only, with edits or without."""
    source = result.sources["train.py"]
    edit = Edit(span(source, "log"), "x")
    for edits in ((), (edit,)):
        item = rule_finding(source, fix=Fix("choose", Applicability.DISPLAY, edits))
        given = replace(result, diagnostics=(item,))
        assert "fixes" not in report("sarif", given)["runs"][0]["results"][0]
        assert "suggestions" not in report("rdjson", given)["diagnostics"][0]


def test_sarif_says_what_could_not_be_done() -> None:
    """Has a notification for a file that could not be read or analysed, beside its result."""
    broken = unreadable("a.py", "syntax error: x", Position(2, 1))
    failed = replace(broken, name="internal-error", code="AD003", filename="b.py")
    log = report("sarif", Result((broken, failed), root=ROOT, status=2))
    SCHEMA.validate(log)
    (run,) = log["runs"]
    (invocation,) = run["invocations"]
    assert (False, 2, 2) == (invocation["executionSuccessful"], invocation["exitCode"], len(run["results"]))
    assert [("AD002", "a.py"), ("AD003", "b.py")] == [
        (note["associatedRule"]["id"], note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for note in invocation["toolExecutionNotifications"]
    ]


def test_sarif_keeps_to_the_limits(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the least severe results, and says how many."""
    monkeypatch.setattr(sarif, "MOST_RESULTS", 2)
    monkeypatch.setattr(sarif, "MOST_LOCATIONS", 1)
    log = report("sarif", result)
    SCHEMA.validate(log)
    (run,) = log["runs"]
    assert ["AD101", "AD101"] == [item["ruleId"] for item in run["results"]]
    assert 1 == len(run["results"][1]["relatedLocations"])
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "1 of the least severe results are left out" == note["message"]["text"]


@pytest.mark.parametrize(
    ("message", "text"),
    [("`losses[i](x)`", "`losses\\[i](x)`"), ("{0} and {x}", "{{0}} and {x}"), ("a[0], (b)", "a[0], (b)")],
)
def test_sarif_takes_no_code_for_a_link(result: Result, message: str, text: str) -> None:
    """Escapes what a reader would take for a link or for an argument."""
    given = replace(result, diagnostics=(replace(result.diagnostics[1], message=message),))
    assert text == report("sarif", given)["runs"][0]["results"][0]["message"]["text"]


@pytest.mark.parametrize(
    ("filename", "path", "uri"),
    [
        ("a b/ü.py", "a b/ü.py", "a%20b/%C3%BC.py"),
        ("./x.py", "x.py", "x.py"),
        ("/project/x.py", "x.py", "x.py"),
        ("../x.py", "/x.py", "file:///x.py"),
        ("/other/a#b.py", "/other/a#b.py", "file:///other/a%23b.py"),
        ("..x.py", "..x.py", "..x.py"),
        ("c:x.py", "c:x.py", "c%3Ax.py"),
        ("\udcff.py", "\ufffd.py", "%FF.py"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths of POSIX")
def test_paths_are_relative_where_they_can_be(filename: str, path: str, uri: str) -> None:
    """Goes from the root, and names a file outside of it in full."""
    places = Places(Result((), root=ROOT))
    assert (path, uri) == (places.path(filename), places.uri(filename))


def test_notebooks_name_the_cell(book: Result) -> None:
    """Says in each format in which cell a finding is and where there."""
    (item,) = book.diagnostics
    said = f"cell 2, line 13: {item.message}"
    for name in ("concise", "text"):
        assert renderer(name)(book).startswith("a.ipynb:cell 2:13:5: error")
    assert "\n  cell 2:13:5  error" in renderer("grouped")(book)
    assert "| `a.ipynb:cell 2:13:5` |" in renderer("markdown")(book)
    assert f"::{said}\n" in renderer("github")(book)
    assert f"AD101: {said}" == report("gitlab", book)[0]["description"]
    assert said == report("rdjson", book)["diagnostics"][0]["message"]
    assert said == ET.fromstring(renderer("junit")(book))[0][0][0].get("message")
    (found,) = report("sarif", book)["runs"][0]["results"]
    assert said == found["message"]["text"]
    assert {"certainty": "definite", "cell": 2, "lineInCell": 13, "columnInCell": 5} == found["properties"]
    assert found["relatedLocations"][0]["message"]["text"].startswith("cell 2, line 12: ")


def test_fixes_of_notebooks_are_edits_of_the_file(book: Result) -> None:
    """Changes the JSON text where it has to, in SARIF and in what reviewdog suggests."""
    text = Source("a.ipynb", NOTEBOOK)
    mended = Source.from_bytes(NOTEBOOK.encode(), "a.ipynb")
    mended = mended.with_text(mended.text.replace(BAD, GOOD))
    (found,) = report("sarif", book)["runs"][0]["results"]
    (change,) = found["fixes"][0]["artifactChanges"]
    edits = tuple(
        Edit(
            Span(
                Position(one["deletedRegion"]["startLine"], one["deletedRegion"]["startColumn"]),
                Position(one["deletedRegion"]["endLine"], one["deletedRegion"]["endColumn"]),
            ),
            one["insertedContent"]["text"],
        )
        for one in change["replacements"]
    )
    assert mended.content == fixes.apply(text, [Fix("x", Applicability.SAFE, edits)])
    (suggestion,) = report("rdjson", book)["diagnostics"][0]["suggestions"]
    assert mended.content == suggested(NOTEBOOK, suggestion)


def test_a_fix_that_a_notebook_cannot_have_is_left_out(book: Result) -> None:
    """Has the finding without the fix where an edit would break a border between cells."""
    (item,) = book.diagnostics
    across = replace(item, fix=Fix("x", Applicability.SAFE, (Edit(Span(Position(1, 1), Position(3, 1)), ""),)))
    given = replace(book, diagnostics=(across,))
    assert "fixes" not in report("sarif", given)["runs"][0]["results"][0]
    assert "suggestions" not in report("rdjson", given)["diagnostics"][0]


def suggested(text: str, suggestion: dict[str, Any]) -> str:
    """Apply a suggestion of the Diagnostic Format, whose columns count bytes."""
    lines = [line.encode("utf-8", "surrogatepass") for line in text.splitlines(keepends=True)]

    def offset(position: dict[str, int]) -> int:
        return sum(map(len, lines[: position["line"] - 1])) + position["column"] - 1

    data = b"".join(lines)
    start, end = (offset(suggestion["range"][key]) for key in ("start", "end"))
    return (data[:start] + suggestion["text"].encode() + data[end:]).decode()


def test_counts(result: Result) -> None:
    """Counts findings of each rule and says which are mended by `--fix`."""
    assert tally.render(result, "text") == (
        "2  AD101  double-backward       [*]\n"
        "1  AD301  eval-without-no-grad\n"
        "[*] fixable with --fix\n"
        "Found 2 errors and 1 warning (1 fixable with --fix, 1 with --unsafe-fixes).\n"
    )
    objects = json.loads(tally.render(result, "json"))
    assert objects == [json.loads(line) for line in tally.render(result, "json-lines").splitlines()]
    assert objects[1] == {
        "code": "AD301",
        "name": "eval-without-no-grad",
        "severity": "warning",
        "count": 1,
        "fixable": 0,
        "unsafe_fixable": 1,
        "url": "https://adlint.readthedocs.io/rules/eval-without-no-grad",
    }
    table = tally.render(result, "markdown")
    assert renderer("markdown")(result).startswith(table)
    assert ["All checks passed!\n", "[]\n", "", "**adlint:** All checks passed!\n"] == [
        tally.render(Result(()), form) for form in ("text", "json", "json-lines", "markdown")
    ]
    assert ["", ""] == [tally.render(Result((), summary=False), form) for form in ("concise", "markdown")]


def test_links_change_nothing_but_the_links(result: Result) -> None:
    """Links the ids; what is seen, and how wide it is, stays."""
    for name in ("text", "concise", "grouped"):
        linked = renderer(name)(replace(result, color=True, links=True))
        url = "https://adlint.readthedocs.io/rules/double-backward"
        assert f"\x1b]8;;{url}\x1b\\AD101\x1b]8;;\x1b\\" in linked
        assert "\x1b]8;;" not in renderer(name)(replace(result, color=True))
        plain = ESCAPES.sub("", linked)
        assert [line.rstrip() for line in plain.splitlines()] == renderer(name)(result).splitlines()
    assert ESCAPES.sub("", tally.render(replace(result, links=True), "text")) == tally.render(result, "text")


@pytest.mark.parametrize("url", ["", "a b", "x\x1b\\", "ü"])
def test_what_is_no_url_is_no_link(url: str) -> None:
    """Never lets a URL end its own escape."""
    assert "AD101" == hyperlinks.linked("AD101", url)


@pytest.mark.parametrize(
    ("environment", "known"),
    [
        ({}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "foot"}, True),
        ({"TERM": "alacritty"}, True),
        ({"TERM_PROGRAM": "iTerm.app"}, True),
        ({"TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM_PROGRAM": "vscode"}, True),
        ({"TERM_PROGRAM": "ghostty"}, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"VTE_VERSION": "4999"}, False),
        ({"VTE_VERSION": "6003"}, True),
        ({"VTE_VERSION": "new"}, False),
        ({"KONSOLE_VERSION": "220401"}, True),
        ({"WT_SESSION": "1-2"}, True),
        ({"TERM": "screen-256color", "VTE_VERSION": "6003"}, False),
        ({"TMUX": "/tmp/x", "WT_SESSION": "1"}, False),
        ({"TMUX": "/tmp/x", "FORCE_HYPERLINK": "1"}, True),
        ({"WT_SESSION": "1", "FORCE_HYPERLINK": "0"}, False),
    ],
)
def test_terminals_that_know_links(environment: dict[str, str], known: bool) -> None:
    """Goes by what terminals say of themselves, and by the wish of the user before that."""
    assert known is hyperlinks.supported(environment)


TEXTS = st.text(
    st.one_of(st.characters(exclude_categories=()), st.sampled_from("`|{}[]()<>&%:,\"'\\\n\r\t\0\x1b\ud800"))
)
NAMES = TEXTS.filter(bool)
LINES = st.text(st.characters(exclude_categories=("Cs",)), max_size=40).map(lambda text: text.replace("\0", " "))


@st.composite
def results(draw: st.DrawFn) -> Result:
    """Draw findings anywhere, with any names, in files of any text."""
    sources: dict[str, Source] = {}
    items = []
    names = draw(st.lists(NAMES, min_size=1, max_size=3))
    for _ in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from(names))
        if name not in sources and draw(st.booleans()):
            sources[name] = Source(name, draw(LINES))
        source = sources.get(name, Source(name, "x\ny\n"))
        offsets = sorted(draw(st.lists(st.integers(0, len(source.text)), min_size=4, max_size=4)))
        places = [source.position(offset) for offset in offsets]
        edits = (Edit(Span(places[0], places[1]), draw(LINES)), Edit(Span(places[2], places[3]), draw(LINES)))
        kept = edits if offsets[1] < offsets[2] else edits[: draw(st.integers(0, 1))]
        rule = draw(st.sampled_from([*load().rules.values()]))
        items.append(
            Diagnostic(
                rule.id,
                rule.name,
                draw(TEXTS),
                draw(st.sampled_from(Severity)),
                draw(st.sampled_from(Certainty)),
                name,
                Span(places[0], places[3]),
                tuple(
                    Related(draw(TEXTS), draw(NAMES), Span(places[1], places[2]))
                    for _ in range(draw(st.integers(0, 1)))
                ),
                draw(st.one_of(st.none(), st.builds(Fix, TEXTS, st.sampled_from(Applicability), st.just(kept)))),
            )
        )
    return Result(tuple(items), sources, root=ROOT, links=draw(st.booleans()), color=draw(st.booleans()))


def legal(text: str) -> str:
    """Return a text with escapes for what XML cannot hold, as the report has it."""
    return re.sub(
        r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]",
        lambda c: c[0].encode("unicode_escape").decode(),
        text,
    )


def whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Read workflow commands as the runner of GitHub does."""
    found = []
    for line in re.split(r"\r\n|\n|\r", text)[:-1]:
        kind, listed, message = re.fullmatch(r"::(\w+) (.*?)::(.*)", line).groups()  # type: ignore[union-attr]
        properties = dict(one.split("=", 1) for one in listed.split(","))

        def plain(value: str, codes: dict[str, str]) -> str:
            for code, sign in codes.items():
                value = value.replace(code, sign)
            return value.replace("%25", "%")

        ends = {"%0D": "\r", "%0A": "\n"}
        signs = {**ends, "%3A": ":", "%2C": ","}
        found.append((kind, {k: plain(v, signs) for k, v in properties.items()}, plain(message, ends)))
    return found


def hostile(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None)


@hostile(150)
@given(results())
def test_github_with_anything(result: Result) -> None:
    """Gives back what went in, one command for each finding, and nothing that a terminal obeys."""
    text = renderer("github")(result)
    assert not set(text) & set("\x1b\0\x07")
    read = commands(text)
    assert len(read) == len(result.diagnostics)

    def shown(value: str) -> str:
        return "".join(c if c.isprintable() or c in "\r\n" else c.encode("unicode_escape").decode() for c in value)

    places = Places(result)
    for item, (_, properties, message) in zip(result.diagnostics, read, strict=True):
        assert shown(whole(item.message)) == message
        assert shown(places.path(item.filename)) == properties["file"]
        assert f"adlint {item.code} {item.name}" == properties["title"]


@hostile(150)
@given(results())
def test_gitlab_with_anything(result: Result) -> None:
    """Has a fingerprint of its own for each finding, and text that every reader takes."""
    text = renderer("gitlab")(result)
    items = json.loads(text)
    assert len(result.diagnostics) == len({item["fingerprint"] for item in items})
    text.encode("ascii")
    for item in items:
        assert item["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert 1 <= item["location"]["lines"]["begin"] <= item["location"]["lines"]["end"]
        item["description"].encode("utf-8")
        item["location"]["path"].encode("utf-8")


@hostile(150)
@given(results())
def test_junit_with_anything(result: Result) -> None:
    """Is XML whatever is in it, and gives back what XML can hold."""
    text = renderer("junit")(result)
    text.encode("ascii")
    tree = ET.fromstring(text)
    cases = [case for suite in tree for case in suite]
    assert int(tree.get("tests", "")) == len(cases)
    assert sum(len(case) for case in cases) == len(result.diagnostics)
    said = sorted(problem.get("message", "") for case in cases for problem in case)
    assert said == sorted(legal(whole(item.message)) for item in result.diagnostics)
    for suite in tree:
        kinds = [problem.tag for case in suite for problem in case]
        assert (str(kinds.count("failure")), str(kinds.count("error"))) == (suite.get("failures"), suite.get("errors"))


@hostile(60)
@given(results())
def test_sarif_with_anything(result: Result) -> None:
    """Is valid, and its fixes make of a file what `--fix` makes of it."""
    text = renderer("sarif")(result)
    text.encode("ascii")
    log = json.loads(text)
    SCHEMA.validate(log)
    assert "\\ud800" not in text
    (run,) = log["runs"]
    for item, found in zip(result.diagnostics, run["results"], strict=True):
        place = found["locations"][0]["physicalLocation"]
        uri = place["artifactLocation"]["uri"]
        assert re.fullmatch(r"(?:file:///)?[-\w.~/%]*", uri, re.ASCII)
        if "uriBaseId" in place["artifactLocation"]:
            expected = os.path.relpath(os.path.join(ROOT, item.filename), ROOT)
            assert unquote_to_bytes(uri).decode("utf-8", "surrogatepass" if "\ud800" in expected else "surrogateescape")
        region = place["region"]
        assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])


def check_range(value: dict[str, Any]) -> None:
    assert value.keys() == {"start", "end"}
    for position in value.values():
        assert position.keys() <= {"line", "column"}
        assert position["line"] >= 1
        assert position.get("column", 1) >= 1


@hostile(150)
@given(results())
def test_rdjson_with_anything(result: Result) -> None:
    """Has the keys that reviewdog's format has and no others; its suggestions do what `--fix` does."""
    text = renderer("rdjson")(result)
    text.encode("ascii")
    log = json.loads(text)
    assert log.keys() == {"source", "severity", "diagnostics"}
    for item, found in zip(result.diagnostics, log["diagnostics"], strict=True):
        assert found.keys() <= {"message", "location", "severity", "code", "suggestions"}
        assert found["severity"] in ("ERROR", "WARNING", "INFO")
        assert found["code"].keys() <= {"value", "url"}
        assert found["location"].keys() == {"path", "range"}
        json.dumps(found, ensure_ascii=False).encode("utf-8")
        check_range(found["location"]["range"])
        for suggestion in found.get("suggestions", ()):
            assert suggestion.keys() == {"range", "text"}
            check_range(suggestion["range"])
            source = result.sources[item.filename]
            assert item.fix is not None
            if source.text.splitlines() == re.split(r"\r\n|\n|\r", source.text.rstrip("\r\n")):
                assert fixes.apply(source, [item.fix]) == suggested(source.text, suggestion)


@hostile(150)
@given(results())
def test_markdown_with_anything(result: Result) -> None:
    """Has a row of four cells for each finding."""
    lines = renderer("markdown")(result).split("\n")
    rows = lines[lines.index("|---|---|---|---|") + 1 : -1] if result.diagnostics else []
    assert len(rows) == len(result.diagnostics)
    for row in rows:
        assert 5 == len(re.findall(r"(?<!\\)\|", re.sub(r"\\\\(?!\|)", "", row)))


@hostile(100)
@given(results(), st.sampled_from(["text", "concise", "grouped", "json", "json-lines"]))
def test_the_other_formats_with_anything(result: Result, name: str) -> None:
    """Sends nothing of a name or message to the terminal that it would obey."""
    text = renderer(name)(result)
    assert not set(ESCAPES.sub("", text)) & set("\x1b\0\x07\u202e\ud800")
    if name == "json-lines":
        assert len(result.diagnostics) == len([json.loads(line) for line in text.splitlines()])
    if name == "json":
        assert [item.message for item in result.diagnostics] == [item["message"] for item in json.loads(text)]


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_needs_the_sources(name: str, result: Result) -> None:
    """Says what there is to say where no file can be read again."""
    assert "AD301" in renderer(name)(replace(result, sources={}))
