"""The gap is true in exact arithmetic: bounds for rounding against extended precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torture.exact import Problem, Real, exactly

from psvm import PSVC, LinearPSVC
from psvm.mathematics.certificate import Certificate, DualRows, certify
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import feasible
from psvm.mathematics.rounding import (
    Rounding,
    coarse_rounding,
    power_error,
    rounding_of,
    with_rounding,
)
from psvm.solvers.ledger import Status


def true_gap(K, y, cost, p, alpha, intercept):
    """Relative gap of a model in extended precision, with the nearest feasible alpha."""
    problem = Problem(exactly(K), exactly(y), exactly(cost), p, True)
    primal = problem.at(exactly(alpha) * problem.y, Real(intercept)).value
    return float((primal - problem.dual(problem.feasible(alpha)).value) / primal)


@given(
    st.sampled_from([1.0, 1.0001, 1.1, 1.5, 2.0, 2.7, 3.0, 20.0]),
    st.sampled_from([1e-3, 1.0, 1e3, 1e8]),
    st.integers(0, 2**31),
)
def test_a_bound_holds_whatever_is_certified(p, C, seed):
    """Any alpha, any rounding of the decision values: the true gap is at most the bound."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    F = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-2, 2)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    K, cost = F @ F.T, C * rng.uniform(0.5, 2.0, n)
    rows = DualRows(y, y, cost, PNormHinge(p))
    alpha = feasible(rows, cost * rng.uniform(0.0, 1.0, n) * (rng.random(n) < 0.6))
    error = 1e-12 * (1.0 + np.abs(K) @ alpha)
    exact = np.asarray(exactly(K) @ (exactly(alpha) * y))
    decision = np.asarray(exact + rng.uniform(-1.0, 1.0, n) * error, dtype=np.float64)
    proof = certify(rows, alpha, decision)
    values, own = decision + proof.intercept, 4e-16 * (np.abs(decision) + abs(proof.intercept))
    largest = float(np.diag(K).max())
    proved = with_rounding(
        proof, rounding_of(rows, alpha, values, proof, 1.1 * error + own, largest)
    )
    assert proved.measured == proof.gap
    assert min(proof.gap, 1.0) <= proved.gap
    coarse = with_rounding(
        proof, coarse_rounding(rows, alpha, proof, 1.1 * float(error.max()), largest)
    )
    if np.isfinite(proved.gap):
        true = min(true_gap(K, y, cost, p, alpha, proved.intercept), 1.0)
        assert true <= proved.gap
        assert true <= coarse.gap


class Targets:
    """A regression whose rows share kernel rows, in extended precision."""

    def __init__(self, p, C, seed, epsilon):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 20))
        F = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-2, 2)
        shared = np.repeat(rng.integers(0, n, n), 2)
        values = np.repeat(rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3), 2)
        sign = np.tile([1.0, -1.0], n)
        cost = np.repeat(C * rng.uniform(0.5, 2.0, n), 2)
        self.rows = DualRows(sign, values - epsilon * sign, cost, PNormHinge(p))
        self.K = (F @ F.T)[np.ix_(shared, shared)]
        some = cost * rng.uniform(0.0, 1.0, 2 * n) * (rng.random(2 * n) < 0.6)
        self.alpha = feasible(self.rows, some)
        self.rng = rng

    def decision(self):
        """Decision values that are off, and by how much at most."""
        error = 1e-12 * (1.0 + np.abs(self.K) @ self.alpha)
        exact = exactly(self.K) @ (exactly(self.alpha) * exactly(self.rows.y))
        off = self.rng.uniform(-1.0, 1.0, self.alpha.size) * error
        return np.asarray(exact + off, dtype=np.float64), 1.1 * error

    def true_gap(self, intercept):
        rows, p = self.rows, Real(self.rows.loss.p)
        y, t, cost = exactly(rows.y), exactly(rows.target), exactly(rows.cost)
        K, alpha = exactly(self.K), exactly(self.alpha)
        f = K @ (alpha * y)
        xi = np.maximum(y * (t - f - Real(intercept)), 0)
        primal = (alpha * y) @ f / 2 + np.sum(cost * xi**p)
        sums = [alpha[y == side].sum() for side in (1, -1)]
        for side, total in zip((1, -1), sums, strict=True):
            if total > 0:
                alpha = np.where(y == side, alpha * (min(sums) / total), alpha)
        dual = alpha @ (y * t) - (alpha * y) @ K @ (alpha * y) / 2
        if p > 1:
            dual -= np.sum(alpha * (alpha / (p * cost)) ** (1 / (p - 1))) * (p - 1) / p
        return float((primal - dual) / primal) if primal > 0 else float(dual < 0)


@given(
    st.sampled_from([1.0, 1.1, 1.5, 2.0, 3.0, 20.0]),
    st.sampled_from([1e-3, 1.0, 1e3, 1e8]),
    st.integers(0, 2**31),
    st.sampled_from([0.0, 0.1]),
)
def test_a_bound_holds_whatever_is_certified_of_targets(p, C, seed, epsilon):
    """Both alpha of a row may be positive, and kernel rows are shared."""
    problem = Targets(p, C, seed, epsilon)
    rows, alpha, (decision, error) = problem.rows, problem.alpha, problem.decision()
    proof = certify(rows, alpha, decision)
    values, own = decision + proof.intercept, 4e-16 * (np.abs(decision) + abs(proof.intercept))
    largest = float(np.diag(problem.K).max())
    fine = rounding_of(rows, alpha, values, proof, error + own, largest)
    coarse = coarse_rounding(rows, alpha, proof, float(error.max()), largest)
    for rounding in (fine, coarse):
        proved = with_rounding(proof, rounding)
        if np.isfinite(proved.gap):
            assert min(problem.true_gap(proved.intercept), 1.0) <= proved.gap


