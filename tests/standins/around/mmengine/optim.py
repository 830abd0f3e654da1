"""The wrapper of an optimizer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch


class OptimWrapper:
    def __init__(self, optimizer: Any, accumulative_counts: int = 1, clip_grad: Any = None) -> None:
        self.optimizer, self.counts, self.clip_grad = optimizer, accumulative_counts, clip_grad

    def update_params(self, loss: torch.Tensor) -> None:
        self.backward(loss / self.counts)
        self.step()
        self.zero_grad()

    def backward(self, loss: torch.Tensor, **how: Any) -> None:
        loss.backward(**how)  # type: ignore[no-untyped-call]

    def zero_grad(self) -> None:
        self.optimizer.zero_grad()

    def step(self) -> None:
        if self.clip_grad:
            owned = [p for group in self.optimizer.param_groups for p in group["params"] if p.grad is not None]
            if owned:
                torch.nn.utils.clip_grad_norm_(owned, **self.clip_grad)
        self.optimizer.step()

    @contextlib.contextmanager
    def optim_context(self, model: Any) -> Iterator[None]:
        yield


class AmpOptimWrapper(OptimWrapper):
    def __init__(self, loss_scale: Any = "dynamic", **how: Any) -> None:
        super().__init__(**how)
