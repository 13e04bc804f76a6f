"""Scores of held-out predictions: those of scikit-learn, for all cells at once or one by one."""

import numpy as np
import pytest
from search_problems import answers_of, target_halves
from sklearn.metrics import get_scorer

from psvm.search.target_scoring import HeldOutRegressor, TargetScorer, pinball_scorer


def scorer_of(problem, name, parameters=None, quick=True):
    return TargetScorer(
        problem,
        get_scorer(name),
        problem.prepared[0].X,
        problem.answers,
        parameters or {},
        name=name if quick else None,
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "r2",
        "neg_mean_squared_error",
        "neg_root_mean_squared_error",
        "neg_mean_absolute_error",
        "neg_median_absolute_error",
    ],
)
def test_scores_of_all_cells_at_once_are_those_of_scikit_learn(name, weighted):
    problem = target_halves(40)
    answers = answers_of(problem)
    weight = {"sample_weight": np.arange(40.0)} if weighted else {}
    for split in (0, 1):
        ours, _ = scorer_of(problem, name, weight).scores(split, answers)
        theirs, _ = scorer_of(problem, name, weight, quick=False).scores(split, answers)
        assert ours == pytest.approx(theirs, nan_ok=True, rel=1e-12)
        assert np.isnan(ours).tolist() == [False] * (problem.grid.size - 1) + [True]


def test_r2_of_equal_targets():
    problem = target_halves(40)
    problem.targets.given[:] = 3.0
    answers = answers_of(problem)
    answers[0].values[:, 0] = 3.0
    ours, _ = scorer_of(problem, "r2").scores(0, answers)
    theirs, _ = scorer_of(problem, "r2", quick=False).scores(0, answers)
    assert ours[:2].tolist() == theirs[:2].tolist() == [1.0, 0.0]


def test_what_a_scorer_sees():
    problem = target_halves(40)
    seen = []

    def look(model, X, y):
        seen.append(model.params_)
        assert np.array_equal(y, problem.answers[problem.folds[0].test])
        with pytest.raises(ValueError, match="answers for the 20 held-out rows only"):
            model.predict(X[:3])
        return float(model.predict(X)[0])

    answers = answers_of(problem)
    scorer = TargetScorer(problem, look, problem.prepared[0].X, problem.answers, {}, name=None)
    found, _ = scorer.scores(0, answers)
    assert seen == problem.grid.params[:-1]
    assert found[:-1] == pytest.approx(answers[0].values[0, :-1, 0])


def test_the_mean_of_what_splits_predict():
    problem = target_halves(40)
    scorer = scorer_of(problem, "r2")
    values = [np.full((20, 1), 1.0), np.full((20, 1), 2.0)]
    assert scorer.of_all_rows(values).tolist() == [2.0] * 20 + [1.0] * 20


def test_near_the_best_whatever_the_unit():
    scorer = scorer_of(target_halves(40), "r2")
    scores = np.array([0.8, 0.9, 0.7])
    assert scorer.near(scores) == pytest.approx(0.2 * scores.std(ddof=1) / np.sqrt(3))
    assert scorer.near(1e6 * scores) == pytest.approx(1e6 * scorer.near(scores))
    assert scorer.near(np.array([-0.5])) == pytest.approx(0.001)


def test_pinball():
    model, X = HeldOutRegressor(np.zeros(2), {}), np.zeros((2, 1))
    assert pinball_scorer(0.9)(model, X, [1.0, -1.0]) == pytest.approx(-0.5)
    assert pinball_scorer(0.9)(model, X, [1.0, 1.0]) == pytest.approx(-0.9)
