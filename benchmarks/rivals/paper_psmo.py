"""The paper's own algorithm, pSMO, as published: random pairs of rows and a budget of steps.

This is the training of the paper's Table 2 with the rbf kernel. (Its Table 1 has another kernel and
intercept, so there is no common objective to judge it by.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.objective import DualModel
from benchmarks.rivals.interface import Labels, Setting
from benchmarks.rivals.pairwise import PairSolution, dense, packed

MAX_ROWS = 1500  # the whole kernel matrix, and Python's pace


class Fitted(NamedTuple):
    """The classifier and the labels it was trained with."""

    classifier: Any
    y: Labels


@dataclass(frozen=True)
class PaperSMO:
    """``psvm.paper.psmo_classifier.PSMOClassifier(kernel="rbf")`` at its defaults."""

    name: str = "psmo"
    package: str = "psvm"

    def why_not(self, p: float, n_train: int) -> str | None:
        """Every p, on small sets."""
        return f"at most {MAX_ROWS} rows" if n_train > MAX_ROWS else None

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """Dense rows."""
        return dense(X)

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit with the published budget of steps."""
        from psvm.paper.psmo_classifier import PSMOClassifier

        assert setting.gamma is not None
        smo = PSMOClassifier(setting.p, C=setting.C, kernel="rbf", gamma=setting.gamma)
        return Fitted(smo.fit(data, y), y)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.classifier.predict(data))

    def export(self, model: Any) -> DualModel:
        """Its pairs come in the order of the labels' first appearance, the first one positive."""
        smo = model.classifier
        solutions = []
        for t, (first, second) in enumerate(smo.pairs_.tolist()):
            sign = 1.0 if first < second else -1.0
            low, high = sorted((first, second))
            coef, b = sign * smo.dual_coef_[t], sign * float(smo.intercept_[t])
            solutions.append(PairSolution(low, high, smo.support_[t], coef, b))
        return packed(solutions, model.y)
