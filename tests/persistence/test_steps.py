"""The parts of a model, in any nesting."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from psvm import PSVC, PSVCCV
from psvm.persistence.steps import steps_of

X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.resize([0, 1], 30)


def test_a_classifier_is_its_own_step():
    model = PSVC()
    assert steps_of(model) == [model]


def test_pipelines_are_taken_apart():
    scale, squeeze, model = StandardScaler(), MinMaxScaler(), PSVC()
    inner = Pipeline([("nothing", None), ("squeeze", squeeze), ("model", model)])
    outer = Pipeline([("scale", scale), ("passed", "passthrough"), ("inner", inner)])
    assert steps_of(outer) == [scale, squeeze, model]


def test_of_a_search_the_best_model():
    pipeline = make_pipeline(StandardScaler(), PSVC())
    search = GridSearchCV(pipeline, {"psvc__C": [0.1, 1.0]}, cv=2)
    assert steps_of(search) == [step for _, step in pipeline.steps]  # not fitted yet
    search.fit(X, Y)
    assert steps_of(search) == [step for _, step in search.best_estimator_.steps]
    assert steps_of(make_pipeline(MinMaxScaler(), search))[1:] == steps_of(search)


def test_the_preprocessor_of_a_search_is_a_step():
    before = make_pipeline(StandardScaler(), MinMaxScaler())
    search = PSVCCV((1,), (1,), (0.1,), cv=2, preprocessor=before)
    assert steps_of(search) == [search]  # not fitted yet
    scale, squeeze, model = steps_of(search.fit(X, Y))
    assert (scale, squeeze) == tuple(step for _, step in search.preprocessor_.steps)
    assert model is search.best_estimator_[-1]


def test_a_search_that_kept_no_model():
    search = GridSearchCV(PSVC(), {"C": [0.1, 1.0]}, cv=2, refit=False).fit(X, Y)
    with pytest.raises(ValueError, match="refit=False"):
        steps_of(search)
