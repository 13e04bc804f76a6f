"""Regressors as files: psvm's own, ONNX, JSON and LIBSVM's text, alone and in pipelines."""

import copy
import functools
import shutil
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from export_checks import assert_exports_agree, in_json, in_onnx
from messages import assert_mentions
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import dump_svmlight_file, load_diabetes
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, scale
from sklearn.svm import SVR

from psvm import PSVR, PSVRQuantiles
from psvm.estimators.linear_svr import LinearPSVR
from psvm.persistence import (
    ModelFileError,
    UnsupportedModelError,
    info,
    load,
    read_libsvm,
    save,
    skops_types,
    to_json,
    to_onnx,
    write_libsvm,
)
from psvm.persistence.soundness import check_sound
from psvm.search import PSVRCV, GridEdgeWarning

KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian", "exponential")


@functools.cache
def data():
    X, y = load_diabetes(return_X_y=True)
    return scale(X[:150]), y[:150]


def sparse():
    X, y = data()
    return sp.csr_matrix(np.where(np.abs(X) > 0.8, X, 0.0)), y


def fitted_models():
    X, _ = data()
    thin, _ = sparse()
    K = X @ X.T
    crossing = PSVRQuantiles(quantiles=(0.9, 0.1, 0.5), C=1000.0)
    return {
        "PSVR": (PSVR(C=10.0), X),
        "PSVR warm": (PSVR(p=1.0, C=10.0, quantile=0.8, epsilon=0.0, warm_start=True), X),
        "PSVR sparse": (PSVR(kernel="laplacian"), thin),
        "PSVR precomputed": (PSVR(kernel="precomputed"), K),
        "PSVR flat": (PSVR(epsilon=1e4), X),
        "LinearPSVR": (LinearPSVR(C=10.0), X),
        "quantiles": (crossing, X),
        "linear quantiles": (PSVRQuantiles(quantiles=(0.25, 0.75), kernel="linear"), X),
        "LinearPSVR warm": (LinearPSVR(p=2, warm_start=True), thin),
        "pipeline": (make_pipeline(StandardScaler(), PSVR(p=2)), X),
        "transformed": (TransformedTargetRegressor(PSVR(), transformer=StandardScaler()), X),
        "grid": (GridSearchCV(PSVR(), {"C": [1.0, 10.0]}, cv=2, scoring="explained_variance"), X),
        "selected": (make_pipeline(SelectKBest(f_regression, k=4), LinearPSVR()), X),
        "PSVRCV": (PSVRCV(ps=[1, 2], Cs=[1.0, 10.0], gammas=[0.1], epsilons=[1.0], cv=2), X),
        "PSVRCV quantile": (PSVRCV(ps=[1], Cs=[1.0, 10.0], gammas=[0.1], quantile=0.9, cv=2), X),
        "PSVRCV prepared": (
            PSVRCV(ps=[1, 2], Cs=[1.0], gammas=[0.1], epsilons=[5], cv=2,
                   preprocessor=StandardScaler()), X,
        ),
    }  # fmt: skip


NAMES = tuple(fitted_models())


@functools.cache
def fitted(name):
    model, X = fitted_models()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridEdgeWarning)
        return clone(model).fit(X, data()[1]), X


# --- psvm's own format ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_regressor_predicts_the_same(name, tmp_path):
    model, X = fitted(name)
    save(model, tmp_path / "m.psvm", target="progress")
    again = load(tmp_path / "m.psvm")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params().keys() == model.get_params().keys()
    told = info(tmp_path / "m.psvm")["model"]
    assert told["fitted"]
    assert told["target"] == "progress"
    assert "classes" not in told


def test_the_header_tells_the_fit(tmp_path):
    model, _ = fitted("PSVR")
    save(model, tmp_path / "m.psvm")
    told = info(tmp_path / "m.psvm")["model"]
    assert (told["estimator"], told["parameters"]["epsilon"]) == ("PSVR", 0.1)
    assert told["dual_gap"] == model.dual_gap_.tolist()
    assert told["n_support"] == model.n_support_.tolist()
    assert not info_of_unfitted(tmp_path)["fitted"]


