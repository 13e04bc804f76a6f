"""What must hold for PSVR whatever the data: units, weights, storage, kernels, equal rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from small_data import curve, thin

from psvm import PSVC, PSVR
from psvm.solvers.ledger import Status

PS = (1.0, 1.25, 2.0, 3.7)
each_p = pytest.mark.parametrize("p", PS)


def close(a, b, tol=1e-6):
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol * np.abs(b).max())


def tight(**parameters):
    """To so many digits that ties of p = 1 are all that can differ."""
    return PSVR(**{"tol": 1e-10, "gamma": 0.5, "C": 3.0, **parameters})


# --- units ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-9, 0.37, 1e9])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@each_p
def test_the_unit_of_y_does_not_matter(p, kernel, unit):
    X, y = curve(60)
    first = PSVR(p=p, C=2.0, epsilon=0.1, quantile=0.6, kernel=kernel).fit(X, y)
    other = PSVR(p=p, C=2.0 * unit ** (2 - p), epsilon=0.1 * unit, quantile=0.6, kernel=kernel)
    other.fit(X, unit * y)
    close(other.predict(X) / unit, first.predict(X))
    close(other.primal_objective_ / unit**2, first.primal_objective_)
    close(other.intercept_ / unit, first.intercept_)
    assert other.dual_gap_[0] <= 1e-4


@pytest.mark.parametrize("n", [60, 700])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_a_power_of_two_as_unit_changes_nothing_at_all(p, n):
    """y, C and epsilon are the same numbers inside."""
    X, y = curve(n)
    first = PSVR(p=p, C=2.0).fit(X, y)
    other = PSVR(p=p, C=2.0 * 2.0 ** (20 * (2 - p)), epsilon=0.1 * 2**20).fit(X, 2**20 * y)
    np.testing.assert_array_equal(other.dual_coef_, 2**20 * first.dual_coef_)
    np.testing.assert_array_equal(other.support_, first.support_)
    assert other.primal_objective_[0] == 2.0**40 * first.primal_objective_[0]


@each_p
def test_an_offset_goes_to_the_intercept(p):
    X, y = curve(60)
    first, other = PSVR(p=p).fit(X, y), PSVR(p=p).fit(X, y + 1e9)
    close(other.predict(X) - 1e9, first.predict(X), 1e-5)
    close(other.intercept_ - 1e9, first.intercept_, 1e-5)
    assert other.dual_gap_[0] <= 1e-4


def test_quantiles_of_mirrored_targets():
    X, y = curve(50)
    low = PSVR(p=1.5, quantile=0.2).fit(X, y)
    high = PSVR(p=1.5, quantile=0.8).fit(X, -y)
    close(low.predict(X), -high.predict(X))


def test_a_higher_quantile_lies_higher():
    X, y = curve(200, noise=1.0)
    low, middle, high = (
        PSVR(p=1, epsilon=0, quantile=q, gamma=0.1).fit(X, y).predict(X) for q in (0.1, 0.5, 0.9)
    )
    assert low.mean() < middle.mean() < high.mean()
    for q, predicted in ((0.1, low), (0.5, middle), (0.9, high)):
        assert np.mean(y <= predicted) == pytest.approx(q, abs=0.03)


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.5, "scale"])
@each_p
def test_a_weight_of_two_is_a_repeated_row(p, gamma):
    X, y = curve(50)
    weight = np.random.default_rng(0).integers(0, 4, 50)
    weighted = tight(p=p, gamma=gamma).fit(X, y, weight)
    repeated = tight(p=p, gamma=gamma).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    close(weighted.predict(X), repeated.predict(X))
    close(weighted.primal_objective_, repeated.primal_objective_)
    assert not np.isin(np.flatnonzero(weight == 0), weighted.support_).any()


def test_a_row_of_weight_zero_is_absent_whatever_its_target():
    X, y = curve(50)
    weight = np.r_[np.zeros(5), np.ones(45)]
    wild = np.r_[np.full(5, 1e12), y[5:]]
    close(tight().fit(X, wild, weight).predict(X), tight().fit(X[5:], y[5:]).predict(X), 1e-9)


# --- storage of X ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "exponential", "sigmoid"])
def test_sparse_rows_are_dense_rows(kernel):
    X, _ = thin()
    y = X @ np.arange(40.0) / 40 + 0.1 * np.random.default_rng(0).normal(size=60)
    dense = PSVR(kernel=kernel, gamma=0.05).fit(X, y)
    sparse = PSVR(kernel=kernel, gamma=0.05).fit(sp.csr_matrix(X), y)
    close(sparse.predict(sp.csr_matrix(X)), dense.predict(X))
    assert sp.issparse(sparse.support_vectors_)


def test_float32_rows():
    X, y = curve(700)
    X = X.astype(np.float32)
    single, double = PSVR().fit(X, y), PSVR().fit(X.astype(float), y)
    close(single.predict(X), double.predict(X.astype(float)), 1e-3)
    assert single.support_vectors_.dtype == np.float32
    assert single.dual_gap_[0] <= 1e-4


@each_p
def test_a_given_matrix_is_the_kernel(p):
    X, y = curve(60)
    K = rbf_kernel(X, gamma=0.5)
    given = tight(p=p, kernel="precomputed").fit(K, y)
    close(given.predict(K), tight(p=p).fit(X, y).predict(X))
    assert given.support_vectors_.size == 0


def test_a_callable_takes_what_it_takes():
    """Texts by the letters that they share."""
    words = ["abc", "abd", "xyz", "xyw", "a", "x", "ab", "xy"]
    y = np.array([1.0, 1.1, -1.0, -0.9, 0.5, -0.4, 0.8, -0.7])

    def shared_letters(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    model = PSVR(kernel=shared_letters, C=100, epsilon=0.3).fit(words, y)
    assert np.abs(model.predict(words) - y).max() < 0.35
    assert set(model.support_vectors_) <= set(words)


def test_a_data_frame_with_names():
    X, y = curve(40)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = PSVR().fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    close(model.predict(frame), PSVR().fit(X, y).predict(X), 1e-12)


# --- equal rows -----------------------------------------------------------------------------------


@each_p
def test_equal_rows_share_a_kernel_row_and_merge_if_targets_agree(p):
    X, y = curve(40)
    rows = np.r_[np.arange(40), np.arange(20), np.arange(10)]
    X, y = X[rows], y[rows]
    y[40:60] += np.r_[np.zeros(10), np.full(10, 0.7)]  # ten agree, ten have another target
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    merged = tight(p=p).fit(X, y, weight)
    K = rbf_kernel(X, gamma=0.5)
    by_itself = tight(p=p, kernel="precomputed").fit(K, y, weight)  # nothing is merged
    close(merged.predict(X), by_itself.predict(K))
    close(merged.primal_objective_, by_itself.primal_objective_)
    assert merged.dual_coef_.shape[1] >= by_itself.dual_coef_.shape[1]  # shares of equal rows


def test_many_equal_rows_above_the_size_where_all_are_kept():
    X, y = curve(700)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2) + np.tile([0.0, 0.3], 700)
    model = PSVR().fit(X, y)
    K = rbf_kernel(X, gamma=model._kernel.gamma)
    other = PSVR(kernel="precomputed").fit(K, y)
    close(model.primal_objective_, other.primal_objective_, 2e-4)
    assert np.abs(model.predict(X) - other.predict(K)).max() < 0.05


# --- attributes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [50, 700])
def test_the_model_is_the_sum_over_its_support_vectors(n):
    X, y = curve(n)
    model = PSVR(gamma=0.5).fit(X, y)
    K = rbf_kernel(X, X[model.support_], gamma=0.5)
    close(K @ model.dual_coef_[0] + model.intercept_[0], model.predict(X), 1e-9)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.n_support_.tolist() == [model.support_.size]
    assert np.all(np.diff(model.support_) > 0)
    assert model.shape_fit_ == X.shape
    # Coefficients sum up to 0, and have the sign of the residual.
    assert abs(model.dual_coef_.sum()) <= 1e-9 * np.abs(model.dual_coef_).sum()
    r = (y - model.predict(X))[model.support_]
    outside = np.abs(r) > 0.1 + 1e-3
    assert np.array_equal(np.sign(model.dual_coef_[0][outside]), np.sign(r[outside]))
    assert np.abs(y - model.predict(X))[np.setdiff1d(np.arange(n), model.support_)].max() < 0.13
    for name in ("dual_gap_", "primal_objective_", "dual_objective_", "n_iter_"):
        assert getattr(model, name).shape == (1,)
    assert len(model.status_) == len(model.history_) == 1
    last = model.history_[0][-1]
    assert last["primal"] == pytest.approx(model.primal_objective_[0], rel=1e-3)


@pytest.mark.parametrize("C", [0.5, 3.0])
def test_coefficients_stay_within_their_costs(C):
    X, y = curve(80)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 80)
    model = PSVR(p=1, C=C, quantile=0.8, epsilon=0).fit(X, y, weight)
    coef, w = model.dual_coef_[0], weight[model.support_]
    assert np.all(coef <= 1.6 * C * w)
    assert np.all(coef >= -0.4 * C * w)


def test_weights_of_features_of_the_linear_kernel_only():
    X, y = curve(60)
    model = PSVR(kernel="linear").fit(X, y)
    assert model.coef_.shape == (1, 3)
    close(X @ model.coef_[0] + model.intercept_[0], model.predict(X), 1e-9)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = PSVR().fit(X, y).coef_


def test_attributes_that_do_not_fit_together_are_refused():
    X, y = curve(30)
    model = PSVR().fit(X, y)
    model.dual_coef_ = model.dual_coef_[:, :-1]
    with pytest.raises(ValueError, match="must be"):
        model.predict(X)


# --- nothing to fit -------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_targets_that_are_all_in_the_tube(epsilon, C):
    X, _ = curve(30)
    y = np.linspace(7.0 - epsilon, 7.0 + epsilon, 30)
    model = PSVR(epsilon=1.0000001 * epsilon, C=C).fit(X, y)
    assert model.dual_gap_[0] == model.primal_objective_[0] == model.dual_objective_[0] == 0.0
    assert model.status_ == [Status.CONVERGED]
    assert model.support_.size == 0
    np.testing.assert_array_equal(model.predict(X), model.intercept_[0])
    assert model.intercept_[0] == pytest.approx(7.0)
    assert len(model.history_[0]) == 1


def test_constant_targets():
    X, _ = curve(30)
    model = PSVR(epsilon=0).fit(X, np.full(30, 0.1))
    assert model.dual_gap_[0] == 0.0
    np.testing.assert_array_equal(model.predict(X), 0.1)
    assert PSVR(kernel="linear", epsilon=0.2).fit(X, np.full(30, 0.1)).coef_.tolist() == [[0, 0, 0]]


def test_a_single_row():
    model = PSVR(epsilon=0.0).fit([[1.0, 2.0]], [5.0])
    assert model.predict([[0.0, 0.0]]).tolist() == [5.0]
    model = PSVR(epsilon=0.0, fit_intercept=False, C=1e6, p=2).fit([[1.0, 2.0]], [5.0])
    assert model.predict([[1.0, 2.0]])[0] == pytest.approx(5.0, rel=1e-5)


# --- C = inf --------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_all_rows_are_inside_the_tube_in_any_unit(unit):
    X, y = curve(50)
    y = unit * (y + 100)
    model = PSVR(C=np.inf, epsilon=0.05 * unit, gamma=2.0).fit(X, y)
    assert model.dual_gap_[0] <= 1e-4
    assert np.abs(y - model.predict(X)).max() <= 0.05 * unit


def test_many_rows_inside_the_tube():
    X, y = curve(900, noise=0.01)
    model = PSVR(C=np.inf, epsilon=0.5, gamma=0.3).fit(X, y)
    assert model.dual_gap_[0] <= 1e-4
    assert np.abs(y - model.predict(X)).max() <= 0.5


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_no_model_has_all_rows_inside(kernel):
    X, y = curve(50)
    with pytest.raises(ValueError, match=r"C=inf asks for all rows inside the tube .* = 0\.1"):
        PSVR(C=np.inf, kernel=kernel).fit(X, y)


def test_equal_rows_with_targets_too_far_apart():
    X, y = np.ones((4, 2)), [0.0, 1.0, 0.5, 0.5]
    X[2:] = 2.0
    with pytest.raises(ValueError, match="C=inf asks for all rows inside"):
        PSVR(C=np.inf, epsilon=0.4).fit(X, y)
    model = PSVR(C=np.inf, epsilon=0.6).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 0.6


def test_no_width_at_all_cannot_be_inside():
    X, y = curve(20)
    with pytest.raises(ValueError, match=r"`epsilon` must be > 0 for C=inf"):
        PSVR(C=np.inf, epsilon=0).fit(X, y)
    with pytest.raises(ValueError, match=r"`epsilon` must be larger for C=inf"):
        PSVR(C=np.inf, epsilon=1e-6).fit(X, y + 1e12)


# --- parameters and messages ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("epsilon", -0.1),
        ("epsilon", np.inf),
        ("epsilon", "wide"),
        ("quantile", 0.0),
        ("quantile", 1.0),
        ("quantile", None),
        ("quantile", True),
    ],
)
def test_parameters_out_of_range(parameter, value):
    X, y = curve(10)
    with pytest.raises(ValueError, match=f"`{parameter}` must"):
        PSVR(**{parameter: value}).fit(X, y)


def test_a_fit_that_stops_early_speaks_of_one_problem():
    X, y = curve(900)
    with pytest.warns(UserWarning, match=r"PSVR is at relative gap .* tol 1e-10: stopped") as told:
        PSVR(max_iter=1, tol=1e-10).fit(X, y)
    assert not any("binary" in str(one.message) for one in told)


def test_the_sigmoid_kernel_ends_at_a_stationary_point():
    X, y = curve(60)
    model = PSVR(kernel="sigmoid", gamma=0.1).fit(X, y)
    assert model.status_[0] in (Status.STATIONARY, Status.CONVERGED)


def test_regression_of_labels_is_no_classification():
    X, y = curve(60)
    labels = (y > y.mean()) * 2.0 - 1.0
    assert not hasattr(PSVR(), "decision_function")
    assert not hasattr(PSVR().fit(X, labels), "classes_")
    assert PSVC().fit(X, labels).score(X, labels) > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_a_large_p_with_outliers_is_not_called_unbounded(seed):
    """In float32 the dual seemed to grow without bound, and that was the end of it.

    The gap is 1e-9 as computed; of so large dual variables rounding errors may be more than tol.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 1))
    y = X[:, 0] ** 2 + rng.standard_t(2, size=900)
    model = PSVR(p=6, C=150.0 * np.mean(np.abs(y - y.mean())) ** -4, epsilon=0, quantile=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.status_[0] in (Status.CONVERGED, Status.UNPROVEN)
    assert model.dual_gap_[0] < 1e-3
    assert model.history_[0][-1]["gap"] < 1e-4
