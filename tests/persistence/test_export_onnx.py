"""ONNX graphs in onnxruntime: decisions to 1e-5 (float32) and 1e-10 (float64), labels always."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from export_models import KERNELS, several_classes, table, words
from messages import assert_mentions
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
from small_data import real, thin

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.persistence import UnsupportedModelError, to_onnx, write_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

AGREES = {"float32": 1e-5, "float64": 1e-10}


def session(model):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(model.SerializeToString(), options)


def run(model, X, dtype="float32", **options):
    """Labels and decisions in onnxruntime."""
    graph = to_onnx(model, dtype=dtype, **options)
    return session(graph).run(["label", "decision"], {"X": np.asarray(X, dtype=dtype)})


def assert_agrees(model, X, dtype="float32", agrees=None, **options):
    X = np.asarray(X, dtype=dtype).astype(np.float64)  # the same rows for both
    label, decision = run(model, X, dtype, **options)
    ours = model.decision_function(X)
    assert decision.dtype == dtype
    assert decision.shape == ours.shape
    scale = np.abs(ours).max()
    assert np.abs(decision - ours).max() <= (agrees or AGREES[dtype]) * scale
    np.testing.assert_array_equal(label, model.predict(X))


@pytest.mark.parametrize("dtype", AGREES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_two_classes(kernel, dtype):
    X, y = real("breast_cancer")
    assert_agrees(PSVC(kernel=kernel, coef0=0.5, degree=2).fit(X, y), X, dtype)


@pytest.mark.parametrize("dtype", AGREES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "shape",
    [{}, {"decision_function_shape": "ovo"}, {"multi_class": "ovr"}],
    ids=["votes", "pairs", "rest"],
)
def test_several_classes(kernel, shape, dtype):
    X, y = several_classes("digits" if kernel == "rbf" else "wine")
    assert_agrees(PSVC(kernel=kernel, **shape).fit(X, y), X, dtype)


@pytest.mark.parametrize("dtype", AGREES)
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_linear_model(name, multi_class, dtype):
    X, y = real(name) if name == "breast_cancer" else several_classes(name)
    assert_agrees(LinearPSVC(multi_class=multi_class).fit(X, y), X, dtype)


@pytest.mark.parametrize("name", ["glass", "vehicle", "satimage"])
def test_shared_sets(name):
    X, y = several_classes(name)
    model = make_pipeline(StandardScaler(), PSVC(p=1.25, C=100.0)).fit(X, y)
    for dtype in AGREES:
        assert_agrees(model, X, dtype)


@pytest.mark.parametrize("dtype", AGREES)
@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 2), clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False),
        "passthrough",
    ],
    ids=str,
)
def test_scaled(scaler, dtype):
    X, y = real("breast_cancer")
    X = 3.0 * X + 7.0
    model = make_pipeline(scaler, PSVC(gamma=0.02)).fit(X[:60], y[:60])
    assert_agrees(model, X, dtype)  # with rows beyond the range of training


@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential", "linear"])
@pytest.mark.parametrize("scaler", [None, StandardScaler(), MinMaxScaler()], ids=str)
def test_far_from_the_origin(scaler, kernel, arithmetic):
    """Rows 10,000 standard deviations away: float32 rows hold 3 digits of what differs."""
    X, y = real("breast_cancer")
    X = (X + 1e4).astype(np.float32)
    gamma = 0.5 if isinstance(scaler, MinMaxScaler) else 1 / 30
    model = make_pipeline(scaler, PSVC(kernel=kernel, gamma=gamma)).fit(X.astype(float), y)
    # <w, x> and b cancel: of their float32 difference three digits are left.
    cancels = kernel == "linear" and scaler is None and arithmetic == "float32"
    assert_agrees(model, X, "float32", agrees=1e-2 if cancels else 1e-5, arithmetic=arithmetic)


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
def test_clusters_far_from_each_other(kernel, pack):
    """No shift brings them near the origin: distances are sums of differences."""
    X, y = real("breast_cancer")
    X = X + np.where(np.arange(len(y)) % 2, 1e7, -1e7)[:, None]
    model = PSVC(kernel=kernel, gamma=1 / 30, C=10.0).fit(pack(X), y)
    assert_agrees(model, X, "float64")
    with pytest.raises(UnsupportedModelError, match=r"float32.* dtype='float64'"):
        to_onnx(model)
    with pytest.raises(UnsupportedModelError, match=r"float32.* arithmetic='float64'"):
        to_onnx(model, dtype="float64", arithmetic="float32")


def test_a_narrow_kernel():
    X, y = real("breast_cancer")
    model = PSVC(gamma=1e12, C=10.0).fit(X, y)
    assert_agrees(model, X, "float64")


def test_float32_arithmetic_is_close_and_smaller():
    X, y = several_classes("digits")
    model = PSVC().fit(X, y)
    assert_agrees(model, X, arithmetic="float32")
    small, large = (to_onnx(model, arithmetic=kind).ByteSize() for kind in AGREES)
    assert small < 0.6 * large


def test_labels_and_their_types():
    X, y = several_classes("wine")
    for labels, kind in (
        (words(y), object),
        (words(y).astype(object), object),
        (y * 10 - 5, np.int64),
        (y.astype(np.uint8), np.int64),
        (y + 1.5, np.float64),
        (y > 0, np.bool_),
    ):
        if labels.dtype.kind == "f":
            labels = np.round(labels)  # scikit-learn takes 0.5 for a regression
        model = LinearPSVC().fit(X, labels)
        label, _ = run(model, X)
        assert label.dtype == kind
        np.testing.assert_array_equal(label, model.predict(X))


def test_texts_beyond_ascii_as_labels():
    X, y = several_classes("wine")
    model = LinearPSVC().fit(X, np.array(["ähre", "Δ", "木"])[y])
    np.testing.assert_array_equal(run(model, X)[0], model.predict(X))


def test_precomputed_kernel():
    X, y = several_classes("wine")
    K = X @ X.T
    assert_agrees(PSVC(kernel="precomputed").fit(K, y), K[:20], "float64")


def test_sparse_support_vectors():
    X, y = thin()
    for kernel in ("rbf", "laplacian"):
        assert_agrees(PSVC(kernel=kernel).fit(sp.csr_matrix(X), y), X, "float64")


def test_search_and_nested_pipelines():
    X, y = several_classes("iris")
    inner = make_pipeline(MinMaxScaler(), LinearPSVC())
    model = GridSearchCV(
        make_pipeline(StandardScaler(), inner), {"pipeline__linearpsvc__C": [0.1, 1]}, cv=2
    ).fit(X, y)
    assert_agrees(model, X)


@pytest.mark.parametrize("dtype", AGREES)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_psvccv_is_exported_as_its_model(kernel, dtype):
    X, y = several_classes("wine")
    search = PSVCCV((1, 2), (0.1, 1), (0.01, 0.1), kernel=kernel, cv=3)
    assert_agrees(make_pipeline(StandardScaler(), search).fit(X, words(y)), X, dtype)
    assert_agrees(search.set_params(preprocessor=StandardScaler()).fit(X, words(y)), X, dtype)


def test_table_of_numbers_and_texts():
    model, frame = table()
    for dtype in AGREES:
        graph = to_onnx(model, dtype=dtype, inputs="array")
        assert [value.name for value in graph.graph.input] == ["X", "texts"]
        told = {item.key: item.value for item in graph.metadata_props}
        numbers, texts = json.loads(told["columns of X"]), json.loads(told["columns of texts"])
        assert numbers == ["a", "b"]
        assert texts == ["kind", "place"]
        X = frame.select(numbers).to_numpy().astype(dtype)
        rows = frame.with_columns(a=X[:, 0].astype(float), b=X[:, 1].astype(float))
        given = frame.select(texts).fill_null("").to_numpy().astype(object)
        label, decision = session(graph).run(None, {"X": X, "texts": given})
        rows = rows.with_columns(rows["a"].fill_nan(None))
        ours = model.decision_function(rows)
        assert np.abs(decision - ours).max() <= AGREES[dtype] * np.abs(ours).max()
        np.testing.assert_array_equal(label, model.predict(rows))


def test_texts_only_and_numbers_as_categories():
    X, y = several_classes("wine")
    texts = np.column_stack([words(y), np.where(X[:, 0] > 0, "yes", "no")]).astype(object)
    model = make_pipeline(OneHotEncoder(drop="first"), PSVC()).fit(texts, y)
    label, decision = session(to_onnx(model, dtype="float64")).run(None, {"texts": texts})
    np.testing.assert_allclose(decision, model.decision_function(texts), atol=1e-10)
    np.testing.assert_array_equal(label, model.predict(texts))
    numbers = np.round(X[:, :3])
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearPSVC())
    assert_agrees(model.fit(numbers[:100], y[:100]), numbers, "float64")


def test_laplacian_needs_no_array_of_all_differences():
    """The largest array is n x n_SV: the graph sums one feature at a time, in a Scan."""
    X, y = several_classes("wine")
    graph = to_onnx(PSVC(kernel="laplacian").fit(X, y)).graph
    scan = next(node for node in graph.node if node.op_type == "Scan")
    body = next(item.g for item in scan.attribute if item.name == "body")
    inferred = onnx.shape_inference.infer_shapes(
        onnx.helper.make_model(body, opset_imports=[onnx.helper.make_opsetid("", 17)])
    )
    shapes = [len(value.type.tensor_type.shape.dim) for value in inferred.graph.value_info]
    assert shapes
    assert max(shapes) == 2


def test_only_primitive_operators_and_a_checked_file(tmp_path):
    X, y = several_classes("iris")
    write_onnx(PSVC(p=1.25).fit(X, y), tmp_path / "m.onnx", dtype="float64")
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [item.domain for item in model.opset_import] == [""]
    assert {node.domain for node in model.graph.node} == {""}
    told = {item.key: item.value for item in model.metadata_props}
    assert told["p"] == "1.25"
    assert told["kernel"] == "rbf"
    assert model.producer_name == "psvm"


def product(A, B):
    return A @ B.T


def test_what_cannot_be_exported_is_named():
    X, y = several_classes("iris")
    for model, *mentioned in (
        (PSVC(kernel=product), "kernel", "by name"),
        (CalibratedClassifierCV(SVC(), cv=2), "SVC", "PSVC", "CalibratedClassifierCV"),
        (OneVsRestClassifier(PSVC()), "OneVsRestClassifier"),
    ):
        with pytest.raises(UnsupportedModelError) as caught:
            to_onnx(model.fit(X, y))
        assert_mentions(str(caught.value), *mentioned)
    with pytest.raises(NotFittedError):
        to_onnx(PSVC())
    with pytest.raises(ValueError, match="`dtype` must be"):
        to_onnx(PSVC().fit(X, y), dtype="float16")


def test_missing_package_is_named(monkeypatch):
    X, y = several_classes("iris")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"'\.\[onnx\]'"):
        to_onnx(LinearPSVC().fit(X, y))
