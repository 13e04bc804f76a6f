"""One step of the solver over a shard of rows, on a worker: ``(state, sums) = step(rows, state)``.

A shard is some blocks that lie on one worker. Its state (margins, alpha, centre of every row) is
the result of the last step and stays in the memory of the worker that made it, where Dask counts
it, spills it and moves it like any other result.

The next step refers to it by its key and not as a dependency. To the scheduler a step depends on
the blocks alone: were it to depend on the state, the scheduler would have to remember every step
since the beginning of the fit, and to replay them all where a worker is lost. So a state that is
gone is not replayed but answered as lost, and the solver begins again at the (w, b) it has
accepted: a pass of kind "begin" builds the state of such rows anew.

A step takes over the state it is given. Each state has a number, and a step accepts only its
predecessor's: what was begun twice, or broken off, is lost too, and never wrong.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from distributed import get_worker
from distributed.utils_comm import gather_from_workers

from psvm.dask.blocks import Block
from psvm.dask.targets import Encoder, PricedRows
from psvm.mathematics.problem import LinearProblems, Terms
from psvm.solvers.blas_threads import one_blas_thread
from psvm.solvers.linear.passes import BlockPasses, Keep, Order, Pass, block_sizes
from psvm.solvers.linear.sample_and_sift import gather

Array = npt.NDArray[np.float64]

# Seconds to wait for a state that lies on another worker.
_FETCH = 30.0
# Columns of a share, 8 bytes per row each: see share.hpp.
_COLUMNS = 7


@dataclass(frozen=True)
class Setup:
    """What the state of a shard is built from, but for its rows."""

    encoder: Encoder
    signs: npt.NDArray[np.int8]
    terms: Terms
    shift: Array | None

    @property
    def new_centre(self) -> str:
        """The centre of rows that have lost theirs: near the one they had.

        At p = 1 alpha is 0 or the cost but for rows at the margin, for 1 < p < 2 that of the slack;
        beyond, and for a hard margin, there is no centre to speak of.
        """
        p = self.terms.p
        if self.terms.hard_margin or p >= 2.0:
            return "zero"
        return "half_cost" if p == 1.0 else "slack"


@dataclass(frozen=True)
class Band:
    """The rows with W > 0 with all that is known of them: :class:`BandRows` of each shard."""


@dataclass(frozen=True)
class Fill:
    """The present alpha, with these values for the rows with W > 0, becomes the best one."""

    alpha: Mapping[int, Array]  # by shard


@dataclass(frozen=True)
class Support:
    """How many rows have a dual variable in any problem of the shard: see ``_supporting``."""


ShardOrder = Order | Band | Fill | Support


@dataclass(frozen=True)
class BandRows:
    """Rows of one shard with W > 0."""

    shard: int
    rows: Any  # of features
    alpha: Array
    priced: PricedRows


@dataclass(frozen=True)
class Ticket:
    """Which step of which shard."""

    shard: int
    number: int
    previous: Any  # the key of the step before; None at the beginning
    blocks: tuple[int, ...]


class _Absent(Sequence[Any]):
    """Stands for the blocks between two steps."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, k: Any) -> Any:
        raise LookupError("the rows are here during a step only")


@dataclass
class ShardState:
    """The state of the rows of a shard in all problems.

    ``begun`` are the problems that have had a pass since the state was built, ``kept`` those that
    have a best alpha.
    """

    passes: BlockPasses
    number: int | None = None  # None while a step is at work
    begun: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)

    @classmethod
    def new(cls, setup: Setup, blocks: Sequence[Block]) -> ShardState:
        """The state of rows of which nothing is known."""
        priced = [setup.encoder.rows(block.y, block.weight) for block in blocks]
        joined = PricedRows.joined(priced, [block.rows for block in blocks])
        problems = joined.problems(setup.signs, setup.terms)
        rows = _Absent([block.rows for block in blocks])
        return cls(BlockPasses(rows, problems, range(len(setup.signs)), 1, setup.shift))

    def __sizeof__(self) -> int:
        counts = (share.count for shares in self.passes.shares for share in shares.values())
        problems = self.passes.problems
        own: list[Any] = [problems.codes, problems.cost, problems.target, problems.feature_row]
        given = sum(one.nbytes for one in own if one is not None)
        return int(8 * _COLUMNS * sum(counts) + given)

    def __reduce__(self) -> Any:
        passes = self.passes
        columns = [{t: share.state() for t, share in own.items()} for own in passes.shares]
        known = [t for t in passes.which if t in self.begun or t in self.kept]
        columns = [{t: own[t] for t in known if t in own} for own in columns]
        sizes = list(getattr(passes.rows, "sizes", ()))
        return _restored, (
            passes.problems,
            list(passes.which),
            passes.shift,
            sizes,
            columns,
            self.number,
            self.begun,
            self.kept,
        )


