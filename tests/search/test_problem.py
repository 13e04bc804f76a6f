"""What is searched, in numbers."""

import dataclasses

import pytest
from search_problems import halves


@pytest.mark.parametrize(
    ("classes", "multi_class", "own"), [(2, "ovo", 1), (4, "ovo", 6), (4, "ovr", 4)]
)
def test_binary_problems_of_every_split(classes, multi_class, own):
    problem = halves(40, classes, multi_class=multi_class)
    assert [len(problems) for problems in problem.problems] == [own, own]
    assert problem.fits_per_cell == 2 * own
    assert problem.problems is problem.problems, "made once"
    for fold, problems in zip(problem.folds, problem.problems, strict=True):
        rows = {int(row) for one in problems for row in one.rows}
        assert rows == set(fold.train.tolist())


def test_it_cannot_be_changed():
    problem = halves(40)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.weight = None
    assert not problem.precomputed
    assert halves(40, kernel="precomputed").precomputed
