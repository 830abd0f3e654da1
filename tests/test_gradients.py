"""Gradients that are not there and updates that are refused: what adlint says of a tensor is what PyTorch says.

Every program asks for a gradient, updates a tensor in place, differentiates or runs backward. Where PyTorch raises for
that, the line must be reported under the rule that is about it, and nothing else anywhere; a mended program runs.
"""

from __future__ import annotations

import oracle
import pytest

from adlint.config import Settings
from adlint.linter import fix, lint
from adlint.source import Source

HEAD = """\
import logging

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
x = torch.randn(2, 3)
w = torch.randn(3, requires_grad=True)
"""

RAISES = {
    "'NoneType'": "non-leaf-grad",
    "got NoneType": "non-leaf-grad",
    "can't optimize a non-leaf Tensor": "non-leaf-grad",
    "leaf Variable that requires grad": "inplace-on-leaf",
    "appears to not have been used in the graph": "inactive-grad",
    "One of the differentiated Tensors does not require grad": "inactive-grad",
    "does not require grad and does not have a grad_fn": "backward-without-graph",
    "object has no attribute 'backward'": "backward-without-graph",
    "grad can be implicitly created only for scalar outputs": "non-scalar-backward",
    "backward through the graph a second time": "double-backward",
}
"""What PyTorch says, and the rule that says it before."""

