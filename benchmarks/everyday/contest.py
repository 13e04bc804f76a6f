"""One problem with its rows, the turns on it, and the records that come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.everyday.problems import Problem
from benchmarks.everyday.rows import Rows
from benchmarks.everyday.turns import Contender, Effort, Watch, control, take_turns
from benchmarks.tables import Record


@dataclass(frozen=True)
class Contest:
    """What is needed to measure a problem."""

    problem: Problem
    data: Rows
    effort: Effort
    watch: Watch

    def take_turns(self, contenders: Sequence[Contender]) -> float:
        """Turns of all, and of one who does nothing; the seconds of the latter come back."""
        idle = control(self.data.y if self.data.classes else np.zeros(self.data.y.size, dtype=int))
        take_turns([*contenders, idle], self.effort, self.watch)
        return min(idle.seconds)

    def record(self, ours: Contender, rival: Contender, **more: Any) -> Record:
        """Seconds of ours and of a rival: the fastest of the turns that both took.

        One who is over the limit has the limit for seconds, and that is marked.
        """
        problem, data = self.problem, self.data
        record: Record = {
            "part": problem.part,
            "estimator": problem.estimator,
            "problem": problem.name,
            "against": problem.against,
            "p": ours.p,
            "rival": rival.name,
            "rows": data.X.shape[0],
            "features": data.X.shape[1],
            "classes": data.classes,
            "storage": "dense" if isinstance(data.X, np.ndarray) else "sparse",
            "kernel": problem.kernel,
            "C": problem.C,
            "gamma_factor": problem.gamma_factor,
            "epsilon": problem.epsilon,
            "turns": min(len(ours.seconds), len(rival.seconds)),
        }
        for one, prefix in ((ours, ""), (rival, "rival_")):
            if one.error:
                record[f"{prefix}failed"] = one.error
            elif one.over is not None:
                record |= {f"{prefix}seconds": one.over, f"{prefix}over": True}
            else:
                shared = record["turns"] or len(one.seconds)
                record[f"{prefix}seconds"] = min(one.seconds[:shared])
        if unfinished := status_of(ours.model):
            record["status"] = unfinished
        return record | more


def our_name(p: float) -> str:
    """How our contender is called."""
    return f"psvm p={p:g}"


def status_of(model: Any) -> str:
    """How a fit of ours ended, if not by convergence."""
    found = {str(status) for status in getattr(model, "status_", [])}
    return ", ".join(sorted(found - {"converged"}))
