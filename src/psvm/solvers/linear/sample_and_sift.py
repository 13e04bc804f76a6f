"""The linear Newton method on many rows: from the solution of a sample; at p = 1 by sifting.

A random sample of n_s rows, its cost raised by n / n_s, has a solution within some
``delta = sqrt((d + 1) / n_s)`` of the whole one, in units of the margin. For p > 1 the iteration
begins there. At p = 1 only rows near the margin matter: those further from it than ``8 delta`` keep
alpha at 0 or at their cost, and the rest is solved alone. The dual value of such an alpha is one of
the whole problem, so a single pass over all rows tells whether the guess was right.

With targets the unit is that of the residuals: the one in which a share of ``8 delta`` of the rows
is that near the margin, as it is the share of rows on one side of it that a sample tells to some
delta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm.mathematics.problem import LinearProblems, LinearStart
from psvm.solvers.ledger import Stage
from psvm.solvers.linear.balance import balanced_dual
from psvm.solvers.linear.best_pair import BestPair, relative_gap
from psvm.solvers.linear.lockstep import in_lockstep
from psvm.solvers.linear.newton import (
    Begin,
    NewtonTask,
    semismooth_newton,
)
from psvm.solvers.linear.newton_rules import first_sigma, trust_in
from psvm.solvers.linear.newton_state import OwnGap
from psvm.solvers.linear.passes import BlockPasses, Keep, Pass, Sums, block_sizes
from psvm.solvers.linear.summary import RowSummary, summarise

Array = npt.NDArray[np.float64]
Start = LinearStart | Begin | None

# A sample pays from here on: rows per feature, and entries (ijcnn1, skin_nonskin: twice as fast;
# a9a and w8a, with fewer rows per feature, slower).
_ROWS_PER_FEATURE, _ENTRIES = 400, 5e5
# The sample: a share of the rows (on ijcnn1, skin_nonskin and magic04, p = 1 to 2, a quarter takes
# 5 % longer, a sixteenth 4 % less but up to 1.6 times as long), at least so many per feature (30
# and 300: alike), of every class so many that a rare one is not missed; solved to a relative gap
# (1e-3 and 1e-5: alike).
_SHARE, _SAMPLED_PER_FEATURE, _SAMPLED_PER_CLASS = 1 / 8, 100, 500
SAMPLE_TOL = 1e-4
# Rows whose costs are looked at, with targets.
_LOOKED_AT = 200_000
# Sifting at p = 1: width of the band in units of delta (4: a tenth less time, but closer to missing
# rows; 16: a fifth more), the largest share of rows in it (0.2: 12 % more, 0.8: 5 % more), attempts
# (1: 5 % more, 4: alike).
BAND, LARGEST_BAND, ATTEMPTS = 8.0, 0.4, 2


def solve_newton(
    passes: BlockPasses,
    summary: RowSummary,
    starts: Mapping[int, Start],
    stages: Mapping[int, Stage],
    *,
    in_order: bool,
    own_gap: OwnGap | None = None,
) -> dict[int, BestPair]:
    """Solve problems of ``passes`` from their starts; their best alpha stays with the rows.

    ``own_gap`` is the one of :class:`NewtonTask`, for a single problem.
    """
    newton = _Newton(passes, summary, dict(stages), own_gap)
    if not in_order:
        return newton.solve(starts)
    ends: dict[int, BestPair] = {}
    for t, start in starts.items():
        ends |= newton.solve({t: start})
    return ends


def sample_pays(problems: LinearProblems, rows: int, features: int, entries: float) -> bool:
    """Whether problems have so many rows, of so many stored entries, that a sample pays."""
    if problems.hard_margin:
        return False
    taking_part = float(np.count_nonzero(problems.signs)) / problems.signs.size * rows
    return enough_for_a_sample(taking_part, features, entries)


def enough_for_a_sample(rows: float, features: int, entries: float) -> bool:
    """Whether so many rows of a problem, of so many stored entries each, are many."""
    return rows >= _ROWS_PER_FEATURE * (features + 1) and entries * rows >= _ENTRIES


def sample_size(rows: int, features: int) -> float:
    """How many rows a sample has."""
    return max(rows * _SHARE, _SAMPLED_PER_FEATURE * (features + 1))


def sample_shares(counts: npt.NDArray[Any], size: float) -> Array:
    """The share of the rows of each class in a sample of about this size."""
    wanted = np.maximum(counts * size / max(counts.sum(), 1), _SAMPLED_PER_CLASS)
    return np.asarray(np.minimum(wanted / np.maximum(counts, 1), 1.0))


def sample_of(
    problems: LinearProblems, rows: int, features: int
) -> tuple[LinearProblems, npt.NDArray[np.intp]]:
    """The problems over a sample of all rows of features, costs raised; and these rows.

    It has its share of the rows of every class.
    """
    codes, present = problems.codes, problems.cost > 0.0
    counts = np.bincount(codes[present], minlength=problems.signs.shape[1])
    share = sample_shares(counts, sample_size(rows, features) * codes.size / rows)
    # Rows on the same features are chosen together.
    lot = problems.of_rows(np.random.default_rng(0).random(rows, dtype=np.float32))
    chosen = np.flatnonzero((lot < share.astype(np.float32)[codes]) & present)
    factor = counts / np.maximum(np.bincount(codes[chosen], minlength=counts.size), 1)
    some, places = problems.among(chosen)
    return replace(some, cost=some.cost * factor[some.codes]), places


def trust_in_sample(
    problems: LinearProblems, t: int, rows: Any, w: Array, b: float
) -> tuple[float, float]:
    """The distance to which a solution of a sample of ``rows`` is to be trusted, for p < 2.

    Also the sigma to begin with there, in units of the costs.
    """
    n, d = rows.shape
    delta = float(np.sqrt((d + 1) / n))
    unit = margin_unit(problems, t, rows @ w + b, BAND * delta)
    # alpha is of the size of cost * unit^(p-1), and off by delta of it.
    return delta * unit, float(unit ** (problems.loss.p - 2.0) / delta)


@dataclass
class _Newton:
    passes: BlockPasses
    summary: RowSummary
    stages: dict[int, Stage]
    own_gap: OwnGap | None = None
    costs: dict[int, tuple[float, float]] = field(default_factory=dict)

    @property
    def problems(self) -> LinearProblems:
        return self.passes.problems

    @property
    def shift(self) -> Array:
        given = self.summary.shift
        return np.zeros(self.summary.features) if given is None else given

    def solve(self, starts: Mapping[int, Start]) -> dict[int, BestPair]:
        """Solve some problems together."""
        cold = [t for t, start in starts.items() if start is None]
        begins = {t: start for t, start in starts.items() if isinstance(start, Begin)}
        begins |= self.warm({t: s for t, s in starts.items() if isinstance(s, LinearStart)})
        done: dict[int, BestPair] = {}
        if cold and self.many_rows:
            sampled, deltas = self.sampled(cold)
            if self.problems.loss.p == 1.0:
                done, sampled = self.sift(sampled, deltas)
            begins |= sampled
        else:
            nothing = np.zeros(self.summary.features)
            begins |= {t: Begin(nothing, 0.0) for t in cold}
        tasks = {t: self.task(t, begin) for t, begin in begins.items()}
        runs = {
            t: semismooth_newton(replace(task, own_gap=self.own_gap)) for t, task in tasks.items()
        }
        return done | in_lockstep(self.passes.answer, runs)

    def task(self, t: int, begin: Begin) -> NewtonTask:
        typical, total = self.cost_of(t)
        return NewtonTask(
            loss=self.problems.loss,
            hard=self.problems.hard_margin,
            fit_intercept=self.problems.fit_intercept,
            begin=begin,
            stage=self.stages[t],
            typical_cost=1.0 if self.problems.hard_margin else typical,
            total_cost=total,
            largest=self.summary.largest,
            entries=self.summary.entries,
            shift=self.shift,
            fixed=np.zeros(self.summary.features + 1),
            inner_products=self.passes.inner_products is not None,
            goals_are_1=self.problems.target is None,
        )

    def cost_of(self, t: int) -> tuple[float, float]:
        """Median of the costs of the rows that take part in a problem, and P at w = 0, b = 0."""
        if t not in self.costs:
            present = self.passes.taking_part(t)
            cost, goals = self.problems.cost[present], self.problems.goals(t)
            # With targets by a look at some rows: P at 0 only tells where not to begin.
            step = 1
            if isinstance(goals, np.ndarray):
                step = 1 + 2 * (cost.size // _LOOKED_AT)  # odd: both sides of a tube
                lost = self.problems.loss.value(goals[present][::step], cost[::step])
            else:
                lost = cost  # where all goals are 1
            self.costs[t] = float(np.median(cost[::step])), float(step * lost.sum())
        return self.costs[t]

    # --- warm ------------------------------------------------------------------------------------

    def warm(self, starts: Mapping[int, LinearStart]) -> dict[int, Begin]:
        """Begin at known coefficients; known dual variables are the centre, and a bound."""
        p = 1.0 if self.problems.hard_margin else self.problems.loss.p
        centre = "slack" if 1.0 < p < 2.0 else "zero"
        begins = {t: Begin(start.w, start.b, centre) for t, start in starts.items()}
        duals = {
            t: self.passes.take_alpha(t, start.alpha)[1]
            for t, start in starts.items()
            if start.alpha is not None
        }
        orders = {
            t: Pass("certify", direction=np.ascontiguousarray(starts[t].w), b=starts[t].b)
            for t in duals
        }
        for t, sums in self.passes.answer(orders).items():
            start, dual = starts[t], duals[t]
            primal = 0.5 * float(start.w @ start.w) + sums.loss
            typical = 1.0 if self.problems.hard_margin else self.cost_of(t)[0]
            sigma = first_sigma(p, typical, self.summary.largest)
            sigma *= trust_in(relative_gap(primal, dual))
            bounds = None if self.problems.hard_margin else (primal, dual)
            begins[t] = Begin(start.w, start.b, "keep", sigma, bounds)
        return begins

    def dual_value(self, sums: Sums) -> tuple[float, tuple[float, float]]:
        p = 1.0 if self.problems.hard_margin else self.problems.loss.p
        free = self.problems.fit_intercept
        return balanced_dual(sums.dual, p, np.zeros(self.summary.features + 1), 0.0, free)

    # --- sample ----------------------------------------------------------------------------------

    @property
    def many_rows(self) -> bool:
        """Whether a problem has so many rows that a sample pays."""
        given = self.summary
        return sample_pays(self.problems, given.rows, given.features, given.entries)

    def sampled(self, numbers: Sequence[int]) -> tuple[dict[int, Begin], dict[int, float]]:
        """Begin at the solutions of a sample; also the distances they are to be trusted to."""
        problems, places = sample_of(self.problems, self.summary.rows, self.summary.features)
        rows = [gather(self.passes.rows, places)]
        summary = summarise(rows, centred=problems.fit_intercept)
        passes = BlockPasses(
            rows, problems, numbers, self.passes.threads, summary.shift, self.passes.cancel
        )
        stages = {
            t: self.stages[t].ledger.aside(max(SAMPLE_TOL, self.stages[t].tol)) for t in numbers
        }
        ends = _Newton(passes, summary, stages).solve(dict.fromkeys(numbers))
        begins, deltas = {}, {}
        for t, end in ends.items():
            if problems.loss.p >= 2.0:
                begins[t] = Begin(end.w, end.b)
                continue
            deltas[t], sigma = trust_in_sample(problems, t, rows[0], end.w, end.b)
            begins[t] = Begin(end.w, end.b, "slack", self.cost_of(t)[0] * sigma)
        return begins, deltas

    # --- sifting ---------------------------------------------------------------------------------

    def sift(
        self, begins: dict[int, Begin], deltas: Mapping[int, float]
    ) -> tuple[dict[int, BestPair], dict[int, Begin]]:
        """Solve the rows near the margin alone, as long as that goes well.

        ``deltas`` are the distances to which the starts are to be trusted. Returns where they
        ended, and where the whole method should begin for those not done.
        """
        ends = {t: BestPair(begin.w, begin.b, np.inf, 0.0) for t, begin in begins.items()}
        for t in begins:
            self.passes.set_best(t, np.zeros(self.problems.codes.size))
        left, rest = dict(begins), dict[int, Begin]()
        for attempt in range(ATTEMPTS + 1):
            sums = self.at_band(left, {t: BAND * deltas[t] * 2.0**attempt for t in left})
            for t, begin in list(left.items()):
                best, delta = ends[t], deltas[t]
                if self.judged(t, best, begin, sums[t]):
                    del left[t]
                elif attempt == ATTEMPTS or sums[t].active > LARGEST_BAND * self.passes.count(t):
                    self.passes.set_centre(t, self.passes.best_alpha(t))
                    sigma = self.cost_of(t)[0] / delta
                    bounds = best.primal, best.dual
                    rest[t] = Begin(best.w, best.b, "keep", sigma, bounds)
                    stage = self.stages[t]
                    self.stages[t] = stage.ledger.stage(stage.solver, tol=stage.tol)
                    del left[t]
                else:
                    left[t] = self.solve_band(t, best, sums[t], delta * 2.0**attempt)
            if not left:
                break
        return ends, rest

    def at_band(self, begins: dict[int, Begin], bands: Mapping[int, float]) -> dict[int, Sums]:
        """Margins at the given points, with alpha going from 0 to its cost across the bands."""
        orders = {}
        for t, begin in begins.items():
            direction = np.ascontiguousarray(begin.w)
            orders[t] = Pass("begin", 1.0 / bands[t], direction, begin.b, centre="band")
        return self.passes.answer(orders)

    def judged(self, t: int, best: BestPair, begin: Begin, sums: Sums) -> bool:
        """Whether P at ``begin`` and the best D end the solve; puts them on record."""
        primal = 0.5 * float(begin.w @ begin.w) + sums.loss
        if primal < best.primal:
            best.primal, best.w, best.b = primal, begin.w, begin.b
        dual, factors = self.dual_value(sums)
        if dual > best.dual:
            self.passes.answer({t: Keep(False, factors)})
            best.dual = dual
        stage = self.stages[t]
        # A pass over all rows, so only where it decides.
        unproved = best.gap <= stage.tol and self.own_gap is not None and self.own_gap() > stage.tol
        return best.ends(stage, sums.active, is_proved=not unproved)

    def solve_band(self, t: int, best: BestPair, sums: Sums, delta: float) -> Begin:
        """Solve the rows strictly inside the band; the others keep their alpha."""
        inside = self.passes.active_rows(t)
        problems, places = self.problems.among(inside)
        alpha = self.passes.present_alpha(t)
        y = problems.signs[t][problems.codes]
        rows = [gather(self.passes.rows, places)]
        passes = BlockPasses(
            rows, problems, [t], self.passes.threads, self.summary.shift, self.passes.cancel
        )
        # What the rows outside contribute: everything less the rows inside.
        signed = y * alpha[inside]
        inner = rows[0].T @ problems.summed(signed, places.size)
        image = sums.dual.image[1] - sums.dual.image[0] - inner
        balance = float(sums.dual.alpha[1] - sums.dual.alpha[0] - signed.sum())
        fixed = np.append(image - balance * self.shift, balance)
        fixed_total = float(sums.dual.linear.sum() - (problems.goals(t) * alpha[inside]).sum())
        sigma = self.cost_of(t)[0] / delta
        stage = self.stages[t]
        task = replace(
            self.task(t, Begin(best.w, best.b, "half_cost", sigma)),
            stage=stage.ledger.aside(0.5 * stage.tol),
            fixed=fixed,
            fixed_total=fixed_total,
        )
        found: BestPair = in_lockstep(passes.answer, {t: semismooth_newton(task)})[t]
        best.n_iter += found.n_iter
        if found.dual > best.dual:
            alpha[inside] = passes.best_alpha(t)
            self.passes.set_best(t, alpha)
            best.dual = found.dual
        return Begin(found.w, found.b)


def margin_unit(problems: LinearProblems, t: int, decision: Array, band: float) -> float:
    """What a band is to be multiplied by to hold that share of the rows of a problem; 1 of classes.

    ``decision`` is ``<w, x> + b`` of the rows of features.
    """
    if problems.target is None:
        return 1.0
    off = np.abs(problems.rows_of(t).shortfall(problems.of_rows(decision)))
    off = off[problems.cost > 0.0]
    place = min(int(min(band, 0.5) * off.size), off.size - 1)
    return max(float(np.partition(off, place)[place]), 1e-12 * float(off.max())) / band or 1.0


def gather(rows: Sequence[Any], chosen: npt.NDArray[np.intp]) -> Any:
    """The chosen rows of all blocks (ascending, some perhaps twice) as one block."""
    parts, begin = [], 0
    for k, size in enumerate(block_sizes(rows)):
        first, last = np.searchsorted(chosen, [begin, begin + size])
        if last > first:
            parts.append(rows[k][chosen[first:last] - begin])
        begin += size
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr") if len(parts) > 1 else parts[0]
    return np.ascontiguousarray(np.concatenate(parts))
