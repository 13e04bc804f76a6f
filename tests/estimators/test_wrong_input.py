"""Bad input gets an error that says what was expected, what came, and what to do."""

import numpy as np
import pytest
import scipy.sparse as sp
from estimators import each_class
from messages import X, Y, assert_mentions, changed, error_of
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC
from small_data import noisy, separable

from psvm import PSVC, LinearPSVC


@each_class
@pytest.mark.parametrize("p", [0.5, 0.0, -1.0, np.nan, np.inf])
def test_p_is_a_finite_number_of_at_least_1(Estimator, p):
    assert_mentions(error_of(Estimator, ValueError, p=p), "p", "1", str(p))


@each_class
@pytest.mark.parametrize("C", [0.0, -1.0, np.nan])
def test_C_is_positive(Estimator, C):
    assert_mentions(error_of(Estimator, ValueError, C=C), "C", "0", str(C))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "laplacian", "exponential"])
@pytest.mark.parametrize("gamma", [0, 0.0, -1.0, np.nan, np.inf, None, True])
def test_gamma_is_positive(kernel, gamma):
    """Also 0, which SVC takes: all rows would be alike."""
    message = error_of(PSVC, ValueError, gamma=gamma, kernel=kernel)
    assert_mentions(message, "`gamma`", "> 0", "'scale'", str(gamma))
    assert ("same for all rows" in message) == (gamma == 0)


@each_class
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("multi_class", "crammer_singer"),
        ("class_weight", "equal"),
        ("tol", -1.0),
        ("max_iter", -2),
        ("max_time", -1.0),
        ("n_jobs", "many"),
        ("fit_intercept", "yes"),
        ("warm_start", "yes"),
        ("p", "1.5"),
        ("C", None),
    ],
)
def test_parameters_of_the_wrong_kind(Estimator, name, value):
    """The message names the parameter and the value that came."""
    assert_mentions(error_of(Estimator, ValueError, **{name: value}), name, str(value))


@each_class
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_X_is_finite(Estimator, value, sparse):
    bad = changed(X, (3, 1), value)
    message = error_of(Estimator, ValueError, X=sp.csr_matrix(bad) if sparse else bad)
    assert_mentions(message, "nan" if np.isnan(value) else "infinity")


@each_class
def test_X_is_finite_at_prediction(Estimator):
    model = Estimator().fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(changed(X, (0, 0), np.nan))


@each_class
def test_number_of_columns_at_prediction(Estimator):
    with pytest.raises(ValueError, match=r"2 features.*3 features"):
        Estimator().fit(X, Y).predict(X[:, :2])


@each_class
def test_y_is_finite(Estimator):
    assert_mentions(error_of(Estimator, ValueError, y=changed(Y, 0, np.nan)), "nan")


@each_class
def test_y_is_not_continuous(Estimator):
    assert_mentions(error_of(Estimator, ValueError, y=X[:, 0]), "continuous")


@each_class
def test_two_classes_are_needed(Estimator):
    """The message tells the number of classes found."""
    message = error_of(Estimator, ValueError, y=np.ones(20))
    assert_mentions(message, "class", "1")


@each_class
def test_two_classes_are_needed_among_the_rows_that_weigh(Estimator):
    """Weights that silence one class leave nothing to separate."""
    message = error_of(Estimator, ValueError, sample_weight=(Y > 0).astype(float))
    assert_mentions(message, "class", "weight")


@each_class
@pytest.mark.parametrize("value", [-1.0, -1e-9])
def test_weights_are_not_negative(Estimator, value):
    message = error_of(Estimator, ValueError, sample_weight=changed(np.ones(20), 4, value))
    assert_mentions(message, "sample_weight", ">= 0", f"{value:g}", "use 0 to leave")


@pytest.mark.parametrize("weight", [0.0, -3.0])
def test_weights_that_svc_drops(weight):
    """SVC leaves rows of negative weight out in silence: what we say of it is true."""
    weights = changed(np.ones(20), 4, weight)
    theirs = SVC(kernel="linear").fit(X, Y, sample_weight=weights)
    kept = np.delete(np.arange(20), 4)
    assert theirs.coef_ == pytest.approx(SVC(kernel="linear").fit(X[kept], Y[kept]).coef_)


@each_class
def test_weights_are_finite(Estimator):
    message = error_of(Estimator, ValueError, sample_weight=changed(np.ones(20), 4, np.nan))
    assert_mentions(message, "sample_weight", "nan")


@each_class
def test_some_weight_is_positive(Estimator):
    assert_mentions(error_of(Estimator, ValueError, sample_weight=np.zeros(20)), "weight", "zero")


@each_class
def test_weights_have_one_entry_per_row(Estimator):
    assert_mentions(
        error_of(Estimator, ValueError, sample_weight=np.ones(19)), "sample_weight", "19", "20"
    )


@each_class
@pytest.mark.parametrize("shape", [(20, 3, 1), (20,)])
def test_X_has_two_dimensions(Estimator, shape):
    assert_mentions(
        error_of(Estimator, ValueError, X=np.ones(shape)), "2D" if len(shape) == 1 else "dim"
    )


