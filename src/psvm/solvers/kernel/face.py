"""The last digits at once, for few rows: Newton steps on the face of the optimum.

Where it is known which alpha are 0 and, at p = 1, which are at their bound, the others (F) and the
intercept b solve, with f_i = sum_j alpha_j y_j K_ij,

    y_i (t_i - f_i - b) = slack_of(alpha_i)   for i in F,    sum_i y_i alpha_i = balance

which is a linear system at p = 1 and p = 2, and a smooth one in between. A step ends at the first
bound it meets, and that row leaves F; after a whole step, rows whose margin disagrees with their
bound join it. The method either ends at the optimum, to rounding, or gives up: the face of a
degenerate optimum (equal rows, kernels of low rank) is not unique. With p > 2 there are no bounds
to be at, and ``slack_newton`` takes the steps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from psvm.mathematics.certificate import certify
from psvm.mathematics.problem import KernelProblem, feasible
from psvm.solvers.kernel.slack_newton import newton_on_slacks
from psvm.solvers.ledger import Ledger, Solution, Status

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Systems solved at most: from a gap of 1e-4 two to ten are usual.
_MOST_STEPS = 50
# Squared ratio of the pivots of a Cholesky factor below which a face is taken for degenerate.
_DEGENERATE = 1e-10
_ROUNDING = 1e-13
# Relative gap from which a point is the optimum: what rounding leaves at C = 100 is 1e-13.
_OPTIMAL = 1e-11
# The same of a smooth loss: small slacks cost next to nothing there (p = 3: 1e-11 is 1e-5 of them).
_OPTIMAL_SLACKS = 1e-14


def solve_on_face(
    problem: KernelProblem, gram: Array, alpha: Array, ledger: Ledger
) -> Solution | None:
    """The optimum from an alpha near it, or None.

    ``gram`` is the positive semidefinite kernel matrix, with a row for every row of the problem.
    """
    if problem.hard_margin:
        return None
    smooth = problem.loss.p > 2.0
    found = (newton_on_slacks if smooth else _optimum)(problem, gram, alpha)
    if found is None:
        return None
    found = feasible(problem, found)
    decision = gram @ (problem.y * found)
    certificate = certify(problem, found, decision)
    if certificate.gap > (_OPTIMAL_SLACKS if smooth else _OPTIMAL):
        return None
    ledger.stage("slack_newton" if smooth else "face").tell(
        {
            "iteration": 1,
            "gap": certificate.gap,
            "primal": certificate.primal,
            "dual": certificate.dual,
            "changed": int(np.count_nonzero(found != alpha)),
        }
    )
    return Solution(lambda: found, certificate, Status.CONVERGED, decision=decision)


def _optimum(problem: KernelProblem, gram: Array, alpha: Array) -> Array | None:
    """Newton steps among the free variables until no row is on the wrong side of a bound."""
    loss, y, cost = problem.loss, problem.y, problem.cost
    highest = cost if loss.p == 1.0 else np.full_like(cost, np.inf)
    free = (alpha > 0.0) & (alpha < highest)
    for _ in range(_MOST_STEPS):
        if not free.any():
            return None
        short = problem.shortfall(gram @ (y * alpha)) - loss.slack_of(alpha, cost)
        step = _newton_step(problem, gram, alpha, free, short)
        if step is None:
            return None
        direction, b = step
        # The share of the step until the first bound.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            room = np.where(direction > 0.0, highest[free] - alpha[free], -alpha[free]) / direction
        room[direction == 0.0] = np.inf
        share = min(1.0, float(room.min()))
        alpha = alpha.copy()
        alpha[free] = np.clip(alpha[free] + share * direction, 0.0, highest[free])
        if share < 1.0:
            stopped = np.flatnonzero(free)[room <= share]
            alpha[stopped] = np.where(direction[room <= share] > 0.0, highest[stopped], 0.0)
            free[stopped] = False
            continue
        short = problem.shortfall(gram @ (y * alpha) + b) - loss.slack_of(alpha, cost)
        wrong = ~free & np.where(alpha > 0.0, short < -_ROUNDING, short > _ROUNDING)
        size = 1.0 + float(np.max(np.abs(short - y * problem.target)))
        if not wrong.any() and np.max(np.abs(short[free])) <= _ROUNDING * size:
            return alpha
        free |= wrong
    return None


def _newton_step(
    problem: KernelProblem, gram: Array, alpha: Array, free: Mask, short: Array
) -> tuple[Array, float] | None:
    """Change of the free variables and the intercept after it; None on a degenerate face."""
    loss, y, cost = problem.loss, problem.y, problem.cost
    system = y[free, None] * gram[np.ix_(free, free)] * y[free]
    system[np.diag_indices(system.shape[0])] += loss.slack_slope(alpha[free], cost[free])
    try:
        factor = scipy.linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diag(factor) ** 2
    if not pivots.min() > _DEGENERATE * pivots.max():
        return None
    step = scipy.linalg.cho_solve((factor, True), short[free], check_finite=False)
    if not problem.fit_intercept:
        return step, 0.0
    along_b = scipy.linalg.cho_solve((factor, True), y[free], check_finite=False)
    b = float((y[free] @ step + y @ alpha - problem.balance) / (y[free] @ along_b))
    return step - b * along_b, b
