"""A stand-in for the Trainer of transformers: training_step backpropagates, the loop steps and then clears, and
prediction_step asks for the loss without recording."""

from __future__ import annotations

import contextlib
from typing import Any

import torch


class TrainingArguments:
    def __init__(self, output_dir: str, num_train_epochs: int = 1, learning_rate: float = 0.1) -> None:
        self.num_train_epochs, self.learning_rate = num_train_epochs, learning_rate


class _Accelerator:
    def backward(self, loss: torch.Tensor, **how: Any) -> None:
        (loss / 1).backward(**how)  # type: ignore[no-untyped-call]


class Trainer:
    def __init__(self, model: Any, args: Any, train_dataset: Any = None, eval_dataset: Any = None) -> None:
        self.model, self.args, self.rows, self.others = model, args, train_dataset, eval_dataset
        self.accelerator = _Accelerator()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate)

    def _prepare_inputs(self, inputs: Any) -> Any:
        return dict(inputs)

    def compute_loss_context_manager(self) -> Any:
        return contextlib.nullcontext()

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        outputs = model(**inputs)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        model.train()
        loss = self.compute_loss(model, self._prepare_inputs(inputs), num_items_in_batch=num_items_in_batch)
        self.accelerator.backward(loss)
        return loss.detach()

    def prediction_step(self, model: Any, inputs: Any, prediction_loss_only: bool, ignore_keys: Any = None) -> Any:
        with torch.no_grad():
            loss, outputs = self.compute_loss(model, self._prepare_inputs(inputs), return_outputs=True)
        return loss, outputs, None

    def train(self) -> None:
        for _ in range(self.args.num_train_epochs):
            for inputs in self.rows:
                self.training_step(self.model, inputs)
                self.optimizer.step()
                self.model.zero_grad()

    def evaluate(self) -> None:
        self.model.eval()
        for inputs in self.others:
            self.prediction_step(self.model, inputs, False)
