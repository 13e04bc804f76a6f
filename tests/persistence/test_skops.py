"""skops by itself: dumps and loads, with the types that we name as trusted."""

import copy
import pickle

import numpy as np
import pytest
from export_models import several_classes, words
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.persistence import skops_types
from psvm.solvers.ledger import Status

MODELS = [
    PSVC(),
    PSVC(kernel="laplacian", warm_start=True),
    PSVC(max_iter=1, tol=1e-12),
    LinearPSVC(warm_start=True),
    PSVCCV((1, 2), (1,), (0.1,), cv=2),
    PSVCCV((1, 2), (1,), kernel="linear", scoring="neg_log_loss", cv=2),
    make_pipeline(StandardScaler(), PSVC()),
    GridSearchCV(make_pipeline(StandardScaler(), LinearPSVC()), {"linearpsvc__C": [1, 2]}, cv=2),
    CalibratedClassifierCV(PSVC(), method="isotonic", cv=2),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.filterwarnings("ignore:PSVC is at relative gap")
def test_round_trip(model):
    skops = pytest.importorskip("skops.io")
    X, y = several_classes("wine")
    model.fit(X, words(y))
    again = skops.loads(skops.dumps(model), trusted=skops_types())
    method = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
    np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    inner = getattr(again, "best_estimator_", again)
    if hasattr(inner, "status_"):
        assert inner.status_ == getattr(model, "best_estimator_", model).status_
        assert all(isinstance(one, Status) for one in inner.status_)


def test_only_named_types_are_needed():
    skops = pytest.importorskip("skops.io")
    X, y = several_classes("wine")
    data = skops.dumps(PSVC().fit(X, y))
    asked = skops.get_untrusted_types(data=data)
    assert set(asked) == {"psvm.estimators.svc.PSVC", "psvm.rows.kernel.Kernel"}
    assert set(asked) <= set(skops_types())


def test_copies_keep_the_status():
    X, y = several_classes("wine")
    model = PSVC().fit(X, y)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.status_ == model.status_ == [Status.CONVERGED] * 3
    assert model.__getstate__()["status_"] == ["CONVERGED"] * 3
    assert model.status_ == [Status.CONVERGED] * 3  # the model itself is as it was
