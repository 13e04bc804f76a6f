"""The linear solver for many rows: a semismooth-Newton proximal multiplier method.

Unknowns are ``u = [w; b]``; margins are ``m_i = y_i (<x_i, w> + b)``. Around a centre ``a`` with
weight ``sigma`` the loss of every row is replaced by its proximal envelope, whose slope in the
margin is ``-alpha_i(m_i)`` (``prox.hpp``). Each outer step moves the centre to alpha and raises
sigma; for p >= 2 the loss itself is smooth enough, sigma is infinite and there is no outer step.

The loop of one problem is :func:`semismooth_newton`, a generator: it yields orders to the rows
(``block_passes``) and is sent their answers, so that :func:`in_lockstep` can answer the orders of
many problems in one pass over the rows. Per iteration:

1. outer step, when the inner problem is solved well enough for this centre;
2. Newton direction, from the Gram matrix of the rows with W > 0, or by conjugate gradients;
3. step: one pass for the new margins, alpha and gradient, then a line search if that overshot;
4. the relative gap of ``P(w, b)`` and ``D(alpha)``, where alpha is balanced by scaling one class.

Rows may be left out of the iteration with their alpha fixed (sifting): they add the linear term
``-<fixed, u>`` and the constant ``fixed_total`` to the primal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.certificate import may_be_separable
from psvm.mathematics.loss import PNormHinge
from psvm.solvers.ledger import Stage, Status
from psvm.solvers.linear.best_pair import BestPair, relative_gap
from psvm.solvers.linear.passes import Active, DualSums, Gram, Keep, Order, Pass, Squares, Sums
from psvm.solvers.linear.systems import (
    FeatureSystem,
    RowSystem,
    System,
    best_system,
    conjugate_gradients,
)
from psvm.solvers.newton_rules import (
    MAX_ITERATIONS,
    SlopeSearch,
    first_sigma,
    growth,
    intercept_damping,
    patience,
)

Array = npt.NDArray[np.float64]
Orders = Generator[Order, Any, Any]

# Features from which a factor is worth using twice.
_CHORD = 50
# Relative gap from which the linearised alpha is worth a look, if tol is below.
_NEAR = 1e-6
# Relative gap that is as good as rounding; asked for it, the iteration takes a few more steps.
ROUNDING = 1e-13
_POLISH_STEPS = 4
# Iterations after which margins are recomputed from u.
_REFRESH = 25


@dataclass(frozen=True)
class Begin:
    """Where the iteration begins.

    ``centre`` is the rule by which rows set their centre at the first margins: "zero", "slack"
    (alpha of the slack, for p > 1), "half_cost", or "keep" for the one they were given. ``sigma``
    None means cold: from the costs and the size of the rows. ``bounds`` are P at (w, b) and D at
    the alpha that the rows keep as the best one, if known.
    """

    w: Array
    b: float
    centre: str = "zero"
    sigma: float | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class NewtonTask:
    """One binary problem, without its rows."""

    loss: PNormHinge
    hard: bool
    fit_intercept: bool
    begin: Begin
    stage: Stage
    typical_cost: float
    total_cost: float
    largest: float  # largest ||x - shift||^2
    entries: float  # stored entries of a row
    shift: Array
    fixed: Array | None = None  # of u, in centred coordinates
    fixed_total: float = 0.0


def balanced_dual(
    dual: DualSums, p: float, fixed: Array, fixed_total: float, fit_intercept: bool
) -> tuple[float, tuple[float, float]]:
    """D of alpha with the heavier class scaled down to balance, and the factors of that.

    ``fixed`` is the image of the rows that do not take part, not centred.
    """
    factors = [1.0, 1.0]
    if fit_intercept:
        excess = float(dual.alpha[1] - dual.alpha[0] + fixed[-1])
        heavier = int(excess > 0.0)
        if abs(excess) > 1e-15 * float(dual.alpha.sum()):
            total = float(dual.alpha[heavier])
            if total < abs(excess):
                return -np.inf, (1.0, 1.0)
            factors[heavier] = 1.0 - abs(excess) / total
    scale = np.array(factors)
    w = fixed[:-1] + np.array([-factors[0], factors[1]]) @ dual.image
    value = fixed_total + float(scale @ dual.alpha) - 0.5 * float(w @ w)
    if p > 1.0:
        value -= float(scale ** (p / (p - 1.0)) @ dual.conjugate)
    return value, (factors[0], factors[1])


def in_lockstep(
    answer: Callable[[Mapping[int, Order]], dict[int, Any]], runs: Mapping[int, Orders]
) -> dict[int, Any]:
    """Run generators to their end, answering the orders of all of them together."""
    outcomes: dict[int, Any] = {}
    orders: dict[int, Order] = {}
    answers: dict[int, Any] = dict.fromkeys(runs)
    while answers:
        orders = {}
        for t, value in answers.items():
            try:
                orders[t] = runs[t].send(value)
            except StopIteration as end:
                outcomes[t] = end.value
        answers = answer(orders) if orders else {}
    return outcomes


def semismooth_newton(task: NewtonTask) -> Generator[Order, Any, BestPair]:
    """Solve one problem to ``task.stage.tol``; see the module's text."""
    # Far from the solution a large power may overflow: such points are never the best.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return (yield from _SemismoothNewton(task).run())


