"""A stand-in for DeepSpeed: an engine around a network that backpropagates, steps, and clears with its step."""

from __future__ import annotations

from typing import Any

import torch


class DeepSpeedEngine(torch.nn.Module):
    def __init__(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        super().__init__()
        self.module, self.optimizer = module, optimizer

    def forward(self, *inputs: Any) -> Any:
        return self.module(*inputs)

    def backward(self, loss: torch.Tensor, retain_graph: bool = False) -> torch.Tensor:
        loss.backward(retain_graph=retain_graph)  # type: ignore[no-untyped-call]
        return loss

    def step(self) -> None:
        """Step and clear: there is one batch in every accumulation."""
        self.optimizer.step()
        self.optimizer.zero_grad()

    def eval(self) -> None:  # type: ignore[override]  # unlike a network's
        self.module.eval()


def initialize(
    args: Any = None,
    model: Any = None,
    optimizer: Any = None,
    model_parameters: Any = None,
    training_data: Any = None,
    lr_scheduler: Any = None,
    config: Any = None,
) -> tuple[DeepSpeedEngine, Any, Any, Any]:
    """Return the engine, its optimizer, a loader and a schedule."""
    optimizer = optimizer or torch.optim.SGD(model_parameters or model.parameters(), lr=0.1)
    return DeepSpeedEngine(model, optimizer), optimizer, training_data, lr_scheduler
