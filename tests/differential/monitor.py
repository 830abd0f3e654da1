"""Runs a program under real PyTorch and notes every misbehaviour of its graphs and gradients, with the lines involved.

Nothing here knows of adlint's rules. A backward that PyTorch refuses is noted and left out, with the gradients as they
were, so that what follows it can be seen as well; what a plain run shows is all up to the first refusal.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import random
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any
from unittest import mock

PROGRAM = "<program>"
REFUSALS = {
    "Trying to backward through the graph a second time": "freed",
    "has been modified by an inplace operation": "overwritten",
    "does not require grad": "no-graph",
    "can be implicitly created only for scalar outputs": "non-scalar",
}


@dataclass(frozen=True)
class Event:
    """A misbehaviour: its kind, the lines it may be reported on, and whether a plain run comes that far."""

    kind: str
    lines: frozenset[int]
    plain: bool = True


@dataclass
class _Deposit:
    line: int
    stale: bool
    applied: bool = False


@dataclass
class _Walk:
    line: int
    retains: bool
    nodes: frozenset[Any]
    repeated: bool = False


@dataclass
class Monitor:
    """What was seen of one run."""

    meant: bool = False
    events: list[Event] = field(default_factory=list)
    plain: bool = True
    error: str | None = None
    steps: int = 0
    _walks: list[_Walk] = field(default_factory=list)
    _slots: dict[Any, list[_Deposit]] = field(default_factory=dict)
    _made: list[tuple[int, Any]] = field(default_factory=list)
    _results: list[tuple[int, _Results]] = field(default_factory=list)

    def note(self, kind: str, *lines: int) -> None:
        """Note a misbehaviour."""
        self.events.append(Event(kind, frozenset(lines), self.plain))

    def differentiate(
        self, real: Callable[..., Any], roots: Sequence[Any], retains: bool, inputs: Sequence[Any] | None = None
    ) -> Any:
        """Stand for one backward, or for one functional gradient with respect to `inputs`."""
        line = _line()
        nodes = _nodes(roots, inputs)
        leaves = [node.variable for node in nodes if hasattr(node, "variable")] if inputs is None else []
        for leaf in leaves if self.meant else ():
            if any(one.applied for one in self._slots.get(leaf, ())):
                leaf.grad = None
        before = [(leaf, leaf.grad, None if leaf.grad is None else leaf.grad.clone()) for leaf in leaves]
        inner = frozenset(node for node in nodes if not hasattr(node, "variable"))
        again = [walk for walk in self._walks if walk.nodes & inner]
        try:
            result = real()
        except RuntimeError as problem:
            kind = next((kind for text, kind in REFUSALS.items() if text in str(problem)), None)
            if kind is None:
                raise
            self.note(kind, line, *(walk.line for walk in again))
            self.plain = False
            for leaf, slot, values in before:
                leaf.grad = slot
                if slot is not None:
                    slot.copy_(values)
            return None
        for walk in again:
            walk.repeated = True
        if unkept := [walk.line for walk in again if not walk.retains]:
            self.note("repeated", line, *unkept)
        if kept := [walk.line for walk in again if walk.retains]:
            self.note("kept", line, *kept)
        self._walks.append(_Walk(line, retains, inner))
        for leaf, slot, _ in before:
            held = self._slots.setdefault(leaf, [])
            if slot is None:
                held.clear()
            held.append(_Deposit(line, any(one.applied for one in held)))
        return result

    def stepped(self, optimizer: Any) -> None:
        """Look at what an optimizer applies."""
        self.steps += 1
        stale: set[int] = set()
        summed: set[int] = set()
        again = False
        for leaf in _owned(optimizer):
            added = [one for one in self._slots.get(leaf, ()) if leaf.grad is not None]
            new = [one.line for one in added if not one.applied]
            summed |= {line for line in new if new.count(line) > 1}
            stale |= {one.line for one in added if one.stale and not one.applied}
            again = again or (bool(added) and not new)
            for deposit in added:
                deposit.applied = True
        if stale:
            self.note("accumulated", *stale, _line())
        if summed:
            self.note("summed", *summed, _line())
        if again:
            self.note("reapplied", _line())
        if all(leaf.grad is None or not self._slots.get(leaf) for leaf in _owned(optimizer)):
            self.note("empty", _line())

    def cleared(self, leaves: Iterator[Any]) -> None:
        """Look at what a clear throws away."""
        lost: set[int] = set()
        for leaf in leaves:
            held = self._slots.get(leaf, [])
            if leaf.grad is not None:
                lost |= {one.line for one in held if not one.applied}
            held.clear()
        if lost:
            self.note("discarded", *lost, _line())

    def given(self, result: Sequence[Any]) -> _Results:
        """Hand out functional gradients."""
        results = _Results(result)
        self._results.append((_line(), results))
        return results

    def computed(self, result: Any) -> None:
        """Note a recorded operation."""
        if getattr(result, "grad_fn", None) is not None and (line := _line()):
            self._made.append((line, result.grad_fn))

    def end(self) -> None:
        """Note what only the end shows."""
        for walk in self._walks:
            if walk.retains and not walk.repeated:
                self.note("retained", walk.line)
        walked = {node for walk in self._walks for node in walk.nodes}
        for line, node in self._made:
            if node not in walked:
                self.note("unwalked", line)
        sizes: dict[tuple[int, int], list[int]] = {}
        for line, results in itertools.groupby(self._made, key=lambda made: made[0]):
            for number, (_, node) in enumerate(results):
                sizes.setdefault((line, number), []).append(len(_behind(node)))
        for (line, _), grown in sizes.items():
            if len(grown) > 1 and all(one < other for one, other in itertools.pairwise(grown[-3:])):
                self.note("grows", line)
        for line, given in self._results:
            if not given.read:
                self.note("discarded", line)
        for held in self._slots.values():
            if held and not any(one.applied for one in held):
                self.note("unapplied", *(one.line for one in held))


def watch(text: str, choices: Sequence[bool], *, meant: bool = False) -> tuple[Monitor, tuple[float, ...] | None]:
    """Run a program with its random choices made; return what was seen, and `RESULT` if it ran to its end.

    With `meant`, it computes what the program means where it goes wrong: every graph is kept, no version is looked at,
    and what a step has applied is cleared before the next backward.
    """
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook
    from torch.overrides import TorchFunctionMode

    monitor = Monitor(meant)
    backward, grad = torch.autograd.backward, torch.autograd.grad
    step_hook = register_optimizer_step_pre_hook(lambda one, _args, _named: monitor.stepped(one))
    clear, forget = torch.optim.Optimizer.zero_grad, torch.nn.Module.zero_grad

    def on_backward(tensors: Any, *args: Any, **named: Any) -> Any:
        retains = bool(args[1] if len(args) > 1 else named.get("retain_graph"))
        if meant:
            args, named = args[:1], {**named, "retain_graph": True}
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        return monitor.differentiate(lambda: backward(tensors, *args, **named), roots, retains)

    def on_grad(outputs: Any, inputs: Any, *args: Any, **named: Any) -> Any:
        retains = bool(named.get("retain_graph"))
        if meant:
            named = {**named, "retain_graph": True}
        roots = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        wanted = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
        result = monitor.differentiate(lambda: grad(outputs, inputs, *args, **named), roots, retains, wanted)
        return monitor.given(() if result is None else result)

    def on_clear(optimizer: Any, *args: Any, **named: Any) -> None:
        monitor.cleared(iter(_owned(optimizer)))
        clear(optimizer, *args, **named)

    def on_forget(network: Any, *args: Any, **named: Any) -> None:
        monitor.cleared(network.parameters())
        forget(network, *args, **named)

    class Operations(TorchFunctionMode):
        def __torch_function__(self, function: Any, _types: Any, args: Any = (), named: Any = None) -> Any:
            result = function(*args, **(named or {}))
            monitor.computed(result)
            return result

    def draw() -> float:
        return 0.0 if next(drawn) else 0.99

    drawn = cycle(choices)
    program = types.ModuleType("program")
    program.__dict__[_LIST] = lambda: _Kept(monitor)
    hooks: Any = torch.autograd.graph.saved_tensors_hooks(lambda one: one, lambda one: one)
    with (
        mock.patch.object(torch.autograd, "backward", on_backward),
        mock.patch.object(torch.autograd, "grad", on_grad),
        mock.patch.object(torch.optim.Optimizer, "zero_grad", on_clear),
        mock.patch.object(torch.nn.Module, "zero_grad", on_forget),
        mock.patch.object(random, "random", draw),
        Operations(),
        hooks if meant else contextlib.nullcontext(),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            exec(compile(_Lists().visit(ast.parse(text)), PROGRAM, "exec"), program.__dict__)
        except Exception as problem:
            monitor.error = f"{type(problem).__name__}: {problem}"
        finally:
            step_hook.remove()
    monitor.end()
    result = program.__dict__.get("RESULT")
    return monitor, None if result is None else tuple(float(value) for value in result)


def _line() -> int:
    """Return the line of the program that is running."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != PROGRAM:
        frame = frame.f_back
    return 0 if frame is None else frame.f_lineno


