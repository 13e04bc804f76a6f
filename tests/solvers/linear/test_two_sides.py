"""Problems with two dual rows on each row of features, as of a regression: every solver.

tests: linear/row_groups.hpp
tests: linear/random_order.hpp
tests: linear/squared_tube.hpp
"""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_regression_oracle import Regression, noisy_line

from psvm import _core
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems
from psvm.rows.blocks import split_rows
from psvm.solvers.ledger import Budget, Status
from psvm.solvers.linear.choose import solve_linear
from psvm.solvers.linear.passes import BlockPasses, Gram, Keep, Pass, core_rows
from psvm.solvers.linear.sample_and_sift import margin_unit, sample_pays

POWERS = (1.0, 1.25, 1.5, 2.0, 3.0)
SOLVERS = ("auto", "semismooth_newton", "coordinate_descent")


def two_sides(problem):
    """A regression as the solvers see it."""
    n = problem.y.size
    (_, above, dear), (_, below, cheap) = problem.sides
    return LinearProblems(
        signs=np.array([[1, -1]], dtype=np.int8),
        codes=np.tile(np.array([0, 1], dtype=np.int32), n),
        cost=np.column_stack([dear, cheap]).ravel(),
        loss=PNormHinge(problem.p),
        fit_intercept=problem.fit_intercept,
        target=np.column_stack([above, below]).ravel().astype(float),
        feature_row=np.repeat(np.arange(n), 2),
    )


def solve(problem, rows=None, solver="auto", tol=1e-6, **more):
    rows = split_rows(problem.X if rows is None else rows) if not isinstance(rows, list) else rows
    budget = Budget(tol=tol, **more)
    (found,) = solve_linear(
        rows,
        two_sides(problem),
        [None],
        budget,
        None,
        solver=solver,
        threads=2,
        in_order=False,
    )
    return found


