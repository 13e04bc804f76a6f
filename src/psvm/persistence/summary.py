"""What the header of a model file tells about the model: plain values, readable without psvm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psvm.persistence.steps import steps_of


def summary_of(model: Any) -> dict[str, Any]:
    """Description of a model for the header of its file.

    Parameters
    ----------
    model : estimator
        Any model that can be saved.

    Returns
    -------
    dict
        JSON values only; numbers that JSON lacks are strings.
    """
    steps = steps_of(model)
    last = steps[-1]
    if hasattr(last, "calibrated_classifiers_"):
        last = last.calibrated_classifiers_[0].estimator
    summary: dict[str, Any] = {
        "estimator": type(model).__name__,
        "steps": [type(step).__name__ for step in steps],
        "parameters": plain(last.get_params(deep=False)),
        "fitted": hasattr(last, "n_features_in_"),
    }
    # The labels that come out at the end, and the columns that go into the first step.
    for place, name in (
        (model, "classes_"),
        (steps[0], "n_features_in_"),
        (steps[0], "feature_names_in_"),
    ):
        if hasattr(place, name):
            summary[name.removesuffix("_").removesuffix("_in")] = plain(getattr(place, name))
    certificate = ("dual_gap_", "primal_objective_", "dual_objective_", "n_iter_")
    status = getattr(last, "status_", [])  # empty for a model that others fitted
    for name in ("n_support_", *(certificate if status else ())):
        if hasattr(last, name):
            summary[name.removesuffix("_")] = plain(getattr(last, name))
    if status:
        summary["status"] = [str(one) for one in status]
    return summary


def plain(value: Any) -> Any:
    """A value as JSON can hold it; what it cannot hold is described by its ``repr``."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return value if isinstance(value, str | int | bool | None) else repr(value)
