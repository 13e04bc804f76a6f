"""Fitted transformers of numbers as operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from psvm.persistence.operations import (
    Arithmetic,
    Array,
    Clip,
    Cosine,
    KernelValues,
    Normalize,
    Operation,
    Products,
    Project,
    chosen_columns,
)
from psvm.persistence.steps import Step
from psvm.rows.kernel import Kernel

# scikit-learn takes a smaller norm for that of a row of zeros.
_LEAST_NORM = 10.0 * float(np.finfo(np.float64).eps)

# Kernels of Nystroem by name: ours, and scikit-learn's own defaults.
_KERNELS: dict[str, tuple[str, dict[str, float]]] = {
    "rbf": ("rbf", {}),
    "laplacian": ("laplacian", {}),
    "poly": ("poly", {"degree": 3, "coef0": 1.0}),
    "polynomial": ("poly", {"degree": 3, "coef0": 1.0}),
    "sigmoid": ("sigmoid", {"coef0": 1.0}),
}


def of_standard_scaler(step: Step) -> list[Operation]:
    """``(x - mean) / scale``."""
    scaler = step.estimator
    mean = scaler.mean_ if scaler.with_mean else None  # it is computed in any case
    return _arithmetic(("subtract", mean), ("divide", scaler.scale_))


def of_robust_scaler(step: Step) -> list[Operation]:
    """``(x - center) / scale``."""
    scaler = step.estimator
    center = scaler.center_ if scaler.with_centering else None
    scale = scaler.scale_ if scaler.with_scaling else None
    return _arithmetic(("subtract", center), ("divide", scale))


def of_max_abs_scaler(step: Step) -> list[Operation]:
    """``x / scale``, perhaps cut."""
    scaler = step.estimator
    scaled = _arithmetic(("divide", scaler.scale_))
    return [*scaled, Clip(-1.0, 1.0)] if getattr(scaler, "clip", False) else scaled


def of_min_max_scaler(step: Step) -> list[Operation]:
    """``x * scale + min``, written so that nothing cancels for data far from the origin."""
    scaler = step.estimator
    scaled = _arithmetic(("subtract", -scaler.min_ / scaler.scale_), ("multiply", scaler.scale_))
    low, high = (float(end) for end in scaler.feature_range)
    return [*scaled, Clip(low, high)] if scaler.clip else scaled


def of_normalizer(step: Step) -> list[Operation]:
    """Rows of norm 1."""
    return [Normalize(step.estimator.norm, _LEAST_NORM)]


def of_pca(step: Step) -> list[Operation]:
    """``(x - mean) components^T``, perhaps of variance 1."""
    pca = step.estimator
    scale = None
    if pca.whiten:
        scale = np.maximum(np.sqrt(pca.explained_variance_), np.finfo(np.float64).eps)
    centred = _arithmetic(("subtract", pca.mean_))
    return [*centred, _project(pca.components_.T), *_arithmetic(("divide", scale))]


def of_truncated_svd(step: Step) -> list[Operation]:
    """``x components^T``."""
    return [_project(step.estimator.components_.T)]


def of_polynomial_features(step: Step) -> list[Operation]:
    """Products of columns."""
    every = np.arange(step.estimator.n_features_in_)
    terms = [tuple(np.repeat(every, powers).tolist()) for powers in step.estimator.powers_]
    return [Products(terms)]


def of_selector(step: Step) -> list[Operation]:
    """Some of the columns."""
    return [chosen_columns(step.estimator.get_support(indices=True))]


def of_rbf_sampler(step: Step) -> list[Operation]:
    """``sqrt(2 / n_components) cos(x W + b)``."""
    sampler = step.estimator
    scale = np.full(sampler.n_components, np.sqrt(2.0 / sampler.n_components))
    return [
        _project(sampler.random_weights_),
        *_arithmetic(("subtract", -sampler.random_offset_)),
        Cosine(),
        *_arithmetic(("multiply", scale)),
    ]


def of_nystroem(step: Step) -> list[Operation]:
    """``K(x, components) normalization^T``."""
    features = step.estimator
    vectors, normalization = _dense(features.components_), _project(features.normalization_.T)
    if features.kernel == "linear":
        return [_project(vectors.T), normalization]
    if features.kernel == "cosine":
        unit = np.asarray(normalize(vectors))
        return [Normalize("l2", _LEAST_NORM), _project(unit.T), normalization]
    known = isinstance(features.kernel, str) and features.kernel in _KERNELS
    if not known:
        raise step.refused(
            f"with kernel={features.kernel!r} cannot be exported; use one of "
            f"{', '.join([*_KERNELS, 'linear', 'cosine'])}."
        )
    name, parameters = _KERNELS[features.kernel]
    given = {key: getattr(features, key) for key in ("gamma", "coef0", "degree")}
    parameters = {
        "gamma": 1.0 / vectors.shape[1],
        **parameters,
        **(features.kernel_params or {}),
        **{key: value for key, value in given.items() if value is not None},
    }
    degree = parameters.get("degree", 3)
    if degree != int(degree):
        raise step.refused(f"cannot be exported with degree={degree}; use a whole number.")
    kernel = Kernel(
        name,
        gamma=float(parameters["gamma"]),
        coef0=float(parameters.get("coef0", 0.0)),
        degree=int(degree),
    )
    return [KernelValues(kernel, vectors), normalization]


def _project(matrix: Any) -> Operation:
    return Project(_dense(matrix))


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)


def _arithmetic(*terms: tuple[Any, Any]) -> list[Operation]:
    """Operations with given values; None stands for nothing to do."""
    return [
        Arithmetic(operator, np.asarray(values, dtype=np.float64))
        for operator, values in terms
        if values is not None
    ]
