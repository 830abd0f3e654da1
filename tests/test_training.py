"""How networks and optimizers are built and gradients cleared: what PyTorch applies again is met, whatever the way.

Every way of building gives `net` and `optimizer`; every way of clearing is put into the plain loop. The loop runs as it
is, and with a clear right before the backward: where the parameters end otherwise, a step has applied gradients again.
adlint must say so, and must not where it is not so; what it does not follow is named as a known miss.
"""

from __future__ import annotations

import oracle
import pytest

from adlint.linter import lint
from adlint.source import Source

HEAD = """\
import collections
import copy
import functools
import itertools

import torch
from torch import nn

torch.manual_seed(0)
data = [torch.randn(2, 3) for _ in range(3)]
"""
BACKWARD = "    loss.backward()\n"
DESCENT = "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)"

NETWORKS = {
    "layer": "net = nn.Linear(3, 1)",
    "sequential": "net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))",
    "sequential of a list": "net = nn.Sequential(*[nn.Linear(3, 3), nn.Linear(3, 1)])",
    "sequential of a dict": "net = nn.Sequential(collections.OrderedDict(a=nn.Linear(3, 3), b=nn.Linear(3, 1)))",
    "sequential that grows": "net = nn.Sequential()\nnet.append(nn.Linear(3, 3))\nnet.append(nn.Linear(3, 1))",
    "sequential by names": "net = nn.Sequential()\nnet.add_module('a', nn.Linear(3, 1))",
    "item of a sequential": "net = nn.Sequential(nn.Linear(3, 4), nn.Linear(3, 1))[1]",
    "slice of a sequential": "net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1), nn.ReLU())[:2]",
    "subclass": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        return self.layer(x)\n"
        "net = Net()"
    ),
    "subclass of a sequential": (
        "class Net(nn.Sequential):\n"
        "    def __init__(self):\n"
        "        super().__init__(nn.Linear(3, 3), nn.Linear(3, 1))\n"
        "net = Net()"
    ),
    "subclass of a layer": "class Net(nn.Linear):\n    pass\nnet = Net(3, 1)",
    "list of layers": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 1)])\n"
        "    def forward(self, x):\n"
        "        for layer in self.layers:\n"
        "            x = layer(x)\n"
        "        return x\n"
        "net = Net()"
    ),
    "dict of layers": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layers = nn.ModuleDict({'a': nn.Linear(3, 3), 'b': nn.Linear(3, 1)})\n"
        "    def forward(self, x):\n"
        "        return self.layers['b'](self.layers['a'](x))\n"
        "net = Net()"
    ),
    "dict of layers, items": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layers = nn.ModuleDict()\n"
        "        self.layers['a'] = nn.Linear(3, 3)\n"
        "        self.layers['b'] = nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        for name, layer in self.layers.items():\n"
        "            x = layer(x)\n"
        "        return x\n"
        "net = Net()"
    ),
    "layers by names": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.add_module('layer', nn.Linear(3, 1))\n"
        "    def forward(self, x):\n"
        "        return self.layer(x)\n"
        "net = Net()"
    ),
    "layers by setattr": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        for i in range(2):\n"
        "            setattr(self, f'layer{i}', nn.Linear(3, 3))\n"
        "    def forward(self, x):\n"
        "        return getattr(self, 'layer1')(self.layer0(x))\n"
        "net = Net()"
    ),
    "own parameter": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.ones(3, 1))\n"
        "    def forward(self, x):\n"
        "        return x @ self.weight\n"
        "net = Net()"
    ),
    "registered parameter": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.register_parameter('weight', nn.Parameter(torch.ones(3, 1)))\n"
        "    def forward(self, x):\n"
        "        return x @ self.weight\n"
        "net = Net()"
    ),
    "list of parameters": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.weights = nn.ParameterList([nn.Parameter(torch.ones(3, 1))])\n"
        "    def forward(self, x):\n"
        "        return x @ self.weights[0]\n"
        "net = Net()"
    ),
    "with a buffer": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.register_buffer('scale', torch.ones(1))\n"
        "        self.layer = nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        return self.layer(x) * self.scale\n"
        "net = Net()"
    ),
    "inherited forward": (
        "class Base(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return self.layer(x)\n"
        "class Net(Base):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, 1)\n"
        "net = Net()"
    ),
    "forward of the base": (
        "class Base(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        return self.layer(x)\n"
        "class Net(Base):\n"
        "    def forward(self, x):\n"
        "        return super().forward(x) * 2\n"
        "net = Net()"
    ),
    "nested networks": (
        "class Inner(nn.Module):\n"
        "    def __init__(self, size):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, size)\n"
        "    def forward(self, x):\n"
        "        return self.layer(x)\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.inner, self.head = Inner(2), nn.Linear(2, 1)\n"
        "    def forward(self, x):\n"
        "        return self.head(self.inner(x))\n"
        "net = Net()"
    ),
    "built by a function": "def build(size):\n    return nn.Linear(size, 1)\nnet = build(3)",
    "built in a comprehension": "net = nn.Sequential(*[nn.Linear(3, n) for n in (3, 1)])",
    "copied": "net = copy.deepcopy(nn.Linear(3, 1))",
    "moved": "net = nn.Linear(3, 1).to('cpu')",
    "of floats": "net = nn.Linear(3, 1).float()",
    "in training": "net = nn.Linear(3, 1).train()",
    "trainable": "net = nn.Linear(3, 1).requires_grad_(True)",
    "frozen part": (
        "net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))\n"
        "for parameter in net[0].parameters():\n"
        "    parameter.requires_grad = False"
    ),
    "initialised": (
        "def start(layer):\n"
        "    if isinstance(layer, nn.Linear):\n"
        "        nn.init.zeros_(layer.bias)\n"
        "net = nn.Sequential(nn.Linear(3, 1))\n"
        "net.apply(start)"
    ),
    "over the modules": (
        "net = nn.Sequential(nn.Linear(3, 1))\n"
        "for layer in net.modules():\n"
        "    if isinstance(layer, nn.Linear):\n"
        "        nn.init.ones_(layer.weight)"
    ),
    "over the children": (
        "net = nn.Sequential(nn.Linear(3, 1))\nfor name, layer in net.named_children():\n    print(name)"
    ),
    "with a hook": "net = nn.Linear(3, 1)\nnet.register_forward_hook(lambda layer, given, result: None)",
    "in parallel": "net = nn.DataParallel(nn.Linear(3, 1))",
    "module of a parallel one": "net = nn.DataParallel(nn.Linear(3, 1)).module",
    "dropout": "net = nn.Sequential(nn.Dropout(0.1), nn.Linear(3, 1))",
    "recurrent": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.cell, self.head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 1)\n"
        "    def forward(self, x):\n"
        "        out, (h, c) = self.cell(x.unsqueeze(1))\n"
        "        return self.head(out[:, -1])\n"
        "net = Net()"
    ),
    "weight norm": "net = nn.utils.parametrizations.weight_norm(nn.Linear(3, 1))",
    "one of several": "nets = {'a': nn.Linear(3, 1), 'b': nn.Linear(3, 1)}\nnet = nets['a']",
    "state loaded": "net = nn.Linear(3, 1)\nnet.load_state_dict(nn.Linear(3, 1).state_dict())",
}

