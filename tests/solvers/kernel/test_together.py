"""All problems of a fit: the same in one thread and in several, and one failure ends them all."""

import threading
import time

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import KernelProblem
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel
from psvm.solvers.kernel import together
from psvm.solvers.kernel.together import solve_together
from psvm.solvers.ledger import Budget, Status

SIZE = 60
EXACT = Budget(tol=1e-8)


def three_pairs(threads, cost=1.0):
    """Problems of the pairs of three classes, and their kernel; of infinite cost no small ones."""
    X = np.random.default_rng(0).normal(size=(3 * SIZE, 2))
    kernel = TrainingKernel(
        Kernel("rbf", 0.5 if np.isfinite(cost) else 50.0),
        X,
        [0, SIZE, 2 * SIZE, 3 * SIZE],
        1e7,
        threads=threads,
    )
    y = np.repeat([1.0, -1.0], SIZE)
    problems = [
        KernelProblem(y, y, np.full(2 * SIZE, cost), PNormHinge(1.5), segments=list(pair))
        for pair in ((0, 1), (0, 2), (1, 2))
    ]
    return problems, [np.zeros(2 * SIZE)] * 3, kernel


def pairs_of_three_sizes(threads, cost):
    """As ``three_pairs``, of 90, 150 and 180 rows: the shortest first."""
    starts = [0, 30, 90, 210]
    X = np.random.default_rng(1).normal(size=(starts[-1], 2))
    kernel = TrainingKernel(
        Kernel("rbf", 0.5 if np.isfinite(cost) else 50.0), X, starts, 1e7, threads=threads
    )
    problems = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        sizes = [starts[i + 1] - starts[i], starts[j + 1] - starts[j]]
        y = np.repeat([1.0, -1.0], sizes)
        costs = np.full(y.size, cost)
        problems.append(KernelProblem(y, y, costs, PNormHinge(1.5), segments=[i, j]))
    return problems, [np.zeros(problem.y.size) for problem in problems], kernel


def solve(threads, on_round=None, *, in_order=False, budget=EXACT, cost=1.0):
    return solve_together(*three_pairs(threads, cost), budget, on_round, in_order=in_order)


@pytest.mark.parametrize(("threads", "in_order"), [(1, False), (2, False), (2, True), (8, False)])
def test_each_solution_is_that_of_its_problem(threads, in_order):
    problems, _, kernel = three_pairs(1)
    alone = solve(1, in_order=True)
    K = rbf_kernel(kernel.X, gamma=0.5)
    for t, (one, problem) in enumerate(
        zip(solve(threads, in_order=in_order), problems, strict=True)
    ):
        rows = np.concatenate([np.arange(s * SIZE, (s + 1) * SIZE) for s in problem.segments])
        assert one.status is Status.CONVERGED
        assert one.certificate.gap <= 1e-8
        decision = K[np.ix_(rows, rows)] @ (problem.y * one.alpha)
        assert one.decision == pytest.approx(decision, abs=1e-8)
        assert one.alpha == pytest.approx(alone[t].alpha, abs=1e-4)


@pytest.mark.parametrize("cost", [1.0, np.inf])
def test_the_longest_come_first_and_solutions_stay_in_order(cost):
    alone, shared = (
        solve_together(*pairs_of_three_sizes(threads, cost), EXACT, None, in_order=False)
        for threads in (1, 2)
    )
    assert [one.alpha.size for one in shared] == [90, 150, 180]
    for one, other in zip(alone, shared, strict=True):
        assert one.alpha == pytest.approx(other.alpha, abs=1e-9)


@pytest.mark.parametrize("cost", [1.0, np.inf])
@pytest.mark.parametrize("in_order", [True, False])
def test_who_listens_hears_of_every_problem(in_order, cost):
    """In order on the calling thread, one problem after the other; else on threads of their own.

    Small problems always are in order.
    """
    heard = []

    def on_round(t, record):
        heard.append((t, threading.get_ident()))
        return False

    solve(2, on_round, in_order=in_order, cost=cost)
    in_order = in_order or np.isfinite(cost)
    assert {t for t, _ in heard} == {0, 1, 2}
    here = {thread == threading.get_ident() for _, thread in heard}
    assert here == {in_order}
    if in_order:
        assert [t for t, _ in heard] == sorted(t for t, _ in heard)


def test_a_problem_is_stopped_alone():
    stopped = solve(2, lambda t, record: t == 1)
    assert [one.status for one in stopped] == [
        Status.CONVERGED,
        Status.STOPPED,
        Status.CONVERGED,
    ]


def test_one_failure_cancels_the_others(monkeypatch):
    """Those under way are told, those that wait never begin, and the error is the first one."""
    begun, told, numbers = threading.Event(), [], []

    def solve_kernel(problem, kernel, start, ledger, *, threads, solved):
        numbers.append(ledger.number)
        assert threads == 1
        if ledger.number == 1:
            assert begun.wait(30.0)
            raise RuntimeError("problem 1")
        begun.set()
        end = time.perf_counter() + 30.0
        while not ledger.cancel.is_set() and time.perf_counter() < end:
            time.sleep(0.01)
        told.append(ledger.cancel.is_set())
        raise InterruptedError

    monkeypatch.setattr(together, "solve_kernel", solve_kernel)
    with pytest.raises(RuntimeError, match="problem 1"):
        solve(2, cost=np.inf)
    assert all(told)
    assert {0, 1} <= set(numbers)


def test_in_order_a_failure_is_the_last_that_happens():
    heard = []

    def on_round(t, record):
        heard.append(t)
        raise RuntimeError(f"problem {t}")

    with pytest.raises(RuntimeError, match="problem 0"):
        solve(2, on_round, in_order=True)
    assert heard == [0]


def test_problems_share_the_time_of_the_fit():
    found = solve(1, in_order=True, budget=Budget(tol=0.0, max_time=0.0))
    assert {one.status for one in found} == {Status.MAX_TIME}
