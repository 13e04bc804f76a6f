"""The rules that choose a cell, with ties and unfinished cells, and the table of all scores."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from psvm.search.grid import check_grid
from psvm.search.table import ScoreTable, warn_of_gaps, warn_of_scores


def table(scores, supports=None):
    """Cells of C = 1, 2, ... with these scores by split."""
    scores = np.array(scores, dtype=float)
    grid = check_grid([1.5], [1.0 + c for c in range(len(scores))], None, kernel="linear").over(
        "linear", np.zeros((1, 1)), np.ones(1)
    )
    found = ScoreTable(grid, scores.shape[1])
    found.score[:] = scores
    found.n_support[:] = np.ones(len(scores))[:, None] if supports is None else supports
    found.gap[:] = np.where(np.isnan(scores), np.nan, 1e-5)
    found.fit_seconds[:] = found.score_seconds[:] = 0.5
    return found


def by_cell(values):
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize("rule", ["best", "one_se"])
def test_the_highest_mean_wins_by_far(rule):
    assert table([[0.5, 0.5], [0.9, 0.9], [0.7, 0.7]]).best(rule) == 1


def test_of_equals_the_fewest_support_vectors_then_the_first():
    scores = [[0.5, 0.5], [0.8, 0.6], [0.6, 0.8], [0.7, 0.7]]
    assert table(scores).best("best") == 1
    assert table(scores, by_cell([1, 30, 20, 20])).best("best") == 2
    # The same sum in another order is no difference.
    sums = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
    assert table(sums, by_cell([5, 4])).best("best") == 1


def test_within_one_standard_error_the_fewest_support_vectors():
    # The leader has the standard error 0.1 = std([0.8, 1.0]) / sqrt(2).
    scores = [[0.8, 1.0], [0.85, 0.85], [0.82, 0.82], [0.75, 0.75]]
    supports = by_cell([50, 20, 20, 1])
    assert table(scores, supports).best("best") == 0
    assert table(scores, supports).best("one_se") == 1  # of equals the better one; 3 is too far
    assert table(scores, by_cell([50, 20, 10, 1])).best("one_se") == 2
    # On the edge counts as within.
    assert table([[0.8, 1.0], [0.8, 0.8]], by_cell([9, 8])).best("one_se") == 1


def test_a_single_split_has_no_standard_error():
    assert table([[0.9], [0.89]], by_cell([50, 1])).best("one_se") == 0


@pytest.mark.parametrize("rule", ["best", "one_se"])
def test_unfinished_cells_are_not_chosen(rule):
    found = table([[1.0, np.nan], [0.5, 0.6], [np.inf, 0.9]])
    assert found.finished.tolist() == [False, True, False]
    assert found.best(rule) == 1
    assert found.near_best(10.0) == [1]


def test_near_the_best():
    assert table([[0.9], [0.85], [0.7], [0.95]]).near_best(0.11) == [0, 1, 3]


def test_the_columns_are_those_of_grid_search():
    scores = [[0.5, 0.7], [0.9, 0.9], [np.nan, 0.8], [0.9, 0.9]]
    found = table(scores, by_cell([4, 3, 2, 1])).results()
    assert found["params"][1] == {"C": 2.0, "p": 1.5}
    assert found["param_C"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert found["split1_test_score"].tolist() == [0.7, 0.9, 0.8, 0.9]
    assert found["mean_test_score"][:2] == pytest.approx([0.6, 0.9])
    assert found["std_test_score"][:2] == pytest.approx([0.1, 0.0])
    assert found["rank_test_score"].tolist() == [3, 1, 4, 1]
    assert found["mean_n_support"].tolist() == [4.0, 3.0, 2.0, 1.0]
    assert found["mean_fit_time"].tolist() == [0.5] * 4
    assert found["max_dual_gap"][0] == 1e-5


def test_warnings_say_how_many():
    odd = table([[0.5], [np.nan]])
    odd.gap[:] = 1e-5  # solved, but its score is none
    with pytest.warns(UserWarning, match="without 1 of 2 cells"):
        warn_of_scores(odd, "PSVCCV")
    with pytest.warns(ConvergenceWarning, match="solved 2 of 3 cells only to a relative gap above"):
        warn_of_gaps(np.array([[1e-4, 1e-2], [2e-2, np.nan], [1e-4, 1e-4]]), 1e-4, "PSVCCV")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_scores(table([[0.5], [0.6]]), "PSVCCV")
        warn_of_gaps(np.array([[1e-4, 9e-4], [np.nan, np.nan]]), 1e-4, "PSVCCV")
