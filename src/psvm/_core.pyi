from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

class Cancel:
    def set(self) -> None: ...
    def is_set(self) -> bool: ...

class Budget:
    def __init__(
        self,
        *,
        tol: float,
        max_iter: int = -1,
        max_time: float | None = None,
        max_effort: float | None = None,
        impatient: bool = False,
        max_steps: int = -1,
        certificate: float = 0.0,
    ) -> None: ...

class KernelProblem:
    def __init__(
        self,
        *,
        segments: Sequence[int],
        y: Array,
        target: Array,
        cost: Array,
        p: float,
        fit_intercept: bool,
        kernel_row: npt.NDArray[np.int64] | None = None,
        balance: float = 0.0,
    ) -> None: ...

class FoldProblem:
    def __init__(
        self,
        *,
        train: npt.NDArray[np.int64],
        y: Array,
        cost: Array,
        held_out: npt.NDArray[np.int64],
        train_columns: npt.NDArray[np.int64],
        held_out_columns: npt.NDArray[np.int64],
        fit_intercept: bool,
        target: Array | None = None,
        place: npt.NDArray[np.int64] | None = None,
    ) -> None: ...

OUTSIDE_MARGIN: float  # how far outside the margin a row is no support vector
MOST_CANCELLED_SPARSE: float  # the same for sparse rows
MOST_CANCELLED: float  # terms times exponent from which rbf sums differences

class Precision:
    def __init__(
        self, *, tol: float, more_rounds: int = 0, max_steps: int = -1, keep_alpha: bool = False
    ) -> None: ...

class _Kernel:
    @classmethod
    def dense(
        cls,
        x: npt.NDArray[Any],
        shift: Array | None,
        name: str,
        gamma: float,
        coef0: float,
        degree: int,
        starts: Sequence[int],
        by_differences: bool | None = None,
    ) -> Self: ...
    @classmethod
    def csr(
        cls,
        data: npt.NDArray[Any],
        indices: npt.NDArray[Any],
        indptr: npt.NDArray[Any],
        features: int,
        name: str,
        gamma: float,
        coef0: float,
        degree: int,
        starts: Sequence[int],
        by_differences: bool | None = None,
    ) -> Self: ...
    @classmethod
    def matrix(cls, values: npt.NDArray[Any], starts: Sequence[int]) -> Self: ...
    @classmethod
    def callback(
        cls,
        function: Callable[[npt.NDArray[np.int64], Any], npt.NDArray[Any]],
        diagonal: Sequence[float],
        starts: Sequence[int],
    ) -> Self: ...
    @property
    def size(self) -> int: ...
    def diagonal(self) -> Array: ...
    def rows(
        self,
        rows: npt.NDArray[np.int64],
        threads: int = 1,
        source: Self | None = None,
        segments: Sequence[int] | None = None,
    ) -> npt.NDArray[Any]: ...
    def apply(
        self,
        rows: npt.NDArray[np.int64],
        coef: npt.NDArray[Any],
        threads: int = 1,
        source: Self | None = None,
        segments: Sequence[int] | None = None,
    ) -> Array: ...
    def apply_all(self, coef: npt.NDArray[Any], threads: int) -> Array: ...
    def combine(
        self,
        rows: npt.NDArray[np.int64],
        coef: npt.NDArray[Any],
        threads: int,
        source: Self,
    ) -> Array: ...
    @property
    def cancellation(self) -> float: ...
    @property
    def by_differences(self) -> bool: ...
    def half_squared_norms(self) -> Array: ...

class Kernel32(_Kernel):
    @staticmethod
    def bytes(
        x: npt.NDArray[np.uint8], step: float, gamma: float, starts: Sequence[int]
    ) -> Kernel32: ...

class Kernel64(_Kernel): ...

class Cache32:
    def __init__(self, kernel: Kernel32, bytes: float) -> None: ...

class Cache64:
    def __init__(self, kernel: Kernel64, bytes: float) -> None: ...

