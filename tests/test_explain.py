"""What `adlint explain` tells: the path that leads to a finding, or what a line goes through, in every format."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from adlint.catalog import Rule, load
from adlint.cli import application
from adlint.config import Settings
from adlint.linter import lint
from adlint.lower import lower
from adlint.source import Source, Unreadable
from adlint.tape.log import happenings
from adlint.tape.run import run
from adlint.trace import FORMATS, Trace, renderer
from adlint.trace.account import MOST, explain
from adlint.trace.layout import laid_out
from adlint.trace.picture import picture
from adlint.trace.place import Place, WrongPlace, parse

RULES = [rule for rule in load().rules.values() if rule.family != "meta"]
SHARED = load().rules["shared-backward"].bad
TORCH = load().profiles["torch"]
PASSES = ("backward", "grad")


def settings(rule: Rule) -> Settings:
    return replace(Settings(), port_to="burn") if rule.family == "port" else Settings()


def traced(rule: Rule) -> Trace:
    """The trace of a rule's wrong example, at the line that it marks."""
    source = Source("train.py", rule.bad)
    [line] = [n for n in range(1, source.line_count) if f"# want: {rule.name}" in source.line(n)] or [
        next(item.span.start.line for item in lint(source, settings(rule)) if item.name == rule.name)
    ]
    return next(trace for trace in explain(source, settings(rule), line) if trace.rule == rule.name)


