"""Does the cost of a file grow with the file? Prints, for each way to grow one, times and their ratios per doubling.

    python benchmarks/scaling.py                 all ways, sizes that double
    python benchmarks/scaling.py --only branches --sizes 4 8 16 32

Every size is a generated training program, linted in this process; the time is the least of some runs, in turns, of
processor time. A ratio of about two is linear growth, four is quadratic. Where the tape's budget is used up, the growth
ends.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import pairwise
from time import process_time

from adlint import linter
from adlint.source import Source

HEAD = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]

"""
STEP = """\
loss = nn.functional.mse_loss(model(inputs), targets)
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""


def indented(text: str, depth: int = 1) -> str:
    """Return a text some levels deeper."""
    return "".join(" " * 4 * depth + line for line in text.splitlines(keepends=True))


def loops(size: int) -> str:
    """Return one training loop after another."""
    return HEAD + "".join(f"for inputs, targets in batches:\n{indented(STEP)}" for _ in range(size))


def nested(size: int) -> str:
    """Return loops in one another, a training step in the innermost."""
    lines = "".join(" " * 4 * depth + f"for i{depth} in range(9):\n" for depth in range(size))
    return HEAD + lines + indented(f"for inputs, targets in batches:\n{indented(STEP)}", size)


def branches(size: int) -> str:
    """Return a training step with conditions that have nothing to do with it."""
    cases = "".join(f"if flags[{number}]:\n    print(loss.item(), {number})\n" for number in range(size))
    return f"{HEAD}def train(flags):\n    for inputs, targets in batches:\n" + indented(STEP + cases, 2)


def relevant_branches(size: int) -> str:
    """Return a training step with conditions, each of which changes the loss."""
    cases = "".join(f"if flags[{n}]:\n    loss = loss + model(inputs).mean() * {n}\n" for n in range(size))
    first, rest = STEP.split("\n", 1)
    return f"{HEAD}def train(flags):\n    for inputs, targets in batches:\n" + indented(f"{first}\n{cases}{rest}", 2)


def functions(size: int) -> str:
    """Return functions that train, each called once."""
    body = indented(f"for inputs, targets in batches:\n{indented(STEP)}")
    defined = "".join(f"def train{n}(model, optimizer):\n{body}\n" for n in range(size))
    return HEAD + defined + "".join(f"train{n}(model, optimizer)\n" for n in range(size))


def calls(size: int) -> str:
    """Return one function that trains, called again and again."""
    body = indented(f"for inputs, targets in batches:\n{indented(STEP)}")
    return f"{HEAD}def train(model, optimizer):\n{body}\n" + "train(model, optimizer)\n" * size


def depth(size: int) -> str:
    """Return functions that call one another, the last of which takes a step."""
    chain = "".join(f"def f{n}(inputs, targets):\n    return f{n + 1}(inputs, targets)\n\n" for n in range(size))
    last = f"def f{size}(inputs, targets):\n" + indented(STEP) + "    return loss\n\n"
    return HEAD + chain + last + "for inputs, targets in batches:\n    f0(inputs, targets)\n"


def layers(size: int) -> str:
    """Return a network class of many layers and its training loop."""
    made = "".join(f"        self.layer{n} = nn.Linear(4, 4)\n" for n in range(size))
    used = "".join(f"        x = torch.relu(self.layer{n}(x))\n" for n in range(size))
    network = f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{made}\n"
    network += f"    def forward(self, x):\n{used}        return x\n\n\nmodel = Net()\n"
    made_anew = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    return f"{HEAD}{network}{made_anew}for inputs, targets in batches:\n{indented(STEP)}"


def lines(size: int) -> str:
    """Return a training loop below many lines that have nothing to do with it."""
    other = "".join(f"def helper{n}(a, b):\n    c = a + b * {n}\n    return [c, a, b]\n\n" for n in range(4 * size))
    return HEAD + other + f"for inputs, targets in batches:\n{indented(STEP)}"


WAYS: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {
    "loops": (loops, (8, 16, 32, 64)),
    "nested": (nested, (1, 2, 4, 8)),
    "branches": (branches, (8, 16, 32, 64)),
    "relevant-branches": (relevant_branches, (4, 8, 16, 32)),
    "functions": (functions, (8, 16, 32, 64)),
    "calls": (calls, (8, 16, 32, 64)),
    "depth": (depth, (4, 8, 16, 32)),
    "layers": (layers, (16, 32, 64, 128)),
    "lines": (lines, (32, 64, 128, 256)),
}


def measure(texts: list[str], runs: int) -> list[float]:
    """Return the least time that each text takes, in turns."""
    sources = [Source("generated.py", text) for text in texts]
    best = [float("inf")] * len(sources)
    for _ in range(runs):
        for number, source in enumerate(sources):
            before = process_time()
            found = linter.lint(source)
            best[number] = min(best[number], process_time() - before)
            if any(item.name in (linter.FAILED, linter.UNREADABLE) for item in found):
                raise RuntimeError(found[0].message)
    return best


def main() -> None:
    """Read the arguments, measure, and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=WAYS, nargs="*", help="these ways to grow")
    parser.add_argument("--sizes", type=int, nargs="+", help="other sizes than the usual ones")
    parser.add_argument("--runs", type=int, default=3, help="how often to measure (default: 3)")
    options = parser.parse_args()
    linter.lint(Source("generated.py", loops(1)))
    print("| what grows | sizes | milliseconds | ratio per doubling |\n|---|---|---|---|")
    for name, (make, sizes) in WAYS.items():
        if options.only and name not in options.only:
            continue
        chosen = options.sizes or sizes
        took = measure([make(size) for size in chosen], options.runs)
        steps = [f"{later / earlier:.1f}" for earlier, later in pairwise(took)]
        times = [f"{1000 * seconds:.0f}" for seconds in took]
        print(f"| {name} | {' '.join(map(str, chosen))} | {' '.join(times)} | {' '.join(steps)} |", flush=True)


if __name__ == "__main__":
    main()
