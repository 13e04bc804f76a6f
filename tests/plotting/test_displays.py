"""Displays without a screen: what all share, and the loss, convergence and learning pictures."""

import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from small_data import blobs, noisy

from psvm import PSVC, LinearPSVC, plotting
from psvm.plotting import (
    ConvergenceDisplay,
    LearningProcessDisplay,
    LossDisplay,
    PathDisplay,
    SelectionDisplay,
)


@pytest.fixture(autouse=True)
def no_screen():
    """Figures in memory, gone after the test."""
    backend = matplotlib.get_backend()
    matplotlib.use("Agg")
    yield
    plt.close("all")
    matplotlib.use(backend)


def new_axes():
    """Axes that pyplot does not know."""
    return Figure().subplots()


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def cv_results():
    p, C = np.meshgrid([1.0, 2.0], [0.1, 1.0, 10.0])
    score = np.linspace(0.7, 0.9, 6)
    return {
        "param_p": p.ravel(),
        "param_C": C.ravel(),
        "mean_test_score": score,
        "std_test_score": 0.1 * score,
        "mean_n_support": np.arange(6.0),
    }


X, Y = noisy(60, 2)


def draw_loss(**options):
    return LossDisplay.from_exponents([1, 2], **options)


def draw_convergence(**options):
    return ConvergenceDisplay.from_estimator(PSVC().fit(X, Y), **options)


def draw_learning(**options):
    return LearningProcessDisplay.from_estimator(
        PSVC(), X, Y, train_sizes=[10, 30], cv=2, **options
    )


def draw_path(**options):
    return PathDisplay.from_estimator(PSVC(), X, Y, ps=[1, 2], Cs=3, **options)


def draw_selection(**options):
    return SelectionDisplay.from_cv_results(cv_results(), x="C", y=None, **options)


def draw_map(**options):
    return SelectionDisplay.from_cv_results(cv_results(), **options)


LINES = [draw_loss, draw_convergence, draw_learning, draw_path, draw_selection]
ALL = [*LINES, draw_map]


# --- what all share -------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", ALL)
def test_a_new_figure_is_one_of_pyplot_and_has_labels(draw):
    display = draw()
    assert plt.get_fignums() == [display.figure_.number]
    assert display.ax_.figure is display.figure_
    assert display.ax_.get_xlabel()
    assert display.ax_.get_ylabel()


