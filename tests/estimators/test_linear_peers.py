"""LinearPSVC equals LIBLINEAR where that can be right, and PSVC with a linear kernel everywhere."""

import numpy as np
import pytest
import scipy.sparse as sp
from estimators import each_solver
from linear_referee import primal_of, weights_of
from sklearn.svm import SVC, LinearSVC
from small_data import blobs, noisy, real, thin

from psvm import PSVC, LinearPSVC

TIGHT = 1e-11


def liblinear(X, y, loss, C, dual, sample_weight=None):
    """LinearSVC without intercept (it would penalise it), to its last digits."""
    model = LinearSVC(
        loss=loss, C=C, dual=dual, fit_intercept=False, tol=1e-10, max_iter=200_000, random_state=0
    )
    return model.fit(X, y, sample_weight=sample_weight)


@each_solver
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("dual", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_squared_hinge_of_liblinear(C, dual, weighted, sparse, solver):
    """p = 2 without intercept: coefficients and objective agree to 1e-6."""
    X, y = noisy(n=300, d=8, seed=1, shift=0.3)
    X = sp.csr_matrix(X * (np.abs(X) > 0.7)) if sparse else X
    weights = np.random.default_rng(0).exponential(size=300) if weighted else None
    theirs = liblinear(X, y, "squared_hinge", C, dual, weights)
    ours = LinearPSVC(p=2, C=C, fit_intercept=False, solver=solver, tol=1e-12)
    ours.fit(X, y, sample_weight=weights)
    assert ours.intercept_.tolist() == [0.0]
    size = np.abs(theirs.coef_).max()
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-6 * size)
    cost = np.full(300, C) if weights is None else C * weights
    one, two = (primal_of(X, model.coef_[0], 0.0, y, cost, 2) for model in (ours, theirs))
    assert one == pytest.approx(two, rel=1e-9)


@each_solver
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_hinge_of_liblinear(C, weighted, solver):
    """p = 1 without intercept: the objectives agree to 1e-6, the weights almost."""
    X, y = noisy(n=300, d=8, seed=2, shift=0.3)
    weights = np.random.default_rng(0).exponential(size=300) if weighted else None
    theirs = liblinear(X, y, "hinge", C, True, weights)
    ours = LinearPSVC(p=1, C=C, fit_intercept=False, solver=solver, tol=1e-9)
    ours.fit(X, y, sample_weight=weights)
    cost = np.full(300, C) if weights is None else C * weights
    one, two = (primal_of(X, model.coef_[0], 0.0, y, cost, 1) for model in (ours, theirs))
    assert one == pytest.approx(two, rel=1e-6)
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-3)


@each_solver
def test_one_vs_rest_of_liblinear(solver):
    """Three classes: rows of coef_ in the order of the classes, and the same decision values."""
    X, y = blobs(n=150, classes=3, d=5)
    theirs = liblinear(X, y, "squared_hinge", 1.0, False)
    ours = LinearPSVC(p=2, fit_intercept=False, multi_class="ovr", solver=solver, tol=1e-12)
    ours.fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-6 * np.abs(theirs.coef_).max())
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-5)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("dual", [True, False])
def test_squared_hinge_of_liblinear_on_text(dual):
    """Wide sparse counts, where coordinate descent is chosen."""
    X, y = real("cnae9", n=180)
    theirs = liblinear(X, y, "squared_hinge", 1.0, dual)
    ours = LinearPSVC(p=2, fit_intercept=False, tol=1e-12).fit(X, y)
    assert ours.history_[0][0]["solver"] == "coordinate_descent"
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-6 * np.abs(theirs.coef_).max())


@each_solver
@pytest.mark.parametrize("classes", [2, 4])
def test_hinge_of_libsvm(classes, solver):
    """p = 1 with a free intercept: SVC's linear kernel, one-vs-one, with its signs and order."""
    X, y = blobs(n=120, classes=classes, spread=1.6)
    theirs = SVC(kernel="linear", tol=1e-9).fit(X, y)
    ours = LinearPSVC(p=1, multi_class="ovo", solver=solver, tol=1e-10).fit(X, y)
    coef, intercept = weights_of(ours)
    assert coef.shape == theirs.coef_.shape
    assert coef == pytest.approx(theirs.coef_, abs=1e-4)
    assert intercept == pytest.approx(theirs.intercept_, abs=1e-3)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-3)


DATA = {
    "binary": lambda: noisy(n=200, d=6, seed=7),
    "offset": lambda: noisy(n=200, d=6, seed=8, shift=20.0),
    "classes": lambda: blobs(n=160, classes=4, d=5),
    "sparse": thin,
    "wide": lambda: noisy(n=40, d=120, seed=9),
}


