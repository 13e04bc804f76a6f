"""The kernel matrix of a training set, which the solvers read rows from."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.mathematics.cached import cached_property
from psvm.rows.bytes import as_bytes
from psvm.rows.decision_errors import DecisionErrors
from psvm.rows.kernel import Kernel, kernel_values, rows_to_pack
from psvm.rows.sizes import SMALL

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Support vectors from which half of their entries among themselves take longer than a call.
_MANY_SUPPORT = 150
# Rows whose entries are computed to see how long that takes: some milliseconds.
_MEASURED_ROWS = 512
# Entries that a callable is asked for at once: the whole matrix of 4,096 rows, or 128 MB of rows.
_CALL_ENTRIES = 2**24
# Rows of a callable's blocks on the diagonal: of 10,000 rows 40 calls, for 0.026 of the entries.
_DIAGONAL_ROWS = 256
# By how much of the largest a kernel value may depend on the order of its arguments.
_ASYMMETRY = 1e-5
# Mean squared norm of rows below which squares of their differences may underflow in float32.
_SMALLEST = 1e-20
# What centring leaves of a squared norm below which the rest of it is summed again.
_CANCELLED = 1e-6


def _check_symmetry(values: Array, threads: int) -> None:
    """Refuse what a callable kernel cannot have returned for the same rows twice."""
    largest, asymmetry = _core.symmetry_of(values, threads)
    if asymmetry > _ASYMMETRY * largest:
        raise ValueError(
            f"The kernel must be symmetric, k(x, z) = k(z, x), got values that differ by "
            f"{asymmetry:.1e}; check the kernel function."
        )


def _called_once(function: Callable[[Any, Any], Any], X: Any, threads: int) -> Array:
    """The whole matrix of a callable, from one call or a few for many rows each."""
    n = X.shape[0]
    step = max(1, _CALL_ENTRIES // n)
    if step >= n:
        values = kernel_values(function, X, X)
    else:
        values = np.empty((n, n))
        for begin in range(0, n, step):
            rows = slice(begin, min(begin + step, n))
            values[rows] = kernel_values(function, X[rows], X)
    _check_symmetry(values, threads)
    return values


def _called_by_rows(
    core: Any,
    function: Callable[[Any, Any], Any],
    X: Any,
    starts: list[int],
    dtype: type,
) -> Any:
    """Kernel rows from a callable, called with the rows that are asked for."""
    n = X.shape[0]
    some = np.linspace(0, n - 1, min(n, _MEASURED_ROWS)).astype(np.intp)
    _check_symmetry(kernel_values(function, X[some], X[some]), 1)
    diagonal: list[float] = []
    for begin in range(0, n, _DIAGONAL_ROWS):
        block = X[begin : begin + _DIAGONAL_ROWS]
        diagonal.extend(np.diag(kernel_values(function, block, block)).tolist())

    def entries(rows: Indices, columns: Any) -> Any:
        return np.ascontiguousarray(kernel_values(function, X[rows], X[columns]), dtype=dtype)

    return core.callback(entries, diagonal, starts)


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
    split : bool
        Whether rows stand for several equal ones, among which their dual variables will be split.
    most_kept : int
        Rows up to which the float64 matrix is computed once and kept.
    """

    kernel: Kernel
    X: Any
    starts: list[int]
    cache_bytes: float
    threads: int
    stored: npt.NDArray[Any] | None = None
    split: bool = False
    most_kept: int = SMALL
    _caches: dict[str, Any] = field(default_factory=dict, repr=False)
    _seconds_per_entry: float | None = None

    def __post_init__(self) -> None:
        """Refuse rows whose kernel values would not be finite."""
        self.kernel.check_range(self.X)

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
    def shift(self) -> Array | None:
        """What is subtracted from every row to lose the fewest digits, or None."""
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
        return self.computed64

    @cached_property
    def computed64(self) -> Any:
        """The same, computed whenever they are asked for (unless they are given)."""
        return self._matrix(np.float64)

    @property
    def has_entries(self) -> bool:
        """Whether entries are computed here, or given: no call of Python for any of them."""
        return self.kernel.of_features or self.is_given

    @property
    def is_given(self) -> bool:
        """Whether the whole matrix is the user's, and in memory."""
        return self._given is not None

    @property
    def is_at_hand(self) -> bool:
        """Whether float64 entries are read from memory, or are not computed here."""
        return self._whole is not None or not self.kernel.of_features

    @cached_property
    def _whole(self) -> Array | None:
        """The matrix itself in float64, of few rows: solvers and certificates read it."""
        facts = self.kernel.facts
        if self.size > self.most_kept or not facts.of_features or facts.is_product:
            return None
        every, segments = np.arange(self.size), list(range(len(self.starts) - 1))
        return np.asarray(self.computed64.rows(every, 1, segments=segments))

    @cached_property
    def _given(self) -> Array | None:
        """The matrix of the user: their own, or what their function returns, if there is room."""
        function = self.kernel.function
        if function == "precomputed":
            return np.ascontiguousarray(self.X, dtype=np.float64)
        if callable(function) and 8.0 * float(self.size) ** 2 <= self.cache_bytes:
            return _called_once(function, self.X, self.threads)
        return None

    @cached_property
    def errors(self) -> DecisionErrors:
        """What rounding may do to decision values."""
        return DecisionErrors(weakref.proxy(self))  # no cycle: memory goes with the last reference

    def _matrix(self, dtype: type) -> Any:
        if self.kernel.of_features:
            if dtype == np.float32 and self.kernel.function == "rbf":
                found = as_bytes(self.X)
                if found is not None:
                    return _core.Kernel32.bytes(*found, self.kernel.gamma, self.starts)
            X = self.kernel.narrow(self.X, self.X)
            return self.kernel.points(X, dtype, self.shift, self.starts)
        core = _core.Kernel32 if dtype == np.float32 else _core.Kernel64
        if self._given is not None:
            return core.matrix(self._given.astype(dtype, copy=False), self.starts)
        assert callable(self.kernel.function)
        return _called_by_rows(core, self.kernel.function, self.X, self.starts, dtype)

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
        Sums of differences (laplacian, exponential) have no such cancellation, and only err as
        their rows do in float32, ``gamma |x| eps``. Other kernels are not bounded, and callables
        and matrices are given in float64: their entries are kept exact.
        """
        facts = self.kernel.facts
        if not facts.of_difference or tol < 1e-5:
            return False
        squared = self._squared_norm
        if facts.of_squares:
            exponent = 4.0 * squared
        else:
            entries = self.X.nnz / self.size if sp.issparse(self.X) else self.X.shape[1]
            exponent = 2.0 * np.sqrt(squared * (entries if facts.of_absolute else 1))
            if squared < _SMALLEST:
                return False
        error = self.kernel.gamma * exponent * float(np.finfo(np.float32).eps)
        return bool(error <= 0.5 * tol)

    @cached_property
    def _squared_norm(self) -> float:
        """Mean squared norm of the rows, centred where the kernel is computed so."""
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(self.X):
                squares = np.einsum("i,i->", self.X.data, self.X.data, dtype=np.float64)
                return float(squares) / self.size
            squared = float(np.einsum("ij,ij->", self.X, self.X, dtype=np.float64)) / self.size
            if self.shift is None:
                return squared
            centred = squared - float(self.shift @ self.shift)
            if centred > _CANCELLED * squared:
                return centred
            step, total = rows_to_pack(self.X), 0.0
            for begin in range(0, self.size, step):
                rows = self.X[begin : begin + step] - self.shift
                total += float(np.einsum("ij,ij->", rows, rows))
            return total / self.size

    def seconds_per_entry(self, threads: int) -> float:
        """Enough time for every entry that :meth:`decision` has to compute, measured once."""
        if self._whole is not None or self.is_given:
            return 0.0
        if self._seconds_per_entry is None:
            some = self.X[: min(self.size, _MEASURED_ROWS)]
            seconds = []
            for _ in range(3):
                began = time.perf_counter()
                self.kernel.product(some, some, np.ones(some.shape[0]), threads)
                seconds.append(time.perf_counter() - began)
            # The least is what it takes, but for a machine that is busy now and then.
            self._seconds_per_entry = 1.5 * min(seconds) / float(some.shape[0]) ** 2
        return self._seconds_per_entry

    def decision(
        self,
        segments: Sequence[int],
        dual: Array,
        threads: int,
        rows: npt.NDArray[np.bool_] | None = None,
        pause: Callable[[], None] | None = None,
    ) -> Array:
        """``sum_j dual_j K_ij`` for rows i of the segments, or some of them, with float64 entries.

        ``dual`` (alpha times y) and the mask ``rows`` have one value per row of the segments.
        ``pause`` is called now and then, and may give up by raising.
        """
        chosen = np.flatnonzero(dual)
        columns = self.columns(segments)
        if self._whole is not None:
            wanted = columns if rows is None else columns[rows]
            # Not by BLAS, whose threads would spin on the cores that the solver needs.
            entries = self._whole[np.ix_(wanted, columns[chosen])]
            return np.asarray(np.einsum("ij,j->i", entries, dual[chosen]))
        at_hand = "float64" in self.__dict__ and not self.kernel.facts.is_product
        if not self.kernel.of_features or (rows is None and at_hand):
            values = self.float64.apply(
                columns[chosen], dual[chosen], threads, segments=list(segments)
            )
            return np.asarray(values if rows is None else values[rows])
        asked = np.ones(dual.size, dtype=np.bool_) if rows is None else rows
        support, coef = self.X[columns[chosen]], dual[chosen]
        out = np.empty(dual.size)
        others = asked.copy()
        own = pause is None and chosen.size > _MANY_SUPPORT and bool(asked[chosen].all())
        if own and not self.kernel.facts.is_product:
            out[chosen] = self.kernel.own_product(support, coef, threads)
            others[chosen] = False
        X = self.X if others.all() and others.size == self.size else self.X[columns[others]]
        out[others] = self.kernel.product(X, support, coef, threads, pause)
        return out[asked]

    def gram(self, segments: Sequence[int], threads: int) -> Array:
        """The float64 matrix over the segments; for small problems."""
        columns = self.columns(segments)
        if self._whole is not None:
            every = columns.size == self.size
            return self._whole if every else self._whole[np.ix_(columns, columns)]
        return np.asarray(self.float64.rows(columns, threads, segments=list(segments)))
