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

import math
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

# Rows up to which the float64 matrix is computed once and kept (318 rows: fits twice as fast).
_FEW_ROWS = 500

# Rows centred at once for gamma="scale".
_GAMMA_ROWS = 2**14

# Sparse columns beyond which unused ones are dropped first: a buffer of 4 MB of float32.
_WIDE = 2**16


def resolve_gamma(gamma: float | str, X: Any, weight: Array) -> float:
    """Kernel width as a number.

    ``"scale"`` is ``1 / (n_features * Var[X])`` with the sample-weighted variance of all entries,
    so that a weight of 2 equals a repeated row; ``"auto"`` is ``1 / n_features``.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = X.shape[1]
    if gamma == "auto":
        return 1.0 / int(n_features)
    share = weight / (weight.sum() * n_features)
    # By einsum: the threads of BLAS would spin on a core that the solver needs next.
    mean = float(np.einsum("i,i->", share, np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()))
    variance = 0.0
    # In blocks: a centred copy of X may not fit in memory.
    for begin in range(0, X.shape[0], _GAMMA_ROWS):
        rows = slice(begin, begin + _GAMMA_ROWS)
        block = X[rows]
        if sp.issparse(block):
            # The zeros that are not stored deviate by the mean, too.
            stored = np.diff(block.indptr)
            block.data = (block.data - mean) ** 2
            squares = np.asarray(block.sum(axis=1)).ravel() + (n_features - stored) * mean**2
        else:
            deviation = block - mean
            squares = np.einsum("ij,ij->i", deviation, deviation, dtype=np.float64)
        variance += float(np.einsum("i,i->", share[rows], squares))
    # What is left of a constant X is the rounding of its mean.
    rounding = (8.0 * float(np.finfo(np.float64).eps) * mean) ** 2
    return 1.0 / (n_features * variance) if variance > rounding else 1.0


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
        parameters = (str(self.function), self.gamma, self.coef0, int(self.degree), list(starts))
        if sp.issparse(X):
            # Of one type wherever they fit: rows of one matrix meet columns of another.
            index = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64
            indices = X.indices.astype(index, copy=False)
            indptr = X.indptr.astype(index, copy=False)
            return core.csr(X.data, indices, indptr, X.shape[1], *parameters)
        return core.dense(X, shift, *parameters)

    def shift(self, X: Any) -> Array | None:
        """What to subtract from every row to lose the fewest digits, or None."""
        if self.function not in _OF_DIFFERENCE or sp.issparse(X):
            return None
        return np.asarray(X.mean(axis=0, dtype=np.float64))

    def narrow(self, X: Any, support: Any) -> Any:
        """X with the columns that no row of ``support`` has merged, where there are very many.

        The work on sparse rows is proportional to their nonzeros, but takes a buffer as wide as X.
        """
        if not sp.issparse(X) or X.shape[1] <= _WIDE:
            return X
        return compact(X, np.unique(support.indices), self.function == "laplacian")

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
                block = self.narrow(block, support)
                columns = self.points(block, np.float64, shift, [0, block.shape[0]])
                yield rows, columns.rows(every, threads, source)
            elif callable(self.function):
                yield rows, kernel_values(self.function, block, support).T
            else:
                yield rows, np.asarray(block[:, support], dtype=np.float64).T

    def product(self, X: Any, support: Any, coef: Array, threads: int) -> Array:
        """``K(X, support) @ coef`` for one vector ``coef``, in float64 and bounded memory."""
        if self.function == "linear":
            return np.asarray(X @ weights_of(support, coef)).astype(np.float64, copy=False)
        out = np.zeros(X.shape[0])
        if support.shape[0] == 0:
            return out
        if not self.of_features:
            for rows, values in self.blocks(X, support, threads):
                out[rows] = coef @ values
            return out
        source, every, shift = self._packed(support)
        # Entries are never stored here; blocks of 8 MB of features bound the packed copy.
        step = max(1024, 2**20 // max(X.shape[1], 1)) if not sp.issparse(X) else 2**14
        for begin in range(0, X.shape[0], step):
            block = self.narrow(X[begin : begin + step], support)
            columns = self.points(block, np.float64, shift, [0, block.shape[0]])
            out[begin : begin + step] = columns.apply(every, coef, threads, source)
        return out

    def own_product(self, support: Any, coef: Array, threads: int) -> Array:
        """``K(support, support) @ coef`` in float64, from half of the entries if rows are dense."""
        return np.asarray(self._packed(support)[0].apply_all(coef, threads))

    def _packed(self, support: Any) -> tuple[Any, Indices, Array | None]:
        m, shift = support.shape[0], self.shift(support)
        return (
            self.points(self.narrow(support, support), np.float64, shift, [0, m]),
            np.arange(m, dtype=np.int64),
            shift,
        )


def weights_of(support: Any, coef: Array) -> Array:
    """``sum_i coef_i support_i``, summed around the mean where X is dense.

    The coefficients of a model with intercept sum to 0: far from the origin large terms cancel.
    """
    if sp.issparse(support):
        return np.asarray(coef @ support)
    centre = support.mean(axis=0, dtype=np.float64) if support.shape[0] else 0.0
    return np.asarray(coef @ (support - centre) + math.fsum(coef) * centre)


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


def _callable_matrix(
    core: Any,
    function: Callable[[Any, Any], Any],
    X: Any,
    starts: list[int],
    dtype: type,
) -> Any:
    """Kernel rows from a callable, called with the rows that are asked for."""
    n = X.shape[0]
    some = np.linspace(0, n - 1, min(n, 100)).astype(np.intp)
    values = kernel_values(function, X[some], X[some])
    asymmetry = float(np.max(np.abs(values - values.T)))
    if asymmetry > 1e-5 * float(np.max(np.abs(values))):
        raise ValueError(
            f"The kernel must be symmetric, k(x, z) = k(z, x), got values that differ by "
            f"{asymmetry:.1e}; check the kernel function."
        )
    diagonal: list[float] = []
    for begin in range(0, n, 32):
        block = X[begin : begin + 32]
        diagonal.extend(np.diag(kernel_values(function, block, block)).tolist())

    def rows(index: Indices, begin: int, end: int) -> Any:
        return np.ascontiguousarray(kernel_values(function, X[index], X[begin:end]), dtype=dtype)

    return core.callback(rows, diagonal, starts)


def compact(X: Any, columns: npt.NDArray[Any], of_absolute: bool) -> Any:
    """X with its columns renumbered by their place in ``columns``, the others merged into one.

    The merged column comes last and holds the norm of what it replaces (the sum of absolute values
    if ``of_absolute``): products with rows that have only ``columns`` do not change, nor do norms.
    """
    place = np.searchsorted(columns, X.indices)
    place[place == columns.size] = 0
    known = columns[place] == X.indices
    outside = X.copy()
    outside.data = np.where(known, 0.0, np.abs(X.data) if of_absolute else X.data**2)
    rest = np.asarray(outside.sum(axis=1)).ravel()
    rest = rest if of_absolute else np.sqrt(rest)
    inside = sp.csr_matrix(
        (np.where(known, X.data, 0.0), place, X.indptr), shape=(X.shape[0], columns.size)
    )
    inside.eliminate_zeros()
    return sp.hstack([inside, sp.csr_matrix(rest[:, None])], format="csr", dtype=X.dtype)


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
    stored : ndarray of float32 or None
        The matrix itself, if somebody has computed it.
    """

    kernel: Kernel
    X: Any
    starts: list[int]
    cache_bytes: float
    threads: int
    stored: npt.NDArray[Any] | None = None
    _caches: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.starts[-1]

    def columns(self, segments: Sequence[int]) -> Indices:
        """Row numbers of the given segments."""
        ranges = [np.arange(self.starts[s], self.starts[s + 1]) for s in segments]
        return np.concatenate(ranges).astype(np.int64)

    def rows(self, segments: Sequence[int]) -> Any:
        """The training rows of the given segments."""
        columns = self.columns(segments)
        return self.X if columns.size == self.size else self.X[columns]

    @cached_property
    def _shift(self) -> Array | None:
        return self.kernel.shift(self.X)

    @cached_property
    def float32(self) -> Any:
        """The matrix with float32 entries."""
        if self.stored is not None:
            return _core.Kernel32.matrix(self.stored, self.starts)
        return self._matrix(np.float32)

    @cached_property
    def float64(self) -> Any:
        """The matrix with float64 entries."""
        if self._whole is not None:
            return _core.Kernel64.matrix(self._whole, self.starts)
        return self._matrix(np.float64)

    @property
    def is_at_hand(self) -> bool:
        """Whether float64 entries are read from memory, or are not computed here."""
        return self._whole is not None or not self.kernel.of_features

    @cached_property
    def _whole(self) -> Array | None:
        """The matrix itself in float64, of few rows: solvers and certificates read it."""
        if self.size > _FEW_ROWS or not self.kernel.of_features or self.kernel.function == "linear":
            return None
        every, segments = np.arange(self.size), list(range(len(self.starts) - 1))
        return np.asarray(self._matrix(np.float64).rows(every, 1, segments=segments))

    def _matrix(self, dtype: type) -> Any:
        if self.kernel.of_features:
            X = self.kernel.narrow(self.X, self.X)
            return self.kernel.points(X, dtype, self._shift, self.starts)
        core = _core.Kernel32 if dtype == np.float32 else _core.Kernel64
        if self.kernel.function == "precomputed":
            return core.matrix(np.ascontiguousarray(self.X, dtype=dtype), self.starts)

        assert callable(self.kernel.function)
        return _callable_matrix(core, self.kernel.function, self.X, self.starts, dtype)

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
        ``4 gamma |x|^2 eps``; it must stay below half of ``tol`` on average (for other x and z the
        entry is small, and its error with it: up to there no fit of mnist, magic04 or a9a fell
        short of ``tol`` at gamma of 1 to 100 times "scale", and all were 1.2 to 3 times faster).
        Sums of differences (laplacian, exponential) have no such cancellation. Other kernels are
        not bounded, and callables and matrices are given in float64: their entries are kept exact.
        """
        if self.kernel.function not in _OF_DIFFERENCE or tol < 1e-5:
            return False
        if self.kernel.function == "exponential" and sp.issparse(self.X):
            return False  # the distance is the root of a cancelled difference
        if self.kernel.function != "rbf":
            return True
        error = 4.0 * self.kernel.gamma * self._squared_norm * float(np.finfo(np.float32).eps)
        return error <= 0.5 * tol

    @cached_property
    def _squared_norm(self) -> float:
        """Mean squared norm of the rows, centred where the kernel is computed so."""
        if sp.issparse(self.X):
            return float(self.X.multiply(self.X).sum()) / self.size
        squared = float(np.einsum("ij,ij->", self.X, self.X, dtype=np.float64)) / self.size
        return squared - (0.0 if self._shift is None else float(self._shift @ self._shift))

    def decision(
        self,
        segments: Sequence[int],
        dual: Array,
        threads: int,
        rows: npt.NDArray[np.bool_] | None = None,
    ) -> Array:
        """``sum_j dual_j K_ij`` for rows i of the segments, or some of them, with float64 entries.

        ``dual`` (alpha times y) and the mask ``rows`` have one value per row of the segments.
        """
        chosen = np.flatnonzero(dual)
        columns = self.columns(segments)
        if self._whole is not None:
            wanted = columns if rows is None else columns[rows]
            # Not by BLAS, whose threads would spin on the cores that the solver needs.
            entries = self._whole[np.ix_(wanted, columns[chosen])]
            return np.asarray(np.einsum("ij,j->i", entries, dual[chosen]))
        at_hand = "float64" in self.__dict__ and self.kernel.function != "linear"
        if rows is None and (at_hand or not self.kernel.of_features):
            return np.asarray(
                self.float64.apply(columns[chosen], dual[chosen], threads, segments=list(segments))
            )
        asked = np.ones(dual.size, dtype=np.bool_) if rows is None else rows
        support, coef = self.X[columns[chosen]], dual[chosen]
        out = np.empty(dual.size)
        others = asked.copy()
        if chosen.size and asked[chosen].all() and self.kernel.function != "linear":
            out[chosen] = self.kernel.own_product(support, coef, threads)
            others[chosen] = False
        X = self.X if others.all() and others.size == self.size else self.X[columns[others]]
        out[others] = self.kernel.product(X, support, coef, threads)
        return out[asked]

    def gram(self, segments: Sequence[int], threads: int) -> Array:
        """The float64 matrix over the segments; for small problems."""
        columns = self.columns(segments)
        if self._whole is not None:
            every = columns.size == self.size
            return self._whole if every else self._whole[np.ix_(columns, columns)]
        return np.asarray(self.float64.rows(columns, threads, segments=list(segments)))
