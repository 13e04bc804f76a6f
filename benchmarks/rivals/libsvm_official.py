"""LIBSVM's own Python package; its build uses OpenMP for kernel rows.

The conversion of the rows to LIBSVM's node lists is not timed, neither for fit nor for predict,
and predict calls the C function row by row with as little Python as possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.objective import DualModel
from benchmarks.rivals.interface import Labels, Setting


class Nodes(NamedTuple):
    """Rows as LIBSVM wants them, sorted by label so that its classes come in ascending order."""

    problem: Any
    order: Any


class Fitted(NamedTuple):
    """LIBSVM's model and the row order it was trained in."""

    model: Any
    order: Any


@dataclass(frozen=True)
class LibsvmOfficial:
    """``svm_train`` with ``-s 0 -t 2`` at its default tolerance (1e-3) and cache (100 MB)."""

    name: str = "libsvm"
    package: str = "libsvm-official"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Only the hinge (p = 2 is measured once, with scikit-learn's LIBSVM)."""
        return None if p == 1.0 else "solves p = 1 only"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """Node lists."""
        from libsvm.svm import svm_problem

        labels = np.zeros(X.shape[0]) if y is None else y.astype(np.float64)
        order = np.argsort(labels, kind="stable")
        return Nodes(svm_problem(labels[order], X[order]), order)

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit at the library's defaults."""
        from libsvm.svmutil import svm_train

        options = f"-s 0 -t 2 -c {setting.C!r} -g {setting.gamma!r} -q"
        return Fitted(svm_train(data.problem, options), data.order)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels; test rows are prepared without labels and so keep their order."""
        from libsvm.svm import libsvm

        rows = data.problem.x
        answer = [libsvm.svm_predict(model.model, rows[i]) for i in range(data.problem.l)]
        return np.array(answer, dtype=np.int64)

    def export(self, model: Any) -> DualModel:
        """LIBSVM's arrays in the signs of scikit-learn, which flips the two-class problem."""
        native = model.model
        n_classes = native.get_nr_class()
        if native.get_labels() != list(range(n_classes)):
            raise RuntimeError(f"expected labels 0 .. {n_classes - 1}, got {native.get_labels()}")
        rows = model.order[np.array(native.get_sv_indices()) - 1]
        coef = np.array([native.sv_coef[i][: native.l] for i in range(n_classes - 1)])
        rho = np.array(native.rho[: n_classes * (n_classes - 1) // 2])
        sign = -1.0 if n_classes == 2 else 1.0
        return DualModel(rows.astype(np.intp), sign * coef, -sign * rho)
