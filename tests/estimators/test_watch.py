"""Listeners hear every round of every fit inside their block, and change nothing in it."""

import numpy as np
import pytest
from joblib import parallel_backend
from sklearn.calibration import CalibratedClassifierCV
from small_data import noisy

from psvm import PSVC, LinearPSVC
from psvm.estimators.watch import FitWatch, listening

X, Y = noisy(n=60, d=3, seed=0)
THREE = np.arange(60) % 3


@pytest.mark.parametrize("classifier", [PSVC, LinearPSVC])
def test_a_listener_hears_the_rounds_of_the_history(classifier):
    heard = []
    with listening(heard.append):
        model = classifier().fit(X, THREE)
    assert len({one.fit for one in heard}) == 1
    for t, history in enumerate(model.history_):
        gaps = [one.record["gap"] for one in heard if one.problem == t]
        assert gaps == [record["gap"] for record in history]
    without = classifier().fit(X, THREE)
    np.testing.assert_array_equal(model.decision_function(X), without.decision_function(X))


def test_only_fits_that_begin_in_the_block_are_heard():
    heard = []
    with pytest.raises(ZeroDivisionError), listening(heard.append):
        1 / 0  # noqa: B018
    PSVC().fit(X, Y)
    assert heard == []


def test_every_listener_is_told():
    first, second = [], []
    with listening(first.append):
        with listening(second.append):
            PSVC().fit(X, Y)
        assert first == second
        assert len(first) > 0
        PSVC().fit(X, Y)
    assert len(first) == 2 * len(second)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_clones_are_heard_also_in_threads(n_jobs):
    """As in `psvm fit --proba`: the estimator given is never fitted itself, but clones of it."""
    heard = []
    model = CalibratedClassifierCV(PSVC(), cv=3, ensemble=False, n_jobs=n_jobs)
    with listening(heard.append), parallel_backend("threading"):
        model.fit(X, Y)
    assert len({one.fit for one in heard}) == 4  # three folds, and all rows


def test_listeners_do_not_put_problems_in_order():
    """As callbacks do, for which problems run one after the other."""
    assert not FitWatch(PSVC(), X, Y).listens
    with listening(lambda one: None):
        watch = FitWatch(PSVC(), X, Y)
    assert watch.listens
    assert not watch.in_order
