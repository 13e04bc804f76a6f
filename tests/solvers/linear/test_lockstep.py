"""Rows that lose their state, or run out of time, in the middle of a solve."""

from dataclasses import replace

import numpy as np
import pytest

from psvm import LinearPSVC
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems
from psvm.solvers.ledger import Budget, Ledger, OutOfTime, Status
from psvm.solvers.linear.lockstep import in_lockstep
from psvm.solvers.linear.newton import Begin, NewtonTask, semismooth_newton
from psvm.solvers.linear.passes import BlockPasses, Keep, Pass, RowsLost


def problem(p, n=400, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(np.int32)
    signs = np.array([[-1, 1]], dtype=np.int8)
    return X, y, LinearProblems(signs, y, np.full(n, 0.5), PNormHinge(p))


def task_of(problems, X):
    d = X.shape[1]
    return NewtonTask(
        loss=problems.loss,
        hard=False,
        fit_intercept=True,
        begin=Begin(np.zeros(d), 0.0),
        stage=Ledger(Budget(tol=1e-11)).stage("test"),
        typical_cost=0.5,
        total_cost=float(problems.cost.sum()),
        largest=float((X**2).sum(axis=1).max()),
        entries=d,
        shift=np.zeros(d),
        fixed=np.zeros(d + 1),
    )


class Forgetful:
    """Answers orders, and forgets all state before some of them."""

    def __init__(self, X, problems, losses):
        self.X, self.problems, self.losses = X, problems, losses
        self.orders = []
        self.forget()

    def forget(self):
        self.passes, self.begun = BlockPasses([self.X], self.problems, [0], 1), False

    def answer(self, orders):
        self.orders.append(orders[0])
        if len(self.orders) in self.losses:
            self.forget()
        order = orders[0]
        if isinstance(order, Pass) and order.kind == "begin":
            centre = {1.0: "half_cost", 1.5: "slack"}.get(self.problems.loss.p, "zero")
            if order.centre == "keep" and not self.begun:
                order = replace(order, centre=centre)
            self.begun = True
        return self.passes.answer({0: order}) if self.begun else {0: RowsLost()}


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("losses", [(4,), (7, 8, 9, 20), (6, 13, 14)])
def test_a_loss_costs_passes_and_nothing_else(p, losses):
    X, y, problems = problem(p)
    rows = Forgetful(X, problems, losses)
    end = in_lockstep(rows.answer, {0: semismooth_newton(task_of(problems, X))})[0]
    local = LinearPSVC(p, C=0.5, tol=1e-11).fit(X, y)
    assert end.status is Status.CONVERGED
    assert end.w == pytest.approx(local.coef_[0], abs=1e-6)
    assert end.b == pytest.approx(local.intercept_[0], abs=1e-6)
    # The best alpha is that of the rows, not one that was forgotten.
    if rows.begun:
        proof = rows.passes.answer({0: Pass("certify", direction=end.w, b=end.b)})[0]
        off = end.w - (proof.dual.image[1] - proof.dual.image[0])
        assert 0.5 * off @ off + proof.terms <= 1e-8 * end.primal


@pytest.mark.parametrize("after", [1, 2, 5, 9])
def test_out_of_time_ends_with_the_best_so_far(after):
    X, _, problems = problem(1.0)
    rows = Forgetful(X, problems, ())

    def answer(orders):
        if len(rows.orders) >= after - 1 and not isinstance(orders[0], Keep):
            return {0: OutOfTime()}
        return rows.answer(orders)

    end = in_lockstep(answer, {0: semismooth_newton(task_of(problems, X))})[0]
    assert end.status is Status.MAX_TIME
    assert np.isfinite(end.w).all()