def info_of_unfitted(folder):
    save(PSVR(), folder / "u.psvm")
    return info(folder / "u.psvm")["model"]


@pytest.mark.parametrize("name", ["PSVR warm", "LinearPSVR warm"])
def test_a_loaded_regressor_goes_on_where_it_was(name, tmp_path):
    model, X = fitted(name)
    save(model, tmp_path / "m.psvm")
    again = load(tmp_path / "m.psvm").fit(X, data()[1])
    assert again.n_iter_[0] == copy.deepcopy(model).fit(X, data()[1]).n_iter_[0]
    if name == "PSVR warm":
        assert again.n_iter_[0] < clone(model).fit(X, data()[1]).n_iter_[0]


def test_several_outputs(tmp_path):
    X, y = data()
    model = MultiOutputRegressor(PSVR()).fit(X, np.column_stack([y, -y]))
    save(model, tmp_path / "m.psvm")
    np.testing.assert_array_equal(load(tmp_path / "m.psvm").predict(X), model.predict(X))


SPOILT = [
    ("PSVR", "dual_coef_", lambda a: a[:, :-1]),
    ("PSVR", "dual_coef_", lambda a: np.repeat(a, 2, axis=0)),
    ("PSVR", "dual_coef_", lambda a: a * np.nan),
    ("PSVR", "support_vectors_", lambda a: a[:, :-1]),
    ("PSVR", "n_support_", lambda a: a - 1),
    ("PSVR", "intercept_", lambda a: np.append(a, 0.0)),
    ("PSVR precomputed", "support_", lambda a: a + 10**6),
    ("LinearPSVR", "coef_", lambda a: a[:-1]),
    ("LinearPSVR", "coef_", lambda a: a.astype(str)),
    ("LinearPSVR", "intercept_", lambda a: a * np.inf),
    ("quantiles", "quantiles_", lambda a: a[:-1]),
    ("quantiles", "quantiles_", lambda a: a[:0]),
    ("PSVRCV", "best_estimator_", lambda a: StandardScaler()),
    ("PSVRCV", "n_features_in_", lambda n: n + 1),
]


@pytest.mark.parametrize(("name", "attribute", "spoil"), SPOILT, ids=lambda one: str(one)[:16])
def test_attributes_that_do_not_fit_are_refused(name, attribute, spoil):
    model, _ = fitted(name)
    check_sound(type(model), vars(model), "model")
    state = {**vars(model), attribute: spoil(getattr(model, attribute))}
    with pytest.raises(ModelFileError, match="was not written by psvm, or was altered"):
        check_sound(type(model), state, "model")


@pytest.mark.parametrize(("attribute", "spoil"), [
    ("dual", lambda a: a[:, :1]), ("slack", lambda a: a[:-1]), ("y", lambda a: a[:-1]),
])  # fmt: skip
def test_a_start_that_does_not_fit_is_refused(attribute, spoil):
    start = fitted("PSVR warm")[0]._warm
    check_sound(type(start), vars(start), "model._warm")
    state = {**vars(start), attribute: spoil(getattr(start, attribute))}
    with pytest.raises(ModelFileError):
        check_sound(type(start), state, "model._warm")


def test_skops_knows_the_types():
    skops_io = pytest.importorskip("skops.io")
    for name in ("PSVR warm", "LinearPSVR warm", "PSVRCV"):
        model, X = fitted(name)
        again = skops_io.loads(skops_io.dumps(model), trusted=skops_types())
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


# --- ONNX and JSON -------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_in_onnx_and_json(kernel):
    pytest.importorskip("onnxruntime")
    X, y = data()
    model = PSVR(p=1.5, C=10.0, kernel=kernel, coef0=0.5, degree=2).fit(X, y)
    assert_exports_agree(model, X)


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in ("PSVR sparse", "LinearPSVR warm", "transformed")]
)
def test_models_in_onnx_and_json(name):
    pytest.importorskip("onnxruntime")
    model, X = fitted(name)
    assert_exports_agree(model, np.asarray(X))


