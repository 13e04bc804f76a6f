"""LightGBM's trees, for orientation: another model of the same rows, not a rival in objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.rivals.interface import Labels, Setting


@dataclass(frozen=True)
class LightGBMTrees:
    """``LGBMClassifier()`` at its defaults: neither C nor p nor a kernel."""

    name: str = "lightgbm"
    package: str = "lightgbm"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Once for all p."""
        return None if p == 1.0 else "has no p: once is enough"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit at the library's defaults."""
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=setting.threads, verbosity=-1).fit(data, y)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.predict(data))

    def export(self, model: Any) -> None:
        """Trees have no dual coefficients to judge."""
