r"""Exact Shapley values of models whose kernel is a product over features: rbf and laplacian.

The game of a row x against a background row b gives a set S of features their values in x and all
others those in b. With :math:`k_{il}(x) = K(x_l, v_{il})` of support vector i and feature l, a
decision value is :math:`\sum_i c_i \prod_l k_{il}`, and the Shapley value of feature j is

.. math::
    \phi_j = \sum_i c_i \, (k_{ij}(x) - k_{ij}(b))
             \int_0^1 \prod_{l \ne j} \bigl( t \, k_{il}(x) + (1 - t) \, k_{il}(b) \bigr) \, dt ,

because the weight :math:`|S|! \, (d - |S| - 1)! / d!` of S is
:math:`\int_0^1 t^{|S|} (1 - t)^{d - 1 - |S|} \, dt`. The integrand is a polynomial of degree d - 1
in t, so Gauss-Legendre nodes integrate it without error, and none of its factors is negative:
nothing cancels in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from psvm.estimators.svc import PSVC
from psvm.rows.kernel import Kernel
from psvm.rows.prediction import KernelModel
from psvm.search import PSVCCV

Array = npt.NDArray[np.float64]

PRODUCT_KERNELS = ("rbf", "laplacian")

# Entries of the arrays of one block of background rows: 32 MB each.
_BLOCK = 2**22


class ShapleyValues(NamedTuple):
    """What every feature adds to a decision value.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_problems)
        Two axes for two classes, else the last one has one entry for each binary problem: a class
        against the rest, or a pair of classes in the order of ``decision_function_shape="ovo"``.
    base_values : ndarray of shape (n_samples,) or (n_samples, n_problems)
        Decision values without the row; with the sum of its values they are those of the row.
    """

    values: Array
    base_values: Array


def shapley_values(model: Any, X: Any, background: Any = None) -> ShapleyValues:
    """Exact Shapley values of the decision values of a kernel model.

    Parameters
    ----------
    model : PSVC or PSVCCV
        Fitted, with the kernel "rbf" or "laplacian". Of a pipeline take the last step, and give it
        the rows that the other steps make; of a PSVCCV with a preprocessor ``best_estimator_[-1]``
        and ``preprocessor_.transform(X)``.
    X : array-like of shape (n_samples, n_features)
        Rows to explain.
    background : array-like of shape (n_background, n_features), optional
        Rows that stand for what is usual: a feature that is absent has its value there, and the
        result is the mean over all of them (the interventional values that ``shap.KernelExplainer``
        estimates). Without it an absent feature is left out of the kernel, as in ``shapiq``'s
        ``ProductKernelExplainer``.

    Returns
    -------
    ShapleyValues

    Notes
    -----
    The time is of order ``n_samples * n_background * n_SV * n_features ** 2 / 2``. A hundred
    background rows are plenty for most purposes.
    """
    arrays = _product_model(model)
    X, background = _rows(X, arrays, "X"), _rows(background, arrays, "background")
    coef = _coefficients(arrays)
    found = [_of_row(x, background, arrays, coef) for x in X]
    values = np.array([one for one, _ in found]).reshape(len(found), -1, arrays.intercept.size)
    base = np.array([one for _, one in found]).reshape(len(found), -1)
    if arrays.intercept.size == 1:
        return ShapleyValues(values[:, :, 0], base[:, 0])
    return ShapleyValues(values, base)


def _product_model(model: Any) -> KernelModel:
    """The arrays of a model whose kernel is a product over features."""
    if isinstance(model, PSVCCV):
        check_is_fitted(model, "best_estimator_")
        model = model.best_estimator_
    if not isinstance(model, PSVC) or model.kernel not in PRODUCT_KERNELS:
        got = f"kernel={model.kernel!r}" if isinstance(model, PSVC) else type(model).__name__
        raise TypeError(
            f"Exact Shapley values need a PSVC or PSVCCV with the kernel "
            f"{' or '.join(map(repr, PRODUCT_KERNELS))}, got {got}. Of a pipeline give the last "
            "step, and the rows that the others make: of a PSVCCV with a preprocessor "
            "best_estimator_[-1] and preprocessor_.transform(X). For a linear model use "
            "shap.LinearExplainer."
        )
    check_is_fitted(model)
    arrays: KernelModel = model._as_arrays()
    return arrays


def _rows(X: Any, arrays: KernelModel, name: str) -> Array | None:
    if X is None:
        return None
    dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    if dense.ndim != 2 or dense.shape[1] != arrays.vectors.shape[1] or dense.shape[0] == 0:
        raise ValueError(
            f"`{name}` must have rows of {arrays.vectors.shape[1]} features, got shape "
            f"{dense.shape}."
        )
    if not np.isfinite(dense).all():
        raise ValueError(f"`{name}` must be finite.")
    return dense


def _coefficients(arrays: KernelModel) -> Array:
    """Coefficients of all problems, shape (n_problems, n_SV)."""
    coef = np.zeros((arrays.intercept.size, arrays.vectors.shape[0]))
    for row, (chosen, values) in zip(coef, arrays.terms(), strict=True):
        row[chosen] = values
    return coef


def _of_row(
    x: Array, background: Array | None, arrays: KernelModel, coef: Array
) -> tuple[Array, Array]:
    """Values of shape (n_features, n_problems) of one row, and those of the background."""
    vectors = arrays.dense_vectors
    size, features = vectors.shape
    nodes, weights = np.polynomial.legendre.leggauss((features + 1) // 2)
    here = _factors(x, vectors, arrays.kernel)  # (n_SV, d)
    count = 1 if background is None else background.shape[0]
    values, base = np.zeros((features, coef.shape[0])), np.zeros(coef.shape[0])
    step = max(1, _BLOCK // max(1, size * features))
    for begin in range(0, count, step):
        if background is None:
            there = np.ones((1, size, features))  # a factor that is left out
        else:
            there = _factors(background[begin : begin + step, None], vectors, arrays.kernel)
        inner = np.zeros_like(there)
        for t, weight in zip((1.0 + nodes) / 2.0, weights / 2.0, strict=True):
            mixed = t * here + (1.0 - t) * there
            product = mixed.prod(axis=2, keepdims=True)
            # Both factors are 0 for a vector so far away: its terms are 0, too.
            inner += weight * np.divide(product, mixed, out=np.zeros_like(mixed), where=mixed > 0.0)
        values += np.einsum("bij,ti->jt", (here - there) * inner, coef)
        base += np.einsum("bi,ti->t", there.prod(axis=2), coef)
    return values / count, base / count + arrays.intercept


def _factors(rows: Array, vectors: Array, kernel: Kernel) -> Array:
    """The kernel of every feature by itself."""
    distance = np.abs(rows - vectors)
    if kernel.function == "rbf":
        distance *= distance
    return np.asarray(np.exp(-kernel.gamma * distance))
