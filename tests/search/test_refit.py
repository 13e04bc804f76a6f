"""The final fit of a search: on the Gram matrix of its width, from the solutions of the splits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit
from small_data import blobs, noisy

from psvm import PSVC, PSVCCV
from psvm.rows.sizes import WHOLE
from psvm.search import gram
from psvm.solvers.kernel import choose

CS, GAMMAS = [0.3, 3.0, 30.0], [0.01, 0.1, 1.0]


@pytest.fixture
def matrices(monkeypatch):
    """Shapes of the stored matrices that float32 problems are solved on."""
    seen = []
    solve = choose.solve_working_set

    def noted(problem, kernel, *arguments, float32, **others):
        if float32 and kernel.stored is not None:
            seen.append(kernel.stored.shape)
        return solve(problem, kernel, *arguments, float32=float32, **others)

    monkeypatch.setattr(choose, "solve_working_set", noted)
    return seen


def two_classes():
    return noisy(n=620, d=30, seed=1)


def several_classes():
    return blobs(n=600, classes=4, d=6)


def with_copies():
    X, y = two_classes()
    return np.vstack([X, X[:200]]), np.concatenate([y, y[:200]])


def assert_same_model(search, X, y, sample_weight=None, **params):
    alone = PSVC(**search.best_params_, **params).fit(X, y, sample_weight)
    best = search.best_estimator_
    assert best.dual_gap_.max() <= 1e-4
    assert best.primal_objective_ == pytest.approx(alone.primal_objective_, rel=1.1e-4)
    expected = alone._problem_decisions(X)
    size = np.abs(expected).max()
    assert best._problem_decisions(X) == pytest.approx(expected, abs=0.03 * size)
    in_order = np.lexsort((best.support_, y[best.support_]))  # by class, then by row
    assert np.array_equal(in_order, np.arange(best.support_.size))
    assert np.array_equal(best.support_vectors_, X[best.support_])


@pytest.mark.parametrize("data", [two_classes, several_classes])
@pytest.mark.parametrize("ps", [(1,), (1, 2)])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_the_gram_matrix_is_used(matrices, data, ps, multi_class):
    X, y = data()
    search = PSVCCV(ps, CS, GAMMAS, cv=3, multi_class=multi_class).fit(X, y)
    assert set(matrices) == {(len(y), len(y))}
    assert_same_model(search, X, y, multi_class=multi_class)


@pytest.mark.parametrize("ps", [(1,), (1.5, 3)])
def test_equal_rows_are_merged_instead(matrices, ps):
    X, y = with_copies()
    search = PSVCCV(ps, CS, GAMMAS, cv=3).fit(X, y)
    assert not matrices
    alone = PSVC(**search.best_params_).fit(X, y)
    assert search.best_estimator_.primal_objective_ == pytest.approx(
        alone.primal_objective_, rel=1.1e-4
    )


def test_rows_without_weight_are_left_out(matrices):
    X, y = two_classes()
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0 + np.arange(len(y)) % 3)
    search = PSVCCV((1, 2), CS, GAMMAS, cv=3).fit(X, y, sample_weight=weight)
    assert not matrices
    assert_same_model(search, X, y, weight)


def test_other_kernels_compute_their_own_rows(matrices):
    """Their stored entries are translated."""
    X, y = two_classes()
    search = PSVCCV((1, 2), CS, [0.01], kernel="poly", coef0=1.0, cv=3).fit(X, y)
    assert not matrices
    assert_same_model(search, X, y, kernel="poly", coef0=1.0)


def test_rows_that_no_split_trains_on():
    X, y = two_classes()
    splits = ShuffleSplit(2, test_size=0.7, random_state=0)
    assert_same_model(PSVCCV((1, 3), CS, GAMMAS, cv=splits).fit(X, y), X, y)


def test_few_features_have_no_matrix(matrices):
    X, y = noisy(n=620, d=5, seed=2)
    search = PSVCCV((1, 2), CS, GAMMAS, cv=3).fit(X, y)
    assert not matrices
    assert_same_model(search, X, y)


def test_solutions_of_the_splits_save_rounds():
    """In the final fit; and in the second look at the best cells they change nothing."""
    X, y = noisy(n=WHOLE + 1, d=30, seed=1)
    search = PSVCCV((1, 2), CS, GAMMAS, cv=3)
    warm = clone(search).fit(X, y)
    no_room = 1.01 * 4e-6 * len(y) ** 2  # beside the matrix, in megabytes
    cold = search.set_params(cache_size=no_room).fit(X, y)
    assert warm.best_params_ == cold.best_params_
    assert warm.best_score_ == pytest.approx(cold.best_score_, abs=0.003)
    rounds = [int(model.best_estimator_.n_iter_.sum()) for model in (warm, cold)]
    assert rounds[0] < rounds[1]
    size = np.abs(cold.cross_val_decision_).max()
    assert warm.cross_val_decision_ == pytest.approx(cold.cross_val_decision_, abs=0.03 * size)


def test_a_matrix_in_memory_is_not_computed_again(monkeypatch):
    filled = []
    fill = gram.GramSource.fill

    def noted(source, gamma, out, threads):
        filled.append(gamma)
        fill(source, gamma, out, threads)

    monkeypatch.setattr(gram.GramSource, "fill", noted)
    X, y = two_classes()
    PSVCCV((1,), CS, [0.05], cv=3).fit(X, y)
    assert filled == [0.05]


def test_solutions_are_remembered_only_within_the_memory_that_the_matrix_leaves(matrices):
    X, y = two_classes()
    megabytes = 4e-6 * len(y) ** 2
    search = PSVCCV((1, 2), CS, GAMMAS, cv=3)
    clone(search).set_params(cache_size=1.01 * megabytes).fit(X, y)
    assert not matrices
    search.set_params(cache_size=4.0 * megabytes).fit(X, y)
    assert matrices
