"""The models of a search: what fits one cell, and the chosen one fitted to all rows."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from sklearn.pipeline import Pipeline

from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.svc import PSVC
from psvm.search.explore import Explorer
from psvm.search.preparation import FinalRows


def model_of(search: Any, coded: npt.NDArray[Any] | None = None) -> Any:
    """The estimator of one cell but for p, C and gamma; for the numbers of classes if given."""
    shared = {
        "fit_intercept": search.fit_intercept,
        "multi_class": search.multi_class,
        "class_weight": search.class_weight,
        "tol": search.tol,
        "n_jobs": search.n_jobs,
    }
    if coded is not None and isinstance(search.class_weight, dict):
        # Of every class: a split need not have those that the user names.
        shared["class_weight"] = {
            code: search.class_weight.get(label, 1.0) for code, label in enumerate(coded.tolist())
        }
    if search.kernel == "linear":
        return LinearPSVC(**shared)
    return PSVC(
        kernel=search.kernel,
        degree=search.degree,
        coef0=search.coef0,
        decision_function_shape=search.decision_function_shape,
        cache_size=search.cache_size,
        **shared,
    )


def refitted(search: Any, explorer: Explorer, final: FinalRows, y: Any, sample_weight: Any) -> Any:
    """The model of the chosen cell and all rows; behind its preprocessor, if there is one."""
    best = explorer.fit_chosen(model_of(search), final.given, y, sample_weight)
    if final.preprocessor is None:
        return best
    return Pipeline([("preprocessor", final.preprocessor), ("classifier", best)])