def run_cli(*arguments: str, at: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    monkeypatch.chdir(at)
    result = CliRunner().invoke(application(), ["explain", *arguments], standalone_mode=False)
    return (result.return_value if result.exception is None else 2), result.stdout, result.stderr


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_trace_leads_to_the_finding(rule: Rule) -> None:
    """It begins with the finding as it is reported, and comes by every line that the finding gives as its cause."""
    trace = traced(rule)
    source = Source("train.py", rule.bad)
    finding = next(item for item in lint(source, settings(rule)) if item.name == rule.name)
    assert trace.headline == f"{finding.severity.value} {finding.code} {finding.name}: {finding.message}"
    assert trace.place == f"train.py:{finding.span.start.line}:{finding.span.start.column}"
    assert (trace.note, trace.left_out) == ("", 0)
    lines = {item.line for item in (*trace.tensors, *trace.steps)}
    spans = [finding.span, *(related.span for related in finding.related)]
    for span in spans:
        inside = {str(n) for n in range(span.start.line, span.end.line + 1)}
        assert inside & lines, f"line {span.start.line} is not in {lines}"
    assert trace.tensors
    numbers = {tensor.number for tensor in trace.tensors}
    assert numbers == set(range(1, len(numbers) + 1))
    for tensor in trace.tensors:
        assert numbers.issuperset((*tensor.parents, *tensor.behind))
        assert all(number < tensor.number for number in (*tensor.parents, *tensor.behind))
    for step in trace.steps:
        assert numbers.issuperset((*step.tensors, *step.freed, *step.met, *(slot.tensor for slot in step.slots)))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_what_is_met_was_freed_before(rule: Rule) -> None:
    """A pass meets only nodes that an earlier pass has freed, on the line that it names; each is freed once."""
    gone: dict[int, str] = {}
    for step in traced(rule).steps:
        assert all(step.by.startswith(f"line {gone[number]}") for number in step.met)
        assert not gone.keys() & set(step.freed)
        gone.update(dict.fromkeys(step.freed, step.line))


@pytest.mark.parametrize(
    ("name", "met"),
    [
        ("double-backward", {"model(inputs)", "loss"}),
        ("shared-backward", {"trunk(torch.randn(8, 4))", "features"}),
        ("stale-forward", {"prediction"}),
        ("carried-graph", {"hidden"}),
        ("undetached-adversary", {"fake", "generator(torch.randn(8, 2))"}),
        ("port-second-backward", {"trunk(torch.randn(8, 4))", "features"}),
    ],
)
def test_the_pass_that_freed_and_the_nodes(name: str, met: set[str]) -> None:
    """Where a pass raises because of freed nodes, the trace names them and the pass."""
    trace = traced(load().rules[name])
    names = {tensor.number: tensor.name for tensor in trace.tensors}
    last = next(step for step in reversed(trace.steps) if step.kind in PASSES)
    assert last.refused
    assert {names[number] for number in last.met} == met
    first = next(step for step in trace.steps if step.freed)
    assert first.line in last.by.split(",")[0].split()
    assert f"freed on {last.by}" in renderer("text")([trace])


def test_slots_scopes_and_modes() -> None:
    """What becomes of a slot, what switches recording off and what sets a mode is told with its line."""
    rules = load().rules
    changes = [
        (step.kind, slot.was, slot.now) for step in traced(rules["missing-zero-grad"]).steps for slot in step.slots
    ]
    assert changes == [
        ("backward", "clean", "filled"),
        ("step", "filled", "applied"),
        ("backward", "applied", "stale"),
        ("step", "stale", "applied"),
    ]
    scopes = [
        (step.line, step.code, step.word) for step in traced(rules["gradless-term"]).steps if step.kind == "scope"
    ]
    assert scopes == [("11", "torch.no_grad()", "off"), ("13", "", "on")]
    modes = [(step.line, step.word) for step in traced(rules["missing-train-mode"]).steps if step.kind == "mode"]
    assert modes == [("15", "evaluation")]
    kept = [step.word for step in traced(rules["retain-to-accumulate"]).steps if step.kind == "backward"]
    assert kept == ["kept", ""]
    between = traced(rules["step-between"])
    names = {tensor.number: tensor.name for tensor in between.tensors}
    assert [names[n] for n in between.steps[-1].outdated] == ["verdict", "judge"]
    cut = next(tensor for tensor in traced(rules["backward-without-graph"]).tensors if tensor.cut == "detach")
    assert (cut.name, cut.line, cut.requires_grad) == ("outputs", "11", False)


def test_text() -> None:
    assert renderer("text")(explain(Source("train.py", SHARED), Settings(), 14)) == (
        "train.py:14:5: error AD102 shared-backward: `value_loss` shares `trunk(torch.randn(8, 4)).relu()` with "
        "`policy_loss`, whose backward on line 13 freed it\n"
        "  line 5   #1 trunk: leaf with a gradient slot\n"
        "  line 5   #2 policy: leaf with a gradient slot\n"
        "  line 5   #3 value: leaf with a gradient slot\n"
        "  line 9   #4 trunk(torch.randn(8, 4)): Linear, saves tensors, made of #1\n"
        "  line 9   #5 features: relu, saves tensors, made of #4\n"
        "  line 10  #6 policy(features): Linear, saves tensors, made of #5 #2\n"
        "  line 10  #7 policy_loss: cross_entropy, saves tensors, made of #6\n"
        "  line 11  #8 value(features): Linear, saves tensors, made of #5 #3\n"
        "  line 11  #9 value_loss: mse_loss, saves tensors, made of #8\n"
        "  line 13  policy_loss.backward(): a backward pass\n"
        "               walks #7 #6 #2 #5 #4 #1\n"
        "               frees #7 #6 #5 #4\n"
        "               slot of #1 #2: filled\n"
        "  line 14  value_loss.backward(): a backward pass\n"
        "               walks #9 #8 #3 #5 #4 #1\n"
        "               meets #5 #4, freed on line 13\n"
        "               raises\n"
    )


# ---------------------------------------------------------------- pictures


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_pictures(rule: Rule) -> None:
    """Every format shows every tensor and event; the SVG is XML that loads nothing, and no two boxes overlap."""
    trace = traced(rule)
    boxes = picture(trace, "p1").boxes
    root = ET.fromstring(renderer("svg")([trace]))
    shown = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    for box in boxes:
        assert shown.issuperset(box.lines)
    assert not {"image", "script", "use", "style", "foreignObject"} & {
        part.tag.rpartition("}")[2] for part in root.iter()
    }
    areas = list(laid_out(picture(trace)).areas.items())
    drawn = [area for name, area in areas if " " not in name]
    for one, other in itertools.combinations(drawn, 2):
        apart = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert apart or one.y + one.height <= other.y or other.y + other.height <= one.y
    check_mermaid(renderer("mermaid")([trace]), [box.id for box in boxes])
    check_dot(renderer("dot")([trace]), [box.id for box in boxes])


def check_mermaid(text: str, boxes: list[str]) -> None:
    head, *lines = text.splitlines()
    assert head == "flowchart TB"
    made = []
    for line in map(str.strip, lines):
        if box := re.fullmatch(
            r'(p\d+[te]\d+)(?:\(\[|\[\[|\{\{|\[)"[^"<>]*(?:<br/>[^"<>]*)*"(?:\]\)|\]\]|\}\}|\])(:::\w+)?', line
        ):
            made.append(box[1])
        elif arrow := re.fullmatch(r"(p\d+[te]\d+) (?:-->|-\.->|==>|~~~)(?:\|\w+\|)? (p\d+[te]\d+)", line):
            assert {arrow[1], arrow[2]} <= set(boxes)
        else:
            assert re.fullmatch(r'subgraph p\d+\["[^"]*"\]|end|classDef \w+ \S+', line), line
    assert made == boxes


def check_dot(text: str, boxes: list[str]) -> None:
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    assert bare.count("{") == bare.count("}") == 2
    assert bare.count("[") == bare.count("]")
    assert re.findall(r"^    (\w+) \[", bare, re.MULTILINE) == boxes
    assert {name for pair in re.findall(r"(\w+) -> (\w+)", bare) for name in pair} <= set(boxes)
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True)


