"""A trainer that clears before the forward, backpropagates and steps, and an evaluator that does not record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class _Engine:
    def __init__(self, batches: Any, epochs: int, iteration: Callable[..., Any] | None) -> None:
        self.batches, self.epochs, self.iteration = batches, epochs, iteration

    def _iteration(self, engine: Any, batchdata: Any) -> Any:
        raise NotImplementedError

    def run(self) -> None:
        for _ in range(self.epochs):
            for one in self.batches:
                if self.iteration is None:
                    self._iteration(self, one)
                else:
                    self.iteration(self, one)


class SupervisedTrainer(_Engine):
    def __init__(
        self,
        device: Any,
        max_epochs: int,
        train_data_loader: Any,
        network: Any,
        optimizer: Any,
        loss_function: Any,
        iteration_update: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(train_data_loader, max_epochs, iteration_update)
        self.network, self.optimizer, self.loss_function = network, optimizer, loss_function

    def _iteration(self, engine: Any, batchdata: Any) -> Any:
        engine.network.train()
        engine.optimizer.zero_grad()
        loss = engine.loss_function(engine.network(batchdata["image"]), batchdata["label"])
        loss.backward()
        engine.optimizer.step()
        return {"loss": loss}


class SupervisedEvaluator(_Engine):
    def __init__(self, device: Any, val_data_loader: Any, network: Any) -> None:
        super().__init__(val_data_loader, 1, None)
        self.network = network

    def _iteration(self, engine: Any, batchdata: Any) -> Any:
        engine.network.eval()
        with torch.no_grad():
            return {"pred": engine.network(batchdata["image"])}
