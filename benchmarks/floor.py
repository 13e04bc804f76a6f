"""The floor: the least time in which psvm could fit, given the support vectors.

Whoever knew the support vectors would still have to compute their kernel rows once. The floor is
the time of that with the product's own row kernel: float32 rows of the final support vectors
against all training rows, multiplied by their coefficients and never stored, with the threads of
the fit. Fit seconds over floor seconds say how much of a fit is search.

What is counted is the least that the product itself needs, so that the quotient flatters nobody:

- rows and support vectors after equal rows were merged, as a fit merges them;
- rows that are mostly zero as sparse ones, as a fit computes with them;
- for several classes each kernel value once, although pairs of classes share it: the row of a
  support vector over the rows of its own class, and over those of every class against which it is
  a support vector;
- packing the rows is not counted, and the fastest of a few runs in warm memory is taken.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.objective import DualModel

Index = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int64]

RUNS = 3  # of which the fastest counts
ENOUGH = 1.0  # seconds after which there is no further run


def floor_seconds(X: Any, y: Labels, model: DualModel, gamma: float, threads: int) -> float:
    """Seconds for the kernel rows of the support vectors of an rbf model over the rows of X."""
    from psvm.estimators.validation import canonical
    from psvm.rows.dense_or_sparse import stored_for_kernel
    from psvm.rows.equal_rows import find_equal_rows
    from psvm.rows.kernel import Kernel
    from psvm.rows.kernel_matrix import TrainingKernel

    X = stored_for_kernel(canonical(X), "rbf", threads)
    same = find_equal_rows(X, y.astype(np.int32))
    labels = y[same.first]
    by_class = np.argsort(labels, kind="stable")
    place = np.argsort(by_class)
    starts = [0, *np.cumsum(np.bincount(labels)).tolist()]
    kernel = TrainingKernel(Kernel("rbf", gamma), X[same.first[by_class]], starts, 0.0, threads)
    matrix = kernel.float32
    rows, used = merged_support(model, same.group)

    def apply(chosen: Index, segments: list[int], threads: int) -> None:
        ones = np.ones(chosen.size, dtype=np.float32)
        matrix.apply(place[rows[chosen]], ones, threads, segments=segments)

    if used.shape[0] == 1:  # two classes are one problem, whose passes use all threads
        return fastest(lambda: apply(np.arange(rows.size), [0, 1], threads))
    parts = list(needed_parts(used, labels[rows]))
    with ThreadPoolExecutor(threads) as pool:  # several: one problem per thread
        return fastest(lambda: list(pool.map(lambda part: apply(part[0], [part[1]], 1), parts)))


def merged_support(model: DualModel, group: npt.NDArray[np.intp]) -> tuple[Index, Any]:
    """The merged rows that are support vectors, and where their coefficients are not zero."""
    rows, which = np.unique(group[model.support], return_inverse=True)
    used = np.zeros((model.dual_coef.shape[0], rows.size), dtype=bool)
    for mask, line in zip(used, model.dual_coef, strict=True):
        np.logical_or.at(mask, which, line != 0.0)
    return rows.astype(np.int64), used


def needed_parts(used: Any, labels: Labels) -> Iterator[tuple[Index, int]]:
    """Support vectors and the class over whose rows their kernel values are needed.

    ``used`` has the layout of ``DualModel.dual_coef``: for a support vector of class i, line j - 1
    (or j, if j < i) belongs to the problem of i against j.
    """
    n_classes = used.shape[0] + 1
    for own in range(n_classes):
        mine = labels == own
        for other in range(n_classes):
            line = other - 1 if other > own else other
            wanted = used.any(axis=0) if own == other else used[line]
            chosen = np.flatnonzero(mine & wanted)
            if chosen.size:
                yield chosen, other


def fastest(run: Any) -> float:
    """Seconds of the fastest of a few runs."""
    best = np.inf
    begin = time.perf_counter()
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > ENOUGH:
            break
    return float(best)