def _restored(
    problems: LinearProblems,
    which: list[int],
    shift: Array | None,
    sizes: list[int],
    columns: list[dict[int, Any]],
    number: int | None,
    begun: set[int],
    kept: set[int],
) -> ShardState:
    """A state that was spilled or sent."""
    passes = BlockPasses(_Absent(sizes), problems, which, 1, shift)
    for shares, own in zip(passes.shares, columns, strict=True):
        for t, values in own.items():
            shares[t].set_state(values)
    return ShardState(passes, number, begun, kept)


@dataclass
class ShardSums:
    """Answers of some shards, added up.

    ``values`` are by problem, one for each of its orders; ``lost`` the problems whose state some
    shard did not have. ``where`` says which worker has the state of each shard, ``seconds`` how
    long each worker was at its shards.
    """

    values: dict[int, list[Any]]
    lost: set[int]
    where: dict[int, str]
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, other: ShardSums) -> None:
        """Add the answers of other shards."""
        for t, values in other.values.items():
            own = self.values.get(t)
            if own is None:
                self.values[t] = [_own(value) for value in values]
            elif len(own) == len(values):  # else lost
                self.values[t] = [_added(*pair) for pair in zip(own, values, strict=True)]
        self.lost |= other.lost
        self.where |= other.where
        for worker, seconds in other.seconds.items():
            self.seconds[worker] = self.seconds.get(worker, 0.0) + seconds


def _own(value: Any) -> Any:
    """A copy to add to, as the sums of a step may be added up once more; of rows only the list."""
    return list(value) if isinstance(value, list) else deepcopy(value)


