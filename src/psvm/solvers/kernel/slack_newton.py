"""The last digits at once, for few rows and p > 2: Newton steps on the slacks.

With p > 2 the loss has two derivatives, and no row ever sits at a bound. At slacks xi > 0 of
curvature ``W_i = p (p - 1) cost_i xi_i^(p-2)`` a Newton step on P is a least-squares machine,

    (K + 1/W) beta + b = t - y xi (p - 2) / (p - 1)   for rows with xi > 0,   sum_i beta_i = balance

where ``beta = alpha y``. Scaled by ``sqrt(W)`` its eigenvalues are at least 1, however small a
slack is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from psvm.mathematics.certificate import best_intercept
from psvm.mathematics.problem import KernelProblem

Array = npt.NDArray[np.float64]

# Systems solved at most: from a gap of 1e-4 three to six are usual, at p = 10 ten.
_MOST_STEPS = 40
# Halvings of a step that does not go downhill.
_MOST_HALVINGS = 10
# Relative decrease of P that is rounding.
_ROUNDING = 1e-15
# Change of the decision values, beside the largest, after which the next would be rounding.
_SETTLED = 1e-11


def newton_on_slacks(problem: KernelProblem, gram: Array, alpha: Array) -> Array | None:
    """The optimal alpha from one near it, or None.

    ``gram`` is the positive semidefinite kernel matrix, with a row for every row of the problem.
    """
    beta = problem.y * alpha
    decision = gram @ beta
    b = best_intercept(problem, decision) if problem.fit_intercept else 0.0
    primal = _primal(problem, beta, decision, b)
    change = np.inf
    for _ in range(_MOST_STEPS):
        xi = np.maximum(problem.shortfall(decision + b), 0.0)
        step = _step(problem, gram, xi)
        if step is None:
            return None
        new_beta, new_b = step
        to_decision = gram @ new_beta - decision
        last, change = change, float(np.max(np.abs(to_decision + new_b - b)))
        share, gained = 1.0, False
        for _ in range(_MOST_HALVINGS):
            beta_there = beta + share * (new_beta - beta)
            decision_there, b_there = decision + share * to_decision, b + share * (new_b - b)
            there = _primal(problem, beta_there, decision_there, b_there)
            gained = there < primal * (1.0 - _ROUNDING)
            if gained or there <= primal * (1.0 + _ROUNDING):
                break
            share *= 0.5
        else:
            return None
        beta, decision, b, primal = beta_there, decision_there, b_there, there
        # P stands still a step or two before the slacks do.
        settled = change <= _SETTLED * (1.0 + float(np.max(np.abs(decision))))
        if settled or (not gained and change > 0.5 * last):
            xi = np.maximum(problem.shortfall(decision + b), 0.0)
            return np.asarray(problem.loss.alpha_of(xi, problem.cost))
    return None


def _primal(problem: KernelProblem, beta: Array, decision: Array, b: float) -> float:
    """P at ``w = sum_i beta_i phi(x_i)`` and b."""
    slack = problem.shortfall(decision + b)
    lost = float(problem.loss.value(slack, problem.cost).sum())
    return 0.5 * float(beta @ decision) + lost + problem.balance * b


def _step(problem: KernelProblem, gram: Array, xi: Array) -> tuple[Array, float] | None:
    """Beta and b of the machine above; None where the numbers leave the range."""
    p, costs = problem.loss.p, np.flatnonzero(xi > 0.0)
    if costs.size == 0:
        return None
    slack, y = xi[costs], problem.y[costs]
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.sqrt(p * (p - 1.0) * problem.cost[costs] * slack ** (p - 2.0))
        system = scale[:, None] * gram[np.ix_(costs, costs)] * scale
    system[np.diag_indices(costs.size)] += 1.0
    if not np.isfinite(system).all():
        return None
    try:
        factor = scipy.linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    goal = problem.target[costs] - y * slack * ((p - 2.0) / (p - 1.0))
    solved = scipy.linalg.cho_solve(
        (factor, True), np.column_stack([scale * goal, scale]), check_finite=False
    )
    b = 0.0
    if problem.fit_intercept:
        weight = float(scale @ solved[:, 1])
        if not weight > 0.0:
            return None
        b = float(scale @ solved[:, 0] - problem.balance) / weight
    beta = np.zeros_like(xi)
    beta[costs] = scale * (solved[:, 0] - b * solved[:, 1])
    return beta, b
