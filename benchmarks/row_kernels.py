"""What one kernel entry costs: ``python -m benchmarks.row_kernels``.

Rows of each kernel against points it has packed, combined with coefficients and never stored, as a
fit and a prediction need them: nanoseconds per entry for float32 and float64 entries, dense and
sparse features (a quarter of them nonzero), few and many. In brackets the ratio to rbf; no kernel
should need more than twice its time, and no float64 entry more than twice a float32 one. One
thread, CPU time, fastest of several runs. Prints a Markdown table; ``--quick`` takes a second.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.tables import table

KERNELS = ("rbf", "linear", "poly", "sigmoid", "laplacian", "exponential")
FEATURES = (8, 64, 784)
DENSITY = 0.25
TYPES = (np.float32, np.float64)
COLUMNS = {False: 4096, True: 64}  # True: quick
RUNS = {False: 7, True: 2}
ROWS = 384  # a multiple of the rows of every tile and group


def nanoseconds(kernel: str, dtype: type, features: int, sparse: bool, quick: bool) -> float:
    """Time of one entry."""
    from psvm.rows.kernel import Kernel

    columns = COLUMNS[quick]
    rng = np.random.default_rng(0)
    X: Any = rng.normal(size=(columns, features))
    if sparse:
        X = sp.csr_matrix(np.where(rng.random(X.shape) < DENSITY, X, 0.0))
    gamma = 1.0 / features
    points = Kernel(kernel, gamma, 1.0, 3).points(X, dtype, None, [0, columns])
    rows = rng.integers(columns, size=ROWS).astype(np.int64)
    coef = rng.normal(size=ROWS).astype(dtype)
    best = np.inf
    for _ in range(RUNS[quick]):
        begin = time.process_time()
        points.apply(rows, coef, 1)
        best = min(best, time.process_time() - begin)
    return best / (ROWS * columns) * 1e9


def measure(quick: bool, features: Sequence[int] = FEATURES) -> list[list[str]]:
    """One line of cells per kernel."""
    settings = [(d, sparse, t) for d in features for sparse in (False, True) for t in TYPES]
    times = {(k, *s): nanoseconds(k, s[2], s[0], s[1], quick) for k in KERNELS for s in settings}
    return [
        [k, *(f"{times[k, *s]:.2g} ({times[k, *s] / times['rbf', *s]:.1f})" for s in settings)]
        for k in KERNELS
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few entries: only to try it")
    quick = parser.parse_args(arguments).quick
    header = [
        f"d={d} {'sparse' if sparse else 'dense'} {dtype.__name__}"
        for d in FEATURES
        for sparse in (False, True)
        for dtype in TYPES
    ]
    print("\n".join(table(["ns per entry (ratio to rbf)", *header], measure(quick))))


if __name__ == "__main__":
    main()
