"""What random fits and files once found, each written out: it must not come back."""

import numpy as np
import pytest
import scipy.sparse as sp
from torture.exact import exactly

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.solvers.ledger import Status

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n, d, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return X + offset, y


def test_fortran_order_with_a_linear_kernel():
    X, y = rows(346, 5)
    model = PSVC(p=2.6, C=0.03, kernel="linear", tol=1e-7).fit(np.asfortranarray(X), y)
    expected = PSVC(p=2.6, C=0.03, kernel="linear", tol=1e-7).fit(X, y)
    assert model.decision_function(X) == pytest.approx(expected.decision_function(X), abs=1e-6)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_coef_is_what_decisions_are_made_with(storage, multi_class):
    """Sums around the mean and sums as they stand differed by 0.7 at an offset of 1e7."""
    X, _ = rows(90, 4, offset=1e7)
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))
    model = PSVC(1.5, kernel="linear", multi_class=multi_class, decision_function_shape="ovo")
    model.fit(storage(X), y)
    values = X @ model.coef_.T + model.intercept_
    assert model._as_arrays().decisions(storage(X)) == pytest.approx(values, abs=1e-7)


def test_equal_rows_far_from_the_origin():
    """Their dual variables are split after the certificate, and rounded: 0.9 was called 1e-3."""
    X, y = rows(30, 4, offset=-1.29e7)
    X, y = np.vstack([X, X, X[:7]]).astype(np.float32), np.concatenate([y, y, y[:7]])
    model = PSVC(1.3, C=50.0, kernel="linear").fit(X, y)
    coef = exactly(model.dual_coef_[0])
    support = exactly(model.support_vectors_)
    middle = exactly(X).mean(axis=0)
    w = coef @ (support - middle) + coef.sum() * middle
    slack = np.maximum(1 - np.where(y == 1, 1, -1) * (exactly(X) @ w + model.intercept_[0]), 0)
    primal = 0.5 * (w @ w) + 50.0 * (slack ** np.longdouble(1.3)).sum()
    lower = model.dual_objective_[0]  # of dual variables that are feasible but for rounding
    assert float((primal - lower) / primal) <= model.dual_gap_[0] + 1e-9


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_no_more_iterations_than_asked_for(kernel, max_iter):
    X, y = rows(60, 5)
    model = PSVC(1.5, kernel=kernel, tol=1e-9, max_iter=max_iter).fit(X, y)
    assert model.n_iter_[0] <= max_iter


@pytest.mark.parametrize("estimator", [PSVC(kernel="rbf"), PSVC(kernel="linear"), LinearPSVC()])
def test_a_hard_margin_has_no_slack(estimator):
    """Scaled by a margin that was rounded, models had slacks of 1e-8 to 1e-5."""
    X, _ = rows(60, 3)
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y == 1, 1e-3, -1e-3)
    model = estimator.set_params(C=np.inf, p=1.0).fit(X, y)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert margins.min() >= 1.0 - 1e-12


@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("scale", [1e-33, 1.0])
def test_a_negative_kernel_of_five_classes_is_not_converged(n, scale):
    model = PSVC(1.5, kernel="precomputed").fit(-scale * np.eye(n), np.arange(n) % 5)
    assert Status.CONVERGED not in model.status_


@pytest.mark.parametrize("p", [1, 2, 3])
def test_a_sigmoid_kernel_is_never_called_converged_without_a_factor(p):
    X, y = rows(700, 4)
    model = PSVC(p, kernel="sigmoid", gamma=1.0, coef0=-1.0, max_time=5.0).fit(X, y)
    assert model.status_[0] is not Status.CONVERGED
    assert not any(np.isnan(r["gap"]) for r in model.history_[0])


def test_a_definite_polynomial_kernel_is_not_called_indefinite():
    X, y = rows(40, 12)
    model = PSVC(1.0, C=1e6, kernel="poly", degree=1, coef0=1.0).fit(1e3 * X, y)
    assert model.status_[0] is not Status.STATIONARY


