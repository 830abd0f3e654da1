"""Training and evaluation mode: a switch that is missing is reported if and only if it makes a difference.

Every program trains a network and tries it, twice over, with one way to switch before each. It runs as it is, and with
the plain switches: where its numbers are others, adlint must name the mode, and must say nothing where they are not.
"""

from __future__ import annotations

from functools import cache
from textwrap import indent

import oracle
import pytest

from adlint.linter import lint
from adlint.source import Source

HEAD = """\
import functools

import torch
from torch import nn

torch.manual_seed(0)
data = [torch.randn(4, 3) for _ in range(3)]
"""
TRAINS = """\
    for x in data:
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()
"""
TRIES = """\
    with torch.no_grad():
        for x in data:
            values.append(net(x).sum().item())
"""

NETWORKS = {
    "dropout": "net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))",
    "batch norm": "net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))",
    "neither": "net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))",
    "layer": "net = nn.Linear(3, 1)",
    "subclass": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer, self.drop = nn.Linear(3, 1), nn.Dropout(0.5)\n"
        "    def forward(self, x):\n"
        "        return self.layer(self.drop(x))\n"
        "net = Net()"
    ),
    "function of its mode": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        return self.layer(nn.functional.dropout(x, 0.5, self.training))\n"
        "net = Net()"
    ),
    "branch on its mode": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        if self.training:\n"
        "            x = x + torch.randn_like(x)\n"
        "        return self.layer(x)\n"
        "net = Net()"
    ),
    "transformer": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.core = nn.TransformerEncoder(nn.TransformerEncoderLayer(3, 1, 8, dropout=0.5), 1)\n"
        "        self.head = nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        return self.head(self.core(x))\n"
        "net = Net()"
    ),
    "recurrent, dropout": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.core, self.head = nn.LSTM(3, 4, 2, dropout=0.5), nn.Linear(4, 1)\n"
        "    def forward(self, x):\n"
        "        return self.head(self.core(x)[0])\n"
        "net = Net()"
    ),
    "recurrent": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.core, self.head = nn.GRU(3, 4), nn.Linear(4, 1)\n"
        "    def forward(self, x):\n"
        "        return self.head(self.core(x)[0])\n"
        "net = Net()"
    ),
    "attention": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.core, self.head = nn.MultiheadAttention(3, 1, dropout=0.5), nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        return self.head(self.core(x, x, x)[0])\n"
        "net = Net()"
    ),
    "dropout of nothing": "net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.0), nn.Linear(8, 1))",
    "norm without statistics": (
        "net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.Linear(8, 1))"
    ),
    "instance norm": (
        "net = nn.Sequential(nn.Unflatten(1, (1, 3)), nn.InstanceNorm1d(1), nn.Flatten(), nn.Linear(3, 1))"
    ),
    "instance norm, statistics": (
        "norm = nn.InstanceNorm1d(1, track_running_stats=True)\n"
        "net = nn.Sequential(nn.Unflatten(1, (1, 3)), norm, nn.Flatten(), nn.Linear(3, 1))"
    ),
    "frozen norm": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.norm, self.layer = nn.BatchNorm1d(3), nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        return self.layer(self.norm(x))\n"
        "    def train(self, mode=True):\n"
        "        super().train(mode)\n"
        "        self.norm.eval()\n"
        "        return self\n"
        "net = Net()"
    ),
    "frozen part, dropout behind it": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.body, self.drop, self.head = nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 1)\n"
        "        self.norm = nn.BatchNorm1d(3)\n"
        "    def forward(self, x):\n"
        "        return self.head(self.drop(self.norm(self.body(x))))\n"
        "    def train(self, mode=True):\n"
        "        super().train(mode)\n"
        "        self.norm.eval()\n"
        "        return self\n"
        "net = Net()"
    ),
    "part with its own train": (
        "class Frozen(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.norm = nn.BatchNorm1d(3)\n"
        "    def forward(self, x):\n"
        "        return self.norm(x)\n"
        "    def train(self, mode=True):\n"
        "        return super().train(False)\n"
        "net = nn.Sequential(Frozen(), nn.Dropout(0.5), nn.Linear(3, 1))"
    ),
    "part with its own train, else none": (
        "class Frozen(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.norm = nn.BatchNorm1d(3)\n"
        "    def forward(self, x):\n"
        "        return self.norm(x)\n"
        "    def train(self, mode=True):\n"
        "        return super().train(False)\n"
        "net = nn.Sequential(Frozen(), nn.Linear(3, 1))\n"
        "net.train()"
    ),
    "built by a function": "def build():\n    return nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1))\nnet = build()",
    "in parallel": "net = nn.DataParallel(nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1)))",
}

