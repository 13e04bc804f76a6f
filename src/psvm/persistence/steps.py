"""The parts of a model: the steps of pipelines and searches."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline


def steps_of(model: Any) -> list[Any]:
    """The estimators that rows go through, the classifier last.

    Pipelines are taken apart, and of a search the best estimator is taken (the one it searches for,
    if it is not fitted), which begins with its preprocessor if it has one. Steps that do nothing
    are left out.

    Parameters
    ----------
    model : estimator
        A classifier, a Pipeline or a search, in any nesting.

    Returns
    -------
    list of estimator
    """
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        return [inner for step in steps for inner in steps_of(step)]
    best = getattr(model, "best_estimator_", None)
    if best is None and hasattr(model, "best_params_"):
        raise ValueError(
            f"{type(model).__name__} was fitted with refit=False and has no model; use refit=True."
        )
    if best is None and hasattr(model, "param_grid"):
        best = model.estimator
    return [model] if best is None else steps_of(best)
