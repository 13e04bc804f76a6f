"""All binary problems of one fit: one after the other with all threads, or one per thread."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.kernels import TrainingKernel
from psvm.problem import BinaryProblem, Budget
from psvm.solvers.choose import SMALL, Certified, solve_kernel

Array = npt.NDArray[np.float64]


def solve_together(
    problems: Sequence[BinaryProblem],
    starts: Sequence[Array],
    kernel: TrainingKernel,
    budget: Budget,
) -> list[Certified]:
    """Solve every problem from its start; they share the kernel's rows and threads.

    With a callback (``budget.on_round``) problems run in order, on the calling thread.
    """
    threads = min(kernel.threads, len(problems))
    if threads == 1 or budget.on_round is not None:
        return [
            solve_kernel(problem, kernel, start, budget, threads=kernel.threads)
            for problem, start in zip(problems, starts, strict=True)
        ]
    _prepare(problems, kernel, budget)
    cancel = _core.Cancel()
    with ThreadPoolExecutor(threads) as pool:
        tasks: list[Future[Certified]] = [
            pool.submit(solve_kernel, problem, kernel, start, budget, threads=1, cancel=cancel)
            for problem, start in zip(problems, starts, strict=True)
        ]
        try:
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


def _prepare(problems: Sequence[BinaryProblem], kernel: TrainingKernel, budget: Budget) -> None:
    """Build what the threads will share before they start."""
    large = any(problem.y.size > SMALL for problem in problems)
    if large and kernel.float32_is_safe(budget.tol):
        kernel.cache(kernel.float32)
    if not large or not kernel.float32_is_safe(budget.tol):
        kernel.cache(kernel.float64)
