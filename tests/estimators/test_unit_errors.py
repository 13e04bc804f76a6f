"""Errors of the units of targets: the sums are what they say, and bounds are bounds."""

import numpy as np
import pytest

from psvm.estimators.unit_errors import UnitErrors
from psvm.mathematics.certificate import DualRows
from psvm.mathematics.loss import PNormHinge

EPSILON = 0.3


def rows(p, cost=None):
    rng = np.random.default_rng(0)
    y, target = rng.choice([-1.0, 1.0], 60), rng.normal(size=60)
    cost = rng.uniform(0.1, 2.0, 60) if cost is None else np.full(60, cost)
    cost[::6] = 0.0 if np.isfinite(cost[0]) else np.inf
    alpha = np.where(cost > 0.0, rng.uniform(0.0, 0.1, 60), 0.0)
    return DualRows(y, target, cost, PNormHinge(p), True), alpha


@pytest.mark.parametrize("p", [1.5, 2.0, 30.0])
def test_sums_over_the_rows(p):
    given, alpha = rows(p)
    found = UnitErrors.of(given, alpha, EPSILON, told_apart=True)
    error = UnitErrors.bound(given.target, EPSILON)
    assert (error >= 2.0**-52 * np.abs(given.target)).all()
    assert found.largest == error.max()
    assert found.pulled == pytest.approx(alpha @ error)
    assert found.of_targets**p == pytest.approx(given.cost @ error**p, rel=1e-10)
    assert found.of_intercept**p == pytest.approx(given.cost.sum())
    kept = alpha > 0.0
    assert found.conjugate == pytest.approx(
        given.loss.conjugate(alpha[kept], given.cost[kept]).sum()
    )
    assert UnitErrors.of(given, alpha, EPSILON, conjugates=False).conjugate == 0.0


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_the_largest_counts_for_all_unless_they_are_told_apart(p):
    given, alpha = rows(p)
    exact = UnitErrors.of(given, alpha, EPSILON, told_apart=True)
    found = UnitErrors.of(given, alpha, EPSILON)
    assert found.largest == exact.largest
    for name in ("alpha", "of_intercept", "conjugate"):
        assert getattr(found, name) == pytest.approx(getattr(exact, name))
    assert exact.pulled < found.pulled == found.largest * found.alpha
    assert exact.of_targets < found.of_targets


@pytest.mark.parametrize("told_apart", [False, True])
def test_a_hard_margin_has_no_loss_to_add_to(told_apart):
    given, alpha = rows(1.5, cost=np.inf)
    found = UnitErrors.of(given, alpha, EPSILON, told_apart=told_apart)
    assert found.hard_margin
    assert found.pulled > 0.0
    assert found.of_targets == found.of_intercept == found.conjugate == 0.0
