"""Which solver a linear problem gets, and why; the certificate has the last word.

Small problems are solved all at once (``at_once``), those of fewer rows than features in
coordinates of the rows (``few_rows``). For others, and from warm starts:

1. **coordinate_descent** for rows that are wide and sparse, or few: a step costs as much as the
   entries of one row, where a Newton system would be too large to factor. (At p = 3, 10 to 100
   times faster on news20 than Newton by conjugate gradients.) Also for small pairs of classes,
   which are mostly easy.
2. **semismooth_newton** otherwise: a pass costs as much as all entries, but a few passes do. With
   many rows it starts from the solution of a sample (``sample_start``); beyond 1,000 features its
   systems are solved by conjugate gradients.
3. **interior_point** for what coordinate descent leaves of rows that are wide, while a system can
   still be factored (1,000 to 4,000 features; with 250 to 1,000, Newton is 2.5 times faster).

Columns of dense rows that mostly hold one value (one-hot columns, scaled) are moved by it, so that
the rows are sparse: the intercept takes that up.

Every record of the history names its solver; the first one of a problem says why. P, D and the gap
are recomputed from the coefficients and dual variables in a pass of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm import _core
from psvm.mathematics.certificate import best_intercept
from psvm.mathematics.problem import LinearProblems, LinearStart
from psvm.rows.blocks import ArrayBlocks, split_rows
from psvm.rows.dense_or_sparse import commonest_values, mostly_zero_as_csr, nonzeros_beside
from psvm.rows.sizes import SMALL, WORTH_CONVERTING
from psvm.solvers.blas_threads import one_blas_thread
from psvm.solvers.ledger import Budget, Ledger, Solution, Status
from psvm.solvers.linear.at_once import (
    many_rows,
    solve_at_once,
    solve_many_rows,
    worth_solving_at_once,
)
from psvm.solvers.linear.best_pair import BestPair
from psvm.solvers.linear.coordinate_descent import solve_coordinate_descent
from psvm.solvers.linear.few_rows import solve_by_rows, worth_coordinates_of_rows
from psvm.solvers.linear.hard_tube import is_hard_tube, solve_hard_tube
from psvm.solvers.linear.interior_point import MAX_INTERIOR, solve_interior_point
from psvm.solvers.linear.newton import ROUNDING
from psvm.solvers.linear.passes import BlockPasses, Pass, Sums
from psvm.solvers.linear.proof import proof_of_pair
from psvm.solvers.linear.sample_and_sift import solve_newton
from psvm.solvers.linear.summary import RowSummary, summarise
from psvm.solvers.linear.systems import MAX_FACTORED
from psvm.solvers.new_threads import starting_threads

Array = npt.NDArray[np.float64]

SOLVERS = ("auto", "semismooth_newton", "coordinate_descent")
# Operations of a coordinate descent, in entries of the rows, to weigh against a factorisation:
# d^3 / 3 is 27,000 times the entries of cnae9 (40 to 150 times faster by coordinates), 450 times
# those of two digits of mnist (10 times faster), 18 times those of all (up to 5 times slower).
_EPOCHS = 50
# Pairs of classes up to so many rows per feature, and entries, are small (optdigits and usps 3 to
# 60 times faster by coordinates, pendigits and letter 1.2 to 3 times; vehicle unscaled 1.6 times
# slower, and beyond this satimage 2 times).
_ROWS_PER_FEATURE, _SMALL_PAIR = 50, 1e6
# Share of nonzeros from which sparse rows are turned into dense ones (ijcnn1: 1.5 times faster),
# unless the array would be of 1 GB.
_WELL_FILLED, _TOO_LARGE = 0.4, 2**27
# Passes of coordinate descent before Newton takes over, at most; text takes 10 to 1000.
_MOST_PASSES = 3000
# Columns from which it is worth to look for empty ones.
_MANY_COLUMNS = 10_000
# Why another solver takes over.
TOO_LONG = "the solver before would take too long"
# The solvers aim just below tol, so that the gap recomputed is at most tol.
AIM = 0.95


def choose_solver(
    summary: RowSummary,
    signs: npt.NDArray[np.int8],
    *,
    hard_margin: bool = False,
    kinked: bool = False,
) -> tuple[str, str]:
    """The solver for problems of this shape, and why; ``kinked`` is p = 1."""
    n, d = round(summary.rows * float(np.mean(signs != 0))), summary.features
    shape = f"{n} rows of {d} features, {summary.entries:.4g} of them stored"
    factoring = float(d) ** 3 / 3.0
    if summary.in_memory and factoring > _EPOCHS * n * summary.entries:
        return "coordinate_descent", f"wide or few rows ({shape})"
    pairs = bool(np.any(signs == 0))
    small = n <= _ROWS_PER_FEATURE * d and n * summary.entries <= _SMALL_PAIR
    if summary.in_memory and pairs and small:
        return "coordinate_descent", f"small pairs of classes ({shape})"
    if kinked and _can_be_factored(summary, hard_margin=hard_margin):
        return "coordinate_descent", f"many features, and a loss with a kink ({shape})"
    if d > MAX_FACTORED:
        return "semismooth_newton", f"by conjugate gradients, for so many features ({shape})"
    return "semismooth_newton", f"many rows for the size of a Newton system ({shape})"


def solve_linear(
    rows: Sequence[Any],
    problems: LinearProblems,
    starts: Sequence[LinearStart | None],
    budget: Budget,
    on_round: Callable[[int, dict[str, Any]], bool] | None,
    *,
    solver: str,
    threads: int,
    in_order: bool,
) -> list[Solution]:
    """Solve every problem to the relative gap ``budget.tol``.

    ``rows[k]`` is a block of rows, asked for anew at every pass; ``codes`` and ``cost`` of the
    problems follow the blocks in order. ``on_round``, if given, gets the number of a problem and
    the record of one of its iterations, and stops that problem by a true answer. With ``in_order``
    problems are solved one after the other.
    """
    if _may_be_moved(rows, problems) and (offset := commonest_values(rows.X)) is not None:
        moved = split_rows(nonzeros_beside(rows.X, offset, threads))
        starts = [None if s is None else replace(s, b=s.b + float(offset @ s.w)) for s in starts]
        again = partial(solve_linear, solver=solver, threads=threads, in_order=in_order)
        found = again(moved, problems, starts, budget, on_round)
        with one_blas_thread():
            return _recertified(rows, problems, budget, found, offset, threads=threads)
    rows = _stored_well(rows, threads)
    used = _used_columns(rows)
    if used is not None:
        rows = split_rows(_renumbered(rows, used))
        starts = [None if s is None else replace(s, w=s.w[used]) for s in starts]
    if not problems.fit_intercept:
        starts = [None if s is None else replace(s, b=0.0) for s in starts]
    if is_hard_tube(problems):
        (start,) = starts
        again = partial(solve_linear, solver=solver, threads=threads, in_order=in_order)
        one = solve_hard_tube(rows, problems, start, budget, on_round, again, threads=threads)
        return _everywhere([one], used)
    if solver == "auto" and all(start is None for start in starts):
        cold = _solve_small(rows, problems, budget, on_round, threads=1 if in_order else threads)
        if cold is not None:
            return _everywhere(cold, used)
    summary = summarise(rows, centred=problems.fit_intercept)
    name, why = (
        choose_solver(
            summary,
            problems.signs,
            hard_margin=problems.hard_margin,
            kinked=problems.loss.p == 1.0,
        )
        if solver == "auto"
        else (solver, "asked for")
    )
    cancel = _core.Cancel()
    numbers = range(len(problems.signs))
    passes = BlockPasses(rows, problems, numbers, threads, summary.shift, cancel)
    # Small sets are solved as exactly as rounding allows: the order of rows then does not matter.
    small = summary.rows <= SMALL
    budget = budget.over_rows(summary.rows)
    ledgers = [Ledger(budget, t, on_round, cancel, reserve=passes.reserve) for t in numbers]
    with one_blas_thread():
        if name == "semismooth_newton":
            tol = ROUNDING if small else AIM * budget.tol
            stages = {t: ledgers[t].stage(name, why, tol=tol) for t in numbers}
            given = dict(enumerate(starts))
            ends = solve_newton(passes, summary, given, stages, in_order=in_order)
        else:
            descent = _Descent(passes, starts, ledgers, why, _patience(summary))
            ends = descent.run(threads=1 if in_order else threads)
            if _can_be_factored(summary, hard_margin=problems.hard_margin):
                stuck = {
                    t: LinearStart(end.w, end.b, passes.best_alpha(t))
                    for t, end in ends.items()
                    if end.status is Status.STALLED
                }
                ends |= _by_interior_points(passes, summary, stuck, ledgers)
            ends |= _finish(passes, summary, ends, ledgers, small=small, in_order=in_order)
        solutions = _certified(passes, ends, ledgers, small=small)
    return _everywhere(solutions, used)


def _solve_small(
    rows: Sequence[Any],
    problems: LinearProblems,
    budget: Budget,
    on_round: Callable[[int, dict[str, Any]], bool] | None,
    *,
    threads: int,
) -> list[Solution] | None:
    """Problems of few rows or features, from a cold start; None for others."""
    if worth_coordinates_of_rows(rows, problems):
        with one_blas_thread():
            found = solve_by_rows(rows.X, problems, budget, on_round, threads=threads)
            if found is not None:
                return _recertified(rows, problems, budget, found, threads=threads)
    if not worth_solving_at_once(rows, problems):
        return None
    solve = solve_many_rows if many_rows(rows.X, problems) else solve_at_once
    return solve(rows.X, problems, budget, on_round, threads=threads)


def _recertified(
    rows: ArrayBlocks,
    problems: LinearProblems,
    budget: Budget,
    found: Sequence[Solution],
    offset: Array | None = None,
    *,
    threads: int,
) -> list[Solution]:
    """Solutions in other coordinates, or less an offset, certified over the rows themselves."""
    passes = BlockPasses(rows, problems, range(len(found)), threads)
    ends, ledgers = {}, []
    for t, one in enumerate(found):
        passes.set_best(t, one.alpha)
        proof = one.certificate
        b = proof.intercept - (0.0 if offset is None else float(offset @ one.w))
        ends[t] = BestPair(one.w, b, proof.primal, proof.dual, one.status)
        ledgers.append(Ledger(budget, t, records=one.history))
    return _certified(passes, ends, ledgers, small=rows.X.shape[0] <= SMALL)


def _everywhere(solutions: list[Solution], used: npt.NDArray[np.bool_] | None) -> list[Solution]:
    """Solutions over the used columns as those over all columns."""
    if used is None:
        return solutions
    everywhere = np.zeros((len(solutions), used.size))
    everywhere[:, used] = [solution.w for solution in solutions]
    return [replace(s, w=w) for s, w in zip(solutions, everywhere, strict=True)]


def _can_be_factored(summary: RowSummary, *, hard_margin: bool) -> bool:
    """Whether an interior point method is to be asked before Newton by conjugate gradients."""
    wide = MAX_FACTORED < summary.features <= MAX_INTERIOR
    return wide and summary.in_memory and not hard_margin


def _by_interior_points(
    passes: BlockPasses,
    summary: RowSummary,
    starts: Mapping[int, LinearStart],
    ledgers: Sequence[Ledger],
) -> dict[int, BestPair]:
    """Problems one after the other, by an interior point method; a start is only a bound."""
    ends = {}
    for t, start in starts.items():
        stage = ledgers[t].stage("interior_point", TOO_LONG, tol=AIM * ledgers[t].budget.tol)
        ends[t] = solve_interior_point(passes, summary, t, stage, start)
    return ends


def _finish(
    passes: BlockPasses,
    summary: RowSummary,
    ends: Mapping[int, BestPair],
    ledgers: Sequence[Ledger],
    *,
    small: bool,
    in_order: bool,
) -> dict[int, BestPair]:
    """Newton from where another solver got stuck, and on small sets to the last digits."""
    stuck = {t for t, end in ends.items() if end.status is Status.STALLED}
    solved = {t for t, end in ends.items() if small and end.status is Status.CONVERGED}
    unfinished = sorted(stuck | solved)
    if not unfinished:
        return {}
    starts: dict[int, LinearStart | None] = {
        t: LinearStart(ends[t].w, ends[t].b, passes.best_alpha(t)) for t in unfinished
    }
    last = "small set: to the last digits"
    stages = {
        t: ledgers[t].stage(
            "semismooth_newton",
            TOO_LONG if t in stuck else last,
            tol=ROUNDING if small else AIM * ledgers[t].budget.tol,
        )
        for t in unfinished
    }
    return solve_newton(passes, summary, starts, stages, in_order=in_order)


def _may_be_moved(rows: Sequence[Any], problems: LinearProblems) -> TypeGuard[ArrayBlocks]:
    """Whether rows in memory may be moved: the intercept, free and of a soft margin, follows."""
    if not isinstance(rows, ArrayBlocks) or not rows.in_memory:
        return False
    return problems.fit_intercept and not problems.hard_margin


def _stored_well(rows: Sequence[Any], threads: int) -> Sequence[Any]:
    """Rows in memory: arrays that are mostly zero as CSR, well-filled CSR matrices as arrays."""
    if not isinstance(rows, ArrayBlocks) or not rows.in_memory:
        return rows
    X = rows.X
    size = X.shape[0] * X.shape[1]
    if sp.issparse(X):
        full = X.nnz >= _WELL_FILLED * size and size <= _TOO_LARGE
        worth = full and (size >= WORTH_CONVERTING or _far_from_origin(X))
        return split_rows(X.toarray()) if worth else rows
    stored = mostly_zero_as_csr(X, threads)
    return rows if stored is X else split_rows(stored)


def _far_from_origin(X: Any) -> bool:
    """Whether a column of a CSR matrix is mostly offset, which only dense rows are rid of."""
    rows, columns = X.shape
    values = X.data.astype(np.float64)  # the squares of float32 may leave its range
    sums = np.bincount(X.indices, values, columns)
    squares = np.bincount(X.indices, values**2, columns)
    return bool(np.any(sums**2 > 0.99 * rows * squares))


def _used_columns(rows: Sequence[Any]) -> npt.NDArray[np.bool_] | None:
    """Which columns of sparse rows in memory have entries; None unless most have none.

    Hashed features may leave a million columns empty, and their coefficients are 0.
    """
    if not isinstance(rows, ArrayBlocks) or not sp.issparse(rows.X):
        return None
    X = rows.X
    if X.shape[1] < _MANY_COLUMNS:
        return None
    used = np.zeros(X.shape[1], dtype=np.bool_)
    used[X.indices] = True
    return used if used.sum() < used.size / 2 else None


def _renumbered(rows: Any, used: npt.NDArray[np.bool_]) -> Any:
    """The CSR matrix of the used columns."""
    X = rows.X
    indices = np.cumsum(used, dtype=X.indices.dtype)[X.indices] - 1
    return sp.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], int(used.sum())))


def _certified(
    passes: BlockPasses, ends: Mapping[int, BestPair], ledgers: Sequence[Ledger], *, small: bool
) -> list[Solution]:
    """Certify every problem, in one pass over the rows."""
    problems = passes.problems
    if small and problems.fit_intercept:
        # Where the best intercepts are an interval, the middle does not depend on rounding.
        ends = {t: replace(end, b=_best_intercept(passes, t, end)) for t, end in ends.items()}
    answers: dict[int, Sums] = passes.answer(
        {
            t: Pass("certify", direction=np.ascontiguousarray(end.w), b=end.b)
            for t, end in ends.items()
        }
    )
    solutions = []
    for t, end in sorted(ends.items()):
        certificate = proof_of_pair(end, answers[t], problems.terms, passes.count(t))
        solution = Solution(partial(passes.best_alpha, t), certificate, end.status, w=end.w)
        solutions.append(ledgers[t].closed(solution))
    return solutions


def _best_intercept(passes: BlockPasses, t: int, end: BestPair) -> float:
    problems, chosen = passes.problems, passes.taking_part(t)
    decision = np.concatenate([np.asarray(block @ end.w) for block in passes.rows])
    decision = problems.of_rows(decision)[chosen]
    if not np.isfinite(decision).all():
        return end.b
    return best_intercept(problems.rows_of(t, chosen), decision)


def _patience(summary: RowSummary) -> int:
    """Passes of coordinate descent after which another solver takes over.

    The work of 100 steps of Newton's method, or half to all of that of an interior point method, of
    12 steps; in nanoseconds as in prices.hpp. (Of dense rows later passes are the cheaper ones:
    4,000 of 1,200 features take 700 to 1,800.)
    """
    n, d, entries = float(summary.rows), float(summary.features), summary.entries
    if d > MAX_INTERIOR:
        return _MOST_PASSES
    if d > MAX_FACTORED:
        sparse = entries < d
        step = 0.02 * d**3 / 3.0 + n * entries**2 * (0.24 if sparse else 0.02)
        passes = (
            (6.0 if sparse else 12.0) * step / (n * (25.0 + entries * (0.8 if sparse else 0.24)))
        )
    else:
        newton = 0.5 * entries**2 + d**3 / (3.0 * n)
        passes = 100.0 * newton / (4.0 * max(entries, 1.0))
    return int(np.clip(passes, 100, _MOST_PASSES))


@dataclass(frozen=True)
class _Descent:
    """Coordinate descent on every problem, stuck after ``limit`` passes."""

    passes: BlockPasses
    starts: Sequence[LinearStart | None]
    ledgers: Sequence[Ledger]
    why: str
    limit: int

    def run(self, threads: int) -> dict[int, BestPair]:
        """Solve the problems, several at a time."""
        numbers = range(len(self.ledgers))
        X = self.rows()
        if threads == 1 or len(numbers) == 1:
            return {t: self.solve(t, X) for t in numbers}
        with ThreadPoolExecutor(threads) as pool:
            try:
                with starting_threads():
                    ends = pool.map(lambda t: self.solve(t, X), numbers)
                return dict(zip(numbers, ends, strict=True))
            except BaseException:
                self.passes.cancel.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def rows(self) -> Any:
        """All rows in one piece."""
        X = getattr(self.passes.rows, "X", None)
        if X is None:
            blocks = list(self.passes.rows)
            X = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.vstack(blocks)
        return X

    def solve(self, t: int, X: Any) -> BestPair:
        """Solve one problem; the rows get its alpha to keep."""
        passes, problems, ledger = self.passes, self.passes.problems, self.ledgers[t]
        present = np.flatnonzero(passes.taking_part(t))
        whole = present.size == problems.codes.size
        shared = problems.feature_row is not None
        own = X if whole or shared else X[present]
        problem = _core.CoordinateProblem(
            y=problems.signs[t][problems.codes[present]].astype(np.float64),
            cost=problems.cost[present],
            p=problems.loss.p,
            fit_intercept=problems.fit_intercept,
            target=None if problems.target is None else problems.target[present],
            feature_row=problems.features_of(present) if shared else None,
        )
        alpha = np.zeros(present.size)
        start = self.starts[t]
        if start is not None and start.alpha is not None:
            alpha = passes.take_alpha(t, start.alpha)[0][present]
        tol = AIM * ledger.budget.tol
        share = 0.5 / len(self.ledgers)
        stage = ledger.stage(
            "coordinate_descent", self.why, tol=tol, rounds=self.limit, share=share
        )
        end = solve_coordinate_descent(own, problem, alpha, stage)
        everywhere = np.zeros(problems.codes.size)
        everywhere[present] = end.alpha
        passes.set_best(t, everywhere)
        stuck = end.status is Status.MAX_ITER and ledger.rounds_left != 0
        return replace(end, alpha=None, status=Status.STALLED if stuck else end.status)
