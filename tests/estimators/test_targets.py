"""Targets in the units of the solvers, and solutions back in the user's."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from psvm.estimators.targets import check_targets, encode_targets
from psvm.mathematics.certificate import Certificate, DualRows
from psvm.mathematics.loss import PNormHinge
from psvm.solvers.ledger import Solution, Status

Y = np.array([3.0, 5.0, 4.0, 12.0, -2.0])


def encoded(y=Y, weight=None, C=1.0, epsilon=0.5, quantile=0.5, p=1.5, fit_intercept=True):
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    return encode_targets(y, weight, C, epsilon, quantile, p, fit_intercept)


# --- units ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_the_unit_is_a_power_of_two_near_the_spread(size, fit_intercept):
    targets = encoded(size * Y, fit_intercept=fit_intercept)
    assert math.frexp(targets.scale)[0] == 0.5
    assert targets.centre == pytest.approx(size * Y.mean() if fit_intercept else 0.0)
    assert 0.5 < np.mean(np.abs(targets.y) ** 1.5) ** (1 / 1.5) <= 1.0
    np.testing.assert_allclose(targets.scale * targets.y + targets.centre, size * Y, rtol=1e-15)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.7])
def test_the_objective_is_that_of_the_user_over_the_square_of_the_unit(p):
    targets = encoded(1000.0 * Y, C=0.3, epsilon=70.0, quantile=0.8, p=p)
    rows, loss = targets.dual_rows(), PNormHinge(p)
    values = np.array([100.0, 9000.0, 2000.0, 11000.0, -5000.0])  # f + b
    inside = np.repeat((values - targets.centre) / targets.scale, 2)
    lost = loss.value(rows.sign * (rows.target - inside), rows.cost).sum()
    r = 1000.0 * Y - values
    price = 0.3 * np.where(r > 0, 1.6, 0.4)
    expected = np.sum(price * np.maximum(np.abs(r) - 70.0, 0.0) ** p)
    assert lost * targets.scale**2 == pytest.approx(expected, rel=1e-12)


def test_a_change_of_unit_changes_nothing_inside():
    one, other = encoded(C=2.0, p=3.0), encoded(8 * Y, C=2.0 / 8, epsilon=4.0, p=3.0)
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.cost, other.cost)
    assert one.epsilon == other.epsilon
    assert other.scale == 8 * one.scale


def test_weights_count_as_repeats():
    weighted = encoded(weight=[1, 2, 0, 1, 3])
    repeated = encoded(np.repeat(Y, [1, 2, 0, 1, 3]))
    assert weighted.centre == pytest.approx(repeated.centre, rel=1e-15)
    assert weighted.scale == repeated.scale
    np.testing.assert_allclose(weighted.cost[[0, 1, 3, 4]] / weighted.cost[0], [1, 2, 1, 3])
    assert weighted.cost[2] == 0.0


def test_the_dual_rows_of_a_row_follow_each_other():
    targets = encoded(quantile=0.9, C=10.0)
    rows = targets.dual_rows()
    np.testing.assert_array_equal(rows.sign, [1, -1] * 5)
    np.testing.assert_array_equal(rows.target[::2], targets.y - targets.epsilon)
    np.testing.assert_array_equal(rows.target[1::2], targets.y + targets.epsilon)
    np.testing.assert_allclose(rows.cost[::2], 9.0 * rows.cost[1::2])
    np.testing.assert_allclose(rows.cost[::2] + rows.cost[1::2], 2.0 * targets.cost)


def test_a_tube_around_all_targets_is_found_exactly():
    assert encoded(epsilon=7.0).flat_intercept() == 5.0
    assert encoded(epsilon=np.nextafter(7.0, 0.0)).flat_intercept() is None
    assert encoded(np.full(3, 0.1), epsilon=0.0).flat_intercept() == 0.1
    assert encoded(epsilon=12.0, fit_intercept=False).flat_intercept() == 0.0
    assert encoded(epsilon=11.9, fit_intercept=False).flat_intercept() is None
    assert encoded(weight=[1, 1, 1, 0, 1], epsilon=3.5).flat_intercept() == 1.5


# --- what cannot be used --------------------------------------------------------------------------


@pytest.mark.parametrize("y", [Y, Y.astype(np.float32), Y.astype(int), Y.tolist(), pd.Series(Y)])
def test_targets_of_any_type_of_number(y):
    found = check_targets(y)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, Y)


def test_a_column_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning):
        np.testing.assert_array_equal(check_targets(Y[:, None]), Y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.column_stack([Y, Y]), "MultiOutputRegressor"),
        ([[1.0, 2.0], [3.0, 4.0]], "MultiOutputRegressor"),
        (np.where(Y > 4, np.nan, Y), "NaN"),
        (np.where(Y > 4, np.inf, Y), "infinity"),
        (np.array(["a", "b"]), "numbers"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "numbers"),
        (Y * 1e150, "squares"),
        (Y + 1j, "(?i)complex|numbers"),
    ],
)
def test_targets_that_are_none(y, message):
    with pytest.raises(ValueError, match=message):
        check_targets(y)


def test_a_spread_whose_square_is_no_number():
    with pytest.raises(ValueError, match="scale y"):
        encoded(Y * 1e-120, fit_intercept=False)


def test_costs_out_of_range_say_so():
    with pytest.raises(ValueError, match=r"scale y"):
        encoded(1e6 * Y, p=100.0)
    with pytest.raises(ValueError, match=r"at least .* scale y"):
        encoded(1e-6 * Y, p=100.0)
    with pytest.raises(ValueError, match="zeros only"):
        encoded(weight=np.zeros(5))


def test_rows_that_cost_next_to_nothing_are_absent():
    targets = encoded(weight=[1, 1e-308, 1, 1, 1], C=1e-3)
    np.testing.assert_array_equal(targets.cost > 0, [True, False, True, True, True])


def test_only_the_product_of_cost_and_unit_needs_to_be_a_number():
    """1e-250 times (1e60)^4."""
    targets = encoded(1e60 * Y, C=1e-250, p=6.0)
    spread = np.mean(np.abs(Y - Y.mean()))
    assert targets.cost[0] == pytest.approx(1e-10 * spread**4, rel=20)  # a power of two nearby


# --- back -----------------------------------------------------------------------------------------


def solution(targets, rows, alpha, decision, intercept, gap=1e-6):
    loss = rows.loss
    short = rows.shortfall(decision + intercept)
    primal = 0.5 * alpha @ (rows.y * decision) + loss.value(short, rows.cost).sum()
    proof = Certificate(primal, (1 - gap) * primal, gap, intercept)
    history = [{"iteration": 0, "gap": gap, "primal": primal, "dual": 0.5 * primal, "solver": "x"}]
    return Solution(
        lambda: alpha, proof, Status.CONVERGED, history=history, decision=decision, w=np.ones(2)
    )


def dual_rows(targets, p):
    pairs = targets.dual_rows()
    return DualRows(pairs.sign, pairs.target, pairs.cost, PNormHinge(p))


def test_solutions_are_given_in_the_users_units():
    targets = encoded(64 * Y + 1e4)
    rows, s = dual_rows(targets, 1.5), targets.scale
    inside = solution(targets, rows, np.full(10, 0.25), np.linspace(-1, 1, 10), 0.5)
    found = targets.in_users_units(inside, rows, 1e-4)
    assert found.certificate.intercept == s * 0.5 + targets.centre
    assert found.certificate.primal == s**2 * inside.certificate.primal
    assert found.certificate.dual == s**2 * inside.certificate.dual
    np.testing.assert_array_equal(found.alpha, s * inside.alpha)
    np.testing.assert_array_equal(found.w, s * inside.w)
    np.testing.assert_array_equal(found.decision, s * inside.decision)
    assert found.history[0]["primal"] == s**2 * inside.certificate.primal
    assert found.history[0]["gap"] == inside.history[0]["gap"]
    assert found.status is Status.CONVERGED
    assert inside.certificate.gap <= found.certificate.gap <= 1.001e-6


@pytest.mark.parametrize("offset", [0.0, 1e9, 1e13])
@pytest.mark.parametrize("p", [1.0, 1.3, 3.0])
@pytest.mark.parametrize("gap", [0.0, 0.99])
def test_the_gap_counts_what_units_round_off(offset, p, gap):
    """P of the stored model in exact numbers is within what the gap allows."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=40) + offset
    targets = encoded(y, p=p, epsilon=0.01)
    rows = dual_rows(targets, p)
    decision = np.repeat(rng.normal(size=40), 2)
    inside = solution(targets, rows, np.zeros(80), decision, 0.123456789, gap=gap)
    found = targets.in_users_units(inside, rows, 1e-4)
    lost = 0.0
    for one, f in zip(y, decision[::2], strict=True):
        r = Fraction(one) - Fraction(targets.scale) * Fraction(f)
        r -= Fraction(found.certificate.intercept)
        lost += float(max(abs(r) - Fraction(0.01), Fraction(0))) ** p
    off = abs(lost - found.certificate.primal) / found.certificate.primal
    assert off <= found.certificate.gap - gap + 1e-14
    assert 1.0 - found.certificate.dual / lost <= found.certificate.gap + 1e-14
    assert found.certificate.gap <= min(1.0, gap + 1e-12 + 1e-14 * offset)


def test_a_gap_that_units_take_beyond_tol_is_not_proved():
    targets = encoded(Y + 1e13)
    rows = dual_rows(targets, 1.5)
    inside = solution(targets, rows, np.full(10, 0.25), np.zeros(10), 0.1, gap=1e-9)
    found = targets.in_users_units(inside, rows, 2e-9)
    assert found.certificate.gap > 2e-9
    assert found.status is Status.UNPROVEN


def test_a_gap_whose_bound_leaves_the_range_of_numbers_proves_nothing():
    """A thousandth of what is lost, to the power of 200."""
    targets = encoded(Y + 1e13, p=200.0)
    rows = dual_rows(targets, 200.0)
    decision = np.full(10, 30.0)
    inside = solution(targets, rows, np.zeros(10), decision, 0.1, gap=0.9)
    found = targets.in_users_units(inside, rows, 1e-4)
    assert found.certificate.gap >= 1.0
    assert found.status is not Status.CONVERGED
