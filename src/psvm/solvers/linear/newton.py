"""Newton's method for the p-norm hinge: a semismooth-Newton proximal multiplier method.

Unknowns are ``u = [w; b]``; margins are ``m_i = y_i (<x_i, w> + b)``. Around a centre ``a`` with
weight ``sigma`` the loss of every row is replaced by its proximal envelope, whose slope in the
margin is ``-alpha_i(m_i)`` (``prox.hpp``). Each outer step moves the centre to alpha and raises
sigma; for p >= 2 the loss itself is smooth enough, sigma is infinite and there is no outer step.
Near the solution the number of correct digits doubles at every step.

The loop of one problem is :func:`semismooth_newton`, a generator: it yields orders to the rows
(``passes``) and is sent their answers, so that the orders of many problems can be answered in one
pass over the rows (``lockstep``). Per iteration (:func:`_iterate`):

1. outer step, when the inner problem is solved well enough for this centre;
2. Newton direction, from the Gram matrix of the rows with W > 0, or by conjugate gradients;
3. step: one pass for the new margins, alpha and gradient, then a line search if that overshot;
4. the relative gap of ``P(w, b)`` and ``D(alpha)``, where alpha is balanced by scaling one class;
   with ``own_gap``, where the model is alpha alone, the gap of ``P(w(alpha), b)`` and ``D(alpha)``;
5. the record of the iteration, and whether it was the last.

Rows may be left out of the iteration with their alpha fixed (sifting): they add the linear term
``-<fixed, u>`` and the constant ``fixed_total`` to the primal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.certificate import may_be_separable
from psvm.mathematics.loss import PNormHinge
from psvm.solvers.ledger import OutOfTime, Stage, Status
from psvm.solvers.linear.balance import Factors, balanced_dual
from psvm.solvers.linear.best_pair import BestPair, relative_gap
from psvm.solvers.linear.newton_rules import (
    MAX_ITERATIONS,
    SlopeSearch,
    first_sigma,
    growth,
    intercept_damping,
    patience,
)
from psvm.solvers.linear.newton_state import Best, OwnGap, Point, Progress, State
from psvm.solvers.linear.passes import (
    Active,
    DualSums,
    Gram,
    Keep,
    Order,
    Pass,
    RowsLost,
    Squares,
    Sums,
)
from psvm.solvers.linear.systems import (
    FeatureSystem,
    RowSystem,
    System,
    best_system,
    conjugate_gradients,
)

Array = npt.NDArray[np.float64]
Orders = Generator[Order, Any, Any]

# Features from which a factor is worth using twice (3,000 rows of 80: 4 % less time).
_CHORD = 50
# Relative gap from which the linearised alpha is worth a look if tol is lower (1e-9, 1e-4: alike).
_NEAR = 1e-6
# Relative gap that is as good as rounding; then some more steps: two divide it by 4, all help w.
ROUNDING = 1e-13
_POLISH_STEPS = 4
# Iterations after which margins are recomputed from u (never: twice the gap; after 5: the same).
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
    """One binary problem, without its rows.

    ``own_gap`` is for models that are alpha alone: it tells the relative gap of the alpha that the
    rows keep, with ``w(alpha)``. Without it, w and alpha are judged as a pair.
    """

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
    fixed: Array  # of u, in centred coordinates
    fixed_total: float = 0.0
    inner_products: bool = False  # whether those of the rows are known
    goals_are_1: bool = True  # y_i t_i, as in classification: then u may be scaled
    own_gap: OwnGap | None = None
    on_keep: Callable[[BestPair], None] | None = None  # told of every pair whose alpha is kept

    @property
    def p(self) -> float:
        """The exponent; the hard margin is p = 1 without an upper bound."""
        return 1.0 if self.hard else self.loss.p

    @property
    def tol(self) -> float:
        """Relative gap to reach."""
        return self.stage.tol

    @property
    def all_rows(self) -> bool:
        """Whether no row is left out."""
        return not self.fixed.any() and self.fixed_total == 0.0


# --- the loop ------------------------------------------------------------------------------------


def semismooth_newton(task: NewtonTask) -> Generator[Order, Any, BestPair]:
    """Solve one problem to ``task.tol``; see the module's text."""
    try:
        state = yield from _begin(task)
    except OutOfTime:
        return BestPair(task.begin.w, task.begin.b, np.inf, -np.inf, Status.MAX_TIME)
    status = _stop(task, state)
    while status is None:
        state.iteration += 1
        try:
            yield from _iterate(task, state)
        except np.linalg.LinAlgError:
            status = Status.STALLED
        except OutOfTime:
            status = Status.MAX_TIME
        except RowsLost:
            status = yield from _begin_again(task, state)
        else:
            status = _stop(task, state)
    best = state.best
    if not best.kept:
        yield Keep(False, (0.0, 0.0))
    if task.own_gap is not None and not best.judged:
        task.own_gap()  # no point came near: what there is
    return _best_pair(task, state, status)


