"""The kernel solver for any number of rows: working-set blocks of exact pair steps, in C++.

Rounds of select, solve, apply, certify; see ``cpp/smo/working_set_rounds.hpp``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.mathematics.problem import KernelProblem
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.kernel.candidate import Candidate
from psvm.solvers.ledger import Stage, Status

Array = npt.NDArray[np.float64]


def solve_working_set(
    problem: KernelProblem,
    kernel: TrainingKernel,
    alpha: Array,
    stage: Stage,
    *,
    float32: bool,
    threads: int,
    decision: Array | None = None,
    impatient: bool = False,
    max_steps: int = -1,
) -> Candidate:
    """Solve one problem from a feasible ``alpha``, with float32 or float64 kernel entries.

    ``decision`` are the decision values of ``alpha``, where they are known; then the entries, and
    their rounding, only serve to change them.
    The status is STALLED when the gap would take tens of thousands of rounds to close, or only
    hundreds if ``impatient`` (when another solver can take over), and after ``max_steps`` steps of
    pairs if that is not negative.
    """
    matrix = kernel.float32 if float32 else kernel.float64
    outcome = _core.solve_working_set(
        matrix,
        kernel.cache(matrix),
        _core.KernelProblem(
            segments=list(problem.segments),
            y=problem.y,
            target=problem.target,
            cost=problem.cost,
            p=problem.loss.p,
            fit_intercept=problem.fit_intercept,
            kernel_row=problem.kernel_row,
            balance=problem.balance,
        ),
        alpha,
        _core.Budget(
            tol=stage.tol,
            max_iter=stage.max_iter,
            max_time=stage.max_time,
            max_effort=stage.max_effort,
            impatient=impatient,
            max_steps=max_steps,
            certificate=0.0 if stage.max_time is None else kernel.seconds_per_entry(threads),
        ),
        decision=None if decision is None else problem.of_kernel_rows(decision),
        on_round=stage.listener,
        threads=threads,
        cancel=stage.ledger.cancel,
    )
    stage.take(outcome["history"], outcome["phases"])
    return Candidate(
        alpha=outcome["alpha"],
        decision=problem.of_rows(outcome["decision"]),
        status=Status[outcome["status"].upper()],
    )
