"""All binary problems of one fit: one after the other with all threads, or one per thread."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

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
    """Solve every problem from its start; they share the kernel's rows, threads and time.

    With a callback (``budget.on_round``) problems run in order, on the calling thread.
    """
    began = time.perf_counter()
    workers = min(kernel.threads, len(problems))
    alone = workers == 1 or budget.on_round is not None
    cancel = _core.Cancel()

    def solve(problem: BinaryProblem, start: Array) -> Certified:
        rest = budget
        if budget.max_time is not None:
            left = budget.max_time - (time.perf_counter() - began)
            rest = replace(budget, max_time=max(left, 0.0))
        threads = kernel.threads if alone else 1
        return solve_kernel(problem, kernel, start, rest, threads=threads, cancel=cancel)

    if alone:
        return [solve(problem, start) for problem, start in zip(problems, starts, strict=True)]
    _prepare(kernel, budget)
    # The problems are the parallelism: a BLAS that starts threads of its own only gets in the way.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        tasks: list[Future[Certified]] = [
            pool.submit(solve, problem, start)
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


def _prepare(kernel: TrainingKernel, budget: Budget) -> None:
    """Build what the threads will share before they start."""
    if kernel.size > SMALL and kernel.float32_is_safe(budget.tol):
        kernel.cache(kernel.float32)
    else:
        kernel.cache(kernel.float64)
