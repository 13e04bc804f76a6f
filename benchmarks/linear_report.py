"""The page of the linear suite: psvm against the fastest rival that comes close to the optimum.

The optimum of a problem is the smallest P that anybody reached, psvm at ``tol=1e-8`` included. The
excess of a rival is its P, with the best intercept for its ``w``, over the optimum, minus 1; the
excess of psvm uses psvm's own intercept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.tables import OURS, Record, geometric_mean, name_of, ratio, table

CLOSE = 1e-4  # the excess that still counts as a solution, for rivals and for psvm
WIDE = 1000  # features from which a sparse set is called text
DEFAULTS = ("sklearn-primal", "sklearn-dual")  # LinearSVC as most people call it


@dataclass(frozen=True)
class Standing:
    """Who solved one problem, and how fast."""

    optimum: float
    ours: Record | None
    rivals: list[Record]
    over_limit: list[Record]

    def excess(self, row: Record) -> float:
        """Relative distance from the optimum."""
        own = row["rival"].startswith(OURS)
        return float(row["primal" if own else "primal_best"] / self.optimum - 1.0)

    @property
    def solved(self) -> bool:
        """Whether psvm at its default tolerance took part and is close to the optimum."""
        return self.ours is not None and self.excess(self.ours) <= CLOSE

    @property
    def close(self) -> list[Record]:
        """The rivals that are close to the optimum."""
        return [row for row in self.rivals if self.excess(row) <= CLOSE]

    @property
    def fastest(self) -> Record | None:
        """The fastest of them."""
        return min(self.close, key=lambda row: row["fit_seconds"], default=None)

    @property
    def closest(self) -> Record | None:
        """The rival that came closest to the optimum."""
        return min(self.rivals, key=self.excess, default=None)

    def ratio(self, clock: str = "fit_seconds") -> float | None:
        """Seconds of the fastest rival over psvm's."""
        if self.ours is None or self.fastest is None:
            return None
        return ratio(self.fastest, self.ours, clock)

    @property
    def least_ratio(self) -> float | None:
        """The ratio; where no rival came close, that of the time limit, if somebody ran into it."""
        if (value := self.ratio()) is not None or self.ours is None or not self.over_limit:
            return value
        limit = float(self.over_limit[0]["status"].split()[1])
        return limit / float(self.ours["fit_seconds"])

    @property
    def solver_ratio(self) -> float | None:
        """Seconds of the fastest rival without the conversion of its rows, over all of psvm's."""
        if self.ours is None or not self.close:
            return None
        return min(map(solver_seconds, self.close)) / float(self.ours["fit_seconds"])


def solver_seconds(row: Record) -> float:
    """Fit time without the conversion of arrays to the library's own form."""
    return float(row["fit_seconds"] - row.get("conversion_seconds", 0.0))


def standings(records: Iterable[Record]) -> dict[tuple[Any, ...], Standing]:
    """One standing per problem that somebody solved."""
    problems: dict[tuple[Any, ...], list[Record]] = {}
    for row in records:
        problems.setdefault((row["case"], row["C"], row["p"]), []).append(row)
    result = {}
    for problem, rows in problems.items():
        judged = [row for row in rows if "primal" in row]
        if judged:
            result[problem] = Standing(
                optimum=min(row["primal_best"] for row in judged),
                ours=next((row for row in judged if row["rival"] == OURS), None),
                rivals=[row for row in judged if not row["rival"].startswith(OURS)],
                over_limit=[row for row in rows if row["status"].startswith("over")],
            )
    return result


def kind_of(row: Record) -> str:
    """Dense sets, sparse ones, and the wide sparse ones apart."""
    if row["storage"] == "dense":
        return "dense"
    return "wide text" if row["n_features"] > WIDE else "sparse"


def summary_lines(all_standings: list[Standing]) -> list[str]:
    """Geometric means of the ratios, per kind of data and exponent."""
    taken = [standing for standing in all_standings if standing.ours is not None]
    groups: dict[str, list[Standing]] = {}
    for kind in ("dense", "sparse", "wide text"):
        of_kind = [s for s in taken if kind_of(s.ours or {}) == kind]
        for p in sorted({s.ours["p"] for s in of_kind if s.ours}):
            groups[f"{kind}, p = {p:g}"] = [s for s in of_kind if s.ours and s.ours["p"] == p]
        groups[f"{kind}, p = 1 and 2"] = [s for s in of_kind if s.ours and s.ours["p"] in (1, 2)]
        groups[f"{kind}, all p"] = of_kind
    rows = []
    for name, group in groups.items():
        if not group:
            continue
        counted, cpu = (
            [value for s in group if s.solved and (value := s.ratio(clock)) is not None]
            for clock in ("fit_seconds", "fit_cpu_seconds")
        )
        least = [value for s in group if s.solved and (value := s.least_ratio) is not None]
        solver = [value for s in group if s.solved and (value := s.solver_ratio) is not None]
        rows.append(
            [
                name,
                f"{geometric_mean(counted):.1f}x" if counted else "",
                f"{min(counted):.2g}x" if counted else "",
                f"{geometric_mean(least):.1f}x ({len(least)})" if least else "",
                f"{geometric_mean(cpu):.1f}x" if counted else "",
                f"{sum(value < 1.0 for value in counted)}",
                f"{geometric_mean(solver):.1f}x ({sum(value < 1.0 for value in solver)})"
                if solver
                else "",
                f"{len(counted)} of {len(group)}",
                f"{sum(s.fastest is None for s in group)}",
                f"{sum(not s.solved for s in group)}",
            ]
        )
    header = ["psvm is faster than the fastest rival, on", "geometric mean", "worst"]
    header += ["with the limit where none was close (problems)", "CPU time"]
    header += [
        "psvm slower",
        "rivals' conversion not counted (psvm slower)",
        "counted",
        "no rival close",
        "psvm not close",
    ]
    return table(header, rows)


