"""Which solver runs, what it says about itself, and how it goes on from an old solution."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp
from estimators import SOLVERS, each_solver
from linear_referee import weights_of
from sklearn.exceptions import ConvergenceWarning
from small_data import blobs, noisy

from psvm import LinearPSVC
from psvm.rows.dense_or_sparse import commonest_values
from psvm.solvers.ledger import Status
from psvm.solvers.linear.choose import choose_solver
from psvm.solvers.linear.summary import RowSummary


def text(n=200, d=800, seed=0):
    """Sparse counts with a rule in them."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density=0.02, format="csr", random_state=seed)
    y = np.where(X @ rng.normal(size=d) + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def check_story(records):
    """The first record says why its solver runs; so does the first one after a change, no other."""
    for before, record in zip([{}, *records], records, strict=False):
        assert ("why" in record) == (record["solver"] != before.get("solver"))
    assert all(isinstance(record.get("why", ""), str) for record in records)
    order = [record["solver"] for record in records if "why" in record]
    assert order in (["semismooth_newton"], ["coordinate_descent"], list(reversed(SOLVERS)))


@each_solver
def test_a_solver_by_name_is_the_solver_that_runs(solver):
    """Dense or sparse, narrow or wide, any p: what was asked for is what history_ reports."""
    for X, y in (noisy(n=80, d=4), noisy(n=30, d=60), text()):
        for p in (1, 1.5, 2, 3):
            model = LinearPSVC(p=p, solver=solver).fit(X, y)
            assert model.history_[0][0]["solver"] == solver
            assert model.status_ == [Status.CONVERGED]
            check_story(model.history_[0])


@pytest.mark.parametrize(
    ("shape", "p", "expected"),
    [
        ("tall", 1, "semismooth_newton"),
        ("tall", 1.5, "semismooth_newton"),
        ("tall", 3, "semismooth_newton"),
        ("tall sparse", 1, "semismooth_newton"),
        ("text", 1, "coordinate_descent"),
        ("text", 1.5, "coordinate_descent"),
        ("text", 2, "coordinate_descent"),
    ],
)
def test_auto_goes_by_the_shape(shape, p, expected):
    """Newton for tall data, coordinate descent where factoring d x d would cost more."""
    X, y = {
        "tall": lambda: noisy(n=400, d=10),
        "tall sparse": lambda: (sp.csr_matrix(noisy(n=400, d=10)[0]), noisy(n=400, d=10)[1]),
        "text": text,
    }[shape]()
    assert LinearPSVC(p=p).fit(X, y).history_[0][0]["solver"] == expected


@pytest.mark.parametrize("d", [5, 150])
def test_many_features_are_descended_first(d):
    """Where a Newton step costs as much as many passes; and Newton ends what takes too long."""
    X, y = blobs(n=900, d=d, classes=3)
    for C in (1e-4, 1e4):
        records = LinearPSVC(p=1, C=C).fit(X, y).history_[0]
        assert (records[0]["solver"] == "coordinate_descent") == (d == 150)


@pytest.mark.parametrize("shape", ["text", "tall", "pairs", "wide"])
def test_choice_for_the_loop(shape):
    """By shape alone, for starts that are warm and rows that are many."""
    n, d, entries, signs = {
        "text": (2000, 20_000, 50.0, [[-1, 1]]),
        "tall": (20_000, 30, 30.0, [[-1, 1]]),
        "pairs": (1000, 30, 30.0, [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]]),
        "wide": (30_000, 1500, 1500.0, [[-1, 1]]),
    }[shape]
    summary = RowSummary(n, d, True, entries, None, 1.0)
    name, why = choose_solver(summary, np.array(signs, dtype=np.int8))
    many = shape in ("tall", "wide")
    assert name == ("semismooth_newton" if many else "coordinate_descent")
    assert ("pairs" in why) == (shape == "pairs")
    for hard in (True, False):  # at p = 1 Newton by conjugate gradients would crawl
        at_1, _ = choose_solver(
            summary, np.array(signs, dtype=np.int8), hard_margin=hard, kinked=True
        )
        assert at_1 == ("coordinate_descent" if shape == "wide" and not hard else name)


def test_why():
    """The first record of every problem tells in a sentence why this solver; no other does."""
    reasons = []
    for X, y in (noisy(n=400, d=10), text(), blobs(n=90, classes=3)):
        for records in LinearPSVC().fit(X, y).history_:
            reasons.append(records[0]["why"])
            check_story(records)
    assert all(isinstance(why, str) and len(why.split()) >= 3 for why in reasons)
    assert reasons[0] != reasons[1], "different shapes, different reasons"
    asked = LinearPSVC(solver="coordinate_descent").fit(*noisy(n=400, d=10)).history_[0][0]["why"]
    assert asked not in reasons
    assert "solver" in asked or "asked" in asked


