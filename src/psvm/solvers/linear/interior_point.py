"""An interior point method, for tables so wide that the other solvers crawl.

With thousands of one-hot columns coordinate descent takes tens of thousands of passes and Newton,
below p = 2, a step for every few rows that cross the margin; here 7 to 20 factorisations do,
whatever p, C and the scales of the columns (5,733 grants, 1,577 columns: 7 to 16 for p = 1 to 3 and
C = 0.01 to 100, where Newton took 13 to 160 at C = 1).

With slack ``xi_i`` the problem is

    min  1/2 ||w||^2 + sum_i cost_i xi_i^p    s_i = xi_i - g_i + m_i >= 0,   xi_i >= 0

(g the goals, m the margins). Its central path has multipliers ``alpha_i s_i = mu``,
``beta_i xi_i = mu``, ``alpha_i + beta_i = p cost_i xi_i^(p-1)``, and w and b as they follow from
alpha. A step is Mehrotra's: Newton's towards mu = 0, which tells how far mu may fall, and from the
same factor the step that goes there. Everything of a row is eliminated, and the system is that of
``FeatureSystem`` with ``W = a h / (a + h)``, ``a = alpha / s``, ``h = beta / xi + p (p-1) cost
xi^(p-2)``. Between steps P at (w, b) and D of alpha, cut and balanced, tell the gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from psvm.mathematics.problem import LinearStart, feasible
from psvm.solvers.ledger import Stage, Status
from psvm.solvers.linear.best_pair import BestPair
from psvm.solvers.linear.newton_rules import intercept_damping
from psvm.solvers.linear.passes import BlockPasses, Gram
from psvm.solvers.linear.summary import RowSummary
from psvm.solvers.linear.systems import FeatureSystem

Array = npt.NDArray[np.float64]

# Features up to which a factorisation is affordable: 0.4 s and 128 MB.
MAX_INTERIOR = 4000
# How much of the way to the nearest bound a step may go.
_SHARE_OF_WAY = 0.995
# Steps in which the gap or mu is to be halved (usual are 1 to 3), and the most.
_PATIENCE, _MOST_STEPS = 8, 200


def solve_interior_point(
    passes: BlockPasses,
    summary: RowSummary,
    t: int,
    stage: Stage,
    start: LinearStart | None = None,
) -> BestPair:
    """Solve problem t, of soft margin and rows in memory.

    Its best alpha stays with the rows. A round of the stage is a factorisation. The path begins
    where it does, but a ``start`` is the first of the points whose best is returned.
    """
    path = _Path(_Rows(passes, summary, t), stage)
    with np.errstate(all="ignore"):  # what leaves the range of numbers ends the run
        if start is not None:
            path.look_at(start)
        return path.follow()


@dataclass
class _Rows:
    """The rows that take part in a problem, and products with ``z = [x - shift, 1]``."""

    passes: BlockPasses
    summary: RowSummary
    t: int

    def __post_init__(self) -> None:
        problems = self.passes.problems
        taking_part = self.passes.taking_part(self.t)
        # Products with float32 would each make a copy.
        self.blocks = [block.astype(np.float64, copy=False) for block in self.passes.rows]
        self.ends = np.cumsum([0, *(block.shape[0] for block in self.blocks)])
        self.chosen = slice(None) if taking_part.all() else np.flatnonzero(taking_part)
        self.dual_rows = problems.rows_of(self.t, self.chosen)
        self.y, self.cost = self.dual_rows.y, self.dual_rows.cost
        self.goal = self.y * self.dual_rows.target
        self.loss = problems.loss
        given = self.summary.shift
        self.shift = np.zeros(self.summary.features) if given is None else given

    def margins(self, u: Array) -> Array:
        """``y <z, u>`` of every row."""
        w = np.ascontiguousarray(u[:-1])
        decision = np.concatenate([np.asarray(block @ w) for block in self.blocks])
        own = self.passes.problems.of_rows(decision)[self.chosen]
        return np.asarray(self.y * (own + (u[-1] - self.shift @ w)))

    def image(self, v: Array) -> Array:
        """``sum_i v_i y_i z_i``."""
        problems = self.passes.problems
        signed = np.zeros(problems.codes.size)
        signed[self.chosen] = self.y * v
        balance = float(signed.sum())
        signed = problems.summed(signed, int(self.ends[-1]))
        image = np.zeros(self.summary.features)
        for block, begin, end in zip(self.blocks, self.ends, self.ends[1:], strict=False):
            image += block.T @ signed[begin:end]
        free = problems.fit_intercept
        return np.append(image - balance * self.shift, balance if free else 0.0)

    def system(self, weight: Array) -> FeatureSystem:
        """The system with weights W. Raises LinAlgError where it has no factor."""
        problems = self.passes.problems
        everywhere = np.zeros(problems.codes.size)
        everywhere[self.chosen] = weight
        self.passes.set_weight(self.t, everywhere)
        gram = self.passes.answer({self.t: Gram()})[self.t]
        total = float(weight.sum())
        if not np.isfinite(total):
            raise np.linalg.LinAlgError("the weights have left the range of numbers")
        damping = intercept_damping(total, 0.0, float(np.median(self.cost)))
        return FeatureSystem(gram, damping, problems.fit_intercept)

    def keep(self, alpha: Array) -> None:
        """Make alpha the best one."""
        everywhere = np.zeros(self.passes.problems.codes.size)
        everywhere[self.chosen] = alpha
        self.passes.set_best(self.t, everywhere)


@dataclass
class _Step:
    """A direction of everything."""

    u: Array
    margin: Array
    xi: Array
    s: Array
    alpha: Array
    beta: Array


@dataclass
class _Path:
    """Where a run is: all of xi, s, alpha and beta are positive."""

    rows: _Rows
    stage: Stage
    best: BestPair = field(init=False)

    def __post_init__(self) -> None:
        rows = self.rows
        self.u = np.zeros(rows.summary.features + 1)
        self.margin = np.zeros(rows.y.size)
        unit = float(np.abs(rows.goal).mean()) or 1.0
        self.xi = np.maximum(rows.goal, 0.0) + unit
        self.s = self.xi - rows.goal
        slope = rows.loss.alpha_of(self.xi, rows.cost)
        # Near the central path, however far w is from what belongs to alpha: with an alpha whose w
        # is of the size of the goals, at C = 100, it took twice the steps.
        self.alpha, self.beta = 0.5 * slope, 0.5 * slope
        self.best = BestPair(self.u[:-1], 0.0, np.inf, -np.inf, Status.STALLED)
        self.best_alpha = np.zeros(rows.y.size)

    def follow(self) -> BestPair:
        """Step until the gap is closed, or nothing is gained any more."""
        rows, best = self.rows, self.best
        lowest, last_gain = np.full(2, np.inf), 0
        while best.n_iter - last_gain <= _PATIENCE and best.n_iter <= _MOST_STEPS:
            self.judge_primal(self.u, self.margin)
            self.judge_dual(self.alpha)
            if best.ends(self.stage, rows.y.size):
                break
            now = np.array([best.gap, self.mu()])
            if (now <= 0.5 * lowest).any():
                lowest, last_gain = np.where(now <= 0.5 * lowest, now, lowest), best.n_iter
            try:
                if not self.step():
                    break
            except np.linalg.LinAlgError:
                break
            best.n_iter += 1
        rows.keep(self.best_alpha)
        return best

    def look_at(self, start: LinearStart) -> None:
        """P and D of points found before."""
        u = np.append(start.w, start.b + float(self.rows.shift @ start.w))
        self.judge_primal(u, self.rows.margins(u))
        if start.alpha is not None:
            self.judge_dual(start.alpha[self.rows.chosen])

    def judge_primal(self, u: Array, margin: Array) -> None:
        """P at u, given its margins."""
        rows, best, w = self.rows, self.best, u[:-1]
        lost = rows.loss.value(rows.goal - margin, rows.cost)
        primal = 0.5 * float(w @ w) + float(lost.sum())
        if primal < best.primal:
            best.primal, best.w, best.b = primal, w, float(u[-1] - rows.shift @ w)

    def judge_dual(self, alpha: Array) -> None:
        """D of alpha, made feasible."""
        rows = self.rows
        alpha = feasible(rows.dual_rows, alpha)
        w = rows.image(alpha)[:-1]
        conjugate = float(rows.loss.conjugate(alpha, rows.cost).sum())
        dual = float(alpha @ rows.goal) - 0.5 * float(w @ w) - conjugate
        if dual > self.best.dual:
            self.best.dual, self.best_alpha = dual, alpha

    def mu(self) -> float:
        """Where on the path: the mean of alpha s and beta xi."""
        total = self.alpha @ self.s + self.beta @ self.xi
        return float(total) / (2 * self.rows.y.size)

    def step(self) -> bool:
        """One step; false if it is no step any more."""
        rows, p = self.rows, self.rows.loss.p
        mu = self.mu()
        solve = self.linearised()
        first = solve(-self.alpha * self.s, -self.beta * self.xi)
        primal, dual = self.lengths(first, 1.0)
        of_s = (self.alpha + dual * first.alpha) @ (self.s + primal * first.s)
        of_xi = (self.beta + dual * first.beta) @ (self.xi + primal * first.xi)
        mu *= (float(of_s + of_xi) / (2 * rows.y.size * mu)) ** 3
        then = solve(
            mu - self.alpha * self.s - first.alpha * first.s,
            mu - self.beta * self.xi - first.beta * first.xi,
        )
        primal, dual = self.lengths(then, _SHARE_OF_WAY)
        if p > 1.0:  # the slope of the loss ties them together
            primal = dual = min(primal, dual)
        if not (np.isfinite(then.u).all() and max(primal, dual) > 0.0):
            return False
        self.u = self.u + primal * then.u
        self.margin += primal * then.margin
        self.xi += primal * then.xi
        self.s += primal * then.s
        self.alpha += dual * then.alpha
        self.beta += dual * then.beta
        return True

    def linearised(self) -> Callable[[Array, Array], _Step]:
        """The conditions linearised here: to be solved for the changes of alpha s and beta xi."""
        rows, p = self.rows, self.rows.loss.p
        slope = rows.loss.alpha_of(self.xi, rows.cost)
        a, h = self.alpha / self.s, self.beta / self.xi
        if p > 1.0:
            h = h + (p - 1.0) * slope / self.xi
        share = a / (a + h)
        system = rows.system(share * h)
        unmet = slope - self.alpha - self.beta
        gradient = np.append(self.u[:-1], 0.0) - rows.image(self.alpha)

        def solve(of_s: Array, of_xi: Array) -> _Step:
            wanted = of_s / self.s + of_xi / self.xi - unmet
            u = system.solve(rows.image(of_s / self.s - share * wanted) - gradient)
            margin = rows.margins(u)
            xi = wanted / (a + h) - share * margin
            s = xi + margin
            alpha, beta = (of_s - self.alpha * s) / self.s, (of_xi - self.beta * xi) / self.xi
            return _Step(u, margin, xi, s, alpha, beta)

        return solve

    def lengths(self, step: _Step, share: float) -> tuple[float, float]:
        """How far slack and multipliers may go, at most 1, to stay positive."""
        primal = min(_way(self.s, step.s), _way(self.xi, step.xi))
        dual = min(_way(self.alpha, step.alpha), _way(self.beta, step.beta))
        return min(1.0, share * primal), min(1.0, share * dual)


def _way(values: Array, change: Array) -> float:
    """How many times the change may be added before one of the values is 0."""
    return 1.0 / max(float(np.max(-change / values)), 1e-300)