def standing_lines(all_standings: dict[tuple[Any, ...], Standing], records: list[Record]) -> Any:
    """One line per problem."""
    rows = []
    precise = {
        (row["case"], row["C"], row["p"]): row for row in records if row["rival"] == "psvm-1e-6"
    }
    for problem, standing in all_standings.items():
        ours, fastest, closest = standing.ours, standing.fastest, standing.closest
        some = ours or closest or {}
        rows.append(
            [
                name_of(some) if some else str(problem),
                f"{standing.optimum:.8g}",
                f"{ours['fit_seconds']:.3g}" if ours else "",
                f"{standing.excess(ours):.0e}" if ours else "",
                seconds(precise.get(problem)),
                f"{fastest['rival']}" if fastest else "none",
                seconds(fastest),
                ratio_cell(standing),
                f"{cpu:.2g}x" if (cpu := standing.ratio("fit_cpu_seconds")) else "",
                f"{alone:.2g}x" if (alone := standing.solver_ratio) else "",
                f"{closest['rival']} {standing.excess(closest):.0e}" if closest else "",
                default_cell(standing),
                ", ".join(row["rival"] for row in standing.over_limit),
            ]
        )
    header = ["problem", "optimum", "psvm s", "psvm excess", "psvm to 1e-6 s"]
    header += [f"fastest rival within {CLOSE:g}", "its s", "ratio", "CPU ratio"]
    header += ["conversion not counted", "closest rival"]
    return table([*header, "LinearSVC's defaults: s (excess)", "over the limit"], rows)


def seconds(row: Record | None) -> str:
    """Fit time, if there is one."""
    return f"{row['fit_seconds']:.3g}" if row and "fit_seconds" in row else ""


def ratio_cell(standing: Standing) -> str:
    """The ratio; where no rival came close, what is known of it."""
    if (value := standing.ratio()) is not None:
        return f"{value:.2g}x" + ("" if standing.solved else " (not counted)")
    return f"> {least:.2g}x" if (least := standing.least_ratio) is not None else ""


def default_cell(standing: Standing) -> str:
    """LinearSVC with no parameter but C, loss and dual, whatever it reached."""
    found = [row for row in standing.rivals if row["rival"] in DEFAULTS]
    best = min(found, key=lambda row: row["fit_seconds"], default=None)
    if best is not None:
        return f"{best['fit_seconds']:.3g} ({standing.excess(best):.0e})"
    over = [row for row in standing.over_limit if row["rival"] in DEFAULTS]
    return over[0]["status"] if over else ""


def record_lines(
    records: list[Record], all_standings: dict[tuple[Any, ...], Standing]
) -> list[str]:
    """Everything that was measured."""
    rows = []
    for row in records:
        standing = all_standings.get((row["case"], row["C"], row["p"]))
        start = [name_of(row), row["rival"]]
        if "fit_seconds" not in row:
            rows.append([*start, row["status"], *[""] * 7])
            continue
        remark = "" if row["status"] == "ok" else f" ({row['status']})"
        own = row["primal"] / standing.optimum - 1.0 if standing else 0.0
        best = row["primal_best"] / standing.optimum - 1.0 if standing else 0.0
        rows.append(
            [
                *start,
                f"{row['fit_seconds']:.3g}{remark}",
                f"{row['fit_cpu_seconds']:.3g}",
                f"{row['predict_seconds']:.2g}",
                f"{row['memory_mb']:.0f}",
                f"{own:.1e}",
                f"{best:.1e}",
                f"{row['train_accuracy']:.4f}",
                f"{row['accuracy']:.4f}",
            ]
        )
    header = ["problem", "rival", "fit s", "CPU s", "predict s", "fit MB", "excess"]
    return table([*header, "with the best intercept", "train acc.", "test acc."], rows)


def lines(records: list[Record]) -> list[str]:
    """The body of the page."""
    found = standings(records)
    text = ["## Speed", "", *summary_lines(list(found.values())), *standing_lines(found, records)]
    text += ["## All measurements", "", *record_lines(records, found)]
    return [*text, "Objectives are the referee's, in float64; see `benchmarks/README.md`.", ""]