def test_awkward_names() -> None:
    """Quotes, brackets and control characters of a program do not leave their place."""
    kept = "kept['\"<&>\\\\\x1b`#;']"
    text = "import torch\n\nx = torch.ones(3, requires_grad=True)\nkept = {}\n"
    text += f"{kept} = (x * x).sum()\n{kept}.backward()\n{kept}.backward()\n"
    traces = explain(Source('a"<&>.py', text), Settings(), 7)
    assert [trace.rule for trace in traces] == ["double-backward"]
    assert "\x1b" not in renderer("text")(traces)
    ET.fromstring(renderer("svg")(traces))
    boxes = [box.id for box in picture(traces[0], "p1").boxes]
    check_mermaid(renderer("mermaid")(traces), boxes)
    check_dot(renderer("dot")(traces), boxes)


def test_several_findings_on_a_line() -> None:
    """Each has its trace, and the boxes of two pictures do not get mixed up."""
    text = "import torch\nx = torch.ones(3, requires_grad=True)\na = (x * x).sum()\nb = (x * x).sum()\n"
    text += "a.backward(); b.backward()\na.backward(); b.backward()\n"
    traces = explain(Source("two.py", text), Settings(), 6)
    assert len(traces) == len([item for item in lint(Source("two.py", text)) if item.span.start.line == 6])
    for form in FORMATS:
        assert all(trace.place in renderer(form)([*traces, *traces]) for trace in traces)
    root = ET.fromstring(renderer("svg")([traces[0], traces[0]]))
    assert len(root.findall("{http://www.w3.org/2000/svg}g")) == 2


# ---------------------------------------------------------------- other lines


def test_a_line_without_a_finding() -> None:
    """What is made, used or changed there, up to the pass that raises."""
    [trace] = explain(Source("train.py", SHARED), Settings(), 9)
    assert (trace.place, trace.rule) == ("train.py:9", "")
    assert [tensor.name for tensor in trace.tensors] == ["trunk", "trunk(torch.randn(8, 4))", "features"]
    assert [step.line for step in trace.steps if step.kind == "backward"] == ["13", "14"]
    assert explain(Source("train.py", SHARED), Settings(), 1) == []
    assert explain(Source("train.py", "print(1)\n"), Settings(), 1) == []


def test_a_name_is_enough() -> None:
    """A line that only uses a tensor is told of by what the tensor went through."""
    text = "import torch\nx = torch.ones(3, requires_grad=True)\nloss = (x * x).sum()\nloss.backward()\nkeep(loss)\n"
    [trace] = explain(Source("train.py", text), Settings(), 5)
    assert "loss" in {tensor.name for tensor in trace.tensors}
    assert [step.freed != () for step in trace.steps if step.kind == "backward"] == [True]


def test_what_a_report_leaves_out() -> None:
    """A finding that is silenced is explained, and it is said that it is."""
    text = SHARED.replace("# want: shared-backward", "# adlint: ignore[shared-backward]")
    [trace] = explain(Source("train.py", text), Settings(), 14)
    assert (trace.rule, trace.note) == ("shared-backward", "a comment or the settings silence it")
    assert "not reported: a comment or the settings silence it" in renderer("text")([trace])
    [trace] = explain(Source("train.py", SHARED), replace(Settings(), ignore=("graph",)), 14)
    assert trace.note == "a comment or the settings silence it"


def test_a_long_graph_is_cut() -> None:
    """A trace has room for so many tensors, the nearest ones, and says how many lie farther away."""
    steps = "".join(f"h = h * x  # {n}\n" for n in range(200))
    text = (
        f"import torch\nx = torch.ones(3, requires_grad=True)\nh = x\n{steps}h = h.sum()\nh.backward()\nh.backward()\n"
    )
    source = Source("long.py", text)
    [trace] = explain(source, Settings(), source.line_count - 1)
    assert len(trace.tensors) == MOST
    assert trace.left_out == 202 - MOST
    assert f"and {trace.left_out} tensors that lie farther away" in renderer("text")([trace])
    ET.fromstring(renderer("svg")([trace]))


def test_an_unreadable_text() -> None:
    with pytest.raises(Unreadable):
        explain(Source("train.py", "import torch\nloss.backward(\n"), Settings(), 1)


