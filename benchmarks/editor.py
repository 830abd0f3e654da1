"""How long does an editor wait for the server? Prints a Markdown table of medians and ratios.

    python benchmarks/editor.py [--edits 10000]

Everything goes through the protocol, as from an editor: the time from starting the process to the answer to
`initialize`, and from sending a change to reading the diagnostics of that version, with the delay for which the server
waits in case more is typed. What it is compared with runs in between: bare Python, and `linter.lint` of the same text
in this process. The long text is made of the shipped examples and fixtures, each a function of one file.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from statistics import median
from time import perf_counter
from typing import Any

from adlint import linter
from adlint.source import Source

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, "-m", "adlint", "server")
BARE = (sys.executable, "-c", "pass")
MARK = re.compile(r"[ \t]*# (?:want|todo|todo-ok)(?:\+\d+)?: .*$", re.M)
HEAD = '"""Many ways to train."""\n\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n'
PATIENCE = 120
Message = dict[str, Any]


class Editor:
    """A client of one server."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.server = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment
        )
        self._came: Queue[Message] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        stream = self.server.stdout
        assert stream
        while head := stream.readline():
            stream.readline()
            self._came.put(json.loads(stream.read(int(head.split(b":")[1]))))

    def send(self, method: str, params: object, name: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if name is None else {"id": name})}
        body = json.dumps(message).encode()
        stream = self.server.stdin
        assert stream
        stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stream.flush()

    def ask(self, method: str, params: object) -> None:
        """Send a request and wait for its answer."""
        self.send(method, params, 1)
        while self._came.get(timeout=PATIENCE).get("id") != 1:
            pass

    def change(self, uri: str, text: str, version: int) -> None:
        document = {"uri": uri, "version": version}
        self.send("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def diagnostics(self, version: int) -> list[Message]:
        """Wait for the findings in a version."""
        while True:
            params = self._came.get(timeout=PATIENCE).get("params")
            if isinstance(params, dict) and params.get("version") == version:
                found: list[Message] = params["diagnostics"]
                return found

    def memory(self) -> float:
        """Return the megabytes that the server occupies; nan where the system does not tell."""
        try:
            lines = Path(f"/proc/{self.server.pid}/status").read_text().splitlines()
        except OSError:
            return float("nan")
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


@contextmanager
def editor() -> Iterator[Editor]:
    """Start a server, and end it politely."""
    found = Editor()
    try:
        found.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        yield found
        found.ask("shutdown", None)
        found.send("exit", None)
        found.server.wait(PATIENCE)
    finally:
        found.server.kill()


def composed(lines: int) -> str:
    """Return a file of functions of about so many lines, which are the examples and the fixtures."""
    fixtures = sorted((ROOT / "tests" / "fixtures").glob("*/*/*.py"))
    files = [*sorted((ROOT / "examples").glob("*.py")), *fixtures[::5]]
    parts = [HEAD]
    for number, file in enumerate(files):
        if file.name.endswith(".fixed.py"):
            continue
        body = MARK.sub("", file.read_text(encoding="utf-8"))
        if (
            "torch" not in body
            or "import *" in body
            or "__future__" in body
            or "tests/fixtures/frameworks" in str(file)
        ):
            continue
        part = f"\n\ndef part{number}():\n" + "".join(f"    {line}\n" if line else "\n" for line in body.splitlines())
        text = "".join([*parts, part])
        if readable(text) and text.count("\n") <= lines + 20:
            parts.append(part)
        if sum(part.count("\n") for part in parts) >= lines:
            break
    return "".join(parts)


def readable(text: str) -> bool:
    """Whether Python takes a text."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def typed(text: str, count: int) -> Iterator[str]:
    """Yield a text again and again, each time with one more key struck, at the ends of lines all over it."""
    lines = text.split("\n")
    ends = [number for number, line in enumerate(lines) if line.startswith("    ") and line.rstrip().endswith(")")]
    for number in range(count):
        line = ends[(number * 7919) % len(ends)]
        lines[line] += "  # " if "#" not in lines[line] else "x"
        yield "\n".join(lines)


def start(runs: int) -> None:
    """Measure the start."""
    rounds = []
    for number in range(runs + 1):
        before = perf_counter()
        with editor():
            served = perf_counter() - before
        before = perf_counter()
        subprocess.run(BARE, check=True)
        if number:
            rounds.append((served, perf_counter() - before))
    served, bare = (median(one) for one in zip(*rounds, strict=True))
    ratio = median(one / other for one, other in rounds)
    print(
        f"| start → `initialize` answered | {served * 1000:.0f} ms | {ratio:.1f} x bare Python ({bare * 1000:.0f} ms) |"
    )


def keystrokes(name: str, text: str, count: int) -> None:
    """Measure keystrokes in a text."""
    uri = "file:///nowhere/file.py"
    rounds = []
    linter.lint(Source("/nowhere/file.py", text))
    with editor() as one:
        one.send("initialized", {})
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        before = perf_counter()
        one.send("textDocument/didOpen", {"textDocument": item})
        found = len(one.diagnostics(1))
        opened = perf_counter() - before
        for version, now in enumerate(typed(text, count), 2):
            before = perf_counter()
            one.change(uri, now, version)
            one.diagnostics(version)
            shown = perf_counter() - before
            before = perf_counter()
            linter.lint(Source("/nowhere/file.py", now))
            rounds.append((shown, perf_counter() - before))
    shown, linted = (median(one) for one in zip(*rounds, strict=True))
    slowest = max(one for one, _ in rounds)
    ratio = median(one / other for one, other in rounds)
    size = f"{name}, {text.count(chr(10))} lines, {found} finding{'s' * (found != 1)}"
    against = f"{ratio:.2f} x `linter.lint` ({linted * 1000:.0f} ms); slowest {slowest * 1000:.0f} ms"
    print(f"| keystroke → diagnostics: {size} | {shown * 1000:.0f} ms | {against}; opened: {opened * 1000:.0f} ms |")


def memory(text: str, edits: int, rests: int) -> None:
    """Measure what the server occupies while somebody types, who rests sometimes to see what is found."""
    uri = "file:///nowhere/file.py"
    sizes = []
    with editor() as one:
        one.send("initialized", {})
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        one.send("textDocument/didOpen", {"textDocument": item})
        one.diagnostics(1)
        sizes.append(one.memory())
        for version in range(2, edits + 2):
            one.change(uri, f"{text}\nx{version % 97} = {version}\n", version)
            if (version - 1) % (edits // rests) == 0:
                one.diagnostics(version)
                sizes.append(one.memory())
    middle, last, most = sizes[len(sizes) // 2], sizes[-1], max(sizes)
    print(
        f"| memory after {edits:,} edits, {rests} analyses waited for | {last:.0f} MB "
        f"| {sizes[0]:.0f} MB when opened, {middle:.0f} MB half-way, at most {most:.0f} MB |"
    )


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=9, help="how often to start (default: 9)")
    parser.add_argument("--keys", type=int, default=30, help="how many keys to strike in each file (default: 30)")
    parser.add_argument("--edits", type=int, default=10_000, help="how many edits to remember (default: 10,000)")
    parser.add_argument("--rests", type=int, default=100, help="how many of them to wait for (default: 100)")
    options = parser.parse_args()
    print("| what | time | against |\n|---|---:|---|", flush=True)
    start(options.starts)
    long = composed(1000)
    keystrokes("composed", long, options.keys)
    for file in sorted((ROOT / "examples").glob("*.py")):
        keystrokes(f"`examples/{file.name}`", file.read_text(encoding="utf-8"), options.keys)
    memory((ROOT / "examples" / "char_model.py").read_text(encoding="utf-8"), options.edits, options.rests)


if __name__ == "__main__":
    main()
