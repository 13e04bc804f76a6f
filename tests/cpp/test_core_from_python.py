"""The compiled core: rows shared among problems, and the same results on every instruction set."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from small_data import noisy

from psvm import _core
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel


def rows_asked_of_class_0(caches):
    """Rows of class 0 over class 0, as asked for by the pairs (0, 1) and (0, 2) in turn."""
    X, _ = noisy(n=120, d=3, seed=0)
    K = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    asked: list[set[int]] = []

    def entries(rows, columns):
        # Without a segment they belong to the matrix of a block, which no pair shares with another.
        if isinstance(columns, slice) and columns.start == 0:
            asked[-1].update(i for i in rows.tolist() if i < 40)
        return np.ascontiguousarray(K[rows][:, columns])

    kernel = _core.Kernel64.callback(entries, np.diag(K).tolist(), [0, 40, 80, 120])
    kept = [_core.Cache64(kernel, 1e8) for _ in range(caches)]
    y = np.repeat([1.0, -1.0], 40)
    for turn, other in enumerate((1, 2)):
        asked.append(set())
        cache = kept[turn % caches]
        problem = _core.KernelProblem(
            segments=[0, other], y=y, target=y, cost=np.ones(80), p=1.5, fit_intercept=True
        )
        _core.solve_working_set(kernel, cache, problem, np.zeros(80), _core.Budget(tol=1e-6))
    return asked


def test_pairs_share_the_rows_of_their_common_class():
    """What the pair (0, 1) computed of class 0 the pair (0, 2) takes from the cache."""
    first, second = rows_asked_of_class_0(caches=1)
    assert first
    assert not first & second
    first, second = rows_asked_of_class_0(caches=2)
    assert first & second


FIT = """
import numpy as np, scipy.sparse as sp
from psvm import PSVC, _core
rng = np.random.default_rng(0)
X = rng.normal(size=(700, 7)) * (rng.random((700, 7)) < 0.7)
y = rng.integers(0, 3, size=700)
print(_core.cpu())
for kernel in ("rbf", "poly", "sigmoid", "laplacian", "exponential"):
    for rows in (X, sp.csr_matrix(X)):
        model = PSVC(p=1.5, kernel=kernel, coef0=0.5, gamma=0.1, tol=1e-8).fit(rows, y)
        print(*model.decision_function(rows[:5]).ravel())
