"""``max_time`` is kept: everything from the call of fit on counts, the certificate, too."""

import time

import numpy as np
import pytest

from psvm import PSVC, PSVR, LinearPSVC
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.ledger import Status

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def hard(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (np.tanh(X[:, 0] * X[:, 1]) + 0.5 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        PSVC(max_time=2.0),
        PSVC(p=1.0, C=10.0, max_time=2.0),
        LinearPSVC(tol=1e-12, solver="coordinate_descent", max_time=2.0),
    ],
)
def test_seconds_of_a_fit(model):
    X, y = hard(30_000, 60)
    began = time.perf_counter()
    model.fit(X, y)
    assert time.perf_counter() - began < 2.0 + 0.5 + 0.5  # the second half is for busy machines
    assert model.status_[0] in (Status.MAX_TIME, Status.UNPROVEN)  # 1e-12 is beyond rounding
    assert model.dual_gap_[0] > model.tol


@pytest.mark.slow
@pytest.mark.parametrize(("p", "gamma"), [(1.0, 0.3), (1.5, 1.0), (2.0, 0.3), (3.0, 1.0)])
def test_seconds_where_newton_would_take_over(p, gamma):
    """The factor of its matrix alone takes a second."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = np.sin(X[:, 0]) + rng.normal(size=4000)
    began = time.perf_counter()
    model = PSVR(p=p, C=1e6, gamma=gamma, epsilon=0.3, max_time=2.0).fit(X, y)
    assert time.perf_counter() - began < 2.0 + 0.5 + 0.25  # the quarter is for busy machines
    assert model.status_[0] is Status.MAX_TIME


def test_a_start_without_time_for_its_decision_values(monkeypatch):
    """It is the model, with an intercept from some rows and no proof."""
    X, y = hard(2500, 10)
    model = PSVC(C=10.0, warm_start=True).fit(X, y)
    before = model.decision_function(X[:500])
    monkeypatch.setattr(TrainingKernel, "seconds_per_entry", lambda self, threads: 1.0)
    model.set_params(max_time=1.0).fit(X, y)
    assert model.status_[0] is Status.MAX_TIME
    assert model.dual_gap_[0] == np.inf
    assert model.primal_objective_[0] == np.inf
    assert model.dual_objective_[0] == -np.inf
    assert [record["solver"] for record in model.history_[0]] == ["start"]
    after = model.decision_function(X[:500])
    assert np.ptp(after - before) < 1e-9  # the same support vectors
    assert np.abs(after - before).max() < 0.1
    assert model.score(X, y) > 0.8


def test_what_cannot_be_certified_in_time_is_not_proven(monkeypatch):
    """Exact decision values that take for ever."""
    X, y = hard(3000, 10)
    product = TrainingKernel.decision

    def slow(self, segments, dual, threads, rows=None, pause=None):
        if pause is not None:
            time.sleep(0.7)
            pause()
        return product(self, segments, dual, threads, rows, pause)

    monkeypatch.setattr(TrainingKernel, "decision", slow)
    model = PSVC(max_time=0.1).fit(X, y)
    assert model.status_[0] is Status.MAX_TIME
    assert model.dual_gap_[0] == np.inf
    assert np.isfinite(model.decision_function(X[:5])).all()
