"""PathDisplay: what is on it."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from small_data import blobs, curve, noisy

from psvm import PSVC, PSVR, LinearPSVC, LinearPSVR
from psvm.estimators.path import psvm_path
from psvm.plotting import PathDisplay

PS, CS = [1.0, 1.5, 2.0], [0.1, 1.0, 10.0, 100.0]
X, Y = noisy(60, 4)
PATH = psvm_path(X, Y, ps=PS, Cs=CS, X_val=X, y_val=Y)
WEIGHTS = psvm_path(X, Y, ps=PS, Cs=CS, kernel="linear")


def draw(path, **options):
    return PathDisplay.from_path(path, ax=Figure().subplots(), **options)


def legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def ydata(display):
    return np.array([line.get_ydata() for line in display.lines_])


@pytest.mark.parametrize(
    ("quantity", "table", "label", "scale"),
    [
        ("support", PATH.n_support.sum(axis=2), "support vectors", "linear"),
        ("objective", PATH.primal_objective[..., 0], "primal objective", "log"),
        ("gap", np.maximum(PATH.dual_gap[..., 0], 1e-16), "relative duality gap", "log"),
        ("score", PATH.score, "validation score", "linear"),
    ],
)
def test_a_line_for_every_p_or_every_C(quantity, table, label, scale):
    display = draw(PATH, quantity=quantity)
    np.testing.assert_array_equal(ydata(display), table)
    assert all(line.get_xdata().tolist() == CS for line in display.lines_)
    assert legend_texts(display) == ["p = 1", "p = 1.5", "p = 2"]
    assert (display.ax_.get_xlabel(), display.ax_.get_xscale()) == ("cost C", "log")
    assert (display.ax_.get_ylabel(), display.ax_.get_yscale()) == (label, scale)

    display = draw(PATH, quantity=quantity, along="p", at=[10, 0.1])
    np.testing.assert_array_equal(ydata(display), table[:, [2, 0]].T)
    assert all(line.get_xdata().tolist() == PS for line in display.lines_)
    assert legend_texts(display) == ["C = 10", "C = 0.1"]
    assert display.ax_.get_xlabel() == "exponent p"
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["1", "1.5", "2"]


def test_the_gap_is_shown_with_tol():
    display = draw(PATH, quantity="gap")
    assert [text.get_text() for text in display.ax_.texts] == ["tol = 0.0001"]
    assert display.ax_.get_ylim()[0] < 1e-4 < display.ax_.get_ylim()[1]


def test_several_binary_problems_are_summed_and_the_worst_gap_counts():
    Xm, ym = blobs(60, classes=3)
    path = psvm_path(Xm, ym, ps=[1, 2], Cs=CS)
    found = ydata(draw(path, quantity="objective"))
    np.testing.assert_allclose(found, path.primal_objective.sum(axis=2))
    found = ydata(draw(path, quantity="gap"))
    np.testing.assert_array_equal(found, np.maximum(path.dual_gap.max(axis=2), 1e-16))


# --- vectors --------------------------------------------------------------------------------------


def test_weights_along_C_and_along_p():
    display = draw(WEIGHTS, quantity="coef", at=2)
    np.testing.assert_array_equal(ydata(display), WEIGHTS.coef[2, :, 0].T)
    assert display.ax_.get_title() == "p = 2"
    largest = np.argsort(-np.abs(WEIGHTS.coef[2, :, 0]).max(axis=0))
    assert legend_texts(display) == [f"feature {k}" for k in largest]

    display = draw(WEIGHTS, quantity="coef", along="p", at=10, n_labels=2)
    np.testing.assert_array_equal(ydata(display), WEIGHTS.coef[:, 2, 0].T)
    assert display.ax_.get_title() == "C = 10"
    largest = np.argsort(-np.abs(WEIGHTS.coef[:, 2, 0]).max(axis=0))[:2]
    assert legend_texts(display) == [f"feature {k}" for k in largest]
    grey = [line.get_color() == "0.75" for line in display.lines_]
    assert grey == [k not in largest for k in range(4)]


def test_weights_of_named_features_and_of_another_problem():
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c", "d"])
    labels = np.where(Y < 0, "no", np.where(X[:, 0] > 0.5, "much", "some"))
    path = psvm_path(frame, labels, ps=PS, Cs=CS, kernel="linear")
    display = draw(path, quantity="coef", problem=2)
    np.testing.assert_array_equal(ydata(display), path.coef[1, :, 2].T)  # the middle p
    assert set(legend_texts(display)) == {"a", "b", "c", "d"}
    with pytest.raises(ValueError, match="`problem` must be from 0 to 2, got 3"):
        draw(path, quantity="coef", problem=3)


def test_dual_variables_in_units_of_C():
    display = draw(PATH, quantity="dual_coef", at=1)
    expected = PATH.dual_coef[0, :, 0].T / CS
    np.testing.assert_array_equal(ydata(display), expected[expected.any(axis=1)])
    assert np.abs(ydata(display)).max() <= 1.0 + 1e-12  # at p = 1 they are at most C
    assert legend_texts(display) == ["class 1.0", "class -1.0"]
    colours = {line.get_color() for line in display.lines_ if line.get_ydata().sum() > 0}
    assert len(colours) == 1
    assert display.ax_.get_title() == "p = 1"


@pytest.mark.parametrize(
    ("multi_class", "problem", "said"),
    [
        ("ovo", 0, "class a against class b"),
        ("ovo", 2, "class b against class c"),
        ("ovr", 1, "class b against the rest"),
    ],
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_of_several_problems_the_title_says_which(multi_class, problem, said, kernel):
    X, y = blobs(n=30, classes=3, d=2)
    options = {"ps": [1.5], "Cs": [0.1, 1.0], "kernel": kernel, "multi_class": multi_class}
    path = psvm_path(X, np.array(["a", "b", "c"])[y], **options)
    quantity = "coef" if kernel == "linear" else "dual_coef"
    assert draw(path, quantity=quantity, problem=problem).ax_.get_title() == f"p = 1.5, {said}"


def test_dual_variables_of_one_pair_of_classes():
    Xm, ym = blobs(60, classes=3)
    path = psvm_path(Xm, ym, ps=[1, 2], Cs=CS)
    display = draw(path, quantity="dual_coef", problem=2, at=2)
    expected = path.problem_dual_coef(2)[1].T / CS
    np.testing.assert_array_equal(ydata(display), expected[expected.any(axis=1)])
    assert legend_texts(display) == ["class 1", "class 2"]
    path = psvm_path(Xm, ym, ps=1, Cs=CS, multi_class="ovr")
    assert legend_texts(draw(path, quantity="dual_coef")) == ["class 0", "the rest"]


def test_without_a_value_the_best_score_decides_or_the_middle():
    best = np.unravel_index(np.argmax(PATH.score), PATH.score.shape)
    assert draw(PATH, quantity="dual_coef").ax_.get_title() == f"p = {PS[best[0]]:g}"
    assert draw(PATH, quantity="dual_coef", along="p").ax_.get_title() == f"C = {CS[best[1]]:g}"
    assert draw(WEIGHTS, quantity="coef").ax_.get_title() == "p = 1.5"


def test_many_rows_are_thinned_out():
    Xm, ym = noisy(400, 3)
    path = psvm_path(Xm, ym, ps=2, Cs=[0.01, 0.1])
    assert path.n_support[0, 0].sum() > 300
    assert len(draw(path, quantity="dual_coef").lines_) == 300


# --- where paths come from ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (PSVC(gamma=0.7, class_weight="balanced", tol=1e-6), {"gamma": 0.7, "tol": 1e-6}),
        (LinearPSVC(fit_intercept=False), {"kernel": "linear", "fit_intercept": False}),
    ],
    ids=str,
)
def test_the_path_of_an_estimator(estimator, parameters):
    display = PathDisplay.from_estimator(estimator, X, Y, ps=[1, 2], Cs=CS, ax=Figure().subplots())
    parameters["class_weight"] = estimator.class_weight
    path = psvm_path(X, Y, ps=[1, 2], Cs=CS, **parameters)
    np.testing.assert_array_equal(display.path.primal_objective, path.primal_objective)
    assert len(display.lines_) == 2


def test_an_unfinished_path_has_gaps():
    with pytest.warns(ConvergenceWarning):
        path = psvm_path(X, Y, ps=PS, Cs=CS, max_time=1e-9)
    found = ydata(draw(path))
    assert np.isfinite(found).sum() == 1
    assert found[0, 0] == path.n_support[0, 0].sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantity": "time"}, "`quantity` must be one of 'support', 'coef', .*, got 'time'"),
        ({"along": "gamma"}, "`along` must be 'C' or 'p', got 'gamma'"),
        ({"at": 1.7}, r"`p` must be a value of the path \(1, 1.5, 2\), got"),
        ({"at": []}, r"`at` must hold a value of p, got \[\]"),
        ({"at": "small"}, r"`p` must be a value of the path \(1, 1.5, 2\), got small"),
        ({"quantity": "dual_coef", "problem": 0.0}, "`problem` must be from 0 to 0, got 0.0"),
        ({"along": "p", "at": 7}, r"`C` must be a value of the path \(0.1, 1, 10, 100\), got"),
        ({"quantity": "coef"}, "needs the path of a linear kernel; take 'dual_coef'"),
        ({"quantity": "dual_coef", "at": [1, 2]}, r"`at` must be one p .*, got \[1, 2\]"),
    ],
    ids=str,
)
def test_options_that_are_wrong(options, message):
    with pytest.raises(ValueError, match=message):
        draw(PATH, **options)


def test_paths_that_are_wrong():
    with pytest.raises(ValueError, match="give X_val and y_val to psvm_path"):
        draw(WEIGHTS, quantity="score")
    with pytest.raises(ValueError, match=r"PSVC\(kernel='linear'\) tells"):
        draw(WEIGHTS, quantity="dual_coef")
    with pytest.raises(TypeError, match="needs the result of psvm_path, got SVC"):
        PathDisplay.from_path(SVC())
    with pytest.raises(TypeError, match="needs a PSVC, LinearPSVC, PSVR or LinearPSVR, got SVC"):
        PathDisplay.from_estimator(SVC(), X, Y)
    with pytest.raises(ValueError, match="`problem` must be from 0 to 0, got 1"):
        draw(WEIGHTS, quantity="coef", problem=1)


def test_regression():
    rows, y = curve(60)
    path = psvm_path(rows, y, task="regression", ps=PS, Cs=CS, gamma=0.3)
    display = draw(path, quantity="dual_coef", at=1.5)
    assert legend_texts(display) == ["rows above", "rows below"]
    assert display.ax_.get_title() == "p = 1.5"
    assert "+" in display.ax_.get_ylabel()
    own = path.dual_coef[1, :, 0] / path.Cs[:, None]
    np.testing.assert_array_equal(ydata(display), own.T[own.any(axis=0)])
    ax = Figure().subplots()
    given = PathDisplay.from_estimator(PSVR(gamma=0.3), rows, y, ps=PS, Cs=CS, ax=ax)
    np.testing.assert_array_equal(ydata(given), path.n_support[..., 0])
    linear = LinearPSVR(epsilon=0.3, quantile=0.8)
    shown = PathDisplay.from_estimator(
        linear, rows, y, ps=PS, Cs=CS, ax=Figure().subplots(), quantity="coef", at=1.5
    )
    model = LinearPSVR(p=1.5, C=10.0, epsilon=0.3, quantile=0.8).fit(rows, y)
    np.testing.assert_allclose(ydata(shown)[:, 2], np.ravel(model.coef_), atol=0.02)
