"""LIBSVM's text models: svm-predict and LIBSVM's package agree with us, and we with svm-train."""

import shutil
import subprocess
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from export_models import several_classes, words
from messages import assert_mentions
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from small_data import real, thin

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.mathematics.multiclass import class_pairs
from psvm.persistence import (
    ModelFileError,
    UnsupportedModelError,
    load,
    read_libsvm,
    save,
    write_libsvm,
)

svm = pytest.importorskip("libsvm.svmutil", reason="pip install libsvm-official")
needs_tools = pytest.mark.skipif(
    shutil.which("svm-predict") is None, reason="apt install libsvm-tools"
)

KERNELS = ("linear", "rbf", "poly", "sigmoid")
NUMBERS = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}


def of_libsvm(path, X):
    """Labels and decision values that LIBSVM's own code computes from a model file."""
    labels, _, values = svm.svm_predict([], sp.csr_matrix(X), svm.svm_load_model(str(path)), "-q")
    return np.array(labels), np.array(values)


def tied(values, k):
    """Rows in which two classes have most votes."""
    votes = np.zeros((len(values), k), dtype=int)
    for t, (i, j) in enumerate(class_pairs(k)):
        votes[np.arange(len(values)), np.where(values[:, t] > 0, i, j)] += 1
    return (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1


def pair_values(model, X):
    """Decision values as LIBSVM gives them."""
    return model._problem_decisions(X)


def assert_libsvm_agrees(model, X, path):
    write_libsvm(model, path)
    labels, values = of_libsvm(path, X)
    ours = pair_values(model, X)
    np.testing.assert_allclose(values, ours, rtol=0, atol=1e-10 * np.abs(ours).max())
    sure = ~tied(ours, model.classes_.size) if model.classes_.size > 2 else slice(None)
    np.testing.assert_array_equal(labels[sure], model.predict(X)[sure])
    return np.mean(sure) if model.classes_.size > 2 else 1.0


@pytest.mark.parametrize(
    ("kernel", "p"),
    [("linear", 1), ("linear", 3), ("rbf", 1), ("rbf", 1.5), ("poly", 2), ("sigmoid", 1)],
)
def test_two_classes_in_libsvm(kernel, p, tmp_path):
    X, y = real("breast_cancer")
    model = PSVC(p=p, kernel=kernel, coef0=0.25, degree=2).fit(X, y)
    assert_libsvm_agrees(model, X, tmp_path / "m")


@pytest.mark.parametrize("name", ["wine", "digits", "glass", "vehicle"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_several_classes_in_libsvm(kernel, name, tmp_path):
    X, y = several_classes(name)
    model = PSVC(p=1.25, kernel=kernel).fit(X, y)
    assert assert_libsvm_agrees(model, X, tmp_path / "m") > 0.9


@pytest.mark.parametrize("name", ["breast_cancer", "digits"])
def test_linear_model_in_libsvm(name, tmp_path):
    X, y = real(name) if name == "breast_cancer" else several_classes(name)
    assert_libsvm_agrees(LinearPSVC(multi_class="ovo").fit(X, y), X, tmp_path / "m")


def test_sparse_rows_in_libsvm(tmp_path):
    X, y = thin()
    model = PSVC().fit(sp.csr_matrix(X), y)
    assert_libsvm_agrees(model, sp.csr_matrix(X), tmp_path / "m")


def test_precomputed_kernel_in_libsvm(tmp_path):
    X, y = several_classes("wine")
    K = X @ X.T
    model = PSVC(kernel="precomputed").fit(K, y)
    write_libsvm(model, tmp_path / "m")
    rows = [{0: 1, **{j + 1: value for j, value in enumerate(row)}} for row in K[:20].tolist()]
    _, _, values = svm.svm_predict([], rows, svm.svm_load_model(str(tmp_path / "m")), "-q")
    np.testing.assert_allclose(values, pair_values(model, K[:20]), atol=1e-9)
    again = read_libsvm(tmp_path / "m", n_features=K.shape[1])
    np.testing.assert_allclose(again.decision_function(K), model.decision_function(K), atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_psvccv_is_written_as_its_model(kernel, tmp_path):
    X, y = several_classes("wine")
    search = PSVCCV((1, 2), (0.1, 1), (0.01, 0.1), kernel=kernel, cv=3)
    write_libsvm(search.fit(X, y), tmp_path / "m")
    labels, values = of_libsvm(tmp_path / "m", X)
    ours = pair_values(search.best_estimator_, X)
    np.testing.assert_allclose(values, ours, rtol=0, atol=1e-10 * np.abs(ours).max())
    sure = ~tied(ours, 3)
    np.testing.assert_array_equal(labels[sure], search.predict(X)[sure])


def by_svm_predict(rows, model, folder):
    """Labels that LIBSVM's program writes."""
    out = folder / "out"
    subprocess.run(["svm-predict", rows, model, out], check=True, capture_output=True)
    return np.loadtxt(out)


def by_the_package(rows, model, folder):
    """The same from the same two files, by LIBSVM's own readers and code without the program."""
    y, x = svm.svm_read_problem(str(rows))
    labels, _, _ = svm.svm_predict(y, x, svm.svm_load_model(str(model)), "-q")
    return np.array(labels)


@pytest.mark.parametrize("name", ["breast_cancer", "ionosphere", "wine", "satimage"])
@pytest.mark.parametrize(
    "labels_by", [pytest.param(by_svm_predict, marks=needs_tools), by_the_package]
)
def test_svm_predict_gives_our_labels(labels_by, name, tmp_path):
    two = name in ("breast_cancer", "ionosphere")
    X, y = real(name) if two else several_classes(name)
    model = PSVC(p=1.5, C=10.0).fit(X, y)
    write_libsvm(model, tmp_path / "model")
    dump_svmlight_file(X, y, str(tmp_path / "rows"), zero_based=False)
    labels = labels_by(tmp_path / "rows", tmp_path / "model", tmp_path)
    sure = slice(None) if two else ~tied(pair_values(model, X), model.classes_.size)
    np.testing.assert_array_equal(labels[sure], model.predict(X)[sure])


# --- reading -------------------------------------------------------------------------------------


def trained(X, y, path, options):
    """A model that LIBSVM trained, with its own labels and decision values."""
    svm.svm_save_model(str(path), svm.svm_train(y, sp.csr_matrix(X), f"-q {options}"))
    return of_libsvm(path, X)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["breast_cancer", "wine", "digits"])
@pytest.mark.parametrize("backwards", [False, True])
def test_model_of_libsvm_is_read(kernel, name, backwards, tmp_path):
    X, y = real(name) if name == "breast_cancer" else several_classes(name)
    if backwards:  # LIBSVM orders labels as they come
        X, y = X[np.argsort(-y, kind="stable")], np.sort(y)[::-1].astype(int)
    path = tmp_path / "m"
    labels, values = trained(X, y, path, f"-t {NUMBERS[kernel]} -g 0.05 -r 0.5 -d 2 -c 2")
    model = read_libsvm(path, n_features=X.shape[1])
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.n_support_.sum() == model.support_vectors_.shape[0]
    ours = pair_values(model, X)
    theirs = reordered(values, svm.svm_load_model(str(path)).get_labels())
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())
    k = model.classes_.size
    sure = ~tied(ours, k) if k > 2 else slice(None)
    np.testing.assert_array_equal(model.predict(X)[sure], labels[sure])


def reordered(values, labels):
    """LIBSVM's values of all pairs as ours: sorted labels, of two the second positive."""
    order = np.argsort(labels)
    if len(labels) == 2:
        return values if labels[0] > labels[1] else -values
    place = {pair: t for t, pair in enumerate(class_pairs(len(labels)))}
    columns = []
    for a, b in class_pairs(len(labels)):
        i, j = order[a], order[b]
        columns.append(values[:, place[i, j]] if i < j else -values[:, place[j, i]])
    return np.column_stack(columns)


@needs_tools
@pytest.mark.parametrize("options", [["-s", "0"], ["-s", "1", "-n", "0.2", "-b", "1"]])
def test_file_of_svm_train_is_read(options, tmp_path):
    X, y = several_classes("iris")
    dump_svmlight_file(X, y, str(tmp_path / "rows"), zero_based=False)
    for command in (
        ["svm-train", "-q", *options, tmp_path / "rows", tmp_path / "model"],
        ["svm-predict", tmp_path / "rows", tmp_path / "model", tmp_path / "out"],
    ):
        subprocess.run(command, check=True, capture_output=True)
    model = read_libsvm(tmp_path / "model")
    sure = ~tied(pair_values(model, X), 3)
    np.testing.assert_array_equal(model.predict(X)[sure], np.loadtxt(tmp_path / "out")[sure])


@pytest.mark.parametrize("sparse", [False, True])
def test_written_model_is_read_again(sparse, tmp_path):
    X, y = thin()
    X = sp.csr_matrix(X) if sparse else X + 1.0
    model = PSVC(kernel="poly", coef0=1.0).fit(X, y)
    write_libsvm(model, tmp_path / "m")
    again = read_libsvm(tmp_path / "m", n_features=40)
    assert sp.issparse(again.support_vectors_) == sparse
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)  # every digit is written
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-12)


