"""scikit-learn's SVC: LIBSVM, one thread, at its default tolerance and cache.

At p = 2 the same library solves the problem exactly as a hard margin on the kernel
``K + I / (2 C)``, which needs the whole matrix and so is for small sets only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.objective import DualModel
from benchmarks.rivals.interface import Labels, Setting

MAX_PRECOMPUTED = 6000  # rows: a kernel matrix of 288 MB
HARD_MARGIN = 1e12  # stands for C = inf


class SquaredHinge(NamedTuple):
    """An SVC on the precomputed kernel, and what it needs to predict."""

    svc: Any
    X: Any
    gamma: float


@dataclass(frozen=True)
class SklearnSVC:
    """``sklearn.svm.SVC(kernel="rbf")`` with float64 input."""

    name: str = "sklearn"
    package: str = "scikit-learn"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Only the hinge, and the squared hinge of small sets."""
        if p == 2.0 and n_train > MAX_PRECOMPUTED:
            return f"p = 2 needs the whole kernel matrix: at most {MAX_PRECOMPUTED} rows"
        return None if p in (1.0, 2.0) else "solves p = 1 and p = 2 only"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit at the library's defaults."""
        from sklearn.metrics.pairwise import rbf_kernel
        from sklearn.svm import SVC

        if setting.p == 1.0:
            return SVC(C=setting.C, gamma=setting.gamma).fit(data, y)
        kernel = rbf_kernel(data, gamma=setting.gamma)
        kernel[np.diag_indices_from(kernel)] += 0.5 / setting.C
        svc = SVC(C=HARD_MARGIN, kernel="precomputed").fit(kernel, y)
        return SquaredHinge(svc, data, setting.gamma)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        from sklearn.metrics.pairwise import rbf_kernel

        if isinstance(model, SquaredHinge):
            kernel = rbf_kernel(data, model.X, gamma=model.gamma)
            return np.asarray(model.svc.predict(kernel))
        return np.asarray(model.predict(data))

    def export(self, model: Any) -> DualModel:
        """The fitted attributes."""
        return from_svc(model.svc if isinstance(model, SquaredHinge) else model)


def from_svc(svc: Any) -> DualModel:
    """Read the attributes that every SVC-like estimator has."""
    coef = svc.dual_coef_
    coef = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)
    return DualModel(
        support=np.asarray(svc.support_, dtype=np.intp),
        dual_coef=coef.astype(np.float64),
        intercept=np.atleast_1d(svc.intercept_).astype(np.float64),
    )
