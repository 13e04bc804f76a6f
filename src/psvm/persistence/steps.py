"""The parts of a model: the steps of pipelines and searches, with the names their author gave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from psvm.persistence.errors import UnsupportedModelError
from psvm.search import PSVCCV


@dataclass(frozen=True)
class Step:
    """An estimator that rows go through.

    Attributes
    ----------
    estimator : estimator
        The step itself.
    path : tuple of str
        Its name, after those of the pipelines and column transformers around it; empty for a model
        that is nobody's step.
    search : PSVCCV or None
        The search whose best model it is: it knows the probabilities.
    """

    estimator: Any
    path: tuple[str, ...] = ()
    search: Any = None

    @property
    def title(self) -> str:
        """Name and class, for messages."""
        kind = type(self.estimator).__name__
        where = " > ".join(repr(name) for name in self.path)
        return f"the step {where} ({kind})" if where else kind

    def inside(self, name: str, estimator: Any) -> Step:
        """A part of this step."""
        return Step(estimator, (*self.path, name))

    def refused(self, reason: str) -> UnsupportedModelError:
        """The error for a step that cannot be exported as it is."""
        title = self.title
        return UnsupportedModelError(f"{title[0].upper()}{title[1:]} {reason}")


def named_steps_of(model: Any, path: tuple[str, ...] = ()) -> list[Step]:
    """The steps that rows go through, the classifier or regressor last.

    Pipelines are taken apart, and of a search the best estimator is taken (the one it searches for,
    if it is not fitted), which begins with its preprocessor if it has one. Steps that do nothing
    are left out.

    Parameters
    ----------
    model : estimator
        A classifier or regressor, a Pipeline or a search, in any nesting.
    path : tuple of str, default=()
        Where the model stands.

    Returns
    -------
    list of Step
    """
    if isinstance(model, Pipeline):
        return [
            inner
            for name, step in model.steps
            if step is not None and not _is_word(step, "passthrough")
            for inner in named_steps_of(step, (*path, name))
        ]
    if isinstance(model, FrozenEstimator):
        return named_steps_of(model.estimator, path)
    best = getattr(model, "best_estimator_", None)
    if best is None and hasattr(model, "best_params_"):
        raise ValueError(
            f"{type(model).__name__} was fitted with refit=False and has no model; use refit=True."
        )
    if best is None and hasattr(model, "param_grid"):
        best = model.estimator
    if best is None:
        return [Step(model, path)]
    steps = named_steps_of(best, path)
    if isinstance(model, PSVCCV):
        steps[-1] = replace(steps[-1], search=model)
    return steps


def steps_of(model: Any) -> list[Any]:
    """The estimators of :func:`named_steps_of` alone.

    Parameters
    ----------
    model : estimator
        A classifier or regressor, a Pipeline or a search, in any nesting.

    Returns
    -------
    list of estimator
    """
    return [step.estimator for step in named_steps_of(model)]


def _is_word(step: Any, word: str) -> bool:
    """Whether a step is this word instead of an estimator."""
    return isinstance(step, str) and step == word