class _Expansion:
    def decisions(self, columns: Any, intercept: Array, threads: int) -> Array: ...
    def sums_and_sizes(self, columns: Any, threads: int) -> tuple[Array, Array]: ...

class Expansion32(_Expansion):
    def __init__(
        self, vectors: Kernel32, coef: npt.NDArray[Any], counts: Sequence[int], pairwise: bool
    ) -> None: ...

class Expansion64(_Expansion):
    def __init__(
        self, vectors: Kernel64, coef: npt.NDArray[Any], counts: Sequence[int], pairwise: bool
    ) -> None: ...

def decisions_of_values(
    values: Array,
    coef: Array,
    counts: Sequence[int],
    pairwise: bool,
    intercept: Array,
    threads: int,
) -> Array: ...
def votes_of_pairs(decisions: Array, classes: int) -> Array: ...
def certain_class(
    decisions: Array, bound: Array, classes: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]: ...
def fingerprint(arrays: Sequence[npt.NDArray[Any]]) -> int: ...
def group_equal(
    hashes: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]: ...
def hash_rows(
    x: npt.NDArray[Any], codes: npt.NDArray[np.int32], threads: int
) -> npt.NDArray[np.uint64]: ...
def hash_sparse_rows(
    data: npt.NDArray[Any],
    indices: npt.NDArray[Any],
    indptr: npt.NDArray[Any],
    codes: npt.NDArray[np.int32],
    threads: int,
) -> npt.NDArray[np.uint64]: ...
def largest_entry(values: npt.NDArray[Any], threads: int) -> float: ...
def symmetry_of(values: npt.NDArray[Any], threads: int) -> tuple[float, float]: ...
def submatrix_of(
    values: npt.NDArray[Any], rows: npt.NDArray[np.int64], out: Array, threads: int
) -> None: ...

class BlockShare:
    def __init__(
        self,
        rows: npt.NDArray[np.int32] | None,
        codes: npt.NDArray[np.int32],
        cost: Array,
        signs: npt.NDArray[np.int8],
        target: Array | None = None,
        feature_row: npt.NDArray[np.int32] | None = None,
    ) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def rows(self) -> npt.NDArray[np.int32] | None: ...
    @property
    def feature_row(self) -> npt.NDArray[np.int32] | None: ...
    @property
    def centre(self) -> Array: ...
    @property
    def alpha(self) -> Array: ...
    @property
    def weight(self) -> Array: ...
    @property
    def best(self) -> Array: ...
    def set_best(self, alpha: Array) -> None: ...
    def keep_best(self, linearised: bool, minus: float, plus: float) -> None: ...

class Envelope:
    def __init__(self, p: float, sigma: float, hard: bool = False) -> None: ...

class PassOrder:
    def __init__(
        self,
        share: BlockShare,
        kind: str,
        envelope: Envelope,
        *,
        direction: Array | None = None,
        b: float = 0.0,
        step: float = 0.0,
        centre: str = "keep",
        linearise: bool = False,
        delta: bool = False,
    ) -> None: ...