PROGRAMS = {
    "written into": "v = w * 2\nv[0] = w[1]\nv.sum().backward()\nprint(v.grad.sum())",
    "kept and written into": "v = w * 2\nv.retain_grad()\nv[0] = w[1]\nv.sum().backward()\nprint(v.grad.sum())",
    "moved to where it is": "v = (w * 2).to('cpu')\nv.sum().backward()\nprint(v.grad.sum())",
    "leaf moved to where it is": "v = w.to('cpu')\nv.sum().backward()\nprint(v.grad.sum())",
    "contiguous": "v = (w * 2).contiguous()\nv.sum().backward()\nprint(v.grad.sum())",
    "contiguous leaf": "v = w.contiguous()\nv.sum().backward()\nprint(v.grad.sum())",
    "float leaf": "v = w.float()\nv.sum().backward()\nprint(v.grad.sum())",
    "dropout leaf": "v = nn.functional.dropout(w, 0.0, training=False)\nv.sum().backward()\nprint(v.grad.sum())",
    "in a list, logged": "v = w * 2\nv.sum().backward()\nlogging.info([v.grad])",
    "logged": "v = w * 2\nv.sum().backward()\nlogging.info(v.grad)",
    "logger": "log = logging.getLogger()\nv = w * 2\nv.sum().backward()\nlog.info(v.grad)",
    "printed": "v = w * 2\nv.sum().backward()\nprint(v.grad)",
    "stacked": "v = w * 2\nv.sum().backward()\nprint(torch.stack([v.grad, w]))",
    "stacked t": "v = w * 2\nv.sum().backward()\nprint(torch.stack((v.grad, w)))",
    "norm": "v = w * 2\nv.sum().backward()\nprint(torch.norm(v.grad))",
    "appended": "v = w * 2\nkept = []\nv.sum().backward()\nkept.append(v.grad)\nprint(kept)",
    "returned": "def go():\n    v = w * 2\n    v.sum().backward()\n    return v.grad\nprint(go() is None)",
    "clipped": "v = w * 2\nv.sum().backward()\nv.grad.clamp_(0)",
    "zeroed": "v = w * 2\nv.sum().backward()\nv.grad.zero_()",
    "checked": "v = w * 2\nv.sum().backward()\nif v.grad is not None:\n    v.grad.zero_()",
    "backward inputs": "v = w * 2\nv.sum().backward(inputs=[v])\nprint(v.grad.sum())",
    "detached": "v = w.detach()\nw.sum().backward()\nprint(v.grad.sum())",
    "detached required": "v = w.detach().requires_grad_()\nv.sum().backward()\nprint(v.grad.sum())",
    "no grad float": "with torch.no_grad():\n    v = w.float()\nw.sum().backward()\nprint(v.grad.sum())",
    "no grad contiguous": "with torch.no_grad():\n    v = w.contiguous()\nw.sum().backward()\nprint(v.grad.sum())",
    "retained then in place": "v = w * 2\nv.retain_grad()\nv.mul_(3)\nv.sum().backward()\nprint(v.grad.sum())",
    "retained, in place op": "v = w * 2\nv.retain_grad()\nv *= 3\nv.sum().backward()\nprint(v.grad.sum())",
    "requires then in place": (
        "v = torch.zeros(3)\nv.requires_grad_()\nu = v + 0\nu += 1\nu.sum().backward()\nprint(v.grad.sum())"
    ),
    "update leaf": "w.sum().backward()\nw -= 0.1 * w.grad",
    "update leaf call": "w.sum().backward()\nw.sub_(0.1 * w.grad)",
    "update view": "w.sum().backward()\nw[0] -= 0.1",
    "update view 2": "w.sum().backward()\nw.view(3).mul_(2)",
    "update data": "w.sum().backward()\nw.data -= 0.1 * w.grad",
    "update no grad": "w.sum().backward()\nwith torch.no_grad():\n    w -= 0.1 * w.grad",
    "together": "w.sum().backward()\ntorch._foreach_add_([w], [w.grad])",
    "parameters together": "net(x).sum().backward()\ntorch._foreach_mul_(list(net.parameters()), 0.5)",
    "parameters together, unrecorded": (
        "net(x).sum().backward()\nwith torch.no_grad():\n    torch._foreach_mul_(list(net.parameters()), 0.5)"
    ),
    "parameters together with gradients": (
        "net(x).sum().backward()\n"
        "with torch.no_grad():\n"
        "    torch._foreach_sub_([p for p in net.parameters()], [p.grad for p in net.parameters()])"
    ),
    "initialised": "w.sum().backward()\nnn.init.zeros_(w)",
    "given to write into": "w.sum().backward()\ntorch.add(w, 1, out=w)",
    "function in place": "w.sum().backward()\ntorch.relu_(w)",
    "frozen": "w.sum().backward()\nw.requires_grad_(False)\nw -= 1",
    "parameters": "net(x).sum().backward()\nfor p in net.parameters():\n    p -= 0.1 * p.grad",
    "parameters by a method": "net(x).sum().backward()\nfor p in net.parameters():\n    p.sub_(p.grad, alpha=0.1)",
    "data of parameters": "net(x).sum().backward()\nfor p in net.parameters():\n    p.data.sub_(p.grad, alpha=0.1)",
    "param of": "v = nn.Parameter(w * 2)\ntorch.optim.SGD([v], lr=0.1)\nv.sum().backward()\nprint(v.grad.sum())",
    "grad": "g = torch.autograd.grad(w.sum(), w)\nprint(g[0])",
    "grad unused": "g = torch.autograd.grad(w.sum(), net.weight)\nprint(g[0])",
    "grad unused allowed": "g = torch.autograd.grad(w.sum(), net.weight, allow_unused=True)\nprint(g[0])",
    "grad unused list": "g = torch.autograd.grad(w.sum(), [w, net.weight])\nprint(g[0])",
    "grad of parameters": "g = torch.autograd.grad(net(x).sum(), net.parameters())\nprint(len(g))",
    "grad params unused": "g = torch.autograd.grad(w.sum(), net.parameters())\nprint(len(g))",
    "grad params list": "g = torch.autograd.grad(w.sum(), list(net.parameters()))\nprint(len(g))",
    "grad frozen": (
        "net.requires_grad_(False)\n"
        "g = torch.autograd.grad(net(x).sum() + w.sum(), [w, *net.parameters()])\n"
        "print(len(g))"
    ),
    "grad data": "g = torch.autograd.grad(net(x).sum(), x)\nprint(g)",
    "grad data required": "x.requires_grad_()\ng = torch.autograd.grad(net(x).sum(), x)\nprint(g)",
    "grad earlier": "v = w * 2\nu = v.sum()\nv = w * 3\ng = torch.autograd.grad(u, v)\nprint(g)",
    "grad settings": "g = torch.autograd.grad(**{'outputs': w.sum(), 'inputs': net.weight})\nprint(g)",
    "grad of nothing": "g = torch.autograd.grad(inputs=w)\nprint(g)",
    "grad in a function": (
        "def go(loss, given):\n    return torch.autograd.grad(loss, given)\nprint(go(w.sum(), net.weight))"
    ),
    "grad detached": "g = torch.autograd.grad((w.detach() * net.weight).sum(), w)\nprint(g)",
    "grad alias": "v = w.detach()\ng = torch.autograd.grad((w * 2).sum(), v)\nprint(g)",
    "grad made": "v = torch.zeros(3)\ng = torch.autograd.grad((w * 2).sum(), v)\nprint(g)",
    "grad of grads": (
        "g, = torch.autograd.grad((w ** 2).sum(), w, create_graph=True)\nh, = torch.autograd.grad(g.sum(), w)\nprint(h)"
    ),
    "grad of grads unkept": (
        "g, = torch.autograd.grad((w ** 2).sum(), w)\nh, = torch.autograd.grad(g.sum(), w)\nprint(h)"
    ),
    "grad twice": "u = (w ** 2).sum()\ntorch.autograd.grad(u, w)\ng = torch.autograd.grad(u, w)\nprint(g)",
    "grad twice retained": (
        "u = (w ** 2).sum()\n"
        "g = torch.autograd.grad(u, w, retain_graph=True)\n"
        "h = torch.autograd.grad(u, w)\n"
        "print(g, h)"
    ),
    "grad several": "g = torch.autograd.grad([w.sum(), (w * 2).sum()], [w])\nprint(g)",
    "grad many": "g = torch.autograd.grad(w * 2, w)\nprint(g)",
    "grad many seeded": "g = torch.autograd.grad(w * 2, w, torch.ones(3))\nprint(g)",
    "autograd backward": "torch.autograd.backward([w.sum(), (w * 2).sum()])\nprint(w.grad)",
    "autograd backward none": "torch.autograd.backward([])",
    "autograd backward keyword": (
        "torch.autograd.backward(tensors=(w * w).sum())\ntorch.autograd.backward(tensors=(w * w).sum())"
    ),
    "autograd backward twice": "u = (w * w).sum()\ntorch.autograd.backward(u)\ntorch.autograd.backward(u)",
    "loop grad earlier turn": (
        "u = None\n"
        "for i in range(2):\n"
        "    v = w * (i + 1)\n"
        "    if u is not None:\n"
        "        print(torch.autograd.grad(u, v))\n"
        "    u = v.sum()"
    ),
    "literal": "loss = 0.0\nloss.backward()",
    "sum of numbers": "loss = 0\nfor row in x:\n    loss += net(row).item()\nloss.backward()",
    "number of a frozen network": "net.requires_grad_(False)\nloss = net(x).sum().item()\nloss.backward()",
    "detached network": "loss = net(x).detach().sum()\nloss.backward()",
    "made of a number": "loss = torch.tensor(net(x).sum().item())\nloss.backward()",
    "made of a number, requiring": "loss = torch.tensor(net(x).sum().item(), requires_grad=True)\nloss.backward()",
    "handed": (
        "def go(image):\n"
        "    image.requires_grad_()\n"
        "    y = image * 2\n"
        "    y.sum().backward()\n"
        "    print(y.grad.sum())\n"
        "globals()['go'](x)"
    ),
    "handed, by the attribute": (
        "def go(image):\n"
        "    image.requires_grad = True\n"
        "    y = image * 2\n"
        "    y.sum().backward()\n"
        "    print(y.grad.sum())\n"
        "globals()['go'](x)"
    ),
    "handed, itself": (
        "def go(image):\n"
        "    image.requires_grad_()\n"
        "    y = (image * 2).sum()\n"
        "    y.backward()\n"
        "    print(image.grad.sum())\n"
        "globals()['go'](x)"
    ),
    "handed, by a flag": (
        "def go(image, flag):\n"
        "    image.requires_grad_(flag)\n"
        "    y = image * 2\n"
        "    if flag:\n"
        "        y.sum().backward()\n"
        "        print(y.grad.sum())\n"
        "globals()['go'](x, True)"
    ),
    "handed, frozen again": (
        "def go(image):\n"
        "    image.requires_grad_()\n"
        "    image.requires_grad_(False)\n"
        "    y = image * 2 * w\n"
        "    y.sum().backward()\n"
        "    print(y.grad is None)\n"
        "globals()['go'](x)"
    ),
    "handed, used twice": (
        "def go(image):\n"
        "    image.requires_grad_()\n"
        "    y = image * image + image\n"
        "    y.sum().backward()\n"
        "    print(y.grad.sum())\n"
        "globals()['go'](x)"
    ),
    "handed with another": (
        "def go(image, other):\n"
        "    image.requires_grad_()\n"
        "    y = other * image\n"
        "    y.sum().backward()\n"
        "    print(y.grad.sum())\n"
        "globals()['go'](x, x + 1)"
    ),
    "handed, not asked to": (
        "def go(image):\n    y = image * 2\n    y.sum().backward()\n    print(y.grad)\nglobals()['go'](w)"
    ),
    "handed, kept": (
        "def go(image):\n"
        "    y = image + 0\n"
        "    y.retain_grad()\n"
        "    y.sum().backward()\n"
        "    print(y.grad.sum())\n"
        "globals()['go'](w)"
    ),
    "handed, updated": (
        "def go(image):\n"
        "    image.requires_grad_()\n"
        "    (image * 2).sum().backward()\n"
        "    image -= image.grad\n"
        "globals()['go'](x)"
    ),
    "handed, updated unrecorded": (
        "def go(image):\n"
        "    image.requires_grad_()\n"
        "    (image * 2).sum().backward()\n"
        "    with torch.no_grad():\n"
        "        image -= image.grad\n"
        "globals()['go'](x)"
    ),
    "handed leaf": "def go(image):\n    (image * 2).sum().backward()\n    image -= image.grad\nglobals()['go'](w)",
    "parameters of a handed network": (
        "def go(net, x):\n"
        "    net(x).sum().backward()\n"
        "    for p in net.parameters():\n"
        "        p -= 0.1 * p.grad\n"
        "globals()['go'](net, x)"
    ),
    "parameters of a handed network, optimized": (
        "def go(net, x):\n"
        "    opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "    net(x).sum().backward()\n"
        "    for p in net.parameters():\n"
        "        p -= 0.1 * p.grad\n"
        "globals()['go'](net, x)"
    ),
    "parameters of a handed network, by a method": (
        "def go(net, x):\n"
        "    net(x).sum().backward()\n"
        "    for p in net.parameters():\n"
        "        p.sub_(p.grad)\n"
        "globals()['go'](net, x)"
    ),
    "weight of a handed network": (
        "def go(net, x):\n    net(x).sum().backward()\n    net.weight -= net.weight.grad\nglobals()['go'](net, x)"
    ),
    "parameters of a handed network together": (
        "def go(net, x):\n"
        "    net(x).sum().backward()\n"
        "    torch._foreach_sub_(list(net.parameters()), [p.grad for p in net.parameters()])\n"
        "globals()['go'](net, x)"
    ),
    "in a loop": (
        "v = torch.zeros(3, requires_grad=True)\nfor i in range(2):\n    (v * 2).sum().backward()\n    v += v.grad"
    ),
    "frozen partly": (
        "net.weight.requires_grad_(False)\nnet(x).sum().backward()\nfor p in net.parameters():\n    p += 1"
    ),
    "frozen one": "net.weight.requires_grad_(False)\nnet(x).sum().backward()\nnet.weight += 1",
    "frozen other": "net.weight.requires_grad_(False)\nnet(x).sum().backward()\nnet.bias += 1",
    "view of view": "w.sum().backward()\nw.view(3)[:2].add_(1)",
    "set item": "w.sum().backward()\nw[0] = 1.0",
    "set slice": "w.sum().backward()\nw[:2] = 1.0",
    "set unsqueezed": "w.sum().backward()\nw.unsqueeze(0).mul_(2)",
    "detach in place": "w.sum().backward()\nw.detach().mul_(2)",
    "optimizer": "w.sum().backward()\nv = w * 2\ntorch.optim.SGD([v], lr=0.1)",
    "optimizer groups": "w.sum().backward()\nv = w * 2\ntorch.optim.SGD([{'params': [v]}], lr=0.1)",
    "optimizer of a row": "w.sum().backward()\ntorch.optim.SGD([w[0]], lr=0.1)",
    "optimizer same": "w.sum().backward()\ntorch.optim.SGD([w.to('cpu')], lr=0.1)",
    "optimizer of leaf": "w.sum().backward()\ntorch.optim.SGD([w], lr=0.1)",
    "optimizer dropout": "w.sum().backward()\ntorch.optim.SGD([nn.functional.dropout(w, 0.5)], lr=0.1)",
    "optimizer by function": (
        "def build(given):\n    return torch.optim.SGD(given, lr=0.1)\nw.sum().backward()\nbuild([w * 2])"
    ),
    "result operation": "y = w.clone()\ny.sum().backward()\nprint(y.grad.sum())",
    "abs result": "y = torch.abs(w)\ny.sum().backward()\nprint(y.grad.sum())",
    "expand result": "y = w.expand(2, 3)\ny.sum().backward()\nprint(y.grad.sum())",
    "changed in place": "y = w * 2\ny.relu_()\ny.sum().backward()\nprint(y.grad.sum())",
    "function in place, by a flag": (
        "y = nn.functional.relu(w * 2, inplace=True)\ny.sum().backward()\nprint(y.grad.sum())"
    ),
    "where": "y = torch.where(w > 0, w, w * 2)\ny.sum().backward()\nprint(y.grad.sum())",
    "split": "y, z, u = w.split(1)\ny.sum().backward()\nprint(y.grad.sum())",
    "identity": "y = nn.Identity()(w)\ny.sum().backward()\nprint(y.grad.sum())",
    "dropout off": "y = nn.functional.dropout(w, 0.5, training=False)\ny.sum().backward()\nprint(y.grad.sum())",
    "network": "y = net(w)\ny.sum().backward()\nprint(y.grad.sum())",
    "grad of the input": "net(w).sum().backward()\nprint(w.grad.sum())",
    "intermediate retained": "y = net(w)\ny.retain_grad()\ny.sum().backward()\nprint(y.grad.sum())",
    "hook": "y = net(w)\ny.register_hook(print)\ny.sum().backward()\nprint(y.grad is None)",
    "grad of a list": (
        "def go(images):\n"
        "    y = [image * 2 for image in images]\n"
        "    sum(one.sum() for one in y).backward()\n"
        "    print(y[0].grad.sum())\n"
        "go([w])"
    ),
    "printed by star": "y = w * 2\ny.sum().backward()\nprint([y.grad])",
    "sum of literals": "loss = sum([0.0])\nprint(net(x).sum().backward())\nloss.backward()",
    "parameter of a result": "y = nn.Parameter(w * 2)\ny.sum().backward()\nprint(y.grad.sum())",
    "detached of result": "y = (w * 2).detach()\nw.sum().backward()\nprint(y.grad.sum())",
    "data of result": "y = (w * 2).data\nw.sum().backward()\nprint(y.grad.sum())",
    "no grad of leaf": "with torch.no_grad():\n    y = w.view(3)\nw.sum().backward()\nprint(y.grad.sum())",
    "inference of leaf": "with torch.inference_mode():\n    y = w * 2\nw.sum().backward()\nprint(y.grad.sum())",
    "no grad to": "with torch.no_grad():\n    y = w.to('cpu')\nw.sum().backward()\nprint(y.grad.sum())",
    "no grad dropout": (
        "with torch.no_grad():\n    y = nn.functional.dropout(w, 0.0)\nw.sum().backward()\nprint(y.grad.sum())"
    ),
    "unread names": (
        "def go():\n"
        "    loss = net(x).pow(2).sum()\n"
        "    kept = []\n"
        "    kept[0:], unused = torch.autograd.grad(loss, [net.weight, net.bias])\n"
        "go()"
    ),
    "grad inputs none": "g = torch.autograd.grad(w.sum(), ())\nprint(g)",
    "grad no input given": "g = torch.autograd.grad(outputs=(w * 2).sum())",
    "grad of a call": (
        "def go(net, x, v):\n    return torch.autograd.grad(net(x).sum(), v)\nglobals()['go'](net, x, net.weight)"
    ),
    "grad of own weight": (
        "def go(net, x):\n"
        "    v = torch.zeros(1, requires_grad=True)\n"
        "    return torch.autograd.grad((net(x) * 2).sum(), v)\n"
        "globals()['go'](net, x)"
    ),
    "grad of unknown leaf": (
        "def go(image):\n"
        "    image.requires_grad_()\n"
        "    v = torch.zeros(1, requires_grad=True)\n"
        "    return torch.autograd.grad((image * 2).sum(), v)\n"
        "globals()['go'](x)"
    ),
    "grad in turns": (
        "v = torch.zeros(3, requires_grad=True)\n"
        "u = w * 2\n"
        "for i in range(2):\n"
        "    print(torch.autograd.grad((u * 2).sum(), v))"
    ),
    "grad in turns sum": (
        "v = torch.zeros(3, requires_grad=True)\n"
        "total = 0\n"
        "for i in range(2):\n"
        "    total = total + (w * i).sum()\n"
        "    print(torch.autograd.grad(total, v, allow_unused=False, retain_graph=True))"
    ),
    "result of a result, unrecorded": "u = w * 2\nwith torch.no_grad():\n    v = u * 3\nprint(v.grad.sum())",
    "detached data": "v = (x * 2).detach()\nprint(v.grad.sum())",
    "twice the weights of a given network": (
        "def go(model):\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    model(x).sum().backward()\n"
        "    optimizer.step()\n"
        "    for one in model.parameters():\n"
        "        v = one * 2\n"
        "        print(v.grad.sum())\n"
        "eval('go(net)')"
    ),
}

