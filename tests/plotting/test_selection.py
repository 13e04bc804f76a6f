"""SelectionDisplay: what is on its maps and curves."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_data import curve, noisy

from psvm import PSVC, PSVCCV, PSVRCV
from psvm.plotting import SelectionDisplay

X, Y = noisy(60, 3)
PS, CS, GAMMAS = [1.0, 1.5, 2.0], [0.1, 1.0, 10.0, 100.0], [0.03, 0.3]


def results(seed=0):
    """Random cv_results_ of a full grid, in random order."""
    rng = np.random.default_rng(seed)
    p, C, gamma = (grid.ravel() for grid in np.meshgrid(PS, CS, GAMMAS))
    order = rng.permutation(p.size)
    return {
        "param_p": np.ma.array(p[order]),
        "param_C": np.ma.array(C[order]),
        "param_gamma": np.ma.array(gamma[order]),
        "mean_test_score": rng.uniform(0.6, 0.9, p.size),
        "std_test_score": rng.uniform(0.01, 0.05, p.size),
        "mean_n_support": rng.uniform(20, 50, p.size),
    }


def draw(found, **options):
    return SelectionDisplay.from_cv_results(found, ax=Figure().subplots(), **options)


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def chosen_cell(display):
    """Column and row in the frame."""
    x, y = display.best_.get_xy()
    return int(x + 0.5), int(y + 0.5)


# --- maps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "rows", "columns"),
    [("C", "p", PS, CS), ("C", "gamma", GAMMAS, CS), ("gamma", "p", PS, GAMMAS)],
)
@pytest.mark.parametrize("value", ["score", "support"])
def test_a_cell_is_the_best_candidate_of_its_x_and_y(x, y, rows, columns, value):
    found = results()
    display = draw(found, x=x, y=y, value=value)
    cells = display.image_.get_array()
    assert cells.shape == (len(rows), len(columns))
    key = "mean_test_score" if value == "score" else "mean_n_support"
    for i, at_y in enumerate(rows):
        for j, at_x in enumerate(columns):
            here = np.flatnonzero((found[f"param_{y}"] == at_y) & (found[f"param_{x}"] == at_x))
            best = here[np.argmax(found["mean_test_score"][here])]
            assert cells[i, j] == found[key][best]
            form = "{:.3f}" if value == "score" else "{:,.0f}"
            assert display.text_[i, j].get_text() == form.format(cells[i, j])
    names = {"p": "exponent p", "C": "cost C", "gamma": "kernel width gamma"}
    assert display.ax_.get_xlabel() == names[x]
    assert display.ax_.get_ylabel() == names[y]
    assert ticks(display.ax_.xaxis) == [f"{v:g}" for v in columns]
    assert ticks(display.ax_.yaxis) == [f"{v:g}" for v in rows]
    best = int(np.argmax(found["mean_test_score"]))
    column, row = chosen_cell(display)
    assert columns[column] == found[f"param_{x}"][best]
    assert rows[row] == found[f"param_{y}"][best]


def test_numbers_can_be_read_on_their_colours():
    display = draw(results())
    for text, cell in zip(display.text_.ravel(), display.image_.get_array().ravel(), strict=True):
        red, green, blue, _ = display.image_.cmap(display.image_.norm(cell))
        brightness = 0.299 * red + 0.587 * green + 0.114 * blue
        assert abs(brightness - (text.get_color() == "white")) > 0.4


def test_one_bad_cell_does_not_hide_the_others():
    found = results()
    found["mean_test_score"] = np.linspace(0.9, 0.95, found["param_p"].size)
    found["mean_test_score"][0] = 0.1
    display = draw(found, x="gamma")
    assert display.image_.norm.vmin > 0.89
    found["mean_test_score"][:] = 0.9
    assert draw(found).colorbar_.extend == "neither"


def in_splits(means, errors=0.01, splits=5):
    """``cv_results_`` over C and p with these means, one row of a fold apart."""
    means = np.asarray(means, dtype=float)
    C, p = (grid.ravel() for grid in np.meshgrid(np.arange(means.shape[1]) + 1.0, PS[: len(means)]))
    parts = {f"split{k}_test_score": means.ravel() for k in range(splits)}
    deviation = np.full(means.size, errors * np.sqrt(splits - 1))
    found = {"param_C": C, "param_p": p, "mean_test_score": means.ravel(), **parts}
    return found | {"std_test_score": deviation}


def test_colours_do_not_exaggerate_a_difference_of_one_row():
    """One standard error is a quarter of the scale at most; larger differences use all of it."""
    display = draw(in_splits([[0.900, 0.902, 0.904]] * 3))
    norm = display.image_.norm
    assert norm.vmax - norm.vmin == pytest.approx(0.04)
    assert norm(0.904) - norm(0.900) == pytest.approx(0.1)
    assert display.colorbar_.extend == "neither"
    far = draw(in_splits([[0.5, 0.7, 0.904]] * 3)).image_.norm
    assert far.vmin == pytest.approx(0.5)
    # One split tells of no error: as wide as the scores are.
    alone = draw(in_splits([[0.900, 0.902, 0.904]] * 3, splits=1)).image_.norm
    assert alone.vmax - alone.vmin == pytest.approx(0.004)


def boxes(display):
    """The numbers that are drawn, and the labels of the x-axis, as rectangles of the page."""
    drawn, figure = [], display.figure_
    texts = [text for text in display.text_.ravel() if text is not None]
    for text in texts:
        draw_parent = type(text).__mro__[1].draw
        size = text.get_fontsize()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                type(text).__mro__[1],
                "draw",
                lambda self, renderer: drawn.append(self.get_window_extent(renderer)),
            )
            text.draw(figure.canvas.get_renderer())
        assert type(text).__mro__[1].draw is draw_parent
        assert text.get_fontsize() == size
    return drawn


@pytest.mark.parametrize("size", [(8, 5), (4, 3), (3, 2.2)])
@pytest.mark.parametrize("columns", [3, 12])
def test_numbers_and_labels_are_not_printed_over_each_other(size, columns):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    found = in_splits(np.linspace(0.8, 0.9, 3 * columns).reshape(3, columns))
    found["param_C"] = np.array([10.0 ** (C / 3.0) for C in found["param_C"]])
    display = SelectionDisplay.from_cv_results(found, ax=figure.subplots())
    figure.canvas.draw()
    numbers = boxes(display)
    if size == (8, 5):
        assert len(numbers) == 3 * columns
    if (size, columns) == ((3, 2.2), 12):
        assert numbers == []
    for k, one in enumerate(numbers):
        assert not any(one.overlaps(other) for other in numbers[k + 1 :])
    shown = [label for label in display.ax_.get_xticklabels() if label.get_text()]
    assert shown
    turned = shown[0].get_rotation() > 0
    across = [label.get_window_extent() for label in shown]
    gaps = np.diff([box.x1 if turned else box.x0 for box in across])
    height = shown[0].get_fontsize() * figure.dpi / 72.0
    if turned:
        assert (gaps > height).all()  # between lines at half a right angle
    else:
        assert all(not a.overlaps(b) for a, b in pairwise(across))


def test_a_large_map_has_no_numbers():
    p, C = (grid.ravel() for grid in np.meshgrid(np.linspace(1, 3, 9), np.logspace(-3, 3, 10)))
    score = np.linspace(0, 1, 90)
    found = {"param_p": p, "param_C": C, "mean_test_score": score, "std_test_score": score}
    assert draw(found).text_ is None


def test_cells_that_were_not_searched_are_empty():
    found = {
        "param_p": [1.0, 2.0, 2.0],
        "param_C": [1.0, 1.0, 10.0],
        "mean_test_score": [0.5, np.nan, 0.7],  # a fit that failed
        "std_test_score": [0.0, np.nan, 0.0],
    }
    display = draw(found)
    cells = np.ma.filled(display.image_.get_array(), np.nan)
    np.testing.assert_array_equal(cells, [[0.5, np.nan], [np.nan, 0.7]])
    assert display.text_[0, 1] is None
    assert chosen_cell(display) == (1, 1)


def test_words_stand_after_numbers():
    found = {
        "param_C": [1.0, 1.0, 10.0, 10.0],
        "param_gamma": np.array(["scale", 0.1, "scale", 0.1], dtype=object),
        "mean_test_score": [0.5, 0.6, 0.7, 0.8],
        "std_test_score": np.zeros(4),
    }
    display = draw(found, y="gamma")
    assert ticks(display.ax_.yaxis) == ["0.1", "scale"]
    np.testing.assert_array_equal(display.image_.get_array(), [[0.6, 0.8], [0.5, 0.7]])
    curve = draw(found, x="gamma", y=None)
    assert ticks(curve.ax_.xaxis) == ["0.1", "scale"]
    assert curve.line_.get_ydata().tolist() == [0.8, 0.7]


def test_candidates_at_the_default_stand_last():
    """A list of grids: some candidates leave a parameter as it is."""
    grids = [{"C": [1, 10]}, {"C": [1, 10], "p": [2, 1]}]
    search = GridSearchCV(PSVC(), grids, cv=2).fit(X, Y)
    found = search.cv_results_
    display = SelectionDisplay.from_estimator(search, ax=Figure().subplots())
    assert ticks(display.ax_.yaxis) == ["1", "2", "default"]
    scores = found["mean_test_score"]
    expected = [scores[[3, 5]], scores[[2, 4]], scores[:2]]
    order = [(params.get("p"), params["C"]) for params in found["params"]]
    assert order == [(None, 1), (None, 10), (2, 1), (1, 1), (2, 10), (1, 10)]
    np.testing.assert_array_equal(display.image_.get_array(), expected)
    curve = SelectionDisplay.from_estimator(search, x="p", y=None, ax=Figure().subplots())
    assert ticks(curve.ax_.xaxis) == ["1", "2", "default"]
    assert curve.line_.get_ydata().tolist() == [max(row) for row in expected]


def test_options_reach_the_artists():
    options = {"im_kw": {"cmap": "cividis", "vmin": 0.0}, "text_kw": {"fontsize": 3}}
    display = draw(results(), colorbar=False, **options)
    assert display.image_.cmap.name == "cividis"
    assert display.image_.norm.vmin == 0.0
    assert display.text_[0, 0].get_fontsize() == 3
    assert display.figure_.axes == [display.ax_]
    assert draw(results()).figure_.axes[-1] is not display.ax_


# --- curves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("x", "values"), [("p", PS), ("C", CS), ("gamma", GAMMAS)])
def test_a_curve_goes_through_the_best_candidates(x, values):
    found = results()
    score, std = found["mean_test_score"], found["std_test_score"]
    best = []
    for value in values:
        here = np.flatnonzero(found[f"param_{x}"] == value)
        best.append(here[np.argmax(score[here])])
    display = draw(found, x=x, y=None)
    np.testing.assert_array_equal(display.line_.get_xdata(), values)
    np.testing.assert_array_equal(display.line_.get_ydata(), score[best])
    corners = display.band_.get_paths()[0].vertices
    assert corners[:, 1].max() == pytest.approx((score + std)[best].max())
    assert corners[:, 1].min() == pytest.approx((score - std)[best].min())
    assert display.best_.get_ydata() == [score.max()]
    assert display.ax_.get_xscale() == ("linear" if x == "p" else "log")
    assert display.ax_.get_ylabel() == "mean score"

    support = draw(found, x=x, y=None, value="support")
    np.testing.assert_array_equal(support.line_.get_ydata(), found["mean_n_support"][best])
    assert support.band_ is None
    assert support.ax_.get_ylabel() == "mean number of support vectors"
    assert support.ax_.get_ylim()[0] == 0.0
    texts = [text.get_text() for text in support.ax_.get_legend().get_texts()]
    assert texts == [f"best for each {x}", "chosen"]


# --- where results come from ----------------------------------------------------------------------


def test_a_grid_search_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), PSVC())
    search = GridSearchCV(pipeline, {"psvc__p": [1, 2], "psvc__C": [0.1, 1, 10]}, cv=2).fit(X, Y)
    display = SelectionDisplay.from_estimator(search, ax=Figure().subplots())
    scores = search.cv_results_["mean_test_score"].reshape(3, 2).T  # C varies slower than p
    np.testing.assert_array_equal(display.image_.get_array(), scores)
    assert display.ax_.get_title() == "mean accuracy"
    column, row = chosen_cell(display)
    chosen = {"psvc__C": [0.1, 1, 10][column], "psvc__p": [1, 2][row]}
    assert chosen == search.best_params_


def test_a_pipeline_that_ends_in_a_search():
    search = PSVCCV((1, 2), (1.0, 10.0), (0.1,), cv=2)
    model = make_pipeline(StandardScaler(), search).fit(X, Y)
    display = SelectionDisplay.from_estimator(model, ax=Figure().subplots())
    expected = np.asarray(model[-1].cv_results_["mean_test_score"]).reshape(2, 2).T  # C, then p
    np.testing.assert_array_equal(display.image_.get_array(), expected)


def test_the_chosen_candidate_need_not_have_the_best_score():
    """A rule such as one standard error, or fewer support vectors, chooses another one."""
    found = results()
    display = draw(found, best_index=7)
    column, row = chosen_cell(display)
    assert (CS[column], PS[row]) == (found["param_C"][7], found["param_p"][7])


def test_a_tie_shows_the_candidate_that_was_chosen():
    found = results()
    found["mean_test_score"][:] = 0.5
    display = draw(found, value="support", best_index=7)
    column, row = chosen_cell(display)
    assert display.image_.get_array()[row, column] == found["mean_n_support"][7]


def test_several_scores_and_support_vectors_by_a_scorer():
    def score(model, X, y):
        return {"accuracy": model.score(X, y), "n_support": model.n_support_.sum()}

    grid = {"p": [1, 2], "C": [0.1, 1, 10]}
    search = GridSearchCV(PSVC(), grid, cv=2, scoring=score, refit=False).fit(X, Y)
    display = SelectionDisplay.from_estimator(
        search, metric="accuracy", value="support", ax=Figure().subplots()
    )
    support = search.cv_results_["mean_test_n_support"].reshape(3, 2).T
    np.testing.assert_array_equal(display.image_.get_array(), support)
    assert display.score_name == "accuracy"
    with pytest.raises(ValueError, match=r"\['accuracy', 'n_support'\], got 'f1'"):
        SelectionDisplay.from_estimator(search, metric="f1")


def test_a_random_search():
    grid = {"p": PS, "C": CS}
    search = RandomizedSearchCV(PSVC(), grid, n_iter=5, cv=2, random_state=0, scoring="f1")
    display = SelectionDisplay.from_estimator(search.fit(X, Y), ax=Figure().subplots())
    cells = np.ma.filled(display.image_.get_array(), np.nan)
    assert np.isfinite(cells).sum() == 5
    assert display.ax_.get_title() == "mean f1"


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": "degree"}, r"`x` must be a parameter of the search \('p', 'C', 'gamma'\), got 'deg"),
        ({"x": None}, "`x` must be a parameter"),
        ({"y": "tol"}, "`y` must be a parameter .*, got 'tol'; None draws a curve"),
        ({"x": "p", "y": "p"}, "`x` and `y` must differ, got 'p' twice; y=None draws a curve"),
        ({"value": "time"}, "`value` must be 'score' or 'support', got 'time'"),
    ],
    ids=str,
)
def test_options_that_are_wrong(options, message):
    with pytest.raises(ValueError, match=message):
        draw(results(), **options)


def test_results_that_are_wrong():
    found = results()
    del found["mean_n_support"]
    with pytest.raises(ValueError, match="'mean_n_support', as PSVCCV"):
        draw(found, value="support")
    with pytest.raises(
        ValueError, match=r"must tell of p, C, gamma or epsilon.*\['mean_test_score'\]"
    ):
        draw({"mean_test_score": [1.0]})
    with pytest.raises(ValueError, match="the score of every candidate is NaN"):
        draw({**results(), "mean_test_score": np.full(24, np.nan)})
    twice = {"param_a__C": [1.0], "param_b__C": [1.0], "mean_test_score": [1.0]}
    with pytest.raises(ValueError, match=r"one parameter C, got \['param_a__C', 'param_b__C'\]"):
        draw(twice)
    with pytest.raises(ValueError, match=r"`cv_results_`.*got GridSearchCV; fit it first"):
        SelectionDisplay.from_estimator(GridSearchCV(PSVC(), {}))


# --- regression -----------------------------------------------------------------------------------


def test_a_search_of_regressions():
    rows, y = curve(60)
    search = PSVRCV((1, 2), [1.0, 10.0], [0.1, 0.3], [0.1, 0.2, 0.5], cv=3).fit(rows, y)
    display = SelectionDisplay.from_estimator(search, ax=Figure().subplots())
    best = search.cv_results_["mean_test_score"].reshape(2, 3, 2, 2).max(axis=(1, 2)).T
    np.testing.assert_array_equal(display.image_.get_array(), best)
    assert display.ax_.get_title() == "mean r2"
    assert display.ax_.get_xlabel() == "cost C"
    curve_of = SelectionDisplay.from_estimator(search, x="epsilon", y=None, ax=Figure().subplots())
    assert curve_of.line_.get_xdata().tolist() == [0.1, 0.2, 0.5]
    assert ticks(curve_of.ax_.xaxis) == ["0.1", "0.2", "0.5"]
    assert curve_of.ax_.get_xlabel() == "tube epsilon"
    support = SelectionDisplay.from_estimator(
        search, x="epsilon", y="C", value="support", ax=Figure().subplots()
    )
    counts = np.asarray(support.image_.get_array())
    assert (np.diff(counts, axis=1) < 0).all(), "a wide tube has few support vectors"


def test_costs_in_the_unit_of_y():
    """Those that a number asks for differ by p; in units of the spread of y they do not."""
    rows, y = curve(60)
    search = PSVRCV((1, 3), 3, [0.3], [10.0], cv=3).fit(rows, 100.0 * y)
    assert np.unique(search.cv_results_["param_C"]).size == 6
    display = SelectionDisplay.from_estimator(search, ax=Figure().subplots())
    assert display.image_.get_array().shape == (2, 3)
    assert ticks(display.ax_.xaxis) == ["0.1", "3.16", "100"]
    assert "s^{p-2}" in display.ax_.get_xlabel()
    assert not np.isnan(np.asarray(display.image_.get_array())).any()


def test_losses_of_any_unit_are_written_with_three_digits():
    rows, y = curve(60)
    search = PSVRCV((1, 2), [1.0, 10.0], [0.3], quantile=0.8, cv=3).fit(rows, 1e4 * y)
    display = SelectionDisplay.from_estimator(search, ax=Figure().subplots())
    assert display.ax_.get_title() == "mean negative pinball loss"
    assert all(len(text.get_text()) <= 9 for text in display.text_.ravel())
