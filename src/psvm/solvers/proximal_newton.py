"""Small kernel problems to machine precision: a semismooth Newton proximal multiplier method.

The primal is written over ``w = sum_i beta_i y_i phi(x_i)`` and b, with margins
``m = Q beta + b y``, ``Q = y y' * K``. Around a centre ``a`` with weight ``sigma`` the loss is
replaced by its proximal envelope, whose slope in the margin is ``-alpha(m)``:

    alpha = argmax over alpha >= 0 of  alpha (1 - m) - conjugate(alpha) - (alpha - a)^2 / (2 sigma)

Each outer step moves the centre to alpha and raises sigma; for p >= 2 the loss itself is smooth
enough and sigma is infinite (plain Newton). Inside, Newton's method solves

    beta = alpha(m),   sum_i y_i alpha_i = 0

whose linear systems have one unknown per row with ``W = -d alpha / d m > 0`` and one for b. Near
the solution the number of correct digits doubles at every step, which no first-order method does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from psvm.certificate import Certificate, certify
from psvm.loss import PNormHinge
from psvm.problem import BinaryProblem, Budget, SolveResult, Status

Array = npt.NDArray[np.float64]

# Growth of sigma per outer step, and how exactly the inner problem is solved before the step.
_GROWTH = {"p=1": (3.0, 0.1), "p<2": (5.0, 0.5)}


def prox_dual(t: Array, sigma: Array | float, cost: Array, loss: PNormHinge) -> tuple[Array, Array]:
    """Dual variable of the proximal envelope at ``t = a / sigma + 1 - m``, and its slope W in t.

    Solves ``alpha = sigma (t - slack_of(alpha))`` on ``0 <= alpha`` (``<= cost`` at p = 1); with
    infinite ``sigma``, ``slack_of(alpha) = t``.
    """
    alpha, weight = np.zeros_like(t), np.zeros_like(t)
    if loss.p == 1.0:
        raw = sigma * t
        alpha = np.clip(raw, 0.0, cost)
        weight = np.where((raw > 0.0) & (raw < cost), sigma, 0.0)
        return alpha, weight
    active = t > 0.0
    t, cost = t[active], cost[active]
    p = loss.p
    if np.isscalar(sigma) and np.isinf(sigma):
        alpha[active] = loss.alpha_of(t, cost)
        weight[active] = (p - 1.0) * alpha[active] / t
        return alpha, weight
    # slack = t rho with rho + kappa rho^(p-1) = 1, solved by Newton's method in v = log rho.
    with np.errstate(over="ignore", under="ignore"):
        log_kappa = np.log(p * cost / sigma) + (p - 2.0) * np.log(t)
        v = np.minimum(0.0, -log_kappa / (p - 1.0))
        for _ in range(100):
            linear, power = np.exp(v), np.exp(log_kappa + (p - 1.0) * v)
            total = linear + power
            step = total * np.log(total) / (linear + (p - 1.0) * power)
            v = np.minimum(v - step, 0.0)
            if np.all(np.abs(step) <= 1e-8 * np.maximum(np.abs(v), 1.0)):
                break  # quadratic convergence: the next step would be below rounding
        rho = np.exp(v)
        by_slack = p * cost * (t * rho) ** (p - 1.0)
        by_rest = sigma * t * (1.0 - rho)
    alpha[active] = np.where(rho > 0.9, by_slack, by_rest)
    share = alpha[active] / (sigma * t)
    weight[active] = sigma * (p - 1.0) * share / ((p - 1.0) * share + rho)
    return alpha, weight


@dataclass
class _State:
    """The point of the iteration and everything that follows from it."""

    beta: Array
    b: float
    margin: Array


def solve_proximal_newton(
    problem: BinaryProblem,
    gram: Array,
    alpha: Array,
    budget: Budget,
    *,
    max_newton: int = 200,
) -> SolveResult | None:
    """Solve one problem over its kernel matrix ``gram``, from ``alpha``, as exactly as possible.

    The best certified alpha is returned: the iteration ends when rounding stops it from improving.
    Returns None when a linear system cannot be solved (the kernel is not positive semidefinite).
    """
    return _ProximalNewton(problem, gram, alpha, budget).run(max_newton)


class _ProximalNewton:
    """One run; the loop in :meth:`run` reads top to bottom."""

    def __init__(self, problem: BinaryProblem, gram: Array, alpha: Array, budget: Budget) -> None:
        self.y, self.cost, self.loss = problem.y, problem.cost, problem.loss
        self.fit_intercept = problem.fit_intercept
        self.hard = problem.hard_margin
        if self.hard:
            # The hard margin is p = 1 without an upper bound.
            self.loss = PNormHinge(1.0)
        self.Q = self.y[:, None] * gram * self.y[None, :]
        self.budget = budget
        self.start = time.perf_counter()
        nothing = Certificate(np.inf, -np.inf, np.inf, 0.0)
        self.best = (nothing, np.array(alpha), np.zeros_like(alpha))
        self.history: list[dict[str, Any]] = []
        self.centre = np.array(alpha)
        certificate = self.consider(alpha)
        self.state = _State(np.array(alpha), certificate.intercept, np.empty(0))
        self.refresh_margin()
        self.largest = float(np.max(np.abs(np.diag(self.Q)), initial=1e-300))
        # A start of relative gap g is off by some sqrt(g): moves within that need no damping.
        trust = 1.0 / np.sqrt(np.clip(certificate.gap, 1e-12, 1.0))
        if self.hard:
            self.sigma = max(1.0 / self.largest, float(alpha.max(initial=0.0)))
        elif self.loss.p >= 2.0:
            self.sigma = np.inf
        else:
            self.sigma = trust * float(np.median(self.cost)) * (0.5 if self.loss.p == 1.0 else 1.0)

    def refresh_margin(self) -> None:
        self.state.margin = self.Q @ self.state.beta + self.state.b * self.y

    def consider(self, alpha: Array) -> Certificate:
        """Certify a dual candidate, made feasible, and remember it if it is the best so far."""
        if not np.isfinite(alpha).all():
            return Certificate(np.inf, -np.inf, np.inf, 0.0)
        alpha = self.feasible(alpha)
        decision = self.y * (self.Q @ alpha)
        certificate = certify(alpha, decision, self.y, self.cost, self.loss, self.fit_intercept)
        if certificate.gap < self.best[0].gap:
            self.best = (certificate, alpha, decision)
        return certificate

    def feasible(self, alpha: Array) -> Array:
        """Scale the heavier class down so that ``sum_i alpha_i y_i = 0``."""
        alpha = np.maximum(alpha, 0.0)
        if self.loss.p == 1.0:
            alpha = np.minimum(alpha, self.cost)
        if not self.fit_intercept:
            return alpha
        positive = self.y > 0
        plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
        if plus == minus or abs(plus - minus) <= 1e-15 * (plus + minus):
            return alpha
        alpha = alpha.copy()
        if plus > minus:
            alpha[positive] *= minus / plus
        else:
            alpha[~positive] *= plus / minus
        return alpha

    def prox(self, margin: Array) -> tuple[Array, Array]:
        offset = 0.0 if np.isinf(self.sigma) else self.centre / self.sigma
        return prox_dual(offset + 1.0 - margin, self.sigma, self.cost, self.loss)

    def run(self, max_newton: int) -> SolveResult | None:
        growth, exactness = _GROWTH["p=1" if self.loss.p == 1.0 else "p<2"]
        # Beyond this the systems of the Newton step are as ill-conditioned as double allows.
        sigma_limit = 1e11 / self.largest
        idle = 0
        status = Status.CONVERGED
        for iteration in range(max_newton):
            state = self.state
            alpha, weight = self.prox(state.margin)
            try:
                direction, db, decrement = self.direction(alpha, weight)
            except np.linalg.LinAlgError:
                return None
            primal = max(abs(self.best[0].primal), 1e-300)
            # Outer step: the inner problem is solved well enough for this centre.
            if np.isfinite(self.sigma):
                moved = float(np.sum((alpha - self.centre) ** 2)) / (2.0 * self.sigma)
                if decrement < exactness * moved or decrement < 1e-18 * primal:
                    self.centre = alpha
                    self.sigma = min(self.sigma * growth, max(sigma_limit, self.sigma))
                    alpha, weight = self.prox(state.margin)
                    try:
                        direction, db, decrement = self.direction(alpha, weight)
                    except np.linalg.LinAlgError:
                        return None
            step = self.line_search(direction, db)
            state.beta = state.beta + step * direction
            state.b += step * db
            self.refresh_margin()
            before = self.best[0].gap
            self.consider(self.prox(state.margin)[0])
            if self.best[0].gap > 0.5 * before:
                # Newton's own, linearised alpha proves a gap where the exact one lags behind.
                self.consider(state.beta)
            record = {
                "iteration": iteration,
                "seconds": time.perf_counter() - self.start,
                "gap": self.best[0].gap,
                "primal": self.best[0].primal,
                "dual": self.best[0].dual,
                "changed": int(np.count_nonzero(weight)),
            }
            self.history.append(record)
            idle = idle + 1 if self.best[0].gap > 0.5 * before else 0
            # Rounding has the last word; a cold start may idle for long before the gap falls.
            gap = self.best[0].gap
            if gap <= 1e-16 or idle >= (1 if gap <= 1e-15 else 4 if gap <= 1e-11 else 60):
                break
            if self.budget.on_round is not None and self.budget.on_round(record):
                status = Status.STOPPED
                break
            limit = self.budget.max_time
            if limit is not None and record["seconds"] >= limit:
                status = Status.MAX_TIME
                break
            if 0 <= self.budget.max_iter <= iteration + 1:
                status = Status.MAX_ITER
                break
        certificate, alpha, decision = self.best
        if status is Status.CONVERGED and certificate.gap > self.budget.tol:
            status = Status.STALLED
        return SolveResult(alpha, decision, status, len(self.history), self.history)

    def direction(self, alpha: Array, weight: Array) -> tuple[Array, float, float]:
        """Newton direction in (beta, b), and the decrement ``-psi'(0)`` along it."""
        state, y, Q = self.state, self.y, self.Q
        error = alpha - state.beta
        active = np.flatnonzero(weight * self.largest > 1e-14)
        direction = error.copy()
        direction[active] = 0.0
        outside = Q @ direction
        root = np.sqrt(weight[active])
        unbalanced = float(y @ alpha) if self.fit_intercept else 0.0
        db = 0.0
        if active.size:
            system = Q[np.ix_(active, active)] * root[:, None] * root[None, :]
            system[np.diag_indices(active.size)] += 1.0
            factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True)
            right = error[active] / root - root * outside[active]
            solution = scipy.linalg.cho_solve(factor, right)
            if self.fit_intercept:
                border = root * y[active]
                along_b = scipy.linalg.cho_solve(factor, border)
                curvature = float(border @ along_b)
                # Keeps the step finite where hardly any row answers to b.
                curvature += 1e-13 * (curvature + self.mean_cost) + 1e-3 * abs(unbalanced) * (
                    curvature < 1e-9 * self.mean_cost
                )
                wanted = float(y[active] @ error[active]) - unbalanced
                db = (float(border @ solution) - wanted) / curvature
                solution = solution - db * along_b
            direction[active] = root * solution
        elif self.fit_intercept and unbalanced:
            db = unbalanced / (1e-13 * self.mean_cost + 1e-3 * abs(unbalanced))
        margin_change = Q @ direction + db * y
        slope = float(direction @ (Q @ state.beta)) - float(alpha @ margin_change)
        return direction, db, max(-slope, 0.0)

    @property
    def mean_cost(self) -> float:
        return 1.0 if self.hard else float(self.cost.mean())

    def line_search(self, direction: Array, db: float) -> float:
        """Step that brings the slope of the envelope along the direction to half or less."""
        state = self.state
        change = self.Q @ direction
        linear, quadratic = float(change @ state.beta), float(change @ direction)
        margin_change = change + db * self.y

        def slope(s: float) -> float:
            alpha, _ = self.prox(state.margin + s * margin_change)
            with np.errstate(invalid="ignore", over="ignore"):
                value = linear + s * quadratic - float(alpha @ margin_change)
            # Where a large power overflows, the loss is climbing.
            return value if np.isfinite(value) else np.inf

        first = slope(0.0)
        if first >= 0.0:
            return 1.0
        low, high, at_low, at_high = 0.0, np.inf, first, 0.0
        s = 1.0
        for _ in range(60):
            value = slope(s)
            if abs(value) <= 0.5 * abs(first) or not np.isfinite(s):
                return s
            if value < 0.0:
                low, at_low = s, value
            else:
                high, at_high = s, value
            if np.isinf(high):
                s *= 4.0
            elif not np.isfinite(at_high):
                s = 0.5 * (low + high)
            else:
                secant = low - at_low * (high - low) / (at_high - at_low)
                inside = 0.05 * (high - low)
                s = min(max(secant, low + inside), high - inside)
        return s
