"""Where a further fit of LinearPSVR begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.estimators.starts import LinearWarmStart
from psvm.estimators.targets import EncodedTargets
from psvm.mathematics.problem import LinearProblems, LinearStart
from psvm.solvers.ledger import Solution

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LinearTargetStart:
    """A solved linear problem with targets, in their units: ``(y - centre) / scale``."""

    y: Array
    centre: float
    scale: float
    solved: LinearWarmStart

    @classmethod
    def of(
        cls, targets: EncodedTargets, problems: LinearProblems, solution: Solution
    ) -> LinearTargetStart:
        """Remember a problem and its solution, which is in the user's units."""
        s, proof = targets.scale, solution.certificate
        start = LinearStart(
            solution.w * proof.scale / s,
            (float(proof.intercept) - targets.centre) / s,
            solution.alpha / s,
        )
        p = problems.loss.p
        solved = LinearWarmStart(problems.signs, problems.codes, problems.cost, p, [start])
        return cls(targets.y, targets.centre, s, solved)

    @staticmethod
    def starts_for(
        warm: LinearTargetStart | None,
        targets: EncodedTargets,
        problems: LinearProblems,
        rows: Sequence[Any],
        n_features: int,
    ) -> Sequence[LinearStart | None]:
        """A start for the problem: None without a memory of one with as many features.

        w and b are good for other rows too, the dual variables only for rows of the same targets.
        """
        if warm is None:
            return [None]
        unit = (warm.centre, warm.scale) == (targets.centre, targets.scale)
        if unit and np.array_equal(warm.y, targets.y):
            return LinearWarmStart.starts_for(warm.solved, problems, rows, n_features)
        (old,) = warm.solved.starts
        if old.w.size != n_features:
            return [None]
        factor = warm.scale / targets.scale
        b = factor * old.b + (warm.centre - targets.centre) / targets.scale
        return [LinearStart(factor * old.w, b)]
