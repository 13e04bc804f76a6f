"""The linear problems of a fit, solved and certified on a cluster.

1. With many rows the solution of a sample, which the client has in memory, is where to begin. At
   p = 1 the rows near its margin are solved by the client alone, as long as that goes well
   (``sift``).
2. :func:`psvm.solvers.linear.newton.semismooth_newton` over the rows on the cluster, all problems
   in lockstep.
3. The certificates, in one more pass over all rows. Where alpha has been lost with a worker
   meanwhile, step 2 again from the solution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.dask.cluster import Cluster, ClusterError
from psvm.dask.passes import ClusterPasses, last_answer
from psvm.dask.sample import sample_solution
from psvm.dask.sift import sift
from psvm.dask.step import Setup, ShardOrder, Support
from psvm.mathematics.certificate import Certificate
from psvm.mathematics.problem import LinearStart
from psvm.solvers.blas_threads import one_blas_thread
from psvm.solvers.ledger import Budget, Ledger, OutOfTime, Solution, Stage
from psvm.solvers.linear.best_pair import BestPair, relative_gap
from psvm.solvers.linear.choose import AIM
from psvm.solvers.linear.lockstep import in_lockstep
from psvm.solvers.linear.newton import Begin, NewtonTask, semismooth_newton
from psvm.solvers.linear.passes import Keep, Order, Pass, RowsLost, Sums
from psvm.solvers.linear.proof import proof_of_pair
from psvm.solvers.linear.sample_and_sift import enough_for_a_sample
from psvm.solvers.linear.summary import RowSummary

Array = npt.NDArray[np.float64]

# Times that the certificate may find alpha gone before the fit is given up.
_MOST_REPAIRS = 10
# A gap so much smaller than the last certified one is worth a certificate of its own, where the
# last certified iterate is to be kept.
_WORTH_CERTIFYING = 0.1
# Share of the limit of seconds, and seconds, that certificates may take longer.
_GRACE, _GRACE_SECONDS = 0.05, 0.4


@dataclass(frozen=True)
class Costs:
    """Per problem: rows, a typical cost, and P at w = 0, b = 0."""

    count: list[int]
    typical: list[float]
    at_zero: list[float]

    @classmethod
    def of_classes(cls, signs: Any, rows: Any, cost: Any, at_zero: Any = None) -> Costs:
        """From the rows and the cost of each class; where goals are 1, P at 0 is that cost."""
        taking_part = signs != 0
        count = [int(rows[own].sum()) for own in taking_part]
        total = [float(cost[own].sum()) for own in taking_part]
        typical = [all_ / max(n, 1) for all_, n in zip(total, count, strict=True)]
        return cls(count, typical, total if at_zero is None else list(at_zero))


@dataclass(frozen=True)
class Certified:
    """A pair with its certificate, and the sums of alpha and of its conjugates."""

    end: BestPair
    certificate: Certificate
    alpha: float
    conjugate: float


@dataclass
class ClusterSolve:
    """One fit on a cluster."""

    cluster: Cluster
    passes: ClusterPasses
    summary: RowSummary
    setup: Setup
    costs: Costs
    class_rows: npt.NDArray[np.int64]
    budget: Budget
    on_round: Callable[[int, dict[str, Any]], bool] | None
    threads: int
    milestones: bool = False  # whether certified iterates are kept on the way
    certified: dict[int, Certified] = field(default_factory=dict)
    to_certify: dict[int, BestPair] = field(default_factory=dict)
    final: dict[int, Any] = field(default_factory=dict)  # answers of `proved`, if they are the last

    @property
    def shift(self) -> Array:
        """What features are centred by."""
        given = self.summary.shift
        return np.zeros(self.summary.features) if given is None else given

    def solve(
        self, starts: Sequence[LinearStart | None], *, in_order: bool
    ) -> tuple[list[Solution], npt.NDArray[np.int64]]:
        """Certified solutions, and how many rows support some of them (:class:`Support`)."""
        numbers = range(len(self.setup.signs))
        ledgers = [
            Ledger(self.budget, t, self.on_round, reserve=self.passes.reserve) for t in numbers
        ]
        with one_blas_thread():
            ends: dict[int, BestPair] = {}
            for group in [[t] for t in numbers] if in_order else [list(numbers)]:
                ends |= self._solve(group, starts, ledgers)
            sums = self._certify(ends, ledgers)
        solutions = []
        for t in numbers:
            certificate = self._certificate(t, ends[t], sums)
            solution = Solution(no_alpha, certificate, ends[t].status, w=ends[t].w)
            solutions.append(ledgers[t].closed(solution))
        support = sums.get(-1)
        kinds = self.setup.signs.shape[1] if self.setup.encoder.goals_are_1 else 1
        return solutions, np.zeros(kinds, dtype=np.int64) if support is None else support

    def _solve(
        self, group: list[int], starts: Sequence[LinearStart | None], ledgers: Sequence[Ledger]
    ) -> dict[int, BestPair]:
        stages = {
            t: ledgers[t].stage(
                "semismooth_newton",
                f"on a cluster ({self.costs.count[t]} rows of {self.summary.features} features, "
                f"{self.summary.entries:.4g} of them stored)",
                tol=AIM * self.budget.tol,
            )
            for t in group
        }
        begins: dict[int, Begin] = {}
        done: dict[int, BestPair] = {}
        cold = [t for t in group if starts[t] is None]
        for t in group:
            start = starts[t]
            if start is not None:
                begins[t] = self.begin_at(start.w, start.b)
        many = [t for t in cold if self._many_rows(t)]
        if many:
            sampled = sample_solution(self, many, stages)
            begins |= {t: one.begin for t, one in sampled.items()}
            if self.setup.terms.p == 1.0:
                done, better = sift(self, sampled, stages)
                begins |= better
        for t in cold:
            begins.setdefault(t, Begin(np.zeros(self.summary.features), 0.0))
        begins = {t: begin for t, begin in begins.items() if t not in done}
        return done | self._newton(begins, stages)

    def _many_rows(self, t: int) -> bool:
        given = self.summary
        rows = min(self.costs.count[t], given.rows)  # two of them may share features
        hard = self.setup.terms.hard_margin
        return not hard and enough_for_a_sample(rows, given.features, given.entries)

    def begin_at(self, w: Array, b: float, delta: float | None = None, unit: float = 1.0) -> Begin:
        """Begin at known coefficients, to be trusted to ``delta`` in units of the margin."""
        terms = self.setup.terms
        if terms.hard_margin or terms.p >= 2.0:
            return Begin(w, b)
        typical = float(np.mean(self.costs.typical))
        # alpha is of the size of cost * unit^(p-1), and off by delta of it.
        sigma = None if delta is None else typical * unit ** (terms.p - 2.0) / delta
        return Begin(w, b, self.setup.new_centre, sigma)

    def _newton(
        self, begins: Mapping[int, Begin], stages: Mapping[int, Stage]
    ) -> dict[int, BestPair]:
        runs = {t: semismooth_newton(self.task(t, begins[t], stages[t])) for t in begins}
        return in_lockstep(self.answer, runs)

    def task(self, t: int, begin: Begin, stage: Stage) -> NewtonTask:
        """A binary problem for the Newton loop."""
        terms = self.setup.terms
        return NewtonTask(
            loss=terms.loss,
            hard=terms.hard_margin,
            fit_intercept=terms.fit_intercept,
            begin=begin,
            stage=stage,
            typical_cost=1.0 if terms.hard_margin else self.costs.typical[t],
            total_cost=self.costs.at_zero[t],
            largest=self.summary.largest,
            entries=self.summary.entries,
            shift=self.shift,
            fixed=np.zeros(self.summary.features + 1),
            goals_are_1=self.setup.encoder.goals_are_1,
            on_keep=partial(self._kept, t) if self.milestones else None,
        )

    def answer(self, orders: Mapping[int, Order]) -> dict[int, Any]:
        """Answer orders; together with them milestones are certified."""
        try:
            asked = {t: order for t, order in orders.items() if not isinstance(order, Keep)}
            if not any(t in self.to_certify for t in asked):
                return self.passes.answer(orders)
            self.passes.answer({t: order for t, order in orders.items() if t not in asked})
            found = self.ask(asked)
            return {t: last_answer(found.get(t)) for t in orders}
        except OutOfTime as over:
            # What is to be kept waits for the next round, if there is one.
            return {t: None if isinstance(order, Keep) else over for t, order in orders.items()}

    def ask(self, orders: Mapping[int, ShardOrder]) -> dict[int, Any]:
        """Lists of answers to an order of each problem, or RowsLost; milestones are certified."""
        waiting = {t: self.to_certify.pop(t) for t in orders if t in self.to_certify}
        asked: dict[int, list[ShardOrder]] = {t: [order] for t, order in orders.items()}
        for t, end in waiting.items():
            asked[t].insert(0, _certify(end))
        found = self.passes.ask(asked)
        for t, end in waiting.items():
            value = found.get(t)
            if isinstance(value, list):
                self._certified(t, end, value.pop(0))
        return found

    def milestone(self, t: int, end: BestPair) -> None:
        """Certify this pair in the next round, if such are wanted; the alpha is kept by then."""
        if self.milestones:
            self.to_certify[t] = replace(end)

    def _certified(self, t: int, end: BestPair, sums: Sums) -> None:
        """Keep the best certified pair of a problem."""
        proof, last = self._proof(t, end, sums), self.certified.get(t)
        if last is None or proof.gap < last.certificate.gap:
            self.certified[t] = self._with_sums(end, proof, sums)

    def _kept(self, t: int, end: BestPair) -> None:
        last = self.certified.get(t)
        if last is None or end.gap < _WORTH_CERTIFYING * last.certificate.gap:
            self.milestone(t, end)

    # --- certificates ----------------------------------------------------------------------------

    def proved(
        self, ends: Mapping[int, BestPair], at: Mapping[int, Begin], stages: Mapping[int, Stage]
    ) -> dict[int, BestPair]:
        """The problems that end at these points with the alpha that the rows keep by then.

        A pass that certifies tells P as well as any other. If it was the last for all problems of
        the fit, they need none at the end.
        """
        points = {t: replace(ends[t], w=at[t].w, b=at[t].b) for t in at}
        orders: dict[int, list[ShardOrder]] = {t: [_certify(one)] for t, one in points.items()}
        orders[min(at)].append(Support())
        done: dict[int, BestPair] = {}
        found = self.passes.ask(orders)
        for t, answer in found.items():
            if isinstance(answer, RowsLost):
                continue
            best, point, sums = ends[t], points[t], answer[0]
            point.primal = 0.5 * float(point.w @ point.w) + sums.loss
            if self.milestones:
                self._certified(t, point, sums)
            if point.primal < best.primal:
                best.primal, best.w, best.b = point.primal, point.w, point.b
            if best.ends(stages[t], sums.active):
                done[t] = best
        last = len(done) == len(self.setup.signs)
        if last and all(best.w is at[t].w for t, best in done.items()):
            self.final = {t: found[t][0] for t in done} | {-1: found[min(at)][1]}
        return done

    def _certify(self, ends: dict[int, BestPair], ledgers: Sequence[Ledger]) -> dict[int, Any]:
        """The sums of the certificates by problem, and under -1 the supporting rows."""
        if self.final:
            return self.final
        limit = self.budget.max_time
        for _ in range(_MOST_REPAIRS):
            self.to_certify.clear()  # what is certified now is better
            self.cluster.grace = 0.0 if limit is None else max(_GRACE * limit, _GRACE_SECONDS)
            orders: dict[int, list[Any]] = {t: [_certify(end)] for t, end in ends.items()}
            orders[min(ends)].append(Support())
            try:
                found = self.passes.ask(orders)
            except OutOfTime:
                return {}
            lost = [t for t, value in found.items() if isinstance(value, RowsLost)]
            if not lost:
                sums = {t: value[0] for t, value in found.items()}
                return {**sums, -1: found[min(ends)][1]}
            self.cluster.grace = 0.0
            if self.cluster.out_of_time:
                return {t: value[0] for t, value in found.items() if t not in lost}
            for t in lost:
                stage = ledgers[t].stage("semismooth_newton", tol=AIM * self.budget.tol)
                gap = ends[t].gap
                begin = self.begin_at(ends[t].w, ends[t].b, float(np.sqrt(min(gap, 1.0)) + 1e-6))
                ends |= self._newton({t: begin}, {t: stage})
        raise ClusterError("Dual variables were lost with their workers again and again.")

    def _certificate(self, t: int, end: BestPair, sums: Mapping[int, Any]) -> Certificate:
        if t in sums and sums[t] is not None:
            proof = self._proof(t, end, sums[t])
            self.certified[t] = self._with_sums(end, proof, sums[t])
            return proof
        # No time is left: what the loop has seen, unproved.
        measured = relative_gap(end.primal, end.dual)
        return Certificate(end.primal, end.dual, np.inf, end.b, measured=measured)

    def _proof(self, t: int, end: BestPair, sums: Sums) -> Certificate:
        return proof_of_pair(end, sums, self.setup.terms, self.costs.count[t])

    def _with_sums(self, end: BestPair, proof: Certificate, sums: Sums) -> Certified:
        dual = sums.dual
        return Certified(end, proof, float(dual.alpha.sum()), float(dual.conjugate.sum()))


def _certify(end: BestPair) -> Pass:
    return Pass("certify", direction=np.ascontiguousarray(end.w), b=end.b)


def no_alpha() -> Array:
    """Stands for the dual variables, which stay on the cluster."""
    raise LookupError("The dual variables of a fit on a cluster are not kept.")
