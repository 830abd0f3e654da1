"""Backward from what is no scalar: for ways of shaping a loss, adlint says what PyTorch says of the shape.

Every expression is the loss of one program, and so is every longer program; where PyTorch refuses the backward because
it begins with more than one value, that line must be reported, and nothing else anywhere.
"""

from __future__ import annotations

import oracle
import pytest

from adlint.config import Settings
from adlint.linter import fix, lint
from adlint.source import Source

HEAD = """\
import functools

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
x, y, labels = torch.randn(4, 3), torch.randn(4, 2), torch.randint(2, (4,))
"""
REFUSED = "grad can be implicitly created only for scalar outputs"

EXPRESSIONS = {
    "over both axes": "net(x).sum((0, 1))",
    "over a tuple of one axis": "net(x).sum((1,))",
    "axis unpacked": "net(x).sum(*[1])",
    "no axis unpacked": "net(x).sum(*[])",
    "axis by settings": "net(x).mean(**{'dim': 1})",
    "axis computed": "net(x).sum(x.shape[0] - 3)",
    "axis by name": "net(x).sum(axis=1)",
    "axis by the data": "net(x).sum(dim=int(labels.sum() > -1))",
    "kept by the data": "net(x).sum(0, bool(labels.sum() > 99))",
    "either view": "net(x).view(x.shape).sum(0) if x.shape == y.shape else net(x).view(y.shape)",
    "view as other": "net(x).view(y.size())",
    "view of sizes list": "net(x).view(*[2, 4])",
    "view known tuple": "net(x).view((8,))",
    "reshaped": "net(x).reshape(torch.Size([2, 4]))",
    "element of three axes": "net(x).view(2, 2, 2).permute(2, 0, 1)[0, 0, 0]",
    "row of three axes": "net(x).view(2, 2, 2).permute(2, 0, 1)[0]",
    "three axes, turned and summed": "net(x).view(1, 4, 2).permute((1, 2, 0)).sum((1, 2))",
    "transpose": "net(x).t()[0]",
    "element": "net(x)[0, 0]",
    "ellipsis": "net(x)[..., 0]",
    "element with a new axis": "net(x)[None, 0, 0]",
    "scalar with a new axis": "net(x).sum()[None]",
    "ellipsis of a scalar": "net(x).sum()[...]",
    "slices of one": "net(x)[:1, :1]",
    "slice with a step": "net(x)[::2, 0]",
    "slice by the data": "net(x)[:labels.sum(), 0]",
    "mask": "net(x)[labels > -1]",
    "loss none": "F.mse_loss(net(x), y, reduction='none')",
    "loss mean": "F.mse_loss(net(x), y)",
    "loss by settings": "F.mse_loss(net(x), y, **{'reduction': 'none'})",
    "loss of unpacked values": "F.mse_loss(*(net(x), y))",
    "old way not to reduce": "F.mse_loss(net(x), y, reduce=False)",
    "old way to reduce": "F.mse_loss(net(x), y, reduce=True)",
    "loss by the data": "F.mse_loss(net(x), y, reduction=('none' if labels.sum() > -1 else 'mean'))",
    "classes, each": "F.cross_entropy(net(x), labels, reduction='none')",
    "classes, each, by a layer": "nn.CrossEntropyLoss(reduction='none')(net(x), labels)",
    "classes, each, by keywords": "F.cross_entropy(input=net(x), target=labels, reduction='none')",
    "one class": "F.cross_entropy(net(x)[:1], labels[:1], reduction='none')",
    "converted labels": "F.cross_entropy(net(x), labels.clone().to(torch.long), reduction='none')",
    "literal labels": "F.cross_entropy(net(x), torch.tensor([0, 1, 0, 1]), reduction='none')",
    "own labels": "F.cross_entropy(net(x), net(x).argmax(1), reduction='none')",
    "labels of images": "F.cross_entropy(net(x).view(1, 2, 4), torch.randint(2, (1, 4)), reduction='none')",
    "log likelihoods": "F.nll_loss(net(x).log_softmax(1), labels, reduction='none')",
    "layer by keywords": "nn.MSELoss(reduction='none')(input=net(x), target=y)",
    "loss of other names": "F.margin_ranking_loss(input1=net(x), input2=y, target=torch.ones(4, 2), reduction='none')",
    "partial": "functools.partial(F.mse_loss, reduction='none')(net(x), y)",
    "layer by settings": "nn.MSELoss(**{'reduction': 'none'})(net(x), y)",
    "layer by settings that sums": "nn.MSELoss(**{'reduction': 'sum'})(net(x), y)",
    "made of unpacked sizes": "net(torch.ones(*(4, 3)))",
    "made of a size": "net(torch.ones(size=(4, 3)))",
    "filled": "(net(torch.full((4, 3), 1.0))).mean(1)",
    "counted": "net(torch.arange(3).float())",
    "counted and summed": "net(torch.arange(3).float()).sum()",
    "made alike": "(net(torch.zeros_like(x)) * 2)",
    "stacked scalars": "torch.stack([net(one).sum() for one in x])",
    "one scalar stacked": "torch.stack([net(x).sum()])",
    "mean of stacked scalars": "torch.stack([net(one).sum() for one in x]).mean()",
    "joined": "torch.cat([net(x), net(x)])",
    "one joined": "torch.cat([net(x).sum().view(1)])",
    "dot": "torch.dot(net(x[0]), y[0])",
    "matmul": "net(x).t() @ y",
    "matmul vec": "net(x[0]) @ y[0]",
    "squeeze": "net(x[:1])[:, :1].squeeze()",
    "squeeze 1": "net(x).mean(1, keepdim=True).squeeze(1)",
    "flatten": "net(x).flatten()",
    "unsqueeze": "net(x).sum().unsqueeze(0)",
    "norms of rows": "net(x).norm(dim=1)",
    "norm": "net(x).norm()",
    "largest": "net(x).max()",
    "largest of rows, by name": "net(x).max(1).values",
    "largest of rows": "net(x).max(1)[0]",
    "larger of two": "torch.max(net(x), y)",
    "unbind": "net(x).unbind()[0]",
    "split": "net(x).split(2)[0]",
    "chunk": "torch.chunk(net(x), 2)[1]",
    "einsum": "torch.einsum('ij,ij->', net(x), y)",
    "scalar plus rows": "net(x).sum() + 0 * net(x)",
    "where": "torch.where(y > 0, net(x), y)",
    "embedding": "nn.Embedding(3, 2)(labels)",
    "conv": "nn.Conv2d(1, 1, 1)(x.view(4, 1, 1, 3))",
    "sum of Python": "sum(net(x).mean(1))",
    "sum of sums": "sum(one.sum() for one in net(x))",
    "expand": "net(x).sum().expand(3)",
    "rows": "net(x)",
    "over the only axis": "net(x)[0].mean(-1)",
    "flattened and summed": "net(x).flatten(0, -1).sum(0)",
    "literal of one row": "nn.Parameter(torch.tensor([[1.0, 2.0]])) * 2",
    "literal scalar": "nn.Parameter(torch.tensor(1.0)) * 2",
}

