"""What clusters do: workers are killed, paused, restarted and added; tasks and schedulers fail."""

import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from cluster_data import (
    assert_same_fit,
    assert_same_regression,
    noisy_classes,
    noisy_targets,
)

from psvm import LinearPSVC, LinearPSVR
from psvm.estimators import watch

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

import dask  # noqa: E402

from psvm.dask import ClusterError, DaskLinearPSVC, DaskLinearPSVR  # noqa: E402
from psvm.dask import cluster as cluster_module  # noqa: E402
from psvm.dask import sift as sift_module  # noqa: E402
from psvm.dask import solve as solve_module  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore:Sending large graph:UserWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


@contextmanager
def cluster_of(workers, **options):
    given = {"threads_per_worker": 1, "dashboard_address": ":0", **options}
    with (
        distributed.LocalCluster(n_workers=workers, processes=True, **given) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def rows(n=40_000, d=8, k=2, chunk=5_000, seed=0):
    X, y = noisy_classes(n, d, k, seed)
    return (X, y), (da.from_array(X, chunks=(chunk, d)), da.from_array(y, chunks=chunk))


def listening(model, at, action):
    """Do something once, in the round of this number."""
    seen = []

    def listen(round):
        seen.append(round)
        if len(seen) == at:
            action()

    with watch.listening(listen):
        return model()


def kill_one(client, number=0):
    """Kill a worker, and wait until the scheduler has noticed."""
    pids = client.run(os.getpid)
    address = sorted(pids)[number]
    os.kill(pids[address], signal.SIGKILL)
    return address


def wait_for_workers(client, count, without=(), seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        known = set(client.scheduler_info()["workers"])
        if len(known - set(without)) >= count and not known & set(without):
            return
        time.sleep(0.1)
    raise AssertionError("the workers did not come back")


@pytest.mark.parametrize("p", [pytest.param(1.0, marks=pytest.mark.slow), 1.5])
def test_a_worker_killed_in_the_middle_changes_nothing(p):
    """Small sets, solved by many rounds; the kill is between two of them."""
    (X, y), lazy = rows(2_000, 5, 3, 300)
    options = {"C": 0.1, "tol": 2e-11}
    local = LinearPSVC(p, **options).fit(X, y)
    with cluster_of(2) as client:
        model = listening(
            lambda: DaskLinearPSVC(p, **options).fit(*lazy), 7, lambda: kill_one(client)
        )
    assert_same_fit(model, local)
    assert model.traffic_["rebuilt"] >= 1
    # Nothing is replayed: the rounds after the loss are not those before it once more.
    assert model.traffic_["rebuilt"] <= 6


@pytest.mark.parametrize("p", [pytest.param(1.0, marks=pytest.mark.slow), 1.5])
def test_a_worker_killed_in_the_middle_of_a_regression_changes_nothing(p):
    X, y = noisy_targets(2_000, 5)
    lazy = da.from_array(X, chunks=(300, 5)), da.from_array(y, chunks=300)
    options = {"C": 0.1, "epsilon": 0.1, "quantile": 0.9, "tol": 1e-12}
    local = LinearPSVR(p, **options).fit(X, y)
    with cluster_of(2) as client:
        model = listening(
            lambda: DaskLinearPSVR(p, **options).fit(*lazy), 4, lambda: kill_one(client)
        )
    assert_same_regression(model, local)
    assert 1 <= model.traffic_["rebuilt"] <= 6


@pytest.mark.slow
def test_a_worker_that_joins_is_used():
    (X, y), lazy = rows(6_000, 6, 2, 500)
    options = {"C": 0.1, "tol": 1e-10}
    with cluster_of(1) as client:
        rounds, held = [], []

        def join(round):
            rounds.append(round)
            if len(rounds) == 3:
                client.cluster.scale(2)
                client.wait_for_workers(2, timeout=60)
                time.sleep(2.5)  # longer than between two looks
            elif len(rounds) in (6, 8):
                held.append(client.run(blocks_of).values())

        def blocks_of(dask_worker):
            return sum("psvm-block" in str(key) for key in dask_worker.data)

        with watch.listening(join):
            model = DaskLinearPSVC(1.0, **options).fit(*lazy)
        assert any(len(counts) == 2 and all(counts) for counts in held)
    assert model.traffic_["dealt_out"] == 2
    assert_same_fit(model, LinearPSVC(1.0, **options).fit(X, y))


@pytest.mark.slow
def test_a_paused_worker_is_passed_by(monkeypatch):
    monkeypatch.setattr(cluster_module, "PAUSED", 1.0)
    (X, y), lazy = rows(2_000, 5, 2, 300)
    options = {"C": 0.1, "tol": 1e-10}

    def pause(dask_worker):
        dask_worker.status = distributed.core.Status.paused

    with cluster_of(2, memory_limit=0) as client:
        first = sorted(client.scheduler_info()["workers"])[0]
        model = listening(
            lambda: DaskLinearPSVC(1.5, **options).fit(*lazy),
            3,
            lambda: client.run(pause, workers=[first]),
        )
    assert_same_fit(model, LinearPSVC(1.5, **options).fit(X, y))


@pytest.mark.slow
def test_workers_that_are_restarted():
    (X, y), lazy = rows(2_000, 5, 2, 300)
    options = {"C": 0.1, "tol": 1e-10}
    with cluster_of(2) as client:
        workers = sorted(client.scheduler_info()["workers"])
        model = listening(
            lambda: DaskLinearPSVC(1.5, **options).fit(*lazy),
            3,
            lambda: client.restart_workers(workers[:1]),
        )
    assert_same_fit(model, LinearPSVC(1.5, **options).fit(X, y))


# --- what ends a fit ------------------------------------------------------------------------------


def test_all_workers_gone(monkeypatch):
    """An error, soon; the estimator is as it was, and the last certified iterate is kept."""
    (X, y), lazy = rows(2_000, 5, 2, 300)
    with cluster_of(1) as client:
        model = DaskLinearPSVC(1.0, C=0.1, tol=1e-9, on_failure="keep")
        monkeypatch.setattr(cluster_module, "NO_WORKERS", 2.0)
        began = []

        def scale_down():
            began.append(time.monotonic())
            client.cluster.scale(0)

        with pytest.raises(ClusterError, match="no workers for 2 s"):
            listening(lambda: model.fit(*lazy), 20, scale_down)
        assert time.monotonic() - began[0] < 30
    assert not hasattr(model, "coef_")
    partial = model.partial_
    assert type(partial) is LinearPSVC
    best = LinearPSVC(1.0, C=0.1, tol=1e-9).fit(X, y)
    excess = partial.primal_objective_[0] / best.primal_objective_[0] - 1.0
    assert 0.0 <= excess <= partial.dual_gap_[0] / (1.0 - partial.dual_gap_[0])
    assert partial.predict(X).shape == y.shape


def test_all_workers_gone_while_rows_are_sifted(monkeypatch):
    """Many rows at p = 1: the client solves those near the margin, and each result is certified."""
    (X, y), lazy = rows(60_000, 10, 2, 9_000)
    gaps = []

    def not_this_way(solve, begins, stages):
        assert not begins, f"not solved by sifting: {gaps}"
        return {}

    monkeypatch.setattr(solve_module.ClusterSolve, "_newton", not_this_way)
    monkeypatch.setattr(sift_module, "_PER_DIGIT", 0.0)  # a band too narrow for this tol
    monkeypatch.setattr(sift_module, "_SHARE_OF_STEP", 0.25)
    monkeypatch.setattr(cluster_module, "NO_WORKERS", 2.0)
    with cluster_of(1) as client:
        model = DaskLinearPSVC(1.0, C=0.1, tol=1e-11, on_failure="keep")

        def scale_down(round):
            gaps.append(round.record["gap"])
            if len(gaps) == 3:  # the sample, a step, and the first band
                client.cluster.scale(0)

        with (
            watch.listening(scale_down),
            pytest.raises(ClusterError, match="no workers for 2 s"),
        ):
            model.fit(*lazy)
    assert not hasattr(model, "coef_")
    partial = model.partial_
    best = LinearPSVC(1.0, C=0.1, tol=1e-9).fit(X, y)
    # The solution of the first band, not of the sample.
    assert partial.dual_gap_[0] == pytest.approx(gaps[2], rel=0.1, abs=1e-8)
    excess = partial.primal_objective_[0] / best.primal_objective_[0] - 1.0
    assert -1e-9 <= excess <= partial.dual_gap_[0] / (1.0 - partial.dual_gap_[0])
    # Certificates on the way take no round trips of their own.
    with cluster_of(1):
        monkeypatch.undo()
        plain = DaskLinearPSVC(1.0, C=0.1, tol=1e-6).fit(*lazy)
        kept = DaskLinearPSVC(1.0, C=0.1, tol=1e-6, on_failure="keep").fit(*lazy)
    assert kept.traffic_["round_trips"] == plain.traffic_["round_trips"]
    assert kept.primal_objective_ == pytest.approx(plain.primal_objective_, rel=1e-9)
    assert not hasattr(kept, "partial_")


def test_what_is_kept_of_a_regression_is_in_the_units_of_y(monkeypatch):
    X, y = noisy_targets(2_000, 5)
    y = 100.0 * y
    lazy = da.from_array(X, chunks=(300, 5)), da.from_array(y, chunks=300)
    monkeypatch.setattr(cluster_module, "NO_WORKERS", 2.0)
    model = DaskLinearPSVR(1.0, C=0.1, tol=1e-9, on_failure="keep")
    with cluster_of(1) as client, pytest.raises(ClusterError, match="no workers for 2 s"):
        listening(lambda: model.fit(*lazy), 10, lambda: client.cluster.scale(0))
    partial = model.partial_
    assert type(partial) is LinearPSVR
    beyond = np.maximum(np.abs(y - partial.predict(X)) - 0.1, 0.0)
    primal = 0.5 * partial.coef_ @ partial.coef_ + 0.1 * beyond.sum()
    assert partial.primal_objective_[0] == pytest.approx(primal, rel=1e-9)
    best = LinearPSVR(1.0, C=0.1, tol=1e-9).fit(X, y).primal_objective_[0]
    assert (primal - best) / primal <= partial.dual_gap_[0] < 1.0


@pytest.mark.slow
def test_a_scheduler_that_is_lost():
    _, lazy = rows(2_000, 5, 2, 300)
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0")
    client = distributed.Client(cluster, timeout=2)
    try:
        with pytest.raises(ClusterError):
            listening(lambda: DaskLinearPSVC(1.0, tol=1e-9).fit(*lazy), 5, cluster.close)
    finally:
        client.close(timeout=1)
        cluster.close(timeout=5)


@pytest.mark.slow
def test_all_futures_cancelled(client):
    """As by ``client.restart()``, or by another client."""
    _, lazy = rows(2_000, 5, 2, 300)

    def cancel():
        blocks = [key for key in client.futures if "psvm-block" in str(key)]
        client.cancel([distributed.Future(key, client) for key in blocks], force=True)

    with pytest.raises(ClusterError, match="cancelled"):
        listening(lambda: DaskLinearPSVC(1.0, tol=1e-9).fit(*lazy), 3, cancel)


def test_a_task_that_raises_names_its_partition(client):
    X, y = noisy_classes(900, 4)

    def broken():
        raise ValueError("the disk is gone")

    parts = [dask.delayed((X, y)), dask.delayed(broken)()]
    with pytest.raises(ValueError, match="the disk is gone") as caught:
        DaskLinearPSVC().fit(parts)
    assert caught.value.__notes__ == ["while partition 1 was read"]
    parts = [dask.delayed((X, y)), dask.delayed((X, y, X))]
    with pytest.raises(ValueError, match="partition 1: `sample_weight`"):
        DaskLinearPSVC().fit(parts)


def slow_rows(seconds):
    X, y = noisy_classes(300, 4)

    def slow(k):
        time.sleep(seconds)
        return X, y

    return [dask.delayed(slow)(k) for k in range(6)]


def test_an_interrupt_cancels_what_runs(client):
    def interrupt():
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    before = set(client.futures)
    thread.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        DaskLinearPSVC().fit(slow_rows(4))
    assert time.monotonic() - began < 2.5
    thread.join()
    time.sleep(0.3)
    assert not [key for key in set(client.futures) - before if "psvm" in str(key)]


def test_max_time_cancels_what_runs(client):
    began = time.monotonic()
    with pytest.raises(ClusterError, match="max_time = 1 s were over"):
        DaskLinearPSVC(max_time=1.0).fit(slow_rows(4))
    assert time.monotonic() - began < 2.5


def test_max_time_in_the_middle_keeps_the_best_iterate(client):
    """A round that takes long: it is cancelled, and what was found before is the result."""
    _, lazy = rows(2_000, 5, 2, 300)
    # Tasks of other tests that were cancelled may still sleep.
    distributed.wait(client.map(lambda k: k, range(4), pure=False), timeout=60)
    began = time.monotonic()
    model = listening(
        lambda: DaskLinearPSVC(1.0, C=0.1, tol=1e-9, max_time=3.0).fit(*lazy),
        4,
        lambda: time.sleep(max(0.0, 3.1 - (time.monotonic() - began))),
    )
    assert time.monotonic() - began < 5.0
    assert model.status_[0].name == "MAX_TIME"
    assert np.isfinite(model.coef_).all()


def test_nothing_is_left_behind(client):
    _, lazy = rows(2_000, 5, 2, 300)
    DaskLinearPSVC(2.0).fit(*lazy)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        kept = client.run(lambda dask_worker: [str(key) for key in dask_worker.data])
        if not any("psvm" in key for keys in kept.values() for key in keys):
            return
        time.sleep(0.2)
    raise AssertionError(kept)


# --- slow -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_workers_killed_at_random_moments():
    """Twenty fits, a worker killed in each: all equal."""
    (X, y), lazy = rows(200_000, 10, 3, 15_000)
    random.seed(0)
    local = {p: LinearPSVC(p, C=0.1, tol=1e-10).fit(X, y) for p in (1.0, 1.5, 2.0, 3.0)}
    lost = 0
    for fit in range(20):
        p = (1.0, 1.5, 2.0, 3.0)[fit % 4]
        with cluster_of(2) as client, ThreadPoolExecutor(1) as pool:

            def kill(client=client):
                time.sleep(random.uniform(0.0, 0.1))
                return kill_one(client, random.randrange(2))

            model = listening(
                lambda p=p: DaskLinearPSVC(p, C=0.1, tol=1e-10).fit(*lazy),
                random.randrange(2, 8),
                lambda pool=pool, kill=kill: pool.submit(kill),
            )
            lost += model.traffic_["rebuilt"] > 0
        assert_same_fit(model, local[p], gap=1e-9)
    assert lost >= 3


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_kills_on_one_cluster():
    """Fits on the same cluster, a worker killed in each: none hangs, all are equal.

    A LocalCluster looks after a worker that was killed 15 s later, and closes it for good if it is
    not there at that moment, for instance because it was killed again. Here it never does.
    """
    (X, y), lazy = rows(100_000, 10, 3, 7_500)
    rng = random.Random(1)
    ps = 1.0, 1.5, 2.0, 3.0
    local = {p: LinearPSVC(p, C=0.1, tol=1e-10).fit(X, y) for p in ps}
    seconds = []
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with patient, cluster_of(2) as client:
        for fit in range(8):
            p, at, delay = ps[fit % 4], rng.randrange(1, 10), rng.uniform(0.0, 0.3)

            def kill(delay=delay):
                time.sleep(delay)
                return kill_one(client, rng.randrange(len(client.scheduler_info()["workers"])))

            began = time.monotonic()
            with ThreadPoolExecutor(1) as pool:
                model = listening(
                    lambda p=p: DaskLinearPSVC(p, C=0.1, tol=1e-10).fit(*lazy),
                    at,
                    lambda pool=pool, kill=kill: pool.submit(kill),
                )
            seconds.append(time.monotonic() - began)
            assert_same_fit(model, local[p], gap=1e-9)
    assert max(seconds) < 60.0, seconds


@pytest.mark.slow
def test_memory_so_low_that_it_spills():
    """Blocks and states beyond a tenth of a worker's memory go to its disk, and come back."""
    X = da.random.default_rng(0).normal(size=(600_000, 30), chunks=(30_000, 30))
    y = X[:, 0] - X[:, 1] + da.random.default_rng(1).normal(size=600_000, chunks=30_000) > 0
    limits = {
        "distributed.worker.memory.target": 0.1,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
    }
    spilled = []

    def look():
        spilled.extend(client.run(lambda dask_worker: len(dask_worker.data.slow)).values())

    with dask.config.set(limits), cluster_of(2, memory_limit="600MB") as client:
        fit = DaskLinearPSVC(1.5, C=0.1, tol=1e-8).fit
        model = listening(lambda: fit(X, y), 2, look)
        assert min(spilled) > 0
        local = LinearPSVC(1.5, C=0.1, tol=1e-8).fit(*dask.compute(X, y))
    assert model.primal_objective_ == pytest.approx(local.primal_objective_, rel=1e-7)
    assert model.traffic_["rebuilt"] == 0


@pytest.mark.slow
def test_several_threads_in_a_worker():
    (X, y), lazy = rows(60_000, 10, 3, 4_000)
    with cluster_of(1, threads_per_worker=3):
        model = DaskLinearPSVC(1.5, C=0.1, tol=1e-10).fit(*lazy)
    assert_same_fit(model, LinearPSVC(1.5, C=0.1, tol=1e-10).fit(X, y), within=2e-6, gap=1e-9)
