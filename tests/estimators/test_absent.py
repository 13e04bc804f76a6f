"""What a model does not have: hasattr says no, and the error says what to use."""

import copy
import pickle

import pytest
from estimators import each_class
from messages import X, Y, assert_mentions
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

METHODS = ["predict_proba", "predict_log_proba"]


@each_class
@pytest.mark.parametrize("name", METHODS)
def test_probabilities_are_not_there(Estimator, name):
    for model in (Estimator(), Estimator().fit(X, Y)):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError) as error:
            getattr(model, name)
        assert_mentions(
            str(error.value), name, "PSVCCV", f"CalibratedClassifierCV({Estimator.__name__}"
        )
    assert not hasattr(Estimator, name)


@each_class
def test_what_asks_by_hasattr(Estimator):
    """A pipeline, a vote and a scorer of probabilities see that there are none."""
    pipeline = make_pipeline(StandardScaler(), Estimator()).fit(X, Y)
    assert not hasattr(pipeline, "predict_proba")
    vote = VotingClassifier([("a", Estimator()), ("b", LogisticRegression())], voting="soft")
    with pytest.raises(AttributeError):
        vote.fit(X, Y).predict_proba(X)
    with pytest.raises(AttributeError, match="predict_proba"):
        get_scorer("neg_log_loss")(pipeline, X, Y)
    assert get_scorer("roc_auc")(pipeline, X, Y) > 0.5  # by decision_function


@each_class
def test_what_the_error_recommends(Estimator):
    model = CalibratedClassifierCV(Estimator(), cv=2).fit(X, Y)
    assert model.predict_proba(X).shape == (20, 2)


@each_class
def test_a_model_may_be_given_one(Estimator):
    """As is usual in tests of others: an attribute of the model's own comes first."""
    model = Estimator().fit(X, Y)
    model.predict_proba = "own"
    assert model.predict_proba == copy.copy(model).predict_proba == "own"
    assert pickle.loads(pickle.dumps(model)).predict_proba == "own"
