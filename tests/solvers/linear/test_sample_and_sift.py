"""Newton on many rows: the same solution from a sample and by sifting as without them."""

import numpy as np
import pytest
import scipy.sparse as sp

from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems, LinearStart
from psvm.solvers.ledger import Budget, Ledger, Status
from psvm.solvers.linear import sample_and_sift
from psvm.solvers.linear.newton import Begin
from psvm.solvers.linear.passes import BlockPasses
from psvm.solvers.linear.sample_and_sift import gather, solve_newton
from psvm.solvers.linear.summary import summarise

SIZE, TOL = 20_000, 1e-6


def given(p, *, n=SIZE, d=2, C=1.0, seed=0):
    """Rows in two blocks and their passes, of one problem of two noisy classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    codes = (X[:, 0] + 0.5 * rng.normal(size=n) > 0.3).astype(np.int32)
    problems = LinearProblems(
        signs=np.array([[-1, 1]], dtype=np.int8),
        codes=codes,
        cost=np.full(n, C),
        loss=PNormHinge(p),
    )
    rows = [X[: n // 3], X[n // 3 :]]
    summary = summarise(rows, centred=True)
    return X, problems, BlockPasses(rows, problems, [0], 1, summary.shift), summary


def solve(passes, summary, start=None, *, tol=TOL, in_order=False):
    """The best pair, and the records of the rounds."""
    ledger = Ledger(Budget(tol=tol))
    stages = {0: ledger.stage("newton")}
    found = solve_newton(passes, summary, {0: start}, stages, in_order=in_order)
    return found[0], ledger.records


def primal(problems, X, w, b):
    y = problems.signs[0][problems.codes]
    xi = np.maximum(1.0 - y * (X @ w + b), 0.0)
    return 0.5 * w @ w + np.sum(problems.cost * xi**problems.loss.p)


def dual(problems, X, alpha):
    y = problems.signs[0][problems.codes]
    w = (y * alpha) @ X
    p, cost = problems.loss.p, problems.cost
    value = alpha.sum() - 0.5 * w @ w
    if p > 1.0:
        slack = (alpha / (p * cost)) ** (1.0 / (p - 1.0))
        value -= np.sum(alpha * slack) * (p - 1.0) / p
    return value


@pytest.mark.parametrize("d", [2, 30], ids=["few entries", "many"])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_values_are_true_and_their_gap_is_closed(p, d):
    """By their formulas; at p = 1 alpha is put together from the rows inside and outside a band."""
    X, problems, passes, summary = given(p, d=d)
    assert sample_and_sift._Newton(passes, summary, {}).many_rows == (d == 30)
    end, _ = solve(passes, summary)
    assert end.status is Status.CONVERGED
    alpha = passes.best_alpha(0)
    y = problems.signs[0][problems.codes]
    assert end.primal == pytest.approx(primal(problems, X, end.w, end.b), rel=1e-9)
    assert end.dual == pytest.approx(dual(problems, X, alpha), rel=1e-9)
    assert abs(y @ alpha) <= 1e-8 * alpha.sum()
    assert alpha.min() >= 0.0
    assert p > 1.0 or alpha.max() <= 1.0
    rounding = 1e-13 * end.primal
    assert -rounding <= end.primal - end.dual <= 1.01 * TOL * end.primal


def test_sifting_solves_the_rows_near_the_margin_alone(monkeypatch):
    """Then no pass of Newton's goes over all rows: only the first looks, and the last judges."""
    _, _, passes, summary = given(1.0, n=250_000)
    orders = []
    answer = passes.answer
    monkeypatch.setattr(passes, "answer", lambda asked: orders.append(asked) or answer(asked))
    end, _ = solve(passes, summary)
    assert end.status is Status.CONVERGED
    kinds = [type(order).__name__ for asked in orders for order in asked.values()]
    assert "Gram" not in kinds
    assert len(kinds) <= 8


def test_a_sample_has_its_share_of_every_class_and_the_cost_of_all(monkeypatch):
    monkeypatch.setattr(sample_and_sift, "sample_size", lambda rows, features: 2000)
    _, problems, _, summary = given(1.5)
    some, places = sample_and_sift.sample_of(problems, summary.rows, summary.features)
    counts, found = np.bincount(problems.codes), np.bincount(some.codes)
    assert found == pytest.approx(counts * 0.1, rel=0.15)
    costs = np.bincount(some.codes, weights=some.cost)
    assert costs == pytest.approx(np.bincount(problems.codes, weights=problems.cost))
    assert np.all(np.diff(places) > 0)
    np.testing.assert_array_equal(problems.codes[places], some.codes)
    # A class of few rows is taken whole; rows without cost are not.
    rare = problems.codes.copy()
    rare[:] = 0
    rare[:100] = 1
    cost = np.where(np.arange(rare.size) < 40, 0.0, 1.0)
    few = LinearProblems(signs=problems.signs, codes=rare, cost=cost, loss=problems.loss)
    some, places = sample_and_sift.sample_of(few, summary.rows, summary.features)
    assert np.count_nonzero(rare[places] == 1) == 60
    np.testing.assert_array_equal(some.cost[some.codes == 1], 1.0)


@pytest.mark.parametrize(
    ("n", "C", "pays"), [(SIZE, 1.0, False), (250_000, 1.0, True), (250_000, np.inf, False)]
)
def test_a_sample_pays_for_many_rows(n, C, pays):
    _, _, passes, summary = given(1.5, n=n, C=C)
    assert sample_and_sift._Newton(passes, summary, {}).many_rows == pays


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_a_warm_start_is_soon_done(p):
    _, _, passes, summary = given(p, n=3000)
    cold, records = solve(passes, summary)
    alpha = passes.best_alpha(0)
    warm, again = solve(passes, summary, LinearStart(cold.w, cold.b, alpha), tol=1e-5)
    assert len(again) <= 2 < len(records)
    assert warm.primal == pytest.approx(cold.primal, rel=1e-5)
    # From coefficients alone, and from a point of the caller's.
    for start in (LinearStart(cold.w, cold.b, None), Begin(cold.w, cold.b)):
        end, _ = solve(passes, summary, start, in_order=True)
        assert end.primal == pytest.approx(cold.primal, rel=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_gather_rows_of_blocks(sparse):
    X = np.arange(30.0).reshape(10, 3)
    blocks = [X[:4], X[4:4], X[4:7], X[7:]]
    blocks = [sp.csr_array(block) for block in blocks] if sparse else blocks
    for chosen in ([0, 3, 4, 9], [5, 5, 6], [8]):
        found = gather(blocks, np.array(chosen))
        assert (found.toarray() if sparse else found).tolist() == X[chosen].tolist()
