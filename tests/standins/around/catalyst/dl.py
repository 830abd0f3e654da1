"""A runner of batches: recording is on for the loader of training alone, the batch is handled by the subclass."""

from __future__ import annotations

from typing import Any

import torch


class _Engine:
    def backward(self, loss: torch.Tensor, **how: Any) -> None:
        loss.backward(**how)  # type: ignore[no-untyped-call]


class Runner:
    def __init__(self) -> None:
        self.engine, self.batch_metrics = _Engine(), {}  # type: ignore[var-annotated]
        self.is_train_loader = False

    def handle_batch(self, batch: Any) -> None:
        raise NotImplementedError

    def train(self, model: Any, optimizer: Any, loaders: dict[str, Any], num_epochs: int = 1) -> None:
        self.model, self.optimizer = model, optimizer
        for _ in range(num_epochs):
            for name, batches in loaders.items():
                self.is_train_loader = name.startswith("train")
                model.train(self.is_train_loader)
                with torch.set_grad_enabled(self.is_train_loader):
                    for batch in batches:
                        self.handle_batch(batch)
