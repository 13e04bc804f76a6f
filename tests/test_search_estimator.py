"""PSVCCV as a scikit-learn estimator: checks, probabilities, routing, errors, interrupts."""

import pickle
import signal
import time

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from messages import assert_mentions
from processes import UNIX, script
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_data import blobs, noisy
from threadpoolctl import threadpool_limits

from psvm import PSVC, PSVCCV
from psvm.search.calibration import Calibration, coupled, fit_sigmoid
from psvm.validation import check_threads

SMALL = {"ps": (1, 2), "Cs": (1.0, 10.0), "gammas": (0.05, 0.3), "cv": 3}


@parametrize_with_checks([PSVCCV(), PSVCCV(kernel="linear", ps=(1, 2), Cs=3)])
def test_scikit_learn_check(estimator, check):
    """Every check that scikit-learn has for a classifier, none excused."""
    check(estimator)


def test_tags_clone_and_parameters():
    assert is_classifier(PSVCCV())
    assert sklearn.utils.get_tags(PSVCCV()).input_tags.sparse
    assert sklearn.utils.get_tags(PSVCCV(kernel="precomputed")).input_tags.pairwise
    Cs = [1.0, 2.0]
    model = PSVCCV((1,), Cs, (0.1,), cv=3).fit(*noisy(n=60))
    assert model.Cs is Cs
    copy = clone(model)
    assert copy.get_params()["Cs"] == Cs
    assert not hasattr(copy, "best_params_")


def test_pickle_and_frames():
    X, y = blobs(n=90)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = PSVCCV(**SMALL).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict_proba(frame), model.predict_proba(frame))
    assert copy.best_params_ == model.best_params_
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_inside_a_joblib_backend(backend):
    """Searches in workers of a backend give what one gives by itself."""
    X, y = noisy(n=90)
    alone = cross_val_score(PSVCCV(**SMALL), X, y, cv=2)
    with joblib.parallel_config(backend, n_jobs=2):
        assert np.array_equal(cross_val_score(PSVCCV(**SMALL), X, y, cv=2), alone)


def test_threadpool_limits_are_kept():
    """Under a limit of one thread a search starts one worker, and the result is the same."""
    X, y = noisy(n=90)
    with threadpool_limits(1):
        assert check_threads(None) == 1
        limited = PSVCCV(**SMALL).fit(X, y)
    free = PSVCCV(**SMALL).fit(X, y)
    assert np.array_equal(
        limited.cv_results_["mean_test_score"], free.cv_results_["mean_test_score"]
    )


def test_inside_other_estimators():
    X, y = blobs(n=90)
    pipeline = make_pipeline(StandardScaler(), PSVCCV(**SMALL)).set_output(transform="pandas")
    assert np.mean(cross_val_score(pipeline, pd.DataFrame(X), y, cv=3)) > 0.7
    outer = CalibratedClassifierCV(PSVCCV(**SMALL), cv=2).fit(X, y)
    assert outer.predict_proba(X).shape == (90, 3)


def test_refit():
    X, y = noisy(n=80)
    model = PSVCCV(**SMALL).fit(X, y)
    alone = PSVC(**model.best_params_).fit(X, y)
    assert model.refit_time_ > 0.0
    assert np.array_equal(model.decision_function(X), alone.decision_function(X))
    assert np.array_equal(model.predict(X), alone.predict(X))
    assert model.score(X, y) == alone.score(X, y)
    without = PSVCCV(**SMALL, refit=False).fit(X, y)
    assert without.best_params_ == model.best_params_
    assert not hasattr(without, "predict")
    with pytest.raises(AttributeError) as caught:
        without.predict_proba(X)
    assert_mentions(str(caught.value.__cause__), "refit=True", "best_params_")
    with pytest.raises(NotFittedError):
        PSVCCV().predict(X)


def test_tolerance_of_the_final_fit():
    X, y = noisy(n=700, d=5, seed=1)
    coarse, fine = (PSVCCV(**SMALL, tol=tol).fit(X, y).best_estimator_ for tol in (1e-2, 1e-6))
    assert fine.dual_gap_[0] <= 1e-6 < coarse.dual_gap_[0]


