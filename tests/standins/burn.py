"""A reference tape by the rules that the seed states of burn 0.22: the oracle where no binding can be installed.

One graph for the process; a backward first looks whether all steps on its way are there, then takes them out and runs
them; it returns the gradients. Steps that nobody can walk any more go when a backward ends. What is recorded depends on
the device of the tensors, and on whether one of them is tracked.
"""

from __future__ import annotations

import copy
import itertools
import types
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CONSUMED = (
    "Cannot run backward: graph tape has already been consumed at NodeId({}). Burn does not support retain_graph. "
    "Combine losses before backward or recompute the forward pass."
)
Array = Any
Pull = Callable[[Array], Sequence[Array]]


class Panic(RuntimeError):
    """What Rust's panic is to a caller in Python."""


@dataclass(frozen=True)
class Step:
    """How the gradient of a node becomes those of its parents."""

    parents: tuple[int, ...]
    pull: Pull


_graph: dict[int, Step] = {}
_leaves: set[int] = set()
_handles: weakref.WeakSet[Tensor] = weakref.WeakSet()
_ids = itertools.count()


def steps() -> int:
    """How many steps the graph of the process holds."""
    return len(_graph)


@dataclass(frozen=True)
class Device:
    is_autodiff: bool = False

    @staticmethod
    def flex() -> Device:
        return Device()

    def autodiff(self) -> Device:
        return Device(True)


class Tensor:
    def __init__(self, data: Array, device: Device, node: int | None = None) -> None:
        self.data, self._device, self.node = np.asarray(data, dtype="float64"), device, node
        _handles.add(self)

    @staticmethod
    def from_floats(values: Array, device: Device) -> Tensor:
        return Tensor(values, device)

    def device(self) -> Device:
        return self._device

    def is_tracked(self) -> bool:
        return self.node is not None

    def is_autodiff(self) -> bool:
        return self._device.is_autodiff

    def require_grad(self) -> Tensor:
        leaf = Tensor(self.data, self._device, next(_ids))
        _leaves.add(leaf.node)  # type: ignore[arg-type]
        return leaf

    def detach(self) -> Tensor:
        return Tensor(self.data, self._device)

    def without_autodiff(self) -> Tensor:
        return Tensor(self.data, Device())

    def clone(self) -> Tensor:
        return Tensor(self.data, self._device, self.node)

    def exp(self) -> Tensor:
        value = np.exp(self.data)
        return _record(value, (self,), lambda g: (g * value,))

    def powi_scalar(self, power: int) -> Tensor:
        values = self.data
        return _record(values**power, (self,), lambda g: (g * power * values ** (power - 1),))

    def sum(self) -> Tensor:
        ones = np.ones_like(self.data)
        return _record(self.data.sum(), (self,), lambda g: (g * ones,))

    def mean(self) -> Tensor:
        share = np.ones_like(self.data) / self.data.size
        return _record(self.data.mean(), (self,), lambda g: (g * share,))

    def matmul(self, other: Tensor) -> Tensor:
        left, right = self.data, other.data  # the tensors themselves would stay alive with the step
        return _record(left @ right, (self, other), lambda g: (g @ right.T, left.T @ g))

    def __add__(self, other: Tensor | float) -> Tensor:
        if not isinstance(other, Tensor):
            return _record(self.data + other, (self,), lambda g: (g,))
        return _record(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other: Tensor | float) -> Tensor:
        if not isinstance(other, Tensor):
            return _record(self.data * other, (self,), lambda g: (g * other,))
        left, right = self.data, other.data
        return _record(left * right, (self, other), lambda g: (g * right, g * left))

    def into_scalar(self) -> float:
        return float(self.data)

    def grad(self, gradients: dict[int, Array]) -> Tensor | None:
        found = None if self.node is None else gradients.get(self.node)
        return None if found is None else Tensor(found, Device())

    def backward(self) -> dict[int, Array]:
        """Return the gradients of the leaves; panics, and changes nothing, if a step on the way has been taken."""
        assert self.node is not None, "the loss is not tracked"
        order = _ancestors(self.node)
        missing = [node for node in order if node not in _graph and node not in _leaves]
        if missing:
            raise Panic(CONSUMED.format(missing[0]))
        found: dict[int, Array] = {self.node: np.ones_like(self.data)}
        for node in order:
            if node in _leaves or node not in found:
                continue
            step = _graph.pop(node)
            for parent, value in zip(step.parents, step.pull(found.pop(node)), strict=True):
                found[parent] = found[parent] + value if parent in found else value
        _clean()
        return {node: value for node, value in found.items() if node in _leaves}


def _record(value: Array, operands: tuple[Tensor, ...], pull: Pull) -> Tensor:
    device = next((one.device() for one in operands if one.is_autodiff()), operands[0].device())
    tracked = [number for number, one in enumerate(operands) if one.node is not None]
    if not device.is_autodiff or not tracked:
        return Tensor(value, device)
    node = next(_ids)
    parents = tuple(operands[number].node or 0 for number in tracked)
    _graph[node] = Step(parents, lambda gradient: [list(pull(gradient))[number] for number in tracked])
    return Tensor(value, device, node)


def _ancestors(root: int) -> list[int]:
    """Return a node and all behind it, the newest first."""
    seen, pending = set(), [root]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending += _graph[node].parents if node in _graph else ()
    return sorted(seen, reverse=True)


def _clean() -> None:
    """Drop the steps that no living handle leads to, and those behind which one is gone that no handle stands for."""
    living = {one.node for one in _handles if one.node is not None}
    reached = {node for one in living for node in _ancestors(one)}
    for node in [*_graph]:
        whole = all(one in _graph or one in _leaves or one in living for one in _ancestors(node))
        if node not in reached or not whole:
            del _graph[node]


class Module:
    """A network: its tensors and networks are attributes."""

    def tensors(self) -> dict[str, Tensor]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}

    def networks(self) -> dict[str, Module]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Module)}

    def mapped(self, change: Callable[[Tensor], Tensor]) -> Any:
        made = copy.copy(self)
        vars(made).update({name: change(value) for name, value in self.tensors().items()})
        vars(made).update({name: value.mapped(change) for name, value in self.networks().items()})
        return made

    def valid(self) -> Any:
        """Return the network on a device without autodiff."""
        return self.mapped(Tensor.without_autodiff)


class Linear(Module):
    def __init__(self, inputs: int, outputs: int, device: Device) -> None:
        values = np.linspace(-1.0, 1.0, inputs * outputs).reshape(inputs, outputs)
        self.weight = Tensor(values, device).require_grad()

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.matmul(self.weight)


@dataclass(frozen=True)
class LinearConfig:
    inputs: int
    outputs: int

    def init(self, device: Device) -> Linear:
        return Linear(self.inputs, self.outputs, device)


class GradientsParams:
    @staticmethod
    def from_grads(gradients: dict[int, Array], module: Module) -> dict[int, Array]:
        return gradients


class Sgd:
    def step(self, rate: float, module: Any, gradients: dict[int, Array]) -> Any:
        """Return the updated network; the one that is given stays as it was."""

        def updated(tensor: Tensor) -> Tensor:
            gradient = tensor.grad(gradients)
            if gradient is None:
                return tensor
            return Tensor(tensor.data - rate * gradient.data, tensor.device()).require_grad()

        return module.mapped(updated)


class SgdConfig:
    def init(self) -> Sgd:
        return Sgd()


nn = types.SimpleNamespace(Linear=Linear, LinearConfig=LinearConfig)
optim = types.SimpleNamespace(SgdConfig=SgdConfig, GradientsParams=GradientsParams)
