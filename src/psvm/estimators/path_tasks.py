"""What a path of classifiers and one of regressors do in their own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d

from psvm.estimators import validation as check
from psvm.estimators.labels import class_codes, weights_for_all
from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.linear_svr import LinearPSVR
from psvm.estimators.svc import PSVC
from psvm.estimators.svr import PSVR
from psvm.estimators.targets import (
    check_targets,
    refuse_several_targets,
    spread_of_targets,
    weights_for_all_targets,
)

Array = npt.NDArray[np.float64]
Model = PSVC | LinearPSVC | PSVR | LinearPSVR
TASKS = ("classification", "regression")


class PathTask(Protocol):
    """What y stands for."""

    def model(self, kernel: Any, shared: dict[str, Any], of_kernel: dict[str, Any]) -> Model:
        """A model with all parameters but p and C; its parameters are checked."""

    def checked(self, y: Any) -> npt.NDArray[Any]:
        """Y as an array."""

    def unit(self, y: npt.NDArray[Any], weight: Array) -> float:
        """The unit of y, whose power ``2 - p`` is that of C."""

    def weights(
        self, model: Model, y: npt.NDArray[Any], weight: Array, ps: Array, Cs: Array
    ) -> Array:
        """The weights for all models: 0 for rows that are absent from some."""

    def classes(self, model: Any, y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Any]:
        """The classes, and the number of that of every row."""


def path_task(
    task: Any, multi_class: Any, class_weight: Any, epsilon: Any, quantile: Any
) -> PathTask:
    """The task of a path, if its parameters go with it."""
    check.check_choice("task", task, TASKS)
    if task == "classification":
        for name, value in (("epsilon", epsilon), ("quantile", quantile)):
            if value is not None:
                raise ValueError(f"`{name}` is for task='regression', got {value!r} without it.")
        return ClassificationPath(multi_class, class_weight)
    if class_weight is not None or multi_class != "ovo":
        raise ValueError(
            f"`class_weight` and `multi_class` are for task='classification', got "
            f"{class_weight!r} and {multi_class!r} with task='regression'."
        )
    given = {"epsilon": epsilon, "quantile": quantile}
    return RegressionPath({name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class ClassificationPath:
    """Labels."""

    multi_class: Any
    class_weight: Any

    def model(self, kernel: Any, shared: dict[str, Any], of_kernel: dict[str, Any]) -> Model:
        """PSVC or LinearPSVC."""
        shared = {**shared, "multi_class": self.multi_class, "class_weight": self.class_weight}
        linear = isinstance(kernel, str) and kernel == "linear"
        model = LinearPSVC(**shared) if linear else PSVC(kernel=kernel, **of_kernel, **shared)
        model._check_parameters()
        return model

    def checked(self, y: Any) -> npt.NDArray[Any]:
        """Labels of any type."""
        return np.asarray(column_or_1d(y, warn=True))

    def unit(self, y: npt.NDArray[Any], weight: Array) -> float:
        """Labels have none."""
        return 1.0

    def weights(
        self, model: Model, y: npt.NDArray[Any], weight: Array, ps: Array, Cs: Array
    ) -> Array:
        """0 for the rows that are absent at the smallest C."""
        try:
            return weights_for_all(y, weight, self.class_weight, Cs)
        except ValueError as error:
            if "Unknown label type" in str(error):
                hint = "For targets use psvm_path(..., task='regression')."
                raise ValueError(f"{error} {hint}") from error
            raise

    def classes(self, model: Any, y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Any]:
        """Those of the model."""
        return model.classes_, class_codes(y, model.classes_)


@dataclass(frozen=True)
class RegressionPath:
    """Targets; ``parameters`` are those that only regression has."""

    parameters: dict[str, Any]

    def model(self, kernel: Any, shared: dict[str, Any], of_kernel: dict[str, Any]) -> Model:
        """PSVR or LinearPSVR."""
        shared = {**shared, **self.parameters}
        if isinstance(kernel, str) and kernel == "linear":
            linear = LinearPSVR(**shared)
            linear._check_parameters()
            return linear
        model = PSVR(kernel=kernel, **of_kernel, **shared)
        model._check_settings()
        model._check_kernel_settings()
        return model

    def checked(self, y: Any) -> npt.NDArray[Any]:
        """Finite numbers."""
        refuse_several_targets(y)
        return check_targets(y)

    def unit(self, y: npt.NDArray[Any], weight: Array) -> float:
        """The standard deviation."""
        return spread_of_targets(y, weight)

    def weights(
        self, model: Any, y: npt.NDArray[Any], weight: Array, ps: Array, Cs: Array
    ) -> Array:
        """0 for the rows that are absent at the smallest C of some p."""
        costs = [(float(p), float(C)) for p in ps for C in (Cs[-1], Cs[0])]
        return weights_for_all_targets(y, weight, costs, model.quantile, model.fit_intercept)

    def classes(self, model: Any, y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Any]:
        """None."""
        return np.empty(0), np.zeros(y.size, dtype=np.int32)
