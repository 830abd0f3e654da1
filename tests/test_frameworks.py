"""The programs of the other frameworks, run: by PaddlePaddle and tinygrad themselves, and by a reference tape for those
of which no Python package can be installed (tests/standins, written from the rules that the seeds state).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import oracle
import pytest
from conftest import REQUIRE_TORCH, Marks, cases

from adlint.catalog import load
from adlint.config import Settings
from adlint.linter import fix, lint
from adlint.source import Source

if TYPE_CHECKING:
    from conftest import Case

STANDINS = Path(__file__).parent / "standins"
NEEDS = {"burn": (), "mixed": ("paddle", "torch"), "paddle": ("paddle",), "tenferro": (), "tinygrad": ("tinygrad",)}
"""The folders of programs that are run here, and the packages that they need."""

FREED = {
    "burn": "graph tape has already been consumed",
    "mixed": "backward twice for the same subgraph",
    "paddle": "backward twice for the same subgraph",
}
REFUSED = {"inactive-grad": "grad is inactive", "non-scalar-backward": "grad requires a scalar output, got shape [3]"}
RAISES = {"carried-graph", "double-backward", "shared-backward", "stale-forward"}
CASES = [case for case in cases() if case.rule in NEEDS]
every_case = pytest.mark.parametrize("program", CASES, ids=lambda case: case.id)


@cache
def outcome(text: str) -> oracle.Outcome:
    """Run a program in a child that finds the reference tapes, and computes tinygrad's values without a compiler."""
    head = f"import os, sys; os.environ['DEV'] = 'PYTHON'; sys.path.insert(0, {str(STANDINS)!r}); "
    return oracle.run(head + text if not text.startswith('"""') else _behind_docstring(text, head))


def _behind_docstring(text: str, head: str) -> str:
    docstring, _, rest = text.partition('"""\n')
    return f'{docstring}"""; {head}\n{rest}'


def ready(case: Case) -> None:
    missing = [name for name in NEEDS[case.rule] if importlib.util.find_spec(name) is None]
    if missing and os.environ.get(REQUIRE_TORCH) == "1" and sys.version_info[:2] == (3, 11):
        pytest.fail(f"{missing} is not installed, and {REQUIRE_TORCH}=1 demands these tests", pytrace=False)
    if missing or importlib.util.find_spec("torch") is None:
        pytest.skip(f"{missing or 'torch'} is not installed")


@every_case
def test_programs_do_what_the_marks_say(program: Case) -> None:
    """A wrong program raises as its framework does, at a marked line, or ends otherwise than the mended one; one that
    trains nothing ends as it began; right and mended programs run through."""
    ready(program)
    found = outcome(program.text)
    rules = {name for _, name in program.marks.want}
    lines = {line for line, _ in program.marks.want}
    if not rules:
        assert found.error is None, found.error
        assert found.result, "no RESULT"
        return
    if rules & RAISES:
        assert FREED[program.rule] in (found.error or "")
        assert found.line in lines
    elif rules & REFUSED.keys():
        assert any(REFUSED[rule] in (found.error or "") for rule in rules)
        assert found.line in lines
    elif program.golden is None:
        assert rules == {"backward-without-graph"}
        assert found.result
        assert found.result[0] == found.result[-1]
    else:
        assert found.error is None, found.error
        assert oracle.differ(found.result, outcome(program.golden).result)
    if program.golden is not None:
        assert outcome(program.golden).error is None


@pytest.mark.parametrize("program", [c for c in CASES if c.golden or not c.wrong], ids=lambda case: case.id)
def test_fixes_run_as_the_expert_meant(program: Case) -> None:
    """What adlint makes of a wrong program ends with the result of the expert's."""
    ready(program)
    mended = fix(Source("case.py", program.text), Settings(), unsafe=True).text
    assert outcome(mended).result == outcome(program.golden or program.text).result


OURS = """\
id = "ours"
roots = ["ours"]
consume = "always"
rules = ["double-backward"]
[terms]
backward = "derive()"
[backward_parameters]
"Tensor.backward" = []
[roles]
module = ["ours.Layer"]
[methods.tensor]
backward = ["derive"]
operation = ["*"]
"""


def test_a_framework_is_a_table(tmp_path: Path) -> None:
    """Adds a framework that no Python file knows; its programs are judged by it, those of others are not."""
    (tmp_path / "ours.toml").write_text(OURS, encoding="utf-8")
    settings = Settings(root=tmp_path, frameworks=("ours.toml",))
    text = "import ours\nlayer = ours.Layer(3)\nloss = (layer([1.0]) + 1).sum()\nloss.derive()\nloss.derive()\n"
    (found,) = lint(Source("case.py", text), settings)
    assert (found.name, found.span.start.line) == ("double-backward", 5)
    assert lint(Source("case.py", text)) == []
    assert lint(Source("case.py", text.replace("ours", "torch")), settings) == []
    mended = fix(Source("case.py", text), settings).text
    assert mended == text.replace("loss.derive()\nloss.derive()\n", "loss.derive()\n")


