"""Exact Shapley values: against the sum over all sets of features, shap and shapiq."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from export_models import several_classes
from messages import assert_mentions
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_data import real

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.explaining import PRODUCT_KERNELS, shapley_values


def factors(model, x):
    """The kernel of every feature of a row with every support vector, by its formula."""
    distance = np.abs(x - model.support_vectors_)
    return np.exp(-model._kernel.gamma * (distance**2 if model.kernel == "rbf" else distance))


def by_definition(model, x, background):
    """Shapley values of a model of two classes by the sum over all sets of features."""
    d = x.size
    here = factors(model, x)
    others = [np.ones_like(here)] if background is None else [factors(model, b) for b in background]

    def worth(chosen):
        mask = np.isin(np.arange(d), chosen)
        return np.mean(
            [model.dual_coef_[0] @ np.where(mask, here, there).prod(axis=1) for there in others]
        )

    values = np.zeros(d)
    for j in range(d):
        rest = [i for i in range(d) if i != j]
        for size in range(d):
            weight = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
            for chosen in itertools.combinations(rest, size):
                values[j] += weight * (worth([*chosen, j]) - worth(list(chosen)))
    return values


@pytest.mark.parametrize("kernel", PRODUCT_KERNELS)
@pytest.mark.parametrize("features", [1, 4, 5])
@pytest.mark.parametrize("background", [False, True])
def test_equals_the_definition(kernel, features, background):
    X, y = real("breast_cancer")
    X = X[:120, :features]
    model = PSVC(p=1.5, kernel=kernel).fit(X, y[:120])
    usual = X[40:43] if background else None
    found = shapley_values(model, X[:2], usual)
    for x, values in zip(X[:2], found.values, strict=True):
        np.testing.assert_allclose(values, by_definition(model, x, usual), atol=1e-12)


@pytest.mark.parametrize("kernel", PRODUCT_KERNELS)
@pytest.mark.parametrize("background", [False, True])
def test_values_add_up_to_the_decision(kernel, background):
    X, y = real("breast_cancer")  # 30 features: 2^30 sets
    for gamma in (0.01, 1.0, 1e4):  # up to kernels that underflow
        model = PSVC(kernel=kernel, gamma=gamma).fit(X, y)
        found = shapley_values(model, X[:3] + 0.01, X[50:60] if background else None)
        assert found.values.shape == (3, X.shape[1])
        total = found.values.sum(axis=1) + found.base_values
        np.testing.assert_allclose(total, model.decision_function(X[:3] + 0.01), atol=1e-10)
    if background:
        mean = model.decision_function(X[50:60]).mean()
        np.testing.assert_allclose(found.base_values, mean, atol=1e-10)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_one_value_for_every_problem(multi_class):
    X, y = several_classes("wine")
    y = np.where(np.arange(len(y)) % 5 == 0, 3, y)  # four classes, six pairs
    shape = {"multi_class": multi_class, "decision_function_shape": "ovo"}
    model = PSVC(**shape).fit(X, y)
    found = shapley_values(model, X[:4], X[:7])
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, model.decision_function(X[:4]), atol=1e-10)
    assert found.values.shape == (4, 13, 6 if multi_class == "ovo" else 4)


def test_a_search_sparse_rows_and_an_unused_feature():
    X, y = real("breast_cancer")
    X = X[:, :6].copy()
    X[:, 2] = 1.5  # the same everywhere
    search = PSVCCV((1, 2), (1,), (0.1,), cv=2).fit(sp.csr_matrix(X), y)
    found = shapley_values(search, sp.csr_matrix(X[:5]), X[:10])
    again = shapley_values(search.best_estimator_, X[:5], X[:10])
    np.testing.assert_array_equal(found.values, again.values)
    assert (found.values[:, 2] == 0.0).all()


def test_blocks_of_background_rows_change_nothing(monkeypatch):
    X, y = real("breast_cancer")
    model = PSVC().fit(X, y)
    whole = shapley_values(model, X[:2], X[:20])
    monkeypatch.setattr("psvm.explaining._BLOCK", 3 * model.support_vectors_.size)
    parts = shapley_values(model, X[:2], X[:20])
    np.testing.assert_allclose(parts.values, whole.values, atol=1e-13)
    np.testing.assert_allclose(parts.base_values, whole.base_values, atol=1e-13)


def test_a_search_with_a_preprocessor_is_explained_as_its_error_says():
    X, y = real("breast_cancer")
    search = PSVCCV([1.5], [1.0], [0.03], preprocessor=StandardScaler(), cv=2).fit(X, y)
    with pytest.raises(TypeError) as caught:
        shapley_values(search, X[:2])
    assert_mentions(str(caught.value), "best_estimator_[-1]", "preprocessor_.transform(X)")
    found = shapley_values(search.best_estimator_[-1], search.preprocessor_.transform(X[:2]))
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, search.decision_function(X[:2]), atol=1e-12)


def test_what_cannot_be_explained_is_said():
    X, y = real("breast_cancer")
    for model, *mentioned in (
        (PSVC(kernel="poly").fit(X, y), "kernel='poly'", "'rbf' or 'laplacian'"),
        (LinearPSVC().fit(X, y), "LinearPSVC", "LinearExplainer"),
        (make_pipeline(StandardScaler(), PSVC()).fit(X, y), "Pipeline", "last step"),
    ):
        with pytest.raises(TypeError) as caught:
            shapley_values(model, X)
        assert_mentions(str(caught.value), *mentioned)
    with pytest.raises(NotFittedError):
        shapley_values(PSVC(), X)
    model = PSVC().fit(X, y)
    with pytest.raises(ValueError, match="`background` must have rows of 30 features"):
        shapley_values(model, X[:2], X[:, :3])
    with pytest.raises(ValueError, match="`X` must be finite"):
        shapley_values(model, np.full((1, 30), np.nan))


# --- other packages ------------------------------------------------------------------------------


def test_shapiq_agrees():
    product_kernel = pytest.importorskip("shapiq.explainer.product_kernel.product_kernel")
    base = pytest.importorskip("shapiq.explainer.product_kernel.base")
    X, y = real("breast_cancer")
    X = X[:, :10]
    model = PSVC(p=2).fit(X, y)
    n, d = model.support_vectors_.shape
    same = base.ProductKernelModel(
        model.support_vectors_, model.dual_coef_[0], n, d, model._kernel.gamma
    )
    computer = product_kernel.ProductKernelComputer(same, max_order=1, index="SV")
    vectors = computer.compute_kernel_vectors(model.support_vectors_, X[0])
    theirs = [computer.compute_shapley_value(vectors, j) for j in range(d)]
    np.testing.assert_allclose(shapley_values(model, X[:1]).values[0], theirs, atol=1e-9)


@pytest.fixture(scope="module")
def shap():
    """The package; what it warns of while it is imported is its own affair."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("shap")


@pytest.mark.filterwarnings("default")
def test_shap_of_kernel_models(shap):
    X, y = real("breast_cancer")
    X = X[:, :6]
    model = PSVC(kernel="laplacian").fit(X, y)
    ours = shapley_values(model, X[:3], X[20:30])
    explainer = shap.KernelExplainer(model.decision_function, X[20:30])
    theirs = explainer.shap_values(X[:3], silent=True)
    np.testing.assert_allclose(theirs, ours.values, atol=1e-8)
    np.testing.assert_allclose(explainer.expected_value, ours.base_values[0], atol=1e-10)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_shap_of_linear_models(shap, name):
    X, y = real(name) if name == "breast_cancer" else several_classes(name)
    model = LinearPSVC(multi_class="ovr").fit(X, y)
    explainer = shap.LinearExplainer(model, X)
    values = explainer.shap_values(X[:5])
    total = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.decision_function(X[:5]), atol=1e-9)
