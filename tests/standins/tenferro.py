"""A reference tape by the rules that the seed states of tenferro 0.8: the oracle where no binding can be installed.

A backward consumes nothing and adds its gradients to the slots of the leaves that `variable_from` made; functional
gradients leave the slots alone and are refused for anything but such a leaf.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = Any
INACTIVE = "grad is inactive for Input(User {{ id: {} }}); use grad_optional to observe the inactive state"
_ids = itertools.count()


class NonScalarGrad(ValueError):
    """A backward of more than one value, without a seed."""


class Inactive(ValueError):
    """A functional gradient of what is no leaf behind the loss."""


class CpuEngine:
    @staticmethod
    def serial() -> CpuEngine:
        return CpuEngine()


class EagerTensor:
    def __init__(
        self,
        data: Array,
        parents: Sequence[EagerTensor] = (),
        pull: Callable[[Array], Sequence[Array]] | None = None,
        leaf: bool = False,
    ) -> None:
        self.data, self.parents, self.pull, self.leaf = np.asarray(data, dtype="float64"), parents, pull, leaf
        self.slot: Array | None = None
        self.id = next(_ids)

    def tracks_grad(self) -> bool:
        return self.leaf or any(one.tracks_grad() for one in self.parents)

    def value(self) -> list[float]:
        return [float(one) for one in self.data.reshape(-1)]

    def grad(self) -> EagerTensor | None:
        return None if self.slot is None else EagerTensor(self.slot)

    def clear_grad(self) -> None:
        self.slot = None

    def backward(self, engine: CpuEngine) -> None:
        if self.data.ndim:
            raise NonScalarGrad(f"grad requires a scalar output, got shape {list(self.data.shape)}")
        self.backward_with(engine, EagerTensor(1.0))

    def backward_with(self, engine: CpuEngine, cotangent: EagerTensor) -> None:
        for leaf, gradient in _walk(self, cotangent.data).items():
            leaf.slot = gradient if leaf.slot is None else leaf.slot + gradient


def _walk(root: EagerTensor, seed: Array) -> dict[EagerTensor, Array]:
    """Return the gradients of the leaves behind a tensor."""
    seen, pending = {root}, [root]
    while pending:
        for parent in pending.pop().parents:
            if parent not in seen:
                seen.add(parent)
                pending.append(parent)
    found: dict[EagerTensor, Array] = {root: seed}
    for one in sorted(seen, key=lambda tensor: -tensor.id):
        if one.pull is not None and one in found:
            for parent, value in zip(one.parents, one.pull(found[one]), strict=True):
                found[parent] = found[parent] + value if parent in found else value
    return {one: value for one, value in found.items() if one.leaf}


class EagerRuntime:
    def __init__(self) -> None:
        self._variables: list[EagerTensor] = []

    @staticmethod
    def new() -> EagerRuntime:
        return EagerRuntime()

    def variable_from(self, values: Array) -> EagerTensor:
        self._variables.append(EagerTensor(values, leaf=True))
        return self._variables[-1]

    def constant_from(self, values: Array) -> EagerTensor:
        return EagerTensor(values)

    def mul(self, left: EagerTensor, right: EagerTensor) -> EagerTensor:
        return EagerTensor(left.data * right.data, (left, right), lambda g: (g * right.data, g * left.data))

    def add(self, left: EagerTensor, right: EagerTensor) -> EagerTensor:
        return EagerTensor(left.data + right.data, (left, right), lambda g: (g, g))

    def reduce_sum(self, tensor: EagerTensor) -> EagerTensor:
        return EagerTensor(tensor.data.sum(), (tensor,), lambda g: (g * np.ones_like(tensor.data),))

    def clear_grads(self) -> None:
        for one in self._variables:
            one.clear_grad()

    def grad_optional(self, engine: CpuEngine, loss: EagerTensor, by: EagerTensor) -> EagerTensor | None:
        found = _walk(loss, np.asarray(1.0)).get(by)
        return None if found is None else EagerTensor(found)

    def grad(self, engine: CpuEngine, loss: EagerTensor, by: EagerTensor) -> EagerTensor:
        found = self.grad_optional(engine, loss, by)
        if found is None:
            raise Inactive(INACTIVE.format(by.id))
        return found
