"""Checks at the door: parameters, X and weights, with errors that say what to do."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import cpu_count
from joblib.parallel import SequentialBackend, get_active_backend
from sklearn.utils import assert_all_finite
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from psvm import _core
from psvm.estimators.ready_arrays import are_ready, sums_are_finite
from psvm.rows.blocks import split_rows
from psvm.rows.kernel import KERNELS, Kernel
from psvm.rows.sparse_format import sound_sparse

Array = npt.NDArray[np.float64]

MULTI_CLASS = ("ovo", "ovr")
# X as the linear solvers want it; its entries are checked by `check_entries`.
_ROW_FORMAT: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": (np.float64, np.float32),
    "order": "C",
    "ensure_all_finite": False,
}
# Coefficients of a linear model, each 8 bytes of memory: the widest public data have 55 million.
_MOST_COEFFICIENTS = 2**28
# Largest entry whose products with others are safely within float64. Of small ones the fourth
# power counts, too: dual variables of a hard margin are of the size of 1 over their squares.
_LARGEST, _SMALLEST = 1e100, 1e-70
# Beyond, xi^p has lost more than the first ten digits to the rounding of xi.
_LARGEST_P = 1e6


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_p(p: Any, name: str = "p") -> float:
    """The exponent as a float."""
    if not _is_real(p) or not 1 <= p <= _LARGEST_P:
        raise ValueError(f"`{name}` must be a float >= 1 and at most {_LARGEST_P:g}, got {p!r}.")
    return float(p)


def check_C(C: Any, name: str = "C") -> float:
    """The cost as a float, possibly infinite."""
    if not _is_real(C) or not C > 0:
        raise ValueError(
            f"`{name}` must be a float > 0, or numpy.inf to allow no slack, got {C!r}."
        )
    return float(C)


def check_epsilon(epsilon: Any, name: str = "epsilon") -> float:
    """Half the width of the tube, in the unit of y."""
    if not _is_real(epsilon) or not 0 <= epsilon < math.inf:
        raise ValueError(
            f"`{name}` must be a finite float >= 0, in the unit of y, got {epsilon!r}."
        )
    return float(epsilon)


def check_quantile(quantile: Any, name: str = "quantile") -> float:
    """The quantile that is asked for."""
    if not _is_real(quantile) or not 0 < quantile < 1:
        raise ValueError(f"`{name}` must lie in (0, 1), got {quantile!r}.")
    return float(quantile)


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
    """Bytes for kernel rows: a quarter of the memory available if ``cache_size`` is None.

    It is taken as rows come. (93 features, of 4.7 GB: 30,000 rows of zeros and ones, p = 1, C = 10
    took 3.0 GB and 5.7 s; with 2, 1.4 and 0.9 GB 7.0, 9.5 and 8.8 s. 50,000 rows at C = 1 took 3.7
    GB, and as long with 1; the same of zeros and ones at p = 1.5 2.7 GB and 32 s, with 1 GB 27 s.)
    """
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


def check_verbose(verbose: Any) -> int:
    """How much is told of a fit."""
    if not isinstance(verbose, Integral | np.bool_) or verbose < 0:
        raise ValueError(f"`verbose` must be an integer >= 0, got {verbose!r}.")
    return int(verbose)


def check_gamma(gamma: Any, name: str = "gamma") -> float | str:
    """The kernel width as a number, or the word for one that follows from X."""
    if isinstance(gamma, str):
        return check_choice(name, gamma, ("scale", "auto"))
    if not _is_real(gamma) or not 0 < gamma < math.inf:
        at_0 = "; at 0 the kernel would be the same for all rows" if gamma == 0 else ""
        raise ValueError(
            f"`{name}` must be a finite float > 0, 'scale' or 'auto', got {gamma!r}{at_0}."
        )
    return float(gamma)


def check_kernel(kernel: Any, degree: Any, coef0: Any) -> Kernel:
    """The kernel, of any width."""
    if not callable(kernel):
        check_choice("kernel", kernel, KERNELS)
    return Kernel(kernel, degree=check_degree(degree), coef0=check_number("coef0", coef0))


def check_threads(n_jobs: Any) -> int:
    """Number of threads: what OpenMP may use here if ``n_jobs`` is None, else as joblib reads it.

    OpenMP's number follows OMP_NUM_THREADS, threadpoolctl's limits and joblib's workers. Threads
    are of this machine: joblib's answer under dask would be the cores of the whole cluster.
    """
    if n_jobs is None:
        return max(1, int(_openmp_effective_n_threads()))
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"`n_jobs` must be None or an integer other than 0, got {n_jobs!r}.")
    if isinstance(get_active_backend()[0], SequentialBackend):  # so deep inside others, no more
        return 1
    wanted = int(n_jobs)
    return wanted if wanted > 0 else max(1, cpu_count() + 1 + wanted)


def check_weights(sample_weight: Any, n: int) -> Array:
    """One weight for each of n rows, >= 0."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        weight = np.full(n, check_number("sample_weight", sample_weight))
    else:
        weight = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
        )
    if weight.shape != (n,):
        raise ValueError(
            f"`sample_weight` must have one entry per row, shape {(n,)}, got shape {weight.shape}."
        )
    if (weight < 0).any():
        raise ValueError(
            f"`sample_weight` must be >= 0, got {weight.min():g}; use 0 to leave a row out (SVC "
            f"and SVR leave out those below 0 without a word)."
        )
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not math.isfinite(total):
        raise ValueError(
            f"`sample_weight` must have a finite sum, got {n} weights up to {weight.max():g}; "
            f"divide them by the largest."
        )
    return weight


