"""Run a program text under real PyTorch and say what happened.

Each run is a forked child of this process, which imports PyTorch once. The plain run tells the outcome: the values of
`RESULT`, or the exception. The counted run tells how many tensors autograd saved; it is a run of its own because
saved-tensor hooks switch off autograd's check for in-place changes.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import select
import signal
import sys
import time
import traceback
import types
import warnings
from dataclasses import dataclass
from typing import Any

SECONDS = 60.0


@dataclass(frozen=True)
class Outcome:
    """What a program did: the exception it ended with, or its `RESULT`; and, if counted, how many tensors were saved
    and how many steps of recorded graphs its tensors still hold at the end."""

    error: str | None
    result: tuple[float, ...] | None
    saved: int | None = None
    alive: int | None = None
    traceback: str = ""

    @property
    def line(self) -> int | None:
        """The line of the program, not of PyTorch, that raised."""
        lines = [part for part in self.traceback.splitlines() if '"<program>", line ' in part]
        return int(lines[-1].split('"<program>", line ')[1].split(",")[0]) if lines else None


def run(text: str, *, count: bool = False, seconds: float = SECONDS) -> Outcome:
    """Run `text` as `__main__` in a child of its own; with `count`, under hooks that count saved tensors."""
    import torch
    import torch._dynamo  # optimizers pull it in; loaded here once, not in every child

    torch.set_num_threads(1)
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded, use of fork() may lead to deadlocks"
        child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            payload = json.dumps(_execute(text, count)).encode()
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(payload)
        finally:
            os._exit(0)
    os.close(writer)
    payload = _read(reader, child, seconds)
    if payload is None:
        return Outcome(f"TimeoutError: no outcome after {seconds:g} seconds", None)
    if not payload:
        return Outcome("ChildProcessError: the program ended its process", None)
    fields = json.loads(payload)
    result = fields.pop("result")
    return Outcome(result=None if result is None else tuple(result), **fields)


def names_after(text: str) -> dict[str, Any]:
    """Run `text` as `__main__` in this process, without its output, and return its names; raises what it raises."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, "<program>", "exec"), names)
    return names


def differ(ours: tuple[float, ...] | None, theirs: tuple[float, ...] | None, tolerance: float = 1e-6) -> bool:
    """Whether two results are more than rounding apart; a missing result differs from everything."""
    if ours is None or theirs is None or len(ours) != len(theirs):
        return True
    return any(not abs(a - b) <= tolerance * max(1.0, abs(b)) for a, b in zip(ours, theirs, strict=True))


def _read(reader: int, child: int, seconds: float) -> bytes | None:
    """Read all that the child writes and reap it; None if it takes too long."""
    deadline, data = time.monotonic() + seconds, b""
    try:
        while True:
            ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                os.kill(child, signal.SIGKILL)
                return None
            chunk = os.read(reader, 65536)
            if not chunk:
                return data
            data += chunk
    finally:
        os.close(reader)
        os.waitpid(child, 0)


def _execute(text: str, count: bool) -> dict[str, object]:
    import torch

    saved = 0

    def pack(tensor: object) -> object:
        nonlocal saved
        saved += 1
        return tensor

    error, result, trace, quiet = None, None, "", io.StringIO()
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept) if count else contextlib.nullcontext()
    program = types.ModuleType("__main__")
    sys.modules["__main__"] = program
    sys.argv = ["program.py"]
    warnings.simplefilter("ignore")
    with hooks, contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        try:
            exec(compile(text, "<program>", "exec"), program.__dict__)
            if (values := program.__dict__.get("RESULT")) is not None:
                result = [float(value) for value in values]
        except BaseException as problem:  # a program may raise anything, SystemExit included
            error, trace = f"{type(problem).__name__}: {problem}", traceback.format_exc()
        alive = _alive() if count else None
    return {"error": error, "result": result, "saved": saved if count else None, "alive": alive, "traceback": trace}


def _alive() -> int:
    """Count the steps of the graphs that the tensors of the process hold."""
    import torch

    seen: dict[int, object] = {}
    pending = [one.grad_fn for one in gc.get_objects() if type(one) is torch.Tensor]
    while pending:
        step = pending.pop()
        if step is not None and id(step) not in seen:
            seen[id(step)] = step
            pending += [following for following, _ in step.next_functions]
    return len(seen)
