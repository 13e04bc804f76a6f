"""What a search leaves for the fit of its choice to the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.problem import KernelProblem, feasible
from psvm.rows.equal_rows import EqualRows
from psvm.rows.kernel_matrix import TrainingKernel

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HeadStart:
    """Dual variables near the solution, and the kernel matrix, if it is still in memory.

    Attributes
    ----------
    alpha : ndarray of shape (n_problems, n_samples)
        Dual variables of every row of X, 0 for rows that have no part in a problem.
    order : ndarray of int
        The row of X at each place of the matrix; sorted by class.
    gram : ndarray of float32 or None
        The kernel matrix in this order.
    """

    alpha: Array
    order: Rows
    gram: npt.NDArray[Any] | None

    def has_rows(self, same: EqualRows) -> bool:
        """Whether there is a matrix, and it has one row for each of the groups of equal rows."""
        return self.gram is not None and same.first.size == self.order.size

    def alpha_for(
        self,
        t: int,
        problem: KernelProblem,
        kernel: TrainingKernel,
        kept: npt.NDArray[np.intp],
        same: EqualRows,
        order: npt.NDArray[np.intp],
    ) -> Array:
        """A feasible start for the t-th problem.

        Its rows are those of the problem's segments of ``kernel``, which holds the groups of the
        rows ``kept`` in the order ``order``.
        """
        alpha = same.totals(self.alpha[t][kept])[order][kernel.columns(problem.segments)]
        return feasible(problem, alpha)
