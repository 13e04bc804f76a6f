"""Checks at the door: parameters, labels and weights, with errors that say what to do."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import _check_sample_weight

Array = npt.NDArray[np.float64]

MULTI_CLASS = ("ovo", "ovr")


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_p(p: Any) -> float:
    """The exponent as a float."""
    if not _is_real(p) or not math.isfinite(p) or p < 1:
        raise ValueError(f"`p` must be a finite float >= 1, got {p!r}.")
    return float(p)


def check_C(C: Any) -> float:
    """The cost as a float, possibly infinite."""
    if not _is_real(C) or not C > 0:
        raise ValueError(f"`C` must be a float > 0, or numpy.inf for the hard margin, got {C!r}.")
    return float(C)


def check_tol(tol: Any) -> float:
    """The tolerance as a float."""
    if not _is_real(tol) or not 0 < tol < 1:
        raise ValueError(f"`tol` is a relative duality gap and must lie in (0, 1), got {tol!r}.")
    return float(tol)


def check_max_iter(max_iter: Any) -> int:
    """The limit of outer iterations; -1 for none."""
    if not isinstance(max_iter, Integral) or (max_iter < 1 and max_iter != -1):
        raise ValueError(
            f"`max_iter` must be an integer >= 1, or -1 for no limit, got {max_iter!r}."
        )
    return int(max_iter)


def check_max_time(max_time: Any) -> float | None:
    """The limit of seconds, or None."""
    if max_time is None:
        return None
    if not _is_real(max_time) or not max_time > 0:
        raise ValueError(
            f"`max_time` must be a number of seconds > 0, or None for no limit, got {max_time!r}."
        )
    return float(max_time)


def check_cache_size(cache_size: Any) -> float:
    """Bytes for kernel rows: a quarter of the memory available if ``cache_size`` is None."""
    if cache_size is None:
        try:
            available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):  # not a POSIX system
            available = 4 * 2**30
        return max(0.25 * available, 200 * 2**20)
    if not _is_real(cache_size) or not cache_size > 0:
        raise ValueError(
            f"`cache_size` must be a number of megabytes > 0, or None to choose it from the memory "
            f"available, got {cache_size!r}."
        )
    return float(cache_size) * 2**20


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few strings."""
    if value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"`{name}` must be one of {expected}, got {value!r}.")
    return str(value)


def check_bool(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"`{name}` must be True or False, got {value!r}.")
    return bool(value)


def check_number(name: str, value: Any, low: float = -math.inf) -> float:
    """A finite float, at least ``low``."""
    if not _is_real(value) or not math.isfinite(value) or value < low:
        at_least = "" if math.isinf(low) else f" >= {low:g}"
        raise ValueError(f"`{name}` must be a finite float{at_least}, got {value!r}.")
    return float(value)


def check_degree(degree: Any) -> int:
    """The degree of the polynomial kernel."""
    if not isinstance(degree, Integral) or isinstance(degree, bool) or degree < 0:
        raise ValueError(f"`degree` must be an integer >= 0, got {degree!r}.")
    return int(degree)


def check_threads(n_jobs: Any) -> int:
    """Number of threads: what OpenMP may use here if ``n_jobs`` is None, else as joblib reads it.

    OpenMP's number follows OMP_NUM_THREADS, threadpoolctl's limits and joblib's workers.
    """
    if n_jobs is None:
        return max(1, int(_openmp_effective_n_threads()))
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"`n_jobs` must be None or an integer other than 0, got {n_jobs!r}.")
    return max(1, int(effective_n_jobs(n_jobs)))


def check_weights(sample_weight: Any, X: Any) -> Array:
    """One weight per row, >= 0, not all zero."""
    weight = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
    if (weight < 0).any():
        raise ValueError(
            f"`sample_weight` must be >= 0, got {weight.min():g}; use 0 to leave a row out."
        )
    if not weight.any():
        raise ValueError("`sample_weight` must be > 0 for some row, got zeros only.")
    return weight


def class_weights(class_weight: Any, classes: npt.NDArray[Any], codes: Any, weight: Array) -> Array:
    """Weight of each class: ``"balanced"`` is total weight / (k * weight of the class)."""
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):
        check_choice("class_weight", class_weight, ("balanced",))
        totals = np.bincount(codes, weights=weight, minlength=classes.size)
        return np.asarray(totals.sum() / (classes.size * totals))
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"`class_weight` must be a dict, 'balanced' or None, got {class_weight!r}."
        )
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    if unknown and len(unknown) == len(class_weight):
        raise ValueError(
            f"`class_weight` names no class of y: got {unknown!r}, and y has {known!r}."
        )
    values = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"`class_weight` must be finite and > 0, got {class_weight!r}.")
    return values


def check_kernel_input(kernel: Any, X: Any) -> None:
    """X can be given to this kernel: square and symmetric if precomputed, else of sane range."""
    values = X.data if hasattr(X, "indptr") else X
    largest = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    if kernel == "precomputed":
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed kernel must be a square matrix of shape (n_samples, n_samples), "
                f"got {X.shape}; pass kernel(X_train, X_train) to fit."
            )
        rows = range(0, X.shape[0], 1024)  # a few at a time: X may be large
        asymmetry = max(float(abs(X[i : i + 1024] - X[:, i : i + 1024].T).max()) for i in rows)
        if asymmetry > 1e-5 * largest:
            raise ValueError(
                f"A precomputed kernel must be symmetric, got entries K[i, j] and K[j, i] that "
                f"differ by {asymmetry:.1e}; use (K + K.T) / 2 if that is rounding."
            )
    elif largest > 1e100:
        raise ValueError(
            f"X has entries of size {largest:.1e}, whose products leave the range of float64; "
            f"scale X, for instance with StandardScaler."
        )
