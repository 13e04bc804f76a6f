"""What is saved is loaded again: every attribute, every decision value, bit for bit."""

import json
import zipfile

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from messages import assert_mentions
from old_packages import needs_kept_sparse_arrays, needs_polars_in_sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    LabelEncoder,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)
from small_data import blobs, noisy, thin

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.persistence import UnsupportedModelError, info, load, save
from psvm.solvers.ledger import Status

pytest.importorskip("skops")

X, Y = noisy(n=40, d=4, seed=1)
X3, Y3 = blobs(n=60, classes=3, d=3, seed=1)
WORDS = np.array(["ash", "birch", "cherry"])[Y3]


def again(model, tmp_path):
    """The model after a round trip."""
    path = tmp_path / "model.psvm"
    save(model, path)
    return load(path)


def assert_same(a, b, where="model"):
    """Equal to the last bit, in type and content, all the way down."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif sp.issparse(a):
        assert_same([a.data, a.indices, a.indptr], [b.data, b.indices, b.indptr], where)
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, both in enumerate(zip(a, b, strict=True)):
            assert_same(*both, f"{where}[{i}]")
    elif isinstance(a, Status):
        assert a is b, where
    elif hasattr(a, "__dict__") and type(a).__module__.startswith(("psvm", "sklearn")):
        assert_same(vars(a), vars(b), where)
    else:
        assert a == b or (a != a and b != b), where


KERNEL_MODELS = [
    *(PSVC(kernel=k) for k in ("linear", "rbf", "poly", "sigmoid", "laplacian", "exponential")),
    PSVC(p=1, C=10.0, gamma=0.3, n_jobs=1, class_weight={-1.0: 2.0, 1.0: 1.0}),
    PSVC(p=2, fit_intercept=False, warm_start=True, cache_size=5, max_time=60.0),
    LinearPSVC(p=3, n_jobs=1),
    LinearPSVC(warm_start=True, solver="coordinate_descent"),
]


@pytest.mark.parametrize("model", KERNEL_MODELS, ids=str)
def test_binary_model_is_the_same(model, tmp_path):
    model = clone(model).fit(X, Y)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        PSVC(),
        PSVC(decision_function_shape="ovo"),
        PSVC(multi_class="ovr", kernel="laplacian"),
        LinearPSVC(),
        LinearPSVC(multi_class="ovr"),
    ],
    ids=str,
)
@pytest.mark.parametrize("labels", [Y3, WORDS, WORDS.astype(object)], ids=["int", "str", "object"])
def test_model_of_three_classes_is_the_same(model, labels, tmp_path):
    model = clone(model).fit(X3, labels)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    np.testing.assert_array_equal(loaded.decision_function(X3), model.decision_function(X3))
    np.testing.assert_array_equal(loaded.predict(X3), model.predict(X3))


@pytest.mark.parametrize(
    "kind",
    [
        sp.csr_matrix,
        pytest.param(sp.csr_array, marks=needs_kept_sparse_arrays),
        np.float32,
    ],
    ids=lambda k: k.__name__,
)
@pytest.mark.parametrize("Estimator", [PSVC, LinearPSVC])
def test_storage_of_the_rows_is_kept(Estimator, kind, tmp_path):
    X, y = thin()
    X = kind(X)
    model = Estimator().fit(X, y)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_precomputed_kernel(tmp_path):
    K = X @ X.T
    model = PSVC(kernel="precomputed").fit(K, Y)
    np.testing.assert_array_equal(again(model, tmp_path).predict(K[:7]), model.predict(K[:7]))


def test_unfitted_model_and_hard_margin(tmp_path):
    loaded = again(PSVC(C=np.inf, p=1.25, gamma=0.5), tmp_path)
    assert loaded.get_params() == PSVC(C=np.inf, p=1.25, gamma=0.5).get_params()
    assert not hasattr(loaded, "classes_")


def test_loaded_model_starts_warm(tmp_path):
    model = PSVC(p=1.5, C=3.0, warm_start=True, tol=1e-6).fit(X3, Y3)
    loaded = again(model, tmp_path)
    loaded.fit(X3, Y3)
    assert loaded.n_iter_.sum() < model.n_iter_.sum()


@needs_polars_in_sklearn
def test_feature_names_are_kept(tmp_path):
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"])
    loaded = again(PSVC().fit(frame, Y), tmp_path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert loaded.predict(frame).shape == (40,)


# --- models made of several estimators -----------------------------------------------------------


def mixed_columns():
    """A table with gaps, numbers and texts, and a model that takes it."""
    frame = pl.DataFrame(
        {
            "size": [None if i % 7 == 0 else float(v) for i, v in enumerate(X3[:, 0])],
            "mass": X3[:, 1],
            "tree": [None if i % 11 == 0 else str(w) for i, w in enumerate(WORDS)],
        }
    )
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    texts = make_pipeline(
        SimpleImputer(missing_values=None, strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    columns = ColumnTransformer([("n", numbers, ["size", "mass"]), ("t", texts, ["tree"])])
    return make_pipeline(columns, PSVC()), frame


@needs_polars_in_sklearn
def test_pipeline_of_mixed_columns(tmp_path):
    model, frame = mixed_columns()
    model.fit(frame, WORDS)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.decision_function(frame), model.decision_function(frame))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


COMPOSED = {
    "scaled": make_pipeline(StandardScaler(), PSVC()),
    "nystroem": make_pipeline(
        MinMaxScaler(clip=True), Nystroem(n_components=10, random_state=0), LinearPSVC()
    ),
    "selected": make_pipeline(SelectKBest(k=2), LinearPSVC(multi_class="ovr")),
    "searched": GridSearchCV(
        make_pipeline(StandardScaler(), PSVC()), {"psvc__p": [1, 2]}, scoring="accuracy", cv=2
    ),
    "splitter": GridSearchCV(
        LinearPSVC(), {"C": [0.1, 1.0]}, cv=StratifiedKFold(2, shuffle=True, random_state=1)
    ),
    "sigmoid": CalibratedClassifierCV(PSVC(), ensemble=False, cv=2),
    "isotonic": CalibratedClassifierCV(LinearPSVC(), method="isotonic", cv=2),
    "random": make_pipeline(
        Nystroem(n_components=9, random_state=np.random.RandomState(3)), PSVC()
    ),
    "chosen": make_pipeline(StandardScaler(), PSVCCV((1, 2), (0.1, 1), (0.1, 1), cv=2)),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_model_predicts_the_same(name, tmp_path):
    model = clone(COMPOSED[name]).fit(X3, Y3)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict(X3), model.predict(X3))
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    np.testing.assert_array_equal(getattr(loaded, method)(X3), getattr(model, method)(X3))
    assert clone(loaded).get_params().keys() == model.get_params().keys()


CHOSEN = {
    "rbf": PSVCCV((1, 2), (0.1, 1), (0.1, 1), cv=2),
    "linear": PSVCCV((1, 1.5), (0.1, 1), kernel="linear", cv=2),
    "rest": PSVCCV((1.5,), (0.1, 1), (0.1,), multi_class="ovr", scoring="f1_macro", cv=2),
    "pairs": PSVCCV((2,), (1,), (0.1, 1), decision_function_shape="ovo", rule="one_se", cv=2),
    "grids by the data": PSVCCV((1, 2), 2, kernel="laplacian", class_weight="balanced", cv=2),
    "splitter": PSVCCV((1,), (1, 10), cv=StratifiedKFold(2, shuffle=True, random_state=0)),
    "preprocessor": PSVCCV(
        (1,), (1, 10), cv=2, preprocessor=make_pipeline(StandardScaler(), PCA(1, random_state=0))
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("classes", [2, 3])
def test_psvccv_is_the_same(name, classes, tmp_path):
    some = np.isin(Y3, np.arange(classes))
    rows, labels = X3[some], WORDS[some]
    model = clone(CHOSEN[name]).fit(rows, labels)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)  # with cv_results_, best_params_, cross_val_decision_, ...
    for method in ("predict", "decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(loaded, method)(rows), getattr(model, method)(rows))
    assert loaded.score(rows, labels) == model.score(rows, labels)
    told = info(tmp_path / "model.psvm")["model"]
    assert told["estimator"] == "PSVCCV"
    assert told["parameters"]["p"] == model.best_params_["p"]
    assert max(told["dual_gap"]) <= 1e-4


def test_psvccv_that_is_not_fitted_or_has_no_model(tmp_path):
    loaded = again(PSVCCV(ps=(1, 2), cv=3), tmp_path)
    assert loaded.get_params() == PSVCCV(ps=(1, 2), cv=3).get_params()
    with pytest.raises(ValueError, match="refit=True"):
        save(clone(CHOSEN["rbf"]).set_params(refit=False).fit(X, Y), tmp_path / "no.psvm")
    assert not (tmp_path / "no.psvm").exists()


def test_search_keeps_its_results_and_scores(tmp_path):
    model = clone(COMPOSED["searched"]).fit(X3, Y3)
    loaded = again(model, tmp_path)
    assert loaded.best_params_ == model.best_params_
    assert loaded.cv_results_.keys() == model.cv_results_.keys()
    assert loaded.score(X3, Y3) == model.score(X3, Y3)
    assert loaded.best_estimator_[-1].status_[0] is Status.CONVERGED


def test_objects_used_twice_stay_one(tmp_path):
    model = clone(COMPOSED["sigmoid"]).fit(X3, Y3)
    part = model.calibrated_classifiers_[0]
    part.estimator_again = part.estimator
    loaded = again(model, tmp_path).calibrated_classifiers_[0]
    assert loaded.estimator_again is loaded.estimator


def test_preprocessing_alone(tmp_path):
    encoder = LabelEncoder().fit(WORDS)
    save(encoder, tmp_path / "labels.psvm")
    assert load(tmp_path / "labels.psvm").transform(["cherry"]).tolist() == [2]


def test_the_model_itself_is_not_changed_by_saving(tmp_path):
    model = clone(COMPOSED["searched"]).fit(X3, Y3)
    inner = model.best_estimator_[-1]
    before = dict(vars(inner))
    save(model, tmp_path / "m.psvm")
    assert vars(inner).keys() == before.keys()
    assert all(vars(inner)[name] is before[name] for name in before)


# --- what cannot be saved ------------------------------------------------------------------------


def gauss(A, B):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2))


class Doubler(TransformerMixin, BaseEstimator):
    """A transformer that no list knows."""

    def fit(self, X, y=None):
        self.factor_ = 2.0
        return self

    def transform(self, X):
        return self.factor_ * X


def refusal(model, path):
    with pytest.raises(UnsupportedModelError) as caught:
        save(model, path)
    assert not path.exists()
    return str(caught.value)


def test_kernel_function_is_refused_by_name(tmp_path):
    model = make_pipeline(StandardScaler(), PSVC(kernel=gauss)).fit(X, Y)
    message = refusal(model, tmp_path / "m.psvm")
    assert_mentions(message, "gauss", "steps[1]", "kernel", "precomputed")


def test_function_in_a_transformer_is_refused(tmp_path):
    model = make_pipeline(FunctionTransformer(gauss), PSVC())
    assert_mentions(refusal(model, tmp_path / "m.psvm"), "gauss", "may not contain")


def test_unknown_class_is_refused_unless_trusted(tmp_path):
    path = tmp_path / "m.psvm"
    model = make_pipeline(Doubler(), PSVC()).fit(X, Y)
    assert_mentions(refusal(model, path), "Doubler", "trusted=[")
    save(model, path, trusted=[Doubler])
    with pytest.raises(ValueError, match="Doubler"):
        load(path)
    loaded = load(path, trusted=[Doubler])
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    with pytest.raises(TypeError, match="classes"):
        load(path, trusted=["Doubler"])


def test_callbacks_are_left_behind(tmp_path):
    callback = pytest.importorskip("sklearn.callback")
    model = PSVC().set_callbacks(callback.ProgressBar()).fit(X, Y)
    loaded = again(model, tmp_path)
    assert "_skl_callbacks" in vars(model)
    assert "_skl_callbacks" not in vars(loaded)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


# --- the file ------------------------------------------------------------------------------------


@needs_polars_in_sklearn
def test_info_tells_of_the_model_without_loading_it(tmp_path):
    data = load_breast_cancer()
    frame = pl.DataFrame(data.data[:120], schema=list(data.feature_names))
    model = make_pipeline(StandardScaler(), PSVC(p=1.25, C=np.inf, kernel="rbf"))
    model.fit(frame, data.target_names[data.target[:120]])
    path = tmp_path / "m.psvm"
    save(model, path)
    told = info(path)
    assert told["format_version"] == 3
    assert told["bytes"] == path.stat().st_size
    assert {"psvm", "scikit-learn", "numpy", "skops"} <= told["versions"].keys()
    summary = told["model"]
    assert summary["estimator"] == "Pipeline"
    assert summary["steps"] == ["StandardScaler", "PSVC"]
    assert summary["parameters"]["p"] == 1.25
    assert summary["parameters"]["C"] == "inf"  # JSON has no infinity
    assert summary["classes"] == ["benign", "malignant"]
    assert summary["feature_names"] == list(data.feature_names)
    assert summary["n_features"] == 30
    assert summary["n_support"] == model[-1].n_support_.tolist()
    assert summary["dual_gap"] == model[-1].dual_gap_.tolist()
    assert summary["status"] == ["converged"]


def test_notes_are_kept_beside_the_model(tmp_path):
    model = PSVC().fit([[0.0], [1.0]], [0, 1])
    notes = {"source": "a.csv", "columns": {"x": [1, np.float64(2.5), None]}}
    save(model, tmp_path / "m.psvm", notes=notes)
    assert info(tmp_path / "m.psvm")["notes"] == {
        "source": "a.csv",
        "columns": {"x": [1, 2.5, None]},
    }
    assert load(tmp_path / "m.psvm").predict([[0.0]]) == [0]
    save(model, tmp_path / "m.psvm")
    assert "notes" not in info(tmp_path / "m.psvm")


def test_info_looks_inside_searches_and_calibration(tmp_path):
    for name, steps in (
        ("searched", ["StandardScaler", "PSVC"]),
        ("sigmoid", ["CalibratedClassifierCV"]),
    ):
        model = clone(COMPOSED[name]).fit(X3, Y3)
        save(model, tmp_path / "m.psvm")
        summary = info(tmp_path / "m.psvm")["model"]
        assert summary["steps"] == steps
        assert "p" in summary["parameters"]
        assert len(summary["dual_gap"]) == 3


def test_file_is_a_zip_archive_that_needs_no_psvm(tmp_path):
    model = PSVC().fit(X, Y)
    save(model, tmp_path / "m.psvm")
    with zipfile.ZipFile(tmp_path / "m.psvm") as archive:
        assert archive.namelist() == ["psvm.json", "model.skops"]
        assert json.loads(archive.read("psvm.json"))["format"] == "psvm model"
        archive.extract("model.skops", tmp_path)
    with zipfile.ZipFile(tmp_path / "model.skops") as payload:
        arrays = [
            np.load(payload.open(name)) for name in payload.namelist() if name.endswith(".npy")
        ]
    assert any(np.array_equal(array, model.support_vectors_) for array in arrays)


def test_a_long_history_costs_little(tmp_path):
    model = LinearPSVC().fit(X, Y)
    model.history_ = [[{**model.history_[0][0], "iteration": i} for i in range(3000)]]
    save(model, tmp_path / "m.psvm")
    assert (tmp_path / "m.psvm").stat().st_size < 100_000
    assert load(tmp_path / "m.psvm").history_ == model.history_
