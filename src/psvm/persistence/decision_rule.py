"""A fitted model as the arrays from which its predictions are computed, for the exports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.validation import check_is_fitted

from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.linear_svr import LinearPSVR
from psvm.estimators.quantiles import PSVRQuantiles
from psvm.estimators.svc import PSVC
from psvm.estimators.svr import PSVR
from psvm.mathematics.multiclass import class_pairs
from psvm.persistence.column_kinds import ColumnKinds
from psvm.persistence.operations import Operation
from psvm.persistence.preprocessing import operations_of
from psvm.persistence.probabilities import Probabilities, of_calibrators, of_search
from psvm.persistence.steps import Step, named_steps_of
from psvm.rows.prediction import KernelModel, LinearModel


@dataclass(frozen=True)
class DecisionRule:
    """One value per problem, and how these choose a class; of a regressor it is the prediction.

    Attributes
    ----------
    estimator : PSVC, LinearPSVC, PSVR, LinearPSVR or PSVRQuantiles
        Where it comes from.
    operations : list of Operation
        Preprocessing of its own, in order.
    classes : ndarray or None
        Labels; the problems refer to them by number. None for a regressor.
    problems : list of (int, int or None)
        Class for which the decision value is positive, and the other one; None for all the rest.
        Empty for a regressor, which has one problem, or one per quantile.
    model : KernelModel or LinearModel
        Their decision values on preprocessed rows; a LinearModel also for a linear kernel.
    scores_per_problem : bool
        Whether ``decision_function`` gives the values of the problems as they are. If not, there
        are pairs of three or more classes and it gives votes.
    probabilities : Probabilities or None
        Those of the classes, if the model knows them.
    quantiles : ndarray or None
        Those of a PSVRQuantiles: the smallest value is the prediction of the smallest quantile, and
        so on.
    """

    estimator: Any
    operations: list[Operation]
    classes: npt.NDArray[Any] | None
    problems: list[tuple[int, int | None]]
    model: KernelModel | LinearModel
    scores_per_problem: bool
    probabilities: Probabilities | None = None
    quantiles: npt.NDArray[np.float64] | None = None

    @property
    def pairwise(self) -> bool:
        """Whether three or more classes vote in pairs."""
        return len(self.problems) > 1 and self.problems[0][1] is not None


@dataclass(frozen=True)
class ExportedModel:
    """Preprocessing, and one rule or several whose probabilities are averaged.

    Attributes
    ----------
    operations : list of Operation
        Preprocessing for all rules, in order.
    n_features : int
        Columns of the rows before preprocessing.
    feature_names : list of str or None
        Their names, if the model knows them.
    classes : ndarray or None
        Labels; None for a regressor.
    rules : list of DecisionRule
        One, which decides; or those of a CalibratedClassifierCV.
    averaged : bool
        Whether the label is the class of the largest mean probability.
    """

    operations: list[Operation]
    n_features: int
    feature_names: list[str] | None
    classes: npt.NDArray[Any] | None
    rules: list[DecisionRule]
    averaged: bool

    @cached_property
    def _kinds(self) -> ColumnKinds:
        kinds = ColumnKinds()
        columns = kinds.follow(self.operations, list(range(self.n_features)))
        for rule in self.rules:
            kinds.end(kinds.follow(rule.operations, columns))
        return kinds

    @property
    def text_columns(self) -> list[int]:
        """Columns of the rows that hold texts."""
        return sorted(self._kinds.texts)

    @property
    def number_columns(self) -> list[int]:
        """Columns that hold numbers: all, or where some hold texts, the others that are used."""
        return sorted(self._kinds.numbers) if self._kinds.texts else list(range(self.n_features))


def exported_model_of(model: Any) -> ExportedModel:
    """Take a fitted model apart.

    Parameters
    ----------
    model : estimator
        PSVC, LinearPSVC, PSVR, LinearPSVR or PSVRQuantiles, a CalibratedClassifierCV of a
        classifier, a Pipeline that ends with one of these, or a search (GridSearchCV, PSVCCV,
        PSVRCV) whose best estimator is one of them.

    Returns
    -------
    ExportedModel

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    UnsupportedModelError
        If it holds something that plain arrays do not express.
    """
    *before, last = steps = named_steps_of(model)
    check_is_fitted(last.estimator)
    averaged = isinstance(last.estimator, CalibratedClassifierCV)
    if averaged:
        rules = [
            _rule_of(
                named_steps_of(member.estimator, (*last.path, "estimator")),
                of_calibrators(last, member),
            )
            for member in last.estimator.calibrated_classifiers_
        ]
    else:
        calibration = getattr(last.search, "_calibration", None)
        rules = [_rule_of([last], None if calibration is None else of_search(calibration))]
    operations = operations_of(before)
    first = steps[0].estimator
    names = getattr(first, "feature_names_in_", None)
    return ExportedModel(
        operations=operations,
        n_features=int(first.n_features_in_),
        feature_names=None if names is None else [str(name) for name in names],
        classes=getattr(last.estimator, "classes_", None),
        rules=rules,
        averaged=averaged,
    )


def _rule_of(steps: list[Step], probabilities: Probabilities | None) -> DecisionRule:
    *transformers, last = steps
    estimator = last.estimator
    if not isinstance(estimator, PSVC | LinearPSVC | PSVR | LinearPSVR | PSVRQuantiles):
        raise last.refused(
            "cannot be exported. The last step must be a PSVC or a LinearPSVC, in "
            "CalibratedClassifierCV or not, a PSVR, LinearPSVR or PSVRQuantiles, at the end of a "
            "Pipeline or the best of a search (PSVCCV, PSVRCV, GridSearchCV)."
        )
    operations = operations_of(transformers)
    arrays = estimator._as_arrays()
    if callable(arrays.kernel.function):
        raise last.refused("whose kernel is a function cannot be exported; use a kernel by name.")
    linear = arrays.kernel.function == "linear"
    model = LinearModel(arrays.weights, arrays.intercept) if linear else arrays
    if not isinstance(estimator, PSVC | LinearPSVC):
        quantiles = getattr(estimator, "quantiles_", None)
        return DecisionRule(
            estimator, operations, None, [], model, scores_per_problem=True, quantiles=quantiles
        )
    return _rule_of_classifier(estimator, operations, model, probabilities)


def _rule_of_classifier(
    classifier: PSVC | LinearPSVC,
    operations: list[Operation],
    model: KernelModel | LinearModel,
    probabilities: Probabilities | None,
) -> DecisionRule:
    per_pair = isinstance(classifier, PSVC) and classifier.decision_function_shape == "ovo"
    k = classifier.classes_.size
    problems: list[tuple[int, int | None]]
    if k == 2:
        problems = [(1, 0)]
    elif classifier.multi_class == "ovr":
        problems = [(i, None) for i in range(k)]
    else:
        problems = list(class_pairs(k))
    return DecisionRule(
        estimator=classifier,
        operations=operations,
        classes=classifier.classes_,
        problems=problems,
        model=model,
        scores_per_problem=k == 2 or classifier.multi_class == "ovr" or per_pair,
        probabilities=probabilities,
    )
