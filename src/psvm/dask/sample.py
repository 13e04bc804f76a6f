"""A sample of the rows on a cluster, solved by the client: where the Newton method begins."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from psvm.solvers.linear.passes import BlockPasses
from psvm.solvers.linear.sample_and_sift import (
    BAND,
    SAMPLE_TOL,
    margin_unit,
    sample_shares,
    sample_size,
    solve_newton,
)
from psvm.solvers.linear.summary import summarise

if TYPE_CHECKING:
    from psvm.dask.solve import ClusterSolve

Array = npt.NDArray[np.float64]

# Entries of the sample at most, 32 MB: it travels to the client, and the workers wait while it is
# solved. At p = 1 it may have 128 MB: the band of rows that it leaves shrinks with the root of its
# size, and of 20,000,000 rows x 30 a sample of 32 MB left more than can be fetched. (For p > 1 that
# many rows take as many round trips from either.)
MOST_ENTRIES, MOST_TO_SIFT = 2**22, 2**24


def sample_of(setup: Setup, share: Array, *blocks: Block) -> tuple[Any, PricedRows]:
    """Rows of some blocks, of each class its share; those on the same features together."""
    return _together([_sample_of_one(block, setup, share) for block in blocks])


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


def sample_solution(
    solve: ClusterSolve, numbers: Sequence[int], stages: Mapping[int, Stage]
) -> tuple[dict[int, Begin], dict[int, float]]:
    """Begin at the solutions of a sample; also the distances they are to be trusted to."""
    cluster, passes, summary = solve.cluster, solve.passes, solve.summary
    counts = solve.class_rows
    size = sample_size(summary.rows, summary.features)
    most = MOST_TO_SIFT if solve.setup.terms.p == 1.0 else MOST_ENTRIES
    size = min(size, most / max(summary.entries, 1.0))
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
    X, joined = _together(parts)
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
    begins, deltas = {}, {}
    for t, end in ends.items():
        unit = margin_unit(problems, t, X @ end.w + end.b, BAND * delta)
        begins[t], deltas[t] = solve.begin_at(end.w, end.b, delta, unit), delta * unit
    return begins, deltas
