"""A sample of the rows on a cluster, solved by the client: where the Newton method begins."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from dask._task_spec import Task

from psvm.dask.blocks import Block
from psvm.dask.targets import Encoder, PricedRows
from psvm.mathematics.problem import LinearProblems
from psvm.solvers.ledger import OutOfTime, Stage
from psvm.solvers.linear.best_pair import BestPair
from psvm.solvers.linear.passes import BlockPasses
from psvm.solvers.linear.sample_and_sift import (
    SAMPLE_TOL,
    sample_shares,
    sample_size,
    solve_newton,
)
from psvm.solvers.linear.summary import summarise

if TYPE_CHECKING:
    from psvm.dask.solve import ClusterSolve

Array = npt.NDArray[np.float64]

# Entries of the sample at most, 128 MB: it travels to the client. (At p = 1 the band that it leaves
# shrinks with the root of its size: of 20,000,000 rows x 30, 32 MB left more than can be fetched.)
MOST_ENTRIES = 2**24


def sample_of(block: Block, encoder: Encoder, share: Array) -> tuple[Any, PricedRows]:
    """Rows of a block, of each class its share."""
    priced = encoder.rows(block.y, block.weight)
    lot = np.random.default_rng([0, block.number]).random(priced.codes.size)
    chosen = np.flatnonzero((lot < share[priced.codes]) & (priced.cost > 0.0))
    own = chosen if priced.feature_row is None else priced.feature_row[chosen]
    return block.X[own], PricedRows(
        priced.codes[chosen],
        priced.cost[chosen],
        None if priced.target is None else priced.target[chosen],
    )


def sample_solution(
    solve: ClusterSolve, numbers: Sequence[int], stages: Mapping[int, Stage]
) -> tuple[dict[int, BestPair], float]:
    """Solutions of a sample, and the distance they are to be trusted to."""
    cluster, passes, summary = solve.cluster, solve.passes, solve.summary
    counts = solve.class_rows
    size = sample_size(summary.rows, summary.features)
    size = min(size, MOST_ENTRIES / max(summary.entries, 1.0))
    share = sample_shares(counts, size)
    tasks = [
        Task(cluster.name("sample"), sample_of, block, solve.setup.encoder, share)
        for block in passes.blocks
    ]
    cluster.traffic.tasks += len(tasks)
    futures = cluster.submit(tasks, {}, [task.key for task in tasks])
    began = time.monotonic()
    parts = cluster.results(list(futures.values()))
    cluster.traffic.seconds_loading += time.monotonic() - began
    rows, priced = [part for part, _ in parts], [one for _, one in parts]
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    codes = np.concatenate([one.codes for one in priced])
    found = np.bincount(codes, minlength=counts.size)
    factor = counts / np.maximum(found, 1)
    problems = LinearProblems(
        solve.setup.signs,
        codes,
        np.concatenate([one.cost for one in priced]) * factor[codes],
        solve.setup.terms.loss,
        solve.setup.terms.fit_intercept,
        None if priced[0].target is None else np.concatenate([one.target for one in priced]),
    )
    own = summarise([X], centred=problems.fit_intercept)
    local = BlockPasses([X], problems, numbers, solve.threads, own.shift)
    asides = {t: stages[t].ledger.aside(max(SAMPLE_TOL, stages[t].tol)) for t in numbers}
    ends = solve_newton(local, own, dict.fromkeys(numbers), asides, in_order=False)
    if cluster.out_of_time:
        raise OutOfTime
    return ends, float(np.sqrt((summary.features + 1) / codes.size))
