"""Records are numbered through all stages, limits are shared, and the status fits the gap."""

import time

import numpy as np
import pytest

from psvm import _core
from psvm.mathematics.certificate import Certificate
from psvm.rows.sizes import FEW_ROWS, MOST_EFFORT
from psvm.solvers.ledger import Budget, Ledger, OutOfTime, Solution, Status, phase_seconds


def record(iteration, **rest):
    return {"iteration": iteration, "gap": 0.1, **rest}


def solution(gap, status):
    return Solution(lambda: np.ones(3), Certificate(1.0, 1.0 - gap, gap, 0.0), status)


def test_rounds_count_through_all_stages():
    ledger = Ledger(Budget())
    for name in ("pairs", "newton", "pairs"):
        stage = ledger.stage(name)
        for iteration in range(3):
            stage.tell(record(iteration))
    assert [one["iteration"] for one in ledger.records] == list(range(7))
    assert [one["solver"] for one in ledger.records] == [*["pairs"] * 3, *["newton"] * 2] + [
        "pairs"
    ] * 2
    assert ledger.rounds == 6
    seconds = [one["seconds"] for one in ledger.records]
    assert seconds == sorted(seconds)


def test_the_first_record_of_a_stage_says_why():
    """Even where the stage starts at a point that is on record already."""
    ledger = Ledger(Budget())
    for why in ("because", "and then"):
        stage = ledger.stage("newton", why)
        stage.tell(record(0))
        stage.tell(record(1))
    assert [one.get("why") for one in ledger.records] == ["because", None, "and then", None]
    assert [one["iteration"] for one in ledger.records] == [0, 1, 1, 2]


def test_seconds_of_a_stage_are_those_of_the_solve():
    ledger = Ledger(Budget())
    time.sleep(0.01)
    ledger.stage("cpp").tell(record(0, seconds=1.0))
    assert 1.01 <= ledger.records[0]["seconds"] < 2.0


@pytest.mark.parametrize("listens", [True, False])
def test_every_record_is_kept_and_told_once(listens):
    """A solver that was listened to has told its history; another hands it over at its end."""
    told = []
    ledger = Ledger(
        Budget(), number=4, on_round=(lambda *one: told.append(one)) if listens else None
    )
    stage = ledger.stage("cpp")
    history = [record(0, seconds=0.0), record(1, seconds=0.1)]
    assert (stage.listener is not None) == listens
    for one in history if listens else []:
        assert not stage.listener(one)
    stage.take(history)
    assert [one["iteration"] for one in ledger.records] == [0, 1]
    assert told == ([(4, one) for one in ledger.records] if listens else [])


def test_phases_of_all_stages_are_in_the_last_record_of_a_closed_ledger():
    ledger = Ledger(Budget())
    for _ in range(2):
        stage = ledger.stage("cpp")
        stage.take([record(0, seconds=0.0), record(1, seconds=0.1)], {"steps": 1.0, "apply": 0.5})
    ledger.stage("newton").tell(record(0))
    history = ledger.closed(solution(0.0, Status.CONVERGED)).history
    assert all("phases" not in one for one in history[:-1])
    phases = phase_seconds([history, [], history])
    assert (phases["steps"], phases["apply"]) == (4.0, 2.0)
    assert phases["outside"] == pytest.approx(2.0 * (ledger.seconds - 3.0), abs=0.1)
    assert phase_seconds([[record(0)]]) == {}


def test_a_request_to_stop_holds_for_later_stages():
    ledger = Ledger(Budget(), on_round=lambda _, one: one["iteration"] == 1)
    first = ledger.stage("pairs")
    assert [first.tell(record(k)) for k in range(2)] == [False, True]
    assert ledger.stage("newton").tell(record(0))


def test_a_cancelled_fit_stops():
    cancel = _core.Cancel()
    stage = Ledger(Budget(), cancel=cancel).stage("newton")
    assert not stage.tell(record(0))
    cancel.set()
    assert stage.tell(record(1))


def test_stages_share_the_rounds():
    ledger = Ledger(Budget(max_iter=5))
    stage = ledger.stage("pairs", rounds=3)
    assert stage.max_iter == 3
    assert stage.spent(2) is None
    assert stage.spent(3) is Status.MAX_ITER
    stage.tell(record(3))
    assert ledger.rounds_left == 2
    assert ledger.stage("newton").max_iter == 2
    assert ledger.stage("pairs", rounds=3).max_iter == 2
    assert Ledger(Budget()).stage("pairs").max_iter == -1
    assert Ledger(Budget()).stage("pairs", rounds=3).max_iter == 3


