"""`--port-to`: what works under PyTorch and fails, grows or means something else elsewhere; fixes are right in both.

Every program runs under PyTorch as it is and as mended, with the same result. Where the target is burn, the same
mistake in burn's words is a program below fixtures/frameworks/burn, which the reference tape refuses.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import oracle
import pytest

from adlint.catalog import load
from adlint.config import Settings
from adlint.linter import fix, lint
from adlint.source import Source

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
trunk, near, far = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
everything = nn.ModuleList([trunk, near, far])
optimizer = torch.optim.SGD(everything.parameters(), lr=0.1)
inputs = torch.randn(5, 3)
"""
TAIL = "\nRESULT = [float(p.grad.sum()) for p in everything.parameters() if p.grad is not None] + [0.0]\n"
SECOND, ADDED, RECORDED = "port-second-backward", "port-accumulation", "port-evaluation"
GIVEN = "port-argument"

PROGRAMS: dict[str, tuple[str, str, list[tuple[int, str]], str | None]] = {
    "retained for a second loss": (
        "burn",
        "h = trunk(inputs).tanh()\na, b = near(h).mean(), far(h).mean()\na.backward(retain_graph=True)\nb.backward()",
        [(4, SECOND)],
        "h = trunk(inputs).tanh()\na, b = near(h).mean(), far(h).mean()\n(a + b).backward()",
    ),
    "three losses of one trunk": (
        "burn",
        "h = trunk(inputs).tanh()\n"
        "a, b, c = near(h).mean(), far(h).mean(), h.mean()\n"
        "a.backward(retain_graph=True)\n"
        "b.backward(retain_graph=True)\n"
        "c.backward()",
        [(4, SECOND), (5, SECOND)],
        "h = trunk(inputs).tanh()\na, b, c = near(h).mean(), far(h).mean(), h.mean()\n(a + b + c).backward()",
    ),
    "retained, to PaddlePaddle": (
        "paddle",
        "h = trunk(inputs).tanh()\na, b = near(h).mean(), far(h).mean()\na.backward(retain_graph=True)\nb.backward()",
        [],
        None,
    ),
    "recorded evaluation, to PaddlePaddle": (
        "paddle",
        "trunk(inputs).mean().backward()\n"
        "optimizer.step()\n"
        "trunk.eval()\n"
        "for row in inputs:\n"
        "    print(trunk(row).mean().item())",
        [],
        None,
    ),
    "additive trunk": (
        "burn",
        "h = trunk.bias + 1\na, b = (h + 2).sum(), (h - 1).sum()\na.backward()\nb.backward()",
        [(4, SECOND)],
        "h = trunk.bias + 1\na, b = (h + 2).sum(), (h - 1).sum()\n(a + b).backward()",
    ),
    "additive trunk, to PaddlePaddle": (
        "paddle",
        "h = trunk.bias + 1\na, b = (h + 2).sum(), (h - 1).sum()\na.backward()\nb.backward()",
        [(4, SECOND)],
        "h = trunk.bias + 1\na, b = (h + 2).sum(), (h - 1).sum()\n(a + b).backward()",
    ),
    "additive graph twice": (
        "burn",
        "loss = (trunk.bias + 1).sum()\nloss.backward(retain_graph=True)\nloss.backward()",
        [(3, SECOND)],
        None,
    ),
    "read in between": (
        "burn",
        "h = trunk(inputs).tanh()\n"
        "a, b = near(h).mean(), far(h).mean()\n"
        "a.backward(retain_graph=True)\n"
        "norm = trunk.weight.grad.norm()\n"
        "b.backward()",
        [(5, SECOND)],
        None,
    ),
    "losses of graphs of their own": (
        "burn",
        "optimizer.zero_grad()\n"
        "a, b = near(trunk(inputs)).mean(), far(trunk(inputs)).mean()\n"
        "a.backward()\n"
        "b.backward()\n"
        "optimizer.step()",
        [(4, ADDED)],
        "optimizer.zero_grad()\n"
        "a, b = near(trunk(inputs)).mean(), far(trunk(inputs)).mean()\n"
        "(a + b).backward()\n"
        "optimizer.step()",
    ),
    "losses of graphs of their own, to PaddlePaddle": (
        "paddle",
        "optimizer.zero_grad()\n"
        "a, b = near(trunk(inputs)).mean(), far(trunk(inputs)).mean()\n"
        "a.backward()\n"
        "b.backward()\n"
        "optimizer.step()",
        [],
        None,
    ),
    "window of several batches": (
        "burn",
        "optimizer.zero_grad()\n"
        "for part in inputs.split(2):\n"
        "    loss = near(trunk(part)).mean()\n"
        "    loss.backward()\n"
        "optimizer.step()",
        [(4, ADDED)],
        None,
    ),
    "one backward a step": (
        "burn",
        "for part in inputs.split(2):\n"
        "    optimizer.zero_grad()\n"
        "    loss = near(trunk(part)).mean()\n"
        "    loss.backward()\n"
        "    optimizer.step()",
        [],
        None,
    ),
    "evaluation in a scope": (
        "burn",
        "for part in inputs.split(2):\n"
        "    optimizer.zero_grad()\n"
        "    near(trunk(part)).mean().backward()\n"
        "    optimizer.step()\n"
        "with torch.no_grad():\n"
        "    for part in inputs.split(2):\n"
        "        print(trunk(part).mean().item())",
        [(7, RECORDED)],
        None,
    ),
    "evaluation in a scope, to PaddlePaddle": (
        "paddle",
        "for part in inputs.split(2):\n"
        "    optimizer.zero_grad()\n"
        "    near(trunk(part)).mean().backward()\n"
        "    optimizer.step()\n"
        "with torch.no_grad():\n"
        "    for part in inputs.split(2):\n"
        "        print(trunk(part).mean().item())",
        [],
        None,
    ),
    "retained for nobody, by place": (
        "burn",
        "near(trunk(inputs)).mean().backward(None, True)",
        [(1, GIVEN)],
        None,
    ),
    "retained, by a place that is the same": (
        "paddle",
        "near(trunk(inputs)).mean().backward(None, True)",
        [],
        None,
    ),
    "retained, by name": (
        "chainer",
        "near(trunk(inputs)).mean().backward(retain_graph=True)",
        [(1, GIVEN)],
        None,
    ),
    "wrong already": (
        "burn",
        "h = trunk(inputs).tanh()\na = near(h).mean()\na.backward()\noptimizer.step()\noptimizer.zero_grad()",
        [],
        None,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ports(name: str) -> None:
    """Reported with the target alone; the mended program gives the same gradients under PyTorch, and is silent."""
    pytest.importorskip("torch")
    target, body, expected, mended = PROGRAMS[name]
    text, above = HEAD + body + TAIL, HEAD.count("\n")
    settings = Settings(port_to=target)
    found = [(item.span.start.line - above, item.name) for item in lint(Source("case.py", text), settings)]
    assert [one for one in found if one[1].startswith("port-")] == expected
    found = [one for one in found if one[1] != "useless-retain"]
    plain = [(item.span.start.line - above, item.name) for item in lint(Source("case.py", text))]
    plain = [one for one in plain if one[1] != "useless-retain"]
    assert plain == [one for one in found if not one[1].startswith("port-")]
    before = oracle.run(text)
    assert before.error is None, before.error
    ported = fix(Source("case.py", text), Settings(port_to=target, select=("port",)), unsafe=True).text
    assert ported == (text if mended is None else HEAD + mended + TAIL)
    assert not oracle.differ(before.result, oracle.run(ported).result, 1e-5)
    assert mended is None or not lint(Source("case.py", ported), Settings(port_to=target, select=("port",)))


@pytest.mark.parametrize("rule", [r for r in load().rules.values() if r.family == "port"], ids=lambda rule: rule.name)
def test_examples(rule) -> None:  # type: ignore[no-untyped-def]
    """The rule's bad example is reported at its mark, the good one is not."""
    lines = [number for number, line in enumerate(rule.bad.split("\n"), 1) if "# want" in line]
    found = lint(Source("bad.py", rule.bad.replace(f"  # want: {rule.name}", "")), Settings(port_to="burn"))
    assert [item.span.start.line for item in found if item.name == rule.name] == lines
    assert not [d for d in lint(Source("good.py", rule.good), Settings(port_to="burn")) if d.name.startswith("port-")]


def test_the_command_line(tmp_path: Path) -> None:
    """Names the target in the message, and refuses one that it does not know."""
    target, body, expected, _ = PROGRAMS["additive trunk"]
    (tmp_path / "case.py").write_text(HEAD + body + TAIL, encoding="utf-8")
    command = [sys.executable, "-m", "adlint", "check", str(tmp_path), "--no-cache"]
    run = subprocess.run(
        [*command, "--port-to", target, "--output-format", "json"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    (message,) = [item["message"] for item in json.loads(run.stdout) if item["name"] == expected[0][1]]
    assert "burn has consumed" in message
    unknown = subprocess.run([*command, "--port-to", "bun"], capture_output=True, text=True, check=False)
    assert unknown.returncode == 2
    assert "unknown framework `bun`; did you mean `burn`?" in unknown.stderr


OURS = """\
id = "ours"
roots = ["ours"]
consume = "always"
retain_argument = "retain_graph"
rules = []
[terms]
backward = "backward()"
[backward_parameters]
"Tensor.backward" = ["retain_graph", "gradient"]
"""


def test_an_argument_in_another_place(tmp_path: Path) -> None:
    """A flag that stands elsewhere in the other framework is given by name, which means the same here."""
    (tmp_path / "ours.toml").write_text(OURS, encoding="utf-8")
    settings = Settings(root=tmp_path, frameworks=("ours.toml",), port_to="ours", select=("port",))
    body = "loss = near(trunk(inputs)).mean()\nloss.backward(None, True)\nloss.backward()"
    (found,) = lint(Source("case.py", HEAD + body + TAIL), settings)
    assert found.message == "`retain_graph` is the second argument here, and another one of a backward in ours"
    mended = fix(Source("case.py", HEAD + body + TAIL), settings).text
    assert mended == HEAD + body.replace("(None, True)", "(None, retain_graph=True)") + TAIL
    pytest.importorskip("torch")
    assert oracle.run(mended).result == oracle.run(HEAD + body + TAIL).result