def _best_pair(task: NewtonTask, state: State, status: Status) -> BestPair:
    """The best pair so far, in the coordinates of the rows."""
    best, w = state.best, state.best.u[:-1]
    b = float(best.u[-1] - task.shift @ w)
    return BestPair(w, b, best.primal, best.dual, status, state.iteration)


def _begin(task: NewtonTask) -> Generator[Order, Any, State]:
    """The state at the start, or at u = 0 where that is better (with a large p it often is)."""
    begin = task.begin
    b = begin.b + float(task.shift @ begin.w) if task.fit_intercept else 0.0
    sigma = begin.sigma or first_sigma(task.p, task.typical_cost, task.largest)
    u, centre = np.append(begin.w, b), begin.centre
    point = yield from _evaluate(task, u, _product(task, sigma, "begin", u, centre=centre))
    if not task.hard and not point.primal <= task.total_cost:
        u = np.zeros_like(u)
        point = yield from _evaluate(task, u, _product(task, sigma, "begin", u, centre="zero"))
    # alpha = 0 is feasible unless rows are fixed.
    primal, dual = begin.bounds or (np.inf, 0.0 if task.all_rows else -np.inf)
    own = None if task.own_gap is None else np.inf
    best = Best(u, primal, dual, kept=begin.bounds is not None, own=own)
    state = State(point, sigma, best)
    yield from _consider(task, state, linearised=False)
    return state


def _begin_again(task: NewtonTask, state: State) -> Generator[Order, Any, Status | None]:
    """From the accepted point: margins and alpha as they follow from it, no alpha kept."""
    u, best = state.point.u, state.best
    best.dual, best.kept = 0.0 if task.all_rows else -np.inf, False
    state.system, state.stepped_fully = None, False
    state.progress = Progress()
    try:
        state.point = yield from _evaluate(task, u, _product(task, state.sigma, "begin", u))
    except OutOfTime:
        return Status.MAX_TIME
    return None


def _iterate(task: NewtonTask, state: State) -> Orders:
    """One iteration. Raises LinAlgError if its system cannot be solved, in numbers at least."""
    sigma, gap, nearness = state.sigma, state.best.gap, state.best.nearness
    # 0. Margins add up the rounding of steps: from u itself now and then, and for the last digits.
    if state.best.judged or state.iteration % _REFRESH == 0:
        u = state.point.u
        state.point = yield from _evaluate(task, u, _product(task, sigma, "begin", u))
    # 1. Outer step, judged by the last factor: forming a new one is the costly part.
    if state.system is not None and _solved(task, state, _decrement(state.system, state.point)):
        yield from _recentre(task, state)
    # 2. Newton direction; without a factor, the outer step is judged by it.
    direction = yield from _direction(task, state, chord=_reusable(task, state, sigma))
    if state.system is None and _solved(task, state, -float(state.point.gradient @ direction)):
        yield from _recentre(task, state)
        direction = yield from _direction(task, state)
    if not np.isfinite(direction).all():
        raise np.linalg.LinAlgError("the system has left the range of numbers")
    state.decrement = max(-float(state.point.gradient @ direction), 0.0)
    # 3. Step.
    tol = max(task.tol, _NEAR)
    near = state.decrement + state.point.sums.moved < 3.0 * tol * abs(state.point.primal)
    near = near or task.own_gap is not None
    yield from _step(task, state, direction, linearise=near)
    # 4. Gap. Newton's own, linearised alpha proves one where the exact one lags.
    yield from _consider(task, state, linearised=False)
    lags = state.stepped_fully if state.best.own is None else state.best.own > 0.5 * gap
    if near and lags and state.best.gap > task.tol:
        yield from _consider(task, state, linearised=True)
    state.progress.note(
        state.point.primal,
        state.decrement,
        new_sigma=state.sigma > sigma,
        gained=state.best.nearness < nearness and state.best.nearness <= 0.5 * nearness,
        near=state.best.judged,
    )


def _stop(task: NewtonTask, state: State) -> Status | None:
    """Record the iteration; the status if it was the last."""
    best, progress, gap = state.best, state.progress, state.best.gap
    record = {
        "iteration": state.iteration,
        "gap": gap if task.own_gap is None else min(gap, task.own_gap.smallest),
        "primal": best.primal,
        "dual": best.dual,
        "changed": state.point.sums.active,
    }
    if task.hard and not _separable(task, state.point):
        return Status.UNBOUNDED
    asked = task.stage.tell(record)
    # P - D of a pair is a difference: below rounding, a few more steps still gain digits of w.
    floor = ROUNDING if best.own is None else 0.0
    if gap <= max(task.tol, floor):
        progress.settled += 1
        if task.tol > floor or progress.settled > _POLISH_STEPS:
            return Status.CONVERGED
    if asked:
        return Status.STOPPED
    stuck = state.iteration >= MAX_ITERATIONS or progress.idle >= patience(gap, best.judged)
    return task.stage.spent(state.iteration) or (Status.STALLED if stuck else None)


