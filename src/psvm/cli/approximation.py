"""``--approximate``: a kernel machine as a linear one, on features that stand for the kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline

from psvm.cli.files.training_set import TrainingSet
from psvm.cli.preprocessing import last_step
from psvm.estimators.validation import check_cache_size
from psvm.rows.kernel import facts_of, resolve_gamma

STEP = "approximate"
"""Name of the step before the last."""

KERNELS = ("rbf", "laplacian", "poly", "sigmoid")
"""Kernels that scikit-learn knows by the same formula."""

# Rows from whose variance gamma="scale" is taken: the features are a sample's, too.
_ROWS_FOR_GAMMA = 10_000


@dataclass(frozen=True)
class KernelFeatures:
    """How many features are to stand for which kernel, and which random rows make them."""

    number: int
    kernel: str = "rbf"
    seed: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)

    def before_last_of(self, model: Any, rows: TrainingSet) -> Pipeline:
        """The model with these features between its preprocessing and its last step.

        Parameters
        ----------
        model : estimator
            A pipeline whose last step is a classifier or regressor, or that alone.
        rows : TrainingSet
            What it will be fitted to.

        Returns
        -------
        Pipeline
        """
        self._refuse_too_large(rows.shape[0])
        steps = list(getattr(model, "steps", [(last_step(rows), model)]))
        number = min(self.number, rows.shape[0])
        features = Nystroem(
            kernel=self.kernel,
            n_components=number,
            random_state=self.seed,
            **self._parameters(Pipeline(steps[:-1]) if steps[:-1] else None, rows),
        )
        return Pipeline([*steps[:-1], (STEP, features), steps[-1]])

    def _parameters(self, preprocessing: Pipeline | None, rows: TrainingSet) -> dict[str, Any]:
        """Those of the kernel, with gamma as a number."""
        of_kernel = facts_of(self.kernel).parameters
        given: dict[str, Any] = {"gamma": "scale", "degree": 3, "coef0": 0.0, **self.parameters}
        wanted = {name: given[name] for name in of_kernel}
        if isinstance(wanted.get("gamma"), str):
            n = rows.shape[0]
            chosen = np.sort(np.random.default_rng(0).permutation(n)[:_ROWS_FOR_GAMMA])
            X = rows.X[chosen]
            if preprocessing is not None:
                X = clone(preprocessing).fit_transform(X, rows.y[chosen])
            X = X if hasattr(X, "indptr") else np.asarray(X, dtype=np.float64)
            wanted["gamma"] = resolve_gamma(wanted["gamma"], X, np.ones(X.shape[0]))
        return wanted

    def _refuse_too_large(self, n: int) -> None:
        """All features of all rows are held in memory, some of them twice."""
        needed, available = 16.0 * n * self.number, 4.0 * check_cache_size(None)
        if needed > available:
            raise ValueError(
                f"--approximate {self.number}: {n:,} rows need {needed / 1e9:.1f} GB and "
                f"{available / 1e9:.1f} GB are free; ask for fewer features"
            )