def test_verbose_tells_the_solver_and_why(caplog):
    with caplog.at_level(logging.INFO, logger="psvm"):
        model = LinearPSVC(verbose=1).fit(*text())
    messages = " ".join(record.getMessage() for record in caplog.records)
    assert "coordinate_descent" in messages
    assert model.history_[0][0]["why"] in messages


@pytest.mark.parametrize("p", [1, 1.001, 1.5, 2, 3, 50])
def test_both_solvers_reach_the_same_optimum(p):
    """solver changes the way, not the model."""
    for X, y in (noisy(n=150, d=5), text()):
        newton, descent = (LinearPSVC(p=p, solver=name, tol=1e-8).fit(X, y) for name in SOLVERS)
        assert newton.primal_objective_ == pytest.approx(descent.primal_objective_, rel=2e-8)
        assert newton.history_[0] != descent.history_[0]


def path_of(solver, name, values, data, warm_start, **parameters):
    """Iterations and objectives of fits along a path of one parameter."""
    model = LinearPSVC(solver=solver, warm_start=warm_start, tol=1e-6, **parameters)
    iterations, objectives = [], []
    for value in values:
        model.set_params(**{name: value}).fit(*data)
        assert model.status_ == [Status.CONVERGED] * len(model.status_)
        iterations.append(int(np.sum(model.n_iter_)))
        objectives.append(model.primal_objective_)
    return iterations, np.array(objectives)


@each_solver
@pytest.mark.parametrize(
    ("name", "values", "other"),
    [
        ("C", np.geomspace(0.5, 2.0, 6), {"p": 1}),
        ("C", np.geomspace(0.5, 2.0, 6), {"p": 1.5}),
        ("C", np.geomspace(0.5, 2.0, 6), {"p": 2}),
        ("C", np.geomspace(2.0, 0.5, 6), {"p": 3}),
        ("p", np.linspace(1.5, 2.0, 6), {}),
        ("p", np.linspace(2.0, 1.0, 6), {}),
        ("p", np.linspace(1.0, 1.5, 6), {}),
    ],
)
def test_warm_start_along_a_path(name, values, other, solver):
    """No more iterations than from scratch, and the same optima."""
    data = noisy(n=1500, d=8, seed=2, noise=2.0)
    cold, expected = path_of(solver, name, values, data, False, **other)
    warm, found = path_of(solver, name, values, data, True, **other)
    assert warm[0] == cold[0]
    assert sum(warm[1:]) <= sum(cold[1:])
    assert found == pytest.approx(expected, rel=2e-6)


@each_solver
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_warm_start_of_the_same_problem(multi_class, solver):
    """Nothing changed: a repeated fit is over almost at once."""
    X, y = blobs(n=400, classes=4, d=6)
    model = LinearPSVC(warm_start=True, solver=solver, multi_class=multi_class, tol=1e-6)
    first = model.fit(X, y).n_iter_.sum()
    objective = model.primal_objective_
    again = model.fit(X, y).n_iter_
    assert again.sum() <= max(0.5 * first, again.size)
    assert model.primal_objective_ == pytest.approx(objective, rel=2e-6)


@pytest.mark.parametrize("first", SOLVERS)
def test_warm_start_across_solvers(first):
    """One solver goes on where the other ended."""
    X, y = noisy(n=800, d=6, seed=5)
    second = next(name for name in SOLVERS if name != first)
    model = LinearPSVC(warm_start=True, solver=first, tol=1e-7).fit(X, y)
    cold = LinearPSVC(solver=second, tol=1e-7).fit(X, y)
    model.set_params(solver=second).fit(X, y)
    assert model.n_iter_[0] < cold.n_iter_[0]
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=1e-6)


@each_solver
def test_warm_start_with_more_rows(solver):
    """New rows of the same features: w and b are still a good start."""
    X, y = noisy(n=3000, d=6, seed=6)
    model = LinearPSVC(warm_start=True, solver=solver, tol=1e-6).fit(X[:2000], y[:2000])
    cold = LinearPSVC(solver=solver, tol=1e-6).fit(X, y)
    model.fit(X, y)
    assert model.status_ == [Status.CONVERGED]
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-6)


