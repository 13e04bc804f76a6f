"""All binary problems of a small fit in one call of C++: ``cpp/smo/whole_problems.hpp``.

Most fits in the world are small, and a step of Python costs as much as one of them. What does not
come to its end there, as proved as any other solution, goes to the solvers for any problem from
where it got to (``choose``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm import _core
from psvm.mathematics.certificate import Certificate
from psvm.mathematics.problem import KernelProblem
from psvm.mathematics.rounding import DualSums, rounding_of_sums, true_gap
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.rows.sizes import FEW_STEPS, SMALL, WHOLE
from psvm.solvers.ledger import Budget, Record, Solution, Status

Array = npt.NDArray[np.float64]

# Pair steps per row of a small training set, of which Newton makes an end afterwards.
_MOST_STEPS = 40
# Entries of all matrices from which on it is worth waking another thread.
_MANY_ENTRIES = 300_000


@dataclass(frozen=True)
class Whole:
    """What became of one problem: its solution, or where to go on from, and the rounds so far."""

    solution: Solution | None
    alpha: Array
    records: list[Record]


def is_small(problems: Sequence[KernelProblem], kernel: TrainingKernel) -> bool:
    """Whether the problems have so few rows that their matrices are best kept as a whole."""
    first = problems[0]
    if first.hard_margin or first.balance != 0.0 or first.kernel_row is not None:
        return False
    if not kernel.kernel.of_features and kernel.kernel.function != "precomputed":
        return False
    return max(problem.y.size for problem in problems) <= WHOLE


def solve_whole(
    problems: Sequence[KernelProblem],
    starts: Sequence[Array],
    kernel: TrainingKernel,
    budget: Budget,
    cancel: Any,
) -> list[Whole]:
    """What becomes of every problem; they share the loss, and are small."""
    loss, fit_intercept = problems[0].loss, problems[0].fit_intercept
    small, definite = kernel.size <= SMALL, kernel.kernel.definite
    sizes = np.array([problem.y.size for problem in problems])
    ends = np.cumsum(sizes)
    y = _joined([problem.y for problem in problems])
    cost = _joined([problem.cost for problem in problems])
    steps = FEW_STEPS if _is_thin(kernel, int(sizes.max())) else _MOST_STEPS if small else -1
    left = None if budget.max_effort is None else max(budget.max_effort - budget.effort, 0.0)
    found = _core.solve_whole_problems(
        kernel.computed64,
        np.array([problem.segments for problem in problems], dtype=np.int64),
        y=y,
        target=_joined([problem.target for problem in problems]),
        cost=cost,
        alpha=_joined(starts),
        p=loss.p,
        fit_intercept=fit_intercept,
        tol=budget.tol,
        polish=small,
        doubtful=small and not definite,
        max_steps=steps,
        max_effort=left,
        max_time=budget.seconds_left,
        threads=kernel.threads if float(np.sum(sizes**2)) > _MANY_ENTRIES else 1,
        cancel=cancel,
    )
    sums = DualSums(
        count=sizes,
        alpha=found["total"],
        cost=np.add.reduceat(cost, ends - sizes),
        **{
            name: found[name]
            for name in ("excess", "primal", "dual", "gap", "magnitude", "squared_norm")
        },
        intercept=found["intercept"],
    )
    errors = kernel.errors
    rounding = rounding_of_sums(problems[0], sums, errors.coarse(sums.alpha), errors.most)
    gap = true_gap(sums.primal, sums.gap, sums.magnitude, *rounding)
    proved = (found["solved"] != 0) & (gap <= budget.tol)
    indefinite = found["indefinite"] != 0
    if not definite and not small and kernel.kernel.of_features:
        indefinite[:] = True  # not looked at, and probably so
    last = "slack_newton" if loss.p > 2.0 else "face"
    columns = {
        name: found[name].tolist()
        for name in ("primal", "dual", "intercept", "gap", "magnitude", "squared_norm", "rounds")
    }
    columns["true_gap"] = gap.tolist()

    def whole(t: int) -> Whole:
        rows = slice(ends[t] - sizes[t], ends[t])
        alpha, one = found["alpha"][rows], {name: of[t] for name, of in columns.items()}
        records = found["histories"][t]
        for record in records:
            record["solver"] = "working_set_float64"
        if not proved[t]:
            return Whole(None, alpha, records)
        rounds = one["rounds"]
        if small and not indefinite[t]:
            rounds += 1
            records.append(_polished(one, rounds, last, records))
        certificate = Certificate(
            one["primal"],
            one["dual"],
            one["true_gap"],
            one["intercept"],
            measured=one["gap"],
            magnitude=one["magnitude"],
            squared_norm=one["squared_norm"],
        )
        status = Status.STATIONARY if indefinite[t] else Status.CONVERGED
        decision = found["decision"][rows]
        return Whole(
            Solution(lambda: alpha, certificate, status, max(rounds, 1), records, decision),
            alpha,
            records,
        )

    return [whole(t) for t in range(len(problems))]


def _is_thin(kernel: TrainingKernel, rows: int) -> bool:
    """Whether this is a linear kernel with fewer features than rows: Newton is quick there."""
    return kernel.kernel.facts.is_product and int(kernel.X.shape[1]) < rows


def _polished(one: dict[str, Any], rounds: int, solver: str, records: list[Record]) -> Record:
    """The record of the last digits."""
    return {
        "iteration": rounds,
        "seconds": records[-1]["seconds"],
        "gap": one["gap"],
        "primal": one["primal"],
        "dual": one["dual"],
        "changed": 0,
        "solver": solver,
    }


def _joined(values: Sequence[Array]) -> Array:
    return values[0] if len(values) == 1 else np.concatenate(values)
