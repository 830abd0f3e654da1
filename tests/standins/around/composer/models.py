"""The base of networks that know their loss."""

from __future__ import annotations

from typing import Any

import torch


class ComposerModel(torch.nn.Module):
    def loss(self, outputs: Any, batch: Any) -> Any:
        raise NotImplementedError

    def eval_forward(self, batch: Any, outputs: Any = None) -> Any:
        return outputs if outputs is not None else self(batch)
