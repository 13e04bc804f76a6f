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
