"""Targets block by block are those of one machine: unit, costs, dual rows, refusals."""

import numpy as np
import pytest

pytest.importorskip("distributed")

from psvm.dask.blocks import Expected, check_partition, describe
from psvm.dask.numbers import AllNumbers, Numbers, errors_of
from psvm.estimators.regressor import RegressorSettings
from psvm.estimators.targets import encode_targets
from psvm.estimators.unit_errors import UnitErrors
from psvm.mathematics.certificate import DualRows
from psvm.mathematics.loss import PNormHinge
from psvm.solvers.ledger import Budget

EXPECTED = Expected(None, "DaskLinearPSVR", Numbers())


def settings(p=1.5, C=0.7, epsilon=0.3, quantile=0.8, fit_intercept=True):
    common = {"loss": PNormHinge(p), "C": C, "fit_intercept": fit_intercept, "threads": 1}
    return RegressorSettings(**common, budget=Budget(), epsilon=epsilon, quantile=quantile)


def described(y, weight, cuts=(0, 7, 7, 30)):
    X = np.ones((len(y), 2))
    parts = [
        check_partition(k, EXPECTED, X[a:b], y[a:b], weight[a:b])
        for k, (a, b) in enumerate(zip(cuts, (*cuts[1:], len(y)), strict=True))
    ]
    return parts, [describe(part, EXPECTED, len(parts)) for part in parts]


def tube_of(parts, told, given):
    numbers = AllNumbers.of(told, given.fit_intercept)
    return numbers.tube(given, sum(numbers.look(given)(part) for part in parts)[0])


def targets(n=50, unit=1.0, seed=0):
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.0, 2.0, n)
    weight[::5] = 0.0
    return unit * (20.0 + rng.standard_t(3, size=n)), weight


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("unit", [1.0, 1e9, 1e-9])
@pytest.mark.parametrize("p", [1.0, 1.5, 3.0, 20.0])
def test_the_unit_and_the_dual_rows(p, unit, fit_intercept):
    y, weight = targets(unit=unit)
    given = settings(p, 0.7 * unit ** (2.0 - p), 0.3 * unit, fit_intercept=fit_intercept)
    parts, told = described(y, weight)
    numbers = AllNumbers.of(told, fit_intercept)
    distance, lost = sum(numbers.look(given)(part) for part in parts)
    tube = numbers.tube(given, distance)
    local = encode_targets(y, weight, given.C, given.epsilon, 0.8, p, fit_intercept)
    assert tube.unit.centre == pytest.approx(local.centre, rel=1e-14)
    assert tube.unit.scale == local.scale
    rows = [tube.rows(part.y, part.weight) for part in parts]
    pairs = local.dual_rows()
    assert np.concatenate([one.cost for one in rows]) == pytest.approx(pairs.cost, rel=1e-14)
    assert np.concatenate([one.target for one in rows]) == pytest.approx(pairs.target, abs=1e-12)
    codes = np.concatenate([one.codes for one in rows])
    assert np.array_equal(np.where(codes == 0, 1.0, -1.0), pairs.sign)
    assert rows[0].feature_row.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    # What the client knows: rows, costs, P at w = 0 and b = 0.
    assert numbers.rows == np.count_nonzero(weight)
    costs = numbers.costs(tube)
    assert costs == pytest.approx([pairs.cost[::2].sum(), pairs.cost[1::2].sum()], rel=1e-13)
    slack = np.maximum(pairs.sign * pairs.target, 0.0)
    assert numbers.lost_at_zero(tube, lost) == pytest.approx(
        (pairs.cost * slack**p).sum(), rel=1e-11
    )
    assert numbers.in_unit(tube).flat_intercept() is None


def test_errors_of_the_unit_are_no_smaller_than_those_of_the_rows():
    y, weight = targets()
    given = settings()
    parts, told = described(y, weight)
    numbers = AllNumbers.of(told, True)
    tube = numbers.tube(given, sum(numbers.look(given)(part) for part in parts)[0])
    local = encode_targets(y, weight, given.C, given.epsilon, 0.8, 1.5, True)
    pairs = local.dual_rows()
    rows = DualRows(pairs.sign, pairs.target, pairs.cost, given.loss, True)
    alpha = np.where(pairs.cost > 0.0, np.random.default_rng(1).uniform(0.0, 1.0, 100), 0.0)
    true = UnitErrors.of(rows, alpha, local.epsilon, told_apart=True)
    bound = errors_of(
        numbers.in_unit(tube), numbers.costs(tube), alpha.sum(), true.conjugate, given.loss.p
    )
    assert bound.alpha == pytest.approx(true.alpha)
    assert true.pulled <= bound.pulled < 20.0 * true.pulled
    assert true.of_targets <= bound.of_targets < 20.0 * true.of_targets
    assert bound.of_intercept == pytest.approx(true.of_intercept)
    assert bound.conjugate == true.conjugate


def test_equal_targets_have_themselves_for_their_centre():
    _, told = described(np.full(40, 0.1), np.linspace(0.1, 0.7, 40))
    numbers = AllNumbers.of(told, True)
    assert numbers.centre == 0.1
    tube = numbers.tube(settings(), 0.0)
    assert tube.unit.scale == 1.0
    assert numbers.in_unit(tube).flat_intercept() == 0.1


@pytest.mark.parametrize(
    ("unit", "weight", "C", "message"),
    [
        (1.0, 0.0, 1.0, "zeros only"),
        (1.0, 1.0, 1e305, "must not sum to more"),
        (1.0, 1.0, 1e-310, "at least 2.2e-308"),
        (1e-110, 1.0, 1.0, "leaves the range"),
    ],
)
def test_refusals(unit, weight, C, message):
    y, _ = targets(unit=unit)
    parts, told = described(y, np.full(50, weight))
    with pytest.raises(ValueError, match=message):
        tube_of(parts, told, settings(C=C))
