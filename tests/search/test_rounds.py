"""Searches in rounds: which cells are solved, and that they are solved as in the whole grid."""

import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler
from small_data import noisy

from psvm import PSVCCV, PSVRCV
from psvm.cli.search_remarks import remarks_of
from psvm.search.grid import Grid
from psvm.search.rounds import neighbours, rounds

GRID = {"ps": (1, 1.5, 2), "Cs": (0.1, 1, 10, 100), "gammas": (0.01, 0.1, 1, 10)}


def made(**values):
    return Grid.of(list(ParameterGrid({"p": [1.0, 1.5, 2.0], **values})))


def cells_of(grid, cells):
    return {tuple(grid.params[cell][name] for name in ("p", "C", "gamma")) for cell in cells}


def test_a_grid_is_one_round():
    grid = made(C=[1.0, 10.0], gamma=[0.1, 1.0])
    assert list(rounds("grid", grid, 1.5, lambda: 0)) == [list(range(12))]


def test_other_p_come_last_and_near_the_best():
    grid = made(C=[0.1, 1.0, 10.0, 100.0], gamma=[0.1, 1.0, 10.0])
    best = next(
        number
        for number, cell in enumerate(grid.params)
        if cell == {"p": 1.5, "C": 100.0, "gamma": 1.0}
    )
    first, last = rounds("p_last", grid, 1.5, lambda: best)
    assert set(grid.p[first]) == {1.5}
    assert len(first) == 12
    assert cells_of(grid, last) == {
        (p, C, gamma) for p in (1.0, 2.0) for C in (10.0, 100.0) for gamma in (0.1, 1.0, 10.0)
    }


@pytest.mark.parametrize(("default", "first"), [(1.5, 1.5), (1.4, 1.5), (1.0, 1.0), (9.0, 2.0)])
def test_the_first_p_is_the_nearest_to_the_default(default, first):
    grid = made(C=[1.0, 10.0])
    assert set(grid.p[next(rounds("p_last", grid, default, lambda: 0))]) == {first}


def test_without_a_score_all_cells_follow_and_one_p_is_one_round():
    grid = made(C=[0.1, 1.0, 10.0], gamma=[0.1, 1.0, 10.0])
    first, last = rounds("p_last", grid, 1.5, lambda: None)
    assert sorted(first + last) == list(range(27))
    alone = Grid.of(list(ParameterGrid({"p": [3.0], "C": [1.0, 10.0]})))
    assert list(rounds("p_last", alone, 1.5, lambda: 0)) == [[0, 1]]


def test_neighbours_are_by_place_where_each_p_has_costs_of_its_own():
    cells = ParameterGrid({"p": [1.0, 2.0], "C": [1.0, 2.0, 3.0], "epsilon": [0.1, 0.2, 0.3]})
    grid = Grid.of([{**cell, "C": cell["C"] * 100.0 ** cell["p"]} for cell in cells])
    middle = next(
        n for n, cell in enumerate(grid.params) if cell == {"p": 1.0, "C": 100.0, "epsilon": 0.3}
    )
    near = [grid.params[cell] for cell in np.flatnonzero(neighbours(grid, middle))]
    assert {(cell["p"], cell["C"], cell["epsilon"]) for cell in near} == {
        (p, C * 100.0**p, epsilon) for p in (1.0, 2.0) for C in (1.0, 2.0) for epsilon in (0.2, 0.3)
    }


# --- in a search ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair():
    """The same search by both strategies."""
    X, y = noisy(150)
    whole, short = (
        PSVCCV(**GRID, cv=3, strategy=strategy, preprocessor=StandardScaler()).fit(X, y)
        for strategy in ("grid", "p_last")
    )
    return X, y, whole, short


def test_cells_have_the_scores_of_the_whole_grid(pair):
    _, _, whole, short = pair
    all_of_it, few = whole.cv_results_, short.cv_results_
    assert set(few) == set(all_of_it)
    params = few["params"]
    assert 16 < len(params) <= 16 + 2 * 9
    assert all(len(values) == len(params) for values in few.values())
    assert sum(cell["p"] == 1.5 for cell in params) == 16
    at = [all_of_it["params"].index(cell) for cell in params]
    assert at == sorted(at)  # the order of ParameterGrid
    for name in ("mean_test_score", "split2_test_score", "mean_n_support"):
        np.testing.assert_allclose(few[name], all_of_it[name][at], atol=1e-12)
    assert np.isfinite(few["mean_test_score"]).all()