def test_a_search_on_an_indefinite_matrix_warns_of_no_numbers():
    """Dual problems without a bound: decision values were infinite, and their sums no numbers."""
    rng = np.random.default_rng(8)
    n = 12
    K = np.diag(rng.uniform(-1.5, 1.0, n)) + 0.01 * np.add.outer(np.arange(n), np.arange(n))
    y = rng.permutation(np.arange(n) % 4)
    with np.errstate(over="raise", invalid="raise"):
        search = PSVCCV([1.5, 2.0], [16.0, 100.0], kernel="precomputed", cv=2).fit(K, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-150, 1e-80, 1.0, 1e80, 1e150])
def test_a_polynomial_kernel_of_any_size_warns_of_no_numbers(scale):
    """Squares of kernel values were summed, which overflowed from 1e154 on."""
    X, y = rows(40, 3)
    PSVC(1.5, C=5.0, kernel="poly", degree=2, gamma=scale, coef0=0.0).fit(X, y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_a_search_over_kernels_out_of_range_warns_of_no_numbers(coef0):
    """A bound was 0 times infinity."""
    X, y = rows(40, 3)
    search = PSVCCV([2.0], [1.0], kernel="poly", degree=2, gammas=[1.0], coef0=coef0, cv=2)
    search.fit((1e76 * X).astype(np.float64), y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_large_float32_of_both_signs():
    """scikit-learn's sum of X was inf - inf, and squares of columns overflowed."""
    X, y = rows(40, 3)
    X = (1e38 * X / np.abs(X).max()).astype(np.float32)
    X[0], X[1] = 3e38, -3e38
    X = np.vstack([np.tile(X[:1], (40, 1)), np.tile(X[1:2], (40, 1)), X])
    y = np.concatenate([np.ones(40, dtype=int), np.zeros(40, dtype=int), y])
    for model in (PSVC(gamma=1e-77), LinearPSVC()):
        for storage in (np.asarray, sp.csr_matrix):
            model.fit(storage(X), y).predict(storage(X))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_many_rows_that_are_all_equal_are_decided_by_coef(storage):
    """Coefficients of equal support vectors were added up, rounded: w was of rounding alone."""
    X = np.full((600, 1), 44.2287)
    y = np.random.default_rng(0).integers(0, 2, 600)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 600)
    model = PSVC(20.0, C=26.0, kernel="linear").fit(storage(X), y, sample_weight=weight)
    expected = X @ model.coef_.T + model.intercept_
    assert model.decision_function(storage(X)) == pytest.approx(
        expected[:, 0], rel=1e-12, abs=1e-14
    )


def test_more_pairs_than_support_vectors_are_decided_by_coef():
    """Products with support vectors far from the origin lost eight digits."""
    X, _ = rows(12, 3, offset=-4.6e6)
    model = PSVC(1.25, C=10.0, kernel="linear", tol=1e-9, decision_function_shape="ovo")
    model.fit(X, np.arange(12) % 6)
    assert model.support_.size < model.intercept_.size == 15
    w, b = exactly(model.coef_), exactly(model.intercept_)
    exact = (exactly(X) @ w.T + b).astype(float)
    rounding = np.finfo(float).eps * (np.abs(X) @ np.abs(model.coef_.T) + np.abs(model.intercept_))
    assert (np.abs(model.decision_function(X) - exact) <= 4 * rounding).all()


@pytest.mark.parametrize("gamma", [0.7, 1e13])
def test_labels_agree_with_decisions_where_float32_tells_nothing(gamma):
    """Exponents were off by more than 100, and the bound was a share of what came out."""
    X, y = rows(600, 11)
    X[:, 0] *= 1e5
    y = np.random.default_rng(0).integers(0, 2, 600)
    model = PSVC(3.0, C=40.0, gamma=gamma).fit(X, y)
    assert np.array_equal(model.predict(X), model.classes_[(model.decision_function(X) > 0) * 1])
