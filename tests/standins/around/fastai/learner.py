"""The learner: predict, loss, backward, step, clear for each batch; a validation after each epoch without recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from fastai.callback.core import CancelBackwardException, CancelBatchException, CancelStepException


class Learner:
    def __init__(self, dls: Any, model: Any, loss_func: Any, lr: float = 0.1, cbs: Any = ()) -> None:
        self.dls, self.model, self.loss_func, self.cbs = dls, model, loss_func, list(cbs)
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.loss: Any = None
        self.loss_grad: Any = None
        for one in self.cbs:
            one.learn = self

    def __call__(self, event: str) -> None:
        for one in self.cbs:
            getattr(one, event, lambda: None)()

    def _with_events(self, work: Callable[[], None], event: str, cancel: type[Exception]) -> None:
        try:
            self(f"before_{event}")
            work()
        except cancel:
            self(f"after_cancel_{event}")
        self(f"after_{event}")

    def _batch(self, pair: Any, training: bool) -> None:
        def work() -> None:
            self.loss_grad = self.loss_func(self.model(pair[0]), pair[1])
            self.loss = self.loss_grad.clone()
            self("after_loss")
            if training:
                self._with_events(lambda: self.loss_grad.backward(), "backward", CancelBackwardException)
                self._with_events(lambda: self.opt.step(), "step", CancelStepException)
                self.opt.zero_grad()

        self._with_events(work, "batch", CancelBatchException)

    def fit(self, epochs: int) -> None:
        self("before_fit")
        for _ in range(epochs):
            self.model.train()
            for pair in self.dls.train:
                self._batch(pair, True)
            self.model.eval()
            with torch.no_grad():
                self("before_validate")
                for pair in self.dls.valid:
                    self._batch(pair, False)
                self("after_validate")
