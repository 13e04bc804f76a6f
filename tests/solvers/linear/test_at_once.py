"""All problems in one call: the optimum, the certificate and the story are those of the loop.

tests: linear/at_once.hpp
tests: linear/newton.hpp
tests: linear/pair_certificate.hpp
"""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from linear_referee import check_solutions, weights_of
from small_data import blobs, noisy

from psvm import LinearPSVC, _core
from psvm.estimators.watch import listening
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems
from psvm.mathematics.rounding import power_error
from psvm.rows.blocks import split_rows
from psvm.solvers.ledger import Status
from psvm.solvers.linear.at_once import worth_solving_at_once

POWERS = (1, 1.3, 1.5, 2, 3)


@pytest.fixture
def calls(monkeypatch):
    """Arguments of the calls of C++."""
    found = []
    real = _core.solve_at_once

    def spy(*arguments):
        found.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(_core, "solve_at_once", spy)
    return found


@pytest.mark.parametrize("n", [60, 700])
@pytest.mark.parametrize("p", POWERS)
def test_the_optimum_is_that_of_the_oracle(n, p, heard, calls):
    """Dense, sparse and single precision, with weights (some 0) and without an intercept."""
    X, y = noisy(n=n, d=5, seed=1)
    weight = np.random.default_rng(2).integers(0, 3, size=n).astype(float)
    for rows in (X, sp.csr_matrix(X * (np.abs(X) > 0.5)), X.astype(np.float32)):
        for intercept in (True, False):
            model = LinearPSVC(p, C=0.7, fit_intercept=intercept).fit(rows, y, weight)
            check_solutions(model, heard)
            kept = weight > 0
            dense = rows.toarray() if sp.issparse(rows) else rows.astype(float)
            best = oracle.solve_linear(dense[kept], y[kept], 0.7 * weight[kept], p, intercept)
            tol = 1e-7 if n <= 500 else 1.1e-4
            assert model.primal_objective_[0] <= best.upper * (1 + tol)
    assert len(calls) == 6


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("p", POWERS)
def test_many_classes_are_one_call(p, multi_class, heard, calls):
    """Every problem of many, on one thread and on two, is the problem of its rows alone."""
    X, y = blobs(n=700, d=30, classes=6, seed=3)
    one, two = (LinearPSVC(p, multi_class=multi_class, n_jobs=k).fit(X, y) for k in (1, 2))
    check_solutions(two, heard)
    assert len(calls) == 2
    np.testing.assert_array_equal(weights_of(one)[0], weights_of(two)[0])
    assert one.n_support_.tolist() == two.n_support_.tolist()
    reached = np.any([s.alpha > 0 for s in heard.solutions], axis=0)
    assert one.n_support_.tolist() == [int(np.sum(reached & (y == c))) for c in one.classes_]
    loop = LinearPSVC(p, multi_class=multi_class, solver="semismooth_newton").fit(X, y)
    assert one.primal_objective_ == pytest.approx(loop.primal_objective_, rel=2e-4)


@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize("n", [150, 600])
def test_separable_classes_at_a_large_cost(n, p, heard, calls):
    """Where Newton proves nothing at first it goes by lower costs, in tens of steps."""
    X, y = blobs(n=n, d=40, classes=2, seed=4)
    model = LinearPSVC(p, C=1e4).fit(X, y)
    check_solutions(model, heard)
    assert model.n_iter_[0] < 200
    steps = [r["iteration"] for r in model.history_[0] if r["solver"] == "semismooth_newton"]
    for limit in range(1, steps[-1], 7):  # stopped on the way, it still is what it claims
        with pytest.warns(match="max_iter"):
            short = LinearPSVC(p, C=1e4, max_iter=limit).fit(X, y)
        assert short.n_iter_[0] <= limit
        assert short.status_ == [Status.MAX_ITER]
        check_solutions(short, heard, tol=1.0)


def test_a_listener_stops_one_problem(calls):
    """It hears every record of every problem, and nothing changes but what it stops."""
    X, y = blobs(n=700, d=30, classes=4, seed=5)
    heard = []
    with listening(heard.append):
        model = LinearPSVC(1.5, n_jobs=2).fit(X, y)
    for t, history in enumerate(model.history_):
        assert [one.record for one in heard if one.problem == t] == history
    np.testing.assert_array_equal(model.coef_, LinearPSVC(1.5).fit(X, y).coef_)

    def fails(_):
        raise RuntimeError("enough")

    with listening(fails), pytest.raises(RuntimeError, match="enough"):
        LinearPSVC(1.5, n_jobs=2).fit(X, y)
    assert len(calls) == 3


@pytest.mark.parametrize("p", [1, 2])
def test_what_is_left_to_the_loop(p, calls):
    """Hard margins, files, warm starts and solvers asked for by name."""
    X, y = blobs(n=100, d=60, classes=2, seed=6)
    LinearPSVC(p, C=np.inf).fit(X, y)
    LinearPSVC(p).fit_blocks([(X, y)])
    LinearPSVC(p, solver="semismooth_newton").fit(X, y)
    assert not calls
    LinearPSVC(p, warm_start=True).fit(X, y).fit(X, y)
    assert len(calls) == 1