"""


@pytest.mark.parametrize("lower", ["baseline", "avx2"])
def test_every_instruction_set_gives_the_same_model(lower):
    """The clones that this machine would not choose by itself are right, too."""

    def decisions(**environment):
        command = [sys.executable, "-W", "ignore", "-c", FIT]
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
        )
        cpu, *lines = done.stdout.splitlines()
        return cpu, np.array([[float(value) for value in line.split()] for line in lines])

    chosen, expected = decisions()
    cpu, found = decisions(PSVM_CPU=lower)
    assert cpu in (lower, "baseline")
    assert chosen in ("baseline", "avx2", "avx512")
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("max_steps", [0, 7, 100_000])
def test_pair_steps_end_at_their_limit(max_steps):
    """Seven steps are too few for these rows, a hundred thousand more than enough."""
    X, y = noisy(n=100, d=3, seed=0)
    kernel = TrainingKernel(Kernel("rbf", gamma=0.5), X, [0, 100], 1e6, 1).float64
    problem = _core.KernelProblem(
        segments=[0], y=y, target=y, cost=np.ones(100), p=1.0, fit_intercept=True
    )
    budget = _core.Budget(tol=1e-6, max_steps=max_steps)
    outcome = _core.solve_working_set(kernel, None, problem, np.zeros(100), budget)
    assert outcome["status"] == ("converged" if max_steps > 7 else "stalled")
    moved = np.count_nonzero(outcome["alpha"])
    assert moved <= 2 * max_steps
    assert (moved > 0) == (max_steps > 0)


# --- arrays that do not fit together are refused, never read out of bounds ----------------------


def dense(X, starts, shift=None):
    return _core.Kernel64.dense(X, shift, "rbf", 1.0, 0.0, 3, starts)


def csr(X, starts, data=slice(None)):
    arrays = X.data[data], X.indices, X.indptr
    return _core.Kernel64.csr(*arrays, X.shape[1], "rbf", 1.0, 0.0, 3, starts)


@pytest.mark.parametrize("starts", [[0, 31], [0, 20, 10, 30], [1, 30], [0, 29], [30], []])
def test_segments_cover_the_rows(starts):
    X, _ = noisy(n=30, d=3)
    for make in (
        lambda: dense(X, starts),
        lambda: csr(sp.csr_matrix(X), starts),
        lambda: _core.Kernel64.matrix(X @ X.T, starts),
        lambda: _core.Kernel64.callback(lambda *rows: X, [1.0] * 30, starts),
    ):
        with pytest.raises(ValueError, match="segments must cover the rows"):
            make()


def test_rows_of_a_given_matrix_may_be_apart():
    """It is not copied: that of a search over 11,000 rows took a second."""
    X, _ = noisy(n=30, d=3)
    memory = np.zeros((30, 37))
    memory[:, :30] = X @ X.T
    kernel = _core.Kernel64.matrix(memory[:, :30], [0, 30])
    every = np.arange(30)
    assert np.array_equal(kernel.rows(every, 1, segments=[0]), X @ X.T)
    memory[:, :30] += 1.0
    assert np.array_equal(kernel.rows(every, 1, segments=[0]), X @ X.T + 1.0)
    with pytest.raises(ValueError, match="side by side"):
        _core.Kernel64.matrix(np.zeros((30, 60))[:, ::2], [0, 30])


def test_arrays_of_a_csr_matrix_are_as_long_as_they_say():
    X = sp.csr_matrix(noisy(n=30, d=3)[0])
    with pytest.raises(ValueError, match="as long as indptr says"):
        csr(X, [0, 30], data=slice(50))
    with pytest.raises(ValueError, match="as long as indptr says"):
        _core.BlockRows.csr(X.data, X.indices[:50], X.indptr, 3)


def test_points_of_a_kernel_have_the_same_features():
    X, _ = noisy(n=30, d=3)
    few, many = dense(X[:, :1].copy(), [0, 30]), dense(X, [0, 30])
    rows = np.arange(30)
    for call in (
        lambda: few.rows(rows, 1, many),
        lambda: few.apply(rows, np.ones(30), 1, many),
        lambda: few.combine(rows, np.ones((2, 30)), 1, many),
    ):
        with pytest.raises(ValueError, match="same features"):
            call()
    with pytest.raises(ValueError, match="shift has the wrong length"):
        dense(X, [0, 30], shift=np.zeros(2))


def test_a_callback_answers_for_all_rows_and_columns():
    kernel = _core.Kernel64.callback(lambda *rows: np.ones((1, 2)), [1.0] * 30, [0, 30])
    with pytest.raises(ValueError, match="a value for each of the rows and columns"):
        kernel.rows(np.arange(3))


@pytest.mark.parametrize("cost", [[1.0, np.inf, 1.0], [np.inf, 1.0, 1.0], [1.0, 0.0, 1.0]])
def test_costs_are_all_infinite_or_none(cost):
    y, X = np.array([1.0, -1.0, 1.0]), np.eye(3)
    cost = np.array(cost)
    problem = _core.KernelProblem(segments=[0], y=y, target=y, cost=cost, p=1.5, fit_intercept=True)
    with pytest.raises(ValueError, match="all of them infinite or none"):
        _core.solve_working_set(dense(X, [0, 3]), None, problem, np.zeros(3), _core.Budget(tol=0.1))
    with pytest.raises(ValueError, match="all of them infinite or none"):
        _core.CoordinateProblem(y, cost, 1.5, True)