@each_solver
@pytest.mark.parametrize("p", [1, 1.05, 1.5, 2, 3, 10])
@pytest.mark.parametrize(
    ("name", "multi_class"), [*((name, "ovo") for name in DATA), ("classes", "ovr")]
)
def test_the_linear_kernel(name, p, multi_class, solver):
    """PSVC(kernel="linear") and LinearPSVC agree: objectives, weights, decision values."""
    X, y = DATA[name]()
    X = sp.csr_matrix(X) if name == "sparse" else X
    tol = 1e-10
    kernel = PSVC(p=p, kernel="linear", multi_class=multi_class, tol=tol).fit(X, y)
    linear = LinearPSVC(p=p, multi_class=multi_class, solver=solver, tol=tol).fit(X, y)
    assert linear.classes_.tolist() == kernel.classes_.tolist()
    coef, _ = weights_of(linear)
    assert coef.shape == kernel.coef_.shape
    assert linear.primal_objective_ == pytest.approx(kernel.primal_objective_, rel=5 * tol)
    size = np.abs(kernel.coef_).max()
    # ||w - w*||^2 / 2 <= P - P*: the weights are as near as the root of the tolerance.
    bound = 4 * np.sqrt(2 * tol * kernel.primal_objective_.max())
    assert coef == pytest.approx(kernel.coef_, abs=bound + 1e-7 * size)
    if p > 1:  # at p = 1 the best intercept may be any of an interval
        expected = kernel.decision_function(X)
        assert linear.decision_function(X) == pytest.approx(expected, abs=2e-3)
    assert np.mean(linear.predict(X) == kernel.predict(X)) > 0.98


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_the_linear_kernel_at_the_default_tol(p):
    """Objectives within tol of each other on a problem of several thousand rows."""
    X, y = noisy(n=4000, d=10, seed=3, noise=2.0)
    kernel = PSVC(p=p, kernel="linear", C=3.0).fit(X, y)
    linear = LinearPSVC(p=p, C=3.0).fit(X, y)
    assert linear.primal_objective_ == pytest.approx(kernel.primal_objective_, rel=1e-4)
    assert np.mean(linear.predict(X) == kernel.predict(X)) > 0.99


@each_solver
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("p", [1.05, 1.5, 2, 3])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_each_row_of_coef_is_a_fit_of_its_own(multi_class, p, sparse, solver):
    """A multiclass fit solves exactly the binary problems that can be fitted one by one."""
    X, y = blobs(n=100, classes=4, d=6)
    X = sp.csr_matrix(X * (np.abs(X) > 0.5)) if sparse else X
    weights = np.random.default_rng(0).exponential(size=100)
    parameters = {"p": p, "solver": solver, "tol": TIGHT}
    model = LinearPSVC(multi_class=multi_class, **parameters).fit(X, y, sample_weight=weights)
    if multi_class == "ovo":
        parts = [(np.isin(y, (i, j)), i) for i in range(4) for j in range(i + 1, 4)]
    else:
        parts = [(np.ones(100, dtype=bool), i) for i in range(4)]
    coef, intercept = weights_of(model)
    for number, (rows, first) in enumerate(parts):
        alone = LinearPSVC(**parameters).fit(X[rows], y[rows] == first, weights[rows])
        assert coef[number] == pytest.approx(alone.coef_[0], abs=2e-6)
        assert intercept[number] == pytest.approx(alone.intercept_[0], abs=1e-4)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_decision_function_of_the_public_attributes(classes, multi_class):
    """Weights and intercepts give the decision: itself, or one vote per pair and tie-breaks."""
    X, y = blobs(n=90, classes=classes, spread=2.5)
    model = LinearPSVC(multi_class=multi_class).fit(X, y)
    new = np.random.default_rng(0).normal(size=(200, 3)) * 4
    coef, intercept = weights_of(model)
    raw = new @ coef.T + intercept
    values = model.decision_function(new)
    if classes == 2:
        assert values == pytest.approx(raw[:, 0])
        assert np.array_equal(model.predict(new), (values > 0).astype(int))
        return
    assert values.shape == (200, classes)
    assert np.array_equal(model.predict(new), values.argmax(axis=1))
    if multi_class == "ovr":
        assert values == pytest.approx(raw)
        return
    votes = np.zeros((200, classes))
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    for number, (i, j) in enumerate(pairs):
        votes[np.arange(200), np.where(raw[:, number] < 0, j, i)] += 1
    assert np.array_equal(np.round(values), votes)
    assert np.abs(values - votes).max() < 0.5