# --- outer step ----------------------------------------------------------------------------------


def _solved(task: NewtonTask, state: State, decrement: float) -> bool:
    """Whether the inner problem is solved well enough to move the centre."""
    if np.isinf(state.sigma):
        return False
    _, exactness = growth(task.p)
    return decrement < max(exactness * state.point.sums.moved, 1e-18 * abs(state.best.primal))


def _recentre(task: NewtonTask, state: State) -> Orders:
    """Outer step."""
    # Near the solution of a smooth loss a larger sigma only costs digits. (1e-8 and 1e-2, and gaps
    # of 1e-4 and 0.3, took as long.)
    point = state.point
    small = point.sums.moved < 1e-5 * task.tol * abs(point.primal)
    if task.p == 1.0 or not small or state.best.gap > 0.01:
        factor, _ = growth(task.p)
        state.sigma = min(state.sigma * factor, _sigma_limit(task))
    order = Pass("settle", state.sigma, step=0.0, centre="alpha", delta=_few_change(task))
    state.point = yield from _evaluate(task, point.u, order, point)


def _sigma_limit(task: NewtonTask) -> float:
    """Beyond this the systems of the Newton step are as ill-conditioned as double allows."""
    sigma = task.begin.sigma or first_sigma(task.p, task.typical_cost, task.largest)
    return 1e12 * max(task.typical_cost, sigma)


# --- the rows ------------------------------------------------------------------------------------


def _few_change(task: NewtonTask) -> bool:
    """Whether few alpha change in a step, so that images of the change are the cheaper ones."""
    return task.p == 1.0


def _product(task: NewtonTask, sigma: float, kind: str, u: Array, **options: Any) -> Pass:
    """A pass with the product of the rows and u, in the coordinates of the rows."""
    w = np.ascontiguousarray(u[:-1])
    return Pass(kind, sigma, direction=w, b=float(u[-1] - task.shift @ w), **options)


def _evaluate(
    task: NewtonTask, u: Array, order: Pass, before: Point | None = None
) -> Generator[Order, Any, Point]:
    """The point at u, by an order that ends at its margins; ``before`` if that adds to sums."""
    sums: Sums = yield order
    if order.delta:
        assert before is not None
        sums.dual.image = before.sums.dual.image + sums.dual.image
    gradient = np.append(u[:-1], 0.0) - task.fixed - _image(task, sums.dual)
    if not task.fit_intercept:
        gradient[-1] = 0.0
    return Point(u, sums, gradient, _primal(task, u, sums))


def _image(task: NewtonTask, dual: DualSums, factors: Factors = (1.0, 1.0)) -> Array:
    """``sum_i alpha_i y_i [x_i - shift, 1]``, each class times its factor."""
    signed = np.array([-factors[0], factors[1]])
    balance = float(signed @ dual.alpha)
    return np.append(signed @ dual.image - balance * task.shift, balance)


def _primal(task: NewtonTask, u: Array, sums: Sums) -> float:
    """P at u; for a hard margin of w scaled to be feasible."""
    norm = 0.5 * float(u[:-1] @ u[:-1])
    if task.hard:
        smallest = sums.smallest_margin  # its square may underflow
        return norm / smallest / smallest if smallest > 0.0 else np.inf
    return norm + sums.loss + task.fixed_total - float(task.fixed @ u)


def _dual_value(task: NewtonTask, dual: DualSums) -> tuple[float, Factors]:
    """D of alpha, balanced."""
    fixed = task.fixed + np.append(task.fixed[-1] * task.shift, 0.0)
    return balanced_dual(dual, task.p, fixed, task.fixed_total, task.fit_intercept)


def _separable(task: NewtonTask, point: Point) -> bool:
    """Whether alpha leaves room for a hard margin."""
    dual = point.sums.dual
    value, factors = _dual_value(task, dual)
    if not np.isfinite(value):
        return True
    w = _image(task, dual, factors)[:-1]
    gain = float(np.array(factors) @ dual.linear)
    return may_be_separable(float(w @ w), gain, task.largest)


# --- the gap -------------------------------------------------------------------------------------


