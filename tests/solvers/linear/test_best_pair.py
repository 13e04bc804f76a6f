"""The gap of a primal and a dual value."""

import numpy as np
import pytest

from psvm.solvers.ledger import Budget, Ledger, Status
from psvm.solvers.linear.best_pair import BestPair


@pytest.mark.parametrize(
    ("primal", "dual", "gap"),
    [
        (2.0, 1.5, 0.25),
        (2.0, 2.0 + 1e-16, 0.0),  # rounding
        (0.0, 0.0, 0.0),
        (np.inf, 1.0, np.inf),
        (1.0, -np.inf, np.inf),
        (np.nan, 1.0, np.inf),
    ],
)
def test_gap(primal, dual, gap):
    assert BestPair(np.zeros(2), 0.0, primal, dual).gap == gap


@pytest.mark.parametrize(
    ("dual", "asked", "is_proved", "rounds", "status"),
    [
        (2.0, True, True, 5, Status.CONVERGED),
        (2.0, False, False, 5, None),  # not without its proof
        (1.0, True, True, 5, Status.STOPPED),
        (1.0, False, True, 5, None),
        (1.0, False, True, 1, Status.MAX_ITER),
    ],
)
def test_a_stage_ends_for_one_reason(dual, asked, is_proved, rounds, status):
    told = []

    def listen(number, record):
        told.append(record)
        return asked

    stage = Ledger(Budget(tol=1e-3, max_iter=rounds), 0, listen).stage("newton", tol=1e-3)
    best = BestPair(np.zeros(2), 0.0, 2.0, dual, Status.STALLED, n_iter=1)
    assert best.ends(stage, 7, is_proved=is_proved) == (status is not None)
    assert best.status is (status or Status.STALLED)
    assert (told[0]["changed"], told[0]["gap"]) == (7, best.gap)
