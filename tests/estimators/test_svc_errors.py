"""Kernels that are wrong, or that do not suit the data, get an error that says why."""

import numpy as np
import pytest
import scipy.sparse as sp
from messages import X, Y, assert_mentions
from messages import error_of as error_of_class

from psvm import PSVC


def error_of(kind, **arguments):
    """The message of the error that PSVC's fit raises."""
    return error_of_class(PSVC, kind, **arguments)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "gaussian"),
        ("gamma", "wide"),
        ("gamma", -1.0),
        ("gamma", np.nan),
        ("degree", -1),
        ("coef0", np.inf),
        ("decision_function_shape", "ova"),
        ("cache_size", 0),
    ],
)
def test_parameters_of_the_wrong_kind(name, value):
    """The message names the parameter and the value that came."""
    assert_mentions(error_of(ValueError, **{name: value}), name, str(value))


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