def nonzeros_of(
    x: npt.NDArray[Any], threads: int
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...

class BlockRows:
    @classmethod
    def dense(cls, x: npt.NDArray[Any]) -> Self: ...
    @classmethod
    def csr(
        cls,
        data: npt.NDArray[Any],
        indices: npt.NDArray[Any],
        indptr: npt.NDArray[Any],
        features: int,
    ) -> Self: ...
    def run(
        self, orders: Sequence[PassOrder], threads: int, cancel: Cancel | None = None
    ) -> list[dict[str, Any]]: ...
    def gram(
        self, share: BlockShare, shift: Array | None, threads: int, cancel: Cancel | None = None
    ) -> Array: ...
    def squares(self, share: BlockShare) -> Array: ...

def cpu() -> str: ...
def has_byte_products() -> bool: ...

MOST_BYTE_FEATURES: int

def entries_computed() -> int: ...
def solve_working_set(
    kernel: Kernel32 | Kernel64,
    cache: Cache32 | Cache64 | None,
    problem: KernelProblem,
    alpha: Array,
    budget: Budget,
    *,
    decision: Array | None = None,
    on_round: Callable[[dict[str, Any]], bool] | None = None,
    threads: int = 1,
    cancel: Cancel | None = None,
) -> dict[str, Any]: ...
def best_intercept(
    y: Array,
    target: Array,
    decision: Array,
    cost: Array,
    *,
    p: float,
    balance: float = 0.0,
    near: float | None = None,
) -> float: ...
def rounding_of_sums(
    *,
    count: int,
    cost: float,
    alpha: float,
    excess: float,
    largest_target: float,
    certificate: tuple[float, float, float, float, float, float],
    p: float,
    fit_intercept: bool,
    balance: float,
    power_error: tuple[float, float],
    error: float,
    largest: float,
) -> tuple[float, float]: ...
def solve_whole_problems(
    kernel: Kernel64,
    segments: npt.NDArray[np.int64],
    *,
    y: Array,
    target: Array,
    cost: Array,
    alpha: Array,
    kernel_row: npt.NDArray[np.int64] | None,
    sizes: npt.NDArray[np.int64],
    p: float,
    fit_intercept: bool,
    tol: float,
    polish: bool,
    doubtful: bool,
    max_steps: int = -1,
    max_iter: int = -1,
    max_effort: float | None = None,
    max_time: float | None = None,
    power_error: tuple[float, float],
    error_of_unit: float,
    largest_entry: float,
    on_round: Callable[[int, bool, dict[str, Any]], bool] | None = None,
    threads: int = 1,
    cancel: Cancel | None = None,
) -> dict[str, Any]: ...

class NewtonStart:
    def __init__(self, w: Array, b: float, sigma: float) -> None: ...

def solve_at_once(
    rows: BlockRows,
    codes: npt.NDArray[np.int32],
    cost: Array,
    signs: npt.NDArray[np.int8],
    target: Array | None,
    feature_row: npt.NDArray[np.int32] | None,
    p: float,
    fit_intercept: bool,
    exact: bool,
    power_error: tuple[float, float],
    budget: Budget,
    why: tuple[str, str, str],
    on_round: Callable[[int, dict[str, Any]], bool] | None,
    threads: int,
    start: NewtonStart | None = None,
) -> dict[str, Any]: ...
def certify_pair(
    w: Array,
    image: Array,
    values: dict[str, float],
    count: int,
    balanced: bool,
    hard: bool,
    power_error: tuple[float, float],
) -> tuple[float, float, float, float, float]: ...

class CoordinateProblem:
    def __init__(
        self,
        y: Array,
        cost: Array,
        p: float,
        fit_intercept: bool,
        target: Array | None = None,
        feature_row: npt.NDArray[np.int64] | None = None,
    ) -> None: ...

def solve_coordinate_descent(
    rows: BlockRows,
    problem: CoordinateProblem,
    alpha: Array,
    budget: Budget,
    *,
    on_round: Callable[[dict[str, Any]], bool] | None = None,
    cancel: Cancel | None = None,
) -> dict[str, Any]: ...
def fill_gram(
    kernel: Kernel32, out: npt.NDArray[Any], threads: int, cancel: Cancel | None
) -> None: ...
def distances_of_products(gram: npt.NDArray[Any], threads: int, cancel: Cancel | None) -> None: ...
def rbf_of_distances(
    distances: npt.NDArray[Any],
    gamma: float,
    out: npt.NDArray[Any],
    threads: int,
    cancel: Cancel | None,
) -> None: ...
def solve_fold_path(
    kernel: npt.NDArray[Any] | Kernel32 | Kernel64,
    problem: FoldProblem,
    ps: Array,
    Cs: Array,
    precision: Precision,
    *,
    epsilons: Array | None = None,
    starts: Array | None = None,
    on_cells: Callable[[int], None] | None = None,
    cancel: Cancel | None = None,
) -> dict[str, Any]: ...
