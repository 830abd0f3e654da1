"""An evaluation in evaluation mode and without recording."""

from __future__ import annotations

from typing import Any

import torch


def inference_on_dataset(model: Any, data_loader: Any, evaluator: Any) -> list[Any]:
    training = model.training
    model.eval()
    with torch.no_grad():
        found = [model(one) for one in data_loader]
    model.train(training)
    return found
