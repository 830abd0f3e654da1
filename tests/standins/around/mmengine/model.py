"""The base of networks that say themselves how they train."""

from __future__ import annotations

from typing import Any

import torch


class BaseModel(torch.nn.Module):
    def parse_losses(self, losses: dict[str, torch.Tensor]) -> tuple[Any, dict[str, Any]]:
        total = sum(value for key, value in losses.items() if "loss" in key)
        return total, {"loss": total}

    def train_step(self, data: Any, optim_wrapper: Any) -> dict[str, Any]:
        with optim_wrapper.optim_context(self):
            losses = self(data, mode="loss")
        parsed, log = self.parse_losses(losses)
        optim_wrapper.update_params(parsed)
        return log