def test_read_model_is_an_ordinary_estimator(tmp_path):
    X, y = several_classes("wine")
    write_libsvm(PSVC().fit(X, y), tmp_path / "m")
    model = read_libsvm(tmp_path / "m")
    assert model.n_features_in_ == X.shape[1]
    assert np.isnan(model.dual_gap_).all()
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :3])
    pytest.importorskip("skops")
    save(model, tmp_path / "m.psvm")
    np.testing.assert_array_equal(load(tmp_path / "m.psvm").predict(X), model.predict(X))
    assert model.fit(X, y).dual_gap_.max() <= 1e-4


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:1
-1 2:1
"""


def test_smallest_model(tmp_path):
    (tmp_path / "m").write_text(GOOD)
    model = read_libsvm(tmp_path / "m")
    x = np.array([[0.5, 0.0, 1.0]])
    expected = 1.0 - np.exp(-0.5 * (0.25 + 1 + 1)) - 0.25
    np.testing.assert_allclose(model.decision_function(x), [expected])
    assert model.predict(x).tolist() == [1]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("svm_type c_svc", "hello", ["not a text model"]),
        ("svm_type ", "svm_types ", ["not a text model"]),
        ("label 1 -1", f"label {10**20} 1", ["whole numbers"]),
        ("3:1", f"{10**20}:1", ["line 10", "ascending"]),
        ("c_svc", "one_class", ["c_svc, nu_svc, epsilon_svr", "one_class"]),
        ("rbf", "wavelet", ["kernel_type", "rbf"]),
        ("gamma 0.5", "", ["gamma"]),
        ("gamma 0.5", "gamma nan", ["gamma"]),
        ("rho 0.25", "rho 0.25 1", ["rho", "1 numbers"]),
        ("nr_sv 1 1", "nr_sv 2 1", ["nr_sv", "contradict"]),
        ("label 1 -1", "label 1 1", ["label"]),
        ("label 1 -1", "label 1.5 1", ["whole numbers"]),
        ("total_sv 2", "total_sv 3", ["contradict"]),
        ("SV\n", "", ["truncated"]),
        ("-1 2:1\n", "", ["line 9", "expected 2 support vectors"]),
        ("-1 2:1", "-1 2=1", ["line 11", "index:value"]),
        ("3:1", "1:1", ["line 10", "ascending"]),
        ("-1 2:1", "-1 0:1", ["numbered from 1"]),
        ("-1 2:1", "inf 2:1", ["finite"]),
        ("nr_class 2", "nr_class 1", ["two classes"]),
    ],
)
def test_damaged_file_says_where(old, new, words, tmp_path):
    (tmp_path / "m").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ModelFileError) as caught:
        read_libsvm(tmp_path / "m")
    assert_mentions(str(caught.value), str(tmp_path / "m"), *words)


def test_other_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        read_libsvm(tmp_path / "none")
    for content in (b"", b"\x80\x04\xff", b"PK\x03\x04"):
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(ModelFileError, match="not a text model"):
            read_libsvm(tmp_path / "m")
    (tmp_path / "m").write_text(GOOD)
    with pytest.raises(ModelFileError, match="3 features"):
        read_libsvm(tmp_path / "m", n_features=2)


def test_what_libsvm_cannot_hold_is_refused(tmp_path):
    X, y = several_classes("iris")
    search = PSVCCV([1.5], [1.0], [0.1], preprocessor=StandardScaler(), cv=2)
    for model, labels, *mentioned in (
        (PSVC(kernel="laplacian"), y, "laplacian", "ONNX or JSON"),
        (PSVC(multi_class="ovr"), y, "ovr", "multi_class='ovo'"),
        (make_pipeline(StandardScaler(), PSVC()), y, "(model[-1], path)"),
        (search, y, "(model.best_estimator_[-1], path)"),
        (make_pipeline(MaxAbsScaler(), search), y, "(model[-1].best_estimator_[-1], path)"),
        (PSVC(), words(y), "whole numbers", "number_classes"),
    ):
        with pytest.raises(UnsupportedModelError) as caught:
            write_libsvm(model.fit(X, labels), tmp_path / "m")
        assert_mentions(str(caught.value), *mentioned)
    assert not (tmp_path / "m").exists()


def test_classes_by_number(tmp_path):
    X, y = several_classes("iris")
    model = PSVC(kernel="linear").fit(X, words(y))
    write_libsvm(model, tmp_path / "m", number_classes=True)
    labels, _ = of_libsvm(tmp_path / "m", X)
    sure = ~tied(pair_values(model, X), 3)
    np.testing.assert_array_equal(model.classes_[labels.astype(int)][sure], model.predict(X)[sure])


WIDE = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.1
label 1 -1
nr_sv 1 1
SV
1 1:0.5 1000000000:1
-1 1:-0.5 3:1
"""


@pytest.mark.timeout(20)
def test_a_feature_of_number_a_billion_takes_no_memory(tmp_path):
    """Columns without entries cost nothing: not to read, and not to predict for many rows."""
    (tmp_path / "wide.model").write_text(WIDE)
    tracemalloc.start()
    model = read_libsvm(tmp_path / "wide.model")
    assert model.n_features_in_ == 10**9
    every = np.arange(600)
    X = sp.csr_matrix((np.ones(600), (every, every * 10**6)), shape=(600, 10**9))
    decision = model.decision_function(X)
    assert tracemalloc.get_traced_memory()[1] < 50 * 2**20
    tracemalloc.stop()
    # The first row is at squared distances 0.25 + 1 and 2.25 + 1; -1 is classes_[0].
    expected = np.exp(-0.5 * 1.25) - np.exp(-0.5 * 3.25) - 0.1
    np.testing.assert_allclose(decision[0], expected, rtol=1e-12)
