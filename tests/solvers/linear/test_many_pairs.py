"""Many pairs of classes: their records are made when somebody looks, and kept like others."""

import copy
import pickle

import numpy as np
import pytest

from psvm import LinearPSVC
from psvm.persistence import load, save


@pytest.fixture
def model():
    """Of 300 pairs."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(25), 8)
    X = 3.0 * rng.standard_normal((25, 6))[y] + rng.standard_normal((y.size, 6))
    return LinearPSVC(p=2.0, multi_class="ovo").fit(X, y)


def test_records_are_made_at_the_first_look(model):
    """And are then what they are of few problems."""
    assert "history_" not in vars(model)
    assert isinstance(model.history_, list)
    assert len(model.history_) == 300
    for records, rounds, gap in zip(model.history_, model.n_iter_, model.dual_gap_, strict=True):
        assert records[-1]["iteration"] == rounds
        assert "why" in records[0]
        assert max(records[-1]["gap"], gap) <= model.tol
    assert model.history_ is model.history_


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "file"])
def test_copies_have_the_records(model, way, tmp_path):
    """Looked at or not."""
    before = set(vars(model))
    if way == "file":
        save(model, tmp_path / "m.psvm")
        again = load(tmp_path / "m.psvm")
    else:
        again = pickle.loads(pickle.dumps(model)) if way == "pickle" else copy.deepcopy(model)
    assert set(vars(model)) == before
    assert again.history_ == model.history_


def test_a_new_fit_has_new_records(model):
    """Also of fewer problems."""
    old = model.history_
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    model.fit(X, y)
    assert len(model.history_) == 1
    assert model.history_ is not old
    assert "_rounds" not in vars(model)
