"""Automatic mixed precision as Apex had it; the caller clears and steps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

FACTOR = 8.0


def initialize(models: Any, optimizers: Any, **how: Any) -> tuple[Any, Any]:
    return models, optimizers


def master_params(optimizer: Any) -> Iterator[Any]:
    for group in optimizer.param_groups:
        yield from group["params"]


@contextlib.contextmanager
def scale_loss(loss: Any, optimizer: Any, loss_id: int = 0) -> Iterator[Any]:
    """Bind the scaled loss; what the block adds to the gradients is brought back to size."""
    before = [None if p.grad is None else p.grad.clone() for p in master_params(optimizer)]
    yield loss * FACTOR
    for old, p in zip(before, master_params(optimizer), strict=True):
        if p.grad is not None:
            added = p.grad if old is None else p.grad - old
            p.grad = added / FACTOR if old is None else old + added / FACTOR
