"""Gram matrices of the training rows, one per kernel width, in buffers that are used again.

Kernels of differences are computed in float32. Of few features, and where no matrix fits, nothing
is stored: entries are computed whenever they are needed (of few features as soon as they would be
read from memory). For rbf with many features the squared distances are computed once, and every
width costs one exponential per entry. All other entries (callables, given matrices, polynomials,
and rbf where float32 would cancel) are computed in float64 and then rounded, around a centre where
the model has an intercept: with ``sum_i alpha_i y_i = 0`` the translation ``K_ij - u_i - u_j``
changes nothing but the intercept. Small matrices stay in float64.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.sizes import CHUNK_ENTRIES, MANY_FEATURES

Array = npt.NDArray[np.float64]
Gram = npt.NDArray[np.float32] | npt.NDArray[np.float64]

# Features up to which no matrix is stored: at 10 and 22 an entry is computed about as fast as read,
# and no thread waits for a matrix or touches fresh memory (20,000 rows: 1.7 times faster); at 36
# computing takes twice as long.
_FEW_FEATURES = 24
# Rows computed in float64 at a time (poly, 3,000 rows of satimage and usps: 256 take 1.0 to 1.2
# times, 1024 1.1 to 2.4 times as long), and rows whose mean is the centre (entries are then within
# 10 % of as small as around the mean of all rows, with 4 up to 50 %, uncentred 2 to 5 times as
# large).
_BLOCK = 64

# Bytes of a cache line.
_LINE = 64


def _stride(n: int, itemsize: int) -> int:
    """Entries from one row of a matrix to the next: an odd number of cache lines.

    Rows a power of two apart would share a cache set; rows that do not start a line took nearly
    twice as long to write on two threads (4435 rows, 36 features).
    """
    per_line = _LINE // itemsize
    return (-(-n // per_line) | 1) * per_line


def empty_matrix(n: int, dtype: Any) -> Gram:
    """Memory for a square matrix whose rows start at cache lines."""
    itemsize = np.dtype(dtype).itemsize
    stride = _stride(n, itemsize)
    memory = np.empty(n * stride + _LINE // itemsize, dtype=dtype)
    skipped = -memory.ctypes.data % _LINE // itemsize
    matrix: Gram = memory[skipped : skipped + n * stride].reshape(n, stride)[:, :n]
    return matrix


@dataclass(frozen=True)
class MemoryPlan:
    """How many Gram matrices are kept at once, and how many matrices of distances."""

    buffers: int
    distances: int

    @classmethod
    def within(cls, limit: float, n: int, wanted: int, distances: int) -> MemoryPlan | None:
        """The fastest plan of at most ``limit`` bytes; None if no matrix fits.

        Distances are given up before matrices, without which threads would be idle.
        """
        matrices = int(limit // (4.0 * n * _stride(n, 4)))
        if matrices < 1:
            return None
        if distances and matrices >= wanted + distances:
            return cls(wanted, distances)
        return cls(min(wanted, matrices), 0)

    def bytes(self, n: int) -> float:
        """What the matrices of float32 over n rows take."""
        return 4.0 * n * _stride(n, 4) * (self.buffers + self.distances)


@dataclass
class GramSource:
    """Fills Gram matrices over the rows of X, in their order.

    Attributes
    ----------
    kernel : Kernel
        The kernel, of any width.
    X : array or CSR matrix
        The rows; for a precomputed kernel the square matrix.
    tol : float
        The relative gap that rounding must not disturb.
    dtype : type
        Of the entries: numpy.float32 or numpy.float64.
    centred : bool
        Whether entries may be translated, because the model has an intercept.
    has_room : bool
        Whether there is memory for a matrix.
    keep_distances : bool
        Whether squared distances of rbf are worth and allowed to be kept.
    single : bool
        Whether there is one problem per split: several share the entries of held-out rows
        (26 classes of letter: computing them took 1.2 times as long as reading).
    cancel : _core.Cancel
        Stops a computation under way.
    """

    kernel: Kernel
    X: Any
    tol: float
    dtype: type
    centred: bool
    has_room: bool
    keep_distances: bool
    single: bool
    cancel: Any = field(default_factory=_core.Cancel)
    _distances: Gram | None = None
    _rounded: dict[float, bool] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @staticmethod
    def worth_keeping_distances(kernel: Kernel, X: Any, n_gammas: int) -> bool:
        """Whether distances save time: rbf of many features at several widths."""
        if not kernel.facts.of_squares or n_gammas < 2:
            return False
        entries = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
        return bool(entries > MANY_FEATURES)

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def stores(self, gamma: float) -> bool:
        """Whether the entries at this width are read from a matrix, not computed from points."""
        if not self.rounds(gamma):
            return True
        few = not sp.issparse(self.X) and self.X.shape[1] <= _FEW_FEATURES
        return self.has_room and not (few and self.single)

    def points(self, gamma: float) -> Any:
        """The rows as points of the kernel of this width."""
        return self._training(gamma).float32

    def fill(self, gamma: float, out: Gram, threads: int) -> None:
        """``out[i, j] = K(x_i, x_j)`` at this width."""
        if not self.rounds(gamma):
            self._fill_exactly(self._training(gamma), out, threads)
        elif self.keep_distances:
            _core.rbf_of_distances(self._kept_distances(threads), gamma, out, threads, self.cancel)
        else:
            _core.fill_gram(self.points(gamma), out, threads, self.cancel)

    def _training(self, gamma: float) -> TrainingKernel:
        kernel = replace(self.kernel, gamma=gamma)
        return TrainingKernel(kernel, self.X, [0, self.size], 0.0, threads=1)

    def rounds(self, gamma: float) -> bool:
        """Whether entries at this width are the kernel's own, computed in float32."""
        if gamma not in self._rounded:
            float32 = self.dtype is np.float32
            self._rounded[gamma] = float32 and self._training(gamma).float32_is_safe(self.tol)
        return self._rounded[gamma]

    def _kept_distances(self, threads: int) -> Gram:
        with self._lock:
            if self._distances is None:
                products = empty_matrix(self.size, np.float32)
                # Around the mean, where the kernel's own entries are computed, too.
                linear = Kernel("linear").points(
                    self.kernel.narrow(self.X, self.X),
                    np.float32,
                    self.kernel.shift(self.X),
                    [0, self.size],
                )
                _core.fill_gram(linear, products, threads, self.cancel)
                _core.distances_of_products(products, threads, self.cancel)
                self._distances = products
            return self._distances

    def _fill_exactly(self, training: TrainingKernel, out: Gram, threads: int) -> None:
        offset = self._offset(training, threads) if self.centred else np.zeros(self.size)
        # A function is called for as many rows as a temporary copy may have.
        step = _BLOCK if self.kernel.of_features else max(_BLOCK, CHUNK_ENTRIES // self.size)
        for begin in range(0, self.size, step):
            rows = np.arange(begin, min(begin + step, self.size), dtype=np.int64)
            values = training.float64.rows(rows, threads)
            with np.errstate(over="ignore"):
                out[rows] = values - offset[rows, None] - offset[None, :]
            if not np.isfinite(out[rows]).all():  # of float32
                raise training.kernel.overflow()
            if self.cancel.is_set():
                raise InterruptedError("cancelled")

    def _offset(self, training: TrainingKernel, threads: int) -> Array:
        """The u of the translation that takes the mean of some rows to the origin."""
        some = np.linspace(0, self.size - 1, min(self.size, _BLOCK)).astype(np.int64)
        values = training.float64.rows(np.unique(some), threads)
        return np.asarray(values.mean(axis=0) - 0.5 * values[:, np.unique(some)].mean())
