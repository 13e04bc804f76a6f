"""The chosen p beside the default one."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from small_data import noisy

from psvm import PSVC, PSVCCV, PSVR, PSVRCV, LinearPSVC
from psvm.search import PBesideDefault, p_beside_default
from psvm.search.default_p import compare_p
from psvm.search.table import mean_gain


def results(ps, scores, supports=None):
    """``cv_results_`` of cells with these p and scores by split."""
    scores = np.array(scores, dtype=float)
    return {
        "param_p": np.ma.MaskedArray(np.array(ps, dtype=float), mask=False),
        "mean_n_support": np.ones(len(ps)) if supports is None else np.array(supports),
        **{f"split{split}_test_score": scores[:, split] for split in range(scores.shape[1])},
    }


def test_the_best_cells_of_both_are_compared_split_by_split():
    found = compare_p(
        results(
            [1.5, 1.5, 2, 2], [[0.5, 0.6, 0.7], [0.6, 0.7, 0.8], [0.63, 0.72, 0.81], [0, 0, 0]]
        ),
        2,
        1.5,
        in_points=True,
    )
    assert (found.p, found.rival_p, found.default_p, found.rival_index) == (2, 1.5, 1.5, 1)
    assert found.difference == pytest.approx(0.02)
    # Differences 0.03, 0.02, 0.01: their standard deviation is 0.01.
    assert found.standard_error == pytest.approx(0.01 / np.sqrt(3))
    assert not found.within_one_error
    assert str(found) == (
        "p = 2 scores 2.00 points above the default p = 1.5, more than one standard error (0.58)."
    )


def test_within_one_error_either_will_do():
    cells = results([1.5, 3], [[0.60, 0.70, 0.80], [0.65, 0.68, 0.801]])
    found = compare_p(cells, 1, 1.5, in_points=True)
    assert found.within_one_error
    assert str(found) == (
        "p = 3 scores 1.03 points above the default p = 1.5, within one standard error (2.07): "
        "take either."
    )
    # A score that is no share of rows is told in its own unit.
    assert "scores 0.0103 above" in str(compare_p(cells, 1, 1.5, in_points=False))
    # A rule may choose what scores less.
    assert "p = 1.5 scores 1.03 points below the default p = 3" in str(
        compare_p(cells, 0, 3.0, in_points=True)
    )


def test_where_the_default_is_chosen_it_is_compared_with_the_best_other():
    cells = results([1, 1.5, 2], [[0.5, 0.6], [0.8, 0.9], [0.7, 0.8]])
    found = compare_p(cells, 1, 1.5, in_points=True)
    assert (found.p, found.rival_p, found.rival_index) == (1.5, 2.0, 2)
    assert str(found).startswith(
        "The default p = 1.5 scores 10.00 points above the best other, p = 2,"
    )


def test_equal_scores_and_a_single_split():
    same = compare_p(results([1, 1.5], [[0.7, 0.8], [0.8, 0.7]]), 0, 1.5, in_points=True)
    assert same.difference == 0.0
    assert same.within_one_error
    assert str(same) == "p = 1 scores the same as the default p = 1.5: take either."
    one = compare_p(results([1, 1.5], [[0.8], [0.7]]), 0, 1.5, in_points=True)
    assert one.standard_error is None
    assert not one.within_one_error
    assert "10.00 points above the default p = 1.5; one split says nothing" in str(one)


def test_small_differences_are_not_called_zero():
    cells = results([1.5, 2], [[0.7, 0.7], [0.70001, 0.70003]])
    assert "scores 0.002 points above" in str(compare_p(cells, 1, 1.5, in_points=True))


@pytest.mark.parametrize(
    ("ps", "scores", "chosen"),
    [
        ([1, 2], [[0.7, 0.8], [0.8, 0.7]], 0),  # the default is not in the grid
        ([1.5, 1.5], [[0.7, 0.8], [0.8, 0.7]], 0),  # nothing else is
        ([1, 1.5], [[0.7, 0.8], [0.8, np.nan]], 0),  # it is not finished
    ],
)
def test_nothing_to_compare_with(ps, scores, chosen):
    assert compare_p(results(ps, scores), chosen, 1.5, in_points=True) is None


def test_of_equal_rivals_the_one_that_the_search_would_choose():
    cells = results([1, 1.5, 1.5], [[0.9, 0.9], [0.8, 0.8], [0.8, 0.8]], supports=[5, 9, 7])
    assert compare_p(cells, 0, 1.5, in_points=True).rival_index == 2


def test_the_gain_of_a_cell():
    score = np.array([[0.5, 0.7], [0.4, 0.4], [0.7, 0.5]])
    gain, error = mean_gain(score, 0, 1)
    assert gain == pytest.approx(0.2)
    assert error == pytest.approx(0.1)
    assert mean_gain(score, 0, 2)[0] == 0.0
    assert mean_gain(score[:, :1], 0, 1) == (pytest.approx(0.1), None)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_of_a_fitted_classifier(kernel):
    X, y = noisy(120)
    search = PSVCCV((1, 1.5, 3), (0.1, 1), ("scale",), kernel=kernel, cv=4, refit=False).fit(X, y)
    found = p_beside_default(search)
    assert isinstance(found, PBesideDefault)
    assert found.default_p == (PSVC() if kernel == "rbf" else LinearPSVC()).p
    assert found.p == search.best_params_["p"]
    assert found.in_points
    mean = search.cv_results_["mean_test_score"]
    assert found.difference == pytest.approx(search.best_score_ - mean[found.rival_index])
    others = search.cv_results_["param_p"] == found.rival_p
    assert mean[found.rival_index] == mean[others].max()
    again = p_beside_default(search.set_params(scoring="roc_auc").fit(X, y))
    assert not again.in_points


def test_of_a_fitted_regressor():
    X, _ = noisy(80)
    y = X[:, 0] + np.sin(X[:, 1])
    search = PSVRCV((1, 1.5), (1, 10), ("scale",), (0.1,), cv=3).fit(X, y)
    found = p_beside_default(search)
    assert found.default_p == PSVR().p
    assert not found.in_points
    assert p_beside_default(PSVRCV((1, 2), (1,), ("scale",), (0.1,), cv=3).fit(X, y)) is None


def test_a_search_must_be_fitted():
    with pytest.raises(NotFittedError):
        p_beside_default(PSVCCV())
