"""LinearPSVR beside LinearSVR: ``python -m benchmarks.regression.linear``.

Synthetic rows (``--rows``, of 30 features) and the tables of ``regression`` in the data folder, for
p = 1 and 2 with epsilon 0 and 0.1 and several C, both at their defaults; then the other p beside
p = 1. The referee (``referee``) recomputes P, with the best intercept for LinearSVR, which
penalises its own. Results go to ``results/regression_linear.json`` and ``.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from sklearn.svm import LinearSVR

from benchmarks.regression.referee import Loss, judge_linear
from benchmarks.regression.sets import RegressionSet
from benchmarks.regression.suite import Suite
from benchmarks.regression.turns import Turns, take_turns
from benchmarks.tables import Record, environment_lines, geometric_mean, table, times

OTHER_PS = (1.25, 1.5, 2.0, 3.0)
COSTS, TUBES = (0.1, 1.0, 10.0), (0.0, 0.1)
LOSSES = {1.0: "epsilon_insensitive", 2.0: "squared_epsilon_insensitive"}  # LinearSVR's
CLOSE = 1e-4  # how far above the rival's P ours may be, relative to it


def measure(data: RegressionSet, threads: int) -> Iterator[Record]:
    """All records of a set."""
    return chain(duels(data, threads), exponents(data, threads))


def duels(data: RegressionSet, threads: int) -> Iterator[Record]:
    """LinearPSVR and LinearSVR on the problems that both solve."""
    from psvm import LinearPSVR

    X, y = data.X, data.y
    # Of a million rows the problem that LinearSVR ends soonest, and so nearest to the optimum.
    large = y.size >= 500_000
    for p in LOSSES:
        for C in COSTS[:1] if large else COSTS:
            for epsilon in TUBES[1:] if large else TUBES:
                loss = Loss(p, C, epsilon)
                theirs = linear_svr(loss)
                ours = LinearPSVR(p, C=C, epsilon=epsilon, n_jobs=threads)
                # Quantile 0.5: both sides cost 2 * 0.5 * C = C.
                turns = take_turns(
                    {"ours": partial(ours.fit, X, y), "rival": partial(theirs.fit, X, y)}
                )
                yield record_of(data, "LinearSVR", loss, turns)


def linear_svr(loss: Loss) -> LinearSVR:
    """scikit-learn's, at its defaults but for the choice of its algorithm."""
    name = LOSSES[loss.p]
    return LinearSVR(C=loss.C, epsilon=loss.epsilon, loss=name, dual="auto", random_state=0)


def exponents(data: RegressionSet, threads: int) -> Iterator[Record]:
    """LinearPSVR at other p beside p = 1."""
    from psvm import LinearPSVR

    for epsilon in TUBES:
        models = {p: LinearPSVR(p, epsilon=epsilon, n_jobs=threads) for p in (1.0, *OTHER_PS)}
        turns = take_turns(
            {str(p): partial(model.fit, data.X, data.y) for p, model in models.items()}
        )
        for p in OTHER_PS:
            both = {"ours": turns[str(p)], "rival": turns["1.0"]}
            yield record_of(data, "p = 1", Loss(p, 1.0, epsilon), both, judged=False)


def record_of(
    data: RegressionSet, rival: str, loss: Loss, turns: dict[str, Turns], *, judged: bool = True
) -> Record:
    """Seconds of both, how many times faster we are, and what the referee says."""
    ours, theirs = turns["ours"], turns["rival"]
    record: Record = {
        "set": data.name,
        "rows": int(data.y.size),
        "features": int(data.X.shape[1]),
        "p": loss.p,
        "C": loss.C,
        "epsilon": loss.epsilon,
        "quantile": loss.quantile,
        "rival": rival,
        "seconds": ours.seconds,
        "rival_seconds": theirs.seconds,
        "ratio": theirs.seconds[0] / ours.seconds[0],
        "cpu_ratio": theirs.seconds[1] / ours.seconds[1],
        "gap": float(ours.model.dual_gap_[0]),
    }
    if judged:
        mine = judge_linear(data.X, data.y, ours.model.coef_, ours.model.intercept_, loss)
        other = judge_linear(data.X, data.y, theirs.model.coef_, theirs.model.intercept_, loss)
        record["excess"] = mine.primal / other.primal_best - 1.0
        record["rival_excess"] = other.primal_best / mine.primal - 1.0
    return record


def line(row: Record) -> str:
    """For the screen."""
    excess = f", P {row['excess']:+.1e}" if "excess" in row else ""
    return (
        f"{row['set']:24s} {row['rows']:>8} p={row['p']:g} C={row['C']:g} eps={row['epsilon']:g}: "
        f"{1e3 * row['seconds'][0]:9.2f} ms, "
        f"{row['rival']} {1e3 * row['rival_seconds'][0]:.2f} ms, {times(row['ratio'])} "
        f"(cpu {times(row['cpu_ratio'])}){excess}"
    )


def page(results: dict[str, Any]) -> list[str]:
    """The report."""
    records = results["records"]
    against = [row for row in records if row["rival"] == "LinearSVR"]
    lines = ["# LinearPSVR beside LinearSVR", "", *environment_lines(results["environment"])]
    lines += [
        "Ratios are LinearSVR's seconds over LinearPSVR's (above 1: LinearPSVR is faster), the best"
        " turns of both in the same process; in brackets those of the processor, of all threads. P"
        " is how far our objective is above LinearSVR's (negative: ours is better), both recomputed"
        " by the referee, LinearSVR's with the best intercept.",
        "",
    ]
    for p in (1.0, 2.0):
        rows = [row for row in against if row["p"] == p]
        if not rows:
            continue
        mean = geometric_mean(row["ratio"] for row in rows)
        of_processor = geometric_mean(row["cpu_ratio"] for row in rows)
        slower = sum(row["cpu_ratio"] < 1.0 for row in rows)
        worse = sum(row["excess"] > CLOSE for row in rows)
        lines += [
            f"## p = {p:g}",
            "",
            f"{len(rows)} problems: {times(mean)} by the clock, {times(of_processor)} by the "
            f"processor (geometric means), by which slower on {slower}; "
            f"P more than {CLOSE:g} above LinearSVR's on {worse}.",
            "",
            *table(
                ["set", "rows", "C", "epsilon", "ms", "LinearSVR ms", "ratio", "P"],
                [
                    [
                        row["set"],
                        str(row["rows"]),
                        f"{row['C']:g}",
                        f"{row['epsilon']:g}",
                        f"{1e3 * row['seconds'][0]:.2f}",
                        f"{1e3 * row['rival_seconds'][0]:.2f}",
                        f"{times(row['ratio'])} ({times(row['cpu_ratio'])})",
                        f"{row['excess']:+.1e}",
                    ]
                    for row in rows
                ],
            ),
        ]
    others = [row for row in records if row["rival"] == "p = 1"]
    if others:
        slowdown = {
            p: [1.0 / row["cpu_ratio"] for row in others if row["p"] == p] for p in OTHER_PS
        }
        lines += [
            "## Other p beside p = 1",
            "",
            *table(
                ["p", "processor seconds over those of p = 1 (geometric mean)", "largest"],
                [
                    [f"{p:g}", times(geometric_mean(found)), times(float(np.max(found)))]
                    for p, found in slowdown.items()
                ],
            ),
        ]
    return lines


SUITE = Suite(
    "benchmarks.regression.linear",
    "regression_linear",
    (10_000, 100_000, 1_000_000),
    30,
    measure,
    line,
    page,
)

if __name__ == "__main__":
    raise SystemExit(SUITE.run())