def _nodes(roots: Sequence[Any], inputs: Sequence[Any] | None) -> set[Any]:
    """Return the steps that a backward runs: all behind the roots, or those of them that lead to the inputs."""
    before = _behind(*(root.grad_fn for root in roots))
    if inputs is None:
        return set(before)
    ends = {id(one) for one in inputs}
    run = {node for node in before if id(getattr(node, "variable", None)) in ends}
    while more := {node for node, behind in before.items() if node not in run and not run.isdisjoint(behind)}:
        run |= more
    return run


def _behind(*nodes: Any) -> dict[Any, list[Any]]:
    """Return the steps of a graph, each with those that come after it in a backward."""
    before: dict[Any, list[Any]] = {}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node is not None and node not in before:
            before[node] = [one for one, _ in node.next_functions if one is not None]
            pending += before[node]
    return before


_LIST = "__list__"


class _Lists(ast.NodeTransformer):
    """Makes every empty list of a program one that knows what it keeps."""

    def visit_List(self, node: ast.List) -> ast.expr:
        if node.elts:
            return node
        name = ast.copy_location(ast.Name(_LIST, ast.Load()), node)
        return ast.copy_location(ast.Call(name, [], []), node)


class _Kept(list[Any]):
    """A list that notes when it keeps a graph beside others."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor

    def append(self, value: Any) -> None:
        """Keep a value."""
        super().append(value)
        if len([one for one in self if getattr(one, "grad_fn", None) is not None]) > 1:
            self.monitor.note("grows", _line())


class _Results(tuple[Any, ...]):
    """Functional gradients that know whether anybody looked at them."""

    read = False

    def __iter__(self) -> Iterator[Any]:
        self.read = True
        return super().__iter__()

    def __getitem__(self, index: Any) -> Any:
        self.read = True
        return super().__getitem__(index)


def _owned(optimizer: Any) -> list[Any]:
    return [leaf for group in optimizer.param_groups for leaf in group["params"]]