@each_class
def test_y_has_one_entry_per_row(Estimator):
    assert_mentions(error_of(Estimator, ValueError, y=Y[:-1]), "20", "19")


@each_class
@pytest.mark.parametrize("shape", [(0, 3), (20, 0)])
def test_empty_data(Estimator, shape):
    message = error_of(Estimator, ValueError, X=np.empty(shape), y=Y[: shape[0]])
    assert_mentions(message, "0 sample" if shape[0] == 0 else "0 feature")


HARD = [
    pytest.param(PSVC, {"kernel": "linear"}, id="PSVC"),
    pytest.param(LinearPSVC, {"solver": "semismooth_newton"}, id="newton"),
    pytest.param(LinearPSVC, {"solver": "coordinate_descent"}, id="descent"),
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("p", [1, 1.5, 2])
@pytest.mark.parametrize(("Estimator", "parameters"), HARD)
def test_hard_margin_of_data_that_are_not_separable(Estimator, parameters, p, fit_intercept):
    """Overlapping classes and C = inf: an error that tells what to do, not a hang."""
    X, y = noisy(n=40, d=2, seed=1, noise=3.0)
    parameters = {"p": p, "C": np.inf, "fit_intercept": fit_intercept, **parameters}
    message = error_of(Estimator, ValueError, X=X, y=y, **parameters)
    assert_mentions(message, "separable", "C")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("Estimator", "parameters"), HARD)
def test_hard_margin_of_linear_duplicates_with_opposite_labels(Estimator, parameters, sparse):
    """Nothing separates a point from itself; a zero weight takes it away."""
    X, y = separable(n=20)
    X, y = np.vstack([X, X[:1]]), np.append(y, -y[0])
    X = sp.csr_matrix(X) if sparse else X
    assert_mentions(error_of(Estimator, ValueError, X=X, y=y, C=np.inf, **parameters), "separable")
    weights = np.append(np.full(20, 2.0), 0.0)
    model = Estimator(C=np.inf, **parameters).fit(X, y, sample_weight=weights)
    assert np.min(y[:20] * model.decision_function(X[:20])) >= 1 - 1e-4


@pytest.mark.timeout(60)
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize(("Estimator", "parameters"), HARD)
def test_hard_margin_of_one_pair_that_is_not_separable(Estimator, parameters, multi_class):
    """One bad pair among good ones: still an error."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.4, 0.0], [0.6, 0.0], [0.0, 50.0], [1.0, 50.0]])
    y = np.array([0, 0, 1, 1, 2, 2])  # class 1 lies inside class 0, on a line
    parameters = {"C": np.inf, "multi_class": multi_class, **parameters}
    assert_mentions(error_of(Estimator, ValueError, X=X, y=y, **parameters), "separable")


@pytest.mark.parametrize("solver", ["newton", "liblinear", None, 1, ""])
def test_solver_is_one_of_three(solver):
    """The message lists the names, and the value that came."""
    message = error_of(LinearPSVC, ValueError, solver=solver)
    assert_mentions(message, "solver", "auto", "semismooth_newton", "coordinate_descent")
    assert repr(solver) in message


@each_class
def test_entries_too_large_to_multiply(Estimator):
    """Beyond 1e100 products leave the range of float64: the message gives the size."""
    assert_mentions(error_of(Estimator, ValueError, X=X * 1e120), "e+120", "scale")


@pytest.mark.timeout(20)
def test_more_coefficients_than_memory_is_for():
    """A linear model has one per feature, used or not; a kernel model has none."""
    X = sp.csr_matrix(([1.0, 2.0, 3.0], ([0, 1, 2], [0, 10**9 - 1, 7])), shape=(3, 10**9))
    message = error_of(LinearPSVC, ValueError, X=X, y=[0, 1, 2])
    assert_mentions(message, "1000000000 features", "3 problems", "22.4 GiB", "at most 268435456")
    assert PSVC(kernel="linear").fit(X, [0, 1, 2]).n_features_in_ == 10**9


@each_class
def test_before_fit(Estimator):
    with pytest.raises(NotFittedError, match="fit"):
        Estimator().predict(X)


@each_class
@pytest.mark.parametrize("fails", [False, True])
def test_a_fit_changes_no_parameter(Estimator, fails):
    """Neither the object that was given nor what is in it, whether the fit ends well or late."""
    X, y = noisy(n=20, d=3, seed=0)
    X, y = np.vstack([X, X[:1]]), np.append(y, -y[0])  # no hard margin: the solver finds out
    model = Estimator(p=1, C=np.inf if fails else 2, class_weight={1.0: 3})
    before = model.get_params()
    try:
        model.fit(X, y)
    except ValueError:
        assert fails
    else:
        assert not fails
    after = model.get_params()
    assert [name for name in before if after[name] is not before[name]] == []
    assert model.class_weight == {1.0: 3}