# ---------------------------------------------------------------- the log


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_keeping_a_log_changes_nothing(rule: Rule) -> None:
    """The facts are the same, and without being asked no path keeps one."""
    program = lower(rule.bad, "train.py")
    plain, logged = run(program, TORCH), run(program, TORCH, logged=True)
    assert [(f.kind, f.event.site, f.definite, len(f.causes)) for f in plain.found] == [
        (f.kind, f.event.site, f.definite, len(f.causes)) for f in logged.found
    ]
    assert (plain.ends, {f.path for f in plain.found} | {f.event.path for f in plain.found}) == (
        [],
        {None} if plain.found else set(),
    )
    for end in logged.ends:
        assert [one.number for one in happenings(end)] == list(range(end.number + 1))


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("train.py:14", Place("train.py", None, 14)),
        ("train.py:14:5", Place("train.py", None, 14)),
        (r"C:\code\train.py:14", Place(r"C:\code\train.py", None, 14)),
        ("C:/code/train.py:14:5", Place("C:/code/train.py", None, 14)),
        ("a.ipynb:3:4", Place("a.ipynb", 3, 4)),
        ("a.ipynb:3:4:5", Place("a.ipynb", 3, 4)),
        ("a.ipynb:cell 3:4:5", Place("a.ipynb", 3, 4)),
        (r"C:\a.ipynb:3:4", Place(r"C:\a.ipynb", 3, 4)),
    ],
)
def test_places(text: str, place: Place) -> None:
    assert parse(text) == place


@pytest.mark.parametrize(
    "text", ["", "train.py", ":14", "train.py:", "train.py:x", r"C:\train.py", "a.ipynb:3", "t.py:-1"]
)
def test_no_places(text: str) -> None:
    with pytest.raises(WrongPlace, match="is not of the form"):
        parse(text)


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(SHARED, encoding="utf-8")
    for form in FORMATS:
        status, said, problems = run_cli("train.py:14", "--format", form, at=tmp_path, monkeypatch=monkeypatch)
        assert (status, problems) == (0, "")
        assert said == renderer(form)(explain(Source("train.py", SHARED), Settings(), 14))
    (tmp_path / "broken.py").write_text("import torch\nloss.backward(\n", encoding="utf-8")
    for arguments, problem in {
        ("train.py",): "adlint: error: `train.py` is not of the form FILE:LINE\n",
        ("train.py:99",): "adlint: error: train.py has no line 99, only 1 to 16\n",
        ("train.py:14", "--port-to", "brun"): "unknown framework `brun`",
        ("broken.py:1",): "adlint: error: broken.py:",
    }.items():
        status, said, problems = run_cli(*arguments, at=tmp_path, monkeypatch=monkeypatch)
        assert (status, said, problems.count("\n")) == (2, "", 1)
        assert problem in problems
    assert run_cli("train.py:1", at=tmp_path, monkeypatch=monkeypatch) == (
        0,
        "",
        "adlint: info: train.py:1: nothing happens on the tape here\n",
    )
    assert run_cli("gone.py:1", at=tmp_path, monkeypatch=monkeypatch)[0] == 2


def test_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is one of a cell, numbered as reports number it."""
    lines = SHARED.splitlines(keepends=True)
    cells = [{"cell_type": "markdown", "source": []}]
    cells += [{"cell_type": "code", "source": part} for part in (lines[:6], lines[6:])]
    (tmp_path / "a.ipynb").write_text(json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}), encoding="utf-8")
    status, said, problems = run_cli("a.ipynb:3:8", at=tmp_path, monkeypatch=monkeypatch)
    assert (status, problems) == (0, "")
    assert said.startswith("a.ipynb:cell 3:8:5: error AD102 shared-backward")
    assert "meets #5 #4, freed on line 7 of cell 3" in said
    for place, problem in {"a.ipynb:9:1": "no code cell 9", "a.ipynb:3:99": "no line 99", "a.ipynb:3": "CELL"}.items():
        status, said, problems = run_cli(place, at=tmp_path, monkeypatch=monkeypatch)
        assert (status, said) == (2, "")
        assert problem in problems


def test_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a function of another file does is a part of the trace, with that file's name."""
    (tmp_path / "adlint.toml").touch()
    (tmp_path / "helpers.py").write_text("import torch\n\n\ndef walk(loss):\n    loss.backward()\n", encoding="utf-8")
    text = "import torch\nfrom helpers import walk\nx = torch.ones(3, requires_grad=True)\nloss = (x * x).sum()\n"
    (tmp_path / "train.py").write_text(f"{text}walk(loss)\nloss.backward()\n", encoding="utf-8")
    status, said, _ = run_cli("train.py:6", at=tmp_path, monkeypatch=monkeypatch)
    assert status == 0
    assert "freed on line 5 of `helpers.py`" in said


def test_nothing_is_told_beyond_an_error() -> None:
    """A pass that the program does not survive frees nothing, whatever the tape goes on with."""
    trace = traced(load().rules["non-scalar-backward"])
    assert [(step.kind, step.freed) for step in trace.steps if step.kind != "made"] == [("here", ())]
