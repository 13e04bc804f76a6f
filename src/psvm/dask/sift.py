"""p = 1 on a cluster: only the rows near the margin are solved, and by the client alone.

As in :mod:`psvm.solvers.linear.sample_and_sift`: rows further from the margin of a sample's
solution than a band keep alpha at 0 or at their cost. A round fetches the rows in the band, the
client solves them, and the next round, at the new margins, tells whether the guess was right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psvm.dask.passes import last_answer
from psvm.dask.sample import Sampled
from psvm.dask.step import Band, BandRows, Fill
from psvm.dask.targets import PricedRows
from psvm.solvers.ledger import OutOfTime, Stage
from psvm.solvers.linear.balance import balanced_dual
from psvm.solvers.linear.best_pair import BestPair
from psvm.solvers.linear.lockstep import in_lockstep
from psvm.solvers.linear.newton import Begin, semismooth_newton
from psvm.solvers.linear.passes import BlockPasses, Keep, Pass, RowsLost, Sums
from psvm.solvers.linear.sample_and_sift import BAND, LARGEST_BAND

if TYPE_CHECKING:
    from psvm.dask.solve import ClusterSolve

Array = npt.NDArray[np.float64]

# Entries of the rows in all bands at most, 512 MB: they travel to the client.
_MOST_ENTRIES = 2**26
# The first band, in units of the step that led to its middle, at tol = 1e-4, and how much wider it
# is for every digit more: what remains to go is 0.15 to 0.3 of the step on most tables, and rows
# beyond the band cost the square of what they are beyond.
_SHARE_OF_STEP, _PER_DIGIT = 0.5, 0.1


def sift(
    solve: ClusterSolve, sampled: Mapping[int, Sampled], stages: dict[int, Stage]
) -> tuple[dict[int, BestPair], dict[int, Begin]]:
    """Problems that could be solved so, and for others a better place to begin, if there is one."""
    ends = {t: BestPair(one.begin.w, one.begin.b, np.inf, 0.0) for t, one in sampled.items()}
    done: dict[int, BestPair] = {}
    try:
        left = {t: one.begin for t, one in sampled.items()}
        bands = {t: [BAND * one.delta, 2.0 * BAND * one.delta] for t, one in sampled.items()}
        _step_first(solve, sampled, stages, ends, left, bands, done)
        while left:
            widths = {t: bands[t].pop(0) for t in left}
            sums = _at_band(solve, left, widths)
            _judge(solve, stages, ends, left, sums, done)
            for t in list(left):
                if sums[t].active > LARGEST_BAND * solve.costs.count[t]:
                    del left[t]
            if sum(sums[t].active for t in left) * solve.summary.entries > _MOST_ENTRIES:
                break
            found = solve.ask({t: Band() for t in left}) if left else {}
            for t, answer in found.items():
                if isinstance(answer, RowsLost):
                    del left[t]
                else:
                    args = ends[t], sums[t], answer[0], stages[t], widths[t]
                    left[t] = _solve_band(solve, t, *args)
            if left:
                done |= solve.proved(ends, left, stages)
            left = {t: begin for t, begin in left.items() if t not in done and bands[t]}
    except OutOfTime:
        pass  # the loop will notice
    better = {}
    for t, one in sampled.items():
        solve.to_certify.pop(t, None)
        if t not in done:
            best, stage = ends[t], stages[t]
            if np.isfinite(best.primal):
                better[t] = Begin(best.w, best.b, one.begin.centre, one.begin.sigma)
            stages[t] = stage.ledger.stage(stage.solver, tol=stage.tol)
            solve.passes.waiting.pop(t, None)
    return done, better


def _step_first(
    solve: ClusterSolve,
    sampled: Mapping[int, Sampled],
    stages: Mapping[int, Stage],
    ends: Mapping[int, BestPair],
    left: dict[int, Begin],
    bands: Mapping[int, list[float]],
    done: dict[int, BestPair],
) -> None:
    """Newton's step towards the solution of all rows, where the sample tells it.

    A pass over all rows for the gradient costs each worker little, and leaves a band of a sixth as
    many rows, which are the client's alone.
    """
    slopes = {t: one.slope for t, one in sampled.items() if one.slope is not None}
    if not slopes:
        return
    sums = _at_band(
        solve, {t: left[t] for t in slopes}, {t: slope.width for t, slope in slopes.items()}
    )
    _judge(solve, stages, ends, left, sums, done)
    for t in [t for t in slopes if t in left]:
        stepped = slopes[t].step(left[t], sums[t])
        if stepped is not None and stepped[1] <= slopes[t].width:
            left[t], distance = stepped
            digits = max(-4.0 - np.log10(stages[t].tol), 0.0)
            share = _SHARE_OF_STEP + _PER_DIGIT * digits
            bands[t].insert(0, max(share * distance, 0.25 * sampled[t].delta))


def _judge(
    solve: ClusterSolve,
    stages: Mapping[int, Stage],
    ends: Mapping[int, BestPair],
    left: dict[int, Begin],
    sums: Mapping[int, Any],
    done: dict[int, BestPair],
) -> None:
    """Take problems away that are done, and those whose rows are lost."""
    for t in sums:
        if isinstance(sums[t], RowsLost) or sums[t] is None:
            del left[t]
        elif _judged(solve, stages[t], ends[t], left[t], sums[t], t):
            done[t] = ends[t]
            del left[t]


def _at_band(
    solve: ClusterSolve, begins: Mapping[int, Begin], bands: Mapping[int, float]
) -> dict[int, Any]:
    """Margins at the given points, with alpha going from 0 to its cost across the bands."""
    orders = {}
    for t, begin in begins.items():
        direction = np.ascontiguousarray(begin.w)
        orders[t] = Pass("begin", 1.0 / bands[t], direction, begin.b, centre="band")
    return {t: last_answer(value) for t, value in solve.ask(orders).items()}


def _judged(
    solve: ClusterSolve, stage: Stage, best: BestPair, begin: Begin, sums: Sums, t: int
) -> bool:
    """Whether P at ``begin`` and the best D end the solve; puts them on record."""
    primal = 0.5 * float(begin.w @ begin.w) + sums.loss
    if primal < best.primal:
        best.primal, best.w, best.b = primal, begin.w, begin.b
    nothing = np.zeros(solve.summary.features + 1)
    dual, factors = balanced_dual(sums.dual, 1.0, nothing, 0.0, solve.setup.terms.fit_intercept)
    if dual > best.dual:
        solve.passes.waiting[t] = Keep(False, factors)
        best.dual = dual
        solve.milestone(t, best)
    return best.ends(stage, sums.active)


def _solve_band(
    solve: ClusterSolve,
    t: int,
    best: BestPair,
    sums: Sums,
    parts: Sequence[BandRows],
    stage: Stage,
    width: float,
) -> Begin:
    """Solve the rows strictly inside the band; the others keep their alpha."""
    rows = [part.rows for part in parts]
    if not rows:
        return Begin(best.w, best.b)
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    setup, alpha = solve.setup, np.concatenate([part.alpha for part in parts])
    priced = PricedRows.joined([part.priced for part in parts], [one.shape[0] for one in rows])
    problems = priced.problems(setup.signs, setup.terms)
    passes = BlockPasses([X], problems, [t], solve.threads, solve.summary.shift)
    # What the rows outside contribute: everything less the rows inside.
    signed = problems.signs[t][problems.codes] * alpha
    inner = X.T @ problems.summed(signed, X.shape[0])
    image = sums.dual.image[1] - sums.dual.image[0] - inner
    balance = float(sums.dual.alpha[1] - sums.dual.alpha[0] - signed.sum())
    sigma = solve.costs.typical[t] * BAND / width
    task = replace(
        solve.task(t, Begin(best.w, best.b, "half_cost", sigma), stage),
        stage=stage.ledger.aside(0.5 * stage.tol),
        fixed=np.append(image - balance * solve.shift, balance),
        fixed_total=float(sums.dual.linear.sum() - (problems.goals(t) * alpha).sum()),
        on_keep=None,
    )
    found: BestPair = in_lockstep(passes.answer, {t: semismooth_newton(task)})[t]
    best.n_iter += found.n_iter
    if found.dual > best.dual:
        inside, first = passes.best_alpha(t), 0
        by_shard: dict[int, Array] = {}
        for part in parts:
            own = inside[first : first + part.alpha.size]
            by_shard[part.shard], first = own, first + part.alpha.size
        solve.passes.waiting[t] = Fill(by_shard)
        best.dual = found.dual
    return Begin(found.w, found.b)
