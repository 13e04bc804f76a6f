"""Bad input gets an error that says what was expected, what came, and what to do."""

import numpy as np
import pytest
import scipy.sparse as sp
from small_data import noisy

from psvm import PSVC

X, Y = noisy(n=20, d=3, seed=0)


def error_of(kind, X=X, y=Y, sample_weight=None, **parameters):
    """The message of the error that fit raises."""
    with pytest.raises(kind) as caught:
        PSVC(**parameters).fit(X, y, sample_weight=sample_weight)
    return str(caught.value)


def assert_mentions(message, *words):
    missing = [word for word in words if word.lower() not in message.lower()]
    assert not missing, f"{missing} not in: {message}"


def changed(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


@pytest.mark.parametrize("p", [0.5, 0.0, -1.0, np.nan, np.inf])
def test_p_is_a_finite_number_of_at_least_1(p):
    assert_mentions(error_of(ValueError, p=p), "p", "1", str(p))


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan])
def test_C_is_positive(C):
    assert_mentions(error_of(ValueError, C=C), "C", "0", str(C))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "gaussian"),
        ("gamma", "wide"),
        ("gamma", -1.0),
        ("gamma", np.nan),
        ("degree", -1),
        ("coef0", np.inf),
        ("multi_class", "crammer_singer"),
        ("decision_function_shape", "ova"),
        ("class_weight", "equal"),
        ("tol", -1.0),
        ("max_iter", -2),
        ("max_time", -1.0),
        ("cache_size", 0),
        ("n_jobs", "many"),
        ("fit_intercept", "yes"),
        ("warm_start", "yes"),
        ("p", "1.5"),
        ("C", None),
    ],
)
def test_parameters_of_the_wrong_kind(name, value):
    """The message names the parameter and the value that came."""
    assert_mentions(error_of(ValueError, **{name: value}), name, str(value))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_X_is_finite(value, sparse):
    bad = changed(X, (3, 1), value)
    message = error_of(ValueError, X=sp.csr_matrix(bad) if sparse else bad)
    assert_mentions(message, "nan" if np.isnan(value) else "infinity")


def test_X_is_finite_at_prediction():
    model = PSVC().fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict(changed(X, (0, 0), np.nan))


def test_number_of_columns_at_prediction():
    with pytest.raises(ValueError, match=r"2 features.*3 features"):
        PSVC().fit(X, Y).predict(X[:, :2])


def test_y_is_finite():
    assert_mentions(error_of(ValueError, y=changed(Y, 0, np.nan)), "nan")


def test_y_is_not_continuous():
    assert_mentions(error_of(ValueError, y=X[:, 0]), "continuous")


def test_two_classes_are_needed():
    """The message tells the number of classes found."""
    message = error_of(ValueError, y=np.ones(20))
    assert_mentions(message, "class", "1")


def test_two_classes_are_needed_among_the_rows_that_weigh():
    """Weights that silence one class leave nothing to separate."""
    message = error_of(ValueError, sample_weight=(Y > 0).astype(float))
    assert_mentions(message, "class", "weight")


@pytest.mark.parametrize("value", [-1.0, -1e-9])
def test_weights_are_not_negative(value):
    message = error_of(ValueError, sample_weight=changed(np.ones(20), 4, value))
    assert_mentions(message, "sample_weight", ">= 0", f"{value:g}")


def test_weights_are_finite():
    message = error_of(ValueError, sample_weight=changed(np.ones(20), 4, np.nan))
    assert_mentions(message, "sample_weight", "nan")


def test_some_weight_is_positive():
    assert_mentions(error_of(ValueError, sample_weight=np.zeros(20)), "weight", "zero")


def test_weights_have_one_entry_per_row():
    assert_mentions(error_of(ValueError, sample_weight=np.ones(19)), "sample_weight", "19", "20")


@pytest.mark.parametrize("shape", [(20, 3, 1), (20,)])
def test_X_has_two_dimensions(shape):
    assert_mentions(error_of(ValueError, X=np.ones(shape)), "2D" if len(shape) == 1 else "dim")


def test_y_has_one_entry_per_row():
    assert_mentions(error_of(ValueError, y=Y[:-1]), "20", "19")


@pytest.mark.parametrize("shape", [(0, 3), (20, 0)])
def test_empty_data(shape):
    message = error_of(ValueError, X=np.empty(shape), y=Y[: shape[0]])
    assert_mentions(message, "0 sample" if shape[0] == 0 else "0 feature")


