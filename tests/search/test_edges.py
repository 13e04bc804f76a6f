"""Choices at the edge of the grid: which are said, and what is to be added."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from small_data import noisy

from psvm import PSVCCV
from psvm.search import GridEdgeWarning
from psvm.search.edges import edges_of, warn_of_edges


def results(cells, scores):
    """``cv_results_`` of these cells and scores by split."""
    scores = np.array(scores, dtype=float)
    return {
        "params": cells,
        **{f"split{split}_test_score": scores[:, split] for split in range(scores.shape[1])},
        "mean_test_score": scores.mean(axis=1),
    }


def over(name, values, means, **others):
    """A grid over one parameter, with two splits that are 0.01 apart in every cell."""
    cells = [{name: float(value), **others} for value in values]
    return results(cells, [[mean - 0.005, mean + 0.005] for mean in means])


@pytest.mark.parametrize(
    ("name", "values", "means", "chosen", "beyond"),
    [
        ("C", [1, 4, 16], [0.7, 0.8, 0.9], 2, 64.0),
        ("C", [1, 4, 16], [0.9, 0.8, 0.7], 0, 0.25),
        ("gamma", [0.01, 0.1], [0.8, 0.9], 1, 1.0),
        ("gamma", [0.1, 0.01], [0.8, 0.9], 1, 0.001),  # in any order
        ("p", [1, 2, 3], [0.7, 0.8, 0.9], 2, 4.0),
        ("p", [1.5, 2, 3], [0.9, 0.8, 0.7], 0, 1.0),
        ("p", [1.2, 2, 3], [0.9, 0.8, 0.7], 0, 1.0),  # p ends at 1
    ],
)
def test_an_edge_that_can_be_left(name, values, means, chosen, beyond):
    (edge,) = edges_of(over(name, values, means), chosen)
    assert edge.parameter == name
    assert edge.value == values[chosen]
    assert edge.largest == (values[chosen] == max(values))
    assert edge.beyond == pytest.approx(beyond)
    said = str(edge)
    assert f"{name} = {values[chosen]:.4g}" in said
    assert ("larger ones" in said) == edge.largest
    assert f"{beyond:.3g} for instance" in said


@pytest.mark.parametrize(
    ("name", "values", "means", "chosen"),
    [
        ("C", [1, 4, 16], [0.7, 0.9, 0.8], 1),  # inside
        ("C", [1], [0.9], 0),  # a single value
        ("p", [1, 2, 3], [0.9, 0.8, 0.7], 0),  # nothing is beyond p = 1
        ("C", [1, 4, 16], [0.9, 0.9, 0.9], 2),  # flat
        ("C", [1, 4, 16], [0.7, np.nan, 0.9], 2),  # its neighbour is not finished
    ],
)
def test_no_edge(name, values, means, chosen):
    assert edges_of(over(name, values, means), chosen) == []


def test_flat_within_one_standard_error_of_the_difference_is_no_edge():
    """Split by split: what all splits agree on counts, however far they are apart."""
    cells = [{"C": 1.0}, {"C": 10.0}]
    together = results(cells, [[0.60, 0.70, 0.80], [0.61, 0.712, 0.811]])
    assert len(edges_of(together, 1)) == 1
    apart = results(cells, [[0.60, 0.70, 0.80], [0.65, 0.68, 0.801]])
    assert apart["mean_test_score"][1] > apart["mean_test_score"][0]
    assert edges_of(apart, 1) == []
    assert len(edges_of(results(cells, [[0.7], [0.8]]), 1)) == 1  # one split has no error


def test_the_next_value_is_judged_by_its_best_cell():
    cells = [{"C": C, "p": p} for C in (1.0, 10.0) for p in (1.0, 2.0)]
    better_beside = results(cells, [[0.5, 0.5], [0.9, 0.9], [0.9, 0.9], [0.6, 0.6]])
    assert edges_of(better_beside, 2) == []


def test_the_search_warns_with_what_to_add():
    X, y = load_digits(n_class=4, return_X_y=True)
    grid = {"ps": [1], "Cs": [1.0], "gammas": [1e-6, 1e-4]}
    with pytest.warns(GridEdgeWarning, match="edge of its grid") as caught:
        search = PSVCCV(**grid, cv=3).fit(X[:200], y[:200])
    assert search.best_params_["gamma"] == 1e-4
    message = str(caught[0].message)
    assert "gamma = 0.0001 is the largest of `gammas`" in message
    assert "0.01 for instance" in message
    assert "gammas=[1e-06, 0.0001, 0.01]" in message
    assert caught[0].filename == __file__


def test_a_grid_by_number_is_spelled_out_to_be_pasted():
    found = edges_of(over("C", np.logspace(-1, 2, 4), [0.9, 0.8, 0.7, 0.6]), 0)
    found += edges_of(over("p", [1, 1.5, 2], [0.7, 0.8, 0.9]), 2)
    with pytest.warns(GridEdgeWarning) as caught:
        warn_of_edges(found, "PSVCCV")
    assert str(caught[0].message).endswith(
        " Longer grids: Cs=[0.01, 0.1, 1, 10, 100], ps=[1, 1.5, 2, 2.5]."
    )
    many = edges_of(over("C", 2.0 ** np.arange(40), np.linspace(0.1, 0.9, 40)), 39)
    with pytest.warns(GridEdgeWarning) as caught:
        warn_of_edges(many, "PSVCCV")
    assert "Longer grids" not in str(caught[0].message)


def test_no_warning_of_a_choice_inside():
    X, y = noisy(n=200, d=4, noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PSVCCV([1], [1.0], [0.05]).fit(X, y)
        warn_of_edges([], "PSVCCV")