@pytest.mark.parametrize(("p", "problems", "by_loop"), [(2.0, 1, 0), (1.0, 1, 1), (2.0, 3, 1)])
def test_which_problems_of_many_rows_are_left_to_the_loop(p, problems, by_loop):
    """By rows per feature, and entries: several, and those that are sifted."""

    def worth(n, d, blocks=1):
        all_of_them = LinearProblems(
            signs=np.tile(np.array([-1, 1], dtype=np.int8), (problems, 1)),
            codes=np.zeros(n, dtype=np.int32),
            cost=np.ones(n),
            loss=PNormHinge(p),
        )
        rows = split_rows(np.zeros((n, d)), -(-n // blocks))
        return worth_solving_at_once(rows, all_of_them)

    assert worth(20_000, 3)
    assert worth(20_000, 60)
    assert worth(200_000, 3) == (not by_loop)
    assert not worth(500, 1100)
    assert not worth(2000, 3, blocks=2)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_many_rows_begin_at_the_solution_of_a_sample(p, sparse, heard, calls):
    """Of which nobody is told; the optimum is that of the loop, and a step or two away."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60_000, 10)) * (rng.random((60_000, 10)) < (0.35 if sparse else 1.0))
    y = X @ rng.normal(size=10) + rng.normal(size=60_000) > 0.3
    rows = sp.csr_matrix(X) if sparse else X
    entries = rows.nnz if sparse else rows.size
    rows, y = (rows, y) if entries >= 5e5 else (sp.vstack([rows] * 3, "csr"), np.tile(y, 3))
    model = LinearPSVC(p, C=0.5).fit(rows, y)
    check_solutions(model, heard)
    sample, whole = calls
    assert sample[1].size < whole[1].size / 5
    assert sample[-1] is None
    assert whole[-1] is not None
    assert len(model.history_[0]) <= 5
    assert model.dual_gap_[0] <= 1e-4
    assert "why" in model.history_[0][0]
    loop = LinearPSVC(p, C=0.5, solver="semismooth_newton").fit(rows, y)
    assert len(calls) == 2
    assert model.primal_objective_[0] == pytest.approx(loop.primal_objective_[0], rel=1e-4)
    np.testing.assert_allclose(model.coef_, loop.coef_, atol=1e-2 * np.abs(loop.coef_).max())


def test_a_start_is_for_one_problem():
    X, y = noisy(n=60, d=5, seed=1)
    rows = _core.BlockRows.dense(X)
    for signs, size in ((np.array([[-1, 1]], np.int8), 4), (np.ones((2, 2), np.int8), 5)):
        with pytest.raises(ValueError, match="a start is for one problem"):
            _core.solve_at_once(
                *(rows, (y > 0).astype(np.int32), np.ones(60), signs, None, None, 2.0, True),
                *(False, power_error(2.0), _core.Budget(tol=1e-4), ("", "", ""), None, 1),
                _core.NewtonStart(np.zeros(size), 0.0, 0.0),
            )


def exact(w, image, values):
    """P - D and P of the sums, in extended precision."""
    w, image = np.asarray(w, np.longdouble), np.asarray(image, np.longdouble)
    off = w - image
    return 0.5 * off @ off + values["terms"], 0.5 * w @ w + values["loss"]


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("p", [1.0, 1.5, 1.7])
def test_the_certificate_of_sums(p, hard):
    """The gap as computed is that of the sums; the proved one is larger, and 1 where lost."""
    rng = np.random.default_rng(7)
    values = {
        "loss": 0.0 if hard else 3.0,
        "terms": 1e-5,
        "conjugate": 0.0 if p == 1.0 or hard else 1.0,
        "rounding": 1e-14,
        "alpha_minus": 2.0,
        "alpha_plus": 2.0,
        "reach": 8.0,
        "pull": 5.0,
        "margin_error": 1e-15,
        "smallest_margin": 1.0,
    }
    w = rng.normal(size=6)
    image = w + 1e-4 * rng.normal(size=6)

    def certify(**changed):
        sums = values | changed
        power = power_error(1.0 if hard else p)
        return _core.certify_pair(w, image, sums, 50, True, hard, power), sums

    (primal, dual, measured, gap, stretch), sums = certify()
    difference, whole = exact(w, image, sums)
    assert measured == pytest.approx(float(difference / whole), rel=1e-12)
    assert measured < gap < measured + 1e-10
    assert primal - dual == pytest.approx(float(difference), rel=1e-6)
    assert (stretch > 1.0) == hard
    assert certify(alpha_plus=4.0)[0][3] == 1.0, "an imbalance beyond repair"
    assert certify(rounding=1e-3)[0][3] > gap + 1e-4
    assert certify(terms=np.nan)[0][3] == np.inf
    assert certify(terms=-1.0)[0][3] == np.inf
    if hard:
        assert certify(smallest_margin=0.9)[0][3] == np.inf
        assert certify(margin_error=0.6)[0][3] == 1.0


@pytest.mark.parametrize(("n", "d", "seed"), [(600, 250, 0), (1000, 250, 2), (1500, 400, 3)])
def test_newton_goes_on_where_coordinates_have_ended(n, d, seed):
    """Separable classes: the rows with alpha > 0 are known, and not found again one by one."""
    rng = np.random.default_rng(seed)
    X = (rng.integers(0, 256, (n, d)) * (rng.random((n, d)) < 0.2)).astype(np.float64)
    side = X @ rng.standard_normal(d)
    kept = np.abs(side) > np.quantile(np.abs(side), 0.3)
    model = LinearPSVC(p=2.0, n_jobs=1).fit(X[kept], side[kept] > 0.0)
    solvers = [record["solver"] for record in model.history_[0]]
    assert solvers[0] == "coordinate_descent"
    assert 0 < solvers.count("semismooth_newton") < 30  # from the best point 140 to 220
    assert model.dual_gap_[0] <= model.tol
