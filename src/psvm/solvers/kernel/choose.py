"""Which solver a kernel problem gets, and why; the certificate has the last word.

1. Small problems are solved as a whole, all of a fit in one call (``whole``). What follows is for
   the others, and for what is left of these.
2. The working-set solver runs on float32 kernel entries where rounding them cannot move the
   relative gap (``TrainingKernel.float32_is_safe``), else on float64.
3. P, D and the gap are recomputed in float64. If float32 fell short of ``tol`` after all, it goes
   on from the recomputed decision values, so that rounding only touches what still changes, and
   where that does not help, the working-set solver goes on in float64.
4. A small training set is polished to machine precision, so that its result does not depend on the
   order of rows: on the face of the optimum at once (``cpp/smo/face.hpp``), or by proximal Newton
   (the Newton loop of the linear solvers) where there is no such short cut. A linear kernel with
   few features goes to it at any size: its systems have one unknown per feature. So do other
   problems of so few rows that their matrix has room when pair steps stall, or take longer than it
   would (large C on an ill-conditioned kernel).
5. For p >= 2 and so few rows that their matrix has room, Newton's method on slacks takes over from
   pair steps that have not ended soon (``cpp/smo/slack_newton.hpp``): the curvatures of losses at
   their slacks span many orders there, and pair steps, which see two rows at a time, take millions.
6. With few features, pair steps come first only for small sets and for pairs of several classes,
   which are mostly easy (digits 25 to 150 times faster, letter 2 to 20 times), and only so many of
   them as Newton takes time.

Every stage leaves its name in the ``"solver"`` field of its records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from psvm.mathematics.certificate import Certificate, best_intercept, certify, certify_values
from psvm.mathematics.problem import KernelProblem
from psvm.mathematics.rounding import (
    UNIT,
    Rounding,
    coarse_rounding,
    rounding_of,
    with_rounding,
)
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.sizes import FEW_STEPS, RESCUE, SMALL
from psvm.solvers.blas_threads import one_blas_thread
from psvm.solvers.kernel.candidate import Candidate
from psvm.solvers.kernel.newton import Features, factor_of, features_of, solve_proximal_newton
from psvm.solvers.kernel.whole import solve_slack_newton
from psvm.solvers.kernel.working_set import solve_working_set
from psvm.solvers.ledger import Ledger, OutOfTime, Solution, Status

Array = npt.NDArray[np.float64]

# Rounds of pair steps before Newton takes over: enough for a good start. Rounds of the last resort:
# a few rows that gain nothing any more take millions of them, and a record of each.
_FEW_ROUNDS, _MOST_ROUNDS = 5, 100_000
# Shares of the effort left that the first pair steps and Newton may take where rows are few.
_FIRST_SHARE, _NEWTON_SHARE = 0.4, 0.8
# Pair steps per row before Newton's method on slacks: where C is not large they have ended by then,
# and else they are a good start (4,000 rows with outliers, p = 6, C = 1 and 100: 1.5 and 3.2 s; 5.5
# and 4.9 after 10 of them, 45 and more by pair steps alone).
_FIRST_STEPS = 100
# Pair steps per row before proximal Newton, where it has room: they take as long as it would. (Most
# problems end before; magic04, 4,000 rows, C = 1e4: 0.9 to 1.6 s at p = 1, 0.9 s at p = 1.5, 3 s if
# Newton comes after 100. Raw columns, poly: 3,461 rows, p = 1.0001 from 143 to 9 s; 2,664 rows,
# p = 1.25 from 193 to 2 s.)
_MOST_STEPS = 640
# Seconds that the factor of a matrix and a first step from it may take, per cube of its rows (4,000
# rows: the factor alone 0.9 s on an idle machine, 1.3 on a busy one).
_FACTOR_SECONDS = 4e-11
# Operations of one Newton system up to which a linear kernel is solved among its features.
_FEW_OPERATIONS = 5e9
# Distance from the margin beyond which a row costs nothing, if float32 errors are a tenth of it.
_OUTSIDE = 1e-2
# Kernel entries that take less time than to find out which are needed (pairs of letter).
_FEW_ENTRIES = 100_000
# Rows that the intercept of a start is found from, where there is no time for all.
_SOME_ROWS = 200
# Rows with the largest norms, whose float32 entries are the worst, that are recomputed in any case:
# at most so many, and a hundredth.
_FAR_OUT = 64


def solve_kernel(
    problem: KernelProblem,
    kernel: TrainingKernel,
    alpha: Array,
    ledger: Ledger,
    *,
    threads: int,
    solved: bool = False,
) -> Solution:
    """Solve one problem from a feasible ``alpha`` to the relative gap of the ledger's budget.

    Where the ledger has rounds of pair steps already, no more of these are tried first; an alpha
    that is ``solved`` is only to be proved.
    """
    solve, tol = _KernelSolve(problem, kernel, ledger, threads), ledger.budget.tol
    if solved:
        return solve.closed(solve.given(alpha, Status.CONVERGED))
    if solve.has_no_time_for(alpha):
        return solve.ledger.closed(solve.unmeasured(alpha))
    small, few_features = kernel.size <= SMALL, solve.few_features
    begun = bool(ledger.records)
    float32 = not (small or begun or solve.newton_first) and kernel.float32_is_safe(tol)

    if solve.newton_first or begun:
        # Newton needs no better start where its systems are small.
        best = solve.given(alpha, Status.STALLED if begun else Status.MAX_ITER)
    else:
        best = solve.working_set(
            alpha,
            float32,
            rounds=_FEW_ROUNDS if small else -1,
            steps=solve.first_steps,
            impatient=problem.n_variables <= RESCUE,
            share=_FIRST_SHARE,
        )
    if float32:
        best = solve.refined(best)
    if solve.over(best):
        return solve.closed(best)
    if solve.suits_slack_newton and best.certificate.gap > tol:
        best = solve.slack_newton(best)
    stuck = best.certificate.gap > tol and best.status is Status.STALLED
    stuck = stuck and problem.n_variables <= RESCUE and solve.has_time_for_factor
    if small or stuck or (few_features and best.certificate.gap > tol):
        best = solve.proximal_newton(best)
    if best.certificate.gap > tol and not solve.over(best):
        last = solve.working_set(best.alpha, float32=False, rounds=_MOST_ROUNDS)
        better = last.certificate.gap <= best.certificate.gap
        best = last if better else replace(best, status=last.status)
    return solve.closed(best)


@dataclass
class _KernelSolve:
    """The stages of one solve, and the certificate of each."""

    problem: KernelProblem
    kernel: TrainingKernel
    ledger: Ledger
    threads: int
    has_factor: bool | None = None  # whether the matrix was found to be positive semidefinite

    @property
    def few_features(self) -> bool:
        """Whether this is a linear kernel with so few features that w is the better unknown."""
        if not self.kernel.kernel.facts.is_product:
            return False
        n, d = self.problem.n_kernel_rows, self.kernel.X.shape[1]
        return d < n and n * float(d) ** 2 <= _FEW_OPERATIONS

    @property
    def suits_slack_newton(self) -> bool:
        """Whether Newton's method on slacks is there to end what pair steps would take long for."""
        problem, kernel = self.problem, self.kernel
        return (
            problem.loss.p >= 2.0
            and not self.few_features  # of which w is the better unknown
            and kernel.size > SMALL
            and problem.n_variables <= RESCUE
            and kernel.kernel.definite
            and kernel.has_entries
            and not problem.hard_margin
            and problem.balance == 0.0
        )

    @property
    def first_steps(self) -> int:
        """Pair steps before another solver has a try; negative for as many as it takes."""
        if self.few_features:
            return FEW_STEPS * self.problem.n_kernel_rows
        if self.suits_slack_newton:
            return _FIRST_STEPS * self.problem.n_kernel_rows
        if self.problem.n_variables <= RESCUE and self.kernel.kernel.definite:
            return _MOST_STEPS * self.problem.n_kernel_rows
        return -1

    @property
    def newton_first(self) -> bool:
        """Whether pair steps are not worth a try."""
        own, whole = self.problem.n_kernel_rows, self.kernel.size
        easy = whole <= SMALL or (own < whole and own <= RESCUE)
        return self.few_features and (self.problem.hard_margin or not easy)

    @property
    def has_time_for_factor(self) -> bool:
        """Whether proximal Newton would get anywhere where it needs a factor of the matrix."""
        left = self.ledger.budget.seconds_left
        rows = 0 if self.few_features else self.problem.n_kernel_rows
        return left is None or left > _FACTOR_SECONDS * float(rows) ** 3

    @property
    def pause(self) -> Callable[[], None] | None:
        """What to do now and then where it takes long to certify."""
        return None if self.ledger.budget.max_time is None else self.ledger.hurry

    def over(self, best: Solution) -> bool:
        """Whether no further stage may or can improve on ``best``."""
        if self.ledger.rounds_left == 0:
            return True
        return best.status not in (Status.CONVERGED, Status.STALLED, Status.MAX_ITER)

    def has_no_time_for(self, alpha: Array) -> bool:
        """Whether the seconds will be over before the decision values of a start are there."""
        left = self.ledger.budget.seconds_left
        if left is None or not alpha.any() or self.kernel.stored is not None:
            return False  # a matrix that is stored is read in no time
        entries = float(np.count_nonzero(alpha)) * self.problem.n_kernel_rows
        # In float32 entries take half as long, or less.
        seconds = 0.5 * entries * self.kernel.seconds_per_entry(self.threads)
        return seconds > left + self.ledger.budget.grace

    def unmeasured(self, alpha: Array) -> Solution:
        """A start as it is, of which nothing is proved; its intercept suits some of the rows."""
        problem = self.problem
        some = np.zeros(alpha.size, dtype=np.bool_)
        some[:: max(alpha.size // _SOME_ROWS, 1)] = True
        some = problem.sharing_with(some)
        values = self.decision(alpha, rows=some)
        # All others might as well lie far outside the margin.
        far = 1e3 * (1.0 + max(np.max(np.abs(values)), np.max(np.abs(problem.target))))
        decision = problem.target + far * problem.y
        decision[some] = values
        guessed = certify(problem, alpha, decision)
        nothing = replace(guessed, primal=np.inf, dual=-np.inf, gap=np.inf, measured=np.inf)
        record = {"iteration": 0, "gap": np.inf, "primal": np.inf, "dual": -np.inf, "changed": 0}
        self.ledger.stage("start", why="no time for its decision values").tell(record)
        return Solution(lambda: alpha, nothing, Status.MAX_TIME, decision=decision)

    def given(self, alpha: Array, status: Status) -> Solution:
        """The start itself, certified, without the packed rows that pair steps would need."""
        return self.certified(Candidate(alpha, self.decision(alpha), status))

    def working_set(
        self,
        alpha: Array,
        float32: bool,
        rounds: int = -1,
        steps: int = -1,
        impatient: bool = False,
        decision: Array | None = None,
        tol: float | None = None,
        share: float = 1.0,
    ) -> Solution:
        """Pair steps from ``alpha``, at most ``steps`` in ``rounds`` unless these are negative.

        They may take a ``share`` of the effort left.
        """
        # Aimed just below tol, so that the gap recomputed in float64 is at most tol.
        aim = (0.9 if float32 else 0.99) * (self.ledger.budget.tol if tol is None else tol)
        solver = f"working_set_float{32 if float32 else 64}"
        found = solve_working_set(
            self.problem,
            self.kernel,
            alpha,
            self.ledger.stage(solver, tol=aim, rounds=rounds, share=share),
            float32=float32,
            threads=self.threads,
            decision=decision,
            impatient=impatient,
            max_steps=steps,
        )
        if found.status is Status.STATIONARY:
            self.has_factor = False  # a pair of rows has shown it
        definite = self.kernel.kernel.definite and not self.problem.hard_margin
        if float32 and definite and found.status is Status.UNBOUNDED:
            found.status = Status.STALLED  # by rounding: there is a bound
        return self.certified(found)

    def refined(self, best: Solution) -> Solution:
        """Further float32 steps while they pass for converged, from exact decision values."""
        tol = self.ledger.budget.tol
        while best.status is Status.CONVERGED and best.certificate.gap > tol:
            again = self.working_set(best.alpha, float32=True, decision=best.decision)
            if again.certificate.gap > max(0.5 * best.certificate.gap, tol):
                return min(best, again, key=lambda one: one.certificate.gap)
            best = again
        return best

    def proximal_newton(self, best: Solution) -> Solution:
        """The polished solution, or ``best`` where that is better or the kernel indefinite."""
        # BLAS threads hardly speed up these systems, and on a busy machine stall them for seconds.
        with one_blas_thread():
            if self.problem.balance != 0.0:
                return best  # Newton's loop knows no other
            try:
                features = self.features()
            except np.linalg.LinAlgError:
                self.has_factor = False
                return best
            self.has_factor = True
            found = solve_proximal_newton(
                self.problem,
                features,
                best,
                self.ledger.stage("proximal_newton", share=_NEWTON_SHARE),
                polish=self.kernel.size <= SMALL,
                threads=1 if self.kernel.size <= SMALL else self.threads,
            )
        polished = self.certified(found)
        return polished if polished.certificate.gap <= best.certificate.gap else best

    def slack_newton(self, best: Solution) -> Solution:
        """By Newton's method on slacks, or ``best`` where that is better."""
        found = self.certified(
            solve_slack_newton(
                self.problem,
                self.kernel,
                best.alpha,
                self.ledger.stage("slack_newton", tol=0.99 * self.ledger.budget.tol),
                threads=self.threads,
            )
        )
        return found if found.certificate.gap <= best.certificate.gap else best

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
        return factor_of(kernel.gram(problem.segments, self.threads), problem.fit_intercept)

    def decision(self, alpha: Array, rows: npt.NDArray[np.bool_] | None = None) -> Array:
        """Decision values in float64, of all rows of the problem or some of them."""
        problem, shared = self.problem, self.problem.kernel_row
        dual, asked = problem.summed(problem.y * alpha), rows
        if shared is not None and rows is not None:
            asked = np.zeros(dual.size, dtype=np.bool_)
            asked[shared[rows]] = True
        found = self.kernel.decision(problem.segments, dual, self.threads, asked, self.pause)
        if shared is None or asked is None:
            return np.asarray(problem.of_rows(found))
        values = np.empty(dual.size)
        values[asked] = found
        return np.asarray(values[shared[rows]])

    def certified(self, found: Candidate) -> Solution:
        """Certify what a stage found, from decision values in float64, if there is time for these.

        Without them nothing is proved.
        """
        try:
            decision = self.exact_decision(found)
        except OutOfTime:
            guessed = certify(self.problem, found.alpha, found.decision)
            nothing = replace(guessed, dual=-np.inf, gap=np.inf, measured=np.inf)
            return Solution(lambda: found.alpha, nothing, Status.MAX_TIME, decision=found.decision)
        certificate = certify(self.problem, found.alpha, decision, found.intercept)
        return Solution(lambda: found.alpha, certificate, found.status, decision=decision)

    def exact_decision(self, found: Candidate) -> Array:
        """Decision values in float64, for all rows that can enter P or D.

        Rows outside the margin cost nothing and have no alpha. The solver's float32 values are kept
        where they put a row outside by more than ``_OUTSIDE`` and by more than ten times the
        largest error that the recomputed rows show, the rows farthest out among them.
        """
        problem = self.problem
        few = problem.n_kernel_rows * np.count_nonzero(found.alpha) <= _FEW_ENTRIES
        if few or self.kernel.is_at_hand or problem.hard_margin:
            return self.decision(found.alpha)
        intercept = 0.0
        if problem.fit_intercept:
            intercept = found.intercept = best_intercept(problem, found.decision)
        short = problem.shortfall(found.decision + intercept)
        decision = found.decision.copy()
        done = np.zeros(decision.size, dtype=np.bool_)
        error, asked = 0.0, ~(short <= -_OUTSIDE) | (found.alpha > 0.0)
        far = min(_FAR_OUT, 1 + decision.size // 100)
        asked |= problem.of_rows(self.kernel.errors.farthest(problem.segments, far))
        while asked.any():
            asked = problem.sharing_with(asked)
            exact = self.decision(found.alpha, rows=asked)
            error = np.maximum(error, np.max(np.abs(exact - decision[asked])))
            decision[asked] = exact
            done |= asked
            asked = ~(done | (short <= -10.0 * error))
        return decision

    def closed(self, best: Solution) -> Solution:
        """The whole story, with a gap that is true in exact arithmetic."""
        proved, tol = self.proved(best), self.ledger.budget.tol
        certificate = proved.certificate
        left = tol - (certificate.gap - certificate.measured)
        unproven = certificate.gap > tol >= certificate.measured and left > 0.0
        if unproven and not self.over(best) and not self.problem.hard_tube:
            # So far within tol that rounding leaves it there.
            again = self.proved(self.working_set(best.alpha, float32=False, tol=0.9 * left))
            proved = min(proved, again, key=lambda one: one.certificate.gap)
        return self.ledger.closed(proved, indefinite=self.indefinite)

    def proved(self, best: Solution) -> Solution:
        """With a gap that is true in exact arithmetic, by as much work as that takes."""
        if self.kernel.kernel.facts.is_product and self.kernel.size <= SMALL:
            # By way of w, which loses fewer digits than the sums of inner products of a face.
            best = self.certified(Candidate(best.alpha, best.decision, best.status))
        proved, tol = best, self.ledger.budget.tol
        for proof in (self.by_sums, self.by_rows, self.by_entries, self.precisely):
            certificate = proof(best)
            if certificate.gap < proved.certificate.gap or proved is best:
                proved = replace(best, certificate=certificate)
            if not proved.certificate.gap > tol >= best.certificate.gap:
                break
        return proved

    @property
    def indefinite(self) -> bool:
        """Whether a gap proves nothing. A matrix or a callable is trusted until it is found out."""
        kernel = self.kernel.kernel
        if kernel.definite or self.has_factor:
            return False
        return kernel.of_features or self.has_factor is False

    def by_sums(self, best: Solution) -> Certificate:
        """With bounds for rounding, from sums alone."""
        rounding = Rounding(np.inf, np.inf)
        if not self.problem.hard_margin:
            errors, alpha = self.kernel.errors, best.alpha
            # Rows that share a kernel row make sums longer than the matrix is wide.
            longer = max(1.0, alpha.size / self.kernel.size)
            error = float(alpha.sum()) * errors.of_unit * longer
            rounding = coarse_rounding(self.problem, alpha, best.certificate, error, errors.most)
        return with_rounding(best.certificate, rounding)

    def by_rows(self, best: Solution, *, tight: bool = False) -> Certificate:
        """With bounds row by row, from norms."""
        problem, errors = self.problem, self.kernel.errors
        dual = problem.summed(problem.y * best.alpha)
        error = problem.of_rows(
            errors.bounds(
                problem.segments, dual, self.threads, tight=tight, scaled=problem.hard_margin
            )
        )
        intercept = best.certificate.intercept / best.certificate.scale
        error = error + self.shared_error(best.alpha)
        error = error + 2.0 * UNIT * (np.abs(best.decision) + abs(intercept))
        values = best.decision + intercept
        rounding = rounding_of(problem, best.alpha, values, best.certificate, error, errors.most)
        return with_rounding(best.certificate, rounding)

    def shared_error(self, alpha: Array) -> float:
        """What decision values may be off by because coefficients on one kernel row were added."""
        return UNIT * self.problem.rounded_in_sums(alpha) * self.kernel.errors.most

    def by_entries(self, best: Solution) -> Certificate:
        """With bounds row by row, from the kernel entries."""
        return self.by_rows(best, tight=True)

    def precisely(self, best: Solution) -> Certificate:
        """In extended precision, of few rows."""
        problem, errors = self.problem, self.kernel.errors
        dual, b = problem.summed(problem.y * best.alpha), best.certificate.intercept
        found = None
        if not problem.hard_margin:
            found = errors.precise(problem.segments, dual, b)
        if found is None:
            return replace(best.certificate, gap=np.inf)
        values, error = problem.of_rows(found.values), problem.of_rows(found.errors)
        error = error + self.shared_error(best.alpha)
        certificate = certify_values(problem, best.alpha, values, found.squared_norm, b)
        rounding = rounding_of(problem, best.alpha, values, certificate, error, errors.most)
        return with_rounding(certificate, rounding)
