"""scikit-learn-intelex's SVC (oneDAL), called directly, with float64 or float32 input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.objective import DualModel
from benchmarks.rivals.interface import Labels, Setting
from benchmarks.rivals.sklearn_svc import from_svc


@dataclass(frozen=True)
class IntelexSVC:
    """``sklearnex.svm.SVC(kernel="rbf")`` at its defaults."""

    name: str
    dtype: str
    package: str = "scikit-learn-intelex"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Only the hinge."""
        return None if p == 1.0 else "solves p = 1 only"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """Cast to the dtype to be measured: the library computes in the dtype of its input."""
        return X.astype(self.dtype)

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit at the library's defaults."""
        from sklearnex.svm import SVC

        svc = SVC(C=setting.C, gamma=setting.gamma, n_jobs=setting.threads)
        return svc.fit(data, y)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.predict(data))

    def export(self, model: Any) -> DualModel:
        """The fitted attributes."""
        return from_svc(model)