@each_solver
@pytest.mark.parametrize("change", [{"fit_intercept": False}, {"class_weight": "balanced"}])
def test_warm_start_after_another_change(change, solver):
    """Whatever changed, the optimum is that of the new problem."""
    X, y = noisy(n=300, d=5, seed=4, shift=1.0)
    model = LinearPSVC(warm_start=True, solver=solver, tol=1e-8).fit(X, y)
    model.set_params(**change).fit(X, y)
    cold = LinearPSVC(solver=solver, tol=1e-8, **change).fit(X, y)
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-8)
    if "fit_intercept" in change:
        assert model.intercept_.tolist() == [0.0]


@each_solver
def test_warm_start_from_an_unfinished_fit(solver):
    """A budget that ran out is no loss: the next fit goes on from there."""
    X, y = noisy(n=3000, d=8, seed=2, noise=2.0)
    model = LinearPSVC(C=100.0, warm_start=True, solver=solver, tol=1e-8, max_iter=3)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        gap = model.fit(X, y).dual_gap_[0]
    cold = LinearPSVC(C=100.0, solver=solver, tol=1e-8).fit(X, y)
    model.set_params(max_iter=-1).fit(X, y)
    assert model.history_[0][0]["gap"] <= 1.01 * gap
    assert model.n_iter_[0] <= cold.n_iter_[0]
    assert model.dual_gap_[0] <= 1e-8


@each_solver
@pytest.mark.parametrize(("multi_class", "problems"), [("ovo", 6), ("ovr", 4)])
def test_a_budget_of_iterations_for_every_problem(multi_class, problems, solver):
    """max_iter holds for each binary problem; the warning counts the unfinished ones."""
    X, y = blobs(n=900, classes=4, d=6, spread=3.0)
    model = LinearPSVC(C=100.0, tol=1e-12, max_iter=1, multi_class=multi_class, solver=solver)
    with pytest.warns(ConvergenceWarning, match=rf"{problems} of {problems}"):
        model.fit(X, y)
    assert np.all(model.n_iter_ <= 1)
    assert set(model.status_) == {Status.MAX_ITER}
    assert np.all(np.isfinite(weights_of(model)[0]))


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
@each_solver
def test_primal_never_rises_among_the_records(p, solver):
    """The best P and D so far are what a record tells; both approach the optimum."""
    X, y = noisy(n=2000, d=8, seed=2, noise=2.0)
    model = LinearPSVC(p=p, C=10.0, tol=1e-8, solver=solver).fit(X, y)
    records = model.history_[0]
    last = records[-1]
    assert last["primal"] == pytest.approx(model.primal_objective_[0], rel=1e-12)
    assert last["dual"] == pytest.approx(model.dual_objective_[0], rel=1e-9)
    for record in records:
        assert record["primal"] >= last["primal"] * (1 - 1e-8)
        assert record["dual"] <= last["primal"] * (1 + 1e-12)
        gap = (record["primal"] - record["dual"]) / record["primal"]
        assert record["gap"] == pytest.approx(gap, rel=1e-3, abs=1e-9)
    assert {"iteration", "seconds", "gap", "primal", "dual", "changed", "solver"} <= set(last)


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_scaled_one_hot_columns_are_moved(p):
    """The model of the table as it is: its own intercept, certified over its own rows."""
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(30)[rng.integers(0, 30, 2500)] for _ in range(3)])
    y = np.where(X @ rng.normal(size=90) + 0.5 * rng.normal(size=2500) > 0, 1.0, -1.0)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert commonest_values(scaled) is not None
    moved = LinearPSVC(p=p, tol=1e-7).fit(scaled, y)
    plain = LinearPSVC(p=p, tol=1e-7).fit(sp.csr_matrix(scaled), y)
    assert moved.dual_gap_[0] <= 1e-7
    assert moved.primal_objective_ == pytest.approx(plain.primal_objective_, rel=2e-7)
    slack = np.maximum(0.0, 1.0 - y * moved.decision_function(scaled))
    primal = 0.5 * np.sum(moved.coef_**2) + np.sum(slack**p)
    assert moved.primal_objective_[0] == pytest.approx(primal, rel=1e-9)
    again = LinearPSVC(p=p, tol=1e-7, warm_start=True).fit(scaled, y).fit(scaled, y)
    assert np.sum(again.n_iter_) <= np.sum(moved.n_iter_)
    through = LinearPSVC(p=p, tol=1e-7, fit_intercept=False).fit(scaled, y)
    assert through.intercept_ == [0.0]
    assert through.dual_gap_[0] <= 1e-7
