"""Which solver a kernel problem gets, and why; the certificate has the last word.

1. The working-set solver runs on float32 kernel entries where rounding them cannot move the
   relative gap (``TrainingKernel.float32_is_safe``), else on float64.
2. P, D and the gap are recomputed in float64. If float32 fell short of ``tol`` after all, the
   working-set solver goes on in float64 from where it stands.
3. A small training set is polished by proximal Newton to machine precision, so that its result
   does not depend on the order of rows; a larger problem goes there only when pair steps stall
   (large C on an ill-conditioned kernel).

Every stage leaves its name in the ``"solver"`` field of its records.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.certificate import Certificate, best_intercept, certify
from psvm.kernels import TrainingKernel
from psvm.problem import BinaryProblem, Budget, SolveResult, Status
from psvm.solvers.proximal_newton import solve_proximal_newton
from psvm.solvers.working_set import solve_working_set

Array = npt.NDArray[np.float64]

# Rows of the whole training set up to which every problem is polished: some 10 ms at this size.
SMALL = 500
# Beyond this the matrix and its factor (72 MB each) are no longer a quick way out of a stall.
RESCUE = 3000
# Rounds of pair steps on a small problem before Newton takes over: enough for a good start.
_SMALL_ROUNDS = 5
# Distance from the margin beyond which a row surely costs nothing.
_OUTSIDE = 1e-2


@dataclass
class Certified:
    """A result with the certificate of its alpha."""

    result: SolveResult
    certificate: Certificate


def solve_kernel(
    problem: BinaryProblem,
    kernel: TrainingKernel,
    alpha: Array,
    budget: Budget,
    *,
    threads: int,
    cancel: Any = None,
) -> Certified:
    """Solve one problem from a feasible ``alpha`` to the relative gap ``budget.tol``."""
    stages = _Stages(problem, kernel, budget, threads, cancel)
    small = kernel.size <= SMALL
    float32 = not small and kernel.float32_is_safe(budget.tol)

    # Aimed just below tol, so that the gap recomputed in float64 is at most tol.
    best = stages.working_set(alpha, float32, rounds=_SMALL_ROUNDS if small else -1)
    if float32 and best.result.status is Status.CONVERGED and best.certificate.gap > budget.tol:
        best = stages.working_set(best.result.alpha, float32=False)
    if stages.over(best):
        return stages.finish(best)
    if small or (best.result.status is Status.STALLED and problem.y.size <= RESCUE):
        best = stages.proximal_newton(best)
    if best.certificate.gap > budget.tol and not stages.over(best):
        best = stages.working_set(best.result.alpha, float32=False)
    return stages.finish(best)


@dataclass
class _Stages:
    """The stages of one solve: what is left of its budget, its records, its certificates."""

    problem: BinaryProblem
    kernel: TrainingKernel
    budget: Budget
    threads: int
    cancel: Any
    start: float = field(default_factory=time.perf_counter)
    history: list[dict[str, Any]] = field(default_factory=list)
    rounds: int = 0

    def rest(self) -> Budget:
        """What is left of the budget."""
        rest = self.budget
        if rest.max_time is not None:
            spent = time.perf_counter() - self.start
            rest = replace(rest, max_time=max(rest.max_time - spent, 0.0))
        if rest.max_iter >= 0:
            rest = replace(rest, max_iter=max(rest.max_iter - self.rounds, 0))
        return rest

    def over(self, best: Certified) -> bool:
        """Whether no further stage may or can improve on ``best``."""
        status = best.result.status
        if status in (Status.STOPPED, Status.MAX_TIME, Status.UNBOUNDED, Status.STATIONARY):
            return True
        return status is Status.MAX_ITER and self.rest().max_iter == 0

    def working_set(self, alpha: Array, float32: bool, rounds: int = -1) -> Certified:
        """Pair steps from ``alpha``, for at most ``rounds`` rounds if that is not negative."""
        rest = self.rest()
        if rounds >= 0 and not 0 <= rest.max_iter <= rounds:
            rest = replace(rest, max_iter=rounds)
        result = solve_working_set(
            self.problem,
            self.kernel,
            alpha,
            replace(rest, tol=rest.tol * (0.9 if float32 else 0.99)),
            float32=float32,
            threads=self.threads,
            cancel=self.cancel,
        )
        return self.certified(result, f"working_set_float{32 if float32 else 64}")

    def proximal_newton(self, best: Certified) -> Certified:
        """The polished solution, or ``best`` where that is better or the kernel indefinite."""
        gram = self.kernel.gram(self.problem.segments, self.threads)
        result = solve_proximal_newton(self.problem, gram, best.result.alpha, self.rest())
        if result is None:
            return best
        polished = self.certified(result, "proximal_newton")
        return polished if polished.certificate.gap <= best.certificate.gap else best

    def certified(self, result: SolveResult, solver: str) -> Certified:
        """Certify a result from decision values in float64, and keep its records."""
        problem = self.problem
        began = self.history[-1]["seconds"] if self.history else 0.0
        for record in result.history:
            seconds = began + record["seconds"]
            self.history.append({**record, "seconds": seconds, "solver": solver})
        self.rounds += result.n_iter
        result.decision = self.exact_decision(result)
        certificate = certify(
            result.alpha,
            result.decision,
            problem.y,
            problem.cost,
            problem.loss,
            problem.fit_intercept,
        )
        return Certified(result, certificate)

    def exact_decision(self, result: SolveResult) -> Array:
        """Decision values in float64, for all rows that can enter P or D.

        Rows outside the margin cost nothing and have no alpha. Where the solver's float32 values
        put a row outside by more than ``_OUTSIDE``, its value is kept, provided that the rows that
        were recomputed show errors far below that; otherwise every row is recomputed.
        """
        problem, kernel = self.problem, self.kernel
        dual = problem.y * result.alpha
        everything = (problem.segments, dual, self.threads)
        if not kernel.kernel.of_features or problem.hard_margin:
            return kernel.decision(*everything)
        intercept = 0.0
        if problem.fit_intercept:
            intercept = best_intercept(result.decision, problem.y, problem.cost, problem.loss)
        margin = problem.y * (result.decision + intercept)
        inside = (margin < 1.0 + _OUTSIDE) | (result.alpha > 0.0)
        exact = kernel.decision(*everything, rows=inside)
        if np.max(np.abs(exact - result.decision[inside]), initial=0.0) > 0.1 * _OUTSIDE:
            return kernel.decision(*everything)
        decision = result.decision.copy()
        decision[inside] = exact
        return decision

    def finish(self, best: Certified) -> Certified:
        """The whole story, with a status that agrees with the certificate."""
        status = best.result.status
        if best.certificate.gap <= self.budget.tol and status is not Status.STATIONARY:
            status = Status.CONVERGED
        elif status is Status.CONVERGED:
            status = Status.STALLED
        best.result = replace(
            best.result, status=status, n_iter=max(self.rounds, 1), history=self.history
        )
        return best