class _SemismoothNewton:
    """One run. Coordinates are centred: ``b`` belongs to features less their shift."""

    def __init__(self, task: NewtonTask) -> None:
        self.task, self.stage = task, task.stage
        self.p = 1.0 if task.hard else task.loss.p
        self.d = task.shift.size
        self.fixed = np.zeros(self.d + 1) if task.fixed is None else task.fixed
        self.delta = self.p == 1.0  # at p = 1 few alpha change in a step
        w, b = task.begin.w, task.begin.b
        self.u = np.append(w, b + float(task.shift @ w) if task.fit_intercept else 0.0)
        cold = first_sigma(self.p, task.typical_cost, task.largest)
        self.sigma = cold if task.begin.sigma is None else task.begin.sigma
        # Beyond this the systems of the Newton step are as ill-conditioned as double allows.
        self.sigma_limit = 1e12 * max(task.typical_cost, self.sigma)
        self.kept = task.begin.bounds is not None
        # alpha = 0 is feasible unless rows are fixed.
        nothing = 0.0 if task.fixed is None else -np.inf
        primal, dual = task.begin.bounds or (np.inf, nothing)
        self.best = BestPair(self.u[:-1], 0.0, primal, dual)
        self.best_u = self.u
        self.sums: Sums
        self.settled = 0
        self.system: System | None = None

    # --- the loop --------------------------------------------------------------------------------

    def run(self) -> Generator[Order, Any, BestPair]:
        factor, exactness = growth(self.p)
        yield from self.begin()
        idle, iteration, lowest, smallest = 0, 0, np.inf, np.inf
        last_decrement, stepped_fully = np.inf, False
        status = self.stop(0, 0)
        while status is None:
            iteration += 1
            sigma = self.sigma
            if iteration % _REFRESH == 0:
                yield from self.evaluate(self.product("begin", self.u))
            # 1. Outer step, judged by the last factor: forming a new one is the costly part.
            if self.system is not None and self.solved(self.decrement(), exactness):
                yield from self.recentre(factor)
            # 2. Newton direction.
            chord = (
                self.p > 1.0
                and self.d >= _CHORD
                and stepped_fully
                and self.sigma == sigma
                and self.system is not None
                and self.decrement() < 0.03 * last_decrement
            )
            try:
                direction = yield from self.direction(chord)
                decrement = -float(self.gradient @ direction)
                if self.system is None and self.solved(decrement, exactness):
                    yield from self.recentre(factor)
                    direction = yield from self.direction()
            except np.linalg.LinAlgError:
                status = Status.STALLED
                break
            decrement = last_decrement = max(-float(self.gradient @ direction), 0.0)
            # 3. Step.
            tol = max(self.stage.tol, _NEAR)
            near = decrement + self.sums.moved < 3.0 * tol * abs(self.primal())
            step = yield from self.step(direction, linearise=near)
            stepped_fully = step == 1.0
            # 4. Gap. Newton's own, linearised alpha proves one where the exact one lags.
            before = self.best.gap
            yield from self.consider(self.sums.dual, linearised=False)
            if near and self.best.gap > self.stage.tol and stepped_fully:
                yield from self.consider(self.sums.linearised, linearised=True)
            # Far away the primal falls, sigma grows, or the decrement of the envelope falls, for
            # long before any gap is proved: weights over six decades take hundreds of steps.
            primal = self.primal()
            falling = primal < (1.0 - 1e-6) * lowest or not np.isfinite(primal)
            smallest = np.inf if self.sigma > sigma else smallest
            falling = falling or decrement < 0.99 * smallest
            lowest, smallest = min(lowest, primal), min(smallest, decrement)
            idle = idle + 1 if self.best.gap > 0.5 * before and not falling else 0
            status = self.stop(iteration, idle)
        if not self.kept:
            yield Keep(False, (0.0, 0.0))
        self.best.w = self.best_u[:-1]
        self.best.b = float(self.best_u[-1] - self.task.shift @ self.best.w)
        self.best.status, self.best.n_iter = status, iteration
        return self.best

    def begin(self) -> Orders:
        """Evaluate the start, or u = 0 where that is better (with a large p it often is)."""
        centre = self.task.begin.centre
        yield from self.evaluate(self.product("begin", self.u, centre=centre))
        if not self.task.hard and not self.primal() <= self.task.total_cost:
            self.u = np.zeros(self.d + 1)
            yield from self.evaluate(self.product("begin", self.u, centre="zero"))
        yield from self.consider(self.sums.dual, linearised=False)

    def solved(self, decrement: float, exactness: float) -> bool:
        """Whether the inner problem is solved well enough to move the centre."""
        if np.isinf(self.sigma):
            return False
        return decrement < max(exactness * self.sums.moved, 1e-18 * abs(self.best.primal))

    def recentre(self, factor: float) -> Orders:
        """Outer step."""
        # Near the solution of a smooth loss a larger sigma only costs digits.
        small = self.sums.moved < 1e-5 * self.stage.tol * abs(self.primal())
        if self.p == 1.0 or not small or self.best.gap > 0.01:
            self.sigma = min(self.sigma * factor, self.sigma_limit)
        yield from self.evaluate(
            Pass("settle", self.sigma, step=0.0, centre="alpha", delta=self.delta)
        )

    def stop(self, iteration: int, idle: int) -> Status | None:
        """Record the iteration; the status if it was the last."""
        gap = self.best.gap
        record = {
            "iteration": iteration,
            "gap": gap,
            "primal": self.best.primal,
            "dual": self.best.dual,
            "changed": self.sums.active,
        }
        if self.task.hard and not self.separable():
            return Status.UNBOUNDED
        asked = self.stage.tell(record)
        if gap <= max(self.stage.tol, ROUNDING):
            # P - D is a difference: below rounding, a few more steps still gain digits of w.
            self.settled += 1
            if self.stage.tol > ROUNDING or self.settled > _POLISH_STEPS:
                return Status.CONVERGED
        if asked:
            return Status.STOPPED
        stuck = iteration >= MAX_ITERATIONS or idle >= patience(gap)
        return self.stage.spent(iteration) or (Status.STALLED if stuck else None)

    # --- the rows --------------------------------------------------------------------------------

    def product(self, kind: str, u: Array, **options: Any) -> Pass:
        """A pass with the product of the rows and u, in the coordinates of the rows."""
        w = np.ascontiguousarray(u[:-1])
        return Pass(kind, self.sigma, direction=w, b=float(u[-1] - self.task.shift @ w), **options)

    def evaluate(self, order: Pass) -> Orders:
        """Give an order that ends at new margins; keep its sums."""
        sums: Sums = yield order
        if order.delta:
            sums.dual.image = self.sums.dual.image + sums.dual.image
        self.sums = sums
        self.gradient = np.append(self.u[:-1], 0.0) - self.fixed - self.image(sums.dual)
        if not self.task.fit_intercept:
            self.gradient[-1] = 0.0

    def image(self, dual: DualSums, factors: tuple[float, float] = (1.0, 1.0)) -> Array:
        """``sum_i alpha_i y_i [x_i - shift, 1]``, each class times its factor."""
        signed = np.array([-factors[0], factors[1]])
        balance = float(signed @ dual.alpha)
        return np.append(signed @ dual.image - balance * self.task.shift, balance)

    def primal(self) -> float:
        """P at the present point; for a hard margin of w scaled to be feasible."""
        w = self.u[:-1]
        norm = 0.5 * float(w @ w)
        if self.task.hard:
            smallest = self.sums.smallest_margin
            return norm / smallest**2 if smallest > 0.0 else np.inf
        return norm + self.sums.loss + self.task.fixed_total - float(self.fixed @ self.u)

    def consider(self, dual: DualSums, *, linearised: bool) -> Orders:
        """Compare P and D at the present point with the best so far."""
        primal = self.primal()
        u = self.u
        smallest = self.sums.smallest_margin
        if self.task.hard and primal < np.inf:
            u = u / smallest
        elif smallest > 1.0 and self.task.fixed is None and not self.task.hard:
            # Separable, and further than need be.
            primal, u = primal / smallest**2, u / smallest
        if primal < self.best.primal or not np.isfinite(self.best.primal):
            self.best.primal, self.best_u = primal, u
        value, factors = self.dual_value(dual)
        gap = relative_gap(self.best.primal, value)
        # Keeping alpha is a pass over the state of the rows: not for every small gain.
        better = gap < 0.5 * self.best.gap or gap <= self.stage.tol < self.best.gap
        first = not self.kept and value > self.best.dual
        if np.isfinite(value) and (better or first):
            yield Keep(linearised, factors)
            self.best.dual, self.kept = value, True

    def dual_value(self, dual: DualSums) -> tuple[float, tuple[float, float]]:
        """D of alpha, balanced."""
        fixed = self.fixed + np.append(self.fixed[-1] * self.task.shift, 0.0)
        free = self.task.fit_intercept
        return balanced_dual(dual, self.p, fixed, self.task.fixed_total, free)

    def separable(self) -> bool:
        """Whether alpha leaves room for a hard margin."""
        value, factors = self.dual_value(self.sums.dual)
        if not np.isfinite(value):
            return True
        w = self.image(self.sums.dual, factors)[:-1]
        gain = float(np.array(factors) @ self.sums.dual.alpha)
        return may_be_separable(float(w @ w), gain, self.task.largest)

    # --- the Newton direction --------------------------------------------------------------------

    def decrement(self) -> float:
        """``g' H^-1 g`` with the last system."""
        assert self.system is not None
        return float(self.gradient @ self.system.solve(self.gradient))

    def damping(self) -> float:
        """Curvature of b beside that of the rows."""
        typical_cost = self.task.typical_cost
        return intercept_damping(self.sums.weight, float(self.gradient[-1]), typical_cost)

    def direction(self, chord: bool = False) -> Orders:
        """``-H^-1 g``; the system is kept, if it is one that can be solved again."""
        free, damping = self.task.fit_intercept, self.damping()
        if chord and self.system is not None:
            return -self.system.solve(self.gradient)
        kind = best_system(self.d, self.task.entries, self.sums.active)
        if kind == "gradients":
            self.system = None
            return (yield from self.by_gradients())
        if kind == "rows" and self.sums.active > 0:
            parts = yield Active()
            self.system = RowSystem(parts, self.task.shift, damping, free)
        else:
            gram = yield Gram()
            self.system = FeatureSystem(gram, damping, free)
        return -self.system.solve(self.gradient)

    def by_gradients(self) -> Orders:
        """The direction to a relative precision that grows as the decrement falls."""
        squares = yield Squares()
        damping = self.damping()
        diagonal = np.append(1.0 + squares, self.sums.weight + damping)
        first = float(self.gradient @ (self.gradient / diagonal))
        precision = min(0.1, (first / max(abs(self.primal()), 1e-300)) ** 0.25)
        solving = conjugate_gradients(-self.gradient, diagonal, precision)
        image = None
        while True:
            try:
                v = next(solving) if image is None else solving.send(image)
            except StopIteration as end:
                return end.value
            sums: Sums = yield self.product("curve", v)
            signed, balance = sums.dual.image[1], float(sums.dual.alpha[1])
            image = np.append(
                signed - balance * self.task.shift + v[:-1], balance + damping * v[-1]
            )
            if not self.task.fit_intercept:
                image[-1] = v[-1]

    # --- the step --------------------------------------------------------------------------------

    def step(self, direction: Array, *, linearise: bool) -> Orders:
        """Go along the direction until the slope is at most half of what it was."""
        start = self.u
        linear = float(start[:-1] @ direction[:-1]) - float(self.fixed @ direction)
        quadratic = float(direction[:-1] @ direction[:-1])
        self.u = start + direction
        yield from self.evaluate(
            self.product("move", direction, linearise=linearise, delta=self.delta)
        )
        search = SlopeSearch(linear - self.sums.slope_before)
        slope = linear + quadratic - self.sums.slope
        while not search.done(slope):
            probed: Sums = yield Pass("probe", self.sigma, step=search.step - 1.0)
            slope = linear + search.step * quadratic - probed.slope
        step = search.step
        if step != 1.0:
            self.u = start + step * direction
            yield from self.evaluate(Pass("settle", self.sigma, step=step - 1.0, delta=self.delta))
        return step
