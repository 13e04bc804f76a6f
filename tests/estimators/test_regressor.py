"""What all regressors share: settings, the flat solution, units on the way out, the verdict."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from psvm.estimators.regressor import PNormRegressor, RegressorSettings
from psvm.estimators.svr import PSVR
from psvm.estimators.watch import FitWatch
from psvm.mathematics.certificate import Certificate, DualRows
from psvm.mathematics.loss import PNormHinge
from psvm.solvers.ledger import Budget, Solution, Status

Y = np.array([10.0, 14.0, 12.0, 18.0])


def posed(epsilon=0.5, **parameters):
    """An estimator with its settings, targets and dual rows."""
    model = PSVR(epsilon=epsilon, **parameters)
    settings = model._check_settings()
    targets = model._encode(Y, np.ones(4), settings)
    pairs = targets.dual_rows()
    return model, settings, targets, DualRows(pairs.sign, pairs.target, pairs.cost, settings.loss)


def solved(posed_as, solve):
    model, settings, targets, rows = posed_as
    return model._solved(targets, rows, settings, FitWatch(model, None, None), solve)


def ended(status=Status.CONVERGED, gap=1e-6):
    return Solution(lambda: np.zeros(8), Certificate(2.0, 2.0 * (1 - gap), gap, 0.25), status)


def test_settings_are_checked_and_complete():
    settings = PSVR(p=2, C=3, epsilon=0.2, quantile=0.7, max_iter=5)._check_settings()
    assert isinstance(settings, RegressorSettings)
    assert (settings.loss, settings.C, settings.epsilon) == (PNormHinge(2.0), 3.0, 0.2)
    assert (settings.quantile, settings.budget.max_iter) == (0.7, 5)
    assert issubclass(PSVR, PNormRegressor)


def test_the_solver_works_in_other_units_and_to_a_little_less_than_tol():
    given = {}

    def solve(budget, on_round):
        given.update(budget=budget, on_round=on_round)
        return ended()

    everything = posed(tol=1e-3)
    found, targets = solved(everything, solve), everything[2]
    assert isinstance(given["budget"], Budget)
    assert 0.99e-3 < given["budget"].tol < 1e-3
    assert given["on_round"] is None  # nobody listens
    assert found.certificate.primal == 2.0 * targets.scale**2
    assert found.certificate.intercept == targets.centre + 0.25 * targets.scale


def test_those_who_listen_hear_the_users_units():
    model, settings, targets, rows = posed(verbose=2)
    heard = []

    class Watch(FitWatch):
        def round(self, problem, record):
            heard.append(record)
            return False

    def solve(budget, on_round):
        on_round(0, {"iteration": 0, "gap": 0.5, "primal": 2.0, "dual": 1.0})
        return ended()

    model._solved(targets, rows, settings, Watch(model, None, None), solve)
    unit = targets.scale**2
    assert heard == [{"iteration": 0, "gap": 0.5, "primal": 2.0 * unit, "dual": unit}]


def test_nothing_is_solved_where_a_constant_will_do():
    def solve(budget, on_round):
        raise AssertionError("nothing is to be solved")

    found = solved(posed(epsilon=4.0), solve)
    assert found.certificate == Certificate(0.0, 0.0, 0.0, 14.0)
    assert found.status is Status.CONVERGED
    assert found.n_iter == 1
    assert found.history[0]["why"] == "w = 0 has all rows inside the tube"


def test_a_tube_without_a_model_is_refused_by_name():
    message = r"all rows inside the tube \|y - f\(x\)\| <= epsilon = 0\.5, .*no such model"
    with pytest.raises(ValueError, match=message):
        solved(posed(C=np.inf), lambda *_: ended(Status.UNBOUNDED, np.inf))


def test_numbers_out_of_range_speak_of_y():
    wrong = Solution(lambda: np.zeros(8), Certificate(np.nan, 1.0, 0.1, 0.0), Status.STALLED)
    with pytest.raises(ValueError, match=r"these X, y and weights .*TransformedTargetRegressor"):
        solved(posed(), lambda *_: wrong)


@pytest.mark.parametrize("status", [Status.MAX_ITER, Status.STALLED])
def test_a_warning_speaks_of_no_binary_problems(status):
    with pytest.warns(ConvergenceWarning, match=r"PSVR is at relative gap 1\.0e-02") as told:
        solved(posed(), lambda *_: ended(status, 1e-2))
    assert "binary" not in str(told[0].message)