def test_problems_share_the_seconds():
    late = Ledger(Budget(max_time=10.0, began=time.perf_counter() - 6.0))
    assert 3.0 < late.stage("newton").max_time <= 4.0
    over = Ledger(Budget(max_time=10.0, began=time.perf_counter() - 11.0)).stage("newton")
    assert over.max_time == 0.0
    assert over.spent(0) is Status.MAX_TIME
    assert Ledger(Budget()).stage("newton").max_time is None


def test_an_aside_has_the_limits_but_no_listener():
    told = []
    ledger = Ledger(Budget(max_iter=5, max_time=9.0), on_round=lambda *one: told.append(one))
    ledger.stage("newton").tell(record(2))
    aside = ledger.aside(1e-2)
    assert (aside.tol, aside.max_iter) == (1e-2, 3)
    assert aside.max_time <= 9.0
    aside.tell(record(1))
    assert len(told) == len(ledger.records) == 1
    assert ledger.rounds == 2


@pytest.mark.parametrize(
    ("gap", "status", "indefinite", "final"),
    [
        (1e-5, Status.CONVERGED, False, Status.CONVERGED),
        (1e-5, Status.MAX_ITER, False, Status.CONVERGED),
        (1e-5, Status.CONVERGED, True, Status.STATIONARY),
        (1e-5, Status.STATIONARY, False, Status.CONVERGED),
        (1e-3, Status.STATIONARY, False, Status.STALLED),
        (1e-3, Status.CONVERGED, False, Status.STALLED),
        (1e-3, Status.MAX_TIME, False, Status.MAX_TIME),
        (np.inf, Status.UNBOUNDED, False, Status.UNBOUNDED),
    ],
)
def test_the_final_status_agrees_with_the_gap(gap, status, indefinite, final):
    ledger = Ledger(Budget(tol=1e-4))
    ledger.stage("newton").tell(record(7))
    closed = ledger.closed(solution(gap, status), indefinite=indefinite)
    assert closed.status is final
    assert closed.n_iter == 7
    assert closed.history is ledger.records
    assert closed.alpha.tolist() == [1.0, 1.0, 1.0]


def test_few_rows_have_a_limit_of_effort():
    assert Budget().over_rows(FEW_ROWS).max_effort is None
    assert Budget().over_rows(FEW_ROWS - 1).max_effort == MOST_EFFORT
    assert Ledger(Budget()).stage("newton").max_effort is None
    ledger = Ledger(Budget(max_effort=10.0), share=0.5)
    assert 4.9 < ledger.effort_left <= 5.0
    assert 2.4 < ledger.stage("pairs", share=0.5).max_effort <= 2.5
    spent = Ledger(Budget(max_effort=0.0)).stage("newton")
    assert spent.max_effort == 0.0
    assert spent.spent(1) is Status.STALLED


def test_effort_is_not_what_others_do():
    budget = Budget(began=time.perf_counter() - 100.0)
    assert budget.effort < 50.0  # the process has hardly worked since


def test_seconds_are_kept_in_reserve():
    stage = Ledger(Budget(max_time=10.0, began=time.perf_counter() - 7.0)).stage("newton")
    assert stage.spent(1) is None
    ledger = Ledger(Budget(max_time=10.0, began=time.perf_counter() - 7.0), reserve=lambda: 4.0)
    assert ledger.stage("newton").spent(1) is Status.MAX_TIME


@pytest.mark.parametrize(("last_round", "status"), [(0.9, None), (1.5, Status.MAX_TIME)])
def test_no_round_begins_that_would_end_late_by_more_than_the_grace(last_round, status):
    now = time.perf_counter()
    stage = Ledger(Budget(max_time=10.0, began=now - 9.2)).stage("newton")  # 0.8 s are left
    stage.round_began = now - last_round
    assert stage.spent(1) is status


def test_hurry_comes_after_some_grace():
    Ledger(Budget()).hurry()
    Ledger(Budget(max_time=1.0, began=time.perf_counter() - 1.05)).hurry()
    with pytest.raises(OutOfTime):
        Ledger(Budget(max_time=1.0, began=time.perf_counter() - 1.6)).hurry()


def test_a_limit_of_rounds_that_is_not_the_users_is_a_stall():
    ledger = Ledger(Budget(tol=1e-4))
    ledger.stage("pairs", rounds=1).tell(record(1))
    assert ledger.closed(solution(0.1, Status.MAX_ITER)).status is Status.STALLED
    ledger = Ledger(Budget(tol=1e-4, max_iter=1))
    ledger.stage("pairs").tell(record(1))
    assert ledger.closed(solution(0.1, Status.MAX_ITER)).status is Status.MAX_ITER
