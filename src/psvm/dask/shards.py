"""Which blocks a task goes through: shards of a worker, as many as it has threads, or more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Bytes of a shard: a task costs the scheduler about a millisecond, and a pass over so many bytes some
# 50; and as a share of the memory that a thread has, since all blocks of a task are in memory at once.
_BYTES, _SHARE_OF_MEMORY = 2**28, 0.15


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

    The blocks of a worker are dealt out evenly to its threads, or to a multiple of them where shards
    would be too large.
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
