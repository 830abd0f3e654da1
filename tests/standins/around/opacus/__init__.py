"""A stand-in for Opacus: the network, the optimizer and the loader made private; the caller clears and steps.

No noise is added, so that two runs can be compared; gradients are clipped as a whole.
"""

from __future__ import annotations

from typing import Any

import torch


class PrivacyEngine:
    def make_private(
        self, *, module: Any, optimizer: Any, data_loader: Any, noise_multiplier: float, max_grad_norm: float
    ) -> tuple[Any, Any, Any]:
        owned = [p for group in optimizer.param_groups for p in group["params"]]

        def clip(*given: Any) -> None:
            torch.nn.utils.clip_grad_norm_(owned, max_grad_norm)

        optimizer.register_step_pre_hook(clip)
        return module, optimizer, data_loader

    def make_private_with_epsilon(
        self,
        *,
        module: Any,
        optimizer: Any,
        data_loader: Any,
        epochs: int,
        target_epsilon: float,
        target_delta: float,
        max_grad_norm: float,
    ) -> tuple[Any, Any, Any]:
        return self.make_private(
            module=module,
            optimizer=optimizer,
            data_loader=data_loader,
            noise_multiplier=1.0,
            max_grad_norm=max_grad_norm,
        )