def check(problem, found, tol=1e-6):
    """P and D are what they are said to be, and the gap is true."""
    w, b = found.w * found.certificate.scale, found.certificate.intercept
    alpha = found.alpha
    primal, dual = problem.primal(w, b), problem.dual(alpha[::2], alpha[1::2])
    proof = found.certificate
    assert proof.primal == pytest.approx(primal, rel=1e-9)
    assert proof.dual == pytest.approx(dual, rel=1e-9, abs=1e-9 * primal)
    assert (primal - dual) / primal <= proof.gap * (1 + 1e-9) + 1e-15
    assert proof.gap <= tol
    assert found.status is Status.CONVERGED
    return primal


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("p", POWERS)
def test_every_solver_finds_the_optimum(p, epsilon, solver):
    X, y = noisy_line()
    cost = np.random.default_rng(3).uniform(0.2, 3.0, size=y.size)
    for quantile, free in ((0.5, True), (0.8, True), (0.3, False)):
        problem = Regression(X, y, cost, p, epsilon, quantile, free)
        best, _, _ = problem.optimum()
        primal = check(problem, solve(problem, solver=solver))
        assert primal == pytest.approx(best, rel=2e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_of_any_storage_and_rows_without_cost(solver):
    """Dense, CSR, float32; rows of weight 0 are as if absent, whatever their target."""
    X, y = noisy_line(n=700, d=6, seed=1)
    X = X * (np.abs(X) > 0.7)
    cost = np.random.default_rng(0).integers(0, 3, size=y.size).astype(float)
    problem = Regression(X, np.where(cost == 0, 1e6, y), cost, 1.5, 0.2, 0.6)
    kept = cost > 0
    alone = Regression(X[kept], y[kept], cost[kept], 1.5, 0.2, 0.6)
    found = solve(alone, solver=solver, tol=1e-8)
    for rows in (X, sp.csr_matrix(X)):
        other = solve(problem, rows, solver=solver, tol=1e-8)
        assert other.w == pytest.approx(found.w, abs=2e-3)
        assert other.certificate.primal == pytest.approx(found.certificate.primal, rel=1e-7)
        assert np.all(other.alpha.reshape(-1, 2)[~kept] == 0.0)
    single = solve(problem, X.astype(np.float32), solver=solver, tol=1e-8)
    assert single.certificate.primal == pytest.approx(found.certificate.primal, rel=1e-5)


@pytest.mark.parametrize("p", POWERS)
def test_blocks_hold_both_sides_of_their_rows(p):
    X, y = noisy_line(n=300, d=5, seed=2)
    problem = Regression(X, y, np.ones(y.size), p, 0.3, 0.7)
    whole = solve(problem, solver="semismooth_newton")
    parts = [np.ascontiguousarray(part) for part in np.array_split(X, 7)]
    blocks = solve(problem, parts)
    check(problem, blocks)
    assert blocks.w == pytest.approx(whole.w, abs=1e-5)


@pytest.mark.parametrize("p", POWERS)
def test_fewer_rows_than_features(p):
    X, y = noisy_line(n=60, d=200, seed=3)
    problem = Regression(X, y, np.ones(y.size), p, 0.2, 0.4)
    check(problem, solve(problem))
    assert solve(problem).w == pytest.approx(
        solve(problem, solver="coordinate_descent", tol=1e-9).w, abs=1e-4
    )


@pytest.mark.parametrize("quantile", [0.5, 0.95])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_many_rows_begin_with_a_sample(p, epsilon, quantile, monkeypatch):
    """At p = 1 most rows are never iterated over: those further from the tube's edges."""
    X, y = noisy_line(n=80_000, d=8, seed=4)
    problem = Regression(X, y, np.ones(y.size), p, epsilon, quantile)
    assert sample_pays(two_sides(problem), *X.shape, X.shape[1])
    rows_passed = []
    real, at_once = BlockPasses.answer, _core.solve_at_once

    def spy(self, orders):
        rows_passed.append(sum(len(block) for block in self.rows))
        return real(self, orders)

    def spy_at_once(rows, codes, *others):
        rows_passed.append(codes.size // 2)
        return at_once(rows, codes, *others)

    monkeypatch.setattr(BlockPasses, "answer", spy)
    monkeypatch.setattr(_core, "solve_at_once", spy_at_once)
    found = solve(problem, tol=1e-4)
    check(problem, found, tol=1e-4)
    whole = [size for size in rows_passed if size == y.size]
    # A look at the band, the proof of it, its D; for p > 1 all steps are in one call.
    assert len(whole) <= (8 if p == 1.0 else 1)
    assert max(size for size in rows_passed if size < y.size) < 0.55 * y.size
    # A sample has both sides of its rows.
    monkeypatch.undo()
    low = 0.5 * np.mean(y <= X @ found.w + found.certificate.intercept)
    if p == 1.0 and epsilon == 0.0:
        assert 2.0 * low == pytest.approx(quantile, abs=0.01)


def test_the_unit_of_residuals_is_that_of_the_targets():
    """A band of the share asked for, whatever the unit of the targets; 1 for classes."""
    X, y = noisy_line(n=2000, d=3)
    for unit in (1e-3, 1.0, 50.0):
        problem = two_sides(Regression(X, unit * y, np.ones(y.size), 1.0, 0.0))
        decision = np.zeros(y.size)
        band = margin_unit(problem, 0, decision, 0.1) * 0.1
        assert np.mean(np.abs(unit * y) <= band) == pytest.approx(0.1, abs=0.001)
    classes = LinearProblems(
        np.array([[1, -1]], dtype=np.int8), np.zeros(4, np.int32), np.ones(4), PNormHinge(1.0)
    )
    assert margin_unit(classes, 0, np.zeros(4), 0.1) == 1.0


# --- what a pass costs -------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_two_rows_on_the_same_features_are_one_in_a_gram_matrix(p):
    """With W > 0 on both sides their weights are added: one product, not two."""
    X, y = noisy_line(n=50, d=3)
    problem = Regression(X, y, np.full(50, 10.0), p, 0.0)
    problems = two_sides(problem)
    passes = BlockPasses([X], problems, [0], 1)
    sigma = 1e-3 if p == 1.0 else np.inf
    sums = passes.answer({0: Pass("begin", sigma, np.zeros(3), 3.0, centre="half_cost")})[0]
    share = passes.shares[0][0]
    gram = passes.answer({0: Gram()})[0]
    weight = share.weight.reshape(-1, 2).sum(axis=1)
    Z = np.column_stack([X, np.ones(50)])
    expected = (Z * weight[:, None]).T @ Z
    assert np.tril(gram) == pytest.approx(np.tril(expected), rel=1e-12)
    assert sums.active == np.count_nonzero(share.weight)


def descent(problem, **more):
    problems = two_sides(problem)
    y = problems.signs[0][problems.codes].astype(float)
    task = _core.CoordinateProblem(
        y=y,
        cost=problems.cost,
        p=problem.p,
        fit_intercept=problem.fit_intercept,
        target=problems.target,
        feature_row=problems.feature_row,
    )
    budget = _core.Budget(tol=1e-7, max_iter=3000, max_time=None, max_effort=None)
    return _core.solve_coordinate_descent(
        core_rows(problem.X), task, np.zeros(y.size), budget, **more
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
@pytest.mark.parametrize("p", POWERS)
def test_one_side_of_a_row_stays_at_zero(p, epsilon):
    """Coordinate descent moves the difference of the two sides, as if it were one variable."""
    X, y = noisy_line(n=200, d=5, seed=6)
    problem = Regression(X, y, np.ones(200), p, epsilon, 0.6, fit_intercept=False)
    outcome = descent(problem)
    assert outcome["status"] == "converged"
    above, below = outcome["alpha"].reshape(-1, 2).T
    assert np.all(np.minimum(above, below) == 0.0)


def test_groups_of_any_size():
    """No row, one row or three rows on a row of features, in coordinate descent and all at once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    place = np.sort(rng.integers(0, 40, size=90))
    problems = LinearProblems(
        signs=np.array([[1, -1]], dtype=np.int8),
        codes=rng.integers(0, 2, size=90).astype(np.int32),
        cost=rng.uniform(0.5, 2.0, size=90),
        loss=PNormHinge(1.5),
        target=rng.normal(size=90),
        feature_row=place,
    )
    apart = LinearProblems(
        problems.signs,
        problems.codes,
        problems.cost,
        problems.loss,
        target=problems.target,
    )
    options = {"threads": 1, "in_order": False}
    for solver in SOLVERS:
        (shared,) = solve_linear(
            split_rows(X), problems, [None], Budget(tol=1e-9), None, solver=solver, **options
        )
        (own,) = solve_linear(
            split_rows(X[place]), apart, [None], Budget(tol=1e-9), None, solver=solver, **options
        )
        assert shared.w == pytest.approx(own.w, abs=1e-6)
        assert shared.certificate.primal == pytest.approx(own.certificate.primal, rel=1e-8)
        assert isinstance(shared.certificate.intercept, float)


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_both_sides_at_once_are_summed_as_one_by_one(epsilon):
    """At p = 2 a pass takes the two rows of a tube together, unless the lower side comes first."""
    X, y = noisy_line(n=500, d=4, seed=7)
    cost = np.random.default_rng(1).uniform(0.0, 2.0, size=y.size)
    cost[::9] = 0.0
    together = two_sides(Regression(X, y, cost, 2.0, epsilon, 0.7))
    swap = np.arange(2 * y.size).reshape(-1, 2)[:, ::-1].ravel()
    apart = LinearProblems(
        together.signs,
        together.codes[swap],
        together.cost[swap],
        together.loss,
        target=together.target[swap],
        feature_row=together.feature_row,
    )
    w = np.random.default_rng(2).normal(size=4)
    orders = [
        Pass("begin", direction=0.1 * w, b=0.2),
        Pass("move", direction=w, b=-0.3),
        Pass("probe", step=0.4),
        Pass("settle", step=0.7),
        Pass("certify", direction=0.5 * w, b=0.1),
    ]
    one, other = (BlockPasses([X], problems, [0], 1) for problems in (together, apart))
    for order in orders:
        if order.kind == "certify":
            for passes in (one, other):
                passes.answer({0: Keep(linearised=False, factors=(1.0, 0.5))})
        found, expected = (passes.answer({0: order})[0] for passes in (one, other))
        for name in ("loss", "moved", "slope_before", "slope", "weight", "active", "rounding"):
            values = getattr(found, name), getattr(expected, name)
            np.testing.assert_allclose(*values, rtol=1e-10, atol=1e-11, err_msg=f"{order} {name}")
        for name in ("image", "alpha", "linear", "conjugate"):
            values = getattr(found.dual, name), getattr(expected.dual, name)
            np.testing.assert_allclose(*values, rtol=1e-10, atol=1e-10, err_msg=f"{order} {name}")
        if order.kind == "settle":
            grams = (np.tril(passes.answer({0: Gram()})[0]) for passes in (one, other))
            np.testing.assert_allclose(*grams, rtol=1e-10)
