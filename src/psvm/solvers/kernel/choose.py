"""Which solver a kernel problem gets, and why; the certificate has the last word.

1. The working-set solver runs on float32 kernel entries where rounding them cannot move the
   relative gap (``TrainingKernel.float32_is_safe``), else on float64.
2. P, D and the gap are recomputed in float64. If float32 fell short of ``tol`` after all, it goes
   on from the recomputed decision values, so that rounding only touches what still changes, and
   where that does not help, the working-set solver goes on in float64.
3. A small training set is polished to machine precision, so that its result does not depend on the
   order of rows: on the face of the optimum at once (``face``), or by proximal Newton (the Newton
   loop of the linear solvers) where there is no such short cut. A linear kernel with few features
   goes to it at any size: its systems have one unknown per feature. So do other problems when pair
   steps stall (large C on an ill-conditioned kernel).
4. With few features, pair steps come first only for small sets and for pairs of several classes,
   which are mostly easy (digits 25 to 150 times faster, letter 2 to 20 times), and only so many of
   them as Newton takes time.

Every stage leaves its name in the ``"solver"`` field of its records.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.certificate import best_intercept, certify
from psvm.mathematics.problem import Budget, KernelProblem, SolveResult, Status
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.blas_threads import one_blas_thread
from psvm.solvers.certified import Certified
from psvm.solvers.kernel.face import solve_on_face
from psvm.solvers.kernel.newton import Features, factor_of, features_of, solve_proximal_newton
from psvm.solvers.kernel.working_set import solve_working_set
from psvm.solvers.sizes import RESCUE, SMALL

Array = npt.NDArray[np.float64]

# Rounds of pair steps before Newton takes over: enough for a good start.
_FEW_ROUNDS = 5
# Pair steps per row before Newton takes over a linear kernel with few features: then the two take
# about as long, and easy pairs of classes are done (30 and 100 measured slower on hard ones).
_FEW_STEPS = 10
# Operations of one Newton system up to which a linear kernel is solved among its features.
_FEW_OPERATIONS = 5e9
# Kernels that are positive semidefinite whatever their parameters.
_DEFINITE = ("linear", "rbf", "laplacian", "exponential")
# Distance from the margin beyond which a row costs nothing, if float32 errors are a tenth of it.
_OUTSIDE = 1e-2


def solve_kernel(
    problem: KernelProblem,
    kernel: TrainingKernel,
    alpha: Array,
    budget: Budget,
    *,
    threads: int,
    cancel: Any = None,
) -> Certified:
    """Solve one problem from a feasible ``alpha`` to the relative gap ``budget.tol``."""
    stages = _Stages(problem, kernel, budget, threads, cancel)
    small, few_features = kernel.size <= SMALL, stages.few_features
    float32 = not small and not stages.newton_first and kernel.float32_is_safe(budget.tol)

    if stages.newton_first:
        best = stages.given(alpha)  # Newton needs no better start where its systems are small
    else:
        best = stages.working_set(
            alpha,
            float32,
            rounds=_FEW_ROUNDS if small else -1,
            steps=_FEW_STEPS * problem.y.size if few_features else -1,
            impatient=problem.y.size <= RESCUE,
        )
    if float32:
        best = stages.refined(best)
    if stages.over(best):
        return stages.finish(best)
    stuck = best.result.status is Status.STALLED and problem.y.size <= RESCUE
    if small or stuck or (few_features and best.certificate.gap > budget.tol):
        best = stages.proximal_newton(best)
    if best.certificate.gap > budget.tol and not stages.over(best):
        best = stages.working_set(best.result.alpha, float32=False)
    return stages.finish(best)


@dataclass
class _Stages:
    """The stages of one solve: what is left of its budget, its records, its certificates."""

    problem: KernelProblem
    kernel: TrainingKernel
    budget: Budget
    threads: int
    cancel: Any
    start: float = field(default_factory=time.perf_counter)
    history: list[dict[str, Any]] = field(default_factory=list)
    rounds: int = 0
    indefinite: bool = False

    @property
    def few_features(self) -> bool:
        """Whether this is a linear kernel with so few features that w is the better unknown."""
        if self.kernel.kernel.function != "linear":
            return False
        n, d = self.problem.y.size, self.kernel.X.shape[1]
        return d < n and n * float(d) ** 2 <= _FEW_OPERATIONS

    @property
    def newton_first(self) -> bool:
        """Whether pair steps are not worth a try."""
        problem, whole = self.problem, self.kernel.size
        easy = whole <= SMALL or (problem.y.size < whole and problem.y.size <= RESCUE)
        return self.few_features and (problem.hard_margin or not easy)

    def rest(self, solver: str) -> Budget:
        """What is left of the budget for a stage, whose rounds are told on as this solve's."""
        rest = self.budget
        if rest.on_round is not None:
            tell = rest.on_round
            rest = replace(rest, on_round=lambda record: tell(self.numbered(record, solver)))
        if rest.max_time is not None:
            spent = time.perf_counter() - self.start
            rest = replace(rest, max_time=max(rest.max_time - spent, 0.0))
        if rest.max_iter >= 0:
            rest = replace(rest, max_iter=max(rest.max_iter - self.rounds, 0))
        return rest

    def unless_cancelled(self, budget: Budget) -> Budget:
        """A budget that ends with the cancellation of the fit, which C++ looks at by itself."""
        if self.cancel is None:
            return budget
        tell = budget.on_round
        return replace(
            budget,
            on_round=lambda record: (tell is not None and tell(record)) or self.cancel.is_set(),
        )

    def over(self, best: Certified) -> bool:
        """Whether no further stage may or can improve on ``best``."""
        status = best.result.status
        if status in (Status.STOPPED, Status.MAX_TIME, Status.UNBOUNDED, Status.STATIONARY):
            return True
        return status is Status.MAX_ITER and 0 <= self.budget.max_iter <= self.rounds

    def numbered(self, record: dict[str, Any], solver: str) -> dict[str, Any]:
        """The record of a stage as one of the whole solve."""
        return {
            **record,
            "iteration": record["iteration"] + self.rounds,
            "seconds": record["seconds"] + (self.history[-1]["seconds"] if self.history else 0.0),
            "solver": solver,
        }

    def given(self, alpha: Array) -> Certified:
        """The start itself, certified, without the packed rows that pair steps would need."""
        problem = self.problem
        decision = self.kernel.decision(problem.segments, problem.y * alpha, self.threads)
        return self.certified(SolveResult(alpha, decision, Status.MAX_ITER, 0), "start")

    def working_set(
        self,
        alpha: Array,
        float32: bool,
        rounds: int = -1,
        steps: int = -1,
        impatient: bool = False,
        decision: Array | None = None,
    ) -> Certified:
        """Pair steps from ``alpha``, at most ``steps`` in ``rounds`` unless these are negative."""
        solver = f"working_set_float{32 if float32 else 64}"
        rest = self.rest(solver)
        if rounds >= 0 and not 0 <= rest.max_iter <= rounds:
            rest = replace(rest, max_iter=rounds)
        # Aimed just below tol, so that the gap recomputed in float64 is at most tol.
        result = solve_working_set(
            self.problem,
            self.kernel,
            alpha,
            replace(rest, tol=rest.tol * (0.9 if float32 else 0.99)),
            float32=float32,
            threads=self.threads,
            decision=decision,
            cancel=self.cancel,
            impatient=impatient,
            max_steps=steps,
        )
        return self.certified(result, solver)

    def refined(self, best: Certified) -> Certified:
        """Further float32 steps while they pass for converged, from exact decision values."""
        while best.result.status is Status.CONVERGED and best.certificate.gap > self.budget.tol:
            result = best.result
            again = self.working_set(result.alpha, float32=True, decision=result.decision)
            if again.certificate.gap > max(0.5 * best.certificate.gap, self.budget.tol):
                return min(best, again, key=lambda one: one.certificate.gap)
            best = again
        return best

    def proximal_newton(self, best: Certified) -> Certified:
        """The polished solution, or ``best`` where that is better or the kernel indefinite."""
        problem, solver = self.problem, "proximal_newton"
        # BLAS threads hardly speed up these systems, and on a busy machine stall them for seconds.
        with one_blas_thread():
            at_once = self.on_face(best)
            if at_once is not None:
                return at_once
            try:
                features = self.features()
            except np.linalg.LinAlgError:
                self.indefinite = True
                return best
            result = solve_proximal_newton(
                problem,
                features,
                best.result.alpha,
                self.unless_cancelled(self.rest(solver)),
                polish=self.kernel.size <= SMALL,
                threads=1 if self.kernel.size <= SMALL else self.threads,
                cancel=self.cancel,
            )
        polished = self.certified(result, solver)
        return polished if polished.certificate.gap <= best.certificate.gap else best

    def on_face(self, best: Certified) -> Certified | None:
        """The optimum of a small training set from the face that ``best`` is on, if it is there."""
        if self.kernel.size > SMALL or self.kernel.kernel.function not in _DEFINITE:
            return None
        gram = self.kernel.gram(self.problem.segments, self.threads)
        found = solve_on_face(self.problem, gram, best.result.alpha)
        if found is None:
            return None
        tell = self.rest("face").on_round
        if tell is not None:
            tell(found.result.history[0])
        self.keep_records(found.result, "face")
        return found

    def features(self) -> Features:
        """The rows among which Newton's method looks for w."""
        problem, kernel = self.problem, self.kernel
        if self.few_features:
            X = kernel.rows(problem.segments)
            return features_of(
                X,
                problem.fit_intercept,
                lambda dual: kernel.decision(problem.segments, dual, self.threads),
            )
        gram = kernel.gram(problem.segments, self.threads)
        return factor_of(gram, problem.fit_intercept)

    def certified(self, result: SolveResult, solver: str) -> Certified:
        """Certify a result from decision values in float64, and keep its records."""
        problem = self.problem
        self.keep_records(result, solver)
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

    def keep_records(self, result: SolveResult, solver: str) -> None:
        """Take over the history of a stage."""
        records = [self.numbered(record, solver) for record in result.history]
        # A further stage starts where the last one ended; that point is on record already.
        self.history += [
            record for record in records if record["iteration"] > self.rounds or not self.history
        ]
        self.rounds += result.n_iter

    def exact_decision(self, result: SolveResult) -> Array:
        """Decision values in float64, for all rows that can enter P or D.

        Rows outside the margin cost nothing and have no alpha. The solver's float32 values are kept
        where they put a row outside by more than ``_OUTSIDE`` and by more than ten times the
        largest error that the recomputed rows show.
        """
        problem, kernel = self.problem, self.kernel
        dual = problem.y * result.alpha
        if kernel.is_at_hand or problem.hard_margin:
            return kernel.decision(problem.segments, dual, self.threads)
        intercept = 0.0
        if problem.fit_intercept:
            intercept = best_intercept(result.decision, problem.y, problem.cost, problem.loss)
        margin = problem.y * (result.decision + intercept)
        decision = result.decision.copy()
        done = np.zeros(dual.size, dtype=np.bool_)
        error, asked = 0.0, ~(margin >= 1.0 + _OUTSIDE) | (result.alpha > 0.0)
        while asked.any():
            exact = kernel.decision(problem.segments, dual, self.threads, rows=asked)
            error = np.maximum(error, np.max(np.abs(exact - decision[asked])))
            decision[asked] = exact
            done |= asked
            asked = ~(done | (margin >= 1.0 + 10.0 * error))
        return decision

    def finish(self, best: Certified) -> Certified:
        """The whole story, with a status that agrees with the certificate."""
        status = best.result.status
        if best.certificate.gap <= self.budget.tol:
            indefinite = self.indefinite or status is Status.STATIONARY
            status = Status.STATIONARY if indefinite else Status.CONVERGED
        elif status is Status.CONVERGED:
            status = Status.STALLED
        best.result = replace(
            best.result, status=status, n_iter=max(self.rounds, 1), history=self.history
        )
        return best
