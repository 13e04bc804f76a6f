"""PSVCCV inside the backends of joblib: threads, processes, a dask cluster, limits of threads."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_val_score, cross_validate
from small_data import blobs, noisy
from threadpoolctl import threadpool_limits

from psvm import PSVCCV
from psvm.estimators.validation import check_threads

SMALL = {"ps": (1, 2), "Cs": (1.0, 10.0), "gammas": (0.05, 0.3), "cv": 3}


def assert_equal_results(search, other):
    """To the last digit: scores, support vectors, gaps, choice and held-out decisions."""
    assert search.cv_results_["params"] == other.cv_results_["params"]
    scores = [f"{what}_test_score" for what in ("mean", "std", "rank")]
    scores += [f"split{split}_test_score" for split in range(other.n_splits_)]
    for key in [*scores, "mean_n_support", "max_dual_gap"]:
        assert np.array_equal(search.cv_results_[key], other.cv_results_[key]), key
    assert search.best_params_ == other.best_params_
    assert np.array_equal(search.cross_val_decision_, other.cross_val_decision_)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_inside_a_joblib_backend(backend):
    """Searches in workers of a backend give what one gives by itself."""
    X, y = noisy(n=90)
    alone = cross_val_score(PSVCCV(**SMALL), X, y, cv=2)
    with joblib.parallel_config(backend, n_jobs=2):
        assert np.array_equal(cross_val_score(PSVCCV(**SMALL), X, y, cv=2), alone)


def test_threadpool_limits_are_kept():
    """Under a limit of one thread a search starts one worker, and the result is the same."""
    X, y = noisy(n=90)
    with threadpool_limits(1):
        assert check_threads(None) == 1
        limited = PSVCCV(**SMALL).fit(X, y)
    assert_equal_results(PSVCCV(**SMALL).fit(X, y), limited)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cannot choose its cores here")
@pytest.mark.parametrize("limit", ["affinity", "OMP_NUM_THREADS"])
def test_threads_are_those_that_the_process_may_use(limit):
    text = "from psvm.estimators.validation import check_threads as c; print(c(None), c(-1))"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    if limit == "affinity":
        text = f"import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); {text}"
    else:
        environment["OMP_NUM_THREADS"] = "1"
    said = subprocess.check_output([sys.executable, "-c", text], env=environment, text=True).split()
    assert said[0] == "1"
    assert said[1] == "1" or limit != "affinity"


# --- dask -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[False, True], ids=["threads", "processes"])
def cluster(request):
    """A cluster of two workers: threads of this process, or processes of their own."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=request.param, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_threads_are_those_of_this_machine(cluster):
    """Not the cores of the cluster, here and in its workers."""
    with joblib.parallel_config("dask"):
        assert [check_threads(n_jobs) for n_jobs in (1, 2, 3, -1)] == [1, 2, 3, joblib.cpu_count()]
        in_workers = joblib.Parallel(n_jobs=2)(joblib.delayed(check_threads)(3) for _ in range(2))
    assert in_workers == [3, 3]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_search_under_dask(cluster, kernel):
    X, y = blobs(n=150)
    alone = PSVCCV(**SMALL, kernel=kernel, n_jobs=1).fit(X, y)
    with joblib.parallel_config("dask"):
        search = PSVCCV(**SMALL, kernel=kernel, n_jobs=2).fit(X, y)
    assert_equal_results(search, alone)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_searches_in_dask_workers(cluster, make):
    """The rows reach a worker over the network, and the fitted search comes back."""
    X, y = noisy(n=2200, d=20)
    X[np.abs(X) < 0.5] = 0.0
    options = {"cv": 2, "return_estimator": True, "error_score": "raise"}
    search = PSVCCV((1, 2), (1.0, 10.0), (0.01, 0.03), cv=2, n_jobs=2)
    alone = cross_validate(search, make(X), y, **options)
    with joblib.parallel_config("dask"):
        found = cross_validate(search, make(X), y, n_jobs=2, **options)
    assert np.array_equal(found["test_score"], alone["test_score"])
    for one, other in zip(found["estimator"], alone["estimator"], strict=True):
        assert_equal_results(one, other)
        assert np.array_equal(one.predict_proba(make(X)), other.predict_proba(make(X)))