def test_arithmetic_in_float32():
    pytest.importorskip("onnxruntime")
    model, X = fitted("PSVR")
    ours = model.predict(X)
    found = in_onnx(model, X, "float32", arithmetic="float32")["prediction"]
    assert found.dtype == np.float32
    assert 0 < np.abs(found - ours).max() < 1e-4 * np.abs(ours).max()


def test_tables_with_texts():
    pytest.importorskip("onnxruntime")
    X, y = data()
    frame = pd.DataFrame(X[:, :3], columns=["prediction", "b", "c"])
    frame["kind"] = np.where(X[:, 3] > 0, "up", "down")
    columns = make_column_transformer(
        (OneHotEncoder(), ["kind"]), (StandardScaler(), ["prediction", "b", "c"])
    )
    model = make_pipeline(columns, Nystroem(n_components=20, random_state=0), LinearPSVR())
    model.fit(frame, y)
    assert_exports_agree(model, frame)
    graph = to_onnx(model)
    assert [one.name for one in graph.graph.output] == ["prediction"]
    assert "prediction_" in [one.name for one in graph.graph.input]


def test_quantiles_do_not_cross_in_exports():
    pytest.importorskip("onnxruntime")
    model, X = fitted("quantiles")
    new = X[:100] + 0.3 * np.random.default_rng(0).normal(size=(100, X.shape[1]))
    raw = model._as_arrays().decisions(new)
    assert (raw[:, 1] > raw[:, 0]).any()  # some do before they are sorted
    for found in (in_onnx(model, new)["prediction"], in_json(model, new)["prediction"]):
        assert (found[:, 1] <= found[:, 2]).all()
        assert (found[:, 2] <= found[:, 0]).all()
        np.testing.assert_allclose(found, model.predict(new), rtol=1e-9)
    document = to_json(model)
    assert (document["decision"], document["quantiles"]) == ("sorted values", [0.9, 0.1, 0.5])


def test_what_a_reader_of_the_files_is_told():
    pytest.importorskip("onnx")
    model, X = fitted("PSVR")
    told = {item.key: item.value for item in to_onnx(model).metadata_props}
    assert (told["estimator"], told["epsilon"], told["quantile"]) == ("PSVR", "0.1", "0.5")
    assert "classes" not in told
    document = to_json(model)
    assert (document["version"], document["classes"]) == (3, None)
    assert (document["decision"], len(document["problems"])) == ("value", 1)
    assert set(document["problems"][0]) == {"intercept", "support", "coefficients"}
    np.testing.assert_allclose(in_json(model, X)["prediction"], model.predict(X), rtol=1e-10)


def test_what_cannot_be_exported_is_told():
    model, _ = fitted("transformed")
    with pytest.raises(UnsupportedModelError) as error:
        to_json(model)
    assert_mentions(str(error.value), "TransformedTargetRegressor", "PSVR")
    X, y = data()
    with pytest.raises(UnsupportedModelError, match="kernel is a function"):
        to_json(PSVR(kernel=lambda a, b: a @ b.T).fit(X, y))


@pytest.mark.parametrize(
    "name", ["PSVR", "LinearPSVR", "pipeline", "PSVRCV", "PSVRCV prepared", "quantiles"]
)
def test_skl2onnx(name):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    from psvm.persistence import register_skl2onnx

    register_skl2onnx()
    model, X = fitted(name)
    graph = skl2onnx.to_onnx(model, X[:1])
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    assert [one.name for one in session.get_outputs()] == ["prediction"]
    (found,) = session.run(None, {session.get_inputs()[0].name: X})
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-9)


