"""From partitions to blocks in the memory of the cluster, checked, described and dealt out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dask._task_spec import Task
from dask.delayed import delayed
from distributed import Future

from psvm.dask.blocks import Described, Expected, as_sparse, described_block, descriptions
from psvm.dask.cluster import MOST_RETRIES, Cluster, ClusterError, TasksLost, pickled_bytes
from psvm.dask.inputs import Parts
from psvm.dask.shards import Shard, evened, shards_of
from psvm.estimators import validation as check


@dataclass(frozen=True)
class Loaded:
    """Blocks that hold rows, and what is known of them."""

    blocks: list[Future]
    described: list[Described]

    @property
    def features(self) -> int:
        """Columns of X."""
        return self.described[0].features


def load(cluster: Cluster, parts: Parts, expected: Expected) -> Loaded:
    """Read every partition once; what is wrong with one is an error that names it."""
    count = len(parts)
    blocks = [
        delayed(described_block, pure=False)(
            expected, count, k, X, y, weight, dask_key_name=f"psvm-block-{cluster.fit}-{k}"
        )
        for k, (X, y, weight) in enumerate(zip(parts.X, parts.y, parts.weight, strict=True))
    ]
    cluster.traffic.tasks += count
    own = cluster.client.compute(blocks, retries=1)
    cluster.owned += own
    began = time.monotonic()
    _patiently(cluster, own, cluster.wait)
    described = _descriptions(cluster, own)
    cluster.traffic.seconds_loading += time.monotonic() - began
    cluster.traffic.bytes_sampled += pickled_bytes(described)
    full = [k for k, one in enumerate(described) if one.rows]
    if not full:
        raise ValueError(f"X must have at least one row, got {count} empty partitions.")
    first = described[full[0]]
    for k in full:
        if described[k].features != first.features:
            raise ValueError(
                f"partition {k}: X has {described[k].features} features, partition {full[0]} "
                f"{first.features}."
            )
    check.check_range(max(described[k].largest for k in full))
    kept = [own[k] for k in full]
    if any(described[k].sparse for k in full) and not all(described[k].sparse for k in full):
        kept = cluster.client.map(as_sparse, kept, pure=False)
        cluster.owned += kept
    return Loaded(kept, [described[k] for k in full])


def _descriptions(cluster: Cluster, blocks: Sequence[Future]) -> list[Described]:
    """What the blocks say of themselves, by one task on each worker: there may be many blocks."""
    by_worker: dict[str | None, list[int]] = {}
    for k, worker in enumerate(cluster.holders(blocks)):
        by_worker.setdefault(worker, []).append(k)
    tasks, where = [], {}
    for worker, numbers in by_worker.items():
        name = cluster.name("describe")
        tasks.append(Task(name, descriptions, *(blocks[k] for k in numbers)))
        where[name] = worker
    cluster.traffic.tasks += len(tasks)
    futures = list(cluster.submit(tasks, where, [task.key for task in tasks]).values())
    found: list[Any] = [None] * len(blocks)
    for numbers, told in zip(by_worker.values(), patiently(cluster, futures, blocks), strict=True):
        for k, one in zip(numbers, told, strict=True):
            found[k] = one
    cluster.cancel(futures)  # which would be done again whenever a worker is lost
    return found


def patiently(cluster: Cluster, futures: Sequence[Future], cancel: Sequence[Future]) -> list[Any]:
    """Results, though workers may go down: what went with them is tried again."""

    def results(futures: Sequence[Future], **options: Any) -> list[Any]:
        cluster.wait(futures, **options)
        return cluster.fetch(futures)

    return list(_patiently(cluster, futures, results, cancel))


def _patiently(
    cluster: Cluster,
    futures: Sequence[Future],
    wait: Callable[..., Any],
    cancel: Sequence[Future] = (),
) -> Any:
    """What a wait for futures gives, though workers may go down."""
    for attempt in range(MOST_RETRIES + 1):
        try:
            return wait(futures, cancel=cancel, keep=attempt < MOST_RETRIES)
        except TasksLost:
            lost = [one for one in (*futures, *cancel) if one.status == "error"]
            if attempt == MOST_RETRIES or not lost:
                raise
            cluster.retry(lost)
    raise ClusterError("unreachable")  # pragma: no cover


def deal_out(cluster: Cluster, loaded: Loaded) -> list[Shard]:
    """Shards of the blocks, on the workers that hold them as far as these hold their share."""
    sizes = [one.nbytes for one in loaded.described]
    workers = cluster.workers()
    held = evened(sizes, cluster.holders(loaded.blocks), workers)
    return shards_of(sizes, held, workers, cluster.memory_limit())
