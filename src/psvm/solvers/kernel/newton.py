"""To machine precision, for few rows or few features: Newton's method of the linear solvers.

A positive semidefinite kernel matrix has a factor, ``K = F F'``, and the rows of F are features
like any others; a linear kernel has its own. What differs from a linear problem is what is asked
for: alpha, to be judged by the gap with ``w(alpha)``. At a large C that takes more digits than the
gap of w and alpha as a pair does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from psvm.mathematics.certificate import Certificate, certify
from psvm.mathematics.problem import KernelProblem, LinearProblems
from psvm.solvers.kernel.candidate import Candidate
from psvm.solvers.ledger import Solution, Stage
from psvm.solvers.linear.newton import Begin
from psvm.solvers.linear.newton_rules import first_sigma, trust_in
from psvm.solvers.linear.passes import BlockPasses
from psvm.solvers.linear.sample_and_sift import solve_newton
from psvm.solvers.linear.summary import summarise

Array = npt.NDArray[np.float64]

# The relative gap asked for when the last digits are wanted; its terms are summed without
# cancellation, and at small C it gets there.
_LAST_DIGITS = 1e-16


@dataclass(frozen=True)
class Features:
    """One row per kernel row, and their inner products where their systems are the better ones.

    Where there is an intercept, it takes up any offset of the features: without it digits are kept.
    ``decision`` gives the decision values of ``alpha y`` that the model is certified by, up to such
    an offset: at a large C it matters how they are rounded.
    """

    rows: Any
    decision: Callable[[Array], Array]
    inner_products: Array | None = None

    def of_rows(self, problem: KernelProblem, alpha: Array) -> Array:
        """Decision values of the rows of a problem."""
        return np.asarray(problem.of_rows(self.decision(problem.summed(problem.y * alpha))))


def features_of(X: Any, fit_intercept: bool, decision: Callable[[Array], Array]) -> Features:
    """The features of a linear kernel, less their mean where they are dense and b is free."""
    if sp.issparse(X):
        return Features(X, decision)
    if not fit_intercept:
        return Features(np.ascontiguousarray(X), decision)
    return Features(np.ascontiguousarray(X - X.mean(axis=0, dtype=np.float64)), decision)


def factor_of(gram: Array, fit_intercept: bool) -> Features:
    """The factor of a kernel matrix, from its Cholesky decomposition with pivots.

    A linear or polynomial kernel has the rank of its features. Where these are half of the rows or
    fewer, they are the better unknowns; else the systems are those of the rows, from the matrix.

    Raises LinAlgError if the matrix is not positive semidefinite.
    """
    n = gram.shape[0]
    largest = float(np.max(np.diag(gram), initial=0.0))
    tolerance = n * float(np.finfo(np.float64).eps) * largest
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(gram, tol=tolerance, lower=1)
    rows = np.empty((n, rank))
    rows[pivots - 1] = np.tril(factor)[:, :rank]
    if rank < n:
        # What the factor leaves out is rounding, or a part of the matrix that is not positive.
        probe = np.cos(np.arange(1.0, n + 1.0))
        scale = max(largest, float(np.finfo(np.float64).tiny))  # whose squares stay in range
        allowed = 1e3 * (tolerance / scale) * np.linalg.norm(probe)
        probe /= scale
        with np.errstate(over="ignore", invalid="ignore"):
            left_out = np.linalg.norm(gram @ probe - rows @ (rows.T @ probe))
        if not left_out <= allowed:
            raise np.linalg.LinAlgError("the kernel matrix is not positive semidefinite")

    def decision(dual: Array) -> Array:
        return np.asarray(gram @ dual)

    if rank <= n // 2:
        return features_of(rows, fit_intercept, decision)
    return Features(rows, decision, gram)


@dataclass
class _Judge:
    """The best alpha so far, by its gap with its own w."""

    problem: KernelProblem
    features: Features
    alpha: Array
    decision: Array
    certificate: Certificate

    def gap_of(self, alpha: Array) -> float:
        """Relative gap of a feasible alpha; it is remembered if it is the best."""
        decision = self.features.of_rows(self.problem, alpha)
        certificate = certify(self.problem, alpha, decision)
        gap = _gap_of(certificate)
        if gap < self.smallest:
            self.alpha, self.decision, self.certificate = alpha, decision, certificate
        return gap

    @property
    def smallest(self) -> float:
        """The smallest gap so far."""
        return _gap_of(self.certificate)


def _gap_of(certificate: Certificate) -> float:
    """The relative gap; infinite where numbers out of range leave none."""
    return np.inf if np.isnan(certificate.gap) else certificate.gap


@dataclass(frozen=True)
class _KeptByRows:
    """The judge of the alpha that the rows keep."""

    judge: _Judge
    passes: BlockPasses

    @property
    def smallest(self) -> float:
        return self.judge.smallest

    def __call__(self) -> float:
        return self.judge.gap_of(self.passes.best_alpha(0))


def _begin_at(judge: _Judge, largest: float) -> Begin:
    """Begin at the alpha that the judge knows, which is also the centre."""
    problem, start = judge.problem, judge.certificate
    hard, rows = problem.hard_margin, judge.features.rows
    w = np.asarray(rows.T @ problem.summed(problem.y * judge.alpha), dtype=np.float64)
    # Of the features, which b takes up.
    offset = float(np.mean(judge.decision - problem.of_rows(rows @ w)))
    p, typical = (1.0, 1.0) if hard else (problem.loss.p, float(np.median(problem.cost)))
    return Begin(
        w,
        start.intercept + offset,
        centre="keep",
        sigma=first_sigma(p, typical, largest) * trust_in(start.gap),
        bounds=None if hard or np.isinf(start.gap) else (start.primal, start.dual),
    )


def solve_proximal_newton(
    problem: KernelProblem,
    features: Features,
    start: Solution,
    stage: Stage,
    *,
    polish: bool = True,
    threads: int = 1,
) -> Candidate:
    """Solve one problem of balance 0 from a start to the stage's tol, or as far as digits reach.

    With ``polish`` the iteration goes on to the last digits. The best certified alpha is returned.
    """
    place = problem.kernel_row
    if place is not None and np.any(place[1:] < place[:-1]):
        # The passes over features want rows in the order of these.
        order = np.argsort(place, kind="stable")
        begun = replace(
            start, gather_alpha=lambda: start.alpha[order], decision=start.decision[order]
        )
        found = solve_proximal_newton(
            problem.in_order(order), features, begun, stage, polish=polish, threads=threads
        )
        back = np.argsort(order)
        return replace(found, alpha=found.alpha[back], decision=found.decision[back])
    alpha = start.alpha
    judge = _Judge(problem, features, alpha, start.decision, start.certificate)
    rows = [features.rows]
    summary = summarise(rows, centred=False)
    passes = BlockPasses(
        rows,
        LinearProblems(
            np.array([[-1, 1]], dtype=np.int8),
            (problem.y > 0.0).astype(np.int32),
            problem.cost,
            problem.loss,
            problem.fit_intercept,
            target=None if problem.target is problem.y else problem.target,
            feature_row=problem.kernel_row,
        ),
        [0],
        threads,
        summary.shift,
        stage.ledger.cancel,
        features.inner_products,
    )
    begin = None
    if alpha.any():
        passes.set_best(0, alpha)
        passes.set_centre(0, alpha)
        begin = _begin_at(judge, summary.largest)
    if polish:
        stage = replace(stage, tol=min(stage.tol, _LAST_DIGITS))
    end = solve_newton(
        passes,
        summary,
        {0: begin},
        {0: stage},
        in_order=True,
        own_gap=_KeptByRows(judge, passes),
    )[0]
    return Candidate(judge.alpha, judge.decision, end.status)
