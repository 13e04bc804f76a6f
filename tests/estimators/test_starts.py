"""Where a fit begins: solutions remembered by row of X, whatever became of the rows."""

import numpy as np
import pytest
from small_data import noisy

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.estimators.starts import ColdStart, HeadStart, KeptKernel, carried_alpha
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import feasible


def three_classes(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 3)) + 1.2 * y[:, None], y


def problems_heard(model, X, y, monkeypatch, **options):
    """The problems and starts that a fit hands to its solver."""
    heard = []

    def listen(problems, starts, *arguments, **others):
        heard.append((problems, starts))
        return solve(problems, starts, *arguments, **others)

    from psvm.estimators import svc

    solve = svc.solve_together
    with monkeypatch.context() as patch:
        patch.setattr(svc, "solve_together", listen)
        model.fit(X, y, **options)
    return heard[0]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("copies", [1, 3])
def test_the_same_fit_starts_at_its_solution(multi_class, copies, monkeypatch):
    X, y = three_classes()
    X, y = np.repeat(X, copies, axis=0), np.repeat(y, copies)
    model = PSVC(p=1.5, C=2.0, multi_class=multi_class, warm_start=True).fit(X, y)
    coef = np.abs(model.dual_coef_).sum()
    problems, starts = problems_heard(model, X, y, monkeypatch)
    assert len(starts) == 3
    total = sum(float(start.sum()) for start in starts)
    assert total == pytest.approx(coef, rel=1e-9)
    for problem, start in zip(problems, starts, strict=True):
        balanced = feasible(problem, start)
        np.testing.assert_allclose(balanced, start, atol=1e-12 * coef)
    assert model.n_iter_.max() <= 1 + (X.shape[0] <= 500)


def test_another_p_starts_from_the_slacks(monkeypatch):
    """alpha = p C xi^(p-1), with the slacks of the old solution, the heavier class scaled down."""
    X, y = noisy(700, 4)
    model = PSVC(p=1.5, C=2.0, warm_start=True, tol=1e-6).fit(X, y)
    slack = np.maximum(1.0 - np.where(y > 0, 1, -1) * model.decision_function(X), 0.0)
    model.set_params(p=2.0)
    _, (start,) = problems_heard(model, X, y, monkeypatch)
    wanted = 2.0 * 2.0 * slack
    for own in (y > 0, y <= 0):
        factor = start[own].sum() / wanted[own].sum()
        assert 0.8 < factor <= 1.0 + 1e-6
        np.testing.assert_allclose(start[own], factor * wanted[own], atol=1e-2)


@pytest.mark.parametrize("change", ["labels", "weights", "rows", "problems"])
def test_other_problems_start_cold(change, monkeypatch):
    X, y = three_classes()
    model = PSVC(warm_start=True).fit(X, y)
    options = {}
    if change == "labels":
        y = np.roll(y, 1)
    elif change == "weights":
        options["sample_weight"] = np.r_[0.0, np.ones(y.size - 1)]
    elif change == "rows":
        X, y = X[:-3], y[:-3]
    else:
        model.set_params(multi_class="ovr")
    _, starts = problems_heard(model, X, y, monkeypatch, **options)
    assert all(not start.any() for start in starts)


def test_linear_weights_are_a_start_for_other_rows():
    X, y = noisy(600, 4)
    model = LinearPSVC(C=10.0, warm_start=True, solver="semismooth_newton").fit(X, y)
    cold = LinearPSVC(C=10.0, solver="semismooth_newton").fit(X[:590], y[:590])
    warm = model.fit(X[:590], y[:590])
    first, at_zero = warm.history_[0][0], cold.history_[0][0]
    assert first["primal"] < 0.9 * at_zero["primal"]
    np.testing.assert_allclose(warm.coef_, cold.coef_, rtol=1e-2)


def test_alpha_out_of_range_is_no_start():
    loss = PNormHinge(50.0)
    with np.errstate(over="ignore"):
        carried = carried_alpha(np.ones(2), 1.5, lambda: np.array([1e30, 0.0]), loss, np.ones(2))
    assert carried is None


def test_a_search_leaves_its_matrix_and_its_alpha():
    """The final fit of a search takes fewer rounds than one from nothing."""
    X, y = noisy(1500, 30, seed=3, noise=1.0)
    search = PSVCCV((1.5,), (1.0,), (0.03,), cv=3).fit(X, y)
    alone = PSVC(p=1.5, C=1.0, gamma=0.03).fit(X, y)
    assert search.best_estimator_.n_iter_[0] < alone.n_iter_[0]
    np.testing.assert_allclose(
        search.best_estimator_.decision_function(X), alone.decision_function(X), atol=0.05
    )


class Rows:
    """Stands in for training rows in which every row has a place."""

    unmerged = True

    def in_order(self, order):
        self.order = order
        return self


class Kernel:
    stored = None


def test_sources_of_kernels():
    first, second = Rows(), Rows()
    made = []

    def make(rows):
        made.append(rows)
        return Kernel()

    kept = KeptKernel()
    assert kept.kernel(first, make) == kept.kernel(second, make)
    assert len(made) == 1
    gram, order = np.eye(2, dtype=np.float32), np.array([1, 0])
    rows, kernel = HeadStart(np.zeros((1, 2)), order, gram).kernel(first, make)
    assert rows.order is order
    assert kernel.stored is gram


def test_nothing_known_is_zero():
    class Problem:
        y = np.ones(3)

    np.testing.assert_array_equal(ColdStart().alpha(0, Problem(), Rows()), np.zeros(3))
