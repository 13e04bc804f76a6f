"""PSVC is a scikit-learn estimator: the official checks, containers, routing, callbacks."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from small_data import blobs, noisy

from psvm import PSVC
from psvm.problem import Status

ESTIMATORS = [
    PSVC(),
    PSVC(p=1),
    PSVC(p=2, kernel="linear"),
    PSVC(p=3, multi_class="ovr"),
    PSVC(p=1.01, kernel="laplacian"),
    PSVC(p=1.25, kernel="exponential", warm_start=True, fit_intercept=False),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    """Every check that scikit-learn has for a classifier, none excused."""
    check(estimator)


def test_no_check_is_excused():
    """check_estimator has no expected failure, and skips only what this machine cannot run."""
    results = check_estimator(PSVC(), on_fail=None, on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    skipped = [result["check_name"] for result in results if result["status"] == "skipped"]
    assert all("array_api" in name for name in skipped), skipped


def test_tags():
    """A classifier for several classes that takes sparse matrices; pairwise if precomputed."""
    assert is_classifier(PSVC())
    tags = sklearn.utils.get_tags(PSVC())
    assert tags.input_tags.sparse
    assert not tags.input_tags.pairwise
    assert sklearn.utils.get_tags(PSVC(kernel="precomputed")).input_tags.pairwise


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickle(protocol):
    """A copy by pickle predicts the same and keeps its certificate and history."""
    X, y = blobs(classes=3)
    model = PSVC(p=1.25).fit(X, y)
    copy = pickle.loads(pickle.dumps(model, protocol))
    assert np.array_equal(copy.decision_function(X), model.decision_function(X))
    assert copy.status_ == model.status_
    assert copy.history_ == model.history_
    assert copy.fit(X, y).dual_gap_.tolist() == model.dual_gap_.tolist()


def test_pickle_of_a_warm_start():
    """A pickled estimator continues from the old solution."""
    X, y = noisy(n=200)
    model = pickle.loads(pickle.dumps(PSVC(warm_start=True).fit(X, y)))
    assert model.set_params(C=2.0).fit(X, y).status_ == [Status.CONVERGED]


def test_clone():
    """clone copies parameters and no fitted state."""
    model = clone(PSVC(p=3, C=2.0, kernel="poly").fit(*noisy()))
    assert model.get_params()["p"] == 3
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames(frame):
    """pandas and polars frames: names are kept, and other names are refused."""
    X, y = noisy(n=40, d=3)
    names = ["length", "width", "height"]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = PSVC().fit(table, y)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 3
    assert model.predict(table).tolist() == PSVC().fit(X, y).predict(X).tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["width", "length", "height"]])


def test_series_as_labels_and_weights():
    """pandas and polars series as y and sample_weight."""
    X, y = noisy(n=40)
    weights = np.linspace(0.5, 2.0, 40)
    expected = PSVC().fit(X, y, sample_weight=weights).decision_function(X)
    for series in (pd.Series, pl.Series):
        model = PSVC().fit(X, series(y), sample_weight=series(weights))
        assert model.decision_function(X) == pytest.approx(expected)


@pytest.mark.parametrize(
    "labels",
    [["ham", "spam", "eggs"], [10, -3, 7], [0.0, 1.0, 2.0], [True, False]],
    ids=["string", "integer", "float", "boolean"],
)
def test_any_labels(labels):
    """Labels of any kind come back as they went in; classes_ is sorted."""
    X, y = blobs(n=60, classes=len(labels))
    named = np.array(labels)[y]
    model = PSVC().fit(X, named)
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(X).dtype == named.dtype
    reference = PSVC().fit(X, np.searchsorted(np.sort(labels), named))
    assert np.array_equal(model.predict(X), model.classes_[reference.predict(X)])


def test_object_labels():
    X, y = blobs(n=60, classes=2)
    named = np.array(["no", "yes"], dtype=object)[y]
    assert set(PSVC().fit(X, named).predict(X)) <= {"no", "yes"}


def test_column_vector_of_labels_warns():
    """As everywhere in scikit-learn."""
    X, y = noisy()
    with pytest.warns(sklearn.exceptions.DataConversionWarning):
        PSVC().fit(X, y[:, None])


def test_html_repr():
    """The notebook display shows the parameters that differ from the default."""
    model = PSVC(p=2.5).fit(*noisy())
    html = model._repr_html_()
    assert "PSVC" in html
    assert "2.5" in html
    assert repr(PSVC(p=2.5)) == "PSVC(p=2.5)"


def test_metadata_routing():
    """sample_weight reaches the classifier inside a pipeline inside a search."""
    X, y = noisy(n=60, d=3)
    weights = np.random.default_rng(0).uniform(0, 3, size=60)
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = PSVC(gamma=0.4).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        accuracy = get_scorer("accuracy").set_score_request(sample_weight=True)
        pipeline = make_pipeline(scaler, classifier)
        search = GridSearchCV(pipeline, {"psvc__C": [0.5]}, cv=3, scoring=accuracy)
        found = search.fit(X, y, sample_weight=weights).best_estimator_
        expected = PSVC(C=0.5, gamma=0.4)
        expected.fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
        unrequested = make_pipeline(StandardScaler(), PSVC())
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            unrequested.fit(X, y, sample_weight=weights)
    assert found[-1].dual_coef_ == pytest.approx(expected.dual_coef_)


def test_grid_search_over_p_and_C():
    """The exponent is a parameter like any other."""
    X, y = noisy(n=60)
    grid = {"p": [1, 1.5, 2], "C": [0.1, 1.0]}
    search = GridSearchCV(PSVC(), grid, cv=3).fit(X, y)
    assert set(search.best_params_) == {"p", "C"}


def test_cross_validation_of_a_precomputed_kernel():
    """The pairwise tag makes scikit-learn cut rows and columns."""
    X, y = noisy(n=60)
    scores = cross_val_score(PSVC(kernel="precomputed"), X @ X.T, y, cv=3)
    assert scores == pytest.approx(cross_val_score(PSVC(kernel="linear"), X, y, cv=3))


def test_calibration():
    """Probabilities come from scikit-learn's calibration: there is no flag for it."""
    X, y = blobs(n=90, classes=3)
    proba = CalibratedClassifierCV(PSVC(), cv=3).fit(X, y).predict_proba(X)
    assert proba.sum(axis=1) == pytest.approx(np.ones(90))
    assert not hasattr(PSVC(), "predict_proba")


