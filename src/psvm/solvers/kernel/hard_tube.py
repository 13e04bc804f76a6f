"""C = inf with targets: all rows inside the tube, or nothing where no model has that.

Where rows have classes, any w with a margin is scaled until the margin is 1. With targets there is
no such way to be inside exactly. So problems of a tube that is narrower by a small share are
solved, at p = 1 and a finite cost, whose solution is that without a limit once the cost exceeds
all alpha; the narrower the tube, the further is the solution from the edge of the true one, and the
larger its gap. Each is certified as a solution of the true problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from psvm.mathematics.certificate import certify, dot, may_be_separable
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem, feasible
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.kernel.choose import solve_kernel
from psvm.solvers.ledger import Ledger, Record, Solution, Status

Array = npt.NDArray[np.float64]

# The first share by which the tube is narrowed, and the last: there the digits of the values end.
_FIRST_SHARE, _LAST_SHARE = 0.01, 1e-10
# The first cost, in units of targets over kernel values, its steps, and how often it is raised: by
# then no alpha is left that a model with a margin of a millionth could have.
_FIRST_COST, _RAISED_BY, _MOST_RAISES = 100.0, 100.0, 8
# Of the gap asked for, what the problem of the narrower tube may take.
_OF_TOL = 0.2


def solve_hard_tube(
    problem: KernelProblem, kernel: TrainingKernel, alpha: Array, ledger: Ledger, *, threads: int
) -> Solution:
    """Solve one problem from a feasible ``alpha``.

    UNBOUNDED if no model has all rows inside, or none whose numbers float64 can tell from that.
    """
    search = _Search(problem, kernel, ledger, threads)
    room = _room(problem)
    if room < 0.0:
        return search.nowhere(alpha)  # equal rows with targets too far apart
    share, tol, raises = _FIRST_SHARE, _OF_TOL * ledger.budget.tol, 0
    cost = _FIRST_COST * problem.largest_target / max(kernel.errors.most, 1e-300)
    best = search.proved(alpha)
    while True:
        found = search.of_narrower_tube(alpha, share * room, cost, tol)
        alpha, proved = found.alpha, search.proved(found.alpha)
        if proved.certificate.gap <= best.certificate.gap:
            best = proved
        if best.certificate.gap <= ledger.budget.tol:
            return best
        if search.over(found):
            return replace(best, status=found.status)
        if np.isfinite(proved.certificate.primal):
            # Inside, but too far from the edge of the tube, or too near for rounding errors.
            measured = max(proved.certificate.measured / ledger.budget.tol, 1e-3)
            share = share * 0.3 / measured if not 0.2 < measured <= 1.0 else 0.0
        elif not may_be_separable(
            max(found.certificate.squared_norm, 0.0),
            dot(alpha, problem.y * problem.target),
            kernel.errors.most,
        ):
            return search.nowhere(alpha)
        elif alpha.max() >= (1.0 - 1e-9) * cost and raises < _MOST_RAISES:
            cost, raises = _RAISED_BY * cost, raises + 1
        elif tol > 1e-3 * _OF_TOL * ledger.budget.tol:
            tol *= 0.1
        else:
            share = 0.0
        if share < _LAST_SHARE:
            return best if np.isfinite(best.certificate.primal) else search.nowhere(alpha)


def _room(problem: KernelProblem) -> float:
    """By how much a tube can be narrowed on each side, at most, so that it still is one."""
    rows = problem.of_rows(np.arange(problem.y.size))
    count = int(rows.max()) + 1
    low, high = np.full(count, -np.inf), np.full(count, np.inf)
    above = problem.y > 0.0
    np.maximum.at(low, rows[above], problem.target[above])
    np.minimum.at(high, rows[~above], problem.target[~above])
    return 0.5 * float(np.min(high - low))


@dataclass
class _Search:
    """The problem, and the ledger that all solves write to."""

    problem: KernelProblem
    kernel: TrainingKernel
    ledger: Ledger
    threads: int

    def over(self, found: Solution) -> bool:
        """Whether the user's limits end the search."""
        return self.ledger.rounds_left == 0 or found.status in (
            Status.MAX_TIME,
            Status.STOPPED,
        )

    def of_narrower_tube(self, alpha: Array, by: float, cost: float, tol: float) -> Solution:
        """The solution of a problem with slack; its rounds go to the ledger."""
        problem = self.problem
        soft = replace(
            problem,
            target=problem.target + by * problem.y,
            cost=np.full(problem.y.size, cost),
            loss=PNormHinge(1.0),
        )
        ledger = self.ledger
        inner = Ledger(
            replace(ledger.budget, tol=tol, max_iter=ledger.rounds_left),
            ledger.number,
            None if ledger.on_round is None else self._shifted(ledger.on_round),
            ledger.cancel,
            ledger.share,
            ledger.reserve,
        )
        shift, began = ledger.rounds, ledger.seconds
        found = solve_kernel(soft, self.kernel, feasible(soft, alpha), inner, threads=self.threads)
        for record in inner.records:
            told = {"iteration": shift + record["iteration"], "seconds": began + record["seconds"]}
            ledger.records.append({**record, **told})
        ledger.rounds = shift + inner.rounds
        return found

    def _shifted(self, on_round: Callable[[int, Record], bool]) -> Callable[[int, Record], bool]:
        shift = self.ledger.rounds
        return lambda t, record: on_round(t, {**record, "iteration": shift + record["iteration"]})

    def proved(self, alpha: Array) -> Solution:
        """What alpha proves of the problem without slack."""
        return solve_kernel(
            self.problem, self.kernel, alpha, self.ledger, threads=self.threads, solved=True
        )

    def nowhere(self, alpha: Array) -> Solution:
        """There is no solution."""
        decision = np.zeros(alpha.size)
        proof = replace(certify(self.problem, np.zeros(alpha.size), decision), intercept=0.0)
        found = Solution(lambda: alpha, proof, Status.UNBOUNDED, decision=decision)
        return replace(found, n_iter=max(self.ledger.rounds, 1), history=self.ledger.records)