def test_precomputed_is_square():
    """The message tells the shape that came."""
    message = error_of(ValueError, X=np.ones((20, 5)), kernel="precomputed")
    assert_mentions(message, "precomputed", "square", "20", "5")


def test_precomputed_is_symmetric():
    K = X @ X.T
    K[0, 1] += 1.0
    assert_mentions(error_of(ValueError, X=K, kernel="precomputed"), "symmetric")


def test_precomputed_at_prediction_has_one_column_per_training_row():
    model = PSVC(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="20"):
        model.predict(np.ones((4, 7)))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (lambda A, B: np.ones((len(A), len(B) + 1)), ("shape", "rows")),
        (lambda A, B: np.ones(len(A)), ("shape", "rows")),
        (lambda A, B: np.full((len(A), len(B)), np.nan), ("nan",)),
        (lambda A, B: np.full((len(A), len(B)), np.inf), ("inf",)),
        (lambda A, B: A @ B.T + np.arange(len(B)), ("symmetric",)),
        (lambda A, B: "kernel", ("kernel",)),
        (lambda A, B: None, ("kernel",)),
    ],
    ids=["shape", "vector", "nan", "inf", "asymmetric", "string", "none"],
)
def test_callable_that_returns_nonsense(kernel, words):
    """The message says that the kernel function is to blame, and what it returned."""
    assert_mentions(error_of((ValueError, TypeError), kernel=kernel), "kernel", *words)


def test_an_error_inside_the_callable_is_passed_on():
    """The user sees their own exception, not ours."""

    def broken(A, B):
        raise RuntimeError("my mistake")

    assert "my mistake" in error_of(RuntimeError, kernel=broken)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_hard_margin_of_data_that_are_not_separable(p, fit_intercept):
    """Overlapping classes and C = inf: an error that tells what to do, not a hang."""
    X, y = noisy(n=40, d=2, seed=1, noise=3.0)
    parameters = {"p": p, "C": np.inf, "kernel": "linear", "fit_intercept": fit_intercept}
    message = error_of(ValueError, X=X, y=y, **parameters)
    assert_mentions(message, "separable", "C")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_hard_margin_of_duplicates_with_opposite_labels(kernel):
    """No kernel separates a point from itself."""
    doubled, y = np.vstack([X, X[:1]]), np.append(Y, -Y[0])
    message = error_of(ValueError, X=doubled, y=y, C=np.inf, kernel=kernel)
    assert_mentions(message, "separable", "C")


def test_hard_margin_with_weights():
    """Infinite C times a positive weight is infinite; a zero weight still removes its row."""
    doubled, y = np.vstack([X, X[:1]]), np.append(Y, -Y[0])
    weights = np.append(np.full(20, 2.0), 0.0)
    model = PSVC(C=np.inf, gamma=2.0).fit(doubled, y, sample_weight=weights)
    assert model.score(X, Y) == 1.0


def test_sparse_precomputed_is_refused_or_right():
    """A sparse kernel matrix either works as SVC's does, or is refused with a reason."""
    K = X @ X.T
    try:
        model = PSVC(kernel="precomputed").fit(sp.csr_matrix(K), Y)
    except (TypeError, ValueError) as error:
        assert_mentions(str(error), "precomputed")
    else:
        reference = PSVC(kernel="precomputed").fit(K, Y)
        assert model.dual_objective_ == pytest.approx(reference.dual_objective_)


def test_sparse_callable_is_refused_or_right():
    """A callable gets the rows as given, or sparse input is refused with a reason."""
    try:
        model = PSVC(kernel=lambda A, B: A @ B.T).fit(sp.csr_matrix(X), Y)
    except (TypeError, ValueError) as error:
        assert_mentions(str(error), "kernel")
    else:
        reference = PSVC(kernel="linear").fit(X, Y)
        assert model.primal_objective_ == pytest.approx(reference.primal_objective_, rel=1e-6)


def test_before_fit():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="fit"):
        PSVC().predict(X)


def test_a_failed_fit_changes_no_parameter():
    """The estimator is as it was."""
    model = PSVC(p=0.5)
    with pytest.raises(ValueError):
        model.fit(X, Y)
    assert model.get_params()["p"] == 0.5