OPTIMIZERS = {
    "parameters": DESCENT,
    "keyword": "optimizer = torch.optim.SGD(params=net.parameters(), lr=0.1)",
    "list": "optimizer = torch.optim.SGD(list(net.parameters()), lr=0.1)",
    "spread": "optimizer = torch.optim.SGD([*net.parameters()], lr=0.1)",
    "comprehension": "optimizer = torch.optim.SGD([one for one in net.parameters() if one.requires_grad], lr=0.1)",
    "filter": "optimizer = torch.optim.SGD(filter(lambda one: one.requires_grad, net.parameters()), lr=0.1)",
    "chain": "optimizer = torch.optim.SGD(itertools.chain(net.parameters()), lr=0.1)",
    "sum of lists": "optimizer = torch.optim.SGD(list(net.parameters()) + [], lr=0.1)",
    "named": "optimizer = torch.optim.SGD([one for name, one in net.named_parameters()], lr=0.1)",
    "named, by name": (
        "optimizer = torch.optim.SGD([{'params': [one for name, one in net.named_parameters() if 'bias' in name]},\n"
        "    {'params': [one for name, one in net.named_parameters() if 'bias' not in name]}], lr=0.1)"
    ),
    "groups": "optimizer = torch.optim.SGD([{'params': net.parameters(), 'lr': 0.2}], lr=0.1)",
    "groups, appended": (
        "groups = []\ngroups.append({'params': list(net.parameters())})\noptimizer = torch.optim.SGD(groups, lr=0.1)"
    ),
    "added group": (
        "more = nn.Parameter(torch.ones(1))\n"
        "optimizer = torch.optim.SGD([more], lr=0.1)\n"
        "optimizer.add_param_group({'params': net.parameters()})"
    ),
    "collected": (
        "params = []\nfor one in net.parameters():\n    params.append(one)\noptimizer = torch.optim.SGD(params, lr=0.1)"
    ),
    "extended": "params = []\nparams.extend(net.parameters())\noptimizer = torch.optim.SGD(params, lr=0.1)",
    "augmented": "params = []\nparams += list(net.parameters())\noptimizer = torch.optim.SGD(params, lr=0.1)",
    "adam": "optimizer = torch.optim.Adam(net.parameters())",
    "imported": "from torch.optim import AdamW\noptimizer = AdamW(net.parameters())",
    "module imported": "import torch.optim as optim\noptimizer = optim.SGD(net.parameters(), lr=0.1)",
    "by name": "optimizer = getattr(torch.optim, 'SGD')(net.parameters(), lr=0.1)",
    "by table": "optimizer = {'sgd': torch.optim.SGD}['sgd'](net.parameters(), lr=0.1)",
    "class as a value": "make = torch.optim.SGD\noptimizer = make(net.parameters(), lr=0.1)",
    "partial": "make = functools.partial(torch.optim.SGD, lr=0.1)\noptimizer = make(net.parameters())",
    "settings": "settings = {'lr': 0.1}\noptimizer = torch.optim.SGD(net.parameters(), **settings)",
    "built by a function": (
        "def build(net, lr=0.1):\n    return torch.optim.SGD(net.parameters(), lr=lr)\noptimizer = build(net)"
    ),
    "subclass": ("class Mine(torch.optim.SGD):\n    pass\noptimizer = Mine(net.parameters(), lr=0.1)"),
    "subclass with a step": (
        "class Mine(torch.optim.SGD):\n"
        "    def step(self, closure=None):\n"
        "        return super().step(closure)\n"
        "optimizer = Mine(net.parameters(), lr=0.1)"
    ),
    "with a schedule": (
        DESCENT + "\nschedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)\nprint(schedule.get_last_lr())"
    ),
    "one of several": "optimizers = {'net': torch.optim.SGD(net.parameters(), lr=0.1)}\noptimizer = optimizers['net']",
    "in an object": (
        "class Trainer:\n"
        "    def __init__(self, net):\n"
        "        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "optimizer = Trainer(net).optimizer"
    ),
    "state loaded": DESCENT + "\noptimizer.load_state_dict(optimizer.state_dict())",
    "learning rate set": DESCENT + "\nfor group in optimizer.param_groups:\n    group['lr'] = 0.2",
}

