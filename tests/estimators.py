"""The two estimators, for the tests of what they have in common."""

from __future__ import annotations

import pytest

from psvm import PSVC, LinearPSVC

CLASSES = (PSVC, LinearPSVC)
SOLVERS = ("semismooth_newton", "coordinate_descent")

# Parameters that both classes have.
SHARED = {
    "p", "C", "fit_intercept", "multi_class", "class_weight", "tol", "max_iter", "max_time",
    "warm_start", "verbose", "n_jobs",
}  # fmt: skip

each_class = pytest.mark.parametrize("Estimator", CLASSES, ids=lambda cls: cls.__name__)
each_solver = pytest.mark.parametrize("solver", SOLVERS)

# Every way to solve a problem, as an estimator to clone.
WAYS = {
    "kernel": PSVC(),
    "newton": LinearPSVC(solver="semismooth_newton"),
    "descent": LinearPSVC(solver="coordinate_descent"),
}
each_way = pytest.mark.parametrize("estimator", WAYS.values(), ids=WAYS.keys())