TRAIN = {
    "plain": "net.train()",
    "never": "pass",
    "true": "net.train(True)",
    "keyword": "net.train(mode=True)",
    "flag": "net.train(epoch >= 0)",
    "false": "net.train(False)",
    "named": "net.train",
    "children": "for one in net.children():\n    one.train()",
    "modules": "for one in net.modules():\n    one.train()",
    "function": "def switch(one):\n    one.train()\nswitch(net)",
    "bound": "switch = net.train\nswitch()",
    "apply": "net.apply(lambda one: one.train())",
    "attribute": "net.training = True",
    "list": "[one.train() for one in [net]]",
    "table": "for one in {'net': net}.values():\n    one.train()",
    "partial": "functools.partial(net.train, True)()",
    "class": "nn.Module.train(net)",
    "conditional": "if not net.training:\n    net.train()",
    "only first": "if epoch == 0:\n    net.train()",
    "another": "nn.Linear(1, 1).train()",
    "eval after": "net.train()\nnet.eval()",
    "to": "net.to('cpu').train()",
    "getattr": "getattr(net, 'train')()",
    "part": "net[0].train()",
}

EVAL = {
    "plain": "net.eval()",
    "never": "pass",
    "train false": "net.train(False)",
    "train mode": "net.train(mode=False)",
    "named": "net.eval",
    "flag": "net.train(epoch < 0)",
    "modules": "for one in net.modules():\n    one.eval()",
    "function": "def switch(one):\n    one.eval()\nswitch(net)",
    "train after": "net.eval()\nnet.train()",
    "apply": "net.apply(lambda one: one.eval())",
    "saved": "was = net.training\nnet.eval()",
    "conditional": "if net.training:\n    net.eval()",
    "another": "nn.Linear(1, 1).eval()",
    "parts": "for one in net.children():\n    one.eval()",
    "attribute": "net.training = False",
    "requires": "net.requires_grad_(True).eval()",
}

BEGINS = "a network that is in evaluation from its first forward on may be meant to be"
TRIED = "a network is tried in training mode on purpose where it was put there just before"
PARTS = "parts of a network may be meant to stay as they are"
MISSES = {
    ("dropout", "false", "plain"): BEGINS,
    ("dropout", "eval after", "plain"): BEGINS,
    ("dropout", "plain", "train after"): TRIED,
    ("dropout", "part", "plain"): PARTS,
}
"""What adlint does not report, and why: it stays silent."""


def body(way: tuple[str, str, str]) -> str:
    """Return the lines that train and try `net` with one way of switching."""
    _, train, evaluate = way
    head = "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nvalues = []\nfor epoch in range(2):\n"
    return f"{head}{indent(TRAIN[train], '    ')}\n{TRAINS}{indent(EVAL[evaluate], '    ')}\n{TRIES}"


def program(way: tuple[str, str, str]) -> str:
    return f"{HEAD}{NETWORKS[way[0]]}\n{body(way)}"


def ways() -> list[tuple[str, str, str]]:
    """Return each way to switch beside the plain ones, and each network with a switch missing."""
    found = [("dropout", train, "plain") for train in TRAIN] + [("dropout", "plain", evaluate) for evaluate in EVAL]
    for pair in (("plain", "plain"), ("never", "plain"), ("plain", "never")):
        found += [(network, *pair) for network in NETWORKS]
    return list(dict.fromkeys(found))


@cache
def wrong(way: tuple[str, str, str]) -> set[str]:
    """Return the rules that are about a way, if it makes a difference to the numbers."""
    mine, plain = (
        oracle.run(f"{program(one)}RESULT = [*values, *(one.sum() for one in net.parameters())]\n").result
        for one in (way, (way[0], "plain", "plain"))
    )
    assert mine is not None
    assert plain is not None
    rule = "missing-train-mode" if way[2] == "plain" else "missing-eval-mode"
    return {rule} if oracle.differ(mine, plain) else set()


@pytest.mark.parametrize("way", ways(), ids=" / ".join)
def test_ways(way: tuple[str, str, str]) -> None:
    """Reported if and only if the mode makes a difference; a known miss is silent."""
    pytest.importorskip("torch")
    found = {one.name for one in lint(Source("program.py", program(way)))}
    if way in MISSES:
        assert wrong(way), "nothing to miss"
        assert not found, "no longer missed"
    else:
        assert found == wrong(way)


@pytest.mark.parametrize("way", [way for way in ways() if way[0] == "dropout"], ids=" / ".join)
def test_ways_handed(way: tuple[str, str, str]) -> None:
    """The same of a network that a function is handed, of which nothing is known."""
    pytest.importorskip("torch")
    text = f"{HEAD}def run(net, data):\n{indent(body(way), '    ')}    return values\n"
    found = {one.name for one in lint(Source("program.py", text))}
    assert found == (set() if way in MISSES else wrong(way))
