"""An approximation of the rbf kernel by some of the rows, and LinearPSVC on the features it gives.

It solves another problem than the kernel SVM, so there is no model for the referee: the report
compares accuracy and time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.rivals.interface import Labels, Setting


@dataclass(frozen=True)
class NystroemPSVC:
    """``make_pipeline(Nystroem(...), LinearPSVC())``; fit and predict do both steps."""

    name: str
    n_components: int
    package: str = "psvm"

    def why_not(self, p: float, n_train: int) -> str | None:
        """More components than rows approximate nothing."""
        return None if n_train >= self.n_components else f"has only {n_train} rows"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Choose the components at random, map the rows, fit."""
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline

        from psvm import LinearPSVC

        components = min(self.n_components, data.shape[0])  # the warm-up has few rows
        features = Nystroem(gamma=setting.gamma, n_components=components, random_state=0)
        # Pairs of classes, as of the PSVC beside it.
        svc = LinearPSVC(setting.p, C=setting.C, multi_class="ovo", n_jobs=setting.threads)
        return make_pipeline(features, svc).fit(data, y)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.predict(data))

    def export(self, model: Any) -> None:
        """There is no kernel model to judge."""
