"""Fitted attributes as arrays that fit together.

Anybody may assign an attribute of a fitted estimator, and compiled code computes with them: shapes,
types and indices are checked whenever a model is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm.mathematics import multiclass
from psvm.rows.given_rows import GivenRows
from psvm.rows.sparse_format import sound_sparse

Array = npt.NDArray[np.float64]


def problem_count(model: Any) -> int:
    """Number of binary problems of a fitted classifier."""
    classes = model.classes_
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or classes.size < 2:
        raise _changed("classes_", "a 1-D array of at least two labels", _shown(classes))
    return multiclass.problem_count(classes.size, model.multi_class)


def number_array(model: Any, name: str, shape: tuple[int | None, ...]) -> Array:
    """An attribute of numbers of this shape, as float64; None stands for any length."""
    values: Any = getattr(model, name, None)  # a name of the other `multi_class` is not there
    fits = isinstance(values, np.ndarray) and _matches(values.shape, shape)
    if not fits or values.dtype.kind not in "fiu":
        raise _changed(name, f"an array of numbers of shape {_told(shape)}", _shown(values))
    return np.ascontiguousarray(values, dtype=np.float64)


def support_counts(model: Any, total: int, k: int) -> list[int]:
    """``n_support_``: one for each of k classes, as many vectors as coefficients."""
    counts = model.n_support_
    fits = _are_integers(counts, (k,)) and counts.min() >= 0 and int(counts.sum()) == total
    if not fits:
        raise _changed("n_support_", f"{k} counts whose sum is {total}", _shown(counts))
    return [int(count) for count in counts]


def support_columns(model: Any, total: int) -> npt.NDArray[Any]:
    """``support_``, of a precomputed kernel the columns that are summed over."""
    support, width = model.support_, model.n_features_in_
    fits = _are_integers(support, (total,))
    if not fits or (total and not (support.min() >= 0 and support.max() < width)):
        raise _changed("support_", f"{total} row numbers in [0, {width})", _shown(support))
    return np.asarray(support)


def support_vectors(model: Any, total: int) -> Any:
    """``support_vectors_``: one for each coefficient, with the features of the fit."""
    vectors, shape = model.support_vectors_, (total, model.n_features_in_)
    sparse = sp.issparse(vectors)
    fits = (
        (sparse or isinstance(vectors, np.ndarray))
        and vectors.shape == shape
        and vectors.dtype in (np.float32, np.float64)
    )
    if not fits:
        raise _changed(
            "support_vectors_", f"float32 or float64 rows of shape {shape}", _shown(vectors)
        )
    return sound_sparse(vectors, "`support_vectors_`") if sparse else vectors


def given_vectors(model: Any, total: int) -> GivenRows:
    """``support_vectors_`` of a callable kernel: one for each coefficient, of any kind."""
    vectors = GivenRows.of(model.support_vectors_)
    if len(vectors) != total:
        raise _changed("support_vectors_", f"{total} rows", f"{len(vectors)} rows")
    return vectors


def _are_integers(values: Any, shape: tuple[int, ...]) -> bool:
    is_array = isinstance(values, np.ndarray) and values.shape == shape
    return is_array and values.dtype.kind in "iu"


def _matches(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        b is None or a == b for a, b in zip(shape, wanted, strict=True)
    )


def _told(shape: tuple[int | None, ...]) -> str:
    inner = ", ".join("any" if n is None else str(n) for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _shown(values: Any) -> str:
    if isinstance(values, np.ndarray) or sp.issparse(values):
        return f"shape {values.shape} of {values.dtype}"
    return repr(values)[:60]


def _changed(name: str, expected: str, came: str) -> ValueError:
    return ValueError(
        f"`{name}` must be {expected} to fit the other attributes, got {came}. Fitted attributes "
        f"(and `multi_class` of a classifier) are not to be changed after fit: fit again."
    )
