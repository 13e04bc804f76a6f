"""All binary problems of a small fit in one call of C++: ``cpp/smo/whole_problems.hpp``.

Most fits in the world are small, and a step of Python costs as much as one of them. What does not
come to its end there goes to the solvers for any problem (``choose``), from where it got to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.mathematics.certificate import Certificate
from psvm.mathematics.problem import KernelProblem
from psvm.mathematics.rounding import power_error
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.sizes import FEW_STEPS, SMALL, WHOLE
from psvm.solvers.kernel.candidate import Candidate
from psvm.solvers.ledger import Budget, Record, Solution, Stage, Status

Array = npt.NDArray[np.float64]
OnRound = Callable[[int, Record], bool]

_PAIR_STEPS = "working_set_float64"
# Pair steps per row of a small training set, before Newton makes an end of it; of a linear kernel
# with few features at most so many as take half of Newton's time, which is some 10 ms in Python.
_MOST_STEPS, _THIN_STEPS = 160, 1.5e7
# Entries of all matrices from which on it is worth starting another thread (28 pairs of
# 75 rows: 1.1 ms on one thread, 1.3 to 2.9 on two).
_MANY_ENTRIES = 1_000_000


@dataclass(frozen=True)
class Whole:
    """What became of one problem: its solution, or where to go on from, and the rounds so far.

    ``solved`` is what has all but a proof, for which sums were not enough.
    """

    alpha: Array
    records: list[Record]
    solution: Solution | None = None
    solved: bool = False


def are_small(problems: Sequence[KernelProblem], kernel: TrainingKernel) -> bool:
    """Whether all problems have so few rows that their matrices are best kept as a whole."""
    first = problems[0]
    if first.hard_margin or first.balance != 0.0 or not kernel.has_entries:
        return False
    if kernel.stored is not None and kernel.size > SMALL:
        return False  # what is at hand need not be computed
    # Of few features w is the better unknown, where it is one problem of many rows.
    is_product = kernel.kernel.facts.is_product
    if len(problems) == 1 and kernel.size > SMALL and is_product and _is_thin(kernel, kernel.size):
        return False
    return max(problem.n_variables for problem in problems) <= WHOLE


def solve_whole(
    problems: Sequence[KernelProblem],
    starts: Sequence[Array],
    kernel: TrainingKernel,
    budget: Budget,
    on_round: OnRound | None,
    cancel: Any,
) -> list[Whole]:
    """What becomes of every problem; they share the loss, and are small."""
    shared, definite = problems[0], kernel.kernel.definite
    small = kernel.size <= SMALL
    sizes = np.array([problem.y.size for problem in problems], dtype=np.int64)
    widths = [problem.n_variables for problem in problems]
    steps = _MOST_STEPS if small else -1
    if _is_thin(kernel, max(widths)):
        steps = int(np.clip(_THIN_STEPS / float(max(widths)) ** 2, FEW_STEPS, _MOST_STEPS))
    effort = budget.max_effort
    found = _called(
        problems,
        starts,
        kernel,
        tol=budget.tol,
        polish=small,
        doubtful=not definite,
        max_steps=steps,
        max_iter=budget.max_iter,
        max_effort=None if effort is None else max(effort - budget.effort, 0.0),
        max_time=budget.seconds_left,
        on_round=None if on_round is None else _told(on_round, shared.loss.p),
        threads=kernel.threads if sum(width**2 for width in widths) > _MANY_ENTRIES else 1,
        cancel=cancel,
    )
    indefinite = found["indefinite"] != 0
    if not definite and not small and kernel.kernel.of_features:
        indefinite[:] = True  # not looked at, but nearly always so
    return _unpacked(shared, found, sizes, indefinite, budget)


def solve_slack_newton(
    problem: KernelProblem, kernel: TrainingKernel, alpha: Array, stage: Stage, *, threads: int
) -> Candidate:
    """Newton's method on slacks (``cpp/smo/slack_newton.hpp``) to the tol of a stage.

    For p >= 2, a positive semidefinite kernel, finite costs and a balance of 0. The status is
    STALLED where that is not reached.
    """
    heard = stage.listener
    found = _called(
        [problem],
        [alpha],
        kernel,
        tol=stage.tol,
        polish=False,
        doubtful=False,
        max_steps=0,
        max_iter=stage.max_iter,
        max_effort=stage.max_effort,
        max_time=stage.max_time,
        on_round=None if heard is None else lambda _, __, record: bool(heard(record)),
        threads=threads,
        cancel=stage.ledger.cancel,
    )
    stage.take(found["histories"][0])
    return Candidate(
        alpha=found["alpha"],
        decision=found["decision"],
        status=Status.CONVERGED if found["gap"][0] <= stage.tol else Status.STALLED,
    )


def _called(
    problems: Sequence[KernelProblem], starts: Sequence[Array], kernel: TrainingKernel, **goal: Any
) -> dict[str, Any]:
    """What C++ makes of the problems."""
    shared = problems[0]
    found: dict[str, Any] = _core.solve_whole_problems(
        kernel.computed64,
        np.array([problem.segments for problem in problems], dtype=np.int64),
        y=_joined([problem.y for problem in problems]),
        target=_joined([problem.target for problem in problems]),
        cost=_joined([problem.cost for problem in problems]),
        alpha=_joined(starts),
        kernel_row=_kernel_rows(problems),
        sizes=np.array([problem.y.size for problem in problems], dtype=np.int64),
        p=shared.loss.p,
        fit_intercept=shared.fit_intercept,
        power_error=power_error(shared.loss.p),
        error_of_unit=kernel.errors.of_unit,
        largest_entry=kernel.errors.most,
        **goal,
    )
    return found


def _unpacked(
    shared: KernelProblem,
    found: dict[str, Any],
    sizes: npt.NDArray[np.int64],
    indefinite: npt.NDArray[np.bool_],
    budget: Budget,
) -> list[Whole]:
    """One by one, from arrays of all problems."""
    gap = found["true_gap"]
    proved = ((found["solved"] != 0) | (found["stopped"] != 0)) & (gap <= budget.tol)
    numbers = ("primal", "dual", "intercept", "gap", "magnitude", "squared_norm")
    columns = [gap, *(found[name] for name in numbers)]
    columns += [found[name] for name in ("stopped", "polished", "solved")]
    listed = zip(*(of.tolist() for of in (proved, indefinite, *columns)), strict=True)
    begins, ends = _begins(sizes).tolist(), np.cumsum(sizes).tolist()
    wholes = []
    for t, (ended, doubted, true, primal, dual, b, measured, magnitude, norm, *flags) in enumerate(
        listed
    ):
        stopped, polished, within = flags
        rows, records = slice(begins[t], ends[t]), found["histories"][t]
        for record in records:
            record["solver"] = _PAIR_STEPS
        if polished:
            records[-1]["solver"] = _last_solver(shared.loss.p)
        alpha, solution, rounds = (
            found["alpha"][rows],
            None,
            records[-1]["iteration"] if records else 0,
        )
        if ended or stopped:
            status = Status.STATIONARY if doubted else Status.CONVERGED
            if not ended:
                status = Status.MAX_ITER if rounds == budget.max_iter else Status.STOPPED
            solution = Solution(
                partial(_itself, alpha),
                Certificate(primal, dual, true, b, 1.0, measured, magnitude, norm),
                status,
                max(rounds, 1),
                records,
                found["decision"][rows],
            )
        wholes.append(Whole(alpha, records, solution, within and not doubted))
    return wholes


def _last_solver(p: float) -> str:
    """Who is to give the last digits (``face.hpp``)."""
    return "slack_newton" if p > 2.0 else "face"


def _told(on_round: OnRound, p: float) -> Callable[[int, bool, Record], bool]:
    """A listener as C++ calls it."""

    def tell(t: int, polished: bool, record: Record) -> bool:
        return bool(on_round(t, {**record, "solver": _last_solver(p) if polished else _PAIR_STEPS}))

    return tell


def _is_thin(kernel: TrainingKernel, rows: int) -> bool:
    """Whether the matrix is of so low a rank that Newton, in as many unknowns, is quick."""
    return kernel.kernel.of_features and kernel.kernel.rank(int(kernel.X.shape[1])) < rows


def _kernel_rows(problems: Sequence[KernelProblem]) -> npt.NDArray[np.int64] | None:
    rows = [problem.kernel_row for problem in problems if problem.kernel_row is not None]
    return np.concatenate(rows).astype(np.int64) if rows else None


def _begins(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each problem begins among the rows of all."""
    return np.asarray(np.cumsum(sizes) - sizes)


def _joined(values: Sequence[Array]) -> Array:
    return values[0] if len(values) == 1 else np.concatenate(values)


def _itself(alpha: Array) -> Array:
    return alpha
