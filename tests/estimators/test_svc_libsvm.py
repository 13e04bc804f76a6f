"""At p = 1 PSVC is scikit-learn's SVC; at p = 2 it is SVC on a kernel with a ridge."""

import numpy as np
import pytest
import scipy.sparse as sp
from referee import SHAPES, dense, kernel_matrix
from sklearn.svm import SVC
from small_data import blobs, noisy, real

from psvm import PSVC

SHARED_KERNELS = ("linear", "rbf", "poly")
TIGHT = 1e-9


def gaussian(X, Z):
    return kernel_matrix("rbf", X, Z)


def both(X, y, sample_weight=None, **parameters):
    """PSVC at p = 1 and SVC, both solved to high accuracy."""
    ours = PSVC(p=1, tol=TIGHT, **parameters).fit(X, y, sample_weight=sample_weight)
    theirs = SVC(tol=1e-9, cache_size=50, **parameters).fit(X, y, sample_weight=sample_weight)
    return ours, theirs


def assert_same_model(ours, theirs, X, tolerance=1e-5):
    """Same support vectors, coefficients, intercepts and decision values.

    The tolerances are what LIBSVM's float32 kernel entries allow.
    """
    assert ours.support_.tolist() == theirs.support_.tolist()
    assert ours.n_support_.tolist() == theirs.n_support_.tolist()
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    scale = np.abs(dense(theirs.dual_coef_)).max()
    assert dense(ours.dual_coef_) == pytest.approx(
        dense(theirs.dual_coef_), abs=tolerance * max(1.0, scale)
    )
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=tolerance * 10)
    expected = theirs.decision_function(X)
    assert ours.decision_function(X) == pytest.approx(expected, abs=tolerance * max(10.0, scale))


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("kernel", SHARED_KERNELS)
def test_binary(kernel, C):
    """The four attributes and the decision function agree for every shared kernel."""
    X, y = noisy(n=50, seed=1)
    assert_same_model(*both(X, y, kernel=kernel, C=C, **SHAPES), X)


@pytest.mark.parametrize("kernel", SHARED_KERNELS)
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_multiclass(kernel, shape):
    """Four classes one-vs-one: (k-1, n_SV) coefficients in SVC's layout, both decision shapes."""
    X, y = blobs(n=80, classes=4)
    ours, theirs = both(X, y, kernel=kernel, decision_function_shape=shape, **SHAPES)
    assert_same_model(ours, theirs, X)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape == (3, theirs.support_.size)


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_real_data(name):
    """The same on real data."""
    X, y = real(name)
    assert_same_model(*both(X, y, gamma=1.0 / X.shape[1]), X)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.4}])
def test_class_weight(classes, class_weight):
    """Unequal classes: weights by name and by frequency mean what they mean for SVC."""
    X, y = blobs(n=70, classes=classes)
    keep = (y != 0) | (np.arange(70) % 3 == 0)
    X, y = X[keep], y[keep]
    assert_same_model(*both(X, y, class_weight=class_weight, gamma=0.4), X)


@pytest.mark.parametrize("classes", [2, 3])
def test_sample_weight(classes):
    """Per-row weights bound alpha_i by C * weight_i."""
    X, y = blobs(n=60, classes=classes)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, size=60)
    ours, theirs = both(X, y, sample_weight=weights, gamma=0.4)
    assert_same_model(ours, theirs, X)
    assert np.all(np.abs(dense(ours.dual_coef_)) <= weights[ours.support_] * (1 + 1e-12))


@pytest.mark.parametrize("kernel", SHARED_KERNELS)
def test_sparse(kernel):
    """CSR input gives SVC's answer."""
    X, y = blobs(n=60, classes=3, d=8)
    X = sp.csr_matrix(np.where(np.abs(X) > 0.8, X, 0.0))
    ours, theirs = both(X, y, kernel=kernel, **SHAPES)
    assert_same_model(ours, theirs, X)
    assert sp.issparse(ours.support_vectors_)
    assert dense(ours.support_vectors_) == pytest.approx(dense(theirs.support_vectors_))


@pytest.mark.parametrize("classes", [2, 3])
def test_precomputed(classes):
    """A kernel matrix: support_vectors_ is empty as in SVC, and prediction takes K(test, train)."""
    X, y = blobs(n=60, classes=classes)
    K = kernel_matrix("rbf", X)
    ours, theirs = both(K, y, kernel="precomputed")
    assert_same_model(ours, theirs, K[::2])
    assert ours.support_vectors_.shape == theirs.support_vectors_.shape


@pytest.mark.parametrize("classes", [2, 3])
def test_callable(classes):
    """A kernel function."""
    X, y = blobs(n=60, classes=classes)
    ours, theirs = both(X, y, kernel=gaussian)
    assert_same_model(ours, theirs, X)


def test_sigmoid_where_it_is_nearly_definite():
    """With a small gamma the sigmoid kernel is close to linear and both solvers agree."""
    X, y = noisy(n=40, seed=1)
    ours, theirs = both(X, y, kernel="sigmoid", gamma=1e-3, coef0=0.0, C=10.0)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-3)


