"""Notebooks executed by a Jupyter kernel: as they were, as adlint mends them, and as an expert would write them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adlint.config import Settings
from adlint.linter import fix, lint
from adlint.source import Source

pytestmark = [pytest.mark.runtime, pytest.mark.skipif(os.name == "nt", reason="the cells speak to a POSIX shell")]

UNCLEARED = [
    "# title A linear fit",
    "%%capture out\n%env OMP_NUM_THREADS=1\n!echo installing\nimport torch\nfrom torch import nn",
    "torch.manual_seed(0)\n"
    "files = !ls\n"
    "data = torch.randn(64, 3)\n"
    "target = data @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.1\n"
    "net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.05)",
    "%%time\n"
    "history = []\n"
    "for epoch in range(5):\n"
    "    for start in range(0, 64, 16):\n"
    "        batch, wanted = data[start:start + 16], target[start:start + 16]\n"
    "        loss = nn.functional.mse_loss(net(batch), wanted)\n"
    "        loss.backward()\n"
    "        opt.step()\n"
    "    !echo epoch $epoch\n"
    "    history.append(loss.item())",
    "%%bash\necho done",
    "result = [p.tolist() for p in net.parameters()]",
]
SHARED = [
    "import asyncio\nimport torch\nfrom torch import nn\n%precision 3\nawait asyncio.sleep(0)\ntorch.manual_seed(1)",
    "%%capture\n"
    "body, left, right = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 1)\n"
    "parts = nn.ModuleList([body, left, right])\n"
    "x, a, b = torch.randn(10, 4), torch.randn(10, 1), torch.randn(10, 1)\n"
    "!pwd",
    "%time hidden = torch.tanh(body(x))\n"
    "first = (left(hidden) - a).pow(2).mean()\n"
    "second = (right(hidden) - b).pow(2).mean()",
    "%%time\nfirst.backward()\nsecond.backward()",
    "here = %pwd\nresult = [p.grad.tolist() for p in parts.parameters()]",
]
RECORDED = [
    "import torch\nfrom torch import nn\n%env CUDA_VISIBLE_DEVICES=\ntorch.manual_seed(2)",
    "model = nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.5), nn.Linear(7, 2))\n"
    "batches = [(torch.randn(6, 5), torch.randint(0, 2, (6,))) for _ in range(4)]\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    "for inputs, labels in batches:\n"
    "    optimizer.zero_grad()\n"
    "    nn.functional.cross_entropy(model(inputs), labels).backward()\n"
    "    optimizer.step()",
    "files = !ls\n"
    "def evaluate(model, batches):\n"
    '    """Return the outputs, and how many are right."""\n'
    "    model.eval()\n"
    "    outputs, right = [], 0\n"
    "    for inputs, labels in batches:\n"
    "        output = model(inputs)\n"
    "        right += (output.argmax(1) == labels).sum().item()\n"
    "        outputs.append(output)\n"
    "    return outputs, right",
    "%%time\noutputs, right = evaluate(model, batches)",
    "?evaluate",
    "result = [[o.requires_grad for o in outputs], [o.tolist() for o in outputs], right]",
]
CASES = {
    "missing-zero-grad": (UNCLEARED, 3, "        loss.backward()", "        opt.zero_grad()\n        loss.backward()"),
    "shared-backward": (SHARED, 3, "%%time\nfirst.backward()\nsecond.backward()", "(first + second).backward()"),
    "eval-without-no-grad": (
        RECORDED,
        2,
        "    for inputs, labels in batches:\n"
        "        output = model(inputs)\n"
        "        right += (output.argmax(1) == labels).sum().item()\n"
        "        outputs.append(output)\n",
        "    with torch.no_grad():\n"
        "        for inputs, labels in batches:\n"
        "            output = model(inputs)\n"
        "            right += (output.argmax(1) == labels).sum().item()\n"
        "            outputs.append(output)\n",
    ),
}


def written(cells: list[str]) -> bytes:
    made: list[dict[str, Any]] = []
    for text in cells:
        kind = "markdown" if text.startswith("# title") else "code"
        more: dict[str, Any] = {} if kind == "markdown" else {"outputs": [], "execution_count": None}
        made.append({"cell_type": kind, "metadata": {}, **more, "source": text.splitlines(keepends=True)})
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1).encode()


class Kernel:
    """A running Jupyter kernel; every notebook begins with no names."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def run(self, data: bytes) -> Any:
        """Return what `result` is after all cells of a notebook, or the exception that ended it."""
        import nbformat

        self.client.nb = book = nbformat.reads(data.decode(), as_version=4)
        book.cells[:0] = [nbformat.v4.new_code_cell("%reset -f")]
        book.cells.append(nbformat.v4.new_code_cell("import json\nprint('\\n' + json.dumps(result))"))
        for number, cell in enumerate(book.cells):
            if cell.cell_type == "code":
                self.client.execute_cell(cell, number)
                for output in cell.outputs:
                    if output.output_type == "error":
                        return f"{output.ename}: {output.evalue}"
        said = "".join(output.text for output in book.cells[-1].outputs if output.output_type == "stream")
        return json.loads(said.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    folder: Path = tmp_path_factory.mktemp("notebooks")
    (folder / "data.csv").write_text("1\n")
    client = nbclient.NotebookClient(
        nbformat.v4.new_notebook(), timeout=60, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    with client.setup_kernel():
        yield Kernel(client)


@pytest.mark.parametrize("name", CASES)
def test_a_mended_notebook_does_what_the_experts_does(name: str, kernel: Kernel) -> None:
    """Finds the mistake and nothing else; the kernel runs what is made of it, and gets the expert's numbers."""
    cells, number, old, new = CASES[name]
    expert = list(cells)
    assert old in expert[number]
    expert[number] = expert[number].replace(old, new)
    book = Source.from_bytes(written(cells), "a.ipynb")
    assert [item.name for item in lint(book)] == [name]
    assert lint(Source.from_bytes(written(expert), "a.ipynb")) == []
    mended = book.with_text(fix(book, Settings(), unsafe=True).text).encode()
    made = ["".join(cell["source"]) for cell in json.loads(mended)["cells"]]
    assert [n for n, (was, now) in enumerate(zip(cells, made, strict=True)) if was != now] == [number]
    wanted = kernel.run(written(expert))
    assert isinstance(wanted, list), wanted
    assert kernel.run(mended) == wanted
    assert kernel.run(written(cells)) != wanted
