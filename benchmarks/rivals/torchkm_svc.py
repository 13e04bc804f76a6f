"""TorchKM's kernel SVM on the CPU: an eigendecomposition of the kernel matrix, then first order.

The library is made for paths of C with cross-validation; here it gets one C and the least number of
folds. It stops with a smoothed hinge, a little above the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.objective import DualModel
from benchmarks.rivals.interface import Labels, Setting
from benchmarks.rivals.pairwise import dense

MAX_ROWS = 5000  # its matrices are n x n in float64, its time grows with the cube of n


@dataclass(frozen=True)
class TorchkmSVC:
    """``torchkm.estimators.TorchKMSVC(kernel="rbf", device="cpu")``, two classes only."""

    name: str = "torchkm"
    package: str = "torchkm"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Only the hinge, on small sets."""
        if p != 1.0:
            return "solves p = 1 only"
        return f"at most {MAX_ROWS} rows" if n_train > MAX_ROWS else None

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """Dense rows."""
        return dense(X)

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit at one C; the library's kernel is ``exp(-2 sigma ||x - z||^2)``."""
        import torch
        from torchkm.estimators import TorchKMSVC

        assert setting.gamma is not None
        torch.set_num_threads(setting.threads)
        sigma = 0.5 * setting.gamma
        svc = TorchKMSVC(Cs=[setting.C], cv=1, rbf_sigma=sigma, device="cpu", random_state=0)
        return svc.fit(data, y)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.predict(data)).astype(np.int64)

    def export(self, model: Any) -> DualModel:
        """``alpha_`` holds the coefficients of all training rows, with their signs."""
        support = np.flatnonzero(model.alpha_)
        coef, intercept = model.alpha_[None, support], np.array([model.intercept_])
        return DualModel(support, coef, intercept)
