"""psvm against one rival on one kernel problem: ratios, lower bounds, and what counts.

A rival with float32 input is compared with psvm on float32 input, if that was run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.tables import OURS, Record, ratio

ALLOWED_EXCESS = 1e-4  # a ratio counts if our objective is at most this much above theirs
OTHER_MODELS = ("lightgbm", "control")  # that have no objective: nothing to compare times at
TWINS = {"intelex-f32": "psvm-f32"}  # rivals whose input is that of another psvm

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Duel:
    """psvm and one rival on the same problem.

    Ratios are the rival's seconds over psvm's; they compare the minima over the turns that both
    took, since more turns have a lower minimum. A rival that was ended by its time limit has no
    ratios, only a lower bound.
    """

    ours: Record
    theirs: Record

    @property
    def over_limit(self) -> bool:
        """Whether the rival was ended before it had a result."""
        return "fit_seconds" not in self.theirs

    @property
    def fit(self) -> float:
        """Ratio of the fit seconds."""
        return ratio(self.theirs, self.ours, "fit_seconds")

    @property
    def cpu(self) -> float:
        """Ratio of the processor seconds, which other work on the machine disturbs less."""
        return ratio(self.theirs, self.ours, "fit_cpu_seconds")

    @property
    def predict(self) -> float:
        """Ratio of the predict seconds."""
        return ratio(self.theirs, self.ours, "predict_seconds")

    @property
    def bound(self) -> float:
        """The time limit of the rival's fit over psvm's seconds: its ratio is larger."""
        return float(self.theirs["time_limit"] / self.ours["fit_seconds"])

    @property
    def excess(self) -> float:
        """Relative height of psvm's objective above the rival's.

        psvm's is taken with its own intercept, the rival's with the best one for its coefficients:
        the reading that favours the rival. A rival without a result cannot be below the optimum,
        hence not below psvm's dual objective.
        """
        theirs = self.ours["dual"] if self.over_limit else self.theirs["primal_best"]
        return float(self.ours["primal"] / theirs - 1.0)

    @property
    def counts(self) -> bool:
        """Whether psvm's solution is good enough to compare times."""
        return self.excess <= ALLOWED_EXCESS


def problem_of(row: Record) -> Key:
    """What must be equal for two records to be comparable."""
    return row["case"], row["C"], row["gamma_factor"], row["p"]


def duels(records: Iterable[Record]) -> Iterator[Duel]:
    """Every rival that solved a problem psvm solved too, or was ended by its limit on it."""
    rows = list(records)
    judged = {(row["rival"], problem_of(row)): row for row in rows if "primal" in row}
    for row in rows:
        ended = "primal" in row or "time_limit" in row
        if row["rival"].startswith(OURS) or row["rival"] in OTHER_MODELS or not ended:
            continue
        problem = problem_of(row)
        usual = judged.get((OURS, problem))
        mine = judged.get((TWINS.get(row["rival"], OURS), problem), usual)
        if mine is not None:
            yield Duel(mine, row)
