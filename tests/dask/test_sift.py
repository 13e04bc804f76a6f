"""Sifting: from the sample's solution a step by all rows, then the rows near the margin alone."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import noisy_classes

from psvm import LinearPSVC
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems
from psvm.solvers.linear.newton import Begin
from psvm.solvers.linear.passes import BlockPasses, Pass, RowsLost

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from psvm.dask import DaskLinearPSVC  # noqa: E402
from psvm.dask import sift as module  # noqa: E402
from psvm.dask.sample import Sampled, Slope  # noqa: E402
from psvm.dask.solve import ClusterSolve  # noqa: E402
from psvm.dask.step import Band  # noqa: E402


def test_rows_that_are_lost_with_their_band_end_it(monkeypatch):
    """Then nothing is left to ask for."""
    asked = []

    def ask(orders):
        assert orders
        bands = {t: isinstance(order, Band) for t, order in orders.items()}
        asked.append(bands)
        return {t: RowsLost() if band else [SimpleNamespace(active=5)] for t, band in bands.items()}

    solve = MagicMock(ask=ask, costs=SimpleNamespace(count=[1000], typical=[1.0]))
    solve.summary.entries = 3.0
    monkeypatch.setattr(module, "_judged", lambda *_: False)
    sampled = {0: Sampled(Begin(np.zeros(3), 0.0), 0.01)}
    assert module.sift(solve, sampled, {0: MagicMock()}) == ({}, {})
    assert asked == [{0: False}, {0: True}]


def passes_of(X, y, cost, shift):
    codes, signs = (y > 0).astype(np.int32), np.array([[-1, 1]], dtype=np.int8)
    problems = LinearProblems(signs, codes, cost, PNormHinge(1.0), True, None, None)
    return BlockPasses([X], problems, [0], 1, shift)


def test_a_step_by_a_samples_slope_leads_near_the_solution_of_all_rows():
    """Also where costs differ, and features are far from 0."""
    X, y = noisy_classes(40_000, 6)
    X, y = X + 5.0, np.where(y == y[0], 1, -1)
    weight = np.where(X[:, 0] > 5.0, 3.0, 0.5)
    some = slice(None, None, 20)
    whole = LinearPSVC(1.0, C=1.0, tol=1e-8).fit(X, y, weight)
    part = LinearPSVC(1.0, C=20.0, tol=1e-6).fit(X[some], y[some], weight[some])
    begin = Begin(part.coef_.ravel(), float(part.intercept_[0]))
    width = 4.0 * np.sqrt(7 / 2_000)
    sample = passes_of(X[some], y[some], 20.0 * weight[some], X[some].mean(axis=0))
    slope = Slope.at(sample, 0, begin, width, 1.0)
    order = Pass("begin", 1.0 / width, begin.w, begin.b, centre="band")
    sums = passes_of(X, y, weight, X.mean(axis=0)).answer({0: order})[0]
    stepped = slope.step(begin, sums)

    def off(w, b):
        """Root of the mean square by which margins differ from those of the solution."""
        difference = X @ (w - whole.coef_.ravel()) + (b - whole.intercept_[0])
        return float(np.sqrt(np.mean(difference**2)))

    sparse = passes_of(sp.csr_matrix(X[some]), y[some], 20.0 * weight[some], None)
    again = Slope.at(sparse, 0, begin, width, 1.0).step(begin, sums)
    assert again[0].w == pytest.approx(stepped[0].w, rel=1e-6)
    assert again[1] == pytest.approx(stepped[1], rel=1e-6)
    assert off(stepped[0].w, stepped[0].b) < 0.4 * off(begin.w, begin.b)
    assert stepped[1] == pytest.approx(off(begin.w, begin.b), rel=0.5)


def test_a_sample_with_few_rows_near_the_margin_tells_no_slope():
    X, y = noisy_classes(400, 6)
    passes = passes_of(X, np.where(y == y[0], 1, -1), np.ones(400), None)
    assert Slope.at(passes, 0, Begin(np.ones(6), 0.0), 1e-3, 1.0) is None


def test_few_rows_travel_and_the_last_round_certifies(client, monkeypatch):
    """Blocks, what they say, sample, two passes, band and certificate: seven round trips."""
    X, y = noisy_classes(60_000, 10)
    lazy = da.from_array(X, chunks=(9_000, 10)), da.from_array(y, chunks=9_000)

    def not_this_way(solve, begins, stages):
        assert not begins, "not solved by sifting"
        return {}

    monkeypatch.setattr(ClusterSolve, "_newton", not_this_way)
    model = DaskLinearPSVC(1.0, C=0.1, client=client).fit(*lazy)
    assert model.traffic_["round_trips"] == 7
    assert model.dual_gap_[0] <= 1e-4
    best = LinearPSVC(1.0, C=0.1, tol=1e-9).fit(X, y)
    excess = model.primal_objective_[0] / best.primal_objective_[0] - 1.0
    assert -1e-9 <= excess <= model.dual_gap_[0]
    # Rows with alpha > 0: as many as on one machine, but for some at the margin.
    assert model.n_support_ == pytest.approx(best.n_support_, rel=0.02)
    # Without a step by all rows the band is wider.
    monkeypatch.setattr(Slope, "at", lambda *_: None)
    without = DaskLinearPSVC(1.0, C=0.1, client=client).fit(*lazy)
    assert without.dual_gap_[0] <= 1e-4
    assert without.traffic_["bytes_summed"] > 2.0 * model.traffic_["bytes_summed"]
