"""PSVCCV's own part of a search: its parameters, models and labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy.typing as npt

from psvm.estimators import validation as check
from psvm.estimators.labels import check_class_weight, encode_labels, weights_for_all
from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.svc import PSVC
from psvm.search.class_problem import ClassificationProblem
from psvm.search.class_scoring import ClassScorer
from psvm.search.folds import Array, make_class_fold
from psvm.search.grid import AskedGrid, Grid, check_grid
from psvm.search.task import EncodedRows


@dataclass(frozen=True)
class ClassificationTask:
    """How a PSVCCV poses its problem."""

    search: Any
    classifier = True
    final_step = "classifier"

    def grid(self) -> AskedGrid:
        """The lists, after all parameters that only classification has."""
        search = self.search
        check.check_choice("multi_class", search.multi_class, check.MULTI_CLASS)
        check.check_choice(
            "decision_function_shape", search.decision_function_shape, check.MULTI_CLASS
        )
        check_class_weight(search.class_weight)
        return check_grid(search.ps, search.Cs, search.gammas, kernel=search.kernel)

    @property
    def scoring(self) -> Any:
        """The scorer, the accuracy unless another is asked for."""
        return "accuracy" if self.search.scoring is None else self.search.scoring

    def model(self) -> Any:
        """The estimator of one cell but for p, C and gamma."""
        return self._model(self.search.class_weight)

    def _model(self, class_weight: Any) -> Any:
        search = self.search
        shared = {
            "fit_intercept": search.fit_intercept,
            "multi_class": search.multi_class,
            "class_weight": class_weight,
            "tol": search.tol,
            "n_jobs": search.n_jobs,
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

    def refuse(self, y: Any) -> None:
        """Nothing: what is no label is told so."""

    def checked(self, y: npt.NDArray[Any], weight: Array) -> npt.NDArray[Any]:
        """Labels of two classes at least."""
        encode_labels(y, weight, self.search.class_weight, 1.0)
        return y

    def spread(self, y: npt.NDArray[Any], weight: Array) -> float:
        """Labels have no unit."""
        return 1.0

    def encoded(self, y: npt.NDArray[Any], weight: Array, grid: Grid) -> EncodedRows:
        """The labels as numbers of classes."""
        search = self.search
        weight = weights_for_all(y, weight, search.class_weight, grid.C)
        labels = encode_labels(y, weight, search.class_weight, 1.0)
        class_weight = search.class_weight
        if isinstance(class_weight, dict):
            # By number, and of every class: a split need not have those that the user names.
            class_weight = {
                code: class_weight.get(label, 1.0)
                for code, label in enumerate(labels.classes.tolist())
            }
        linear = search.kernel == "linear"  # LinearPSVC has one score per class
        return EncodedRows(
            weight=weight,
            model=self._model(class_weight),
            fold=partial(make_class_fold, class_weight=class_weight, y=labels.codes, weight=weight),
            problem=partial(
                ClassificationProblem,
                codes=labels.codes,
                weight=weight,
                classes=labels.classes,
                multi_class=search.multi_class,
            ),
            scorer=partial(
                ClassScorer,
                decision_function_shape="ovr" if linear else search.decision_function_shape,
                symmetric=search.class_weight is None,
                quick=search.scoring is None or search.scoring == "accuracy",
            ),
        )
