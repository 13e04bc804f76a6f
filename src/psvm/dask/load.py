"""From partitions to blocks in the memory of the cluster, checked, described and dealt out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dask.delayed import delayed
from distributed import Future

from psvm.dask.blocks import Described, Expected, as_sparse, check_partition, describe
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
        delayed(check_partition, pure=False)(
            k, expected, X, y, weight, dask_key_name=f"psvm-block-{cluster.fit}-{k}"
        )
        for k, (X, y, weight) in enumerate(zip(parts.X, parts.y, parts.weight, strict=True))
    ]
    told = [
        delayed(describe, pure=False)(
            block, expected, count, dask_key_name=f"psvm-describe-{cluster.fit}-{k}"
        )
        for k, block in enumerate(blocks)
    ]
    cluster.traffic.tasks += 2 * count
    futures = cluster.client.compute([*blocks, *told], retries=1)
    own, describing = futures[:count], futures[count:]
    cluster.owned += own
    began = time.monotonic()
    described = patiently(cluster, describing, own)
    cluster.cancel(describing)  # which would be done again whenever a worker is lost
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


def patiently(cluster: Cluster, futures: Sequence[Future], cancel: Sequence[Future]) -> list[Any]:
    """Results, though workers may go down: what went with them is tried again."""
    for attempt in range(MOST_RETRIES + 1):
        try:
            cluster.wait(futures, cancel=cancel, keep=attempt < MOST_RETRIES)
            return cluster.fetch(futures)
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
