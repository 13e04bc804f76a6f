"""The cells of a search: their order, the grids that follow from data, and wrong lists."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

from psvm.search.grid import check_epsilons, check_grid

X = np.random.default_rng(0).normal(size=(50, 4)) * 3.0
WEIGHT = np.ones(50)


def grid(ps=(1.5, 1.0), Cs=(10.0, 0.1), gammas=(0.5, 0.1), kernel="rbf"):
    return check_grid(ps, Cs, gammas, kernel=kernel).over(kernel, X, WEIGHT)


def test_cells_are_in_the_order_of_scikit_learn():
    found = grid()
    values = {"p": [1.5, 1.0], "C": [10.0, 0.1], "gamma": [0.5, 0.1]}
    assert found.params == list(ParameterGrid(values))
    assert found.size == 8
    assert found.gammas == [0.1, 0.5]
    for cell, params in enumerate(found.params):
        assert (found.p[cell], found.C[cell]) == (params["p"], params["C"])
        assert found.gammas[found.gamma_number[cell]] == params["gamma"]


def test_a_path_rises():
    found = grid(ps=(1.5, 1.0, 2.0), Cs=(10.0, 0.1, 1.0))
    for gamma in (0, 1):
        path = found.path(gamma, range(found.size))
        assert len(path) == 9
        cells = [(found.p[c], found.C[c]) for c in path]
        assert cells == sorted(cells)
        assert {found.params[c]["gamma"] for c in path} == {found.gammas[gamma]}
        assert found.path(gamma, path[3:5]) == path[3:5]


def test_kernels_without_a_width_have_none():
    found = grid(kernel="linear")
    assert found.gammas == [1.0]
    assert all(set(cell) == {"p", "C"} for cell in found.params)
    assert not found.gamma_number.any()


def test_a_number_asks_for_values_around_the_scale_of_the_data():
    found = grid(Cs=3, gammas=5)
    scale = 1.0 / (4 * X.var())
    assert len(found.gammas) == 5
    assert np.diff(np.log(found.gammas)) == pytest.approx(np.log(100.0) / 4)
    assert (found.gammas[0], found.gammas[-1]) == pytest.approx((0.1 * scale, 10.0 * scale))
    assert len(set(found.C.tolist())) == 3
    assert grid(gammas="scale").gammas == pytest.approx([scale])
    assert grid(gammas=["auto", "scale"]).gammas == pytest.approx(sorted([0.25, scale]))


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"ps": []}, "`ps` must hold at least one value"),
        ({"ps": 1.5}, "`ps` must be a list of numbers, got 1.5"),
        ({"ps": [0.5]}, "`ps` must"),
        ({"ps": [2.0, 2]}, "`ps` must not hold a value twice"),
        ({"Cs": [1.0, 1.0]}, "`Cs` must not hold a value twice"),
        ({"Cs": [np.inf]}, "`Cs` must be finite"),
        ({"Cs": [0.0]}, "`Cs` must"),
        ({"Cs": "many"}, "`Cs` must be a list"),
        ({"gammas": []}, "`gammas` must hold at least one value"),
        ({"gammas": [-1.0]}, "`gammas` must"),
        ({"gammas": ["wide"]}, "`gammas` must be"),
        ({"gammas": [0.25, "auto"]}, "`gammas` must not hold a value twice"),
    ],
)
def test_wrong_lists(lists, message):
    with pytest.raises(ValueError, match=message):
        grid(**lists)


def test_widths_are_not_looked_at_where_there_are_none():
    assert check_grid([1.0], [1.0], "nonsense", kernel="linear").gammas is None


# --- regression -----------------------------------------------------------------------------------


def tubes(epsilons, spread=1.0, **lists):
    asked = check_grid(**{"ps": (1.0, 2.0), "Cs": (0.1, 1.0, 10.0), "gammas": (0.5,), **lists})
    return replace(asked, epsilons=check_epsilons(epsilons)).over("rbf", X, WEIGHT, spread)


def test_neighbours_on_a_path_differ_in_one_parameter():
    found = tubes((0.5, 0.1, 0.3), kernel="rbf")
    values = {"p": [1.0, 2.0], "C": [0.1, 1.0, 10.0], "gamma": [0.5], "epsilon": [0.5, 0.1, 0.3]}
    assert found.params == list(ParameterGrid(values))
    path = found.path(0, range(found.size))
    cells = [(found.p[c], found.C[c], found.epsilon[c]) for c in path]
    assert len(set(cells)) == found.size == 18
    assert [cell[:2] for cell in cells] == sorted(cell[:2] for cell in cells)
    for p in (1.0, 2.0):
        own = [cell for cell in cells if cell[0] == p]
        assert own[0] == (p, 0.1, 0.5), "every p begins with the widest tube"
        for one, other in pairwise(own):
            assert sum(a != b for a, b in zip(one, other, strict=True)) == 1


def test_tubes_and_costs_follow_the_targets():
    found = tubes(3, spread=50.0, Cs=2, kernel="rbf")
    assert np.unique(found.epsilon) == pytest.approx([1.0, 5.0, 25.0])
    for p in (1.0, 2.0):
        costs = np.unique(found.C[found.p == p])
        assert costs == pytest.approx(np.array([0.1, 100.0]) * 50.0 ** (2.0 - p))
    given = tubes((0.0, 2.0), spread=50.0, kernel="rbf")
    assert np.unique(given.epsilon).tolist() == [0.0, 2.0]
    assert np.unique(given.C).tolist() == [0.1, 1.0, 10.0], "a list is absolute"