# --- probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [None, {1.0: 4.0}])
def test_probabilities_of_two_classes(class_weight):
    X, y = noisy(n=4400, d=3, seed=4, noise=2.0)
    fresh, truth, X, y = X[400:], y[400:], X[:400], y[:400]
    model = PSVCCV(**SMALL, class_weight=class_weight).fit(X, y)
    proba, decision = model.predict_proba(X), model.decision_function(X)
    assert proba.sum(axis=1) == pytest.approx(np.ones(400))
    assert np.all(np.diff(proba[np.argsort(decision), 1]) >= 0.0)
    if class_weight is None:
        assert np.array_equal(proba.argmax(axis=1) == 1, decision > 0.0)
    said = model.predict_proba(fresh)[:, 1]
    assert said.mean() == pytest.approx(np.mean(truth > 0), abs=0.05)
    if class_weight is None:
        # Calibrated: of the rows said to be positive with probability p, a share p is.
        for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
            rows = (said >= low) & (said < high)
            assert said[rows].mean() == pytest.approx(np.mean(truth[rows] > 0), abs=0.08)
    assert np.array_equal(said, model.predict_proba(fresh)[:, 1])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_probabilities_of_several_classes(multi_class):
    X, y = blobs(n=600, classes=4, spread=1.5)
    train, test = np.arange(600) < 400, np.arange(600) >= 400
    model = PSVCCV(**SMALL, multi_class=multi_class).fit(X[train], y[train])
    proba = model.predict_proba(X[test])
    assert proba.sum(axis=1) == pytest.approx(np.ones(200))
    assert np.mean(proba.argmax(axis=1) == model.predict(X[test])) > 0.85
    rival = CalibratedClassifierCV(PSVC(**model.best_params_, multi_class=multi_class), cv=3)
    rival.fit(X[train], y[train])
    assert log_loss(y[test], proba) < 1.05 * log_loss(y[test], rival.predict_proba(X[test]))


def test_sigmoid_is_the_most_likely_one():
    rng = np.random.default_rng(0)
    decision = rng.normal(size=3000) * 2.0
    positive = rng.random(3000) < 1.0 / (1.0 + np.exp(-(1.5 * decision - 0.5)))
    fitted = fit_sigmoid(decision, positive, np.ones(3000), symmetric=False)
    assert fitted.slope == pytest.approx(1.5, abs=0.15)
    assert fitted.offset == pytest.approx(-0.5, abs=0.15)
    doubled = fit_sigmoid(
        np.repeat(decision, 2), np.repeat(positive, 2), np.ones(6000), symmetric=False
    )
    weighted = fit_sigmoid(decision, positive, np.full(3000, 2.0), symmetric=False)
    assert doubled.slope == pytest.approx(weighted.slope, rel=1e-9)


@pytest.mark.parametrize(
    ("decision", "positive"),
    [
        (np.array([-1e6, -1e-9, 1e-9, 1e6]), np.array([0, 0, 1, 1])),  # separated, wide range
        (np.array([-2.0, -1.0, 1.0, 2.0]), np.array([1, 1, 0, 0])),  # the wrong way round
        (np.zeros(4), np.array([0, 1, 1, 1])),
        (np.array([0.5, 0.6]), np.array([1, 1])),  # one class only
    ],
)
def test_sigmoid_of_odd_data(decision, positive):
    fitted = fit_sigmoid(decision, positive == 1, np.ones(decision.size), symmetric=False)
    p = fitted(np.sort(decision))
    assert fitted.slope >= 0.0
    assert np.all((p > 0.0) & (p < 1.0))
    assert np.all(np.diff(p) >= 0.0)


def test_coupling_recovers_consistent_probabilities():
    """From exact r_ij = p_i / (p_i + p_j) the coupling finds p."""
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=50)
    pairs = np.column_stack(
        [p[:, i] / (p[:, i] + p[:, j]) for i in range(5) for j in range(i + 1, 5)]
    )
    assert coupled(pairs, 5) == pytest.approx(p, abs=1e-6)


def test_coupling_rises_with_the_decisions():
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=(200, 3)), rng.integers(0, 3, size=200).astype(np.int32)
    calibration = Calibration.fit(
        values + (codes == 0)[:, None], codes, np.ones(200), 3, "ovo", symmetric=True
    )
    before = calibration.probabilities(values)
    values[:, 0] += 0.5  # for class 0, against class 1
    after = calibration.probabilities(values)
    assert np.all(after[:, 0] >= before[:, 0] - 1e-12)
    assert np.all(after[:, 1] <= before[:, 1] + 1e-12)


# --- metadata ------------------------------------------------------------------------------------


