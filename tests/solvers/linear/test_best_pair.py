"""The gap of a primal and a dual value."""

import numpy as np
import pytest

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
