"""psvm's PSVC at its defaults, with float64 or float32 input, on all threads or fewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.objective import DualModel
from benchmarks.rivals.interface import Labels, Setting
from benchmarks.rivals.sklearn_svc import from_svc


@dataclass(frozen=True)
class PsvmSVC:
    """``psvm.PSVC(kernel="rbf")``; ``tol`` is the relative duality gap to reach.

    ``threads`` are those of a fit, on the CPUs of the run; None: as many.
    """

    name: str
    dtype: str
    tol: float = 1e-4
    cache_size: float | None = None
    threads: int | None = None
    package: str = "psvm"
    has_floor: bool = True  # see benchmarks.floor

    def why_not(self, p: float, n_train: int) -> str | None:
        """Every p."""
        return None

    def prepare(self, X: Any, y: Labels | None = None) -> Any:
        """Cast to the dtype to be measured."""
        return X.astype(self.dtype)

    def fit(self, data: Any, y: Labels, setting: Setting) -> Any:
        """Fit to the gap ``tol``."""
        from psvm import PSVC

        svc = PSVC(
            setting.p,
            C=setting.C,
            gamma=setting.gamma,
            tol=self.tol,
            cache_size=self.cache_size,
            n_jobs=self.threads or setting.threads,
        )
        return svc.fit(data, y)

    def predict(self, model: Any, data: Any) -> Labels:
        """Predict labels."""
        return np.asarray(model.predict(data))

    def export(self, model: Any) -> DualModel:
        """The fitted attributes."""
        return from_svc(model)

    def entries_computed(self) -> int:
        """Kernel entries that this process has computed from features so far."""
        from psvm import _core

        return _core.entries_computed()
