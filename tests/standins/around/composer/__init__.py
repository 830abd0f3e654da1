"""A stand-in for Composer: a trainer that clears, asks the network for its loss, backpropagates and steps."""

from __future__ import annotations

from typing import Any

import torch


class Trainer:
    def __init__(
        self, model: Any, train_dataloader: Any, eval_dataloader: Any, max_duration: str, optimizers: Any
    ) -> None:
        self.model, self.batches, self.others, self.optimizer = model, train_dataloader, eval_dataloader, optimizers

    def fit(self) -> None:
        self.model.train()
        for batch in self.batches:
            self.optimizer.zero_grad()
            self.model.loss(self.model(batch), batch).backward()
            self.optimizer.step()
        self.model.eval()
        with torch.no_grad():
            for batch in self.others:
                self.model.eval_forward(batch)
