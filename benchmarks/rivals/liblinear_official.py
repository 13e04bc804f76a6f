"""LIBLINEAR's own Python package, one thread.

The conversion of the rows to its node lists is part of the fit, as it is for every user of the
package, and recorded apart (``conversion_seconds``). The primal solver can leave the
intercept free (``-R``); the dual ones penalise it, see :mod:`benchmarks.rivals.sklearn_linear`.
They stop after 300 epochs, which Python cannot change; at p = 2 the primal solver then takes over.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.linear_objective import LinearModel
from benchmarks.rivals.interface import Labels, Setting


class Fitted(NamedTuple):
    """LIBLINEAR's model, which needs the memory of its rows, and the seconds to make these."""

    model: Any
    problem: Any
    conversion_seconds: float


@dataclass(frozen=True)
class LiblinearOfficial:
    """``train`` with ``-s 2 -R``, or in the dual ``-s 3`` (p = 1) and ``-s 1`` (p = 2).

    ``eps`` is the tolerance; the library's defaults are 0.01 (primal) and 0.1 (dual).
    """

    name: str
    dual: bool
    eps: float
    intercept_scaling: float = 1.0
    package: str = "liblinear-official"

    def why_not(self, p: float, n_train: int) -> str | None:
        """The hinge in the dual only, and the squared hinge."""
        if p == 2.0 or (p == 1.0 and self.dual):
            return None
        return "solves p = 1 and p = 2 only" if self.dual else "solves p = 2 only"

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """The rows as they are."""
        return X

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Convert and fit; of two classes signs as labels: +1 is LIBLINEAR's positive class."""
        from liblinear.liblinear import problem
        from liblinear.liblinearutil import parameter, train

        start = time.perf_counter()
        labels = np.where(y == 1, 1.0, -1.0) if y.max() == 1 else y.astype(np.float64)
        nodes = problem(labels, sp.csr_matrix(data))
        converted = time.perf_counter() - start
        solver = (3 if setting.p == 1.0 else 1) if self.dual else 2
        free = "" if self.dual else "-R"
        options = f"-s {solver} -c {setting.C!r} -e {self.eps!r} -B {self.intercept_scaling!r}"
        return Fitted(train(nodes, parameter(f"{options} {free} -q")), nodes, converted)

    def predict(self, model: Any, data: Any) -> Labels:
        """Labels by a matrix product: the package's own loop over rows is Python."""
        fitted = self.export(model)
        return np.asarray(data @ fitted.coef + fitted.intercept > 0.0).astype(np.int64)

    def export(self, model: Any) -> LinearModel:
        """Coefficients and intercept of label +1."""
        native = model.model
        if native.get_labels() != [1, -1]:
            raise RuntimeError(f"expected labels [1, -1], got {native.get_labels()}")
        return decision_of(native, 0)


def from_one_vs_rest(fitted: Fitted) -> list[LinearModel]:
    """One model for every class in the order of their labels, or one for two of them."""
    labels = fitted.model.get_labels()
    chosen = [0] if len(labels) == 2 else np.argsort(labels)
    return [decision_of(fitted.model, int(index)) for index in chosen]


def decision_of(native: Any, index: int) -> LinearModel:
    """Coefficients and intercept of a label."""
    coef, intercept = native.get_decfun(index)
    return LinearModel(np.array(coef), float(intercept))
