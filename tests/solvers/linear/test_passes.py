"""Passes over rows with signs, targets and costs, some of them on the same features, with NumPy.

tests: linear/linear_pass.hpp
tests: linear/chunk_loops.hpp
tests: linear/share.hpp
"""

import numpy as np
import pytest
import scipy.sparse as sp
from slow_prox import conjugate_of, loss_of, slow_prox

from psvm.mathematics.certificate import DualRows
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems, feasible
from psvm.solvers.linear.passes import Active, BlockPasses, Gram, Keep, Pass, Squares

POWERS = [1.0, 1.5, 1.75, 2.0, 3.0]
NOISE = 1e-9  # relative; the vector functions of the prox have about 12 digits


def problem(p, *, targets=True, shared=True, n=60, d=3, seed=0):
    """Two problems of three classes; 0 to 3 rows on each row of features, some without cost."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    place = np.sort(rng.integers(0, n, size=2 * n)) if shared else np.arange(n)
    size = place.size
    problems = LinearProblems(
        signs=np.array([[1, -1, 0], [-1, 1, 1]], dtype=np.int8),
        codes=rng.integers(0, 3, size=size).astype(np.int32),
        cost=rng.uniform(0.5, 2.0, size=size) * (rng.random(size) < 0.9),
        loss=PNormHinge(p),
        target=rng.normal(size=size) if targets else None,
        feature_row=place if shared else None,
    )
    return X, problems


def passes_over(X, problems, blocks=3, sparse=False, threads=2):
    parts = np.array_split(X, blocks)
    rows = [sp.csr_matrix(part) for part in parts] if sparse else parts
    return BlockPasses(rows, problems, [0, 1], threads)


class Reference:
    """One problem with NumPy: plain arrays over the rows that take part."""

    def __init__(self, X, problems, t):
        y = problems.signs[t][problems.codes].astype(float)
        self.rows = np.flatnonzero((y != 0) & (problems.cost > 0))
        place = np.arange(y.size) if problems.feature_row is None else problems.feature_row
        target = y if problems.target is None else problems.target
        self.place = place[self.rows]
        self.X, self.y = X[self.place], y[self.rows]
        self.target, self.cost = target[self.rows], problems.cost[self.rows]
        self.p = problems.loss.p

    def shortfall(self, w, b):
        return self.y * (self.target - self.X @ w - b)

    def prox(self, s, centre, sigma):
        return np.asarray(slow_prox(s, centre, self.cost, self.p, sigma), float)

    def per_class(self, values):
        return np.array([values[self.y < 0].sum(axis=0), values[self.y > 0].sum(axis=0)])

    def check_dual(self, dual, alpha):
        """Images, sums of alpha, the linear term and conjugates."""
        conjugate = np.asarray(conjugate_of(alpha, self.cost, self.p), float)
        for found, values in (
            (dual.image, alpha[:, None] * self.X),
            (dual.alpha, alpha),
            (dual.linear, alpha * self.y * self.target),
            (dual.conjugate, conjugate),
        ):
            wanted = self.per_class(values)
            assert found == pytest.approx(wanted, rel=NOISE, abs=NOISE * np.abs(alpha).sum())

    def loss(self, s):
        return float(loss_of(s, self.cost, self.p).sum())


def sigma_of(p):
    return 1.5 if p < 2.0 else np.inf


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("targets", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("p", POWERS)
def test_begin_move_and_settle(p, sparse, targets, shared):
    """Margins, alpha, W, images, the linear term, losses and slopes of both problems."""
    X, problems = problem(p, targets=targets, shared=shared)
    passes, sigma = passes_over(X, problems, sparse=sparse), sigma_of(p)
    rng = np.random.default_rng(1)
    w, v, b, c, step = *rng.normal(size=(2, 3)), 0.3, -0.4, -0.25
    first = passes.answer({t: Pass("begin", sigma, w, b, centre="zero") for t in (0, 1)})
    before = {t: passes.present_alpha(t) for t in (0, 1)}
    second = passes.answer(
        {t: Pass("move", sigma, v, c, centre="alpha", linearise=True) for t in (0, 1)}
    )
    squares = passes.answer({t: Squares() for t in (0, 1)})
    gram = passes.answer({t: Gram() for t in (0, 1)})
    active = passes.answer({t: Active() for t in (0, 1)})
    probed = passes.answer({t: Pass("probe", sigma, step=step) for t in (0, 1)})
    third = passes.answer({t: Pass("settle", sigma, step=step) for t in (0, 1)})
    for t in (0, 1):
        one = Reference(X, problems, t)
        s = one.shortfall(w, b)
        alpha = one.prox(s, 0.0, sigma)
        assert before[t][one.rows] == pytest.approx(alpha, rel=NOISE, abs=1e-14)
        assert np.count_nonzero(before[t]) == np.count_nonzero(alpha)
        one.check_dual(first[t].dual, alpha)
        assert first[t].loss == pytest.approx(one.loss(s), rel=NOISE)
        assert first[t].smallest_margin == pytest.approx(1.0 - s.max(), abs=1e-12)

        change = one.y * (one.X @ v + c)
        moved = one.prox(s - change, alpha, sigma)
        one.check_dual(second[t].dual, moved)
        assert second[t].slope_before == pytest.approx(alpha @ change, rel=NOISE)
        assert second[t].slope == pytest.approx(moved @ change, rel=NOISE)
        expected = 0.0 if np.isinf(sigma) else ((moved - alpha) ** 2).sum() / (2.0 * sigma)
        assert second[t].moved == pytest.approx(expected, rel=NOISE)
        # W by differences of the first pass, for the linearised alpha of the second.
        h = 1e-6
        weight = (one.prox(s + h, 0.0, sigma) - one.prox(s - h, 0.0, sigma)) / (2.0 * h)
        bound = one.cost if p == 1.0 else np.inf
        linearised = np.clip(alpha - weight * change, 0.0, bound)
        assert second[t].linearised.alpha == pytest.approx(one.per_class(linearised), rel=1e-5)
        goals = one.y * one.target
        wanted = one.per_class(linearised * goals)
        assert second[t].linearised.linear == pytest.approx(wanted, rel=1e-5, abs=1e-5)

        # The systems of the Newton step, at the W of the second pass.
        parts = active[t]
        found_rows = np.vstack([part.rows.toarray() if sparse else part.rows for part in parts])
        W = np.concatenate([part.weight for part in parts])
        inside = (
            np.flatnonzero(moved > 0) if p > 1 else np.flatnonzero((moved > 0) & (moved < one.cost))
        )
        # Rows on the same features are one.
        place = one.place[inside]
        assert np.array_equal(found_rows, X[np.unique(place)])
        assert second[t].active == inside.size
        assert second[t].weight == pytest.approx(W.sum())
        z = np.column_stack([found_rows, np.ones(W.size)])
        assert np.tril(gram[t]) == pytest.approx(np.tril(z.T @ (W[:, None] * z)))
        assert squares[t] == pytest.approx(W @ found_rows**2)

        settled = one.prox(s - (1.0 + step) * change, alpha, sigma)
        one.check_dual(third[t].dual, settled)
        assert probed[t].slope == pytest.approx(settled @ change, rel=NOISE)
        assert third[t].slope == pytest.approx(probed[t].slope, rel=1e-12)


@pytest.mark.parametrize("targets", [True, False])
@pytest.mark.parametrize("p", POWERS)
def test_certify(p, targets):
    """The Fenchel-Young terms of any alpha and any point add up to P - D, term by term."""
    X, problems = problem(p, targets=targets)
    passes, sigma = passes_over(X, problems), sigma_of(p)
    w, b = np.array([0.3, -1.0, 0.2]), 0.1
    passes.answer({t: Pass("begin", sigma, -w, b, centre="zero") for t in (0, 1)})
    passes.answer({t: Keep(False, (0.5, 0.25)) for t in (0, 1)})
    sums = passes.answer({t: Pass("certify", direction=w, b=b) for t in (0, 1)})
    for t in (0, 1):
        one = Reference(X, problems, t)
        factor = np.where(one.y > 0, 0.25, 0.5)
        alpha = factor * one.prox(one.shortfall(-w, b), 0.0, sigma)
        assert passes.best_alpha(t)[one.rows] == pytest.approx(alpha, rel=NOISE, abs=1e-14)
        one.check_dual(sums[t].dual, alpha)
        s = one.shortfall(w, b)
        conjugate = float(conjugate_of(alpha, one.cost, p).sum())
        assert sums[t].loss == pytest.approx(one.loss(s), rel=NOISE)
        assert sums[t].terms == pytest.approx(one.loss(s) + conjugate - alpha @ s, rel=NOISE)
        assert sums[t].terms >= 0.0
        assert sums[t].smallest_margin == pytest.approx(1.0 - s.max(), abs=1e-12)


@pytest.mark.parametrize("p", POWERS)
def test_start_of_any_alpha(p):
    """take_alpha balances, scales to the best D, and tells it."""
    X, problems = problem(p, seed=3)
    passes = passes_over(X, problems)
    given = np.random.default_rng(0).uniform(0.0, 1.0, problems.codes.size)
    for t in (0, 1):
        one = Reference(X, problems, t)
        alpha, value = passes.take_alpha(t, given)
        assert np.array_equal(passes.best_alpha(t), alpha)
        alpha = alpha[one.rows]
        assert alpha @ one.y == pytest.approx(0.0, abs=1e-12)

        def dual(alpha, one=one):
            w = (alpha * one.y) @ one.X
            linear = float(alpha @ (one.y * one.target))
            return linear - 0.5 * w @ w - float(conjugate_of(alpha, one.cost, p).sum())

        assert value == pytest.approx(dual(alpha), rel=NOISE, abs=1e-12)
        whole = feasible(DualRows(one.y, one.y, one.cost, problems.loss), given[one.rows])
        assert value >= max(dual(factor * whole) for factor in (0.0, 0.1, 0.5, 1.0)) - 1e-12


@pytest.mark.parametrize("threads", [1, 3])
def test_more_rows_on_a_row_of_features_than_a_chunk_holds(threads):
    """5,000 rows on two rows of features, then one row on each of many."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    place = np.concatenate([np.zeros(3000), np.ones(2000), np.arange(2, 300)]).astype(np.int64)
    target = np.random.default_rng(1).normal(size=place.size)
    codes = (np.arange(place.size) % 2).astype(np.int32)
    problems = LinearProblems(
        signs=np.array([[1, -1]], dtype=np.int8),
        codes=codes,
        cost=np.ones(place.size),
        loss=PNormHinge(2.0),
        target=target,
        feature_row=place,
    )
    passes = BlockPasses(np.array_split(X, 2), problems, [0], threads)
    w = np.array([0.5, 0.1, -0.3, 0.2])
    sums = passes.answer({0: Pass("begin", np.inf, w, 0.1)})[0]
    one = Reference(X, problems, 0)
    alpha = 2.0 * np.maximum(one.shortfall(w, 0.1), 0.0)
    one.check_dual(sums.dual, alpha)
    assert passes.present_alpha(0) == pytest.approx(alpha, rel=1e-12)
    assert np.array_equal(passes.active_rows(0), np.flatnonzero(alpha))


@pytest.mark.parametrize("shared", [True, False])
def test_a_band_is_as_wide_for_every_cost(shared):
    """alpha goes from 0 to the cost of each row across the band, and W > 0 inside."""
    X, problems = problem(1.0, shared=shared)
    passes, w, b, half = passes_over(X, problems), np.array([0.5, -0.2, 0.1]), 0.2, 0.7
    orders = {t: Pass("begin", 1.0 / half, w, b, centre="band") for t in (0, 1)}
    sums = passes.answer(orders)
    for t in (0, 1):
        one = Reference(X, problems, t)
        s = one.shortfall(w, b)
        alpha = one.cost * np.clip(0.5 + 0.5 * s / half, 0.0, 1.0)
        assert passes.present_alpha(t)[one.rows] == pytest.approx(alpha, rel=1e-12)
        one.check_dual(sums[t].dual, alpha)
        assert sums[t].loss == pytest.approx(one.loss(s), rel=NOISE)
        assert np.array_equal(passes.active_rows(t), one.rows[np.abs(s) < half])
        assert sums[t].active == np.count_nonzero(np.abs(s) < half)
