"""The processes that measure: fresh, limited in time, and telling what went wrong."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.cases import check_present
from benchmarks.nursery import Nursery
from benchmarks.worker import Task

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and timers")


@pytest.fixture
def task(tmp_path):
    try:
        check_present("magic04")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return Task(
        suite="linear",
        case="magic04",
        rival="psvm",
        C=1.0,
        gamma=None,
        p=2.0,
        threads=1,
        max_rows=600,
        time_limit=30.0,
        model_file=str(tmp_path / "model.npz"),
    )


def test_measurements_of_one_nursery(task):
    with Nursery(threads=1) as nursery:
        first, second = nursery.measure(task), nursery.measure(task)
        assert first.answer["fit_seconds"] > 0.0
        assert first.answer["conversion_seconds"] == 0.0
        assert first.answer["accuracy"] == second.answer["accuracy"] > 0.7
        with np.load(task.model_file) as model:
            assert model["coef"].shape == (10,)

        late = nursery.measure(dataclasses.replace(task, time_limit=1e-4))
        assert late.over_limit
        assert late.answer is None

        wrong = nursery.measure(dataclasses.replace(task, p=0.5))
        assert "`p` must be a float >= 1" in wrong.error
        assert nursery.measure(task).answer is not None  # the next one is not disturbed
    assert nursery.process is None
