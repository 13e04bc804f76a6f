"""Attributes changed by hand are refused when the model is used, never read out of bounds."""

import numpy as np
import pytest
import scipy.sparse as sp
from small_data import blobs

from psvm import PSVC, PSVCCV, LinearPSVC

X, Y = blobs(n=60, classes=3, d=4, seed=0)


KERNEL = {
    "fewer vectors": ("support_vectors_", lambda m: m.support_vectors_[:-1]),
    "more vectors": ("support_vectors_", lambda m: np.vstack([m.support_vectors_] * 2)),
    "narrower vectors": ("support_vectors_", lambda m: m.support_vectors_[:, :2].copy()),
    "wider vectors": ("support_vectors_", lambda m: np.hstack([m.support_vectors_] * 2)),
    "vectors of integers": ("support_vectors_", lambda m: m.support_vectors_.astype(int)),
    "vectors of objects": ("support_vectors_", lambda m: m.support_vectors_.astype(object)),
    "no vectors": ("support_vectors_", lambda m: None),
    "vectors in a list": ("support_vectors_", lambda m: m.support_vectors_.tolist()),
    "fewer coefficients": ("dual_coef_", lambda m: m.dual_coef_[:, :-1]),
    "a row of coefficients": ("dual_coef_", lambda m: m.dual_coef_[:1]),
    "flat coefficients": ("dual_coef_", lambda m: m.dual_coef_.ravel()),
    "complex coefficients": ("dual_coef_", lambda m: m.dual_coef_.astype(complex)),
    "coefficients of text": ("dual_coef_", lambda m: m.dual_coef_.astype(str)),
    "fewer intercepts": ("intercept_", lambda m: m.intercept_[:-1]),
    "one intercept": ("intercept_", lambda m: 0.5),
    "other counts": ("n_support_", lambda m: m.n_support_ + 1),
    "negative counts": ("n_support_", lambda m: m.n_support_ + np.array([-1000, 500, 500])),
    "fewer counts": ("n_support_", lambda m: m.n_support_[:-1]),
    "counts of floats": ("n_support_", lambda m: m.n_support_.astype(float)),
    "fewer classes": ("classes_", lambda m: m.classes_[:-1]),
    "more classes": ("classes_", lambda m: np.arange(9)),
    "classes in a list": ("classes_", lambda m: m.classes_.tolist()),
    "fewer features": ("n_features_in_", lambda m: 2),
    "more features": ("n_features_in_", lambda m: 400),
}
LINEAR = {
    "fewer weights": ("coef_", lambda m: m.coef_[:, :-1]),
    "fewer problems": ("coef_", lambda m: m.coef_[:-1]),
    "flat weights": ("coef_", lambda m: m.coef_.ravel()),
    "weights of objects": ("coef_", lambda m: m.coef_.astype(object)),
    "weights in a list": ("coef_", lambda m: m.coef_.tolist()),
    **{name: KERNEL[name] for name in KERNEL if KERNEL[name][0] in ("intercept_", "classes_")},
}


def refuses(model, X, match):
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=match):
            method(X)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize(("name", "change"), KERNEL.values(), ids=KERNEL.keys())
def test_a_changed_kernel_model_is_refused(name, change, multi_class):
    model = PSVC(multi_class=multi_class).fit(X, Y)
    setattr(model, name, change(model))
    rows = np.ones((3, model.n_features_in_))
    refuses(model, rows, "to fit the other attributes, got .* fit again")


@pytest.mark.parametrize(("name", "change"), LINEAR.values(), ids=LINEAR.keys())
def test_a_changed_linear_model_is_refused(name, change):
    model = LinearPSVC().fit(X, Y)
    setattr(model, name, change(model))
    refuses(model, X, "to fit the other attributes, got .* fit again")


@pytest.mark.parametrize("features", [2, 400])
def test_another_number_of_features_is_refused(features):
    model = LinearPSVC().fit(X, Y)
    model.n_features_in_ = features
    refuses(model, np.ones((3, features)), "`coef_` must be")


@pytest.mark.parametrize("Estimator", [PSVC, LinearPSVC])
def test_another_multi_class_is_refused(Estimator):
    model = Estimator(multi_class="ovo").fit(*blobs(n=80, classes=4, d=4))
    refuses(model.set_params(multi_class="ovr"), X, "`multi_class` .* not to be changed")


def test_sparse_vectors_with_an_index_outside_are_refused():
    model = PSVC().fit(sp.csr_matrix(X), Y)
    model.support_vectors_.indices[0] = 10**6
    refuses(model, X, "`support_vectors_` is a malformed CSR matrix")


@pytest.mark.parametrize("wrong", [60, -1])
def test_a_column_outside_of_a_precomputed_kernel_is_refused(wrong):
    model = PSVC(kernel="precomputed").fit(X @ X.T, Y)
    model.support_[0] = wrong
    refuses(model, X @ X.T, r"`support_` must be .* row numbers in \[0, 60\)")


def test_the_model_of_a_search_is_checked():
    search = PSVCCV([1.5], [1.0], [1.0], cv=2).fit(X, Y)
    search.best_estimator_.dual_coef_ = search.best_estimator_.dual_coef_[:, 1:]
    refuses(search, X, "to fit the other attributes")
    with pytest.raises(ValueError, match="to fit the other attributes"):
        search.predict_proba(X)


def test_numbers_of_another_type_are_fine():
    """Weights a user rounds or averages, as long as they are numbers of the same shape."""
    model = LinearPSVC().fit(X, Y)
    model.coef_, model.intercept_ = np.rint(model.coef_ * 10).astype(int), np.zeros(3, np.float32)
    values = np.asarray(X) @ model.coef_.T
    np.testing.assert_allclose(model._problem_decisions(X), values)
    kernel = PSVC().fit(X, Y)
    before = kernel.decision_function(X)
    kernel.dual_coef_ = np.asfortranarray(kernel.dual_coef_)
    np.testing.assert_array_equal(kernel.decision_function(X), before)