def canonical(X: Any) -> Any:
    """X itself, or a CSR matrix with sorted indices and no duplicates; never changed in place."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_entries(X: Any, estimator: Any) -> float:
    """The size of the largest entry of X (C-contiguous or CSR), roughly; none is too large.

    A sum of squares in range proves it in one fast pass; only else the entries are looked at.
    """
    values = X.data if sp.issparse(X) else np.asarray(X).reshape(-1)
    with np.errstate(all="ignore"):  # no BLAS: its threads stall when others are at work
        squares = float(np.einsum("i,i->", values, values))
    if _SMALLEST <= squares <= _LARGEST**2:
        return math.sqrt(squares)
    with _sums_beyond_range():
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    largest = largest_entry(X)
    if largest > _LARGEST:
        check_range(largest)
    return largest


def largest_entry(X: Any, threads: int = 1) -> float:
    """The size of the largest entry of X, all of which are finite."""
    return _core.largest_entry(X.data[None] if sp.issparse(X) else X, threads)


def check_range(largest: float) -> None:
    """The products of entries up to this size are within the range of float64."""
    if largest > _LARGEST or 0.0 < largest < _SMALLEST:
        at_most = "" if largest > _LARGEST else " at most"
        raise ValueError(
            f"X has entries of size {largest:.1e}{at_most}, whose products leave the range of "
            f"float64; scale X, for instance with StandardScaler."
        )


def check_width(problems: int, features: int) -> None:
    """A coefficient for every feature, used or not, fits into memory."""
    if problems * features > _MOST_COEFFICIENTS:
        raise ValueError(
            f"A linear model keeps one coefficient per feature and binary problem, at most "
            f"{_MOST_COEFFICIENTS}, got {features} features and {problems} problems "
            f"({problems * features * 8 / 2**30:.3g} GiB). Leave out the columns of X without "
            f"entries, hash the features into fewer, or use PSVC(kernel='linear')."
        )


@dataclass(frozen=True)
class SeenFeatures:
    """What a fit remembers of the columns of X."""

    count: int | None  # None for rows that have no columns, as texts
    names: npt.NDArray[Any] | None

    _noted_as: ClassVar = ("n_features_in_", "feature_names_in_")

    @classmethod
    def by(cls, estimator: Any) -> SeenFeatures:
        """What scikit-learn's validation has noted on an estimator."""
        return cls(*(getattr(estimator, name, None) for name in cls._noted_as))

    def store(self, estimator: Any) -> None:
        """Note them on the fitted estimator."""
        for name, value in zip(self._noted_as, (self.count, self.names), strict=True):
            estimator.__dict__.pop(name, None)
            if value is not None:
                setattr(estimator, name, value)


