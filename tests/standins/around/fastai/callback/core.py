"""What users subclass to take part in a fit, and the exceptions by which they leave a part of it out."""

from __future__ import annotations

from typing import Any


class CancelBatchException(Exception):
    pass


class CancelBackwardException(Exception):
    pass


class CancelStepException(Exception):
    pass


class Callback:
    learn: Any = None

    @property
    def model(self) -> Any:
        return self.learn.model
