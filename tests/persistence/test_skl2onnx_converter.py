"""skl2onnx: pipelines with steps that only it knows, with our estimators at their end."""

import sys

import numpy as np
import pytest
from export_checks import session
from export_models import several_classes, words
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, PowerTransformer, StandardScaler
from small_data import real

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.persistence import UnsupportedModelError, register_skl2onnx

skl2onnx = pytest.importorskip("skl2onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture(autouse=True)
def registered():
    register_skl2onnx()


def converted(model, X, **options):
    graph = skl2onnx.to_onnx(model, X[:1], **options)
    names = [value.name for value in graph.graph.output]
    feed = {graph.graph.input[0].name: X}
    return dict(zip(names, session(graph).run(names, feed), strict=True))


MODELS = [
    PSVC(),
    PSVC(kernel="laplacian", decision_function_shape="ovo"),
    PSVC(multi_class="ovr"),
    LinearPSVC(),
    PSVCCV((1.5,), (0.1, 1), (0.1,), cv=2),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_in_a_pipeline_of_skl2onnx(model, name, dtype):
    X, y = real(name) if name == "breast_cancer" else several_classes(name)
    X, y = X[:, :10].astype(dtype), y if name == "breast_cancer" else words(y)
    bins = KBinsDiscretizer(4, encode="onehot-dense", quantile_method="linear")
    pipeline = make_pipeline(StandardScaler(), bins, model).fit(X, y)
    found = converted(pipeline, X)
    ours = pipeline.decision_function(X)
    assert found["decision"].dtype == dtype
    np.testing.assert_allclose(found["decision"], ours, atol=1e-5 * np.abs(ours).max())
    np.testing.assert_array_equal(found["label"], pipeline.predict(X))
    assert ("probabilities" in found) == isinstance(model, PSVCCV)
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], pipeline.predict_proba(X), atol=1e-5)


def test_the_step_that_we_refuse_and_the_arithmetic():
    X, y = several_classes("wine")
    X = X.astype("float32")  # skl2onnx's PowerTransformer knows no other
    model = make_pipeline(PowerTransformer(), PSVC()).fit(X, y)
    ours = model.decision_function(X)
    found = converted(model, X)
    np.testing.assert_allclose(found["decision"], ours, atol=1e-4)
    rough = converted(model, X, options={PSVC: {"arithmetic": "float32"}})
    np.testing.assert_allclose(rough["decision"], ours, atol=1e-3)
    assert (rough["decision"] != found["decision"]).any()


def test_what_comes_before_the_classifier_of_a_search():
    """Its preprocessor is converted like a step, and need not be one that we know."""
    X, y = several_classes("wine")
    X = X.astype("float32")
    search = PSVCCV([1.5], [0.1, 1.0], [0.1], preprocessor=PowerTransformer(), cv=2).fit(X, y)
    found = converted(search, X)
    np.testing.assert_array_equal(found["label"], search.predict(X))
    np.testing.assert_allclose(found["decision"], search.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(found["probabilities"], search.predict_proba(X), atol=1e-4)
    assert search.predict(X).shape == y.shape
    assert isinstance(search.best_estimator_[0], PowerTransformer)  # it stays as it is
    behind = make_pipeline(StandardScaler(), search).fit(X, y)
    np.testing.assert_array_equal(converted(behind, X)["label"], behind.predict(X))


def test_inside_another_estimator_it_says_what_to_do():
    X, y = several_classes("wine")
    with pytest.raises(UnsupportedModelError, match="to_onnx"):
        converted(CalibratedClassifierCV(PSVC(), cv=2).fit(X, y), X)
    behind = make_pipeline(StandardScaler(), PSVC())
    with pytest.raises(UnsupportedModelError, match="to_onnx"):
        converted(CalibratedClassifierCV(behind, cv=2).fit(X, y), X)


def test_the_option_that_everyone_gives():
    """``zipmap=False``: probabilities are an array with it and without."""
    X, y = several_classes("wine")
    X = X.astype("float32")
    model = PSVCCV([1.5], [1.0], [0.1], preprocessor=StandardScaler(), cv=2).fit(X, y)
    for options in ({"zipmap": False}, {PSVCCV: {"zipmap": False}}, {id(model): {"zipmap": True}}):
        found = converted(model, X, options=options)
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-5)
    behind = make_pipeline(StandardScaler(), PSVC()).fit(X, y)
    found = converted(behind, X, options={id(behind): {"zipmap": False}})
    np.testing.assert_array_equal(found["label"], behind.predict(X))


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ModuleNotFoundError, match="to_onnx"):
        register_skl2onnx()
