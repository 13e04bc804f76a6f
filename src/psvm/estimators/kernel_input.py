"""X of a kernel fit at the door: rows of numbers, a kernel matrix, or whatever a callable takes."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from psvm import _core
from psvm.estimators.validation import (
    SeenFeatures,
    canonical,
    check_data,
    check_new_rows,
    check_range,
    largest_entry,
    twin_of,
)
from psvm.rows.given_rows import GivenRows


def takes_anything(tags: Any) -> Any:
    """The tags of an estimator that hands X to a callable as it is."""
    inputs = tags.input_tags
    inputs.one_d_array = inputs.three_d_array = inputs.string = inputs.dict = True
    inputs.categorical = inputs.allow_nan = True
    return tags


def check_kernel_data(
    estimator: Any, X: Any, y: Any, threads: int = 1
) -> tuple[SeenFeatures, Any, Any]:
    """X as ``estimator.kernel`` takes it, y, and the features of X.

    For a callable X stays what it is, as with SVC: it may be texts, or have three dimensions.
    """
    if callable(estimator.kernel):
        return _check_given(estimator, X, y)
    seen, X, y = check_data(estimator, X, y)
    check_kernel_input(estimator.kernel, X, threads)
    return seen, X, y


def check_new_kernel_rows(estimator: Any, function: Any, X: Any) -> Any:
    """Rows to predict for, as the kernel ``function`` of a fitted estimator takes them."""
    if callable(function):
        check_is_fitted(estimator)
        rows = GivenRows.of(X)
        if hasattr(estimator, "n_features_in_"):
            validate_data(estimator, rows.X, reset=False, skip_check_array=True)
        return rows
    X = canonical(check_new_rows(estimator, X))
    return X.toarray() if function == "precomputed" and sp.issparse(X) else X


def _check_given(estimator: Any, X: Any, y: Any) -> tuple[SeenFeatures, GivenRows, Any]:
    """Rows for a callable: as many as labels, and with the columns of a table if they are one."""
    seeing, rows = twin_of(estimator), GivenRows.of(X)
    for name in ("n_features_in_", "feature_names_in_"):
        vars(seeing).pop(name, None)  # of an earlier fit
    y = validate_data(seeing, y=y)
    check_consistent_length(rows, y)
    if len(getattr(rows.X, "shape", ())) == 2:
        validate_data(seeing, rows.X, skip_check_array=True)
    return SeenFeatures.by(seeing), rows, y


def check_kernel_input(kernel: Any, X: Any, threads: int = 1) -> None:
    """X can be given to this kernel: square and symmetric if precomputed, else of sane range."""
    if kernel != "precomputed":
        check_range(largest_entry(X, threads))
        return
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed kernel must be a square matrix of shape (n_samples, n_samples), "
            f"got {X.shape}; pass kernel(X_train, X_train) to fit."
        )
    if sp.issparse(X):
        largest, asymmetry = largest_entry(X), float(abs(X - X.T).max())
    else:
        largest, asymmetry = _core.symmetry_of(X, threads)
    if asymmetry > 1e-5 * largest:
        raise ValueError(
            f"A precomputed kernel must be symmetric, got entries K[i, j] and K[j, i] that "
            f"differ by {asymmetry:.1e}; use (K + K.T) / 2 if that is rounding."
        )
