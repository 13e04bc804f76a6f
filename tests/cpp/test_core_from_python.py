"""The compiled core: rows shared among problems, and the same results on every instruction set."""

import os
import subprocess
import sys

import numpy as np
import pytest
from small_data import noisy

from psvm import _core
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel


def rows_asked_of_class_0(caches):
    """Rows of class 0 over class 0, as asked for by the pairs (0, 1) and (0, 2) in turn."""
    X, _ = noisy(n=120, d=3, seed=0)
    K = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    asked: list[set[int]] = []

    def rows(index, begin, end):
        # Single rows belong to the matrix of a block, which no pair shares with another.
        if begin == 0 and len(index) > 1:
            asked[-1].update(i for i in index.tolist() if i < 40)
        return np.ascontiguousarray(K[index, begin:end])

    kernel = _core.Kernel64.callback(rows, np.diag(K).tolist(), [0, 40, 80, 120])
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
