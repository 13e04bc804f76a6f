"""Probabilities: ONNX and JSON give those of PSVCCV and CalibratedClassifierCV."""

import warnings

import numpy as np
import pytest
from export_checks import assert_exports_agree, assert_same, expected_of, in_json, in_onnx
from export_models import several_classes, words
from messages import assert_mentions
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_data import real

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.persistence import UnsupportedModelError, to_json, to_onnx, write_libsvm
from psvm.persistence.probabilities import of_search

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def data(name):
    X, y = real(name) if name == "breast_cancer" else several_classes(name)
    return X, (y > 0).astype(int) if name == "breast_cancer" else words(y)


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "digits"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_probabilities_of_a_search(name, multi_class, kernel):
    X, y = data(name)
    search = PSVCCV((1, 2), (0.1, 1), (0.01, 0.1), kernel=kernel, multi_class=multi_class, cv=3)
    model = make_pipeline(StandardScaler(), search).fit(X, y)
    assert_exports_agree(model, X)
    assert to_json(model)["version"] == 1  # labels and decisions are as ever


def test_pairs_in_float32():
    X, y = data("digits")
    model = PSVCCV((1.5,), (1,), (0.01,), cv=3).fit(X, y)
    found = in_onnx(model, X, "float32", arithmetic="float32")
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    "inside",
    [PSVC(), LinearPSVC(), make_pipeline(StandardScaler(), PCA(4), PSVC(p=2, C=0.1))],
    ids=["kernel", "linear", "pipeline"],
)
def test_calibrated(name, method, ensemble, inside):
    X, y = data(name)
    model = CalibratedClassifierCV(inside, method=method, ensemble=ensemble, cv=3).fit(X, y)
    assert_exports_agree(model, X)
    assert to_json(model)["version"] == 2


def test_calibrated_in_pipelines_and_searches():
    X, y = data("wine")
    search = PSVCCV((1,), (0.1, 1), (0.1,), cv=2)
    frozen = FrozenEstimator(PSVC().fit(X[:60], y[:60]))
    for model in (
        make_pipeline(StandardScaler(), CalibratedClassifierCV(search, cv=2)),
        GridSearchCV(CalibratedClassifierCV(PSVC(), cv=2), {"estimator__C": [0.1, 1]}, cv=2),
        CalibratedClassifierCV(frozen, cv=2),
        CalibratedClassifierCV(PSVC(multi_class="ovr"), cv=2),
    ):
        assert_exports_agree(model.fit(X, y), X)


def test_a_class_that_a_fold_lacks():
    X, y = data("wine")
    folds = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    few = np.where(y == "oak", "ash", y)
    few[:6] = "zinc"  # in the training part of the first fold only
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CalibratedClassifierCV(PSVC(), cv=folds).fit(X, few)
    sizes = [len(member.estimator.classes_) for member in model.calibrated_classifiers_]
    assert len(set(sizes)) == 2
    expected = expected_of(model, X)
    assert_same(in_onnx(model, X), expected, 1e-10)
    assert_same(in_json(model, X), expected, 1e-10)


def test_a_search_has_curves_for_its_problems():
    X, y = data("wine")
    search = PSVCCV((1,), (1,), (0.1,), cv=2).fit(X, y)
    found, sigmoids = of_search(search._calibration), search._calibration.sigmoids
    assert found.combined == "pairs coupled"
    assert [curve.slope for curve in found.curves] == [one.slope for one in sigmoids]


def test_what_has_no_place_is_said(tmp_path):
    X, y = data("breast_cancer")
    model = CalibratedClassifierCV(PSVC(), cv=2).fit(X, y)
    with pytest.raises(UnsupportedModelError) as caught:
        write_libsvm(model, tmp_path / "m")
    assert_mentions(str(caught.value), "calibrated_classifiers_", "ONNX")
    assert [value.name for value in to_onnx(model).graph.output] == ["label", "probabilities"]
