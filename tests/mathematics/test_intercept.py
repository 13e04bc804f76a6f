"""The intercept of a certificate, against a search over a fine grid."""

import numpy as np
import pytest

from psvm.mathematics.intercept import exact_intercept


def problem(seed, n=40):
    """Signs, targets, decision values and costs of rows that overlap."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    return y, y.copy(), rng.normal(size=n), rng.exponential(size=n) + 0.1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("p", [1.0, 1.1, 1.5, 2.0, 3.0, 50.0])
@pytest.mark.parametrize("balance", [0.0, 0.7, -0.7])
def test_no_other_intercept_is_better(p, balance, seed):
    y, target, decision, cost = problem(seed)

    def lost(b):
        slack = np.maximum(0.0, y * (target - decision - b))
        return np.sum(cost * slack**p) + balance * b

    b = exact_intercept(y, target, decision, cost, p, balance=balance)
    others = [b + by for size in np.logspace(-9, 0, 40) for by in (-size, size)]
    assert lost(b) <= min(map(lost, others)) + 1e-12 * abs(lost(b))


@pytest.mark.parametrize("p", [1.5, 2.0, 7.0])
@pytest.mark.parametrize("guess", [-1e9, 0.0, 3.0])
def test_a_guess_does_not_change_it(p, guess):
    given = problem(1)
    assert exact_intercept(*given, p, near=guess) == pytest.approx(
        exact_intercept(*given, p), rel=1e-13
    )


def test_rows_of_other_lengths_are_refused():
    y, target, decision, cost = problem(2)
    with pytest.raises(ValueError, match="one value per row"):
        exact_intercept(y, target, decision[1:], cost, 1.5)
