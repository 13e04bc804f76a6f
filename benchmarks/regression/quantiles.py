"""Quantiles: LinearPSVR beside QuantileRegressor: ``python -m benchmarks.regression.quantiles``.

Both without regularisation, as far as they go: QuantileRegressor with ``alpha=0``, LinearPSVR with
p = 1, epsilon = 0 and a C so large that ``1/2 |w|^2`` is below a millionth of P. The referee
computes the pinball loss of both. Results go to ``results/regression_quantiles.json`` and ``.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sklearn.linear_model import QuantileRegressor

from benchmarks.regression.referee import Loss, judge_linear
from benchmarks.regression.sets import RegressionSet
from benchmarks.regression.suite import Suite
from benchmarks.regression.turns import take_turns
from benchmarks.tables import Record, environment_lines, geometric_mean, table, times

QUANTILES = (0.1, 0.5, 0.95)
COST, TOL = 1e3, 1e-5


def duels(data: RegressionSet, threads: int) -> Iterator[Record]:
    """Both, for several quantiles."""
    from psvm import LinearPSVR

    X, y = data.X, data.y
    for quantile in QUANTILES:
        ours = LinearPSVR(1, C=COST, epsilon=0.0, quantile=quantile, tol=TOL, n_jobs=threads)
        theirs = QuantileRegressor(quantile=quantile, alpha=0.0, solver="highs")
        both = {"ours": ours, "rival": theirs}
        turns = take_turns({name: partial(model.fit, X, y) for name, model in both.items()})
        mine, other = turns["ours"], turns["rival"]
        loss = Loss(1.0, 1.0 / (2.0 * y.size), 0.0, quantile)
        lost = [
            judge_linear(X, y, one.model.coef_, one.model.intercept_, loss).primal
            - 0.5 * float(one.model.coef_ @ one.model.coef_)
            for one in (mine, other)
        ]
        yield {
            "set": data.name,
            "rows": int(y.size),
            "features": int(X.shape[1]),
            "quantile": quantile,
            "seconds": mine.seconds,
            "rival_seconds": other.seconds,
            "ratio": other.seconds[0] / mine.seconds[0],
            "cpu_ratio": other.seconds[1] / mine.seconds[1],
            "gap": float(mine.model.dual_gap_[0]),
            "pinball": lost[0],
            "excess": lost[0] / lost[1] - 1.0,
        }


def line(row: Record) -> str:
    """For the screen."""
    return (
        f"{row['set']:24s} {row['rows']:>8} q={row['quantile']:g}: "
        f"{1e3 * row['seconds'][0]:9.2f} ms, QuantileRegressor "
        f"{1e3 * row['rival_seconds'][0]:.2f} ms, {times(row['ratio'])} "
        f"(cpu {times(row['cpu_ratio'])}), pinball loss {row['excess']:+.1e}"
    )


def page(results: dict[str, Any]) -> list[str]:
    """The report."""
    records = results["records"]
    lines = ["# Quantiles: LinearPSVR beside QuantileRegressor", ""]
    lines += [
        *environment_lines(results["environment"]),
        f"LinearPSVR(p=1, C={COST:g}, epsilon=0, tol={TOL:g}) and QuantileRegressor(alpha=0), the"
        " best turns of both in the same process; in brackets the seconds of the processor. The"
        " last column is how far our pinball loss is above theirs, by the referee.",
        "",
    ]
    for title, few in (("Fewer than 10,000 rows", True), ("From 10,000 rows on", False)):
        rows = [row for row in records if (row["rows"] < 10_000) is few]
        if not rows:
            continue
        mean = geometric_mean(row["ratio"] for row in rows)
        least = min(row["ratio"] for row in rows)
        lines += [
            f"## {title}",
            "",
            f"{times(mean)} on average (geometric mean), {times(least)} at least.",
            "",
            *table(
                ["set", "rows", "quantile", "ms", "QuantileRegressor ms", "ratio", "pinball loss"],
                [
                    [
                        row["set"],
                        str(row["rows"]),
                        f"{row['quantile']:g}",
                        f"{1e3 * row['seconds'][0]:.2f}",
                        f"{1e3 * row['rival_seconds'][0]:.2f}",
                        f"{times(row['ratio'])} ({times(row['cpu_ratio'])})",
                        f"{row['excess']:+.1e}",
                    ]
                    for row in rows
                ],
            ),
        ]
    return lines


SUITE = Suite(
    "benchmarks.regression.quantiles",
    "regression_quantiles",
    (1_000, 10_000, 30_000),
    10,
    duels,
    line,
    page,
)

if __name__ == "__main__":
    raise SystemExit(SUITE.run())
