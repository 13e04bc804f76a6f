"""Which blocks a task goes through: shards of a worker, as many as it has threads, or more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Bytes of a shard: a task costs the scheduler about a millisecond, and a pass over so many bytes
# some 200; and as a share of the memory that a thread has, since all blocks of a task are in memory
# at once.
_BYTES, _SHARE_OF_MEMORY = 2**30, 0.15


@dataclass(frozen=True)
class Shard:
    """Blocks by their places in the list of blocks, and the worker that has them."""

    blocks: tuple[int, ...]
    worker: str | None


def shards_of(
    sizes: Sequence[int],
    holders: Sequence[str | None],
    threads: Mapping[str, int],
    memory: float,
) -> list[Shard]:
    """Shards of blocks of so many bytes that lie on these workers.

    The blocks of a worker are dealt out evenly to its threads, or to a multiple of them where
    shards would be too large.
    """
    limit = min(_BYTES, _SHARE_OF_MEMORY * memory)
    by_worker: dict[str | None, list[int]] = {}
    for block, holder in enumerate(holders):
        by_worker.setdefault(holder, []).append(block)
    shards = []
    for worker, blocks in by_worker.items():
        own = max(threads.get(worker or "", 1), 1)
        total = sum(sizes[block] for block in blocks)
        rounds = max(1, -(-int(total) // max(int(limit * own), 1)))
        for part in dealt([sizes[block] for block in blocks], own * rounds):
            shards.append(Shard(tuple(sorted(blocks[k] for k in part)), worker))
    return shards


def evened(
    sizes: Sequence[int], holders: Sequence[str | None], threads: Mapping[str, int]
) -> list[str | None]:
    """Workers for the blocks: those that hold them, but for blocks of workers that hold too many.

    A worker's share is that of its threads; it may hold a block more than that.
    """
    if not threads:
        return list(holders)
    total, all_threads = sum(sizes), sum(threads.values())
    share = {worker: total * own / all_threads for worker, own in threads.items()}
    load = dict.fromkeys(threads, 0)
    placed: list[str | None] = [None] * len(sizes)
    for block in sorted(range(len(sizes)), key=lambda block: -sizes[block]):
        holder = holders[block]
        if holder in load and load[holder] + 0.5 * sizes[block] <= share[holder]:
            placed[block] = holder
            load[holder] += sizes[block]
    for block, worker in enumerate(placed):
        if worker is None:
            emptiest = min(load, key=lambda one: load[one] / share[one])
            placed[block] = emptiest
            load[emptiest] += sizes[block]
    return placed


def dealt(sizes: Sequence[int], hands: int) -> list[list[int]]:
    """Things of these sizes in as many hands of about the same sum; no hand is empty."""
    hands = min(hands, len(sizes))
    parts: list[list[int]] = [[] for _ in range(hands)]
    sums = [0] * hands
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        lightest = min(range(hands), key=lambda part: (sums[part], len(parts[part])))
        parts[lightest].append(k)
        sums[lightest] += sizes[k]
    return [sorted(part) for part in parts]