def test_parameters_are_not_rebound():
    """fit leaves every parameter as it was, the very same object."""
    weights = {-1.0: 1.0, 1.0: 2.0}
    model = PSVC(class_weight=weights, gamma="scale", cache_size=None, p=1)
    before = model.get_params()
    model.fit(*noisy())
    assert all(model.get_params()[name] is value for name, value in before.items())
    assert weights == {-1.0: 1.0, 1.0: 2.0}


def test_fit_does_not_write_to_its_input():
    X, y = noisy()
    X.flags.writeable = y.flags.writeable = False
    weights = np.ones(y.size)
    weights.flags.writeable = False
    PSVC().fit(X, y, sample_weight=weights).predict(X)


class Recorder:
    """A callback that keeps what every round reports, and can ask to stop."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.rounds = []
        self.torn_down = False

    def setup(self, estimator, context):
        self.rounds = []

    def teardown(self, estimator, context):
        self.torn_down = True

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, metadata):
        if context.task_name != "round":
            return False
        assert len(X) == len(y)
        self.rounds.append(metadata)
        return self.stop_after is not None and len(self.rounds) >= self.stop_after


@pytest.fixture(scope="module")
def many_rounds():
    """Data that take several rounds."""
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    return noisy(n=3000, d=8, seed=2, noise=2.0)


def test_callback_sees_the_gap_fall(many_rounds):
    """One report per round, with the figures of history_."""
    X, y = many_rounds
    recorder = Recorder()
    model = PSVC(C=10.0).set_callbacks(recorder).fit(X, y)
    gaps = [report["gap"] for report in recorder.rounds]
    assert len(gaps) >= 2
    assert gaps[-1] < gaps[0]
    assert gaps == [record["gap"] for record in model.history_[0]]
    assert all(report["dual"] <= report["primal"] for report in recorder.rounds)
    assert recorder.torn_down


def test_callback_stops_the_fit(many_rounds):
    """A true answer stops, with a status and a warning; the model is usable."""
    X, y = many_rounds
    recorder = Recorder(stop_after=2)
    model = PSVC(C=10.0, tol=1e-9).set_callbacks(recorder)
    with pytest.warns(ConvergenceWarning, match="callback"):
        model.fit(X, y)
    assert model.status_ == [Status.STOPPED]
    assert len(recorder.rounds) == 2
    assert model.score(X, y) > 0.5


def test_callback_does_not_change_the_model(many_rounds):
    X, y = many_rounds
    watched = PSVC().set_callbacks(Recorder()).fit(X, y)
    assert np.array_equal(watched.decision_function(X), PSVC().fit(X, y).decision_function(X))


def test_callback_of_several_classes():
    """Every binary problem reports."""
    pytest.importorskip("sklearn.callback")
    recorder = Recorder()
    model = PSVC().set_callbacks(recorder).fit(*blobs(n=90, classes=3))
    assert len(recorder.rounds) == sum(len(records) for records in model.history_)


def test_progress_bar_of_scikit_learn(many_rounds, capsys):
    """The stock callback works."""
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, y = many_rounds
    assert PSVC().set_callbacks(ProgressBar()).fit(X, y).status_ == [Status.CONVERGED]
