"""What a stage of a kernel solve hands on to be certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psvm.solvers.ledger import Status

Array = npt.NDArray[np.float64]


@dataclass
class Candidate:
    """Dual variables, what the solver makes of their decision values, and why it stopped there.

    ``intercept`` is about the best one, where it is known.
    """

    alpha: Array
    decision: Array
    status: Status
    intercept: float | None = None
