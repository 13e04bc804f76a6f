"""A Dask cluster as the solver sees it: graphs in, results out, and every wait has an end.

A fit waits for tasks in :meth:`Cluster.wait`, for their results in :meth:`Cluster.fetch`, and for
the scheduler's word in :meth:`Cluster.ask`; nowhere else. The first two end with what they wait
for, or at an interrupt, at the limit of seconds, when a task fails, when there are no workers or
there is no scheduler any more, and when nothing has moved for a long time (:class:`_Vigil`); then
what was submitted is cancelled. The last ends after half a minute.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import distributed
import numpy as np
from dask._task_spec import Task
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import Client, Future
from distributed.client import _wait as wait_for_futures
from distributed.comm import get_address_host_port

from psvm.solvers.ledger import OutOfTime

# Seconds between two looks at the clock and the workers while results are awaited.
_LOOK = 0.2
# Seconds without any worker, and without anything that moves (a result, a worker that comes or
# goes), after which a fit is given up. A block takes a fraction of a second; what lasts is reading
# it.
NO_WORKERS, NO_MOTION = 60.0, 900.0
# Seconds without anything that moves after which a round is submitted anew: to the workers that are
# not paused, where some are, and to all. Twice as many after each such time. (A round takes seconds
# at most, but blocks that were lost may have to be read again first.)
PAUSED, STUCK = 5.0, 60.0
# Seconds to wait for the scheduler itself, and for its word that tasks are cancelled.
_ANSWER, _CANCELLED = 30.0, 0.5
# Seconds for a worker on this machine to take a call.
_CALL = 0.2
# Times that tasks which went down with their worker are submitted again, in a row.
MOST_RETRIES = 5


CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


class ClusterError(RuntimeError):
    """The cluster has let a fit down. The message says what happened."""


class TasksLost(ClusterError):
    """Tasks were cancelled or have gone down with their workers."""


@dataclass
class Traffic:
    """What a fit has sent.

    Round trips and tasks are counted. Bytes are those of what psvm sends, pickled, times the number
    of receivers; Dask's own messages (two to three kilobytes for every task) and what workers take
    from each other are not among them.

    Attributes
    ----------
    round_trips : int
        Times the client has waited for the workers.
    tasks : int
        Tasks submitted.
    bytes_broadcast : int
        Bytes of the orders, once for every task they went to; of large ones once for every worker.
    bytes_summed : int
        Bytes of the sums that the client was sent; those that workers send each other to be added
        up are not counted. At p = 1 the rows near the margin are among them.
    bytes_sampled : int
        Bytes of rows that the client was sent before: a look at some, and the sample.
    rebuilt : int
        Times that rows had lost their state and the solver began again from the accepted (w, b).
    dealt_out : int
        Times that blocks were dealt out to the workers: once, and when workers have joined.
    seconds_waiting : float
        Seconds in which the client waited.
    seconds_loading : float
        ... for blocks to be read and checked, and for the sample.
    seconds_of_passes, seconds_of_grams : float
        Seconds that the slowest worker of each round was at its tasks, added up over them: in
        rounds of passes over the rows, and in those of Newton systems.
    gram_round_trips : int
        Round trips for Newton systems, among all.
    """

    round_trips: int = 0
    tasks: int = 0
    bytes_broadcast: int = 0
    bytes_summed: int = 0
    bytes_sampled: int = 0
    rebuilt: int = 0
    dealt_out: int = 0
    seconds_waiting: float = 0.0
    seconds_loading: float = 0.0
    seconds_of_passes: float = 0.0
    seconds_of_grams: float = 0.0
    gram_round_trips: int = 0


def pickled_bytes(value: Any) -> int:
    """Bytes of a value as it travels."""
    buffers: list[pickle.PickleBuffer] = []  # not copied
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(one.raw().nbytes for one in buffers)


def checked_client(client: Any) -> Client:
    """The given client, or the present one; never an asynchronous one."""
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError as error:
            raise ValueError(
                "`client` is None and there is no Dask client: create one first, "
                "client = distributed.Client(...), or pass it as `client`."
            ) from error
    if not isinstance(client, Client):
        raise TypeError(
            f"`client` must be a distributed.Client or None, got {type(client).__name__}."
        )
    if client.asynchronous:
        raise ValueError(
            "`client` is asynchronous, and `fit` waits for its results: pass a Client made without "
            "asynchronous=True. (Fit may run in a thread: asyncio.to_thread(model.fit, X, y).)"
        )
    if client.status != "running":
        raise ClusterError(
            f"`client` is not connected to a scheduler (it is {client.status}); create a new one."
        )
    return client


@dataclass
class Cluster:
    """A client, and the limits of one fit.

    ``seconds_left`` tells how long the fit may still take; None without a limit.
    """

    client: Client
    seconds_left: Callable[[], float | None] = lambda: None
    patience: float = field(default_factory=lambda: NO_MOTION)
    no_workers: float = field(default_factory=lambda: NO_WORKERS)
    paused: float = field(default_factory=lambda: PAUSED)
    stuck: float = field(default_factory=lambda: STUCK)
    traffic: Traffic = field(default_factory=Traffic)
    grace: float = 0.0  # seconds that what is under way may take longer
    names: int = 0  # given so far
    owned: list[Future] = field(default_factory=list)  # to be let go at the end of the fit
    fit: str = field(default_factory=lambda: uuid4().hex[:12])
    neighbours: dict[str, bool] = field(default_factory=dict)  # see _is_neighbour
    direct: bool = False  # whether results come without the scheduler

    @property
    def out_of_time(self) -> bool:
        """Whether the seconds of the fit are over."""
        left = self.seconds_left()
        return left is not None and left + self.grace <= 0.0

    def ask(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What the scheduler answers, within half a minute and the seconds of the fit."""
        left = self.seconds_left()
        limit = _ANSWER if left is None else min(_ANSWER, max(left + self.grace, 0.0) + _CANCELLED)
        try:
            with self._connected():
                return self.client.sync(call, *args, callback_timeout=limit, **options)
        except (OSError, TimeoutError) as error:
            if self.out_of_time:
                raise OutOfTime from error
            raise ClusterError(f"The scheduler does not answer ({error}).") from error

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """What goes wrong inside because the scheduler is lost is told as that."""
        self._check_connected()
        try:
            yield
        except (Exception, *CANCELLED):
            self._check_connected()
            raise

    def workers(self) -> dict[str, int]:
        """Threads of every worker, by address."""
        found = {address: int(one["nthreads"]) for address, one in self.known().items()}
        for address in set(found) - set(self.neighbours):
            self.neighbours[address] = _is_neighbour(address)
        near = bool(found) and all(self.neighbours[address] for address in found)
        wanted = self.client.direct_to_workers
        self.direct = near if wanted is None else bool(wanted)
        return found

    def known(self) -> dict[str, Any]:
        """What the scheduler says of its workers."""
        return dict(self.ask(self._scheduler("identity"), n_workers=-1)["workers"])

    def _scheduler(self, method: str) -> Any:
        """A method of the scheduler, of which a client that is closed has none."""
        with self._connected():
            return getattr(self.client.scheduler, method)

    def memory_limit(self) -> float:
        """Bytes of memory per thread of the worker that has the least; infinite without limits."""
        limits = [
            one["memory_limit"] / max(one["nthreads"], 1)
            for one in self.known().values()
            if one.get("memory_limit")
        ]
        return min(limits, default=float("inf"))

    def name(self, what: str) -> str:
        """A key that no other task has; the dashboard shows ``psvm-<what>``."""
        self.names += 1
        return f"psvm-{what}-{self.fit}-{self.names}"

    def submit(
        self, tasks: Sequence[Task], where: Mapping[Any, str | None], wanted: Sequence[Any]
    ) -> dict[Any, Future]:
        """Submit tasks, each preferably to the worker that ``where`` names for its key."""
        layers: dict[str, Any] = {}
        for task in tasks:
            address = where.get(task.key)
            layers.setdefault(str(address), (address, {}))[1][task.key] = task
        names = {layer: f"psvm-{self.fit}-{k}" for k, layer in enumerate(layers)}
        graph = HighLevelGraph(
            {
                names[layer]: MaterializedLayer(
                    own,
                    annotations=None
                    if address is None
                    else {"workers": [address], "allow_other_workers": True},
                )
                for layer, (address, own) in layers.items()
            },
            # Layers refer to each other freely.
            {name: set(names.values()) - {name} for name in names.values()},
        )
        with self._connected():
            futures = self.client.get(graph, list(wanted), sync=False)
        return dict(zip(wanted, futures, strict=True))

    def wait(
        self,
        futures: Sequence[Future],
        cancel: Sequence[Future] = (),
        *,
        keep: bool = False,
        again: bool = False,
    ) -> None:
        """Wait until all futures are finished; else cancel them and those of ``cancel``, and raise.

        With ``keep`` what has gone down with its worker is not cancelled, to be tried again. With
        ``again`` tasks that get stuck are taken for lost, to be submitted again. Raises OutOfTime
        at the limit of seconds, ClusterError where the cluster fails, and what a task has raised.
        """
        began = time.monotonic()
        vigil = _Vigil(self, (*futures, *cancel), began, self.stuck if again else np.inf)
        try:
            while not self._finished(futures):
                vigil.look()
        except BaseException as error:
            if not (keep and isinstance(error, TasksLost)):
                self.cancel([*futures, *cancel])
            raise
        finally:
            self.traffic.round_trips += 1
            self.traffic.seconds_waiting += time.monotonic() - began

    def _finished(self, futures: Sequence[Future]) -> bool:
        """Whether all are finished, within a moment; raises what has gone wrong with them."""
        with suppress(TimeoutError, *CANCELLED), self._connected():
            # distributed.wait would ask the default client, which may be another one.
            self.client.sync(wait_for_futures, list(futures), timeout=self.moment)
        if all(one.status == "finished" for one in futures):
            return True
        self._check(futures)
        return False

    @property
    def moment(self) -> float:
        """Seconds until the next look at the clock and the workers."""
        left = self.seconds_left()
        return _LOOK if left is None else min(_LOOK, max(left + self.grace, 0.01))

    def _check(self, futures: Sequence[Future]) -> None:
        """Raise what a task has raised, or that it is lost."""
        for k, one in enumerate(futures):
            if one.status == "error":
                error = one.exception(timeout=10)
                if isinstance(error, distributed.scheduler.KilledWorker):
                    raise TasksLost(f"Workers died again and again: {error}") from error
                if "psvm-block" in str(one.key) and not str(error).startswith("partition"):
                    error.add_note(f"while partition {k} was read")
                raise error
            if one.status == "cancelled":  # "lost" will be computed again
                raise TasksLost(
                    "Tasks were cancelled, by a restart of the cluster or by another client."
                )

    def _check_connected(self) -> None:
        if self.client.status != "running":
            raise ClusterError(
                f"The scheduler is lost (the client is {self.client.status}). Connect a new "
                f"Client, and fit again."
            )

    def cancel(self, futures: Sequence[Future]) -> None:
        """Cancel, as far as there is anybody to tell."""
        with suppress(Exception):
            if self.client.status == "running":
                self.client.sync(self.client._cancel, list(futures), callback_timeout=_CANCELLED)

    def retry(self, futures: Sequence[Future]) -> None:
        """Try failed tasks once more."""
        self.ask(self.client._retry, list(futures))

    def holders(self, futures: Sequence[Future]) -> list[str | None]:
        """A worker that holds the result of each future."""
        keys = [one.key for one in futures]
        found = self.ask(self._scheduler("who_has"), keys=keys)
        return [next(iter(found.get(key) or ()), None) for key in keys]

    def fetch(self, futures: Sequence[Future]) -> list[Any]:
        """The results of finished tasks; TasksLost if they were lost meanwhile.

        They come from the workers themselves where these are known to take calls (``direct``): the
        scheduler would read and send every byte once more. What went down with its worker on the
        way is computed again by Dask, and waited for like anything else.
        """
        vigil = _Vigil(self, futures, time.monotonic())
        try:
            while True:
                direct = self.direct
                with self._gathering(futures, direct=direct) as under_way:
                    while not concurrent.futures.wait([under_way], timeout=self.moment).done:
                        self._check(futures)
                        vigil.look()
                        if direct and any(one.status != "finished" for one in futures):
                            self.direct = False  # a worker that is gone would be called for long
                            break
                    else:
                        return list(under_way.result(timeout=0))
        except (OSError, TimeoutError, *CANCELLED) as error:
            self._check_connected()
            raise TasksLost(f"Results were lost on their way: {error}") from error

    @contextmanager
    def _gathering(
        self, futures: Sequence[Future], *, direct: bool
    ) -> Iterator[concurrent.futures.Future[Any]]:
        """Results on their way, until the end of the block."""
        with self._connected():
            gather = self.client._gather(list(futures), direct=direct)
            under_way = asyncio.run_coroutine_threadsafe(gather, self.client.loop.asyncio_loop)
        try:
            yield under_way
        finally:
            under_way.cancel()

    def results(self, futures: Sequence[Future]) -> list[Any]:
        """Wait, and fetch."""
        self.wait(futures)
        return self.fetch(futures)

    def tell(self, event: dict[str, Any]) -> None:
        """A line in the events of the cluster, topic "psvm"; not worth waiting for."""
        with suppress(Exception):
            message = {"fit": self.fit, **event}
            log = self.client.scheduler.log_event
            self.client.sync(log, topic="psvm", msg=message, callback_timeout=_CANCELLED)


