"""A fitted model as the arrays from which its decisions are computed, for the exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.svc import PSVC
from psvm.mathematics.multiclass import class_pairs
from psvm.persistence.errors import UnsupportedModelError
from psvm.persistence.preprocessing import Branches, Operation, operations_of
from psvm.persistence.steps import steps_of
from psvm.rows.prediction import KernelModel, LinearModel


@dataclass(frozen=True)
class DecisionRule:
    """Preprocessing, one decision value per binary problem, and how these choose a class.

    Attributes
    ----------
    classifier : PSVC or LinearPSVC
        Where it comes from.
    operations : list of Operation
        Preprocessing, in order.
    n_features : int
        Columns of the rows before preprocessing.
    feature_names : list of str or None
        Their names, if the model knows them.
    classes : ndarray
        Labels; the problems refer to them by number.
    problems : list of (int, int or None)
        Class for which the decision value is positive, and the other one; None for all the rest.
    model : KernelModel or LinearModel
        Their decision values on preprocessed rows; a LinearModel also for a linear kernel.
    scores_per_problem : bool
        Whether ``decision_function`` gives the values of the problems as they are. If not, there
        are pairs of three or more classes and it gives votes.
    """

    classifier: Any
    operations: list[Operation]
    n_features: int
    feature_names: list[str] | None
    classes: npt.NDArray[Any]
    problems: list[tuple[int, int | None]]
    model: KernelModel | LinearModel
    scores_per_problem: bool

    @property
    def text_columns(self) -> list[int]:
        """Columns of the rows that hold texts."""
        first = self.operations[0] if self.operations else None
        return first.text_columns if isinstance(first, Branches) else []

    @property
    def number_columns(self) -> list[int]:
        """Columns that hold numbers: all, or where some hold texts, the others that are used."""
        texts = self.text_columns
        if not texts:
            return list(range(self.n_features))
        first = self.operations[0]
        assert isinstance(first, Branches)
        used = {int(column) for columns in first.columns for column in columns}
        return sorted(used - set(texts))

    @property
    def pairwise(self) -> bool:
        """Whether three or more classes vote in pairs."""
        return self.classes.size > 2 and self.problems[0][1] is not None


def decision_rule_of(model: Any) -> DecisionRule:
    """Take a fitted model apart.

    Parameters
    ----------
    model : estimator
        PSVC or LinearPSVC, a Pipeline that ends with one, or a search (GridSearchCV, PSVCCV) whose
        best estimator is one of these.

    Returns
    -------
    DecisionRule

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    UnsupportedModelError
        If it holds something that plain arrays do not express.
    """
    *transformers, classifier = steps = steps_of(model)
    if not isinstance(classifier, PSVC | LinearPSVC):
        inside = hasattr(classifier, "calibrated_classifiers_")
        hint = " Export the one inside, calibrated_classifiers_[0].estimator." if inside else ""
        raise UnsupportedModelError(
            f"Only PSVC, LinearPSVC, Pipelines that end with one and searches over them can be "
            f"exported, got {type(classifier).__name__}.{hint}"
        )
    check_is_fitted(classifier)
    operations = operations_of(transformers)
    if operations and getattr(operations[0], "of_texts", False):
        operations = [Branches([np.arange(steps[0].n_features_in_)], [operations])]
    names = getattr(steps[0], "feature_names_in_", None)
    per_pair = isinstance(classifier, PSVC) and classifier.decision_function_shape == "ovo"
    k = classifier.classes_.size
    problems: list[tuple[int, int | None]]
    if k == 2:
        problems = [(1, 0)]
    elif classifier.multi_class == "ovr":
        problems = [(i, None) for i in range(k)]
    else:
        problems = list(class_pairs(k))
    arrays = classifier._as_arrays()
    linear = arrays.kernel.function == "linear"
    if callable(arrays.kernel.function):
        raise UnsupportedModelError(
            "A PSVC whose kernel is a function cannot be exported; use a kernel by name."
        )
    return DecisionRule(
        classifier=classifier,
        operations=operations,
        n_features=int(steps[0].n_features_in_),
        feature_names=None if names is None else [str(name) for name in names],
        classes=classifier.classes_,
        problems=problems,
        model=LinearModel(arrays.weights, arrays.intercept) if linear else arrays,
        scores_per_problem=k == 2 or classifier.multi_class == "ovr" or per_pair,
    )
