"""An independent, slow and trustworthy solver of regression with the p-norm loss.

Nothing here imports psvm. The optimum comes from CVXPY with Clarabel on

    min_{u, b}  1/2 ||u||^2 + sum_i cost_i [2 q max(0, r_i - epsilon)^p
                                            + 2 (1 - q) max(0, -r_i - epsilon)^p],
    r = y - L u - b,

where L is X for a linear problem, or a factor of the kernel matrix. P is also evaluated in extended
precision, for whatever point a fit claims.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

WIDE = np.longdouble


@dataclass(frozen=True)
class Regression:
    """One problem: rows (dense), targets, costs, and the shape of the loss."""

    X: np.ndarray
    y: np.ndarray
    cost: np.ndarray
    p: float = 1.5
    epsilon: float = 0.1
    quantile: float = 0.5
    fit_intercept: bool = True

    @property
    def sides(self):
        """Sign, target and cost of the two dual rows of every row, one side after the other."""
        q, y = self.quantile, np.asarray(self.y, WIDE)
        return (
            (1.0, y - WIDE(self.epsilon), 2.0 * q * self.cost),
            (-1.0, y + WIDE(self.epsilon), 2.0 * (1.0 - q) * self.cost),
        )

    def primal(self, w, b):
        """P in extended precision; of an infinite cost without it."""
        X, w = np.asarray(self.X, WIDE), np.asarray(w, WIDE)
        residual = np.asarray(self.y, WIDE) - X @ w - WIDE(b)
        value = WIDE(0.5) * (w @ w)
        for sign, _, cost in self.sides:
            slack = np.maximum(sign * residual - WIDE(self.epsilon), WIDE(0.0))
            if np.isfinite(cost).all():
                value += np.sum(np.asarray(cost, WIDE) * slack ** WIDE(self.p))
        return float(value)

    def dual(self, above, below):
        """D of dual variables of the two sides, made balanced first."""
        above, below = np.asarray(above, WIDE), np.asarray(below, WIDE)
        if self.fit_intercept:
            plus, minus = above.sum(), below.sum()
            if min(plus, minus) == 0:
                return 0.0
            above, below = above * (min(plus, minus) / plus), below * (min(plus, minus) / minus)
        w = (above - below) @ np.asarray(self.X, WIDE)
        value = -WIDE(0.5) * (w @ w)
        for alpha, (sign, target, cost) in zip((above, below), self.sides, strict=True):
            value += sign * (alpha @ np.asarray(target, WIDE))
            if self.p > 1 and np.isfinite(cost).all():
                kept = alpha > 0
                ratio = alpha[kept] / (WIDE(self.p) * cost[kept])
                slack = np.exp(np.log(ratio) / (WIDE(self.p) - 1))
                value -= (WIDE(self.p) - 1) / WIDE(self.p) * (alpha[kept] @ slack)
        return float(value)

    def worst_residual(self, w, b):
        """The largest ``|r|``."""
        X, w = np.asarray(self.X, WIDE), np.asarray(w, WIDE)
        return float(np.abs(np.asarray(self.y, WIDE) - X @ w - WIDE(b)).max())

    def optimum(self):
        """P at the best point that Clarabel finds, w and b; of an infinite cost for a hard tube."""
        w = cp.Variable(self.X.shape[1])
        b = cp.Variable() if self.fit_intercept else 0.0
        residual = self.y - self.X @ w - b
        objective, constraints = 0.5 * cp.sum_squares(w), []
        kept = np.flatnonzero(self.cost > 0)
        for sign, _, cost in self.sides:
            short = (sign * residual - self.epsilon)[kept]
            if np.isinf(cost).any():
                constraints.append(short <= 0)
                continue
            xi = cp.Variable(kept.size)
            constraints += [xi >= short, xi >= 0]
            if self.p == 1:
                objective += cost[kept] @ xi
            elif self.p == 2:
                objective += cp.sum_squares(cp.multiply(np.sqrt(cost[kept]), xi))
            else:
                power = cp.Variable(kept.size)
                shares = np.full(kept.size, 1.0 / self.p)
                constraints.append(cp.PowCone3D(power, np.ones(kept.size), xi, shares))
                objective += cost[kept] @ power
        model = cp.Problem(cp.Minimize(objective), constraints)
        options = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.solve(solver="CLARABEL", max_iter=300, **options)
        intercept = float(b.value) if self.fit_intercept else 0.0
        return self.primal(w.value, intercept), np.asarray(w.value), intercept


def noisy_line(n=60, d=4, seed=0, noise=0.5):
    """X and targets of a noisy linear rule, with an offset and some outliers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + 3.0 + noise * rng.standard_t(3, size=n)
    return X, y
