"""Ends of a search of PSVCCV before its time, and what it shows while it runs."""

import time
import warnings

import numpy as np
import pytest
from messages import assert_mentions
from processes import UNIX, interrupted
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from small_data import noisy

from psvm import PSVCCV, _core
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.search import explore

SMALL = {"ps": (1, 2), "Cs": (1.0, 10.0), "gammas": (0.05, 0.3), "cv": 3}

# --- signals --------------------------------------------------------------------------------------

SEARCH = """
    import sys, time, warnings
    import numpy as np
    from psvm import PSVCCV
    from psvm.search.explore import Explorer

    warnings.simplefilter("ignore")  # on a fast machine hard cells are done, and not well
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0, 1, -1)
    # The first width (10) is done in no time, the last takes twenty times as long.
    model = PSVCCV((1, 3), np.logspace(-1, 6, 8), [1e-4, 10.0], on_interrupt=sys.argv[1], n_jobs=2,
                   cv=3, kernel=sys.argv[2])
    note = Explorer._note

    def note_and_tell(self, answers, *, keep):
        Explorer._note = note
        note(self, answers, keep=keep)
        print("begin", flush=True)

    Explorer._note = note_and_tell
    try:
        model.fit(X, y)
        finished = np.isfinite(model.cv_results_["mean_test_score"])
        print("kept", finished.sum(), finished.size, model.predict(X[:3]).size, flush=True)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic(), flush=True)
"""


@UNIX
def test_interrupt_is_answered_at_once():
    out, sent, err = interrupted(SEARCH, 0.3, "raise", "rbf")
    assert out[0] == "interrupted", err
    assert float(out[1]) - sent < 0.5
    assert err == ""


@UNIX
def test_interrupt_keeps_finished_cells_if_asked():
    """A real signal, when the easy width is done and the hard one under way."""
    out, _, err = interrupted(SEARCH, 0.3, "keep", "rbf")
    assert out[0] == "kept", err
    finished, cells, predicted = map(int, out[1:])
    assert 0 < finished < cells
    assert predicted == 3
    assert err == ""


FINAL_FIT = """
    import sys, time, warnings
    import numpy as np
    from sklearn.exceptions import NotFittedError
    from psvm import PSVC, PSVCCV

    class Announced(PSVC):
        def _fit_from(self, kernels, X, *others, **options):
            if len(X) == 3000:
                print("begin", flush=True)
            return super()._fit_from(kernels, X, *others, **options)

    import psvm.search.classification
    psvm.search.classification.PSVC = Announced
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0, 1, -1)
    # Fifty rows are solved in no time, all of them at this C in minutes.
    split = [(np.arange(50), np.arange(50, 100))]
    model = PSVCCV((1.5,), [1.0, 1e6], [0.1], cv=split, tol=1e-12, on_interrupt=sys.argv[1],
                   rule="best", scoring=lambda model, X, y: model.params_["C"], n_jobs=2)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        answered = time.monotonic()
        if sys.argv[1] == "raise":
            print("interrupted", answered, [name for name in vars(model) if name.endswith("_")])
            sys.exit()
        scores = model.cv_results_["mean_test_score"].tolist()
        try:
            model.predict(X[:3])
        except NotFittedError:
            print("interrupted", answered, scores == [1.0, 1e6], model.best_params_["C"] == 1e6,
                  np.isfinite(model.cross_val_decision_).sum(), hasattr(model, "best_estimator_"),
                  hasattr(model, "refit_time_"))
"""


@UNIX
@pytest.mark.parametrize("on_interrupt", ["raise", "keep"])
def test_interrupt_of_the_final_fit(on_interrupt):
    """It is raised at once: the estimator is as it was, or has the results without a model."""
    out, sent, err = interrupted(FINAL_FIT, 0.5, on_interrupt)
    assert err == ""
    assert out[0] == "interrupted"
    # Measured: 0.01 to 0.3 s. The limit is for machines that are busy with other tests.
    assert float(out[1]) - sent < 5.0
    kept = ["True", "True", "50", "False", "False"]
    assert out[2:] == (["[]"] if on_interrupt == "raise" else kept)


