"""One-vs-one bookkeeping as pure functions, against scikit-learn's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.multiclass import _ovr_decision_function
from strategies import seeds

from psvm.mathematics.multiclass import (
    class_pairs,
    class_scores,
    pack_one_vs_one,
    pair_products,
    predicted_codes,
    problem_count,
    problem_signs,
    votes_of_pairs,
)


def test_pairs_are_in_lexicographic_order():
    assert class_pairs(4) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_signs_of_the_classes(classes, multi_class):
    signs = problem_signs(classes, multi_class)
    assert len(signs) == problem_count(classes, multi_class)
    pairs = class_pairs(classes) if multi_class == "ovo" else [(i, None) for i in range(classes)]
    for row, (i, j) in zip(signs, pairs if classes > 2 else [(1, 0)], strict=True):
        others = [c for c in range(classes) if c != i] if j is None else [j]
        assert row[i] == 1
        assert (row[others] == -1).all()
        assert np.abs(row).sum() == 1 + len(others)


@given(st.integers(2, 6), seeds)
def test_packing_and_products_are_consistent(classes, seed):
    """Products through SVC's packed layout equal the products pair by pair."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, size=classes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    duals = [rng.normal(size=sizes[i] + sizes[j]) for i, j in class_pairs(classes)]
    packed = pack_one_vs_one(duals, sizes.tolist())
    assert packed.shape == (classes - 1, sizes.sum())
    values = rng.normal(size=(sizes.sum(), 7))
    expected = [
        dual @ np.vstack([values[starts[i] : starts[i + 1]], values[starts[j] : starts[j + 1]]])
        for (i, j), dual in zip(class_pairs(classes), duals, strict=True)
    ]
    assert pair_products(values, packed, sizes.tolist()) == pytest.approx(np.array(expected))


@given(st.integers(3, 6), seeds)
def test_votes_agree_with_scikit_learn(classes, seed):
    """Votes plus squeezed confidence, as SVC's decision_function_shape="ovr"."""
    rng = np.random.default_rng(seed)
    decisions = rng.normal(size=(20, classes * (classes - 1) // 2))
    expected = _ovr_decision_function(decisions < 0, -decisions, classes)
    assert votes_of_pairs(decisions, classes) == pytest.approx(expected)


def test_scores_of_classes_and_who_has_the_largest():
    """Of two classes one value whose sign decides; of more one column each."""
    values = np.array([[0.5, -1.0, 0.2], [-0.1, 0.3, 0.4]])
    assert class_scores(values[:, :1], 2, "ovo").tolist() == [0.5, -0.1]
    assert predicted_codes(np.array([0.5, -0.1, 0.0])).tolist() == [1, 0, 0]
    assert class_scores(values, 3, "ovr") is values
    assert predicted_codes(values).tolist() == [0, 2]
    by_votes = class_scores(values, 3, "ovo")
    assert by_votes == pytest.approx(votes_of_pairs(values, 3))
    assert predicted_codes(by_votes).tolist() == [2, 1]  # one vote each, then two of two


def test_confidence_never_outweighs_a_vote():
    """Two votes beat one, however sure the loser is."""
    decisions = np.array([[0.01, 0.01, 1e9]])  # class 0 beats 1 and 2 narrowly; 1 crushes 2
    assert votes_of_pairs(decisions, 3).argmax() == 0


def test_votes_of_decisions_that_are_not_finite():
    """Of problems without a solution: the scores are numbers, and nobody is warned."""
    largest = np.finfo(float).max
    decisions = np.array(
        [[np.inf, np.inf, 1.0], [np.inf, -np.inf, 1.0], [np.nan, 1.0, 1.0], [largest, largest, 0.0]]
    )
    scores = votes_of_pairs(decisions, 3)
    assert np.isfinite(scores).all()
    assert scores.argmax(axis=1).tolist() == [0, 2, 0, 0]
    assert (np.abs(scores - np.rint(scores)) < 0.334).all()
    assert scores[3, 0] == pytest.approx(2 + 1 / 3)