UNKNOWN = "what a caller gives that nobody can see may require grad or not"
MISSES = {
    "together": "of tensors that are updated together, only parameters are looked at",
    "frozen partly": "weight and bias of a layer are one thing",
    "frozen other": "weight and bias of a layer are one thing",
    "grad frozen": "frozen parameters among the inputs are not looked at",
    "grad of grads unkept": "outputs of a functional gradient that have no graph are not looked at",
    "literal": "a number that no tensor was read for is only possibly meant as a loss",
    "sum of literals": "a number that no tensor was read for is only possibly meant as a loss",
    "optimizer dropout": "what may be its own argument may be a leaf",
    "changed in place": "what was changed in place may be its own argument",
    "grad in turns": "a loss of an earlier turn may have been made of the input",
    "handed leaf": UNKNOWN,
    "weight of a handed network": UNKNOWN,
    "grad of own weight": UNKNOWN,
    "grad of unknown leaf": UNKNOWN,
    "result of a result, unrecorded": "of what is made without recording, only what is made of leaves is looked at",
    "detached data": "of what is detached, only what required grad is looked at",
    "twice the weights of a given network": UNKNOWN,
}
"""Programs that adlint does not follow, and why: it stays silent."""


@pytest.mark.parametrize("way", PROGRAMS)
def test_ways(way: str) -> None:
    """Reported where PyTorch raises, and nowhere else; a known miss is silent, and a mended program runs."""
    pytest.importorskip("torch")
    text = f"{HEAD}{PROGRAMS[way]}\n"
    ran = oracle.run(text)
    rule = next((name for message, name in RAISES.items() if message in (ran.error or "")), None)
    found = {(one.span.start.line, one.name) for one in lint(Source("program.py", text))}
    if way in MISSES:
        assert rule is not None, "nothing to miss"
        assert not found, "no longer missed"
        return
    assert found == ({(ran.line, rule)} if rule is not None else set())
    mended = fix(Source("program.py", text), Settings(), unsafe=True).text
    assert mended == text or oracle.run(mended).error is None
