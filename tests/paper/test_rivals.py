"""The rivals of Table 2: gradients, optima by CVXPY, known answers, scikit-learn's checks."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from psvm import PSVC
from psvm.paper.rivals import (
    M3SVM,
    METHODS,
    MSVM,
    CappedSVM,
    SparseMultinomialLR,
    TopKSVM,
    grid,
    make_rival,
)
from psvm.paper.rivals.capped import half_squared_weights, hinges, row_norms
from psvm.paper.rivals.joint_hinge import JointHinge, minimise, pairwise_hinge
from psvm.paper.rivals.m3svm import powers_of_distances
from psvm.paper.rivals.msvm import squared_differences
from psvm.paper.rivals.smlr import log_loss
from psvm.paper.rivals.topk import half_squared_norm, shares_of_largest, top_k_hinge

OWN = [MSVM(), TopKSVM(), M3SVM(), CappedSVM(), SparseMultinomialLR()]
TIGHT = 1e-5


def three_classes(n=30, d=3, seed=0):
    """Three overlapping clouds: every loss stays positive at the optimum."""
    random = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    X = random.normal(size=(n, d))
    X[np.arange(n), codes] += 1.5
    return X, codes


def two_classes(n=40, seed=1):
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return random.normal(size=(n, 3)) + y[:, None], y


def weights_of(model):
    """V = (W; b), one column per class."""
    return np.vstack([model.coef_.T, model.intercept_])


# --- the formulas, by CVXPY ----------------------------------------------------------------------


def slacks(scores, codes, n_classes=3):
    """1 - (s_y - s_k) of every row, one list per row, without the own class."""
    return [
        [1 - scores[i, y] + scores[i, k] for k in range(n_classes) if k != y]
        for i, y in enumerate(codes)
    ]


def optimum(penalty, loss, C, X, codes):
    """Minimum of penalty(W, b) + C loss(scores, codes) over W (d x 3) and b."""
    W, b = cp.Variable((X.shape[1], 3)), cp.Variable((1, 3))
    scores = X @ W + np.ones((len(X), 1)) @ b
    problem = cp.Problem(cp.Minimize(penalty(W, b) + C * loss(scores, codes)))
    problem.solve(solver="CLARABEL")
    return problem.value


def pairwise(scores, codes):
    return cp.sum(cp.pos(cp.hstack([t for row in slacks(scores, codes) for t in row])))


def top(k, scores, codes):
    rows = slacks(scores, codes)
    return cp.sum(
        cp.hstack([cp.pos(cp.sum_largest(cp.hstack([*row, 0.0]), k) / k) for row in rows])
    )


def rest_norms(p, scores, codes):
    signs = np.where(np.arange(3) == codes[:, None], 1.0, -1.0)
    hinge = cp.pos(1 - cp.multiply(signs, scores))
    return cp.sum(cp.hstack([cp.norm(hinge[i]) ** p for i in range(len(codes))]))


def logistic(scores, codes):
    own = cp.sum(cp.multiply(np.eye(3)[codes], scores))
    return cp.sum(cp.log_sum_exp(scores, axis=1)) - own


def pairs(power, W, b):
    return sum(cp.norm(W[:, k] - W[:, m]) ** power for k, m in ((0, 1), (0, 2), (1, 2)))


def bredensteiner_bennett(W, b):
    return 0.5 * (pairs(2, W, b) + cp.sum_squares(W))


def all_squares(W, b):
    return 0.5 * (cp.sum_squares(W) + cp.sum_squares(b))


def squares(W, b):
    return 0.5 * cp.sum_squares(W)


def one_norm(W, b):
    return cp.sum(cp.abs(W))


def value(penalty, loss, C, model, X, codes):
    """The same expression at the weights of a fitted model."""
    W, b = model.coef_.T, model.intercept_[None, :]
    scores = X @ W + b
    return (cp.Constant(0.0) + penalty(W, b) + C * loss(cp.Constant(scores), codes)).value


PROBLEMS = {
    "M-SVM": (MSVM(tol=TIGHT), bredensteiner_bennett, pairwise),
    "Top-1": (TopKSVM(k=1, tol=TIGHT), all_squares, partial(top, 1)),
    "Top-2": (TopKSVM(k=2, tol=TIGHT), all_squares, partial(top, 2)),
    "Top-3": (TopKSVM(k=3, tol=TIGHT), all_squares, partial(top, 3)),
    "M3SVM 2": (M3SVM(power=2, tol=TIGHT), partial(pairs, 2), pairwise),
    "M3SVM 4": (M3SVM(power=4, tol=TIGHT), partial(pairs, 4), pairwise),
    "M3SVM 1.5": (M3SVM(power=1.5, tol=TIGHT), partial(pairs, 1.5), pairwise),
    "uncapped 1": (CappedSVM(p=1, cap=np.inf, tol=TIGHT), squares, partial(rest_norms, 1)),
    "uncapped 1.5": (CappedSVM(p=1.5, cap=np.inf, tol=TIGHT), squares, partial(rest_norms, 1.5)),
    "uncapped 2": (CappedSVM(p=2, cap=np.inf, tol=TIGHT), squares, partial(rest_norms, 2)),
    "SMLR": (SparseMultinomialLR(tol=1e-10), one_norm, logistic),
}


@pytest.mark.parametrize("C", [0.1, 3.0])
@pytest.mark.parametrize("case", PROBLEMS)
def test_reaches_the_optimum_of_its_formula(case, C):
    estimator, penalty, loss = PROBLEMS[case]
    X, codes = three_classes()
    model = clone(estimator).set_params(C=C).fit(X, codes)
    best = optimum(penalty, loss, C, X, codes)
    assert value(penalty, loss, C, model, X, codes) == pytest.approx(best, rel=1e-4)


def test_the_default_tolerance_bounds_the_error_of_the_objective():
    X, codes = three_classes(n=60)
    best = optimum(bredensteiner_bennett, pairwise, 1.0, X, codes)
    loose, tight = (MSVM(tol=tol).fit(X, codes) for tol in (3e-2, 1e-4))
    errors = [
        value(bredensteiner_bennett, pairwise, 1.0, model, X, codes) / best - 1
        for model in (loose, tight)
    ]
    assert -1e-6 < errors[1] < errors[0] < 3e-2
    assert errors[1] < 1e-4
    assert loose.n_iter_ < tight.n_iter_


# --- gradients and smoothing ---------------------------------------------------------------------

LOSSES = {
    "pairwise": (pairwise_hinge, 0.5),
    "top 1": (partial(top_k_hinge, k=1), 1.0),
    "top 2": (partial(top_k_hinge, k=2), 0.75),
    "top 3": (partial(top_k_hinge, k=3), 2 / 3),
    "norms 1": (partial(row_norms, p=1.0), 0.5),
    "norms 0.5": (partial(row_norms, p=0.5), 0.75),
    "norms 2": (partial(row_norms, p=2.0), 0.0),
}


def dense(loss, scores, codes, mu):
    """Gradient for all rows from that of the rows with a loss."""
    rows, total, part = loss(scores, codes, mu)
    gradient = np.zeros_like(scores)
    gradient[rows] = part
    return total, gradient


@pytest.mark.parametrize("mu", [0.3, 2.0])
@pytest.mark.parametrize("name", LOSSES)
def test_gradient_of_a_smoothed_loss(name, mu):
    loss = LOSSES[name][0]
    random = np.random.default_rng(2)
    scores, codes = random.normal(size=(20, 3)), np.arange(20) % 3
    gradient = dense(loss, scores, codes, mu)[1]
    numeric = approx_fprime(scores.ravel(), lambda s: loss(s.reshape(20, 3), codes, mu)[1], 1e-6)
    assert gradient.ravel() == pytest.approx(numeric, abs=1e-4)


@pytest.mark.parametrize("name", LOSSES)
def test_smoothing_is_below_the_loss_by_what_the_docstring_says(name):
    loss, share = LOSSES[name]
    random = np.random.default_rng(3)
    scores, codes = random.normal(size=(50, 4)), np.arange(50) % 4
    terms = 3 if name == "pairwise" else 1
    p = 0.5 if name == "norms 0.5" else 1.0
    for mu in (0.01, 0.1, 1.0):
        missing = loss(scores, codes, 0.0)[1] - loss(scores, codes, mu)[1]
        assert -1e-9 <= missing <= 50 * terms * share * mu**p + 1e-9


@pytest.mark.parametrize(
    "penalty",
    [
        squared_differences,
        partial(powers_of_distances, power=4.0),
        partial(powers_of_distances, power=1.5),
        half_squared_norm,
        half_squared_weights,
    ],
)
def test_gradient_of_a_penalty(penalty):
    weights = np.random.default_rng(4).normal(size=(4, 3))
    numeric = approx_fprime(weights.ravel(), lambda v: penalty(v.reshape(4, 3))[0], 1e-7)
    assert penalty(weights)[1].ravel() == pytest.approx(numeric, abs=1e-4)


def test_powers_of_distances_between_equal_weights():
    """Classes that share their weights add nothing, also where the power is below 2."""
    total, gradient = powers_of_distances(np.ones((3, 2)), 1.5)
    assert total == 0
    assert not gradient.any()


def test_gradient_of_the_whole_objective():
    X, codes = three_classes()
    problem = JointHinge(X, codes, 3, 0.7, pairwise_hinge, squared_differences, constant=5.0)
    flat = np.random.default_rng(5).normal(size=12)
    numeric = approx_fprime(flat, lambda v: problem.smoothed(v, 0.5)[0], 1e-7)
    assert problem.smoothed(flat, 0.5)[1] == pytest.approx(numeric, abs=1e-3)
    assert problem.smoothed(np.zeros(12), 0.0)[0] == pytest.approx(5.0 + 0.7 * 2 * len(X))


def test_gradient_of_the_log_loss():
    scores, codes = np.random.default_rng(6).normal(size=(10, 3)), np.arange(10) % 3
    numeric = approx_fprime(scores.ravel(), lambda s: log_loss(s.reshape(10, 3), codes)[0], 1e-7)
    assert log_loss(scores, codes)[1].ravel() == pytest.approx(numeric, abs=1e-5)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("mu", [0.01, 1.0])
def test_shares_are_a_projection(k, mu):
    """Feasible, and no vertex of the feasible set (1/k on k classes) is better to first order."""
    slack = np.random.default_rng(7).normal(size=(200, 5))
    slack[:20] = np.round(slack[:20])  # ties
    shares = shares_of_largest(slack, mu, k)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares.min() >= 0
    assert shares.max() <= 1 / k
    slope = slack - mu * shares
    best_vertex = np.sort(slope, axis=1)[:, 5 - k :].mean(axis=1)
    assert (slope * shares).sum(axis=1) == pytest.approx(best_vertex, abs=1e-9)


def test_top_k_hinge_by_hand():
    """Slacks 1.5 and 0.5 and the own 0: means of the largest 1, 2, 3."""
    scores, codes = np.array([[1.0, 1.5, 0.5]]), np.array([0])
    for k, expected in ((1, 1.5), (2, 1.0), (3, 2 / 3)):
        assert top_k_hinge(scores, codes, 0.0, k)[1] == pytest.approx(expected)
    forgiven = np.array([[1.0, 1.2, -5.0, -5.0]])  # one class confused: the mean of three is < 0
    assert top_k_hinge(forgiven, codes, 0.0, 3)[1] == 0
    assert top_k_hinge(forgiven, codes, 0.0, 1)[1] == pytest.approx(1.2)


# --- known answers -------------------------------------------------------------------------------

# (estimator, C of the binary SVM that it is with two classes)
BINARY = {
    "M-SVM": (MSVM(2.0, tol=1e-7), 2.0 / 1.5),
    "M3SVM": (M3SVM(2.0, power=2, tol=1e-7), 2.0 / 2),
    "capped": (CappedSVM(2.0, p=1, cap=np.inf, tol=1e-7), 2.0),
}


@pytest.mark.parametrize("case", BINARY)
def test_two_classes_are_a_binary_svm(case):
    estimator, C = BINARY[case]
    X, y = two_classes()
    model = clone(estimator).fit(X, y)
    reference = PSVC(p=1, C=C, kernel="linear", tol=1e-9).fit(X, y)
    assert model.coef_ == pytest.approx(reference.coef_, abs=1e-3)
    # The intercept is where the objective may be flat: compare the objective there.
    hinge = [
        np.maximum(0, 1 - (2 * y - 1) * (X @ m.coef_[0] + m.intercept_[0])).sum()
        for m in (model, reference)
    ]
    assert hinge[0] == pytest.approx(hinge[1], rel=1e-3)


def test_squared_hinge_of_two_classes_is_psvc_with_p_2():
    X, y = two_classes()
    model = CappedSVM(p=2, cap=np.inf, tol=1e-8).fit(X, y)
    reference = PSVC(p=2, kernel="linear", tol=1e-10).fit(X, y)
    assert model.coef_ == pytest.approx(reference.coef_, abs=1e-4)
    assert model.intercept_ == pytest.approx(reference.intercept_, abs=1e-4)


def test_top_1_is_crammer_and_singer():
    X, codes = three_classes(n=90)
    model = TopKSVM(C=0.5, k=1, tol=1e-7).fit(X, codes)
    reference = LinearSVC(
        C=0.5, multi_class="crammer_singer", tol=1e-8, max_iter=10**6, random_state=0
    ).fit(X, codes)
    assert weights_of(model) == pytest.approx(weights_of(reference), abs=2e-3)


def test_a_larger_k_forgives_more():
    """The mean of the k largest falls with k, and so does the minimum of the objective."""
    X, codes = three_classes(n=60)
    models = [TopKSVM(k=k, tol=1e-4).fit(X, codes) for k in (1, 2, 3)]
    objectives = [
        value(all_squares, partial(top, k), 1.0, model, X, codes)
        for k, model in zip((1, 2, 3), models, strict=True)
    ]
    assert objectives[0] > 1.1 * objectives[1] > 1.1**2 * objectives[2]


def test_sparse_logistic_regression_is_scikit_learns():
    X, codes = three_classes(n=90, d=6)
    model = SparseMultinomialLR(0.3, tol=1e-12).fit(X, codes)
    reference = LogisticRegression(
        C=0.3, l1_ratio=1, solver="saga", tol=1e-9, max_iter=10**5, random_state=0
    ).fit(X, codes)
    assert model.coef_ == pytest.approx(reference.coef_, abs=1e-3)
    assert np.array_equal(model.coef_ == 0, np.abs(reference.coef_) < 1e-8)
    assert 0 < np.count_nonzero(model.coef_) < model.coef_.size
    assert model.intercept_ - model.intercept_.mean() == pytest.approx(
        reference.intercept_ - reference.intercept_.mean(), abs=1e-3
    )


@pytest.mark.parametrize("power", [2.0, 4.0, 8.0])
def test_triangle_by_hand(power):
    """One row per class at the corners of a triangle, C large: all pairs touch their margins.

    By symmetry w_k = a x_k and b = 0. The margin (w_k - w_l).x_k = 1 of row k and that of row l
    add up to (w_k - w_l).(x_k - x_l) = 2, which is a ||x_k - x_l||^2 = 3 a.
    """
    angles = 2 * np.pi * np.arange(3) / 3
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    for estimator in (M3SVM(1e3, power=power, tol=1e-6), MSVM(1e3, tol=1e-6)):
        model = estimator.fit(X, ["a", "b", "c"])
        assert model.coef_ == pytest.approx(2 / 3 * X, abs=1e-3)
        assert model.intercept_ == pytest.approx(np.zeros(3), abs=1e-3)


def test_points_on_a_line_by_hand():
    """Rows at -1, 0, 3: the margins 2 / |w_k - w_l| of neighbours are the gaps 1 and 3.

    Boundaries lie halfway.
    """
    X = np.array([[-1.0], [0.0], [3.0]])
    model = M3SVM(100, power=2, tol=1e-7).fit(X, [0, 1, 2])
    w = model.coef_[:, 0]
    assert np.diff(w) == pytest.approx([2 / 1, 2 / 3], abs=1e-3)
    crossing = -np.diff(model.intercept_) / np.diff(w)
    assert crossing == pytest.approx([-0.5, 1.5], abs=1e-3)


def test_a_larger_power_widens_the_smallest_margin():
    X, codes = three_classes(n=60, seed=8)
    X[codes == 2] += 3  # far from the others, which overlap
    ratios = []
    for power in (2.0, 8.0):
        W = M3SVM(1.0, power=power, tol=1e-4).fit(X, codes).coef_
        distances = [np.linalg.norm(W[k] - W[m]) for k, m in ((0, 1), (0, 2), (1, 2))]
        ratios.append(max(distances) / min(distances))
    assert ratios[1] < ratios[0]


def test_weights_sum_to_zero():
    X, codes = three_classes()
    for estimator in (MSVM(), M3SVM()):
        model = estimator.fit(X, codes)
        assert model.coef_.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-8)
        assert model.intercept_.sum() == pytest.approx(0, abs=1e-8)


def test_the_cap_ignores_a_gross_outlier():
    """The fit is that of the data without it; without the cap it is not."""
    X, codes = three_classes(n=60, seed=9)
    spoilt = np.vstack([X, [[-8.0, 8.0, 0.0]]])
    labels = np.append(codes, 0)
    clean = CappedSVM(0.1, tol=1e-6).fit(X, codes)
    capped = CappedSVM(0.1, tol=1e-6).fit(spoilt, labels)
    free = CappedSVM(0.1, cap=np.inf, tol=1e-6).fit(spoilt, labels)
    assert weights_of(capped) == pytest.approx(weights_of(clean), abs=5e-3)
    assert np.abs(weights_of(free) - weights_of(clean)).max() > 0.1


def test_rounds_of_reweighting_lower_the_capped_objective():
    X, codes = three_classes(n=90, seed=10)
    codes = np.where(np.random.default_rng(0).random(90) < 0.2, (codes + 1) % 3, codes)

    def objective(model):
        scores = X @ model.coef_.T + model.intercept_
        losses = np.linalg.norm(hinges(scores, codes)[0], axis=1)
        return 0.5 * np.sum(model.coef_**2) + 10 * np.minimum(losses, 2.0).sum()

    values = [
        objective(CappedSVM(10, cap=2.0, tol=1e-4, max_rounds=rounds).fit(X, codes))
        for rounds in (1, 2, 10)
    ]
    assert values[2] <= values[1] < values[0]


# --- as estimators -------------------------------------------------------------------------------


@parametrize_with_checks(OWN)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns(method):
    random = np.random.default_rng(11)
    y = np.array(["ham", "eggs", "spam"])[np.arange(150) % 3]
    X = random.normal(size=(150, 4)) + 3 * np.eye(3, 4)[np.arange(150) % 3]
    model = make_rival(method, C=1.0)
    assert not hasattr(model, "classes_")
    assert model.fit(X, y).score(X, y) > 0.9
    assert model.classes_.tolist() == ["eggs", "ham", "spam"]
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    assert np.all(np.asarray(model.n_iter_) > 0)
    scores = model.decision_function(X)
    if method != "OvO":  # votes
        assert np.array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("method", METHODS)
def test_cost_matters_and_the_grid_ascends(method):
    X, codes = three_classes(n=90)
    values = grid(method)
    assert list(values) == sorted(values)
    assert 3 <= len(values) <= 5
    small, large = (make_rival(method, C=C).fit(X, codes) for C in (values[0], values[-1]))
    assert np.abs(small.coef_).sum() < np.abs(large.coef_).sum()


def test_the_seed_reaches_crammer_and_singer():
    assert make_rival("Crammer", C=1.0, random_state=7).random_state == 7


@pytest.mark.parametrize("function", [grid, partial(make_rival, C=1.0)])
def test_unknown_method(function):
    with pytest.raises(ValueError, match=r"must be one of OvR, OvO.*got 'kNN'"):
        function("kNN")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (MSVM(0), "`C` must be a finite number > 0, got 0"),
        (MSVM(tol=-1), "`tol` must be"),
        (SparseMultinomialLR(max_iter=0), "`max_iter` must be"),
        (TopKSVM(k=4), "`k` must be 1 to 3, the number of classes, got 4"),
        (M3SVM(power=1), "`power` must be a finite number > 1, got 1"),
        (CappedSVM(p=3), r"`p` must be in \(0, 2\], got 3"),
        (CappedSVM(cap=0), "`cap` must be > 0, got 0"),
        (CappedSVM(max_rounds=0), "`max_rounds` must be"),
    ],
)
def test_bad_parameters(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*three_classes())


@pytest.mark.parametrize("estimator", [MSVM(max_iter=3), SparseMultinomialLR(max_iter=3)])
def test_a_fit_that_is_cut_short_says_so(estimator):
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=3 iterations"):
        estimator.fit(*three_classes())


def test_a_start_saves_iterations():
    X, codes = three_classes(n=90)
    problem = JointHinge(X, codes, 3, 1.0, pairwise_hinge, squared_differences)
    cold = minimise(problem, tol=1e-3, max_iter=1000)
    warm = minimise(problem, tol=1e-3, max_iter=1000, start=cold)
    assert warm.n_iter < cold.n_iter / 4
    assert warm.weights == pytest.approx(cold.weights, abs=1e-2)