CLEARS = {
    "never": "pass",
    "optimizer": "optimizer.zero_grad()",
    "to none": "optimizer.zero_grad(set_to_none=True)",
    "to zero": "optimizer.zero_grad(set_to_none=False)",
    "network": "net.zero_grad()",
    "alias": "same = optimizer\nsame.zero_grad()",
    "bound": "clear = optimizer.zero_grad\nclear()",
    "function": "def clear(one):\n    one.zero_grad()\nclear(optimizer)",
    "lambda": "(lambda: optimizer.zero_grad())()",
    "loop over optimizers": "for one in [optimizer]:\n    one.zero_grad()",
    "comprehension": "[one.zero_grad() for one in (optimizer,)]",
    "map": "list(map(lambda one: one.zero_grad(), [optimizer]))",
    "in a condition": "if optimizer is not None:\n    optimizer.zero_grad()",
    "in a try": "try:\n    optimizer.zero_grad()\nfinally:\n    pass",
    "in a context": "with torch.no_grad():\n    optimizer.zero_grad()",
    "grad to none": "for one in net.parameters():\n    one.grad = None",
    "grad zeroed": "for one in net.parameters():\n    if one.grad is not None:\n        one.grad.zero_()",
    "grad zeroed, detached": (
        "for one in net.parameters():\n"
        "    if one.grad is not None:\n"
        "        one.grad.detach_()\n"
        "        one.grad.zero_()"
    ),
    "grad data zeroed": "for one in net.parameters():\n    if one.grad is not None:\n        one.grad.data.zero_()",
    "grad filled": "for one in net.parameters():\n    if one.grad is not None:\n        one.grad.fill_(0)",
    "grad multiplied": "for one in net.parameters():\n    if one.grad is not None:\n        one.grad *= 0",
    "grad deleted": "for one in net.parameters():\n    del one.grad",
    "grad replaced": "for one in net.parameters():\n    one.grad = torch.zeros_like(one)",
    "named parameters": "for name, one in net.named_parameters():\n    one.grad = None",
    "groups": "for group in optimizer.param_groups:\n    for one in group['params']:\n        one.grad = None",
    "setattr": "for one in net.parameters():\n    setattr(one, 'grad', None)",
    "children": "for one in net.children():\n    one.zero_grad()\nnet.zero_grad()",
    "foreach": (
        "found = [one.grad for one in net.parameters() if one.grad is not None]\n"
        "if found:\n    torch._foreach_zero_(found)"
    ),
    "applied": "net.apply(lambda one: one.zero_grad())",
    "method of a class": "nn.Module.zero_grad(net)",
    "method of the optimizer's class": "torch.optim.SGD.zero_grad(optimizer)",
    "another optimizer": "torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1).zero_grad()",
    "another network": "nn.Linear(3, 1).zero_grad()",
    "not called": "optimizer.zero_grad",
    "inputs": "x.grad = None",
}

