"""A sample of the rows on a cluster, solved by the client: where the Newton method begins."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from dask._task_spec import Task

from psvm.dask.blocks import Block
from psvm.dask.cluster import pickled_bytes
from psvm.dask.step import Setup
from psvm.dask.targets import PricedRows
from psvm.solvers.ledger import OutOfTime, Stage
from psvm.solvers.linear.newton import Begin
from psvm.solvers.linear.newton_rules import intercept_damping
from psvm.solvers.linear.passes import BlockPasses, Pass, Sums
from psvm.solvers.linear.sample_and_sift import (
    BAND,
    SAMPLE_TOL,
    gather,
    margin_unit,
    sample_shares,
    sample_size,
    solve_newton,
)
from psvm.solvers.linear.summary import summarise
from psvm.solvers.linear.systems import MAX_FACTORED, FeatureSystem

if TYPE_CHECKING:
    from psvm.dask.solve import ClusterSolve

Array = npt.NDArray[np.float64]

# Entries of the sample at most, 32 MB: it travels to the client, and the workers wait while it is
# solved. (Four times as many take as many round trips.)
MOST_ENTRIES = 2**22
# Rows near the margin, per unknown, that tell how the gradient changes (for a step that is off by a
# few tenths).
_ROWS_PER_UNKNOWN = 5
# The band across which the loss is smoothed for that, in units of delta: twice the distance of most
# solutions (with 8, what remains after the step is half as large again).
SLOPE_BAND = 4.0


def sample_of(setup: Setup, share: Array, *blocks: Block) -> list[tuple[Any, PricedRows]]:
    """Rows of each of some blocks, of each class its share; those on the same features together."""
    return [_sample_of_one(block, setup, share) for block in blocks]


def _sample_of_one(block: Block, setup: Setup, share: Array) -> tuple[Any, PricedRows]:
    priced = setup.encoder.rows(block.y, block.weight)
    problems = priced.problems(setup.signs, setup.terms)
    lot = problems.of_rows(np.random.default_rng([0, block.number]).random(block.rows))
    chosen = np.flatnonzero((lot < share[priced.codes]) & (priced.cost > 0.0))
    some, places = problems.among(chosen)
    return block.X[places], PricedRows.of(some)


def _together(parts: Sequence[tuple[Any, PricedRows]]) -> tuple[Any, PricedRows]:
    rows, priced = [part for part, _ in parts], [one for _, one in parts]
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    return X, PricedRows.joined(priced, [part.shape[0] for part in rows])


@dataclass(frozen=True)
class Sampled:
    """The solution of a sample.

    ``delta`` is the distance it is to be trusted to, in units of the margin; ``slope`` tells at
    p = 1 how the gradient changes nearby, if the sample tells that.
    """

    begin: Begin
    delta: float
    slope: Slope | None = None


@dataclass(frozen=True)
class Slope:
    """How the gradient of the loss changes with (w, b), seen from a sample.

    At p = 1 this is of the loss as smoothed across a band of ``width`` on either side of the
    margin: ``sum_i W_i z_i z_i'`` over the rows in it, ``z = [x - shift, 1]``.
    """

    width: float
    gram: Array
    shift: Array
    fit_intercept: bool
    typical_cost: float

    @classmethod
    def at(
        cls, passes: BlockPasses, t: int, begin: Begin, width: float, typical_cost: float
    ) -> Slope | None:
        """At a point of the sample; None where too few rows are near, or features too many."""
        w = np.ascontiguousarray(begin.w)
        order = Pass("begin", 1.0 / width, w, begin.b, centre="band")
        active = passes.answer({t: order})[t].active
        if w.size > MAX_FACTORED or active < _ROWS_PER_UNKNOWN * (w.size + 1):
            return None
        near, places = passes.problems.among(passes.active_rows(t))
        weight = near.summed(0.5 / width * near.cost, places.size)
        rows, shift = gather(passes.rows, places), passes.shift
        if shift is not None:  # never of sparse rows
            rows = rows - shift
        inner = rows.T @ (sp.diags_array(weight) @ rows)
        gram = np.empty((w.size + 1, w.size + 1))
        gram[:-1, :-1] = inner.toarray() if sp.issparse(inner) else inner
        gram[-1, :-1] = gram[:-1, -1] = rows.T @ weight
        gram[-1, -1] = weight.sum()
        given = np.zeros(w.size) if shift is None else shift
        return cls(width, gram, given, near.fit_intercept, typical_cost)

    def step(self, begin: Begin, sums: Sums) -> tuple[Begin, float] | None:
        """Newton's step from there, by the sums of all rows, and how far it moves the margins.

        The distance is the root of the mean square over the rows near the margin.
        """
        dual = sums.dual
        balance = float(dual.alpha[1] - dual.alpha[0])
        image = dual.image[1] - dual.image[0] - balance * self.shift
        gradient = np.append(begin.w - image, -balance if self.fit_intercept else 0.0)
        weight = float(self.gram[-1, -1])
        damping = intercept_damping(weight, float(gradient[-1]), self.typical_cost)
        try:
            system = FeatureSystem(self.gram, damping, self.fit_intercept)
        except np.linalg.LinAlgError:
            return None
        move = -system.solve(gradient)
        moved = float(move @ (self.gram @ move))
        distance = float(np.sqrt(max(moved, 0.0) / weight))
        if not np.isfinite(distance):
            return None
        b = begin.b + float(move[-1] - self.shift @ move[:-1])
        return Begin(begin.w + move[:-1], b), distance


def sample_solution(
    solve: ClusterSolve, numbers: Sequence[int], stages: Mapping[int, Stage]
) -> dict[int, Sampled]:
    """The solutions of a sample."""
    cluster, passes, summary = solve.cluster, solve.passes, solve.summary
    counts = solve.class_rows
    size = sample_size(summary.rows, summary.features)
    size = min(size, MOST_ENTRIES / max(summary.entries, 1.0))
    share = sample_shares(counts, size if solve.setup.encoder.goals_are_1 else 2.0 * size)
    tasks, where = [], {}
    for shard in passes.shards:
        blocks = [passes.blocks[block] for block in shard.blocks]
        tasks.append(Task(cluster.name("sample"), sample_of, solve.setup, share, *blocks))
        where[tasks[-1].key] = shard.worker
    cluster.traffic.tasks += len(tasks)
    futures = cluster.submit(tasks, where, [task.key for task in tasks])
    began = time.monotonic()
    parts = cluster.results(list(futures.values()))
    cluster.traffic.seconds_loading += time.monotonic() - began
    cluster.traffic.bytes_sampled += pickled_bytes(parts)
    # In the order of the blocks, wherever these lie: the same sample in every fit.
    places = [block for shard in passes.shards for block in shard.blocks]
    in_order = dict(zip(places, chain.from_iterable(parts), strict=True))
    X, joined = _together([in_order[block] for block in sorted(in_order)])
    codes = joined.codes
    found = np.bincount(codes, minlength=counts.size)
    factor = counts / np.maximum(found, 1)
    joined = replace(joined, cost=joined.cost * factor[codes])
    problems = joined.problems(solve.setup.signs, solve.setup.terms)
    own = summarise([X], centred=problems.fit_intercept)
    local = BlockPasses([X], problems, numbers, solve.threads, own.shift)
    asides = {t: stages[t].ledger.aside(max(SAMPLE_TOL, stages[t].tol)) for t in numbers}
    ends = solve_newton(local, own, dict.fromkeys(numbers), asides, in_order=False)
    if cluster.out_of_time:
        raise OutOfTime
    delta = float(np.sqrt((summary.features + 1) / X.shape[0]))
    sampled = {}
    for t, end in ends.items():
        unit = margin_unit(problems, t, X @ end.w + end.b, BAND * delta)
        begin, trusted = solve.begin_at(end.w, end.b, delta, unit), delta * unit
        slope = None
        if problems.loss.p == 1.0:
            slope = Slope.at(local, t, begin, SLOPE_BAND * trusted, solve.costs.typical[t])
        sampled[t] = Sampled(begin, trusted, slope)
    return sampled
