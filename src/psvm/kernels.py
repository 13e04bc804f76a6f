"""Kernels: their parameters, training matrices the solvers read rows from, and products.

==================  =====================================
name                K(x, z)
==================  =====================================
``"linear"``        ``<x, z>``
``"poly"``          ``(gamma <x, z> + coef0) ** degree``
``"rbf"``           ``exp(-gamma ||x - z||_2 ** 2)``
``"sigmoid"``       ``tanh(gamma <x, z> + coef0)``
``"laplacian"``     ``exp(-gamma ||x - z||_1)``
``"exponential"``   ``exp(-gamma ||x - z||_2)``
``"precomputed"``   X holds the kernel matrix itself
a callable          ``kernel(X, Z)`` returns the matrix
==================  =====================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian", "exponential", "precomputed")

# Kernels of x - z: a common shift of all rows changes nothing but the rounding errors.
_OF_DIFFERENCE = ("rbf", "laplacian", "exponential")

# Kernel values in memory at once during a product, in bytes.
_BLOCK_BYTES = 64 * 2**20


def resolve_gamma(gamma: float | str, X: Any, weight: Array) -> float:
    """Kernel width as a number.

    ``"scale"`` is ``1 / (n_features * Var[X])`` with the sample-weighted variance of all entries,
    so that a weight of 2 equals a repeated row; ``"auto"`` is ``1 / n_features``.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = X.shape[1]
    if gamma == "auto":
        return 1.0 / n_features
    share = weight / (weight.sum() * n_features)
    mean = float(share @ np.asarray(X.sum(axis=1), dtype=np.float64).ravel())
    if sp.issparse(X):
        # The zeros that are not stored deviate by the mean, too.
        centred = X.astype(np.float64, copy=True)
        stored = np.diff(centred.indptr)
        centred.data = (centred.data - mean) ** 2
        squares = np.asarray(centred.sum(axis=1)).ravel() + (n_features - stored) * mean**2
    else:
        squares = np.einsum("ij,ij->i", X - mean, X - mean, dtype=np.float64)
    variance = float(share @ squares)
    return 1.0 / (n_features * variance) if variance > 0.0 else 1.0


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its parameters, as numbers."""

    function: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    @property
    def of_features(self) -> bool:
        """Whether the kernel is computed here from features (not given as values or a callable)."""
        return isinstance(self.function, str) and self.function != "precomputed"

    def points(self, X: Any, dtype: type, shift: Array | None, starts: Sequence[int]) -> Any:
        """X packed as the columns of a kernel matrix with entries of type ``dtype``."""
        core = _core.Kernel32 if dtype == np.float32 else _core.Kernel64
        parameters = (self.function, self.gamma, self.coef0, int(self.degree), list(starts))
        if sp.issparse(X):
            indices = X.indices
            indptr = X.indptr.astype(indices.dtype, copy=False)
            return core.csr(X.data, indices, indptr, X.shape[1], *parameters)
        return core.dense(X, shift, *parameters)

    def shift(self, X: Any) -> Array | None:
        """What to subtract from every row to lose the fewest digits, or None."""
        if self.function not in _OF_DIFFERENCE or sp.issparse(X):
            return None
        return np.asarray(X.mean(axis=0, dtype=np.float64))

    def blocks(self, X: Any, support: Any, threads: int) -> Iterator[tuple[slice, Array]]:
        """Blocks ``K(support, X[rows])`` in float64, of bounded memory, with their ``rows``.

        For a precomputed kernel X has one column per training row, and ``support`` holds the
        column numbers of the support vectors.
        """
        m = support.shape[0]
        step = max(1, _BLOCK_BYTES // (8 * max(m, 1)))
        packed = self._packed(support) if self.of_features else None
        for begin in range(0, X.shape[0], step):
            rows = slice(begin, min(begin + step, X.shape[0]))
            block = X[rows]
            if packed is not None:
                source, every, shift = packed
                columns = self.points(block, np.float64, shift, [0, block.shape[0]])
                yield rows, columns.rows(every, threads, source)
            elif callable(self.function):
                yield rows, kernel_values(self.function, block, support).T
            else:
                yield rows, np.asarray(block[:, support], dtype=np.float64).T

    def product(self, X: Any, support: Any, coef: Array, threads: int) -> Array:
        """``K(X, support) @ coef`` for one vector ``coef``, in float64 and bounded memory."""
        if self.function == "linear":
            return np.asarray(X @ (coef @ support)).astype(np.float64, copy=False)
        out = np.zeros(X.shape[0])
        if support.shape[0] == 0:
            return out
        if not self.of_features:
            for rows, values in self.blocks(X, support, threads):
                out[rows] = coef @ values
            return out
        source, every, shift = self._packed(support)
        # Entries are never stored here; blocks of 8 MB of features bound the packed copy.
        step = max(1024, 2**20 // max(X.shape[1], 1))
        for begin in range(0, X.shape[0], step):
            block = X[begin : begin + step]
            columns = self.points(block, np.float64, shift, [0, block.shape[0]])
            out[begin : begin + step] = columns.apply(every, coef, threads, source)
        return out

    def _packed(self, support: Any) -> tuple[Any, Indices, Array | None]:
        m, shift = support.shape[0], self.shift(support)
        return (
            self.points(support, np.float64, shift, [0, m]),
            np.arange(m, dtype=np.int64),
            shift,
        )


def kernel_values(function: Callable[[Any, Any], Any], X: Any, Z: Any) -> Array:
    """Values of a callable kernel, checked: an array of shape (len(X), len(Z)), finite."""
    values = function(X, Z)
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    expected = (X.shape[0], Z.shape[0])
    if values.shape != expected:
        raise ValueError(
            f"The kernel must return an array of shape {expected} for inputs of {expected[0]} and "
            f"{expected[1]} rows, got shape {values.shape}."
        )
    try:
        values = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The kernel must return real numbers, got an array of {values.dtype}."
        ) from error
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel must return finite values, got NaN or infinity; check the kernel function "
            "and the scale of X."
        )
    return values


@dataclass
class TrainingKernel:
    """The kernel matrix of a training set, as the solvers see it: rows on demand.

    Attributes
    ----------
    kernel : Kernel
    X : array or CSR matrix
        The training rows, in the order of the matrix; for a precomputed kernel the square matrix.
    starts : list of int
        First row of every segment and, last, the number of rows.
    cache_bytes : float
        Upper limit of the memory for cached kernel rows.
    threads : int
        Threads for one pass over the matrix.
    """

    kernel: Kernel
    X: Any
    starts: list[int]
    cache_bytes: float
    threads: int
    _caches: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.starts[-1]

    def columns(self, segments: Sequence[int]) -> Indices:
        """Row numbers of the given segments."""
        ranges = [np.arange(self.starts[s], self.starts[s + 1]) for s in segments]
        return np.concatenate(ranges).astype(np.int64)

    @cached_property
    def _shift(self) -> Array | None:
        return self.kernel.shift(self.X)

    @cached_property
    def float32(self) -> Any:
        """The matrix with float32 entries."""
        return self._matrix(np.float32)

    @cached_property
    def float64(self) -> Any:
        """The matrix with float64 entries."""
        return self._matrix(np.float64)

    def _matrix(self, dtype: type) -> Any:
        if self.kernel.of_features:
            return self.kernel.points(self.X, dtype, self._shift, self.starts)
        core = _core.Kernel32 if dtype == np.float32 else _core.Kernel64
        if self.kernel.function == "precomputed":
            return core.matrix(np.ascontiguousarray(self.X, dtype=dtype), self.starts)

        function = self.kernel.function
        assert callable(function)

        def rows(index: Indices, begin: int, end: int) -> Any:
            values = kernel_values(function, self.X[index], self.X[begin:end])
            return np.ascontiguousarray(values, dtype=dtype)

        diagonal = [
            float(kernel_values(function, self.X[i : i + 1], self.X[i : i + 1])[0, 0])
            for i in range(self.size)
        ]
        return core.callback(rows, diagonal, self.starts)

    def cache(self, matrix: Any) -> Any:
        """The row cache of ``float32`` or ``float64``, shared by all problems of a fit."""
        kind = _core.Cache32 if isinstance(matrix, _core.Kernel32) else _core.Cache64
        if kind.__name__ not in self._caches:
            self._caches[kind.__name__] = kind(matrix, self.cache_bytes)
        return self._caches[kind.__name__]

    def float32_is_safe(self, tol: float) -> bool:
        """Whether rounding kernel entries to float32 leaves the relative gap well below ``tol``.

        Kernels of differences have entries in [0, 1]. The exponent of rbf is computed as
        ``|x|^2 + |z|^2 - 2 <x, z>``, whose rounding error for close x and z is about
        ``4 gamma |x|^2 eps``; it must stay below a twentieth of ``tol`` on average. Sums of
        differences (laplacian, exponential) have no such cancellation. Other kernels are not
        bounded, and callables and matrices are given in float64: their entries are kept exact.
        """
        if self.kernel.function not in _OF_DIFFERENCE or tol < 1e-5:
            return False
        if self.kernel.function == "exponential" and sp.issparse(self.X):
            return False  # the distance is the root of a cancelled difference
        if self.kernel.function != "rbf":
            return True
        if sp.issparse(self.X):
            squared = self.X.multiply(self.X).sum() / self.X.shape[0]
        else:
            centred = self.X - self._shift
            squared = np.einsum("ij,ij->", centred, centred) / self.X.shape[0]
        error = 4.0 * self.kernel.gamma * float(squared) * np.finfo(np.float32).eps
        return bool(error <= 0.05 * tol)

    def decision(self, segments: Sequence[int], y: Array, alpha: Array) -> Array:
        """``sum_j alpha_j y_j K_ij`` for the rows of the segments, with float64 entries."""
        chosen = alpha != 0.0
        columns = self.columns(segments)
        support = columns[chosen]
        coef = (alpha * y)[chosen]
        if "float64" in self.__dict__ or not self.kernel.of_features:
            return np.asarray(
                self.float64.apply(support, coef, self.threads, segments=list(segments))
            )
        rows = self.X if columns.size == self.size else self.X[columns]
        return self.kernel.product(rows, self.X[support], coef, self.threads)

    def gram(self, segments: Sequence[int]) -> Array:
        """The float64 matrix over the segments; for small problems."""
        columns = self.columns(segments)
        return np.asarray(self.float64.rows(columns, self.threads, segments=list(segments)))