@pytest.mark.parametrize("on_interrupt", ["raise", "keep"])
def test_interrupt_between_the_search_and_the_final_fit(on_interrupt, monkeypatch):
    """The chosen cell is solved once more: an interrupt there leaves the scores, if asked to."""

    def settle(self):
        raise KeyboardInterrupt

    X, y = noisy(n=90)
    model = PSVCCV(**SMALL, on_interrupt=on_interrupt).fit(X, y)
    expected = model.cv_results_["mean_test_score"]
    monkeypatch.setattr(explore.Explorer, "settle", settle)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    found = model.cv_results_["mean_test_score"]
    if on_interrupt == "raise":
        assert found is expected
        model.predict_proba(X)
        return
    assert found == pytest.approx(expected, abs=0.012)  # one row: the last solve was finer
    assert model.best_score_ == found[model.best_index_]
    assert not hasattr(model, "best_estimator_")
    assert not hasattr(model, "cross_val_decision_")
    with pytest.raises(NotFittedError):
        model.predict_proba(X)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_interrupt_of_whole_fits_keeps_the_exponents_done(kernel, monkeypatch):
    """Without a kernel matrix the splits are fitted one by one, p after p."""
    from psvm.search import watch

    X, y = noisy(n=90)
    given = {"kernel": kernel, "gammas": (0.1,), "cache_size": 1e-6}
    search = PSVCCV(**SMALL | given, on_interrupt="keep")
    whole = clone(search).fit(X, y).cv_results_["mean_test_score"]
    looks = []

    def look(self):
        looks.append(self)
        if len(looks) == 10:  # one when it begins, six fits of p = 1, three of p = 2
            raise KeyboardInterrupt

    monkeypatch.setattr(watch.SearchWatch, "look", look)
    search.fit(X, y)
    scores, p = search.cv_results_["mean_test_score"], np.asarray(search.cv_results_["param_p"])
    assert np.array_equal(scores[p == 1], whole[p == 1])
    assert np.all(np.isnan(scores[p == 2]))
    assert search.best_params_["p"] == 1
    assert search.predict(X).shape == (90,)


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
    # So many widths that the search is not over when a busy machine has the first one told.
    many = {**SMALL, "gammas": tuple(np.geomspace(0.01, 1.0, 60))}
    stopped, _ = stop_after(PSVCCV(**many, n_jobs=1), 1)
    stopped.fit(X, y)
    finished = np.isfinite(stopped.cv_results_["mean_test_score"])
    assert 0 < finished.sum() < finished.size
    assert finished[stopped.best_index_]
    assert stopped.predict(X).shape == (90,)
    ranks = stopped.cv_results_["rank_test_score"]
    assert np.all(ranks[~finished] > ranks[finished].max())


