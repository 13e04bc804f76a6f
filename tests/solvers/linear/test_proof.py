"""The certificate of a pair from sums is that of the rows themselves."""

import numpy as np
import pytest

from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems
from psvm.solvers.linear.best_pair import BestPair
from psvm.solvers.linear.passes import BlockPasses, Pass
from psvm.solvers.linear.proof import proof_of_pair


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_values_of_a_pair(p):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), rng.integers(0, 2, 60).astype(np.int32)
    signs, cost = np.array([[-1, 1]], dtype=np.int8), rng.uniform(0.5, 2.0, 60)
    problems = LinearProblems(signs, codes, cost, PNormHinge(p), fit_intercept=False)
    passes = BlockPasses([X[:20], X[20:]], problems, [0], 1)
    alpha, w, y = 0.4 * cost * rng.random(60), rng.normal(size=3), 2.0 * codes - 1.0
    passes.set_best(0, alpha)
    sums = passes.answer({0: Pass("certify", direction=w)})[0]
    proof = proof_of_pair(BestPair(w, 0.0, np.inf, 0.0), sums, problems.terms, 60)
    loss = PNormHinge(p)
    primal = 0.5 * w @ w + loss.value(1.0 - y * (X @ w), cost).sum()
    image = X.T @ (alpha * y)
    dual = alpha.sum() - 0.5 * image @ image - loss.conjugate(alpha, cost).sum()
    assert proof.primal == pytest.approx(primal, rel=1e-13)
    assert proof.dual == pytest.approx(dual, rel=1e-12)
    assert proof.measured == pytest.approx((primal - dual) / primal, rel=1e-12)
    assert proof.measured < proof.gap <= min(1.0, proof.measured * (1 + 1e-9)) or proof.gap == 1.0