def test_metadata_routing():
    X, y = noisy(n=90)
    groups, weights = np.arange(90) // 10, np.linspace(0.1, 3.0, 90)
    plain = PSVCCV((1, 2), (1.0,), (0.1,), cv=GroupKFold(3))
    expected = clone(plain).fit(X, y, sample_weight=weights, groups=groups)
    weighted_score = expected.score(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        routed = clone(plain).set_params(scoring=scorer)
        routed.set_fit_request(sample_weight=True)
        routed.fit(X, y, sample_weight=weights, groups=groups)
        unweighted = get_scorer("accuracy").set_score_request(sample_weight=False)
        other = clone(plain).set_params(scoring=unweighted)
        other.fit(X, y, sample_weight=weights, groups=groups)
        assert routed.score(X, y, sample_weight=weights) == pytest.approx(weighted_score)
    key = "mean_test_score"
    assert routed.cv_results_[key] == pytest.approx(expected.cv_results_[key])
    assert not np.allclose(other.cv_results_[key], expected.cv_results_[key])


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"ps": (0.5,)}, ["`p`", ">= 1", "0.5"]),
        ({"ps": 1.5}, ["`ps`", "list"]),
        ({"ps": ()}, ["`ps`", "at least one"]),
        ({"ps": (1, 1.0)}, ["`ps`", "twice"]),
        ({"Cs": (-1.0,)}, ["`C`", "> 0"]),
        ({"Cs": (np.inf,)}, ["`Cs`", "finite"]),
        ({"Cs": 0}, ["`Cs`", ">= 1"]),
        ({"gammas": ("large",)}, ["`gammas`", "scale"]),
        ({"gammas": (-1.0,)}, ["`gammas`", ">= 0"]),
        ({"kernel": "gauss"}, ["`kernel`", "rbf"]),
        ({"rule": "two_se"}, ["`rule`", "one_se"]),
        ({"on_interrupt": "ignore"}, ["`on_interrupt`", "keep"]),
        ({"refit": "yes"}, ["`refit`", "True"]),
        ({"scoring": ["f1", "accuracy"]}, ["`scoring`", "one scorer"]),
        ({"scoring": lambda model, X, y: [1.0, 2.0]}, ["`scoring`", "one number"]),
        ({"tol": 0.0}, ["`tol`", "(0, 1)"]),
        ({"max_time": -1.0}, ["`max_time`", "> 0"]),
        ({"cv": [([], [0, 1])]}, ["`cv`", "split 0"]),
        ({"cv": [([0, 2, 3], [1])]}, ["Split 0", "one class"]),
    ],
)
def test_wrong_parameters(parameters, words):
    X, y = noisy(n=30)
    y[:4] = 1.0
    y[4:8] = -1.0
    parameters = {"ps": (1,), "Cs": (1.0,), "gammas": (1.0,), "cv": 2, **parameters}
    with pytest.raises(ValueError) as caught:
        PSVCCV(**parameters).fit(X, y)
    assert_mentions(str(caught.value), *words)


def test_unknown_metadata_is_refused():
    with pytest.raises(ValueError, match="metadata"):
        PSVCCV(**SMALL).fit(*noisy(n=30), colour="blue")


# --- stopping, progress --------------------------------------------------------------------------

SEARCH = """
    import sys, time, warnings
    import numpy as np
    from psvm import PSVCCV

    warnings.simplefilter("ignore")  # on a fast machine hard cells are done, and not well
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = np.where(X[:, 0] + rng.normal(size=1500) > 0, 1, -1)
    # The last width is hopeless to finish soon; the first ones are done in no time.
    model = PSVCCV((1, 3), np.logspace(-1, 6, 8), [1e-4, 10.0], on_interrupt=sys.argv[1], n_jobs=2,
                   cv=3, kernel=sys.argv[2])
    print("begin", flush=True)
    try:
        model.fit(X, y)
        finished = np.isfinite(model.cv_results_["mean_test_score"])
        print("kept", finished.sum(), finished.size, model.predict(X[:3]).size, flush=True)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic(), flush=True)
"""


def interrupted(on_interrupt, kernel, wait):
    process = script(SEARCH, on_interrupt, kernel)
    try:
        assert process.stdout.readline().strip() == "begin"
        time.sleep(wait)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return out.split(), sent, err


