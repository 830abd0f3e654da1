"""The trainer."""

from __future__ import annotations

import itertools
from typing import Any


class SimpleTrainer:
    def __init__(self, model: Any, data_loader: Any, optimizer: Any) -> None:
        model.train()
        self.model, self.optimizer = model, optimizer
        self._data_loader_iter = itertools.cycle(data_loader)

    def run_step(self) -> None:
        losses = sum(self.model(next(self._data_loader_iter)).values())
        self.optimizer.zero_grad()
        losses.backward()
        self.optimizer.step()

    def train(self, start: int, end: int) -> None:
        for _ in range(start, end):
            self.run_step()