def test_interrupt_keeps_what_is_finished(monkeypatch):
    """Ctrl-C after the first width: its cells are scored, the others NaN, and there is a model."""

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


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_cells_that_time_cuts_short_are_not_chosen_among(kernel, monkeypatch):
    """The clock jumps to the end in the middle of the search: what is finished is as always."""
    X, y = noisy(n=1200, d=5, seed=2, noise=1.0)
    asked = {"ps": (1, 2), "Cs": (0.1, 1, 10, 100), "cv": 3, "kernel": kernel, "n_jobs": 1}
    whole = PSVCCV(**asked).fit(X, y).cv_results_["mean_test_score"]
    # After some fits there is no time left any more.
    done, search = [], explore.Explorer.search

    def search_and_count(self):
        tell = self.watch.fits_done

        def fits_done(count):
            tell(count)
            done.append(count)
            if sum(done) >= 10:
                self.max_time = 1e-9

        self.watch.fits_done = fits_done
        search(self)

    monkeypatch.setattr(explore.Explorer, "search", search_and_count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the final fit has no time left
        cut = PSVCCV(**asked, max_time=1e3).fit(X, y)
    found = cut.cv_results_["mean_test_score"]
    finished = np.isfinite(found)
    assert 0 < finished.sum() < finished.size
    np.testing.assert_allclose(found[finished], whole[finished], atol=0.02)
    assert cut.best_score_ == np.nanmax(found)
    assert cut.best_estimator_.max_time is None
    assert cut.cross_val_decision_.shape == (1200,)


def test_a_limited_search_takes_the_small_costs_of_all_p_first():
    from types import SimpleNamespace

    from psvm.search.gram_search import GramSearch

    cells = [(p, C) for p in (1, 2) for C in range(7)]
    search = SimpleNamespace(_grid=SimpleNamespace(p=[p for p, _ in cells]))
    parts = GramSearch._stretches(search, range(len(cells)))
    found = [[cells[i] for i in range(14)[part]] for part in parts]
    # The very first by itself: as soon as all splits have it there is a model.
    assert found[:2] == [[(1, 0)], [(1, 1), (1, 2)]]
    assert [found[0] + found[1], *found[2:]] == [
        [(p, C) for C in few] for few in (range(3), range(3, 6), [6]) for p in (1, 2)
    ]


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


def test_progress_without_standard_error(monkeypatch):
    """As under pythonw, where there is none."""
    monkeypatch.setattr("sys.stderr", None)
    assert PSVCCV(**SMALL, verbose=1).fit(*noisy(n=60)).best_score_ > 0.5


def test_nothing_is_printed(capsys):
    PSVCCV(**SMALL).fit(*noisy(n=60))
    out, err = capsys.readouterr()
    assert out == err == ""


def test_cancelled_before_held_out_values_are_computed():
    """Those of several cells are computed in one pass, which may take longer than Ctrl-C may."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4800, 4000)).astype(np.float32)
    train, held_out = np.arange(2400), np.arange(2400, 4800)
    y = np.where(X[train, 0] > 0.0, 1.0, -1.0)
    kernel = TrainingKernel(Kernel("laplacian", gamma=2e-4), X, [0, len(X)], 0.0, 1)
    cancel, told = _core.Cancel(), []

    def on_cells(count):
        told.append(time.monotonic())
        cancel.set()

    Cs = np.logspace(0.0, 0.1, 5)
    ranges = [np.array([[rows[0], rows[-1] + 1]]) for rows in (train, held_out)]
    problem = _core.FoldProblem(
        train=train,
        y=y,
        cost=np.ones(train.size),
        held_out=held_out,
        train_columns=ranges[0],
        held_out_columns=ranges[1],
        fit_intercept=True,
    )
    precision = _core.Precision(tol=1e-2, keep_alpha=True)
    outcome = _core.solve_fold_path(
        kernel.float32, problem, np.ones(5), Cs, precision, on_cells=on_cells, cancel=cancel
    )
    assert time.monotonic() - told[0] < 0.5
    done = len(outcome["gap"])
    assert done <= 1
    assert outcome["decision"].shape == (done, held_out.size)
    assert outcome["alpha"].shape == outcome["supports"].shape == (done, train.size)


def test_nearly_all_seconds_are_for_the_first_cell():
    """A final fit that is cut short is a model; no cell is none."""
    from types import SimpleNamespace

    def end(first, finished):
        grid = SimpleNamespace(gamma_number=np.zeros(1, dtype=int))
        table = SimpleNamespace(
            finished=np.array([finished]), fit_seconds=np.zeros((1, 2)), grid=grid
        )
        explorer = SimpleNamespace(
            max_time=10.0, began=0.0, some_finished=first, table=table, chosen=0
        )
        return explore.Explorer._end.fget(explorer)

    assert end(False, False) == 9.0
    assert end(True, False) == end(True, True) == end(False, True) == 8.0


def test_seconds_are_left_for_the_final_fit():
    """Twice those of the slowest cell of the chosen width, which has computed its kernel rows."""
    from types import SimpleNamespace

    seconds = np.array([[0.5, 1.5], [0.1, 0.1], [4.0, 4.0], [9.0, 9.0]])
    table = SimpleNamespace(
        finished=np.array([True, True, True, False]),
        fit_seconds=seconds,
        grid=SimpleNamespace(gamma_number=np.array([0, 0, 1, 0])),
    )
    explorer = SimpleNamespace(max_time=10.0, began=0.0, some_finished=True, table=table, chosen=1)
    assert explore.Explorer._end.fget(explorer) == pytest.approx(7.0)
