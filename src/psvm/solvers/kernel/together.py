"""All binary problems of one fit: one after the other with all threads, or one per thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.mathematics.problem import KernelProblem
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.sizes import SMALL
from psvm.solvers.blas_threads import one_blas_thread
from psvm.solvers.kernel.choose import solve_kernel
from psvm.solvers.kernel.whole import Whole, is_small, solve_whole
from psvm.solvers.ledger import Budget, Ledger, Solution
from psvm.solvers.new_threads import starting_threads

Array = npt.NDArray[np.float64]


def solve_together(
    problems: Sequence[KernelProblem],
    starts: Sequence[Array],
    kernel: TrainingKernel,
    budget: Budget,
    on_round: Callable[[int, dict[str, Any]], bool] | None,
    *,
    in_order: bool,
) -> list[Solution]:
    """Solve every problem from its start; they share the kernel's rows, threads and time.

    ``on_round``, if given, gets the number of a problem and the record of one of its rounds, and
    stops that problem by a true answer. With ``in_order`` problems run one after the other, on the
    calling thread.
    """
    budget = budget.over_rows(kernel.size)
    cancel = _core.Cancel()
    begun = [Whole(None, start, []) for start in starts]
    if on_round is None and budget.max_iter < 0 and is_small(problems, kernel):
        begun = solve_whole(problems, starts, kernel, budget, cancel)
    left = [t for t, one in enumerate(begun) if one.solution is None]
    found = dict(zip(left, _solve_each(problems, begun, left, kernel, budget, on_round, cancel, in_order)))
    return [one.solution or found[t] for t, one in enumerate(begun)]


def _solve_each(
    problems: Sequence[KernelProblem],
    begun: Sequence[Whole],
    left: Sequence[int],
    kernel: TrainingKernel,
    budget: Budget,
    on_round: Callable[[int, dict[str, Any]], bool] | None,
    cancel: Any,
    in_order: bool,
) -> list[Solution]:
    """The solutions of the problems that are left, each by the solvers it takes."""
    workers = min(kernel.threads, len(left))
    alone = workers <= 1 or in_order

    def solve(place: int) -> Solution:
        t, threads = left[place], kernel.threads if alone else 1
        # A hard problem may take twice as much as if all of those left were hard.
        share = min(1.0, 2.0 * (1 if alone else workers) / (len(left) - place))
        ledger = Ledger(budget, t, on_round, cancel, share, records=begun[t].records)
        return solve_kernel(problems[t], kernel, begun[t].alpha, ledger, threads=threads)

    if alone:
        return [solve(place) for place in range(len(left))]
    _prepare(kernel, budget)
    # The problems are the parallelism: a BLAS that starts threads of its own only gets in the way.
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        try:
            with starting_threads():
                tasks: list[Future[Solution]] = [
                    pool.submit(solve, place) for place in range(len(left))
                ]
            # Short waits let the main thread answer signals.
            pending = set(tasks)
            while pending:
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                for task in done:
                    task.result()
        except BaseException:
            cancel.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [task.result() for task in tasks]


def _prepare(kernel: TrainingKernel, budget: Budget) -> None:
    """Build what the threads will share before they start."""
    if kernel.size > SMALL and kernel.float32_is_safe(budget.tol):
        kernel.cache(kernel.float32)
    else:
        kernel.cache(kernel.float64)
