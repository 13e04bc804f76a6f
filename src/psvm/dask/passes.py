"""The rows on a cluster that answer the Newton loop: one round trip for the orders of all problems.

A round is one graph: a step for every shard, where the state of the shard is; the sums of the
shards of a worker added up there; those of many workers added up in a tree. ``Keep`` waits for the
next round, as its answer is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from dask._task_spec import Task, TaskRef
from distributed import Future

from psvm.dask.cluster import MOST_RETRIES, Cluster, ClusterError, TasksLost, pickled_bytes
from psvm.dask.shards import Shard
from psvm.dask.step import Fill, Setup, ShardOrder, ShardSums, Ticket, add_sums, step
from psvm.solvers.linear.passes import Active, Gram, Keep, Order, Pass, RowsLost

# Workers whose sums the client fetches as they are; of more, so many are added up by a task.
_FAN_IN = 8
# Bytes of orders that travel with every task; larger ones are a task of their own, of which workers
# take copies from each other.
_INLINE = 2**16
# Seconds between two looks for workers that have joined, and times that blocks are dealt out.
_LOOK, _MOST_DEALS = 2.0, 6
# Times that rows may lose their state in one fit before it is given up.
MOST_REBUILDS = 30


def given(value: Any) -> Any:
    """A value as a task."""
    return value


@dataclass
class ClusterPasses:
    """The rows of some problems, in shards on a cluster."""

    cluster: Cluster
    blocks: Sequence[Future]
    setup: Setup
    deal_out: Callable[[], list[Shard]]
    shards: list[Shard] = field(default_factory=list)
    states: dict[int, Future] = field(default_factory=dict)  # the last step of each shard
    number: int = 0  # of the last round
    where: dict[int, str | None] = field(default_factory=dict)
    waiting: dict[int, Keep | Fill] = field(default_factory=dict)  # for the next round
    last_seconds: float = 0.0
    workers: set[str] = field(default_factory=set)
    looked: float = -np.inf

    def __post_init__(self) -> None:
        self.welcome()

    def welcome(self) -> None:
        """Deal the blocks out anew where workers have joined; their rows then begin again."""
        now = time.monotonic()
        if now - self.looked < _LOOK:
            return
        self.looked, workers = now, set(self.cluster.workers())
        if workers - self.workers and self.cluster.traffic.dealt_out < _MOST_DEALS:
            shards = self.deal_out()
            if shards != self.shards:
                self.cluster.cancel(list(self.states.values()))
                self.shards, self.states, self.where = shards, {}, {}
                self.cluster.traffic.dealt_out += 1
            self.workers |= workers

    def answer(self, orders: Mapping[int, Order]) -> dict[int, Any]:
        """Answer one order for each of some problems; RowsLost where rows do not know any more."""
        asked: dict[int, list[ShardOrder]] = {}
        for t, order in orders.items():
            if isinstance(order, Keep):
                self.waiting[t] = order  # only the last alpha kept counts
            else:
                asked[t] = [order]
        found = self.ask(asked) if asked else {}
        return {t: last_answer(found.get(t)) for t in orders}

    def ask(self, orders: Mapping[int, Sequence[ShardOrder]]) -> dict[int, Any]:
        """The answers to all orders of every problem, in one round; or RowsLost."""
        self.welcome()
        first = {t: [self.waiting.pop(t)] for t in orders if t in self.waiting}
        sums = self._round({t: [*first.get(t, ()), *own] for t, own in orders.items()})
        if sums.lost:
            traffic = self.cluster.traffic
            traffic.rebuilt += 1
            if traffic.rebuilt > MOST_REBUILDS:
                raise ClusterError(
                    f"Rows have lost their state {traffic.rebuilt} times in this fit: the workers "
                    f"come and go faster than it gets on."
                )
        answers: dict[int, Any] = {
            t: values[len(first.get(t, ())) :] for t, values in sums.values.items()
        }
        return {**answers, **{t: RowsLost() for t in sums.lost}}

    def _round(self, orders: Mapping[int, Sequence[ShardOrder]]) -> ShardSums:
        for attempt in range(MOST_RETRIES + 1):
            try:
                return self._try(orders, hints=attempt == 0)
            except TasksLost:
                if attempt == MOST_RETRIES:
                    raise
                self._revive()
                # What has to move takes its time.
                self.cluster.paused *= 2.0
                self.cluster.stuck *= 2.0
        raise AssertionError

    def _revive(self) -> None:
        """Blocks that went down with their workers are made again."""
        failed = [block for block in self.blocks if block.status == "error"]
        gone = [block for block in self.blocks if block.status == "cancelled"]
        if gone:
            raise ClusterError(
                f"{len(gone)} of {len(self.blocks)} blocks were cancelled, by a restart of the "
                f"cluster or by another client; fit again."
            )
        if failed:
            self.cluster.retry(failed)

    def _try(self, orders: Mapping[int, Sequence[ShardOrder]], *, hints: bool) -> ShardSums:
        cluster = self.cluster
        begins = any(_begins(one) for own in orders.values() for one in own)
        setup = self.setup if begins else None
        what = _name_of(orders)
        name = cluster.name(what)
        size = pickled_bytes((dict(orders), setup))
        tasks, where = [], {}
        orders_or_key: Any = dict(orders)
        if size > _INLINE:
            key = cluster.name("orders")
            tasks.append(Task(key, given, dict(orders)))
            orders_or_key = TaskRef(key)
        by_worker: dict[str | None, list[Any]] = {}
        keys = {}
        for k, shard in enumerate(self.shards):
            previous = self.states[k].key if hints and k in self.states else None
            ticket = Ticket(k, self.number + 1, previous, shard.blocks)
            own = keys[k] = (name, k)
            blocks = [self.blocks[block] for block in shard.blocks]
            tasks.append(Task(own, step, ticket, setup, orders_or_key, *blocks))
            where[own] = self.where.get(k, shard.worker) if hints else None
            by_worker.setdefault(where[own], []).append(own)
        tops = add_tree(by_worker, tasks, where, partial(cluster.name, "sums"))
        cluster.traffic.tasks += len(tasks)
        cluster.traffic.bytes_broadcast += size * (
            len(self.shards) if size <= _INLINE else len(by_worker)
        )
        began = time.monotonic()
        futures = cluster.submit(tasks, where, [*keys.values(), *tops])
        states = {k: futures[key] for k, key in keys.items()}
        cluster.wait([futures[key] for key in tops], cancel=list(states.values()), again=True)
        parts = cluster.fetch([futures[key] for key in tops])
        sums = add_sums(*parts)
        traffic = cluster.traffic
        traffic.bytes_summed += sum(pickled_bytes(part) for part in parts)
        slowest = max(sums.seconds.values(), default=0.0)
        if what == "gram":
            traffic.seconds_of_grams += slowest
            traffic.gram_round_trips += 1
        else:
            traffic.seconds_of_passes += slowest
        self.states, self.where = states, dict(sums.where)
        self.number += 1
        self.last_seconds = time.monotonic() - began
        return sums

    def reserve(self) -> float:
        """Seconds that the rest of a fit is likely to take: a pass."""
        return 2.0 * self.last_seconds


def add_tree(
    by_worker: Mapping[str | None, list[Any]],
    tasks: list[Task],
    where: dict[Any, str | None],
    name: Callable[[], Any],
) -> list[Any]:
    """Add tasks that add up the sums, on every worker and then in a tree; the keys of the last.

    These are ``_FAN_IN`` at most, and as many sums go into one task.
    """
    level = []
    for worker, keys in by_worker.items():
        key = name()
        tasks.append(Task(key, add_sums, *(TaskRef(one) for one in keys)))
        where[key] = worker
        level.append(key)
    while len(level) > _FAN_IN:
        above = []
        for first in range(0, len(level), _FAN_IN):
            key = name()
            own = level[first : first + _FAN_IN]
            tasks.append(Task(key, add_sums, *(TaskRef(one) for one in own)))
            above.append(key)
        level = above
    return level


def last_answer(answer: Any) -> Any:
    """The answer to the last of the orders of a problem; RowsLost and None as they are."""
    return answer[-1] if isinstance(answer, list) else answer


def _begins(order: ShardOrder) -> bool:
    return isinstance(order, Pass) and order.kind == "begin"


def _name_of(orders: Mapping[int, Sequence[ShardOrder]]) -> str:
    """What the dashboard calls a round."""
    all_orders: Iterable[ShardOrder] = (one for own in orders.values() for one in own)
    return "gram" if any(isinstance(one, Gram | Active) for one in all_orders) else "pass"