def test_no_row_may_be_outside_a_hard_tube_by_its_error():
    rows = DualRows(
        np.array([1.0, -1.0, 1.0, -1.0]),
        np.array([0.9, 1.1, -1.1, -0.9]),
        np.full(4, np.inf),
        PNormHinge(1.5),
    )
    alpha, decision = np.array([0.45, 0.0, 0.0, 0.45]), np.array([0.9001, 0.9001, -0.9001, -0.9001])
    proof = certify(rows, alpha, decision)
    assert proof.scale == 1.0
    assert np.isfinite(proof.primal)

    def proved(error):
        errors = np.full(4, error)
        return with_rounding(proof, rounding_of(rows, alpha, decision, proof, errors, 1.0))

    assert proof.gap <= proved(1e-9).gap <= proof.gap + 1e-8
    assert proved(1e-9).scale == 1.0  # what is stored is not stretched
    assert proved(2e-4).gap == 1.0
    outside = certify(rows, alpha, np.array([0.89, 0.89, -0.89, -0.89]))
    assert outside.primal == outside.gap == np.inf


def test_without_a_bound_the_gap_would_be_false():
    """The test above can fail: an error that nobody counts is a false certificate."""
    y = np.array([1.0, -1.0])
    rows = DualRows(y, y, np.full(2, 1e6), PNormHinge(1.0))
    alpha, K = np.full(2, 0.5), np.eye(2) * 2.0
    decision = K @ (alpha * y)
    off = with_rounding(certify(rows, alpha, decision), Rounding(0.0, 0.0))
    assert off.gap == 0.0
    shifted = (K + 1e-3) @ (alpha * 0.99 * y)
    assert true_gap(K, y, rows.cost, 1.0, alpha * 0.99, 0.0) > off.gap
    proof = certify(rows, alpha * 0.99, decision)
    error = np.abs(shifted - decision) + 1e-2
    bound = with_rounding(proof, rounding_of(rows, alpha * 0.99, decision, proof, error, 2.0))
    assert true_gap(K, y, rows.cost, 1.0, alpha * 0.99, 0.0) <= bound.gap


def test_where_rounding_may_be_all_there_is_nothing_is_proved():
    certificate = Certificate(1.0, 1.0, 0.0, 0.0)
    assert with_rounding(certificate, Rounding(0.1, 1.0)).gap == 1.0
    assert with_rounding(certificate, Rounding(np.inf, 0.0)).gap == 1.0
    known = with_rounding(certificate, Rounding(0.1, 0.5))
    assert known.gap == pytest.approx(0.2)
    assert (known.measured, known.dual) == (0.0, 1.0)
    hopeless = Certificate(np.inf, -np.inf, np.inf, 0.0)
    assert with_rounding(hopeless, Rounding(0.0, 0.0)) is hopeless


def test_a_repair_of_tiny_alpha_among_rows_of_no_finite_length_proves_nothing():
    """0 times infinity, and no warning of it."""
    y = np.array([1.0, -1.0])
    rows = DualRows(y, y, np.ones(2), PNormHinge(1.5))
    alpha = np.full(2, 1e-200)
    proof = certify(rows, alpha, np.zeros(2))
    rounding = rounding_of(rows, alpha, np.zeros(2), proof, np.zeros(2), np.inf)
    assert not np.isfinite(rounding.difference)
    assert with_rounding(proof, rounding).gap == 1.0


@pytest.mark.parametrize("p", [1.0, 1.001, 1.5, 2.0, 2.3, 7.0])
def test_powers_are_as_exact_as_they_say(p):
    rng = np.random.default_rng(0)
    xi, cost = rng.uniform(0, 5, 2000), 10.0 ** rng.uniform(-3, 3, 2000)
    loss = PNormHinge(p)
    of_loss, of_conjugate = power_error(p)
    exact = exactly(cost) * exactly(xi) ** Real(p)
    assert np.max(np.abs(loss.value(xi, cost) - exact) / exact) <= of_loss
    if p > 1.0:
        alpha = np.asarray(loss.alpha_of(rng.uniform(0.1, 3, 2000), cost))
        power = np.log(exactly(alpha) / (Real(p) * exactly(cost))) / (Real(p) - 1)
        exact = (Real(p) - 1) / Real(p) * exactly(alpha) * np.exp(power)
        assert np.max(np.abs(loss.conjugate(alpha, cost) - exact) / exact) <= of_conjugate


@pytest.mark.parametrize("estimator", [LinearPSVC, lambda **o: PSVC(kernel="linear", **o)])
def test_unscaled_near_separable_data_are_not_called_converged_without_proof(estimator):
    """Claimed 8e-16, true 0.39: margins of 1e6 are rounded by more than C lets pass."""
    rng = np.random.default_rng(0)
    X = 1e6 * rng.normal(size=(200, 5))
    y = np.where(X[:, 0] > 0, 1, -1)
    with pytest.warns(match=r"with rounding|stopped falling"):
        model = estimator(p=1.0, C=1e4).fit(X, y)
    assert model.status_[0] in (Status.UNPROVEN, Status.STALLED)
    assert model.dual_gap_[0] > model.tol
    scaled = estimator(p=1.0, C=1e4).fit(X / 1e6, y)
    assert scaled.status_ == [Status.CONVERGED]