@UNIX
def test_interrupt_is_answered_at_once():
    out, sent, err = interrupted("raise", "rbf", 1.5)
    assert out[0] == "interrupted", err
    assert float(out[1]) - sent < 0.5
    assert err == ""


@UNIX
def test_interrupt_keeps_finished_cells_if_asked():
    """A real signal, when the easy width is done and the hard one under way."""
    out, _, err = interrupted("keep", "rbf", 4.0)
    assert out[0] == "kept", err
    finished, cells, predicted = map(int, out[1:])
    assert 0 < finished < cells
    assert predicted == 3
    assert err == ""


def stop_after(search, cells):
    """The search, stopped by a callback after so many cells."""

    class Stopper:
        def setup(self, estimator, context):
            self.records = []

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, X, y, metadata):
            if context.task_name == "cell":
                self.records.append(metadata)
            return len(self.records) >= cells

    stopper = Stopper()
    return search.set_callbacks(stopper), stopper


def test_callbacks():
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    X, y = noisy(n=90)
    search, heard = stop_after(PSVCCV(**SMALL), 1000)
    search.fit(X, y)
    told = {(r["p"], r["C"], r["gamma"]): r["mean_test_score"] for r in heard.records}
    for cell, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        assert told[cell["p"], cell["C"], cell["gamma"]] == pytest.approx(score)
    stopped, _ = stop_after(PSVCCV(**SMALL, n_jobs=1), 1)
    stopped.fit(X, y)
    finished = np.isfinite(stopped.cv_results_["mean_test_score"])
    assert 0 < finished.sum() < finished.size
    assert finished[stopped.best_index_]
    assert stopped.predict(X).shape == (90,)
    ranks = stopped.cv_results_["rank_test_score"]
    assert np.all(ranks[~finished] > ranks[finished].max())


def test_interrupt_keeps_what_is_finished(monkeypatch):
    """Ctrl-C after the first width: its cells are scored, the others NaN, and there is a model."""
    from psvm.search import explore

    X, y = noisy(n=90)
    seen = []
    note = explore.Explorer._note

    def note_and_interrupt(self, answers, *, keep):
        note(self, answers, keep=keep)
        seen.append(answers)
        if len(seen) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(explore.Explorer, "_note", note_and_interrupt)
    # One thread, which has not begun the second width or is stopped in it.
    model = PSVCCV(**SMALL, on_interrupt="keep", n_jobs=1).fit(X, y)
    assert np.isfinite(model.cv_results_["mean_test_score"]).sum() >= 4
    assert model.predict_proba(X).shape == (90, 2)
    seen.clear()
    with pytest.raises(KeyboardInterrupt):
        PSVCCV(**SMALL, on_interrupt="raise").fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # huge C
def test_max_time():
    X, y = noisy(n=1200, d=5, seed=2, noise=3.0)
    search = PSVCCV((1, 3), np.logspace(-1, 7, 30), [1e-4, 10.0], cv=3, max_time=0.2)
    start = time.monotonic()
    try:
        search.fit(X, y)
    except ValueError as error:
        assert_mentions(str(error), "max_time", "fewer cells")
    else:
        assert np.isnan(search.cv_results_["mean_test_score"]).any()
    assert time.monotonic() - start < 60.0


def test_progress(caplog, monkeypatch):
    """Without a terminal, lines of the log; with verbose=2 one per width."""
    with caplog.at_level("INFO", logger="psvm"):
        PSVCCV(**SMALL, verbose=2).fit(*noisy(n=90))
    lines = [r.getMessage() for r in caplog.records if "fits" in r.getMessage()]
    assert len(lines) >= 2
    assert "best" in lines[-1]
    assert "C=" in lines[-1]


def test_bar_on_a_terminal(monkeypatch, capsys):
    rich = pytest.importorskip("rich.console")
    from psvm.search import watch

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    bar = watch._RichBar()
    bar.show(3, 24, "best 0.9")
    bar.close()
    assert rich
    text = capsys.readouterr().err
    assert "3/24" in text
    assert "best 0.9" in text


def test_nothing_is_printed(capsys):
    PSVCCV(**SMALL).fit(*noisy(n=60))
    out, err = capsys.readouterr()
    assert out == err == ""


def test_splits_are_read_once():
    """A generator of splits is enough."""
    X, y = noisy(n=60)
    splits = StratifiedKFold(3).split(X, y)
    assert PSVCCV((1,), (1.0,), (0.1,), cv=splits).fit(X, y).n_splits_ == 3
