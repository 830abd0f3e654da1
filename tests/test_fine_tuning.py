"""A network from elsewhere is frozen and gets a new head: where that is put in, and what then has a gradient."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from adlint.linter import lint
from adlint.source import Source

PROGRAM = """\
import torch
from torch import nn
from torchvision import models
from zoo import Head

model = models.resnet18()
for param in model.parameters():
    param.requires_grad = False
{head}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in [(torch.randn(2, 4), torch.zeros(2).long())]:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
"""
HEADS = [
    "model.last = nn.Linear(4, 4)",
    "model.last = Head()",
    "model.classifier[1] = nn.Linear(4, 4)",
    "model.classifier[1] = Head()",
    "model.classifier[0][0] = nn.Linear(4, 4)",
    "model.classifier.append(nn.Linear(4, 4))",
    "model.classifier.add_module('1', nn.Linear(4, 4))",
    "setattr(model.classifier, '1', nn.Linear(4, 4))",
    "model.inner.last = nn.Linear(4, 4)",
    "model.inner.last = Head()",
    "model.inner.classifier[1] = nn.Sequential(nn.Linear(4, 4), nn.LogSoftmax(dim=1))",
]


def packages() -> dict[str, ModuleType]:
    """Return packages with a network and a head that adlint cannot see into."""
    from torch import nn

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.classifier = nn.Sequential(nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 4))
            self.last = nn.Linear(4, 4)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.last(self.classifier(x))

    class Network(Inner):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x):  # type: ignore[no-untyped-def]
            return super().forward(self.inner(x))

    found = {"torchvision": ModuleType("torchvision"), "zoo": ModuleType("zoo")}
    found["torchvision"].models = SimpleNamespace(resnet18=Network)  # type: ignore[attr-defined]
    found["zoo"].Head = lambda: nn.Linear(4, 4)  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("head", HEADS)
def test_a_new_head_is_trained(head: str) -> None:
    """Finds nothing: the new member has a gradient."""
    assert lint(Source("train.py", PROGRAM.format(head=head))) == []


@pytest.mark.parametrize("head", ["pass", "model.classifier[1].weight", "model.inner.name = 'zoo'"])
def test_what_stays_frozen_is_reported(head: str) -> None:
    """Reports the backward where nothing that trains was put in."""
    found = lint(Source("train.py", PROGRAM.format(head=head)))
    assert [item.name for item in found] == ["backward-without-graph"]


@pytest.mark.runtime
@pytest.mark.parametrize("head", [*HEADS, "pass"])
def test_pytorch_agrees(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs with a new head, and raises without one."""
    for name, module in packages().items():
        monkeypatch.setitem(sys.modules, name, module)
    program = compile(PROGRAM.format(head=head), "train.py", "exec")
    if head == "pass":
        with pytest.raises(RuntimeError, match="does not require grad"):
            exec(program, {})
    else:
        exec(program, {})
