"""A hypothesis strategy for small training programs: plausible ones, with misuse and right use in every mixture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Draw = Any

NETWORKS = (
    "nn.Linear(3, 3)",
    "nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))",
    "nn.Sequential(nn.Linear(3, 3), nn.ReLU())",
)
TESTS = ("flag", "random.random() < 0.5", "not flag", "i % 2 == 0", "i > 0", "(i + 1) % 2 == 0")
UNARY = ("{0} * 2", "{0}.clone()", "torch.relu({0})", "{0}.exp()", "{0} + 1", "-{0}", "{0}", "{0}.detach()")
VIEWS = ("{0}.reshape(3, 4).T", "{0}[:, [1, 2, 0]]", "{0}.flatten().view(4, 3)")
BINARY = ("{0} + {1}", "{0} * {1}", "{0} - {1}", "torch.cat([{0}, {1}])[:4]", "torch.maximum({0}, {1})")
LOSSES = ("{0}.sum()", "{0}.pow(2).mean()", "F.mse_loss({0}, y)", "({0} - y).abs().mean()")
HELPERS = {
    "score": ("def score(out, target):", "    return F.mse_loss(out, target)"),
    "forward": ("def forward(net, inputs):", "    hidden = net(inputs)", "    return torch.tanh(hidden)"),
    "learn": ("def learn(loss, opt):", "    loss.backward()", "    opt.step()"),
    "update": ("def update(loss, opt):", "    opt.zero_grad()", "    loss.backward()", "    opt.step()"),
    "advance": ("def advance(opt):", "    opt.step()", "    opt.zero_grad()"),
}


@dataclass
class _Names:
    """What the statements that follow may use, and the lines so far."""

    lines: list[str] = field(default_factory=list)
    tensors: list[str] = field(default_factory=list)
    recorded: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    idle: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)
    optimizers: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)
    made: int = 0
    depth: int = 0

    def add(self, *lines: str) -> None:
        self.lines += ["    " * self.depth + line for line in lines]

    def new(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"


@st.composite
def programs(draw: Draw) -> str:
    """Draw the text of a program that binds `RESULT`; what it decides by `random.random()` is left to the run."""
    names = _Names()
    names.add("import random", "", "import torch", "import torch.nn.functional as F", "from torch import nn", "")
    names.add("torch.manual_seed(0)")
    names.helpers = sorted(draw(st.sets(st.sampled_from(sorted(HELPERS)), max_size=2)))
    for helper in names.helpers:
        names.add("", "", *HELPERS[helper])
    if names.helpers:
        names.add("", "")
    inside = draw(st.integers(0, 3)) == 0
    names.networks = ["a", "b"][: draw(st.sampled_from([1, 1, 2]))]
    for network in names.networks:
        names.add(f"{network} = {draw(st.sampled_from(NETWORKS))}")
    _optimizers(draw, names)
    names.add("size = 4 if random.random() < 0.5 else 5")
    names.add("data = [torch.randn(4, 3) for _ in range(size)]", "y = torch.randn(4, 3)")
    if inside:
        parameters = ", ".join((*names.networks, *names.optimizers, "data", "y"))
        names.add("", "", f"def train({parameters}):")
        names.depth = 1
    names.add(f"flag = {draw(st.sampled_from(['True', 'random.random() < 0.5']))}")
    _before(draw, names)
    _loop(draw, names)
    if inside:
        names.depth = 0
        names.add("", "", f"train({parameters})")
    sums = ", ".join(f"*[p.sum().item() for p in {network}.parameters()]" for network in names.networks)
    names.add(f"RESULT = [{sums}]")
    return "\n".join(names.lines) + "\n"


def _optimizers(draw: Draw, names: _Names) -> None:
    kind = draw(st.sampled_from(["SGD", "SGD", "Adam"]))
    if len(names.networks) == 2 and draw(st.booleans()):
        names.add(f"opt = torch.optim.{kind}([*a.parameters(), *b.parameters()], lr=0.05)")
        names.optimizers = ["opt"]
        return
    for network in names.networks:
        names.add(f"opt_{network} = torch.optim.{kind}({network}.parameters(), lr=0.05)")
        names.optimizers.append(f"opt_{network}")


def _before(draw: Draw, names: _Names) -> None:
    """What a loop may carry or share."""
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        kind = draw(st.sampled_from(["total", "state", "shared", "list", "clear"]))
        if kind == "total":
            names.add("total = 0")
            names.carried.append("total")
        elif kind == "state":
            names.add("state = torch.zeros(4, 3)")
            names.tensors.append("state")
        elif kind == "shared":
            net = draw(st.sampled_from(names.networks))
            names.add(f"shared = {net}(data[0])")
            names.tensors.append("shared")
            names.recorded.add("shared")
        elif kind == "list":
            names.add("kept = []")
            names.carried.append("kept")
        else:
            names.add(f"{draw(st.sampled_from(names.optimizers))}.zero_grad()")


def _loop(draw: Draw, names: _Names) -> None:
    nested = draw(st.integers(0, 4)) == 0
    if nested:
        names.add("for epoch in range(2):")
        names.depth += 1
        if draw(st.booleans()):
            names.add(*_action(draw, names, "clear"))
    names.add("for i, x in enumerate(data):")
    names.depth += 1
    names.tensors.append("x")
    _body(draw, names)
    names.depth -= 1
    for action in draw(st.lists(st.sampled_from(["backward", "step", "clear", "step", "advance"]), max_size=2)):
        _guarded(draw, names, _action(draw, names, action), inside=False)
    if draw(st.integers(0, 4)) == 4:
        _evaluation(draw, names)
    if nested:
        names.depth -= 1


def _evaluation(draw: Draw, names: _Names) -> None:
    """Evaluate a network on all data, with or without recording."""
    network = draw(st.sampled_from(names.networks))
    names.add(f"{network}.eval()", "for x in data:")
    if draw(st.booleans()):
        names.add("    with torch.no_grad():", f"        print({network}(x).sum().item())")
    else:
        names.add(f"    print({network}(x).sum().item())")
    names.add(f"{network}.train()")


ORDERS = (
    ("clear", "backward", "step"),
    ("clear", "backward", "step"),
    ("backward", "step", "clear"),
    ("backward", "step"),
    ("backward", "clear", "step"),
    ("clear", "backward"),
    ("clear", "backward", "backward", "step"),
    ("retain", "backward", "step"),
    ("backward", "step", "clear", "backward", "step"),
    ("backward", "window"),
    ("clear", "backward", "window"),
)
OTHERS = ("backward", "retain", "step", "clear", "grad", "log", "carry", "keep", "all", "learn", "update", "advance")


def _body(draw: Draw, names: _Names) -> None:
    for _ in range(draw(st.integers(1, 2))):
        _forward(draw, names)
        for _ in range(draw(st.integers(0, 2))):
            _compute(draw, names)
        _loss(draw, names)
    actions = list(draw(st.sampled_from(ORDERS)))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        actions.insert(draw(st.integers(0, len(actions))), draw(st.sampled_from(OTHERS)))
    for action in actions:
        _guarded(draw, names, _action(draw, names, action), inside=True)


def _forward(draw: Draw, names: _Names) -> None:
    net, out = draw(st.sampled_from(names.networks)), names.new("h")
    source = draw(st.sampled_from(["x", "x", "x", names.tensors[0]]))
    called = "forward" in names.helpers and draw(st.booleans())
    names.add(f"{out} = " + (f"forward({net}, {source})" if called else f"{net}({source})"))
    names.tensors.append(out)
    names.recorded.add(out)


def _tensor(draw: Draw, names: _Names) -> str:
    """Draw a tensor, of late ones more often."""
    name: str = draw(st.sampled_from(names.tensors + names.tensors[-2:] * 2))
    return name


def _compute(draw: Draw, names: _Names) -> None:
    kind = draw(st.sampled_from(["unary", "unary", "binary", "binary", "network", "state", "state", "quiet"]))
    first, second = _tensor(draw, names), _tensor(draw, names)
    if kind == "state":
        if "state" in names.tensors:
            code = draw(st.sampled_from(["{0}", "{0}.detach()", "state * 0.5 + {0}"])).format(first)
            names.add(f"state = {code}")
        return
    out, net = names.new("h"), draw(st.sampled_from(names.networks))
    recorded = first in names.recorded
    if kind == "binary":
        code, recorded = draw(st.sampled_from(BINARY)).format(first, second), recorded or second in names.recorded
    elif kind == "network":
        code, recorded = f"{net}({first})", True
    elif kind == "quiet":
        names.add("with torch.no_grad():", f"    {out} = {net}({first})")
        names.tensors.append(out)
        names.cut.add(out)
        return
    else:
        code = draw(st.sampled_from(UNARY + VIEWS)).format(first)
        recorded = recorded and "detach" not in code
    names.add(f"{out} = {code}")
    names.tensors.append(out)
    if recorded:
        names.recorded.add(out)
    elif {first, second} & (names.recorded | names.cut):
        names.cut.add(out)


def _loss(draw: Draw, names: _Names) -> None:
    loss = names.new("loss")
    tensor = _tensor(draw, names)
    if tensor not in names.recorded and (tensor not in names.cut or draw(st.integers(0, 5))):
        tensor = next(name for name in reversed(names.tensors) if name in names.recorded)
    scored = "score" in names.helpers and draw(st.booleans())
    code = f"score({tensor}, y)" if scored else draw(st.sampled_from(LOSSES)).format(tensor)
    if names.losses and draw(st.integers(0, 2)) == 0:
        part = draw(st.sampled_from(names.losses))
        code = f"{code} + {part}"
        names.idle = [name for name in names.idle if name != part]
    names.add(f"{loss} = {code}")
    names.losses.append(loss)
    names.idle.append(loss)


def _guarded(draw: Draw, names: _Names, lines: list[str], *, inside: bool) -> None:
    """Add statements, some of them under a condition."""
    if draw(st.integers(0, 7)):
        names.add(*lines)
        return
    names.add(f"if {draw(st.sampled_from(TESTS if inside else TESTS[:2]))}:", *(f"    {line}" for line in lines))
    if draw(st.integers(0, 3)) == 0:
        names.add("else:", *(f"    {line}" for line in _action(draw, names, draw(st.sampled_from(OTHERS)))))
    elif inside and draw(st.integers(0, 5)) == 0:
        names.add("    continue")


def _action(draw: Draw, names: _Names, kind: str) -> list[str]:
    optimizer, network = draw(st.sampled_from(names.optimizers)), draw(st.sampled_from(names.networks))
    if kind == "clear":
        return [f"{draw(st.sampled_from([optimizer, optimizer, network]))}.zero_grad()"]
    if kind == "window":
        return ["if (i + 1) % 2 == 0:", f"    {optimizer}.step()", f"    {optimizer}.zero_grad()"]
    if kind == "step":
        return [f"{optimizer}.step()"]
    if kind == "advance":
        return [f"advance({optimizer})"] if kind in names.helpers else [f"{network}.train()"]
    loss = draw(st.sampled_from(names.losses))
    if kind == "log":
        return [f"print({loss}.item())"]
    if kind == "carry" and "total" in names.carried:
        if "total" not in names.losses and draw(st.booleans()):
            names.losses.append("total")
        return [f"total = total + {loss}"]
    if kind in ("keep", "carry"):
        kept = draw(st.sampled_from([loss, f"{loss}.item()", f"{loss}.detach()"]))
        return [f"kept.append({kept})"] if "kept" in names.carried else [f"print({kept})"]
    if names.idle and draw(st.integers(0, 5)):
        loss = names.idle.pop()
    if kind == "retain":
        return [f"{loss}.backward(retain_graph={draw(st.sampled_from(['True', 'True', 'i < 3', 'flag']))})"]
    if kind == "grad":
        code = f"gradients = torch.autograd.grad({loss}, list({network}.parameters()), allow_unused=True)"
        return [code, "print([one is None for one in gradients])"] if draw(st.booleans()) else [code]
    if kind == "all" and names.idle:
        return [f"torch.autograd.backward([{loss}, {names.idle.pop()}])"]
    if kind in ("learn", "update") and kind in names.helpers:
        return [f"{kind}({loss}, {optimizer})"]
    return [f"({loss} * 0.5).backward()" if kind == "all" else f"{loss}.backward()"]
