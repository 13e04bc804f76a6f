"""Whether the parts of a loaded model fit together.

A checksum says that a file is as it was written, not that an honest program wrote it. Compiled code
computes with these arrays, so their types and shapes, and the indices in them, are checked first: a
doctored file must not be able to make it read beyond an array.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from psvm.estimators.linear_starts import LinearTargetStart
from psvm.estimators.linear_svc import LinearPSVC
from psvm.estimators.linear_svr import LinearPSVR
from psvm.estimators.quantiles import PSVRQuantiles
from psvm.estimators.starts import LinearWarmStart, WarmStart
from psvm.estimators.svc import PSVC
from psvm.estimators.svr import PSVR
from psvm.estimators.target_starts import TargetWarmStart
from psvm.mathematics.multiclass import problem_signs
from psvm.persistence.errors import ModelFileError
from psvm.rows.kernel import KERNELS, Kernel
from psvm.search import PSVCCV, PSVRCV
from psvm.search.calibration import Calibration, Sigmoid

State = dict[str, Any]


def check_sound(kind: type, state: State, where: str) -> None:
    """Refuse attributes that do not fit together.

    Parameters
    ----------
    kind : type
        A class of psvm, or any other, of which only pipelines are checked.
    state : dict
        Attributes of an object of it; those of an estimator that is not fitted are not checked.
    where : str
        Place of the object in the model, for the error.

    Raises
    ------
    ModelFileError
        If the object cannot have been made by psvm.
    """
    try:
        if issubclass(kind, Kernel):
            _check_kernel(state)
        elif issubclass(kind, WarmStart):
            _check_warm_start(state)
        elif issubclass(kind, TargetWarmStart):
            _check_target_start(state)
        elif issubclass(kind, LinearTargetStart):
            _check(_is_real_array(state["y"], (state["y"].size,)), "y")
            _check(isinstance(state["solved"], LinearWarmStart), "solved")
            _check(len(state["solved"].starts) == 1, "solved")
        elif issubclass(kind, LinearWarmStart):
            _check(len(state["starts"]) == state["signs"].shape[0], "starts")
            _check(state["codes"].shape == state["cost"].shape, "codes")
        elif "classes_" in state and issubclass(kind, PSVC):
            _check_kernel_classifier(state)
        elif "classes_" in state and issubclass(kind, LinearPSVC):
            _check_linear_classifier(state)
        elif "classes_" in state and issubclass(kind, PSVCCV):
            _check_search(state)
        elif "dual_coef_" in state and issubclass(kind, PSVR):
            _check_kernel_regressor(state)
        elif "dual_coef_" in state and issubclass(kind, PSVRQuantiles):
            _check_quantiles(state)
        elif "coef_" in state and issubclass(kind, LinearPSVR):
            _check(_is_real_array(state["coef_"], (_features(state),)), "coef_")
            _check(_is_real_array(state["intercept_"], (1,)), "intercept_")
        elif "best_estimator_" in state and issubclass(kind, PSVRCV):
            _check_regressor_search(state)
        elif issubclass(kind, Pipeline):
            _check_steps(state)
        elif issubclass(kind, Sigmoid):
            for name in ("slope", "offset"):
                _check(_is_finite(state[name]), name)
    except ModelFileError as error:
        raise ModelFileError(
            f"{where} ({kind.__name__}) was not written by psvm, or was altered: {error}."
        ) from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{where} ({kind.__name__}) was not written by psvm, or was altered ({error!r})."
        ) from error


def _check(holds: bool, name: str) -> None:
    if not holds:
        raise ModelFileError(f"its {name} does not fit the rest")


def _check_steps(state: State) -> None:
    steps = state["steps"]
    _check(isinstance(steps, list) and len(steps) > 0, "steps")
    for name, step in steps:
        _check(isinstance(name, str) and not isinstance(step, type), "steps")


def _check_kernel(state: State) -> None:
    _check(state["function"] in KERNELS, "function")
    _check(isinstance(state["degree"], int) and state["degree"] >= 0, "degree")
    for name in ("gamma", "coef0"):
        _check(_is_finite(state[name]), name)


def _check_warm_start(state: State) -> None:
    dual, n = state["dual"], state["codes"].size
    _check(_is_integer_array(state["codes"], (n,)), "codes")
    _check(_is_real_array(dual, (dual.shape[0], n)), "dual")
    _check(_is_real_array(state["slack"], dual.shape), "slack")


def _check_target_start(state: State) -> None:
    n = state["y"].size
    targets = state["y"]
    _check(_is_real_array(np.nan_to_num(targets), (n,)), "y")  # NaN for a row of weight 0
    _check(_is_real_array(state["dual"], (n, 2)), "dual")
    _check(_is_real_array(state["slack"], (n, 2)), "slack")


def _check_kernel_classifier(state: State) -> None:
    k = _count_classes(state)
    rows = k if k > 2 and state["multi_class"] == "ovr" else k - 1
    _check_sums(state, _problems(state, k), rows, k)


def _check_kernel_regressor(state: State) -> None:
    _check_sums(state, problems=1, rows=1, groups=1)


def _check_quantiles(state: State) -> None:
    quantiles = state["quantiles_"]
    _check(quantiles.size > 0 and _is_real_array(quantiles, (quantiles.size,)), "quantiles_")
    _check_sums(state, problems=quantiles.size, rows=quantiles.size, groups=1)


def _check_sums(state: State, problems: int, rows: int, groups: int) -> None:
    """Sums over support vectors: so many problems, rows of coefficients, and groups of vectors."""
    _check(_is_real_array(state["intercept_"], (problems,)), "intercept_")
    kernel = state["_kernel"]
    _check(isinstance(kernel, Kernel) and kernel.function == state["kernel"], "kernel")
    coef, counts = state["dual_coef_"], state["n_support_"]
    m = coef.shape[1]
    _check(_is_real_array(coef, (rows, m)), "dual_coef_")
    _check(
        _is_integer_array(counts, (groups,)) and counts.min() >= 0 and counts.sum() == m,
        "n_support_",
    )
    support = state["support_"]
    _check(_is_integer_array(support, (m,)), "support_")
    if kernel.function == "precomputed":
        inside = m == 0 or (support.min() >= 0 and support.max() < _features(state))
        _check(bool(inside), "support_")
        return
    vectors, shape = state["support_vectors_"], (m, _features(state))
    if not sp.issparse(vectors):
        _check(_is_real_array(vectors, shape), "support_vectors_")
        return
    _check(vectors.format == "csr" and vectors.shape == shape, "support_vectors_")
    vectors.check_format(full_check=True)  # every index within the array, every row within the data
    _check(bool(vectors.has_canonical_format), "support_vectors_")
    _check(_is_real_array(vectors.data, vectors.data.shape), "support_vectors_")


def _chosen_model(state: State, kinds: tuple[type, ...]) -> Any:
    """The model that a search predicts with, which is checked where it stands, if it fits."""
    model = state["best_estimator_"]
    behind_preprocessor = isinstance(model, Pipeline)
    if behind_preprocessor:
        _check(len(model.steps) == 2 and model[0] is state["preprocessor_"], "preprocessor_")
        model = model[-1]
    _check(isinstance(model, kinds), "best_estimator_")
    if not behind_preprocessor:
        _check(_features(state) == model.n_features_in_, "n_features_in_")
    return model


def _check_regressor_search(state: State) -> None:
    _chosen_model(state, (PSVR, LinearPSVR))


def _check_search(state: State) -> None:
    k = _count_classes(state)
    model, calibration = _chosen_model(state, (PSVC, LinearPSVC)), state["_calibration"]
    same = model.multi_class == state["multi_class"]
    _check(same and np.array_equal(model.classes_, state["classes_"]), "best_estimator_")
    _check(isinstance(calibration, Calibration) and calibration.n_classes == k, "_calibration")
    _check(calibration.pairwise == (k > 2 and state["multi_class"] == "ovo"), "_calibration")
    sigmoids = calibration.sigmoids
    _check(len(sigmoids) == _problems(state, k), "_calibration")
    _check(all(isinstance(one, Sigmoid) for one in sigmoids), "_calibration")


def _check_linear_classifier(state: State) -> None:
    k = _count_classes(state)
    problems = _problems(state, k)
    of = "pair_" if k > 2 and state["multi_class"] == "ovo" else ""
    _check(_is_real_array(state[f"{of}coef_"], (problems, _features(state))), f"{of}coef_")
    _check(_is_real_array(state[f"{of}intercept_"], (problems,)), f"{of}intercept_")


def _count_classes(state: State) -> int:
    classes = state["classes_"]
    _check(isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size >= 2, "classes_")
    _check(state["multi_class"] in ("ovo", "ovr"), "multi_class")
    return int(classes.size)


def _problems(state: State, k: int) -> int:
    return int(problem_signs(k, state["multi_class"]).shape[0])


def _features(state: State) -> int:
    _check(
        isinstance(state["n_features_in_"], int) and state["n_features_in_"] > 0, "n_features_in_"
    )
    return int(state["n_features_in_"])


def _is_real_array(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether it is an array of finite float32 or float64 of this shape."""
    return (
        type(array) is np.ndarray
        and array.shape == shape
        and array.dtype in (np.float32, np.float64)
        and bool(np.isfinite(array).all())
    )


def _is_finite(number: Any) -> bool:
    return isinstance(number, float | int) and math.isfinite(number)


def _is_integer_array(array: Any, shape: tuple[int, ...]) -> bool:
    return type(array) is np.ndarray and array.shape == shape and array.dtype.kind in "iu"