def twin_of(estimator: Any) -> Any:
    """As ``copy.copy``, at a tenth of the time, which is one in twenty of a small fit."""
    twin = object.__new__(type(estimator))
    twin.__dict__ = dict(estimator.__dict__)
    return twin


def _sums_beyond_range() -> np.errstate:
    """scikit-learn sums up X to see whether it is finite: of float32, sums may be inf - inf."""
    return np.errstate(over="ignore", invalid="ignore")


def check_data(
    estimator: Any, X: Any, y: Any, *, sparse: bool = True
) -> tuple[SeenFeatures, Any, Any]:
    """X as an array or canonical CSR matrix of floats, y, and the features of X.

    The estimator stays as it is: what scikit-learn's validation notes goes to a copy.
    """
    dtypes = (np.float64, np.float32) if sparse else (np.float64,)
    if are_ready(X, y, dtypes) and sums_are_finite(X):
        return SeenFeatures(X.shape[1], None), X, y
    seeing = twin_of(estimator)
    with _sums_beyond_range():
        X, y = validate_data(
            seeing, sound_sparse(X), y, accept_sparse="csr" if sparse else False, dtype=dtypes
        )
    return SeenFeatures.by(seeing), canonical(X), y


def check_features(estimator: Any, X: Any) -> Any:
    """The same of X alone, without regard to its features."""
    dtypes = (np.float64, np.float32)
    with _sums_beyond_range():
        X = check_array(sound_sparse(X), accept_sparse="csr", dtype=dtypes, estimator=estimator)
    return canonical(X)


def check_rows(estimator: Any, X: Any, y: Any) -> tuple[SeenFeatures, Any, Any]:
    """X, y and features for the linear solvers: contiguous rows, entries finite, of sane range.

    A C-ordered float32 or float64 array or memmap is not copied.
    """
    if are_ready(X, y) and X.flags.c_contiguous:
        seen = SeenFeatures(X.shape[1], None)
    else:
        seeing = twin_of(estimator)
        X, y = _check_block(seeing, X, y, reset=True)
        seen = SeenFeatures.by(seeing)
    rows = split_rows(X)
    check_range(max(check_entries(rows[k], estimator) for k in range(len(rows))))
    return seen, rows, y


def check_new_rows(estimator: Any, X: Any, **format: Any) -> Any:
    """Rows to predict for, as an array or CSR matrix of floats."""
    check_is_fitted(estimator)
    dtypes = (np.float64, np.float32)
    with _sums_beyond_range():
        return validate_data(
            estimator, sound_sparse(X), reset=False, accept_sparse="csr", dtype=dtypes, **format
        )


