"""What ``cv`` and ``scoring`` stand for."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import make_scorer, zero_one_loss
from sklearn.model_selection import KFold, StratifiedKFold

from psvm.search.settings import check_scorer, check_splitter

Y = np.repeat(["a", "b"], 20)


@pytest.mark.parametrize(("cv", "folds"), [(None, 5), (3, 3), (np.int64(4), 4)])
def test_a_number_is_stratified(cv, folds):
    splitter = check_splitter(cv, classifier=True)(Y)
    assert isinstance(splitter, StratifiedKFold)
    assert splitter.get_n_splits() == folds
    plain = check_splitter(cv, classifier=False)(np.arange(40.0))
    assert type(plain) is KFold
    assert plain.get_n_splits() == folds


def test_splitters_and_pairs_are_kept():
    own = KFold(4)
    assert check_splitter(own, classifier=True)(Y) is own
    pairs = ((np.arange(20), np.arange(20, 40)) for _ in range(2))
    splitter = check_splitter(pairs, classifier=True)
    for _ in range(2):  # also of a generator, which is read once
        assert len(list(splitter(Y).split(Y, Y))) == 2


@pytest.mark.parametrize("cv", [1, 0, -3, True])
def test_wrong_numbers_of_folds(cv):
    with pytest.raises(ValueError, match="`cv` must be a number of folds >= 2"):
        check_splitter(cv, classifier=True)


def test_scorers():
    X, y = np.zeros((40, 1)), np.array(["a"] * 30 + ["b"] * 10)
    always_a = DummyClassifier(strategy="constant", constant="a").fit(X, y)
    assert check_scorer("accuracy")(always_a, X, y) == 0.75
    assert check_scorer("balanced_accuracy")(always_a, X, y) == 0.5
    own = make_scorer(zero_one_loss)
    assert check_scorer(own) is own
    for several in (["accuracy", "f1"], {"f1": "f1"}):
        with pytest.raises(ValueError, match="`scoring` must be one scorer"):
            check_scorer(several)
