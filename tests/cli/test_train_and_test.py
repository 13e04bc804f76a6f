"""The limit of seconds of ``psvm fit`` is one of everything after reading."""

import time

import numpy as np
import pytest

from psvm.cli import train_and_test
from psvm.cli.files.training_set import TrainingSet


def training(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    return TrainingSet(X, (X[:, 0] + rng.normal(size=n) > 0).astype(int), (), ())


def fitted(n, *, began=None, **parameters):
    classifier = train_and_test.new_classifier(linear=False, **parameters)
    rows = train_and_test.split(training(n), None, 0)
    return train_and_test.fit_model(
        classifier, rows, scale=None, impute=False, proba=False, quiet=True, began=began
    )


def test_without_a_limit_all_rows_are_scored():
    assert fitted(1500).facts["train"]["rows"] == 1500


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_came_before_counts():
    """Seconds that are over leave none for the fit, and few rows to score."""
    found = fitted(4000, max_time=5.0, began=time.perf_counter() - 5.0)
    assert found.facts["status"].startswith("stopped after max_time")
    assert found.facts["train"]["rows"] == 500
    assert found.facts["parameters"]["max_time"] == 5.0
    assert found.model.predict(training(3).X).shape == (3,)
