"""Libraries around PyTorch that take over backward, step or clear: one loop in the words of each, right and wrong.

The libraries are not run here; what they do is data in the profile, which their documentation is the source of.
"""

from __future__ import annotations

import pytest

from adlint.linter import lint
from adlint.source import Source

HEAD = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = [torch.randn(2, 3) for _ in range(3)]
"""

RIGHT = {
    "accelerate": """\
from accelerate import Accelerator
accelerator = Accelerator()
model, optimizer = accelerator.prepare(model, optimizer)
for x in data:
    with accelerator.accumulate(model):
        loss = model(x).pow(2).mean()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
""",
    "accelerate, mixed precision": """\
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp16")
model, optimizer = accelerator.prepare(model, optimizer)
for x in data:
    optimizer.zero_grad()
    with accelerator.autocast():
        loss = model(x).pow(2).mean()
    accelerator.backward(loss)
    optimizer.step()
plain = accelerator.unwrap_model(model)
""",
    "fabric": """\
from lightning.fabric import Fabric
fabric = Fabric()
model, optimizer = fabric.setup(model, optimizer)
for x in data:
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    fabric.backward(loss)
    optimizer.step()
""",
    "fabric, without synchronisation": """\
from lightning.fabric import Fabric
fabric = Fabric()
model, optimizer = fabric.setup(model, optimizer)
for i, x in enumerate(data):
    with fabric.no_backward_sync(model, enabled=i % 2 == 0):
        fabric.backward(model(x).pow(2).mean() / 2)
    if i % 2 == 1:
        optimizer.step()
        optimizer.zero_grad()
""",
    "scaler": """\
scaler = torch.amp.GradScaler()
for x in data:
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = model(x).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
""",
    "unsynchronised": """\
model = nn.parallel.DistributedDataParallel(model)
for i, x in enumerate(data):
    if i % 2 == 0:
        with model.no_sync():
            (model(x).pow(2).mean() / 2).backward()
    else:
        (model(x).pow(2).mean() / 2).backward()
        optimizer.step()
        optimizer.zero_grad()
""",
    "closure": """\
optimizer = torch.optim.LBFGS(model.parameters())
for x in data:
    def closure():
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss
    optimizer.step(closure)
""",
    "thread": """\
import threading
def work(x):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
for x in data:
    worker = threading.Thread(target=work, args=(x,))
    worker.start()
    worker.join()
""",
    "step hook": """\
optimizer.register_step_post_hook(lambda one, args, named: one.zero_grad())
for x in data:
    model(x).pow(2).mean().backward()
    optimizer.step()
""",
    "own function": """\
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient
for x in data:
    optimizer.zero_grad()
    Square.apply(model(x)).mean().backward()
    optimizer.step()
""",
    "distribution": """\
for x in data:
    optimizer.zero_grad()
    policy = torch.distributions.Normal(model(x), 1.0)
    action = policy.sample()
    (-policy.log_prob(action).mean()).backward()
    optimizer.step()
""",
    "averaged weights": """\
average = torch.optim.swa_utils.AveragedModel(model)
for x in data:
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
    average.update_parameters(model)
""",
}
"""Loops without a mistake."""

CLEARS = ("optimizer.zero_grad()", "lambda one, args, named: one.zero_grad()")
NOTHING = ("pass", "lambda one, args, named: None")
SECOND = {
    "accelerate": "accelerator.backward(loss)",
    "accelerate, mixed precision": "accelerator.backward(loss)",
    "fabric": "fabric.backward(loss)",
}


MISSES = {
    "fabric, without synchronisation": "the backward of one branch is applied in the other",
    "unsynchronised": "the backward of one branch is applied in the other",
    "averaged weights": "what is handed the network may clear its gradients",
}


def names(code: str) -> set[str]:
    return {one.name for one in lint(Source("program.py", HEAD + code))}


@pytest.mark.parametrize("way", RIGHT)
def test_right(way: str) -> None:
    """A right loop is silent."""
    assert names(RIGHT[way]) == set()


@pytest.mark.parametrize("way", RIGHT)
def test_never_cleared(way: str) -> None:
    """The same loop without its clear is reported; a known miss is silent."""
    code = RIGHT[way]
    for clear, nothing in zip(CLEARS, NOTHING, strict=True):
        code = code.replace(clear, nothing)
    assert code != RIGHT[way]
    assert names(code) == (set() if way in MISSES else {"missing-zero-grad"})


@pytest.mark.parametrize("way", SECOND)
def test_twice(way: str) -> None:
    """A second backward over the same loss is reported."""
    lines = RIGHT[way].split("\n")
    at = next(number for number, line in enumerate(lines) if SECOND[way] in line)
    assert names("\n".join([*lines[: at + 1], lines[at], *lines[at + 1 :]])) == {"double-backward"}
