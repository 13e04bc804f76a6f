"""A round over the shards: its sums are added up in a tree, and every wait for it has an end."""

import numpy as np
import pytest
from cluster_data import assert_same_fit, noisy_classes

from psvm import LinearPSVC

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from psvm.dask import ClusterError, DaskLinearPSVC  # noqa: E402
from psvm.dask import passes as module  # noqa: E402
from psvm.dask.cluster import Cluster, TasksLost  # noqa: E402
from psvm.dask.passes import ClusterPasses, add_tree  # noqa: E402
from psvm.dask.step import ShardSums  # noqa: E402
from psvm.solvers.linear.passes import Gram, RowsLost  # noqa: E402


def depth_of(key, tasks):
    """Tasks one after the other on the way to a key."""
    below = tasks[key].dependencies if key in tasks else ()
    return 0 if key not in tasks else 1 + max(depth_of(one, tasks) for one in below)


@pytest.mark.parametrize(
    ("workers", "depth", "last"),
    [(1, 1, 1), (8, 1, 8), (9, 2, 2), (12, 2, 2), (64, 2, 8), (65, 3, 2), (256, 3, 4), (600, 4, 2)],
)
def test_sums_are_added_up_in_a_tree(workers, depth, last):
    """Eight sums to a task, and eight at most for the client: a level for each factor of eight."""
    by_worker = {f"w{k}": [("step", 2 * k), ("step", 2 * k + 1)] for k in range(workers)}
    numbers, tasks, where = iter(range(10_000)), [], {}
    tops = add_tree(by_worker, tasks, where, lambda: f"sums-{next(numbers)}")
    assert len(tops) == last
    by_key = {task.key: task for task in tasks}
    assert {depth_of(top, by_key) for top in tops} == {depth}
    assert max(len(task.dependencies) for task in tasks) <= 8
    # Those of a worker are added up where they are, the others where Dask likes.
    assert sorted(where.values()) == sorted(by_worker)
    values = {
        ("step", k): ShardSums({0: [np.array([1.0, k])]}, set(), {k: f"w{k // 2}"})
        for k in range(2 * workers)
    }
    for task in tasks:
        values[task.key] = task({one: values[one] for one in task.dependencies})
    total = module.add_sums(*(values[top] for top in tops))
    assert np.array_equal(total.values[0][0], [2 * workers, workers * (2 * workers - 1)])
    assert total.where == {k: f"w{k // 2}" for k in range(2 * workers)}


@pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning")
@pytest.mark.parametrize("p", [1.0, 1.5])
def test_more_workers_than_the_client_listens_to(monkeypatch, p):
    """Twelve workers: the client is sent two sums, and the fit is the same."""
    seen = []

    def watched(by_worker, tasks, where, name):
        tops = add_tree(by_worker, tasks, where, name)
        seen.append((len(by_worker), len(tops)))
        return tops

    monkeypatch.setattr(module, "add_tree", watched)
    X, y = noisy_classes(1_800, 5, 3)
    options = {"n_workers": 12, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=False, **options) as cluster,
        distributed.Client(cluster),
    ):
        rows = da.from_array(X, chunks=(75, 5)), da.from_array(y, chunks=75)
        model = DaskLinearPSVC(p, C=0.1, tol=1e-9).fit(*rows)
    assert_same_fit(model, LinearPSVC(p, C=0.1, tol=1e-9).fit(X, y))
    assert seen[0] == (12, 2)
    assert all(last == (2 if workers > 8 else workers) for workers, last in seen)


class Rounds(ClusterPasses):
    """Passes whose rounds end as a test has it."""

    def __init__(self, ends):
        self.ends, self.tried = iter(ends), []
        super().__init__(Cluster(None), [], None, list)

    def welcome(self):
        pass

    def _try(self, orders, *, hints):
        self.tried.append(hints)
        end = next(self.ends)
        if isinstance(end, Exception):
            raise end
        return end


def test_rounds_that_are_lost_are_tried_again_a_few_times():
    """The second time wherever Dask likes, and with more patience each time."""
    done = ShardSums({0: ["gram"]}, set(), {})
    passes = Rounds([TasksLost("gone"), TasksLost("gone"), done])
    before = passes.cluster.paused, passes.cluster.stuck
    assert passes.answer({0: Gram()}) == {0: "gram"}
    assert passes.tried == [True, False, False]
    assert (passes.cluster.paused, passes.cluster.stuck) == (4 * before[0], 4 * before[1])
    hopeless = Rounds([TasksLost("gone")] * 99)
    with pytest.raises(TasksLost):
        hopeless.answer({0: Gram()})
    assert len(hopeless.tried) == 6


def test_states_are_built_anew_so_many_times_and_no_more():
    lost = ShardSums({}, {0}, {})
    passes = Rounds([lost] * 99)
    for _ in range(30):
        assert isinstance(passes.answer({0: Gram()})[0], RowsLost)
    with pytest.raises(ClusterError, match="lost their state 31 times"):
        passes.answer({0: Gram()})
