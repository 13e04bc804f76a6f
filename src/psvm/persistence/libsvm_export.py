"""LIBSVM's text models: written for ``svm-predict`` and everything else that reads them.

A model file has a head of ``name value`` lines and, after the line ``SV``, one line per support
vector: its k - 1 coefficients, then ``index:value`` for the features that are not 0, from index 1.
LIBSVM decides pair (i, j) of its labels, in the order of the line ``label``, by the sign of
``sum_s coef_s K(s, x) - rho``, positive for i, and predicts the label with most votes. A model of
type epsilon_svr has no labels, one coefficient for each support vector, and predicts that sum.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from psvm.mathematics.multiclass import class_pairs
from psvm.persistence.atomic import replacing
from psvm.persistence.decision_rule import DecisionRule, exported_model_of
from psvm.persistence.errors import UnsupportedModelError
from psvm.rows.prediction import KernelModel, LinearModel

LIBSVM_NAMES = {
    "linear": "linear",
    "poly": "polynomial",
    "rbf": "rbf",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}


def write_libsvm(model: Any, path: str | os.PathLike[str], *, number_classes: bool = False) -> None:
    """Write a model in LIBSVM's text format, atomically.

    Predictions do not depend on p, epsilon or the quantile, so models of any can be written: those
    of a regressor are a sum over support vectors, and its type is epsilon_svr. LIBSVM's decision
    values equal ``decision_function`` (of all pairs, for three or more classes). It predicts the
    same labels but for rows whose classes tie in votes: LIBSVM then takes the first of them, psvm
    the one with the larger sum of decision values.

    Parameters
    ----------
    model : estimator
        A fitted PSVC or PSVR with the kernel "linear", "poly", "rbf", "sigmoid" or "precomputed",
        a LinearPSVC or a LinearPSVR; several classes one-vs-one only. A Pipeline has no place in
        the format.
    path : path-like
        The file.
    number_classes : bool, default=False
        Whether to write class i of ``classes_`` as the number i. LIBSVM knows whole numbers only:
        other labels are refused without it. Regressors have no classes.
    """
    exported = exported_model_of(model)
    if exported.averaged:
        raise UnsupportedModelError(
            "LIBSVM's format has no mean of several models. Export one of them, "
            "model.calibrated_classifiers_[0].estimator, or the whole as ONNX or JSON."
        )
    rule = exported.rules[0]
    if exported.operations:
        raise UnsupportedModelError(
            f"LIBSVM's format has no preprocessing. Export the last step alone, "
            f"write_libsvm({_last_step(model)}, path), and give svm-predict the rows that the "
            "steps before it make."
        )
    if any(other is None for _, other in rule.problems):
        raise UnsupportedModelError(
            "LIBSVM decides between pairs of classes; a model fitted with multi_class='ovr' cannot "
            "be written. Fit it with multi_class='ovo'."
        )
    if rule.quantiles is not None:
        raise UnsupportedModelError(
            "LIBSVM's regressors predict one number for a row, and PSVRQuantiles one for every "
            "quantile. Fit a PSVR with quantile=... for each, or export to ONNX or JSON."
        )
    labels = None if rule.classes is None else _whole_numbers(rule.classes, number_classes)
    kernel_model = _as_kernel_model(rule)
    name = str(kernel_model.kernel.function)
    if name not in LIBSVM_NAMES:
        raise UnsupportedModelError(
            f"LIBSVM has no kernel {name!r}, only {', '.join(LIBSVM_NAMES)}; export to ONNX or "
            "JSON instead."
        )
    with replacing(path) as file:
        for line in _lines(kernel_model, labels):
            file.write(line.encode("ascii"))


def _last_step(model: Any, name: str = "model") -> str:
    """How to write the classifier of a pipeline or a search in Python."""
    if hasattr(model, "best_estimator_"):
        return _last_step(model.best_estimator_, f"{name}.best_estimator_")
    return _last_step(model[-1], f"{name}[-1]") if isinstance(model, Pipeline) else name


def _whole_numbers(classes: npt.NDArray[Any], number_classes: bool) -> list[int]:
    """The labels as LIBSVM can hold them."""
    if number_classes:
        return list(range(classes.size))
    if classes.dtype.kind in "biuf":
        numbers = classes.astype(np.float64)
        if (numbers == np.round(numbers)).all() and np.abs(numbers).max() < 2**31:
            return [int(label) for label in classes]
    raise UnsupportedModelError(
        f"LIBSVM's labels are whole numbers, got {classes.tolist()[:3]}. "
        "With number_classes=True class i of classes_ is written as i."
    )


def _as_kernel_model(rule: DecisionRule) -> KernelModel:
    """Support vectors; those of a LinearPSVC are its weights, one for each pair of classes."""
    model: KernelModel | LinearModel = rule.estimator._as_arrays()
    if isinstance(model, KernelModel):
        return model
    k = 1 if rule.classes is None else rule.classes.size
    if k == 1:
        counts, coef = [1], np.ones((1, 1))
    elif k == 2:
        counts, coef = [0, 1], np.ones((1, 1))
    else:
        # Pair (i, j) has its weights as a support vector of class i, with coefficient 1.
        counts = [k - 1 - i for i in range(k)]
        coef = np.zeros((k - 1, len(rule.problems)))
        for t, (_, j) in enumerate(class_pairs(k)):
            coef[j - 1, t] = 1.0
    return KernelModel(
        model.kernel, model.weights, coef, model.intercept, counts, rule.pairwise, threads=1
    )


def _lines(model: KernelModel, labels: list[int] | None) -> Iterator[str]:
    """The model; without labels that of a regressor."""
    kernel, name = model.kernel, str(model.kernel.function)
    order = np.arange(sum(model.n_support))
    counts = model.n_support
    if labels is not None and len(labels) == 2:
        # Ours is positive for the second class, LIBSVM's for its first label.
        labels, counts = labels[::-1], counts[::-1]
        order = np.roll(order, counts[0])
    kind = "epsilon_svr" if labels is None else "c_svc"
    yield f"svm_type {kind}\nkernel_type {LIBSVM_NAMES[name]}\n"
    for parameter in ("degree", "gamma", "coef0"):
        if parameter in kernel.facts.parameters:
            yield f"{parameter} {getattr(kernel, parameter)!r}\n"
    # Of a regressor LIBSVM says two classes, too.
    yield f"nr_class {2 if labels is None else len(labels)}\ntotal_sv {order.size}\n"
    yield f"rho {_joined(-model.intercept + 0.0)}\n"
    if labels is not None:
        yield f"label {' '.join(map(str, labels))}\nnr_sv {' '.join(map(str, counts))}\n"
    yield "SV\n"
    vectors = None if name == "precomputed" else sp.csr_matrix(model.vectors)
    for s in order.tolist():
        coefficients = _joined(model.dual_coef[:, s])
        if vectors is None:  # the number of the training row, from 1
            yield f"{coefficients} 0:{model.vectors[s] + 1} \n"
            continue
        row = slice(vectors.indptr[s], vectors.indptr[s + 1])
        entries = zip(
            (vectors.indices[row] + 1).tolist(),
            vectors.data[row].astype(np.float64).tolist(),
            strict=True,
        )
        yield f"{coefficients} {' '.join(f'{j}:{x!r}' for j, x in entries)} \n"


def _joined(values: Iterable[Any]) -> str:
    """Numbers with all their digits."""
    return " ".join(repr(float(value)) for value in values)