# --- LIBSVM --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize(("p", "quantile"), [(1, 0.5), (1.5, 0.5), (2, 0.9)])
def test_libsvm_predicts_the_same(kernel, p, quantile, tmp_path):
    svm = pytest.importorskip("libsvm.svmutil", reason="pip install libsvm-official")
    X, y = data()
    C = 0.01 if kernel == "sigmoid" else 10.0  # which is not definite: C large has no optimum
    model = PSVR(p=p, C=C, quantile=quantile, kernel=kernel, coef0=0.25, degree=2).fit(X, y)
    write_libsvm(model, tmp_path / "m")
    theirs = svm.svm_load_model(str(tmp_path / "m"))
    found, _, _ = svm.svm_predict([], sp.csr_matrix(X), theirs, "-q")
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-9)


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="apt install libsvm-tools")
@pytest.mark.parametrize("name", ["PSVR", "LinearPSVR", "PSVR flat", "PSVRCV"])
def test_svm_predict_writes_our_numbers(name, tmp_path):
    model, X = fitted(name)
    write_libsvm(model, tmp_path / "model")
    dump_svmlight_file(X, data()[1], str(tmp_path / "rows"), zero_based=False)
    words = ["svm-predict", tmp_path / "rows", tmp_path / "model", tmp_path / "out"]
    subprocess.run(words, check=True, capture_output=True)
    np.testing.assert_allclose(np.loadtxt(tmp_path / "out"), model.predict(X), rtol=1e-5)


@pytest.mark.skipif(shutil.which("svm-train") is None, reason="apt install libsvm-tools")
@pytest.mark.parametrize("kind", ["3", "4"])
def test_what_svm_train_wrote_is_read(kind, tmp_path):
    X, y = data()
    dump_svmlight_file(X, y, str(tmp_path / "rows"), zero_based=False)
    words = ["svm-train", "-s", kind, "-c", "10", "-g", "0.1", tmp_path / "rows", tmp_path / "m"]
    subprocess.run(words, check=True, capture_output=True)
    model = read_libsvm(tmp_path / "m", n_features=X.shape[1])
    assert isinstance(model, PSVR)
    if kind == "3":
        ours = SVR(C=10, gamma=0.1, tol=1e-3).fit(X, y).predict(X)
        np.testing.assert_allclose(model.predict(X), ours, atol=0.2)
    subprocess.run(
        ["svm-predict", tmp_path / "rows", tmp_path / "m", tmp_path / "out"],
        check=True, capture_output=True,
    )  # fmt: skip
    np.testing.assert_allclose(np.loadtxt(tmp_path / "out"), model.predict(X), rtol=1e-5)


@pytest.mark.parametrize(
    "name", ["PSVR", "PSVR warm", "PSVR precomputed", "PSVR flat", "LinearPSVR"]
)
def test_libsvm_and_back(name, tmp_path):
    model, X = fitted(name)
    write_libsvm(model, tmp_path / "m")
    text = (tmp_path / "m").read_text()
    assert text.startswith("svm_type epsilon_svr\nkernel_type ")
    assert f"\nrho {-float(model.intercept_[0])!r}\n" in text
    assert "label" not in text
    assert "nr_sv" not in text
    again = read_libsvm(tmp_path / "m", n_features=X.shape[1])
    assert isinstance(again, PSVR)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
    assert np.isnan(again.dual_gap_).all()
    write_libsvm(again, tmp_path / "again")
    assert (tmp_path / "again").read_text() == text
    save(again, tmp_path / "m.psvm")
    np.testing.assert_array_equal(load(tmp_path / "m.psvm").predict(X), again.predict(X))


def test_what_libsvm_cannot_have_is_told(tmp_path):
    with pytest.raises(UnsupportedModelError, match="laplacian"):
        write_libsvm(fitted("PSVR sparse")[0], tmp_path / "m")
    with pytest.raises(UnsupportedModelError, match="one for every quantile"):
        write_libsvm(fitted("quantiles")[0], tmp_path / "m")
    with pytest.raises(UnsupportedModelError, match="no preprocessing"):
        write_libsvm(fitted("pipeline")[0], tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    model, _ = fitted("PSVR")
    write_libsvm(model, tmp_path / "m")
    text = (tmp_path / "m").read_text()
    for old, new, told in (
        ("epsilon_svr", "one_class", "must be one of c_svc, nu_svc, epsilon_svr, nu_svr"),
        ("nr_class 2", "nr_class 3", "a regressor has nr_class 2, got 3"),
        ("\nrho ", "\nrho 1 ", "`rho` must have 1 numbers"),
    ):
        (tmp_path / "w").write_text(text.replace(old, new, 1))
        with pytest.raises(ModelFileError, match=told):
            read_libsvm(tmp_path / "w")
