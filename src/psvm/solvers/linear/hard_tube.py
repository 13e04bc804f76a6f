"""C = inf with targets: all rows inside the tube, or nothing where no model has that.

As in ``solvers.kernel.hard_tube``: where rows have classes, any w with a margin is scaled until the
margin is 1; with targets there is no such way to be inside exactly. So problems of a tube that is
narrower by a small share are solved, at p = 1 and a finite cost, whose solution is that without a
limit once the cost exceeds all alpha. Each is certified as a solution of the true problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.certificate import Certificate, may_be_separable
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems, LinearStart
from psvm.solvers.ledger import Budget, Record, Solution, Status, proved_status
from psvm.solvers.linear.best_pair import BestPair
from psvm.solvers.linear.passes import BlockPasses, Pass, Sums
from psvm.solvers.linear.proof import proof_inside
from psvm.solvers.linear.summary import summarise

Array = npt.NDArray[np.float64]
OnRound = Callable[[int, Record], bool]
# Solves problems with slack: rows, problems, starts, budget and who is told.
Solve = Callable[
    [Sequence[Any], LinearProblems, Sequence[LinearStart | None], Budget, OnRound | None],
    list[Solution],
]

# The first share by which the tube is narrowed, and the last: there the digits of the values end.
_FIRST_SHARE, _LAST_SHARE = 0.01, 1e-10
# The first cost, in units of targets over squared norms, its steps, and how often it is raised.
_FIRST_COST, _RAISED_BY, _MOST_RAISES = 100.0, 100.0, 8
# Of the gap asked for, what the problem of the narrower tube may take.
_OF_TOL = 0.2


def is_hard_tube(problems: LinearProblems) -> bool:
    """Whether these are problems of targets, none of which may have slack."""
    return problems.hard_margin and problems.target is not None


def solve_hard_tube(
    rows: Sequence[Any],
    problems: LinearProblems,
    start: LinearStart | None,
    budget: Budget,
    on_round: OnRound | None,
    solve: Solve,
    *,
    threads: int,
) -> Solution:
    """Solve the one problem; ``solve`` solves those with slack.

    UNBOUNDED if no model has all rows inside, or none whose numbers float64 can tell from that.
    """
    search = _Search(rows, problems, budget, on_round, solve, threads)
    room = _room(problems)
    if room < 0.0:
        return search.nowhere()  # equal rows with targets too far apart
    largest = summarise(rows, centred=problems.fit_intercept).largest
    assert problems.target is not None  # which a tube is around
    size = float(np.abs(problems.target[problems.cost > 0.0]).max())
    share, tol, raises, cost = _FIRST_SHARE, _OF_TOL * budget.tol, 0, _FIRST_COST * size / largest
    best: Solution | None = None
    while True:
        found = search.of_narrower_tube(start, share * room, cost, tol)
        proved, sums = search.proved(found)
        start = LinearStart(found.w, found.certificate.intercept, found.alpha)
        inside = bool(np.isfinite(proved.certificate.primal))
        if best is None or proved.certificate.gap <= best.certificate.gap:
            best = proved
        if best.certificate.gap <= budget.tol or search.over(found):
            break
        alpha = float(found.alpha.max())
        image = sums.dual.image[1] - sums.dual.image[0]
        if inside:  # but too far from the edge
            share *= min(0.3, 0.3 * budget.tol / max(proved.certificate.gap, 1e-300))
        elif not may_be_separable(float(image @ image), float(sums.dual.linear.sum()), largest):
            return search.nowhere()
        elif alpha >= (1.0 - 1e-9) * cost and raises < _MOST_RAISES:
            cost, raises = _RAISED_BY * cost, raises + 1
        elif tol > 1e-3 * _OF_TOL * budget.tol:
            tol *= 0.1
        else:
            share = 0.0
        if share < _LAST_SHARE:
            if not np.isfinite(best.certificate.primal):
                return search.nowhere()
            break
    return search.closed(best)


def _room(problems: LinearProblems) -> float:
    """By how much a tube can be narrowed on each side, at most, so that it still is one."""
    assert problems.target is not None
    kept = problems.cost > 0.0
    above = kept & (problems.signs[0][problems.codes] > 0)
    below = kept & ~above
    place = problems.features_of(np.arange(problems.codes.size))
    count = int(place[-1]) + 1
    low, high = np.full(count, -np.inf), np.full(count, np.inf)
    np.maximum.at(low, place[above], problems.target[above])
    np.minimum.at(high, place[below], problems.target[below])
    return 0.5 * float(np.min(high - low))


@dataclass
class _Search:
    """The problem, and the records of all solves."""

    rows: Sequence[Any]
    problems: LinearProblems
    budget: Budget
    on_round: OnRound | None
    solve: Solve
    threads: int
    records: list[Record] = field(default_factory=list)
    rounds: int = 0

    def over(self, found: Solution) -> bool:
        """Whether the user's limits end the search."""
        spent = self.budget.max_iter >= 0 and self.rounds >= self.budget.max_iter
        return spent or found.status in (Status.MAX_TIME, Status.STOPPED)

    def of_narrower_tube(
        self, start: LinearStart | None, by: float, cost: float, tol: float
    ) -> Solution:
        """The solution of a problem with slack."""
        problems, budget, before = self.problems, self.budget, self.rounds
        y = problems.signs[0][problems.codes]
        soft = replace(
            problems,
            target=problems.target + by * y,
            cost=np.where(problems.cost > 0.0, cost, 0.0),
            loss=PNormHinge(1.0),
        )
        left = budget.max_iter if budget.max_iter < 0 else max(budget.max_iter - before, 0)
        told, on_round = None, self.on_round
        if on_round is not None:

            def told(t: int, record: Record) -> bool:
                return on_round(t, {**record, "iteration": before + record["iteration"]})

        limits = replace(budget, tol=tol, max_iter=left)
        (found,) = self.solve(self.rows, soft, [start], limits, told)
        self.records += [
            {**record, "iteration": before + record["iteration"]} for record in found.history
        ]
        self.rounds = before + found.n_iter
        return found

    def proved(self, found: Solution) -> tuple[Solution, Sums]:
        """What a solution proves of the problem without slack, and the sums over its rows."""
        passes = BlockPasses(self.rows, self.problems, [0], self.threads)
        passes.set_best(0, found.alpha)
        w, b = np.ascontiguousarray(found.w), found.certificate.intercept
        sums: Sums = passes.answer({0: Pass("certify", direction=w, b=b)})[0]
        end = BestPair(w, b, np.inf, -np.inf)
        proof = proof_inside(end, sums, self.problems.terms, passes.count(0))
        return replace(found, certificate=proof), sums

    def closed(self, best: Solution) -> Solution:
        """With the records of all solves, and a status that says what is proved."""
        status = best.status
        if best.certificate.gap <= self.budget.tol:
            status = Status.CONVERGED
        elif status is Status.CONVERGED:
            status = Status.STALLED
        return replace(
            best,
            status=proved_status(status, best.certificate, self.budget.tol),
            n_iter=max(self.rounds, 1),
            history=self.records,
        )

    def nowhere(self) -> Solution:
        """There is no solution."""
        alpha, w = np.zeros(self.problems.codes.size), np.zeros(self.rows[0].shape[1])
        proof = Certificate(np.inf, 0.0, np.inf, 0.0)
        return Solution(
            lambda: alpha, proof, Status.UNBOUNDED, max(self.rounds, 1), self.records, w=w
        )
