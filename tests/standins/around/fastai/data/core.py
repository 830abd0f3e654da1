"""Batches for training and for validation."""

from __future__ import annotations

from typing import Any


class DataLoaders:
    def __init__(self, train: Any, valid: Any) -> None:
        self.train, self.valid = train, valid