def _is_neighbour(address: str) -> bool:
    """Whether a worker is on this machine and takes calls, as those of a LocalCluster do.

    (Its address alone does not tell: behind a tunnel it is that of another machine's own.)
    """
    if not address.startswith("tcp://127."):
        return False
    try:
        socket.create_connection(get_address_host_port(address), timeout=_CALL).close()
    except OSError:
        return False
    return True


@dataclass
class _Vigil:
    """Looks after a cluster while futures are awaited: raises what must end the wait.

    What moves is a task that is done, and a worker that comes or goes.
    """

    cluster: Cluster
    futures: Sequence[Future]
    began: float
    stuck: float = np.inf

    def __post_init__(self) -> None:
        self.moved = self.seen_workers = self.began
        self.before: tuple[int, frozenset[str]] = (0, frozenset())

    def look(self) -> None:
        """Raise OutOfTime, TasksLost or ClusterError if it is no use to wait any longer."""
        cluster = self.cluster
        if cluster.out_of_time:
            raise OutOfTime
        cluster._check_connected()
        now = time.monotonic()
        known = cluster.known()
        workers = frozenset(known)
        if workers:
            self.seen_workers = now
        elif now - self.seen_workers > cluster.no_workers:
            raise ClusterError(
                f"The cluster has had no workers for {cluster.no_workers:g} s; start some, and fit "
                f"again. (A LocalCluster gives up a worker that is not back within Dask's setting "
                f"distributed.deploy.lost-worker-timeout.)"
            )
        state = sum(one.status == "finished" for one in self.futures), workers
        if state != self.before:
            self.before, self.moved = state, now
        still = now - self.moved
        paused = [one for one in known.values() if one.get("status") == "paused"]
        if paused and len(paused) < len(workers) and still > cluster.paused:
            raise TasksLost(f"{len(paused)} of {len(workers)} workers are paused.")
        if still > cluster.patience:
            raise ClusterError(
                f"Nothing has moved on the cluster for {cluster.patience:g} s: tasks wait on "
                f"{len(workers)} workers. Are they paused for lack of memory, or busy with other "
                f"work?"
            )
        if workers and still > self.stuck:
            raise TasksLost(f"Nothing has moved on the cluster for {self.stuck:g} s.")
