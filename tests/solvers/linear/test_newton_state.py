"""The gap that counts, and when a run has gained nothing for long."""

import numpy as np
import pytest

from psvm.solvers.linear.newton_rules import MOST_INFINITE
from psvm.solvers.linear.newton_state import Best, Progress


def best(own):
    return Best(np.zeros(2), primal=10.0, dual=9.0, kept=True, own=own)


def test_the_gap_is_that_of_the_pair_unless_alpha_is_judged_alone():
    assert best(None).gap == best(None).pair == pytest.approx(0.1)
    assert best(0.02).gap == 0.02
    assert best(0.02).pair == pytest.approx(0.1)
    assert [best(own).judged for own in (None, np.inf, 0.02)] == [False, False, True]


def note(progress, primal, decrement=1.0, *, new_sigma=False, gained=False, near=False):
    progress.note(primal, decrement, new_sigma=new_sigma, gained=gained, near=near)
    return progress.idle


def test_idle_is_who_neither_falls_nor_gains():
    progress = Progress()
    assert note(progress, 10.0) == 0
    assert note(progress, 10.0) == 1
    assert note(progress, 9.0) == 0  # the primal falls
    assert note(progress, 9.5) == 1
    assert note(progress, 9.5, 0.5) == 0  # the decrement falls
    assert note(progress, 9.5, 0.6) == 1
    assert note(progress, 9.5, 0.6, new_sigma=True) == 0  # compared with nothing yet
    assert note(progress, 9.5, 0.6) == 1
    assert note(progress, 9.5, 0.6, gained=True) == 0


def test_near_the_solution_only_the_gap_counts():
    progress = Progress()
    assert note(progress, 10.0, near=True) == 1
    assert note(progress, 5.0, 0.1, near=True) == 2
    assert note(progress, 5.0, gained=True, near=True) == 0


def test_an_infinite_primal_is_on_its_way():
    progress = Progress()
    for _ in range(MOST_INFINITE):
        assert note(progress, np.inf) == 0
    assert [note(progress, np.inf) for _ in range(3)] == [1, 2, 3]  # but not for ever