@pytest.mark.parametrize("draw", ALL)
def test_given_axes_are_used_and_nothing_else(draw):
    ax = new_axes()
    display = draw(ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert not plt.get_fignums()
    assert display.plot(new_axes()) is display
    assert display.ax_ is not ax


@pytest.mark.parametrize("draw", ALL)
def test_settings_of_matplotlib_stay_as_they_are(draw):
    before = dict(matplotlib.rcParams)
    draw()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("draw", ALL)
def test_text_does_not_leave_the_figure(draw):
    """All labels, ticks and the legend are inside the picture."""
    display = draw()
    figure = display.figure_
    figure.canvas.draw()
    box = display.ax_.get_tightbbox()
    whole = figure.bbox
    assert box.x0 >= whole.x0 - 1
    assert box.y0 >= whole.y0 - 1
    assert box.x1 <= whole.x1 + 1
    assert box.y1 <= whole.y1 + 1


@pytest.mark.parametrize("draw", LINES)
def test_line_kw_reaches_every_line_under_short_names_too(draw):
    display = draw(line_kw={"lw": 7.0, "color": "black"})
    lines = getattr(display, "lines_", None) or [display.line_]
    assert {line.get_linewidth() for line in lines} == {7.0}
    assert {line.get_color() for line in lines} == {"black"}


@pytest.mark.parametrize("draw", ALL)
def test_without_matplotlib_the_error_says_what_to_install(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ImportError, match=r"Display\..* needs matplotlib: pip install '\.\[plot\]'"
    ):
        draw()


@pytest.mark.parametrize("kind", [LearningProcessDisplay, PathDisplay])
def test_without_matplotlib_nothing_is_computed(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setattr(PSVC, "fit", lambda *_: pytest.fail("computed before the error"))
    with pytest.raises(ImportError, match="from_estimator needs matplotlib"):
        kind.from_estimator(PSVC(), X, Y)


def test_importing_the_displays_does_not_import_matplotlib():
    program = "import sys, psvm.plotting; print('matplotlib' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout.strip() == "False", answer.stdout + answer.stderr


def test_every_display_is_exported_and_documented():
    assert sorted(plotting.__all__) == plotting.__all__
    for name in plotting.__all__:
        display = getattr(plotting, name)
        for part in (display, display.plot, display.from_estimator):
            assert "Parameters\n" in part.__doc__, (name, part)


def test_every_picture_in_the_docs_is_small_and_has_its_example():
    docs = Path(__file__).parents[2] / "docs"
    drawn = runpy.run_path(str(docs / "displays.py"))["examples"]()
    there = [path.name for kind in ("display", "fit") for path in docs.glob(f"images/{kind}-*.png")]
    assert sorted(drawn) == sorted(there)
    for name in drawn:
        content = (docs / "images" / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 100_000


# --- LossDisplay ----------------------------------------------------------------------------------


def test_loss_lines_are_the_losses():
    ps, rho = (1.0, 1.5, 3.0), 2.0
    display = LossDisplay.from_exponents(ps, rho=rho)
    assert len(display.lines_) == 6
    for k, p in enumerate(ps):
        x, clipped = display.lines_[k].get_data()
        hinge = np.maximum(0.0, 1.0 - x / rho) ** p
        np.testing.assert_allclose(clipped, np.minimum(hinge, 1.0), atol=1e-14)
        np.testing.assert_allclose(display.lines_[3 + k].get_ydata(), hinge, atol=1e-14)
        assert display.lines_[k].get_color() == display.lines_[3 + k].get_color()
    assert display.ax_.get_xlim() == (-2.0, 3.0)
    assert display.ax_.get_ylim()[0] < 0.0 < 1.0 < display.ax_.get_ylim()[1]
    expected = ["p = 1", "p = 1.5", "p = 3", "margin loss, at most 1", "p-norm hinge"]
    assert legend_texts(display.ax_) == expected


@pytest.mark.parametrize(
    ("kind", "label", "largest"), [("hinge", "p-norm hinge", 4.0), ("margin", "margin loss", 1.0)]
)
def test_one_kind_of_loss(kind, label, largest):
    display = LossDisplay.from_exponents([1, 2], kind=kind, margin=[-1.0, 0.0, 1.0])
    assert len(display.lines_) == 2
    assert display.lines_[1].get_ydata().tolist() == [largest, 1.0, 0.0]
    assert display.ax_.get_ylabel() == label
    assert legend_texts(display.ax_) == ["p = 1", "p = 2"]
    assert len({line.get_linestyle() for line in display.ax_.lines}) == 2


def test_the_loss_of_an_estimator():
    assert LossDisplay.from_estimator(PSVC(p=1.25)).ps == [1.25]
    pipeline = make_pipeline(StandardScaler(), LinearPSVC(p=3))
    assert LossDisplay.from_estimator(pipeline, kind="hinge").ps == [3.0]
    search = GridSearchCV(PSVC(), {"p": [2.0]}, cv=2).fit(X, Y)
    assert LossDisplay.from_estimator(search, ax=new_axes()).ps == [2.0]


def test_loss_errors():
    with pytest.raises(ValueError, match="`kind` must be one of 'both', 'hinge', 'margin', got 1"):
        LossDisplay.from_exponents([1], kind=1)
    with pytest.raises(ValueError, match="`p` must be a finite float >= 1"):
        LossDisplay.from_exponents([0.5])
    with pytest.raises(ValueError, match="`rho` must be a finite float > 0"):
        LossDisplay.from_exponents([1.0], rho=-1.0)
    with pytest.raises(
        ValueError, match=r"needs an estimator with `p`.*got DecisionTreeClassifier"
    ):
        LossDisplay.from_estimator(DecisionTreeClassifier())


# --- colours --------------------------------------------------------------------------------------


def test_few_lines_differ_in_colour_and_dashes_many_in_colour():
    few = LossDisplay.from_exponents(np.linspace(1, 3, 7), kind="margin").lines_
    assert len({line.get_color() for line in few}) == 7
    assert len({str(line._dash_pattern) for line in few}) == 7
    many = LossDisplay.from_exponents(np.linspace(1, 3, 12), kind="margin").lines_
    assert len({to_hex(line.get_color()) for line in many}) == 12


# --- ConvergenceDisplay ---------------------------------------------------------------------------


@pytest.mark.parametrize("x", ["seconds", "iteration"])
def test_convergence_lines_are_the_records(x):
    Xm, ym = blobs(90)
    model = PSVC(tol=1e-6).fit(Xm, ym)
    display = ConvergenceDisplay.from_estimator(model, x=x)
    assert len(display.lines_) == 3
    for line, history in zip(display.lines_, model.history_, strict=True):
        assert line.get_xdata().tolist() == [record[x] for record in history]
        gaps = [max(record["gap"], 1e-16) for record in history]
        assert line.get_ydata().tolist() == gaps
    assert legend_texts(display.ax_) == ["0 against 1", "0 against 2", "1 against 2"]
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlabel() == {"seconds": "seconds", "iteration": "round"}[x]
    assert set(display.tol_line_.get_ydata()) == {1e-6}
    assert [text.get_text() for text in display.ax_.texts] == ["tol = 1e-06"]


def test_convergence_against_the_rest_and_of_many_problems():
    Xm, ym = blobs(90)
    display = ConvergenceDisplay.from_estimator(LinearPSVC(multi_class="ovr").fit(Xm, ym))
    assert legend_texts(display.ax_)[0] == "0 against the rest"
    Xm, ym = blobs(150, classes=5)
    display = ConvergenceDisplay.from_estimator(LinearPSVC(p=2, multi_class="ovo").fit(Xm, ym))
    assert len(display.lines_) == 10
    assert legend_texts(display.ax_) == ["LinearPSVC, p = 2 (10 problems)"]
    assert len({line.get_color() for line in display.lines_}) == 1


def test_convergence_of_several_estimators():
    models = {"one": PSVC(p=1).fit(X, Y), "two": LinearPSVC(p=2).fit(X, Y)}
    display = ConvergenceDisplay.from_estimators(models)
    assert legend_texts(display.ax_) == ["one", "two"]
    assert len({line.get_color() for line in display.lines_}) == 2
    assert set(display.tol_line_.get_ydata()) == {1e-4}
    models["three"] = PSVC(tol=1e-6).fit(X, Y)
    display = ConvergenceDisplay.from_estimators(models, ax=new_axes())
    assert display.tol_line_ is None
    assert len(display.lines_) == 3


def test_convergence_inside_a_pipeline_and_a_search():
    pipeline = make_pipeline(StandardScaler(), PSVC(p=2)).fit(X, Y)
    display = ConvergenceDisplay.from_estimator(pipeline)
    assert legend_texts(display.ax_) == ["PSVC, p = 2"]
    search = GridSearchCV(pipeline, {"psvc__p": [1.0]}, cv=2).fit(X, Y)
    display = ConvergenceDisplay.from_estimator(search, name="chosen", ax=new_axes())
    assert legend_texts(display.ax_) == ["chosen"]


def test_convergence_errors():
    with pytest.raises(ValueError, match=r"needs an estimator with `history_`.*got PSVC; fit it"):
        ConvergenceDisplay.from_estimator(PSVC())
    with pytest.raises(ValueError, match="`estimators` must be a dict of names"):
        ConvergenceDisplay.from_estimators([PSVC().fit(X, Y)])
    with pytest.raises(ValueError, match="`x` must be 'seconds' or 'iteration', got 'rounds'"):
        ConvergenceDisplay.from_estimator(PSVC().fit(X, Y), x="rounds")


# --- LearningProcessDisplay -----------------------------------------------------------------------


def test_learning_is_that_of_fits_by_hand():
    Xm, ym = blobs(90)
    cv = StratifiedKFold(3)
    display = LearningProcessDisplay.from_estimator(
        PSVC(p=2), Xm, ym, train_sizes=[20, 60], cv=cv, shuffle=False
    )
    assert display.train_sizes.tolist() == [20, 60]
    for fold, (train, test) in enumerate(cv.split(Xm, ym)):
        for k, size in enumerate(display.train_sizes):
            rows = train[:size]
            model = PSVC(p=2).fit(Xm[rows], ym[rows])
            assert display.train_scores[k, fold] == model.score(Xm[rows], ym[rows])
            assert display.test_scores[k, fold] == model.score(Xm[test], ym[test])
            assert display.support_shares[k, fold] == model.n_support_.sum() / size
    arrays = (display.train_scores, display.test_scores, display.support_shares)
    for line, values in zip(display.lines_, arrays, strict=True):
        np.testing.assert_allclose(line.get_ydata(), 100.0 * values.mean(axis=1))
    assert len(display.bands_) == 3
    texts = ["training accuracy", "test accuracy", "support vectors"]
    assert legend_texts(display.ax_) == texts
    assert display.ax_.get_xlabel() == "training rows"
    assert display.ax_.get_ylabel() == "percent"


def test_learning_of_a_pipeline_with_another_score_and_order():
    pipeline = make_pipeline(StandardScaler(), SVC())
    options = {"train_sizes": 3, "cv": KFold(3), "scoring": "balanced_accuracy"}
    display = LearningProcessDisplay.from_estimator(pipeline, X, Y, **options)
    assert display.train_sizes.tolist() == [4, 22, 40]
    assert legend_texts(display.ax_)[0] == "training balanced accuracy"
    again = LearningProcessDisplay.from_estimator(pipeline, X, Y, **options, n_jobs=1)
    np.testing.assert_array_equal(again.test_scores, display.test_scores)
    other = LearningProcessDisplay.from_estimator(pipeline, X, Y, **options, random_state=1)
    assert not np.array_equal(other.train_scores, display.train_scores)


def test_learning_from_numbers():
    """One run, as the paper's Figure 2 has it: no bands."""
    display = LearningProcessDisplay(
        train_sizes=[1, 2],
        train_scores=[1.0, 0.9],
        test_scores=[0.5, 0.6],
        support_shares=[0.8, 0.4],
        score_name="precision",
        x_label="steps",
    ).plot()
    assert display.lines_[2].get_ydata().tolist() == [80.0, 40.0]
    assert display.bands_ == []
    assert display.ax_.get_xlabel() == "steps"
    assert legend_texts(display.ax_)[1] == "test precision"


@pytest.mark.parametrize("sizes", [[1], [41], [0.5, 1.2], [], ["all"], 0, [[10, 20]]], ids=str)
def test_learning_sizes_that_are_wrong(sizes):
    with pytest.raises(ValueError, match="`train_sizes` must be"):
        LearningProcessDisplay.from_estimator(PSVC(), X, Y, train_sizes=sizes, cv=KFold(3))


def test_learning_of_a_given_kernel_matrix():
    """Its columns follow the training rows; splits may be lists."""
    splits = [(list(range(0, 60, 2)), list(range(1, 60, 2)))]
    options = {"train_sizes": [10, 30], "cv": splits, "shuffle": False}
    rows = LearningProcessDisplay.from_estimator(PSVC(kernel="linear"), X, Y, **options)
    matrix = LearningProcessDisplay.from_estimator(
        PSVC(kernel="precomputed"), X @ X.T, Y, **options
    )
    assert matrix.test_scores == pytest.approx(rows.test_scores)
    assert matrix.support_shares == pytest.approx(rows.support_shares)


def test_learning_from_rows_of_one_class():
    order = np.argsort(Y)
    with pytest.raises(ValueError, match=r"3 training rows.*one class.*`train_sizes`"):
        LearningProcessDisplay.from_estimator(
            PSVC(), X[order], Y[order], train_sizes=[3, 30], cv=3, shuffle=False
        )


def test_learning_needs_support_vectors():
    with pytest.raises(ValueError, match="needs an estimator with `n_support_`"):
        LearningProcessDisplay.from_estimator(DecisionTreeClassifier(), X, Y, train_sizes=[20])


# --- scikit-learn's own ---------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [PSVC(), LinearPSVC()], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_decision_boundaries(estimator, classes):
    Xm, ym = blobs(60, classes=classes, d=2)
    model = estimator.fit(Xm, ym)
    for method in ("predict", "decision_function"):
        display = DecisionBoundaryDisplay.from_estimator(
            model, Xm, response_method=method, grid_resolution=20
        )
        points = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
        expected = getattr(model, method)(points)
        np.testing.assert_allclose(
            display.response.reshape(expected.shape), expected, rtol=1e-9, atol=1e-12
        )
