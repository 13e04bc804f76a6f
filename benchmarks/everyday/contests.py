"""The contest of every kind of problem; predictions and searches are short enough to stand here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.cases import gamma_scale
from benchmarks.everyday import regression_contest as regression
from benchmarks.everyday.contest import Contest, our_name
from benchmarks.everyday.kernel_contest import fit_psvc, fit_svc, kernel_contest
from benchmarks.everyday.linear_contest import (
    DEFAULT_SETTINGS,
    close_contest,
    fit_rival,
    linear_contest,
    our_contender,
)
from benchmarks.everyday.problems import CLOSE, Problem
from benchmarks.everyday.rows import kernel_case, rows_of
from benchmarks.everyday.turns import UNWATCHED, Contender, Effort, Watch
from benchmarks.search import FIVE, SVC, grids, make_search
from benchmarks.tables import Record

ROWS_ASKED = (1, 10, 100)
METHODS = ("predict", "decision_function")
CALLS = 20  # in one turn: a single one is short for the clock


def measure(problem: Problem, effort: Effort, watch: Watch) -> list[Record]:
    """The records of a problem."""
    contest = Contest(problem, rows_of(problem), effort, watch)
    if problem.part == "latency":
        return latency_contest(contest)
    if problem.part == "search":
        return (regression.search_contest if problem.has_targets else search_contest)(contest)
    if problem.has_targets:
        kernel = problem.estimator == "PSVR"
        return (regression.kernel_contest if kernel else regression.linear_contest)(contest)
    if problem.estimator == "PSVC":
        return kernel_contest(contest)
    return close_contest(contest) if problem.against == CLOSE else linear_contest(contest)


def warm_up() -> None:
    """Fit everybody once: imports, dispatch and thread pools are not counted."""
    for estimator, p in (("PSVC", 1.5), ("LinearPSVC", 2.0), ("PSVR", 1.5), ("LinearPSVR", 2.0)):
        small = Problem("named", estimator, ps=(p,), rows=100, features=4, classes=3)
        measure(small, Effort(turns=1), UNWATCHED)


def latency_contest(contest: Contest) -> list[Record]:
    """Seconds of one call for one row and more, fitted to all rows."""
    problem, data = contest.problem, contest.data
    fitted = {name: fit(None) for name, fit in both_fits(contest).items()}
    records = []
    for method in METHODS[:1] if problem.has_targets else METHODS:
        for rows in ROWS_ASKED:
            rival, ours = (
                Contender(
                    our_name(problem.ps[0]) if name == "psvm" else name,
                    calls(getattr(model, method), data.X[:rows]),
                    problem.ps[0],
                )
                for name, model in fitted.items()
            )
            contest.take_turns([rival, ours])
            record = contest.record(ours, rival, method=method, asked=rows)
            record |= {key: record[key] / CALLS for key in ("seconds", "rival_seconds")}
            records.append(record)
    return records


def both_fits(contest: Contest) -> dict[str, Callable[[float | None], Any]]:
    """The rival by its name, and ours at p = 1, or at the p that both have."""
    problem = contest.problem
    if problem.estimator == "LinearPSVC":
        svc = fit_rival(DEFAULT_SETTINGS["LinearSVC"], contest)
        return {"LinearSVC": svc, "psvm": our_contender(contest).run}
    if problem.estimator == "LinearPSVR":
        svr = regression.fit_linear_svr(contest)
        return {"LinearSVR": svr, "psvm": regression.our_linear(contest).run}
    case = kernel_case(problem, contest.data.X)
    if problem.estimator == "PSVR":
        ours = regression.fit_psvr(contest, case, 1.0)
        return {"SVR": regression.fit_svr(contest, case), "psvm": ours}
    return {"SVC": fit_svc(contest, case), "psvm": fit_psvc(contest, case, 1.0)}


def calls(method: Callable[[Any], Any], X: Any) -> Callable[[float | None], None]:
    """Several calls, one after the other."""

    def run(_: float | None) -> None:
        for _ in range(CALLS):
            method(X)

    return run


def search_contest(contest: Contest) -> list[Record]:
    """PSVCCV over five p beside GridSearchCV(SVC), which has one; refits are left out."""
    X, y = contest.data
    cells = grids(gamma_scale(X))

    def searching(name: str) -> Callable[[float | None], Any]:
        return lambda _: make_search(name, *cells, None).fit(X, y)

    ours, rival = Contender("psvm five p", searching(FIVE)), Contender("SVC", searching(SVC))
    contest.take_turns([rival, ours])
    return [contest.record(ours, rival)]
