"""Every wait has an end, and says why it ended; what is awaited is asked of the right client."""

import ast
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cluster_data import noisy_classes

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from psvm.dask import ClusterError, DaskLinearPSVC  # noqa: E402
from psvm.dask import cluster as module  # noqa: E402
from psvm.dask.cluster import Cluster, TasksLost, pickled_bytes  # noqa: E402
from psvm.solvers.ledger import OutOfTime  # noqa: E402


class Clock:
    """Stands for the time module: seconds pass when told to."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def watched(monkeypatch):
    """A cluster that says what the test wants it to say, and a clock."""
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    cluster = Cluster(SimpleNamespace(status="running"))
    cluster.known = lambda: cluster.says
    cluster.says = {"a": {"status": "running"}, "b": {"status": "running"}}
    cluster.clock = clock
    return cluster


def still_after(cluster, seconds, **options):
    """What a vigil says when nothing has moved for so many seconds."""
    futures = [SimpleNamespace(status="pending"), SimpleNamespace(status="finished")]
    vigil = module._Vigil(cluster, futures, cluster.clock.now, **options)
    vigil.look()
    cluster.clock.now += seconds
    vigil.look()


@pytest.mark.parametrize(
    ("change", "seconds", "error", "message"),
    [
        ({}, 899.0, None, None),
        ({}, 901.0, ClusterError, "Nothing has moved on the cluster for 900 s"),
        ({"says": {}}, 59.0, None, None),
        ({"says": {}}, 61.0, ClusterError, "no workers for 60 s"),
        ({"seconds_left": lambda: -0.1}, 0.0, OutOfTime, None),
        ({"seconds_left": lambda: -0.1, "grace": 0.5}, 1.0, None, None),
        ({"client": SimpleNamespace(status="connecting")}, 0.0, ClusterError, "scheduler is lost"),
    ],
)
def test_what_ends_a_wait(watched, change, seconds, error, message):
    for name, value in change.items():
        setattr(watched, name, value)
    if error is None:
        still_after(watched, seconds)
    else:
        with pytest.raises(error, match=message):
            still_after(watched, seconds)


def test_what_is_stuck_or_on_a_paused_worker_is_lost(watched):
    still_after(watched, 61.0)  # reading a block may take that long
    with pytest.raises(TasksLost, match="for 60 s"):
        still_after(watched, 61.0, stuck=60.0)
    watched.says = {"a": {"status": "paused"}, "b": {"status": "running"}}
    still_after(watched, 4.0)
    with pytest.raises(TasksLost, match="1 of 2 workers are paused"):
        still_after(watched, 6.0)
    watched.says = {"a": {"status": "paused"}}
    still_after(watched, 6.0)  # who else should do it?


def test_a_worker_that_comes_or_a_task_that_is_done_is_motion(watched):
    futures = [SimpleNamespace(status="pending") for _ in range(3)]
    vigil = module._Vigil(watched, futures, 0.0, stuck=60.0)
    for change in (
        lambda: setattr(futures[0], "status", "finished"),
        lambda: watched.says.update(c={"status": "running"}),
        lambda: watched.says.pop("a"),
    ):
        watched.clock.now += 50.0
        change()
        vigil.look()
    watched.clock.now += 61.0
    with pytest.raises(TasksLost):
        vigil.look()


# What waits, and what gives it an end; methods of a client that wait without one.
ENDS = {
    "sync": {"timeout", "callback_timeout"},
    "result": {"timeout"},
    "exception": {"timeout"},
    "wait": {"timeout", "cancel", "again"},  # the latter two are Cluster.wait
}
ENDLESS = {"gather", "scheduler_info", "wait_for_workers", "who_has", "restart", "run"}


@pytest.mark.parametrize(
    "path", sorted(Path(module.__file__).parent.glob("*.py")), ids=lambda path: path.name
)
def test_every_call_that_waits_says_for_how_long(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        name, on = node.func.attr, ast.unparse(node.func.value)
        given = {one.arg for one in node.keywords}
        where = f"{path.name}:{node.lineno}: {ast.unparse(node)}"
        if name in ENDS and on not in ("self", "cluster"):
            assert given & ENDS[name] or (name == "result" and node.args), where
        assert name not in ENDLESS or "scheduler" in on, where


# --- on a cluster ---------------------------------------------------------------------------------


def test_a_scheduler_that_does_not_answer(client):
    async def never():
        await module.asyncio.sleep(60)

    began = time.monotonic()
    with pytest.raises(OutOfTime):
        Cluster(client, lambda: began + 0.3 - time.monotonic()).ask(never)
    assert time.monotonic() - began < 3.0


def test_a_fetch_ends_with_the_seconds_of_the_fit(client):
    """Also where a result has to be computed once more: Dask itself would wait without end."""
    slow = client.submit(time.sleep, 20, pure=False)
    began = time.monotonic()
    cluster = Cluster(client, lambda: began + 1.0 - time.monotonic())
    with pytest.raises(OutOfTime):
        cluster.fetch([slow])
    assert time.monotonic() - began < 3.0
    cluster.cancel([slow])


def test_a_fetch_of_what_was_cancelled(client):
    slow = client.submit(time.sleep, 5, pure=False)
    client.cancel([slow])
    with pytest.raises(TasksLost, match="cancelled"):
        Cluster(client).fetch([slow])


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://10.1.2.3:80", "inproc://a/1/2"])
def test_no_neighbour(address):
    """Nobody listens, another machine, no address to call."""
    assert not module._is_neighbour(address)


def test_results_of_neighbours_do_not_go_through_the_scheduler(client, monkeypatch):
    gather, ways = client._gather, []

    def seen(futures, direct):
        ways.append(direct)
        return gather(futures, direct=direct)

    monkeypatch.setattr(client, "_gather", seen)
    cluster = Cluster(client)
    three = client.submit(sum, [1, 2], pure=False)
    assert cluster.results([three]) == [3]  # workers are not known yet
    cluster.workers()
    assert cluster.results([three]) == [3]
    monkeypatch.setattr(module, "_is_neighbour", lambda address: False)
    cluster = Cluster(client)
    cluster.workers()
    assert cluster.results([three]) == [3]
    assert ways == [False, True, False]


def test_a_result_that_is_lost_with_a_neighbour_is_asked_of_the_scheduler(client, monkeypatch):
    """Its worker would be called for half a minute."""

    async def gather(futures, direct):
        if direct:
            await module.asyncio.sleep(60)
        return [5]

    monkeypatch.setattr(client, "_gather", gather)
    cluster = Cluster(client)
    cluster.workers()
    assert cluster.direct
    began = time.monotonic()
    assert cluster.fetch([SimpleNamespace(key="gone", status="lost")]) == [5]
    assert time.monotonic() - began < 10.0


def test_not_the_default_client(client, monkeypatch):
    """Everything is asked of the client given, also where there is no default."""
    X, y = noisy_classes(900, 4)
    rows = da.from_array(X, chunks=(300, 4)), da.from_array(y, chunks=300)

    def none(*_):
        raise ValueError("No clients found")

    with distributed.Client(client.scheduler.address, set_as_default=False) as own:
        monkeypatch.setattr(distributed.client, "default_client", none)
        monkeypatch.setattr(distributed, "default_client", none)
        model = DaskLinearPSVC(2.0, client=own).fit(*rows)
    assert model.dual_gap_[0] <= 1e-4


def test_bytes_are_those_that_travel():
    values = np.zeros(1000), {"a": np.ones((10, 10))}
    assert 8800 < pickled_bytes(values) < 9500