def test_the_choice_is_the_best_of_what_was_solved(pair):
    X, _, _, short = pair
    results, best = short.cv_results_, short.best_index_
    assert results["params"][best] == short.best_params_
    assert results["mean_test_score"][best] == short.best_score_ == results["mean_test_score"].max()
    assert results["rank_test_score"][best] == 1
    assert results["rank_test_score"].max() <= len(results["params"])
    assert short.best_estimator_[-1].p == short.best_params_["p"]
    assert short.predict_proba(X).shape == (len(X), 2)
    assert np.isfinite(short.cross_val_decision_).all()


def test_threads_change_nothing(pair):
    X, y, _, short = pair
    again = clone(short).set_params(n_jobs=1).fit(X, y)
    assert again.best_params_ == short.best_params_
    np.testing.assert_array_equal(
        again.cv_results_["mean_test_score"], short.cv_results_["mean_test_score"]
    )


def test_remarks_speak_of_what_was_tried(pair):
    found = remarks_of(pair[3])
    assert f" of {len(pair[3].cv_results_['params'])} combinations" in found["remarks"][0]
    assert found["p_beside_default"]["default"] == 1.5


def test_of_a_rule_the_choice_is_simple_and_the_rounds_are_the_same(pair):
    X, y, _, short = pair
    simple = clone(short).set_params(rule="one_se", refit=False).fit(X, y)
    assert simple.cv_results_["params"] == short.cv_results_["params"]
    supports = simple.cv_results_["mean_n_support"]
    assert supports[simple.best_index_] <= supports[short.best_index_]


def test_stopped_in_the_first_round_it_chooses_among_that():
    X, y = noisy(120)
    search = PSVCCV(**GRID, cv=3, strategy="p_last", refit=False)
    calls = [0]

    def scoring(model, X, y):
        calls[0] += 1
        if calls[0] == 20:
            raise KeyboardInterrupt
        return model.params_["C"]

    search.set_params(scoring=scoring, on_interrupt="keep").fit(X, y)
    assert {cell["p"] for cell in search.cv_results_["params"]} == {1.5}
    assert np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.best_params_["p"] == 1.5


def test_max_time_holds():
    X, y = noisy(100)
    search = PSVCCV(**GRID, cv=3, strategy="p_last", max_time=600.0, refit=False)
    assert np.isfinite(search.fit(X, y).cv_results_["mean_test_score"]).all()

    def slow(model, X, y):
        time.sleep(0.02)
        return model.score(X, y)

    # Over after the first round: the cells of the second are there, unfinished.
    results = search.set_params(max_time=0.5, scoring=slow).fit(X, y).cv_results_
    scored = np.isfinite(results["mean_test_score"])
    assert set(results["param_p"][scored]) == {1.5}
    assert set(results["param_p"][~scored]) == {1.0, 2.0}
    assert search.best_params_["p"] == 1.5


def test_a_score_that_is_never_finite_is_told_of_all_cells():
    X, y = noisy(60)
    search = PSVCCV((1, 1.5), (1, 10), (0.1,), cv=2, strategy="p_last")
    with pytest.raises(ValueError, match="for every one of 4 cells"):
        search.set_params(scoring=lambda model, X, y: np.nan).fit(X, y)


def test_linear_and_regression():
    X, y = noisy(80)
    linear = PSVCCV((1, 1.5, 2), (0.1, 1, 10, 100), kernel="linear", strategy="p_last", cv=3)
    linear.fit(X, y)
    assert 4 < len(linear.cv_results_["params"]) <= 4 + 2 * 3
    target = 50 * X[:, 0]  # costs of each p are its own
    numbers = PSVRCV((1, 1.5, 2), 4, 3, 3, strategy="p_last", cv=3).fit(X, target)
    params = numbers.cv_results_["params"]
    assert sum(cell["p"] == 1.5 for cell in params) == 36
    assert 36 + 2 * 8 <= len(params) <= 36 + 2 * 27
    assert numbers.best_params_ == params[numbers.best_index_]


def test_an_unknown_strategy():
    X, y = noisy(20)
    with pytest.raises(ValueError, match="`strategy` must be"):
        PSVCCV(strategy="random").fit(X, y)