MISUSED = """\
import {module}
model = {module}.nn.Linear(3, 1)
optimizer = {module}.optim.SGD(model.parameters(), lr=0.1)
for inputs in [1, 2, 3]:
    loss = model(inputs).sum()
    loss.backward()
    optimizer.step()
    loss.backward()
model.eval()
for inputs in [1, 2, 3]:
    print(model(inputs))
"""


@pytest.mark.parametrize("name", [p.id for p in load().profiles.values() if p.rules == frozenset()])
def test_frameworks_without_anything_to_say_are_left_alone(name: str) -> None:
    """What is misuse in PyTorch is not reported of another framework, also beside PyTorch."""
    assert lint(Source("case.py", MISUSED.format(module="torch")))
    text = MISUSED.format(module=name)
    assert lint(Source("case.py", text)) == []
    assert lint(Source("case.py", "import torch\ntorch.ones(3).sum().backward\n" + text)) == []


# ---------------------------------------------------------------- what the seeds state, on the reference tapes


@pytest.fixture
def burn(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(STANDINS))
    module = importlib.import_module("burn")
    yield module
    del sys.modules["burn"]


def _leaf(burn: ModuleType) -> Any:
    return burn.Tensor.from_floats([1.0, 2.0], burn.Device.flex().autodiff()).require_grad()


def test_burn_takes_the_steps_of_all_results(burn: ModuleType) -> None:
    """A backward leaves no step of its way; the leaf can be used again."""
    x = _leaf(burn)
    loss = (x.exp() * 2.0).sum()
    assert burn.steps() == 3
    loss.backward()
    assert burn.steps() == 0
    assert list(x.grad((x * 4.0).sum().backward()).data) == [4.0, 4.0]


def test_burn_names_the_node_that_a_living_handle_stands_for(burn: ModuleType) -> None:
    """With the shared intermediate at hand its own id is reported; without, the losses behind it are gone."""
    x = _leaf(burn)
    h = x.exp()
    near, far = h.sum(), (h * 2.0).sum()
    near.backward()
    with pytest.raises(burn.Panic, match=rf"NodeId\({h.node}\)"):
        far.backward()
    h = x.exp()
    near, far = h.sum(), (h * 2.0).sum()
    del h
    near.backward()
    with pytest.raises(burn.Panic, match=rf"NodeId\({far.node}\)"):
        far.backward()


def test_burn_cleans_up_with_the_next_backward(burn: ModuleType) -> None:
    """Steps of forwards that nobody holds stay until a backward ends."""
    x = _leaf(burn)
    for _ in range(50):
        x.exp().sum().into_scalar()
    assert burn.steps() == 100
    (x * 2.0).sum().backward()
    assert burn.steps() == 0


def test_burn_records_nothing_off_the_device(burn: ModuleType) -> None:
    """A network that is built without autodiff leaves no steps, and adlint is silent."""
    layer = burn.nn.LinearConfig(2, 1).init(burn.Device.flex())
    out = layer.forward(burn.Tensor.from_floats([[1.0, 2.0]], burn.Device.flex()))
    assert (burn.steps(), out.is_autodiff()) == (0, False)


def test_sum_of_the_losses_is_pytorchs(burn: ModuleType) -> None:
    """The gradient of the summed losses is that of PyTorch, 3·exp(x)."""
    torch = pytest.importorskip("torch")
    x = _leaf(burn)
    h = x.exp()
    ours = x.grad((h.sum() + (h * 2.0).sum()).backward())
    leaf = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (leaf.exp().sum() + (leaf.exp() * 2.0).sum()).backward()
    assert list(ours.data) == pytest.approx(leaf.grad.tolist(), rel=1e-15)


def test_tenferro_has_slots_for_variables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients add up in the slots of variables; results and constants have none."""
    monkeypatch.syspath_prepend(str(STANDINS))
    tenferro = importlib.import_module("tenferro")
    rt, engine = tenferro.EagerRuntime.new(), tenferro.CpuEngine.serial()
    w, x = rt.variable_from([1.0, 2.0]), rt.constant_from([3.0, 4.0])
    h = rt.mul(w, x)
    loss = rt.reduce_sum(h)
    loss.backward(engine)
    loss.backward(engine)
    assert (w.grad().value(), h.grad(), x.grad()) == ([6.0, 8.0], None, None)
    assert (h.tracks_grad(), x.tracks_grad()) == (True, False)


def test_the_documented_profile(tmp_path: Path) -> None:
    """The in-house profile of docs/frameworks.md finds what the page says; without it nothing is found."""
    page = (Path(__file__).parent.parent / "docs" / "frameworks.md").read_text(encoding="utf-8")
    parts = dict(re.findall(r"<!-- (\S+) -->\n```\w+\n(.*?)```", page, re.DOTALL))
    (tmp_path / "acme.toml").write_text(parts["acme.toml"], encoding="utf-8")
    text, marks = Marks.strip(parts["training.py"])
    settings = Settings(root=tmp_path, frameworks=("acme.toml",))
    found = lint(Source("training.py", text), settings)
    assert {(item.span.start.line, item.name) for item in found} == marks.want
    assert "    optimizer.reset_gradients()\n" in fix(Source("training.py", text), settings).text
    assert lint(Source("training.py", text)) == []
