"""The do-nothing control: what the harness itself costs in seconds and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.rivals.interface import Labels, Setting


@dataclass(frozen=True)
class Control:
    """Fits nothing and predicts the most frequent class."""

    name: str = "control"
    package: str = ""

    def why_not(self, p: float, n_train: int) -> str | None:
        """Nothing stands in the way of doing nothing, once."""
        return None if p == 1.0 else "one control is enough"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """The most frequent class."""
        return int(np.bincount(y).argmax())

    def predict(self, model: Any, data: Any) -> Labels:
        """The same class for every row."""
        return np.full(data.shape[0], model, dtype=np.int64)

    def export(self, model: Any) -> None:
        """There is no model to judge."""