def _added(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    one += other
    return one


@dataclass
class Answer:
    """What a step ends with: the state for the next one, and the sums."""

    state: ShardState | None
    sums: ShardSums

    def __sizeof__(self) -> int:
        return 1000 + (0 if self.state is None else self.state.__sizeof__())


def step(
    ticket: Ticket,
    setup: Setup | None,
    orders: Mapping[int, Sequence[ShardOrder]],
    *blocks: Block,
) -> Answer:
    """Answer the orders of some problems, those of each problem one after the other.

    With ``setup`` a state that is gone is built anew; without it is lost.
    """
    began = time.perf_counter()
    worker = get_worker()
    state = _taken_over(ticket, worker)
    if state is None:
        if setup is None:
            lost = ShardSums({}, set(orders), {ticket.shard: worker.address})
            return Answer(None, lost)
        state = ShardState.new(setup, blocks)
    centre = "zero" if setup is None else setup.new_centre
    sums = ShardSums({}, set(), {ticket.shard: worker.address})
    state.passes.rows = [block.X for block in blocks]
    try:
        with one_blas_thread():
            _answer(state, ticket.shard, orders, centre, sums)
    except Exception as error:
        numbers = ", ".join(str(number) for number in ticket.blocks)
        raise RuntimeError(
            f"partition {numbers}: {type(error).__name__} in the solver: {error}"
        ) from error
    finally:
        state.passes.rows = _Absent([block.rows for block in blocks])
    state.number = ticket.number
    sums.seconds = {worker.address: time.perf_counter() - began}
    return Answer(state, sums)


def _taken_over(ticket: Ticket, worker: Any) -> ShardState | None:
    """The state before this step, which is this step's from now on; None if it is gone."""
    if ticket.previous is None:
        return None
    try:
        answer = _on_loop(worker, partial(_result_of, worker, ticket.previous))
    except Exception:  # whatever became of it, it is not to be had
        return None
    if answer is None:
        return None
    state: ShardState | None = answer.state
    if state is None or state.number != ticket.number - 1:
        return None
    state.number = None
    return state


async def _result_of(worker: Any, key: Any) -> Any:
    """The result of this key, of this worker or of one that has it; None if there is none.

    By the key alone: a Future made from it would wait for news that the scheduler sends only to
    those who have asked for the task.
    """
    if key in worker.data:
        return worker.data[key]
    held = (await worker.scheduler.who_has(keys=[key])).get(key)
    if not held:
        return None
    found, *_ = await gather_from_workers({key: held}, rpc=worker.rpc)
    return found.get(key)


def _on_loop(worker: Any, call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Await it where the memory of a worker is managed: in its event loop."""
    under_way = asyncio.run_coroutine_threadsafe(call(), worker.loop.asyncio_loop)
    try:
        return under_way.result(_FETCH)
    finally:
        under_way.cancel()


def _answer(
    state: ShardState,
    shard: int,
    orders: Mapping[int, Sequence[ShardOrder]],
    centre: str,
    sums: ShardSums,
) -> None:
    for wave in range(max(len(own) for own in orders.values())):
        now = {t: own[wave] for t, own in orders.items() if wave < len(own)}
        known: dict[int, Order] = {}
        for t, order in now.items():
            ready = _ready(state, t, order, centre)
            if ready is None:
                sums.lost.add(t)
            elif isinstance(ready, Band | Fill | Support):
                sums.values.setdefault(t, []).append(_special(state, shard, t, ready))
            else:
                known[t] = ready
        for t, value in state.passes.answer(known).items() if known else ():
            sums.values.setdefault(t, []).append(value)
        for t, order in known.items():
            if isinstance(order, Keep):
                state.kept.add(t)
            elif isinstance(order, Pass) and order.kind == "begin":
                state.begun.add(t)


def _ready(state: ShardState, t: int, order: ShardOrder, centre: str) -> ShardOrder | None:
    """The order, as rows without a past can answer it; None if they cannot."""
    if isinstance(order, Pass):
        if order.kind == "begin":
            forgotten = order.centre == "keep" and t not in state.begun
            return replace(order, centre=centre) if forgotten else order
        if order.kind == "certify":
            return order if t in state.kept else None
    if isinstance(order, Keep) and not any(order.factors):
        return order
    return order if isinstance(order, Support) or t in state.begun else None


def _special(state: ShardState, shard: int, t: int, order: Band | Fill | Support) -> Any:
    passes = state.passes
    problems = passes.problems
    if isinstance(order, Support):
        return _supporting(state)
    active = passes.active_rows(t)
    alpha = passes.present_alpha(t)
    if isinstance(order, Fill):
        alpha[active] = order.alpha[shard]
        passes.set_best(t, alpha)
        state.kept.add(t)
        return None
    if not active.size:
        return []
    some, places = problems.among(active)
    return [BandRows(shard, gather(passes.rows, places), alpha[active], PricedRows.of(some))]


def _supporting(state: ShardState) -> npt.NDArray[np.intp]:
    """Rows with a dual variable in any problem: of each class, or where rows share features, all.

    The dual variable of features that several rows share is the sum of theirs, with their signs.
    """
    problems = state.passes.problems
    if problems.feature_row is not None:
        features = sum(block_sizes(state.passes.rows))
        supporting = np.zeros(features, dtype=np.bool_)
        for t in state.kept:
            signed = problems.signs[t][problems.codes] * state.passes.best_alpha(t)
            supporting |= problems.summed(signed, features) != 0.0
        return np.array([np.count_nonzero(supporting)])
    supporting = np.zeros(problems.codes.size, dtype=np.bool_)
    for t in state.kept:
        supporting |= state.passes.best_alpha(t) > 0.0
    return np.bincount(problems.codes[supporting], minlength=problems.signs.shape[1])


def add_sums(*parts: Any) -> ShardSums:
    """The answers of several shards, or sums of such, as one."""
    total = ShardSums({}, set(), {})
    for part in parts:
        total.add(part.sums if isinstance(part, Answer) else part)
    return total
