"""JSON: the evaluator in docs/model-files.md, which knows nothing of psvm, decides as psvm does."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from export_checks import PAGE, evaluator
from export_models import KERNELS, several_classes, table, words
from messages import assert_mentions
from old_packages import needs_polars_in_sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from small_data import real

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.persistence import UnsupportedModelError, export, to_json, write_json


@pytest.fixture(scope="module")
def evaluate():
    return evaluator()


def assert_agrees(evaluate, model, rows, expected_rows=None):
    text = json.dumps(to_json(model), allow_nan=False)
    plain = rows.tolist() if isinstance(rows, np.ndarray) else rows
    found = [evaluate(json.loads(text), row) for row in plain]
    rows = rows if expected_rows is None else expected_rows
    ours = model.decision_function(rows)
    decisions = np.array([decision for _, decision, _ in found])
    np.testing.assert_allclose(decisions, ours, rtol=0, atol=1e-10 * np.abs(ours).max())
    assert [label for label, _, _ in found] == model.predict(rows).tolist()


@pytest.mark.parametrize("kernel", KERNELS)
def test_two_classes(kernel, evaluate):
    X, y = real("breast_cancer")
    model = PSVC(kernel=kernel, coef0=0.5, degree=2).fit(X, y)
    assert_agrees(evaluate, model, X[:30])


@pytest.mark.parametrize(
    "model",
    [
        PSVC(),
        PSVC(decision_function_shape="ovo"),
        PSVC(multi_class="ovr", kernel="laplacian"),
        LinearPSVC(),
        LinearPSVC(multi_class="ovr"),
        GridSearchCV(make_pipeline(StandardScaler(), PSVC()), {"psvc__C": [1, 10]}, cv=2),
        make_pipeline(MinMaxScaler(clip=True), LinearPSVC()),
        PSVCCV((1, 2), (1, 10), (0.01, 0.1), cv=2),
        make_pipeline(StandardScaler(), PSVCCV((1.5,), (0.1, 1), kernel="linear", cv=2)),
        PSVCCV((1, 2), (1, 10), (0.01, 0.1), cv=2, preprocessor=StandardScaler()),
    ],
    ids=str,
)
def test_several_classes(model, evaluate):
    X, y = several_classes("wine")
    assert_agrees(evaluate, model.fit(X, words(y)), X[:30])


def test_precomputed_kernel(evaluate):
    X, y = several_classes("wine")
    K = X @ X.T
    assert_agrees(evaluate, PSVC(kernel="precomputed").fit(K, y), K[:10])


@needs_polars_in_sklearn
def test_table_of_numbers_and_texts(evaluate):
    model, frame = table()
    assert to_json(model)["feature_names"] == ["a", "kind", "b", "unused", "place"]
    assert_agrees(evaluate, model, frame.rows(), frame)


@needs_polars_in_sklearn
def test_table_behind_the_preprocessor_of_a_search(evaluate):
    model, frame = table()
    search = PSVCCV((1,), (1, 10), (0.1,), cv=2, preprocessor=model[:-1])
    search.fit(frame, model.predict(frame))
    assert to_json(search)["feature_names"] == ["a", "kind", "b", "unused", "place"]
    assert_agrees(evaluate, search, frame.rows(), frame)


def test_a_preprocessor_that_cannot_be_exported_is_named():
    X, y = several_classes("wine")
    before = FunctionTransformer(np.abs)
    search = PSVCCV((1,), (1,), (0.1,), cv=2, preprocessor=before).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="FunctionTransformer"):
        to_json(search)


def test_numbers_as_categories(evaluate):
    X, y = several_classes("wine")
    X = np.round(X[:, :3])
    model = make_pipeline(OneHotEncoder(drop="if_binary"), LinearPSVC()).fit(X, y)
    assert_agrees(evaluate, model, X)


def test_document_is_as_described():
    X, y = real("breast_cancer")
    model = PSVC(kernel="poly", coef0=0.5, gamma=0.1).fit(X, y)
    found = to_json(model)
    assert found["format"] == "psvm decision rule"
    assert found["version"] == 1
    assert found["kernel"] == {"name": "poly", "gamma": 0.1, "coef0": 0.5, "degree": 3}
    assert found["decision"] == "sign"
    assert (np.array(found["vectors"]) == model.support_vectors_).all()
    described = PAGE.read_text()
    for key in (*found, *found["problems"][0]):
        assert f"`{key}`" in described, f"docs/model-files.md does not describe {key}"


def test_file_is_plain_json_with_every_digit(tmp_path):
    X, y = real("breast_cancer")
    model = PSVC(C=math.inf, kernel="rbf", gamma=1.0).fit(X[:30], y[:30])
    write_json(model, tmp_path / "m.json")
    found = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    assert found == to_json(model)
    assert found["problems"][0]["intercept"] == model.intercept_[0]


def test_a_document_of_the_first_version_is_read(evaluate):
    """It was written before there was a second one."""
    before = json.loads((Path(__file__).parent / "written_before" / "table.json").read_text())
    assert before["model"]["version"] == 1
    found = [evaluate(before["model"], row) for row in before["rows"]]
    assert [label for label, _, _ in found] == before["labels"]
    np.testing.assert_allclose([f for _, f, _ in found], before["decisions"], atol=1e-12)


# --- choosing by the ending ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "start"), [("json", b'{"format"'), ("libsvm", b"svm_type"), ("MODEL", b"svm_type")]
)
def test_export_goes_by_the_ending(ending, start, tmp_path):
    X, y = several_classes("iris")
    path = tmp_path / f"m.{ending}"
    export(PSVC().fit(X, y), path)
    assert path.read_bytes().startswith(start)


def test_export_passes_options_on_and_names_endings(tmp_path):
    X, y = several_classes("iris")
    model = PSVC().fit(X, words(y))
    export(model, tmp_path / "m.libsvm", number_classes=True)
    with pytest.raises(UnsupportedModelError, match="number_classes"):
        export(model, tmp_path / "m.libsvm")
    with pytest.raises(ValueError, match="must end in") as caught:
        export(model, tmp_path / "m.txt")
    assert_mentions(str(caught.value), ".onnx", ".libsvm", ".json", "psvm.save")