GO = "def go(given):\n    loss = {}\n    loss.backward()\nglobals()['go']({})"

PROGRAMS = {
    "axis that nobody sees": GO.format("net(x).sum(**given)", "{'dim': 1}"),
    "no axis that nobody sees": GO.format("net(x).sum(**given)", "{}"),
    "reduction that nobody sees": GO.format("F.mse_loss(net(x), y, **given)", "{'reduction': 'none'}"),
    "mean that nobody sees": GO.format("F.mse_loss(net(x), y, **given)", "{'reduction': 'mean'}"),
    "sizes that nobody sees": GO.format("net(torch.ones(*given))", "[4, 3]"),
    "operands that nobody sees": GO.format("F.mse_loss(*given, reduction='none')", "[net(x), y]"),
    "operands that nobody sees, mean": GO.format("F.mse_loss(*given, reduction='none').mean()", "[net(x), y]"),
    "named operands that nobody sees": GO.format(
        "F.mse_loss(**given, reduction='none')", "{'input': net(x), 'target': y}"
    ),
    "axes by default": "def go(axes=(0, 1)):\n    net(x).sum(axes).backward()\ngo()",
    "sizes repeated": "loss = net(x).view((2,) * 3)\nloss.backward()",
    "size from a table": "loss = net(x)[: {'n': 2}['n']]\nloss.backward()",
    "slice of no number": "loss = net(x)[:2.0]\nloss.backward()",
    "slice of no step": "loss = net(x)[::0]\nloss.backward()",
    "reduction of an own layer": (
        "class Loss(nn.Module):\n"
        "    def __init__(self, reduction):\n"
        "        super().__init__()\n"
        "        self.inner = nn.MSELoss(reduction=reduction)\n"
        "    def forward(self, result, target):\n"
        "        return self.inner(result, target)\n"
        "loss = Loss('none')(net(x), y)\n"
        "loss.backward()"
    ),
}

UNSEEN = (
    "axis that nobody sees",
    "reduction that nobody sees",
    "sizes that nobody sees",
    "operands that nobody sees",
    "named operands that nobody sees",
)
BY_DATA = ("axis by the data", "kept by the data", "slice by the data", "mask")
NOT_WORKED_OUT = (
    "ellipsis",
    "old way not to reduce",
    "loss of other names",
    "largest of rows, by name",
    "unbind",
    "split",
    "chunk",
    "expand",
)
MISSES = {
    **dict.fromkeys(UNSEEN, "what a caller gives that nobody can see is unknown"),
    **dict.fromkeys(BY_DATA, "the shape depends on the data"),
    **dict.fromkeys(NOT_WORKED_OUT, "the shape of this is not worked out"),
}
"""Ways whose shape adlint does not know, and why: it stays silent."""

WAYS = {name: f"loss = {code}\nloss.backward()" for name, code in EXPRESSIONS.items()} | PROGRAMS


@pytest.mark.parametrize("way", WAYS)
def test_ways(way: str) -> None:
    """The backward is reported if and only if PyTorch refuses its root, and what it is mended to runs; a known miss is
    silent."""
    pytest.importorskip("torch")
    text = f"{HEAD}{WAYS[way]}\n"
    ran = oracle.run(text)
    refused = REFUSED in (ran.error or "")
    found = {(one.span.start.line, one.name) for one in lint(Source("program.py", text))}
    if way in MISSES:
        assert refused, "nothing to miss"
        assert not found, "no longer missed"
    else:
        assert found == ({(ran.line, "non-scalar-backward")} if refused else set())
        if refused:
            assert oracle.run(fix(Source("program.py", text), Settings(), unsafe=True).text).error is None
