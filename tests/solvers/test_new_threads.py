"""A thread that cannot start is an error that says why, and what to do."""

import threading

import numpy as np
import pytest

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.solvers.new_threads import starting_threads

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(90, 4)), np.arange(90) % 3

FITS = {
    "kernel": lambda: PSVC(C=np.inf, gamma=10.0, n_jobs=2).fit(X, Y),
    "descent": lambda: LinearPSVC(solver="coordinate_descent", n_jobs=2).fit(X, Y),
    "search": lambda: PSVCCV([1.5], [1.0], [1.0], cv=2, n_jobs=2).fit(X, Y),
}


@pytest.fixture(params=[0, 1], ids=["not one", "only one"])
def few_threads(request, monkeypatch):
    """As under RLIMIT_NPROC, which does not bind a superuser."""
    start, started = threading.Thread.start, []

    def start_few(self):
        if len(started) >= request.param:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", start_few)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("fit", FITS.values(), ids=FITS.keys())
def test_the_cause_is_told(few_threads, fit):
    with pytest.raises(RuntimeError, match=r"no further thread \(can't start.*`n_jobs`") as caught:
        fit()
    assert str(caught.value.__cause__) == "can't start new thread"


def test_other_errors_are_not_touched():
    with pytest.raises(ValueError, match="other"), starting_threads():
        raise ValueError("other")
