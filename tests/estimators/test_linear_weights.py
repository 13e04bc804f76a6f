"""LinearPSVC with several classes: coef_ and intercept_ are the decision, or are not there."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from messages import assert_mentions
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.svm import LinearSVC
from small_data import blobs

from psvm import PSVC, PSVCCV, LinearPSVC, psvm_path

NAMES = ["coef_", "intercept_"]


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_linear_identity_at_the_defaults(classes, sparse):
    """What shap, eli5 and others assume of a linear model, with the shapes of LinearSVC."""
    X, y = blobs(n=90, classes=classes, spread=2.5)
    model, theirs = LinearPSVC().fit(X, y), LinearSVC().fit(X, y)
    if sparse:
        model = LinearPSVC().fit(sp.csr_matrix(X), y)
    for name in NAMES:
        assert type(getattr(model, name)) is np.ndarray
        assert getattr(model, name).shape == getattr(theirs, name).shape
    values = X @ model.coef_.T + model.intercept_
    assert model.decision_function(X) == pytest.approx(values[:, 0] if classes == 2 else values)
    assert not hasattr(model, "pair_coef_")


@pytest.mark.parametrize("name", NAMES)
def test_pairs_have_other_names(name):
    X, y = blobs(n=60, classes=3)
    model = LinearPSVC(multi_class="ovo").fit(X, y)
    assert not hasattr(model, name)
    with pytest.raises(AttributeError) as error:
        getattr(model, name)
    assert_mentions(
        str(error.value), f"LinearPSVC has no {name}", "pair_coef_", "pair_intercept_", "'ovr'"
    )
    assert model.pair_coef_.shape == (3, X.shape[1])
    assert model.pair_intercept_.shape == (3,)


def test_two_classes_are_no_pairs():
    """One problem is a linear model, whatever it is called."""
    X, y = blobs(n=60, classes=2)
    model = LinearPSVC(multi_class="ovo").fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert not hasattr(model, "pair_coef_")


def test_what_takes_linear_models_refuses_pairs():
    X, y = blobs(n=60, classes=3)
    with pytest.raises(ValueError, match="coef_"):
        SelectFromModel(LinearPSVC(multi_class="ovo")).fit(X, y).transform(X)
    assert SelectFromModel(LinearPSVC()).fit(X, y).transform(X).shape[1] >= 1


@pytest.mark.parametrize("name", NAMES)
def test_before_fit(name):
    assert not hasattr(LinearPSVC(), name)
    with pytest.raises(AttributeError, match=f"LinearPSVC has no {name}: it is not fitted yet"):
        getattr(LinearPSVC(), name)


def test_a_further_fit_leaves_no_other_names():
    X, y = blobs(n=60, classes=3)
    model = LinearPSVC()
    for multi_class, there, gone in (
        ("ovr", "coef_", "pair_coef_"),
        ("ovo", "pair_coef_", "coef_"),
        ("ovr", "coef_", "pair_coef_"),
    ):
        model.set_params(multi_class=multi_class).fit(X, y)
        assert hasattr(model, there)
        assert not hasattr(model, gone)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert model.fit(X, y == 0).coef_.shape == (1, X.shape[1])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_multi_class_is_not_changed_after_fit(multi_class):
    X, y = blobs(n=60, classes=3)
    model = LinearPSVC(multi_class=multi_class).fit(X, y)
    model.multi_class = "ovr" if multi_class == "ovo" else "ovo"
    with pytest.raises(ValueError, match=r"coef_` must be.*fit again"):
        model.predict(X)


def test_searches_and_paths_of_pairs():
    """PSVCCV and psvm_path keep to pairs, as PSVC does, unless told otherwise."""
    X, y = blobs(n=60, classes=3)
    for multi_class in ("ovo", "ovr"):
        search = PSVCCV((1.5,), (1.0,), kernel="linear", cv=2, multi_class=multi_class).fit(X, y)
        alone = LinearPSVC(p=1.5, multi_class=multi_class).fit(X, y)
        assert search.decision_function(X) == pytest.approx(alone.decision_function(X), abs=0.01)
        assert hasattr(search.best_estimator_, "coef_") == (multi_class == "ovr")
        path = psvm_path(X, y, ps=[1.5], Cs=[1.0], kernel="linear", multi_class=multi_class)
        coef, intercept = alone._as_arrays().weights, alone._as_arrays().intercept
        assert path.coef[0, 0] == pytest.approx(coef, abs=1e-3)
        assert path.intercept[0, 0] == pytest.approx(intercept, abs=1e-2)


def test_the_linear_kernel_has_the_weights_of_pairs_as_svc():
    """PSVC's are those of SVC: the identity is that of decision_function_shape="ovo"."""
    X, y = blobs(n=60, classes=4)
    model = PSVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    assert model.coef_.shape == (6, X.shape[1])
    assert model.decision_function(X) == pytest.approx(X @ model.coef_.T + model.intercept_)


def test_weights_and_coefficients_are_dense_for_sparse_rows():
    """SVC's are sparse then: arrays that have no zeros to leave out."""
    X, y = blobs(n=60, classes=3)
    rows = sp.csr_matrix(X)
    for kernel in ("linear", "rbf"):
        dense, sparse = (PSVC(kernel=kernel).fit(one, y) for one in (X, rows))
        assert type(sparse.dual_coef_) is np.ndarray
        assert sparse.dual_coef_ == pytest.approx(dense.dual_coef_, abs=1e-6)
        assert sp.issparse(sparse.support_vectors_)
    linear = clone(dense).set_params(kernel="linear").fit(rows, y)
    assert type(linear.coef_) is np.ndarray