def _check_block(seeing: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
    """X as C-contiguous array, memmap or canonical CSR, and y; the entries of X are not read."""
    refuse_collections(seeing, X, y)
    rows, y = validate_data(seeing, sound_sparse(X), y, reset=reset, **_ROW_FORMAT)
    if isinstance(X, np.memmap) and rows.base is X:
        rows = X  # still known to be a file
    return canonical(rows), y


def refuse_collections(estimator: Any, *given: Any) -> None:
    """Refuse what lies on a cluster, which would be fetched into this machine's memory."""
    for one in given:
        if type(one).__module__.split(".")[0] in ("dask", "dask_expr"):
            raise TypeError(
                f"{type(estimator).__name__} is for one machine, got {type(one).__module__}."
                f"{type(one).__name__}. Use psvm.dask.Dask{type(estimator).__name__}, or compute() "
                f"what fits into memory."
            )


class CheckedBlocks(Sequence[Any]):
    """The rows of ``blocks[k][0]``, loaded on demand and in the format of the linear solvers."""

    def __init__(self, blocks: Any, shapes: Sequence[tuple[int, int]], sparse: bool) -> None:
        self._blocks, self._shapes, self._sparse = blocks, shapes, sparse
        self.sizes = [n for n, _ in shapes]

    def __len__(self) -> int:
        return len(self._shapes)

    @overload
    def __getitem__(self, k: int) -> Any: ...

    @overload
    def __getitem__(self, k: slice) -> Sequence[Any]: ...

    def __getitem__(self, k: int | slice) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        shape = self._shapes[k]
        X = canonical(check_array(sound_sparse(self._blocks[k][0]), **_ROW_FORMAT))
        if X.shape != shape:
            raise ValueError(
                f"blocks[{k}] must be the same every time it is read, got X of shape {X.shape} "
                f"after {shape}."
            )
        return sp.csr_matrix(X) if self._sparse and not sp.issparse(X) else X


@dataclass(frozen=True)
class ReadBlocks:
    """Blocks that have been read once: their rows, and labels and weights of all of them."""

    seen: SeenFeatures
    rows: CheckedBlocks
    y: npt.NDArray[Any]
    weight: Array


def read_blocks(
    estimator: Any,
    blocks: Any,
    classes: Any = None,
    check_y: Callable[[Any], npt.NDArray[Any]] = lambda y: y,
) -> ReadBlocks:
    """Read every block once and check it; the features are those of the first.

    With ``classes``, these and no other labels must occur. ``check_y`` refuses what is wrong with
    the labels or targets of a block.
    """
    if not (hasattr(blocks, "__len__") and hasattr(blocks, "__getitem__")):
        raise TypeError(
            f"`blocks` must be a sequence, with len(blocks) and blocks[k], because every block is "
            f"read several times; got {type(blocks).__name__}."
        )
    if len(blocks) == 0:
        raise ValueError("`blocks` must hold at least one block, got none.")
    shapes: list[tuple[int, int]] = []
    labels: list[npt.NDArray[Any]] = []
    weights: list[Array] = []
    sparse, largest = False, 0.0  # if some are sparse, all will be
    seeing = twin_of(estimator)
    for k in range(len(blocks)):
        block = blocks[k]
        try:
            if not isinstance(block, tuple | list) or len(block) not in (2, 3):
                items = len(block) if isinstance(block, tuple | list) else "no"
                raise ValueError(
                    f"expected (X, y) or (X, y, sample_weight), got {type(block).__name__} "
                    f"with {items} items."
                )
            X, y = _check_block(seeing, block[0], check_y(block[1]), reset=k == 0)
            largest = max(largest, check_entries(X, estimator))
            weights.append(check_weights(block[2] if len(block) == 3 else None, y.size))
            if labels and (y.dtype.kind in "US") != (labels[0].dtype.kind in "US"):
                raise ValueError(f"y has labels of type {y.dtype}, blocks[0] {labels[0].dtype}.")
            if classes is not None and not np.isin(y, classes).all():
                unknown = y[~np.isin(y, classes)][0]
                raise ValueError(f"y has the label {unknown}, which is not in `classes`.")
        except ValueError as error:
            raise ValueError(f"blocks[{k}]: {error}") from error
        sparse |= sp.issparse(X)
        shapes.append(X.shape)
        labels.append(y)
    check_range(largest)
    y = np.concatenate(labels)
    missing = [] if classes is None else np.setdiff1d(classes, y).tolist()
    if missing:
        raise ValueError(f"`classes` has labels of no row: {missing!r}.")
    return ReadBlocks(
        SeenFeatures.by(seeing),
        CheckedBlocks(blocks, shapes, sparse),
        y,
        np.concatenate(weights),
    )
