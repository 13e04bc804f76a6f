"""All binary problems of one fit: one after the other with all threads, or one per thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.mathematics.problem import KernelProblem
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.sizes import SMALL
from psvm.solvers.blas_threads import one_blas_thread
from psvm.solvers.kernel.choose import solve_kernel
from psvm.solvers.kernel.hard_tube import solve_hard_tube
from psvm.solvers.kernel.whole import Whole, are_small, solve_whole
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
    if are_small(problems, kernel):
        begun = solve_whole(problems, starts, kernel, budget, on_round, cancel)
    else:
        begun = [Whole(start, []) for start in starts]
    left = [t for t, one in enumerate(begun) if one.solution is None]
    solve = _Solve(problems, begun, kernel, budget, on_round, cancel)
    found = dict(zip(left, solve.each(left, in_order=in_order), strict=True))
    return [one.solution or found[t] for t, one in enumerate(begun)]


@dataclass(frozen=True)
class _Solve:
    """What the problems that are left share."""

    problems: Sequence[KernelProblem]
    begun: Sequence[Whole]
    kernel: TrainingKernel
    budget: Budget
    on_round: Callable[[int, dict[str, Any]], bool] | None
    cancel: Any

    def each(self, left: Sequence[int], *, in_order: bool) -> list[Solution]:
        """The solutions of the problems of these numbers, each by the solvers it takes."""
        workers = min(self.kernel.threads, len(left))
        alone = workers <= 1 or in_order
        # The longest first, so that no thread is left with one when the others have ended.
        order = list(left)
        if not alone:
            order.sort(key=lambda t: -self.problems[t].n_variables)

        def solve(place: int) -> Solution:
            threads = self.kernel.threads if alone else 1
            # A hard problem may take twice as much as if all of those left were hard.
            share = min(1.0, 2.0 * (1 if alone else workers) / (len(order) - place))
            return self.one(order[place], share, threads)

        if alone:
            found = [solve(place) for place in range(len(order))]
        else:
            found = self._in_threads(solve, len(order), workers)
        solutions = dict(zip(order, found, strict=True))
        return [solutions[t] for t in left]

    def one(self, t: int, share: float, threads: int) -> Solution:
        """The solution of one problem, which may take a share of the effort left."""
        begun = self.begun[t]
        ledger = Ledger(
            self.budget, t, self.on_round, self.cancel, share, records=list(begun.records)
        )
        problem = self.problems[t]
        if problem.hard_tube:
            return solve_hard_tube(problem, self.kernel, begun.alpha, ledger, threads=threads)
        return solve_kernel(
            problem, self.kernel, begun.alpha, ledger, threads=threads, solved=begun.solved
        )

    def _in_threads(
        self, solve: Callable[[int], Solution], count: int, workers: int
    ) -> list[Solution]:
        _prepare(self.kernel, self.budget)
        # The problems are the parallelism: a BLAS that starts threads of its own only gets in the
        # way.
        with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
            try:
                with starting_threads():
                    tasks: list[Future[Solution]] = [
                        pool.submit(solve, place) for place in range(count)
                    ]
                # Short waits let the main thread answer signals.
                pending = set(tasks)
                while pending:
                    done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                    for task in done:
                        task.result()
            except BaseException:
                self.cancel.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [task.result() for task in tasks]


def _prepare(kernel: TrainingKernel, budget: Budget) -> None:
    """Build what the threads will share before they start."""
    if kernel.size > SMALL and kernel.float32_is_safe(budget.tol):
        kernel.cache(kernel.float32)
    else:
        kernel.cache(kernel.float64)
