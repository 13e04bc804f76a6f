"""What a linear solver ends with, and hands on to the next: a primal and a dual point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psvm.solvers.ledger import Stage, Status

Array = npt.NDArray[np.float64]


@dataclass
class BestPair:
    """The best primal point ``(w, b)``, the values P there and D at the best alpha.

    ``alpha`` is None where the rows keep it.
    """

    w: Array
    b: float
    primal: float
    dual: float
    status: Status = Status.MAX_ITER
    n_iter: int = 0
    alpha: Array | None = None

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.primal, self.dual)

    def ends(self, stage: Stage, changed: int, *, is_proved: bool = True) -> bool:
        """Whether a stage ends here, which becomes the status; puts the round on record."""
        record = {
            "iteration": self.n_iter,
            "gap": self.gap,
            "primal": self.primal,
            "dual": self.dual,
            "changed": changed,
        }
        asked = stage.tell(record)
        if self.gap <= stage.tol and is_proved:
            ended: Status | None = Status.CONVERGED
        else:
            ended = Status.STOPPED if asked else stage.spent(self.n_iter)
        self.status = ended or self.status
        return ended is not None


def relative_gap(primal: float, dual: float) -> float:
    """``(P - D) / P``, infinite where nothing is proved."""
    if not (np.isfinite(primal) and np.isfinite(dual)):
        return np.inf
    return max(primal - dual, 0.0) / max(abs(primal), float(np.finfo(np.float64).tiny))