@pytest.mark.parametrize("classes", [2, 4])
def test_linear_coef(classes):
    """coef_ has one row per pair, with SVC's signs; other kernels have none."""
    X, y = blobs(n=60, classes=classes)
    ours, theirs = both(X, y, kernel="linear")
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-4)
    assert not hasattr(PSVC(kernel="rbf").fit(X, y), "coef_")


def test_linear_coef_of_sparse_data():
    """coef_ of a sparse fit reproduces its decision function."""
    X, y = blobs(n=60, classes=2, d=8)
    X = sp.csr_matrix(np.where(np.abs(X) > 0.8, X, 0.0))
    model = PSVC(kernel="linear").fit(X, y)
    values = X @ dense(model.coef_).ravel() + model.intercept_[0]
    assert model.decision_function(X) == pytest.approx(values, abs=1e-8)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_shapes_for_every_p(classes, p):
    """The fitted attributes have SVC's shapes and integer types whatever the exponent."""
    X, y = blobs(n=75, classes=classes)
    ours, theirs = PSVC(p=p, kernel="linear").fit(X, y), SVC(kernel="linear").fit(X, y)
    pairs = classes * (classes - 1) // 2
    assert ours.intercept_.shape == theirs.intercept_.shape == (pairs,)
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.n_support_.shape == theirs.n_support_.shape == (classes,)
    assert ours.dual_coef_.shape == (classes - 1, ours.n_support_.sum())
    assert ours.support_vectors_ == pytest.approx(X[ours.support_])
    assert np.all(np.diff(y[ours.support_]) >= 0), "support vectors are grouped by class"
    assert np.issubdtype(ours.support_.dtype, np.integer)
    for name in ("dual_gap_", "primal_objective_", "dual_objective_", "status_", "history_"):
        assert len(getattr(ours, name)) == pairs
    for shape, width in (("ovo", pairs), ("ovr", classes)):
        values = PSVC(p=p, decision_function_shape=shape).fit(X, y).decision_function(X)
        assert values.shape == ((75,) if classes == 2 else (75, width))


@pytest.mark.parametrize("p", [1, 1.5, 3])
@pytest.mark.parametrize("classes", [2, 3])
def test_decision_from_the_public_attributes(p, classes):
    """dual_coef_, support_ and intercept_ rebuild the pairwise decision the way SVC's do."""
    X, y = blobs(n=60, classes=classes)
    model = PSVC(p=p, gamma=0.4, decision_function_shape="ovo").fit(X, y)
    K = kernel_matrix("rbf", X, X[model.support_])
    start = np.concatenate([[0], np.cumsum(model.n_support_)])
    columns = []
    for i in range(classes):
        for j in range(i + 1, classes):
            mine, other = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
            value = K[:, mine] @ model.dual_coef_[j - 1, mine]
            columns.append(value + K[:, other] @ model.dual_coef_[i, other])
    expected = np.column_stack(columns) + model.intercept_
    values = model.decision_function(X)
    assert values == pytest.approx(expected if classes > 2 else expected.ravel(), abs=1e-6)


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("p", [1, 1.5])
def test_predict_is_the_argmax(p, shape):
    """predict follows the ovr decision function even where votes are tied (SVC: break_ties)."""
    X, y = blobs(n=90, classes=5, spread=3.0)
    model = PSVC(p=p, decision_function_shape=shape, gamma=0.4).fit(X, y)
    grid = np.random.default_rng(0).normal(size=(500, 3)) * 4
    values = model.set_params(decision_function_shape="ovr").decision_function(grid)
    model.set_params(decision_function_shape=shape)
    assert np.array_equal(model.predict(grid), model.classes_[values.argmax(axis=1)])
    if p == 1:
        theirs = SVC(gamma=0.4, tol=1e-9, break_ties=True).fit(X, y)
        assert np.mean(model.predict(grid) == theirs.predict(grid)) > 0.99


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_p_2_is_a_hard_margin_on_a_ridged_kernel(C):
    """The conjugate at p = 2 is alpha^2 / (4C): SVC with K + I / (2C) has the same dual."""
    X, y = noisy(n=45, seed=2)
    K = kernel_matrix("rbf", X)
    ours = PSVC(p=2, C=C, kernel="precomputed", tol=TIGHT).fit(K, y)
    theirs = SVC(C=1e10, kernel="precomputed", tol=1e-9).fit(K + np.eye(45) / (2 * C), y)
    assert ours.support_.tolist() == theirs.support_.tolist()
    scale = np.abs(theirs.dual_coef_).max()
    assert ours.dual_coef_ == pytest.approx(theirs.dual_coef_, abs=1e-5 * scale)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)


def test_hard_margin_is_the_limit_of_svc():
    """C = inf equals SVC with a C that no alpha reaches."""
    X, y = noisy(n=40, seed=3)
    ours = PSVC(p=1, C=np.inf, gamma=2.0, tol=1e-9).fit(X, y)
    theirs = SVC(C=1e8, gamma=2.0, tol=1e-9).fit(X, y)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-4)


def test_gamma_scale_and_auto_mean_what_they_mean_for_svc():
    """gamma = 1 / (d Var X) and 1 / d."""
    X, y = noisy(n=40, d=4, seed=3)
    X = 3.0 * X
    for gamma in ("scale", "auto"):
        assert_same_model(*both(X, y, gamma=gamma), X)
