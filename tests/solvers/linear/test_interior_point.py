"""The interior point method beside the other solvers, and against the slow one."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_regression_oracle import Regression, noisy_line
from small_data import blobs, noisy

from psvm import LinearPSVC
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems, LinearStart
from psvm.rows.blocks import split_rows
from psvm.solvers.ledger import Budget, Ledger, Status
from psvm.solvers.linear.choose import solve_linear
from psvm.solvers.linear.interior_point import solve_interior_point
from psvm.solvers.linear.passes import BlockPasses, Pass
from psvm.solvers.linear.summary import summarise

POWERS = (1.0, 1.25, 1.5, 2.0, 3.0)


def problems_of(y, p, C, fit_intercept=True):
    """Labels -1 and +1 as one problem; costs of one size, or of each row."""
    codes = (np.asarray(y) > 0).astype(np.int32)
    signs = np.array([[-1, 1]], dtype=np.int8)
    cost = np.broadcast_to(np.asarray(C, dtype=np.float64), codes.shape).copy()
    return LinearProblems(signs, codes, cost, PNormHinge(p), fit_intercept)


def solve(rows, problems, t=0, *, tol=1e-7, start=None, **limits):
    """The pair, its D as the rows have it, and the records."""
    blocks = rows if isinstance(rows, list) else split_rows(rows)
    summary = summarise(blocks, centred=problems.fit_intercept)
    passes = BlockPasses(blocks, problems, range(len(problems.signs)), 1, summary.shift)
    ledger = Ledger(Budget(tol=tol, **limits), t)
    end = solve_interior_point(
        passes, summary, t, ledger.stage("interior_point", "asked for"), start
    )
    return end, passes, ledger


def check(rows, problems, t=0, *, tol=1e-7, solver="semismooth_newton"):
    """P and D are true, and the optimum is that of another solver."""
    end, passes, ledger = solve(rows, problems, t, tol=tol)
    assert end.status is Status.CONVERGED
    assert end.gap <= tol
    w = np.ascontiguousarray(end.w)
    sums = passes.answer({t: Pass("certify", direction=w, b=end.b)})[t]
    assert 0.5 * w @ w + sums.loss == pytest.approx(end.primal, rel=1e-10)
    image = sums.dual.image[1] - sums.dual.image[0]
    dual = sums.dual.linear.sum() - 0.5 * image @ image - sums.dual.conjugate.sum()
    assert dual == pytest.approx(end.dual, rel=1e-8)
    if problems.fit_intercept:
        assert sums.dual.alpha[0] == pytest.approx(sums.dual.alpha[1], rel=1e-12)
    other = solve_linear(
        passes.rows,
        problems,
        [None] * len(problems.signs),
        Budget(tol=1e-9),
        None,
        solver=solver,
        threads=1,
        in_order=False,
    )[t]
    assert end.primal == pytest.approx(other.certificate.primal, rel=2 * tol)
    return end, ledger


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_every_power_and_cost(p, C):
    X, y = noisy(n=80, d=12, shift=3.0)
    end, ledger = check(X, problems_of(y, p, C))
    assert 1 <= end.n_iter <= 30
    assert [record["iteration"] for record in ledger.records] == list(range(end.n_iter + 1))


@pytest.mark.parametrize("form", ["float32", "sparse", "sparse float32", "blocks"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_form_of_rows(form, fit_intercept):
    X, y = noisy(n=90, d=7, shift=1.0)
    X = X.astype(np.float32) if "float32" in form else X
    rows = sp.csr_matrix(X) if "sparse" in form else [X[:40], X[40:]] if form == "blocks" else X
    check(rows, problems_of(y, 1.5, 2.0, fit_intercept))


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_weights_and_absent_rows(p):
    """Costs of their own; rows of cost 0, and those of the other classes, take no part."""
    X, y = noisy(n=70, d=6)
    check(X, problems_of(y, p, np.arange(70) % 5 * 0.7))
    X, codes = blobs(n=90, classes=3, d=4)
    signs = np.array([[-1, 1, 0], [0, -1, 1]], dtype=np.int8)
    pairs = LinearProblems(signs, codes.astype(np.int32), np.ones(90), PNormHinge(p))
    for t in (0, 1):
        check(X, pairs, t)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_both_sides_of_a_target(p, epsilon):
    """Two rows on the same features, one of which has alpha = 0."""
    X, y = noisy_line(n=40, d=5)
    problem = Regression(X, y, np.full(40, 3.0), p, epsilon, quantile=0.3)
    (_, above, dear), (_, below, cheap) = problem.sides
    problems = LinearProblems(
        signs=np.array([[1, -1]], dtype=np.int8),
        codes=np.tile(np.array([0, 1], dtype=np.int32), 40),
        cost=np.column_stack([dear, cheap]).ravel().astype(float),
        loss=PNormHinge(p),
        target=np.column_stack([above, below]).ravel().astype(float),
        feature_row=np.repeat(np.arange(40), 2),
    )
    end, _ = check(X, problems)
    assert end.primal == pytest.approx(problem.optimum()[0], rel=1e-6)


@pytest.mark.parametrize("p", [1.0, 1.25, 2.0])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_few_steps_for_one_hot_columns(p, C):
    """Rare categories, scaled to unit variance: 25 steps at most."""
    rng = np.random.default_rng(0)
    columns = [np.eye(20)[rng.choice(20, 600, p=rng.dirichlet(np.full(20, 0.3)))] for _ in range(9)]
    X = np.hstack(columns)
    X = X[:, X.any(axis=0)]
    X = np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))
    y = np.where(X @ rng.normal(size=X.shape[1]) + 5.0 * rng.normal(size=600) > 0, 1.0, -1.0)
    end, _ = check(X, problems_of(y, p, C), tol=1e-4)
    assert end.n_iter <= 25


def test_a_start_is_a_bound():
    """From the solution there is nothing to do; from another point the result is not worse."""
    X, y = noisy(n=60, d=5)
    problems = problems_of(y, 1.5, 1.0)
    end, passes, _ = solve(X, problems, tol=1e-8)
    again, _, _ = solve(X, problems, start=LinearStart(end.w, end.b, passes.best_alpha(0)))
    assert again.n_iter == 0
    assert again.primal == pytest.approx(end.primal, rel=1e-12)
    limited, _, _ = solve(X, problems, max_iter=0, start=LinearStart(end.w, end.b))
    assert limited.primal == pytest.approx(end.primal, rel=1e-12)
    assert limited.status is Status.MAX_ITER


def test_limits():
    X, y = noisy(n=60, d=5)
    end, _, ledger = solve(X, problems_of(y, 1.0, 1.0), max_iter=3)
    assert end.status is Status.MAX_ITER
    assert ledger.rounds == end.n_iter == 3
    assert solve(X, problems_of(y, 1.0, 1.0), max_time=0.0)[0].status is Status.MAX_TIME


@pytest.mark.parametrize("scale", [1e-200, 1e170])
def test_what_leaves_the_range_of_numbers(scale):
    """A status, and numbers; no warning."""
    X, y = noisy(n=40, d=3)
    end, passes, _ = solve(X * scale, problems_of(y, 1.5, 1.0))
    assert end.status in (Status.STALLED, Status.CONVERGED)
    assert np.isfinite(end.w).all()
    assert np.isfinite(passes.best_alpha(0)).all()


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_it_takes_over_where_coordinates_crawl(p):
    """Of more columns than a Newton system has; the story is told, and the certificate holds."""
    rng = np.random.default_rng(1)
    n, d = 1600, 1020
    X = sp.random(n, d, density=0.01, format="csr", random_state=1)
    X.data = 30.0 * rng.normal(size=X.data.size)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    model = LinearPSVC(p=p, C=1000.0).fit(X, y)
    told = [record["solver"] for record in model.history_[0] if "why" in record]
    assert told == ["coordinate_descent", "interior_point"]
    assert model.status_ == [Status.CONVERGED]
    assert model.dual_gap_[0] <= model.tol