MISSES = {
    ("slice of a sequential", "parameters", "never"): "a slice of a network is an unknown value",
    ("layers by setattr", "parameters", "never"): "names that are put together are unknown",
}
"""What adlint does not follow, and why: it stays silent."""


def program(network: str, optimizer: str, clear: str) -> str:
    inner = "\n".join(f"    {line}" for line in clear.split("\n"))
    loop = f"for x in data:\n{inner}\n    loss = net(x).pow(2).mean()\n{BACKWARD}    optimizer.step()\n"
    return f"{HEAD}{network}\n{optimizer}\n{loop}"


def ways() -> list[tuple[str, str, str]]:
    """Return every way of each kind beside the plain ones, with a clear and without."""
    found = [("layer", "parameters", clear) for clear in CLEARS]
    for clear in ("never", "optimizer", "network"):
        found += [(network, "parameters", clear) for network in NETWORKS]
        found += [("layer", optimizer, clear) for optimizer in OPTIMIZERS]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("way", ways(), ids=" / ".join)
def test_ways(way: tuple[str, str, str]) -> None:
    """Reported if and only if a step applies gradients again; a known miss is silent."""
    pytest.importorskip("torch")
    network, optimizer, clear = way
    text = program(NETWORKS[network], OPTIMIZERS[optimizer], CLEARS[clear])
    wrong = oracle.differ(trained(text), trained(text.replace(BACKWARD, f"    optimizer.zero_grad()\n{BACKWARD}")))
    found = {one.name for one in lint(Source("program.py", text))}
    assert found <= {"missing-zero-grad"}
    assert bool(found) is (wrong and way not in MISSES)


def trained(text: str) -> tuple[float, ...]:
    """Return what a program has made of its parameters."""
    return tuple(one.sum().item() for one in oracle.names_after(text)["net"].parameters())