def _consider(task: NewtonTask, state: State, *, linearised: bool) -> Orders:
    """Compare P and D at the present point with the best so far."""
    point, best = state.point, state.best
    primal, u, smallest = point.primal, point.u, point.sums.smallest_margin
    if task.hard and primal < np.inf:
        u = u / smallest
    elif smallest > 1.0 and task.all_rows and task.goals_are_1 and not task.hard:
        # Separable, and further than need be.
        primal, u = primal / smallest / smallest, u / smallest
    if primal < best.primal or not np.isfinite(best.primal):
        best.primal, best.u = primal, u
    value, factors = _dual_value(task, point.sums.linearised if linearised else point.sums.dual)
    if not np.isfinite(value):
        return
    gap = relative_gap(best.primal, value)
    if task.own_gap is not None and gap <= max(task.tol, _NEAR):
        # w(alpha) is off by some sqrt(gap), and P in proportion to that: further away not worth it.
        yield Keep(linearised, factors)
        best.dual, best.kept = max(value, best.dual), True
        best.own = min(task.own_gap(), np.inf if best.own is None else best.own)
        return
    # Keeping alpha is a pass over the state of the rows: not for every small gain.
    better = gap < 0.5 * best.pair or gap <= task.tol < best.pair
    if better or (not best.kept and value > best.dual):
        yield Keep(linearised, factors)
        best.dual, best.kept = value, True
        if task.on_keep is not None:
            task.on_keep(_best_pair(task, state, Status.STOPPED))


# --- the Newton direction ------------------------------------------------------------------------


def _decrement(system: System, point: Point) -> float:
    """``g' H^-1 g`` with the last system."""
    return float(point.gradient @ system.solve(point.gradient))


def _reusable(task: NewtonTask, state: State, sigma: float) -> bool:
    """Whether the last system still serves; not for the last digits, which want the true one.

    The decrement must have fallen to 0.03 of the last one (0.003 and 0.3 took as long).
    """
    return (
        state.system is not None
        and task.p > 1.0
        and task.shift.size >= _CHORD
        and task.own_gap is None
        and state.stepped_fully
        and state.sigma == sigma
        and _decrement(state.system, state.point) < 0.03 * state.decrement
    )


def _direction(
    task: NewtonTask, state: State, *, chord: bool = False
) -> Generator[Order, Any, Array]:
    """``-H^-1 g``; the system is kept, if it is one that can be solved again."""
    sums, gradient = state.point.sums, state.point.gradient
    if chord and state.system is not None:
        return -state.system.solve(gradient)
    damping = intercept_damping(sums.weight, float(gradient[-1]), task.typical_cost)
    kind = best_system(task.shift.size, task.entries, sums.active, task.inner_products)
    if kind == "gradients":
        state.system = None
        return (yield from _by_gradients(task, state.point, damping))
    if kind == "rows" and sums.active > 0:
        parts = yield Active()
        state.system = RowSystem(parts, task.shift, damping, task.fit_intercept)
    else:
        gram = yield Gram()
        state.system = FeatureSystem(gram, damping, task.fit_intercept)
    return -state.system.solve(gradient)


def _by_gradients(task: NewtonTask, point: Point, damping: float) -> Generator[Order, Any, Array]:
    """The direction to a relative precision that grows as the decrement falls."""
    squares = yield Squares()
    diagonal = np.append(1.0 + squares, point.sums.weight + damping)
    first = float(point.gradient @ (point.gradient / diagonal))
    precision = min(0.1, (first / max(abs(point.primal), 1e-300)) ** 0.25)
    solving = conjugate_gradients(-point.gradient, diagonal, precision)
    image = None
    while True:
        try:
            v = next(solving) if image is None else solving.send(image)
        except StopIteration as end:
            found: Array = end.value
            return found
        sums: Sums = yield _product(task, np.inf, "curve", v)
        signed, balance = sums.dual.image[1], float(sums.dual.alpha[1])
        image = np.append(signed - balance * task.shift + v[:-1], balance + damping * v[-1])
        if not task.fit_intercept:
            image[-1] = v[-1]


# --- the step ------------------------------------------------------------------------------------


def _step(task: NewtonTask, state: State, direction: Array, *, linearise: bool) -> Orders:
    """Go along the direction until the slope is at most half of what it was."""
    start, sigma, delta = state.point, state.sigma, _few_change(task)
    linear = float(start.u[:-1] @ direction[:-1]) - float(task.fixed @ direction)
    quadratic = float(direction[:-1] @ direction[:-1])
    order = _product(task, sigma, "move", direction, linearise=linearise, delta=delta)
    point = yield from _evaluate(task, start.u + direction, order, start)
    search = SlopeSearch(linear - point.sums.slope_before)
    slope = linear + quadratic - point.sums.slope
    while not search.done(slope):
        probed: Sums = yield Pass("probe", sigma, step=search.step - 1.0)
        slope = linear + search.step * quadratic - probed.slope
    if search.step != 1.0:
        order = Pass("settle", sigma, step=search.step - 1.0, delta=delta)
        linearised = point.sums.linearised
        point = yield from _evaluate(task, start.u + search.step * direction, order, point)
        point.sums.linearised = linearised
    state.point, state.stepped_fully = point, search.step == 1.0
