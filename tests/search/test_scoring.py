"""Scores of held-out answers: values among all classes, means of splits, what a scorer sees."""

import numpy as np
import pytest
from search_problems import answers_of, halves
from sklearn.metrics import get_scorer, make_scorer

from psvm.search.class_scoring import ClassScorer, class_decisions, values_among_all
from psvm.search.folds import ClassFold
from psvm.search.scoring import accepts_sample_weight, mean_of_splits


def fold_of(*classes):
    rows = np.arange(2)
    return ClassFold(rows, rows, np.array(classes), np.zeros(2, dtype=np.int32), np.ones(2))


def test_values_among_all_pairs():
    """Classes 0, 2 and 3 of four: the pairs of them are numbers 1, 2 and 5 of all."""
    values = np.array([[1.0, 2.0, 3.0]])
    found = values_among_all(values, fold_of(0, 2, 3), 4, "ovo")
    assert found == pytest.approx(np.array([[np.nan, 1.0, 2.0, np.nan, np.nan, 3.0]]), nan_ok=True)
    # Of two classes the second is the positive one, of a pair among more the first.
    found = values_among_all(np.array([[1.5]]), fold_of(1, 2), 3, "ovo")
    assert found == pytest.approx(np.array([[np.nan, np.nan, -1.5]]), nan_ok=True)
    assert values_among_all(values, fold_of(0, 1, 2), 3, "ovo") is values


def test_values_among_all_classes():
    found = values_among_all(np.array([[1.0, 2.0, 3.0]]), fold_of(0, 2, 3), 4, "ovr")
    assert found == pytest.approx(np.array([[1.0, np.nan, 2.0, 3.0]]), nan_ok=True)
    found = values_among_all(np.array([[1.5]]), fold_of(0, 2), 3, "ovr")
    assert found == pytest.approx(np.array([[-1.5, np.nan, 1.5]]), nan_ok=True)


def test_classes_that_are_absent_are_never_chosen():
    found = class_decisions(np.array([[1.5]]), fold_of(0, 2), 3, "ovr")
    assert found.tolist() == [[-1.5, -np.inf, 1.5]]


def test_the_mean_of_what_splits_say():
    rows = [np.array([0, 1]), np.array([1, 1, 3])]
    values = [np.array([[1.0], [2.0]]), np.array([[4.0], [6.0], [5.0]])]
    found = mean_of_splits(4, rows, values)
    assert found[:, 0] == pytest.approx([1.0, 4.0, np.nan, 5.0], nan_ok=True)


def scorer_of(problem, scorer, parameters=None):
    return ClassScorer(
        problem,
        scorer,
        problem.prepared[0].X,
        problem.classes[problem.codes],
        parameters or {},
        decision_function_shape="ovr",
        symmetric=False,
        quick=scorer is None,
    )


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_accuracy_of_all_cells_at_once_is_that_of_scikit_learn(classes, multi_class, weighted):
    problem = halves(40, classes, multi_class=multi_class)
    answers = answers_of(problem)
    weight = {"sample_weight": np.arange(40.0)} if weighted else {}
    for split in (0, 1):
        ours, _ = scorer_of(problem, None, weight).scores(split, answers)
        theirs, _ = scorer_of(problem, get_scorer("accuracy"), weight).scores(split, answers)
        assert ours == pytest.approx(theirs, nan_ok=True)
        assert np.isnan(ours).tolist() == [False] * (problem.grid.size - 1) + [True]
        assert 0.0 < ours[0] < 1.0


def test_what_a_scorer_sees():
    problem = halves(40, 3)
    answers = answers_of(problem)
    seen = []

    def look(model, X, y):
        seen.append(model.params_)
        assert X.shape == (20, problem.prepared[0].X.shape[1])
        assert model.classes_.tolist() == ["a", "b", "c"]
        decision, probabilities = model.decision_function(X), model.predict_proba(X)
        assert decision.shape == probabilities.shape == (20, 3)
        assert probabilities.sum(axis=1) == pytest.approx(np.ones(20))
        assert (model.predict(X) == model.classes_[decision.argmax(axis=1)]).all()
        with pytest.raises(ValueError, match="20 held-out rows only, got 5"):
            model.predict(X[:5])
        return 0.25

    found, _ = scorer_of(problem, look).scores(1, answers)
    assert found[:-1].tolist() == [0.25] * (problem.grid.size - 1)
    assert seen == problem.grid.params[:-1]


@pytest.mark.parametrize("value", [[0.1, 0.2], "good", {"a": 1.0}])
def test_a_score_is_one_number(value):
    problem = halves(40)
    with pytest.raises(ValueError, match="`scoring` must return one number"):
        scorer_of(problem, lambda model, X, y: value).scores(0, answers_of(problem))


def test_which_scorers_take_weights():
    assert accepts_sample_weight(get_scorer("accuracy"))
    assert not accepts_sample_weight(make_scorer(lambda y, predicted: 0.0))
    assert not accepts_sample_weight(lambda model, X, y: 0.0)
    assert accepts_sample_weight(lambda model, X, y, sample_weight=None: 0.0)
