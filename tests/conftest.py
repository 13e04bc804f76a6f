"""Hypothesis is repeatable and has no deadline: the machine that runs the tests is a shared one."""

import signal

import pytest
from hypothesis import HealthCheck, settings
from linear_referee import Heard

from psvm.solvers.linear.choose import solve_linear

settings.register_profile(
    "psvm",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("psvm")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so their children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Marks what scikit-learn parametrises: searches on its sparse matrices take 25 s of 50."""
    for item in items:
        if "test_scikit_learn_check[PSVCCV" in item.nodeid and "_sparse_" in item.nodeid:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def heard(monkeypatch):
    """What the last fit of a LinearPSVC asked of its solver, and what that answered."""

    def listen(rows, problems, *arguments, **options):
        solutions = solve_linear(rows, problems, *arguments, **options)
        found.rows, found.problems, found.solutions = rows, problems, solutions
        return solutions

    found = Heard()
    monkeypatch.setattr("psvm.estimators.linear_svc.solve_linear", listen)
    return found
