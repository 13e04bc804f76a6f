"""The state of the bar from the rounds it hears; tests/cli/test_terminal.py sees it drawn."""

import pytest

from psvm.cli.gap_bar import GapBar
from psvm.estimators.watch import Round

pytest.importorskip("rich")


def told(bar, *rounds):
    for fit, problem, gap in rounds:
        bar.show(Round(fit, problem, {"gap": gap, "solver": "any", "iteration": 1}))
    return bar.screen.tasks[0]


def test_the_bar_counts_orders_of_magnitude():
    task = told(GapBar(1, 1e-4), (0, 0, 1e-2))
    assert task.total == 1
    assert task.completed == pytest.approx(0.5)
    assert task.fields["gap"] == "1.0e-02"
    assert task.fields["solved"] == ""  # there is only one


def test_the_bar_never_goes_back():
    assert told(GapBar(1, 1e-4), (0, 0, 1e-2), (0, 0, 1e-1)).completed == pytest.approx(0.5)


def test_fits_and_problems_are_kept_apart():
    """The same problem of a further fit, as for probabilities, is another problem."""
    bar = GapBar(4, 1e-4)
    task = told(bar, (0, 0, 1e-5), (0, 1, 1e-2), (1, 0, 1e-4), (1, 1, 1.0))
    assert task.completed == pytest.approx(2.5)
    assert task.fields["solved"] == "2/4 problems"
