"""To machine precision, for few rows or few features: a proximal multiplier method.

The unknowns are w, in a space of ``newton_spaces``, and b; margins are ``m_i = <r_i, w> + y_i b``
with ``r_i = y_i phi(x_i)``. Around a centre ``a`` with weight ``sigma`` the loss is replaced by its
proximal envelope, whose slope in the margin is ``-alpha(m)``:

    alpha = argmax over alpha >= 0 of  alpha (1 - m) - conjugate(alpha) - (alpha - a)^2 / (2 sigma)

Each outer step moves the centre to alpha and raises sigma; for p >= 2 the loss itself is smooth
enough and sigma is infinite (plain Newton). Inside, semismooth Newton steps solve

    w = sum_i alpha_i(m_i) r_i,   sum_i y_i alpha_i(m_i) = 0

Near the solution the number of correct digits doubles at every step, which pair steps never do.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psvm.mathematics.certificate import Certificate, certify, may_be_separable
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem, feasible
from psvm.solvers.kernel.candidate import Candidate
from psvm.solvers.kernel.newton_spaces import Space
from psvm.solvers.ledger import Stage, Status
from psvm.solvers.newton_rules import (
    MAX_ITERATIONS,
    SlopeSearch,
    first_sigma,
    growth,
    intercept_damping,
    patience,
    trust_in,
)

Array = npt.NDArray[np.float64]


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
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
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


def solve_proximal_newton(
    problem: KernelProblem, space: Space, alpha: Array, stage: Stage, *, polish: bool = True
) -> Candidate | None:
    """Solve one problem from ``alpha`` to ``stage.tol``, or as exactly as rounding allows.

    With ``polish`` the iteration goes on to the last digits. The best certified alpha is returned.
    None is returned when a linear system cannot be solved: then the kernel is not positive
    semidefinite.
    """
    try:
        # Far from the solution a large power may overflow: such points are never the best.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return _ProximalNewton(problem, space, alpha, stage, polish).run()
    except np.linalg.LinAlgError:
        return None


class _ProximalNewton:
    """One run; the loop in :meth:`run` reads top to bottom."""

    def __init__(
        self, problem: KernelProblem, space: Space, alpha: Array, stage: Stage, polish: bool
    ) -> None:
        self.problem, self.polish = problem, polish
        self.y, self.cost = problem.y, problem.cost
        self.fit_intercept = problem.fit_intercept
        # The hard margin is p = 1 without an upper bound.
        hard = self.hard = problem.hard_margin
        self.loss = PNormHinge(1.0) if hard else problem.loss
        self.mean_cost = 1.0 if hard else float(self.cost.mean())
        self.space, self.stage = space, stage
        self.best = (Certificate(np.inf, -np.inf, np.inf, 0.0), alpha, np.zeros_like(alpha))
        certificate = self.consider(alpha)
        if not hard and not certificate.primal <= float(self.cost.sum()):
            # Worse than w = 0, b = 0: with a large p such a start costs more than it gives.
            alpha = np.zeros_like(alpha)
            certificate = self.consider(alpha)
        self.w, self.b = np.array(space.image(alpha)), certificate.intercept
        self.margin = space.margins(self.w) + self.b * self.y
        self.centre = np.array(alpha)
        if hard:
            self.sigma = max(1.0 / space.largest, float(alpha.max(initial=0.0)))
        else:
            cold = first_sigma(self.loss.p, float(np.median(self.cost)), space.largest)
            self.sigma = trust_in(certificate.gap) * cold

    def run(self) -> Candidate:
        factor, exactness = growth(self.loss.p)
        # Beyond this the systems of the Newton step are as ill-conditioned as double allows.
        sigma_limit = max(1e11 / self.space.largest, self.sigma)
        idle, iteration, lowest = 0, 0, np.inf
        status = None
        while status is None:
            iteration += 1
            # 1. Newton direction at the present point.
            alpha, weight = self.prox(self.margin)
            dw, db, change, decrement = self.direction(alpha, weight)
            # 2. Outer step, once the inner problem is solved well enough for this centre.
            sigma = self.sigma
            if np.isfinite(self.sigma):
                moved = float(np.sum((alpha - self.centre) ** 2)) / (2.0 * self.sigma)
                if decrement < max(exactness * moved, 1e-18 * abs(self.best[0].primal)):
                    self.centre = alpha
                    self.sigma = min(self.sigma * factor, sigma_limit)
                    alpha, weight = self.prox(self.margin)
                    dw, db, change, decrement = self.direction(alpha, weight)
            # 3. Step.
            step = self.line_search(dw, change)
            self.w = self.w + step * dw
            self.b += step * db
            self.margin = self.space.margins(self.w) + self.b * self.y
            # 4. Certify; Newton's own, linearised alpha proves a gap where the exact one lags.
            before = self.best[0].gap
            self.consider(self.prox(self.margin)[0])
            if self.best[0].gap > 0.5 * before:
                self.consider(alpha - weight * change)
            # Far away the primal falls, or sigma grows, for long before any gap is proved.
            primal = self.primal()
            falling = primal < 0.99 * lowest or not np.isfinite(primal) or self.sigma > sigma
            lowest = min(lowest, primal)
            idle = idle + 1 if self.best[0].gap > 0.5 * before and not falling else 0
            status = self.stop(iteration, idle, int(np.count_nonzero(weight)))
        certificate, alpha, decision = self.best
        if status is Status.CONVERGED and certificate.gap > self.stage.tol:
            status = Status.STALLED
        return Candidate(alpha, decision, status)

    def primal(self) -> float:
        """The primal objective at the present point; of the envelope's norm for a hard margin."""
        xi = np.maximum(1.0 - self.margin, 0.0)
        lost = 0.0 if self.hard else float(self.loss.value(xi, self.cost).sum())
        return 0.5 * self.space.inner(self.w, self.w) + lost

    def stop(self, iteration: int, idle: int, active: int) -> Status | None:
        """Record the iteration; the status if it was the last."""
        certificate = self.best[0]
        record = {
            "iteration": iteration,
            "gap": certificate.gap,
            "primal": certificate.primal,
            "dual": certificate.dual,
            "changed": active,
        }
        if self.hard and not self.separable(self.prox(self.margin)[0]):
            return Status.UNBOUNDED
        asked = self.stage.tell(record)
        gap = certificate.gap
        if iteration >= MAX_ITERATIONS or (gap <= self.stage.tol and not self.polish):
            return Status.CONVERGED
        if gap <= 1e-16 or (gap <= 1e-15 and idle) or idle >= patience(gap):
            return Status.CONVERGED
        if asked:
            return Status.STOPPED
        return self.stage.spent(iteration)

    def separable(self, alpha: Array) -> bool:
        """Whether alpha leaves room for a hard margin."""
        alpha = feasible(self.problem, alpha)
        w, gain = self.space.image(alpha), float(alpha.sum())
        return may_be_separable(self.space.inner(w, w), gain, self.space.largest)

    def consider(self, alpha: Array) -> Certificate:
        """Certify a dual candidate, made feasible, and remember it if it is the best so far."""
        if not np.isfinite(alpha).all():
            return Certificate(np.inf, -np.inf, np.inf, 0.0)
        alpha = feasible(self.problem, alpha)
        decision = self.y * self.space.margins(self.space.image(alpha))
        certificate = certify(self.problem, alpha, decision)
        if certificate.gap < self.best[0].gap:
            self.best = (certificate, alpha, decision)
        return certificate

    def prox(self, margin: Array) -> tuple[Array, Array]:
        offset = 0.0 if np.isinf(self.sigma) else self.centre / self.sigma
        return prox_dual(offset + 1.0 - margin, self.sigma, self.cost, self.loss)

    def direction(self, alpha: Array, weight: Array) -> tuple[Array, float, Array, float]:
        """Newton direction in w and b, its change of the margins, the decrement ``-psi'(0)``."""
        error = self.space.image(alpha) - self.w
        unbalanced = float(self.y @ alpha) if self.fit_intercept else None
        damping = intercept_damping(float(weight.sum()), unbalanced or 0.0, self.mean_cost)
        dw, db = self.space.newton(error, weight, unbalanced, damping)
        change = self.space.margins(dw) + db * self.y
        slope = self.space.inner(dw, self.w) - float(alpha @ change)
        return dw, db, change, max(-slope, 0.0)

    def line_search(self, dw: Array, change: Array) -> float:
        """Step that brings the slope of the envelope along the direction to half or less."""
        linear, quadratic = self.space.inner(dw, self.w), self.space.inner(dw, dw)

        def slope(s: float) -> float:
            alpha, _ = self.prox(self.margin + s * change)
            return linear + s * quadratic - float(alpha @ change)

        search = SlopeSearch(slope(0.0))
        while not search.done(slope(search.step)):
            pass
        return search.step
