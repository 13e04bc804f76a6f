"""LinearPSVC beside LinearSVC and LIBLINEAR.

Once at their defaults, whatever they reach, and once at the cheapest setting that comes within 1e-4
of the optimum: the first such setting of each ladder of the linear suite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import environment
from benchmarks.everyday.contest import Contest, our_name
from benchmarks.everyday.turns import Contender
from benchmarks.linear_objective import judge_linear
from benchmarks.linear_report import CLOSE
from benchmarks.rivals import LADDERS, RIVALS, Rival, Setting
from benchmarks.rivals.liblinear_official import Fitted
from benchmarks.rivals.liblinear_official import from_one_vs_rest as from_liblinear
from benchmarks.rivals.psvm_linear import from_one_vs_rest
from benchmarks.rivals.sklearn_linear import SklearnLinear
from benchmarks.tables import Record

DEFAULT_SETTINGS: dict[str, Rival] = {
    "LinearSVC": SklearnLinear("LinearSVC", dual="auto"),
    "LIBLINEAR": RIVALS["linear"]["liblinear-dual"],
}
LADDERS_OF = {"LinearSVC": "sklearn", "LIBLINEAR": "liblinear"}  # how their settings begin
REFERENCE_TOL = 1e-6  # of the fit that tells the ladders where the optimum is
CLIMB_PATIENCE, CLIMB_LEAST = 10.0, 0.5  # a setting has so many times our seconds, or these


def linear_contest(contest: Contest) -> list[Record]:
    """The libraries at their defaults."""
    ours = our_contender(contest)
    rivals = [
        Contender(library, fit_rival(rival, contest))
        for library, rival in DEFAULT_SETTINGS.items()
        if environment.installed(rival.package)
    ]
    idle = contest.take_turns([*rivals, ours])
    return [
        contest.record(ours, rival, control_seconds=idle, **excess(contest, ours, rival))
        for rival in rivals
    ]


def close_contest(contest: Contest) -> list[Record]:
    """The libraries within 1e-4 of the optimum, if they get there."""
    ours = our_contender(contest)
    contest.take_turns([ours])
    if not ours.seconds:
        return []
    reference = our_contender(contest, tol=REFERENCE_TOL).run(contest.effort.cap)
    optimum = min(objective(contest, model)[1] for model in (reference, ours.model))
    records = []
    for library, prefix in LADDERS_OF.items():
        ladders = [ladder for ladder in LADDERS if can_climb(ladder, prefix, contest)]
        if not ladders:
            continue
        tops = [climb(ladder, contest, optimum, min(ours.seconds)) for ladder in ladders]
        close = [top for top in tops if not top.is_done]
        if close:
            contest.take_turns([*close, ours := our_contender(contest)])
            rival = min(close, key=lambda top: min(top.seconds))
        else:  # rather one that was over the limit than one that arrived somewhere else
            rival = min(tops, key=lambda top: top.over is None)
        setting, rival.name = rival.name, library
        records.append(contest.record(ours, rival, setting=setting))
    return records


def can_climb(ladder: Sequence[str], prefix: str, contest: Contest) -> bool:
    """Whether a ladder is one of a library that is installed and solves the problem."""
    first = RIVALS["linear"][ladder[0]]
    if not first.name.startswith(prefix) or not environment.installed(first.package):
        return False
    return first.why_not(contest.problem.ps[0], contest.data.y.size) is None


def climb(ladder: Sequence[str], contest: Contest, optimum: float, our_seconds: float) -> Contender:
    """The first setting that is close to the optimum, or one that says why there is none."""
    limit = min(contest.effort.cap, max(CLIMB_LEAST, CLIMB_PATIENCE * our_seconds))
    for name in ladder:
        rung = Contender(name, fit_rival(RIVALS["linear"][name], contest))
        contest.watch.first_turn(rung, limit)
        if rung.over is not None:
            return rung
        if rung.seconds and objective(contest, rung.model)[1] <= optimum * (1.0 + CLOSE):
            return Contender(name, rung.run)
    return Contender(ladder[-1], rung.run, error=f"no setting comes within {CLOSE:g}")


def our_contender(contest: Contest, **more: Any) -> Contender:
    """LinearPSVC at its defaults, but for the binary problems that several classes become."""
    from psvm import LinearPSVC

    problem, (X, y) = contest.problem, contest.data
    (p,) = problem.ps
    fixed = {"C": problem.C, "multi_class": problem.multi_class, **more}
    return Contender(our_name(p), lambda limit: LinearPSVC(p, max_time=limit, **fixed).fit(X, y), p)


def fit_rival(rival: Rival, contest: Contest) -> Callable[[float | None], Any]:
    """An adapter of the linear suite, on every class against the rest."""
    problem, (X, y) = contest.problem, contest.data
    setting = Setting(problem.C, None, problem.ps[0], threads=1)
    return lambda _: rival.fit(X, y, setting)


def excess(contest: Contest, ours: Contender, rival: Contender) -> Record:
    """How far we are above the rival, whose intercept is replaced by the best one, and it above us.

    Nothing, where the two solve other binary problems, or one has no solution.
    """
    if not (ours.seconds and rival.seconds) or contest.problem.multi_class != "ovr":
        return {}
    mine, theirs = objective(contest, ours.model)[0], objective(contest, rival.model)[1]
    return {"excess": mine / theirs - 1.0, "rival_excess": theirs / mine - 1.0}


def objective(contest: Contest, model: Any) -> tuple[float, float]:
    """Sums over the classes, each against the rest: with own and with best intercepts."""
    models = from_liblinear(model) if isinstance(model, Fitted) else from_one_vs_rest(model)
    problem, (X, y) = contest.problem, contest.data
    total = np.zeros(2)
    for k, one in enumerate(models):
        train = (X, y if len(models) == 1 else (y == k).astype(np.int64))
        verdict = judge_linear(one, train, train, C=problem.C, p=problem.ps[0])
        total += (verdict.primal, verdict.primal_best)
    return float(total[0]), float(total[1])
