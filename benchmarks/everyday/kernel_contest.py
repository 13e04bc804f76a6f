"""PSVC at some p beside scikit-learn's SVC, both at their defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.everyday.contest import Contest, our_name
from benchmarks.everyday.rows import KernelCase, kernel_case, kernel_values
from benchmarks.everyday.turns import Contender
from benchmarks.objective import Verdict, judge
from benchmarks.rivals.sklearn_svc import from_svc
from benchmarks.tables import Record

JUDGED_ROWS, JUDGED_CLASSES = 1000, 8  # up to which the referee sees every problem


def kernel_contest(contest: Contest) -> list[Record]:
    """SVC first, as its seconds limit ours; at p > 1 it solves another problem, of p = 1."""
    problem, data = contest.problem, contest.data
    case = kernel_case(problem, data.X)
    rival = Contender("SVC", fit_svc(contest, case))
    ours = [Contender(our_name(p), fit_psvc(contest, case, p), p) for p in problem.ps]
    idle = contest.take_turns([rival, *ours])
    verdicts = judged(contest, [rival, *ours])
    return [
        contest.record(
            one, rival, control_seconds=idle, **comparison(one, verdicts.get(rival.name), verdicts)
        )
        for one in ours
    ]


def fit_svc(contest: Contest, case: KernelCase) -> Callable[[float | None], Any]:
    """scikit-learn's SVC."""
    from sklearn.svm import SVC

    C, y = contest.problem.C, contest.data.y
    return lambda _: SVC(C=C, **case.parameters).fit(case.X, y)


def fit_psvc(contest: Contest, case: KernelCase, p: float) -> Callable[[float | None], Any]:
    """PSVC."""
    from psvm import PSVC

    C, y = contest.problem.C, contest.data.y
    return lambda limit: PSVC(p, C=C, max_time=limit, **case.parameters).fit(case.X, y)


def judged(contest: Contest, contenders: Sequence[Contender]) -> dict[str, Verdict]:
    """The referee's verdicts on small problems; with the sigmoid kernel there is no optimum."""
    problem, (X, y) = contest.problem, contest.data
    ended = [one for one in contenders if one.seconds]
    small = X.shape[0] <= JUDGED_ROWS and y.max() < JUDGED_CLASSES
    if not small or not ended or problem.kernel == "sigmoid":
        return {}
    train = (kernel_values(problem, X), y)
    models, ps = [from_svc(one.model) for one in ended], [one.p for one in ended]
    found = judge(models, ps, train, train, C=problem.C, gamma=None)
    return {one.name: verdict for one, verdict in zip(ended, found, strict=True)}


def comparison(one: Contender, rival: Verdict | None, verdicts: dict[str, Verdict]) -> Record:
    """Our gap; at p = 1 also how far we are above the rival, in the reading that favours it."""
    if one.name not in verdicts:
        return {}
    ours = verdicts[one.name]
    found = {"gap": ours.gap}
    if rival is not None and one.p == 1.0:
        found |= {"rival_gap": rival.gap, "excess": ours.primal / rival.primal_best - 1.0}
    return found
