"""PSVR beside SVR, LinearPSVR beside LinearSVR, PSVRCV beside GridSearchCV(SVR).

The rivals, the grids and the referee are those of :mod:`benchmarks.regression`; turns, limits and
what counts are those of the classifiers beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.everyday.contest import Contest, our_name
from benchmarks.everyday.kernel_contest import JUDGED_ROWS
from benchmarks.everyday.rows import KernelCase, kernel_case, kernel_values
from benchmarks.everyday.turns import Contender
from benchmarks.regression.linear import linear_svr
from benchmarks.regression.referee import Loss, Verdict, judge_linear, judge_matrix
from benchmarks.regression.search import both_searches
from benchmarks.search import PS
from benchmarks.tables import Record


def kernel_contest(contest: Contest) -> list[Record]:
    """SVR first, as its seconds limit ours; at p > 1 it solves another problem, of p = 1."""
    case = kernel_case(contest.problem, contest.data.X)
    rival = Contender("SVR", fit_svr(contest, case))
    ours = [Contender(our_name(p), fit_psvr(contest, case, p), p) for p in contest.problem.ps]
    idle = contest.take_turns([rival, *ours])
    verdicts = judged(contest, [rival, *ours])
    return [
        contest.record(
            one, rival, control_seconds=idle, **comparison(one, verdicts.get(rival.name), verdicts)
        )
        for one in ours
    ]


def linear_contest(contest: Contest) -> list[Record]:
    """Both at their defaults."""
    ours = our_linear(contest)
    rival = Contender("LinearSVR", fit_linear_svr(contest))
    idle = contest.take_turns([rival, ours])
    found: Record = {}
    if ours.seconds and rival.seconds:
        mine, theirs = (linear_verdict(contest, one.model) for one in (ours, rival))
        found["excess"] = mine.primal / theirs.primal_best - 1.0
        found["rival_excess"] = theirs.primal_best / mine.primal - 1.0
    return [contest.record(ours, rival, control_seconds=idle, **found)]


def search_contest(contest: Contest) -> list[Record]:
    """PSVRCV over five p beside GridSearchCV(SVR), which has one; refits are left out."""
    X, y = contest.data

    def searching(number: int) -> Callable[[float | None], Any]:
        return lambda _: both_searches(X.shape[1], PS, None, refit=False)[number].fit(X, y)

    ours, rival = Contender("psvm five p", searching(0)), Contender("SVR", searching(1))
    contest.take_turns([rival, ours])
    return [contest.record(ours, rival)]


def loss_of(contest: Contest, p: float) -> Loss:
    """What is minimised."""
    return Loss(p, contest.problem.C, contest.problem.epsilon)


def fit_svr(contest: Contest, case: KernelCase) -> Callable[[float | None], Any]:
    """scikit-learn's SVR."""
    from sklearn.svm import SVR

    C, epsilon, y = contest.problem.C, contest.problem.epsilon, contest.data.y
    return lambda _: SVR(C=C, epsilon=epsilon, **case.parameters).fit(case.X, y)


def fit_psvr(contest: Contest, case: KernelCase, p: float) -> Callable[[float | None], Any]:
    """PSVR."""
    from psvm import PSVR

    fixed = {"C": contest.problem.C, "epsilon": contest.problem.epsilon, **case.parameters}
    y = contest.data.y
    return lambda limit: PSVR(p, max_time=limit, **fixed).fit(case.X, y)


def our_linear(contest: Contest) -> Contender:
    """LinearPSVR at its defaults."""
    from psvm import LinearPSVR

    problem, (X, y) = contest.problem, contest.data
    (p,) = problem.ps
    fixed = {"C": problem.C, "epsilon": problem.epsilon}
    return Contender(our_name(p), lambda limit: LinearPSVR(p, max_time=limit, **fixed).fit(X, y), p)


def fit_linear_svr(contest: Contest) -> Callable[[float | None], Any]:
    """scikit-learn's LinearSVR."""
    X, y = contest.data
    loss = loss_of(contest, contest.problem.ps[0])
    return lambda _: linear_svr(loss).fit(X, y)


def judged(contest: Contest, contenders: Sequence[Contender]) -> dict[str, Verdict]:
    """The referee's verdicts on small problems; with the sigmoid kernel there is no optimum."""
    problem, (X, y) = contest.problem, contest.data
    ended = [one for one in contenders if one.seconds]
    if X.shape[0] > JUDGED_ROWS or not ended or problem.kernel == "sigmoid":
        return {}
    K = kernel_values(problem, X)
    return {one.name: judge_matrix(K, y, one.model, loss_of(contest, one.p)) for one in ended}


def comparison(one: Contender, rival: Verdict | None, verdicts: dict[str, Verdict]) -> Record:
    """Our gap; at p = 1 also how far we are above the rival, in the reading that favours it."""
    if one.name not in verdicts:
        return {}
    found = {"gap": float(one.model.dual_gap_[0])}
    if rival is not None and one.p == 1.0:
        found["excess"] = verdicts[one.name].primal / rival.primal_best - 1.0
    return found


def linear_verdict(contest: Contest, model: Any) -> Verdict:
    """The referee's word on a linear model."""
    loss = loss_of(contest, contest.problem.ps[0])
    return judge_linear(*contest.data, model.coef_, model.intercept_, loss)
