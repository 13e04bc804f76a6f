"""Who is given groups and weights, with and without scikit-learn's metadata routing."""

import numpy as np
import pytest
from old_packages import needs_scorers_with_weights
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, KFold

from psvm import PSVCCV
from psvm.search.routing import routed_in_fit, routed_in_score

GROUPS = np.array([0, 0, 1, 1])
WEIGHT = np.array([1.0, 2.0, 3.0, 4.0])


def blind(y_true, y_pred):
    """A score that takes no weights."""
    return 0.0


def routed(search, scorer, sample_weight=None, **params):
    return routed_in_fit(search, scorer, sample_weight, WEIGHT, params)


def test_without_routing_groups_go_to_the_splitter():
    scorer = make_scorer(accuracy_score)
    found = routed(PSVCCV(), scorer, groups=GROUPS)
    assert found.splitter == {"groups": GROUPS}
    assert found.scorer == {}
    assert routed(PSVCCV(), scorer).splitter == {"groups": None}


def test_without_routing_weights_go_to_scorers_that_take_them():
    """As checked by the fit: one number may stand for all rows."""
    found = routed(PSVCCV(), make_scorer(accuracy_score), sample_weight=2.0)
    assert found.scorer["sample_weight"] is WEIGHT
    assert routed(PSVCCV(), make_scorer(blind), sample_weight=2.0).scorer == {}


def test_without_routing_nothing_else_is_taken():
    with pytest.raises(ValueError, match="metadata"):
        routed(PSVCCV(), make_scorer(accuracy_score), colour=GROUPS)
    with pytest.raises(ValueError, match="metadata"):
        routed_in_score(PSVCCV(), None, {"groups": GROUPS})
    assert routed_in_score(PSVCCV(), None, {}) == {}
    assert routed_in_score(PSVCCV(), WEIGHT, {}) == {"sample_weight": WEIGHT}


def test_with_routing_each_gets_what_it_asks_for():
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = PSVCCV(cv=GroupKFold(2), scoring=scorer).set_fit_request(sample_weight=True)
        given = np.ones(4)
        found = routed(search, scorer, sample_weight=given, groups=GROUPS)
        assert found.splitter["groups"] is GROUPS
        assert found.scorer["sample_weight"] is WEIGHT  # the checked ones
        assert routed_in_score(search, given, {}) == {"sample_weight": given}


def test_with_routing_under_another_name():
    """Then they are not the weights of the fit, and go on as they are."""
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight="importance")
        search = PSVCCV(cv=KFold(2), scoring=scorer).set_fit_request(sample_weight=True)
        importance = np.arange(4.0)
        found = routed(search, scorer, sample_weight=np.ones(4), importance=importance)
        assert found.scorer["sample_weight"] is importance
        assert found.splitter == {}


@needs_scorers_with_weights
def test_with_routing_what_nobody_asks_for_is_an_error():
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score)
        search = PSVCCV(cv=KFold(2), scoring=scorer).set_fit_request(sample_weight=True)
        with pytest.raises(UnsetMetadataPassedError):
            routed(search, scorer, sample_weight=np.ones(4))
