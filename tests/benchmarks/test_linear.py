"""The benchmarks' referee of linear models, against the definitions and a general solver."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.linear_objective import LinearModel, judge_linear, linear_decision
from benchmarks.linear_report import standings
from benchmarks.rivals import LADDERS, RIVALS


def example(n: int = 60, d: int = 3) -> tuple[np.ndarray, np.ndarray, LinearModel]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    y = (X[:, 0] + 0.5 * rng.standard_normal(n) > 0.2).astype(np.int64)
    return X, y, LinearModel(rng.standard_normal(d), 0.7)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_objective_is_the_definition_with_own_and_best_intercept(p):
    X, y, model = example()
    sign = 2.0 * y - 1.0

    def primal(b: float) -> float:
        slack = np.maximum(0.0, 1.0 - sign * (X @ model.coef + b))
        return 0.5 * float(model.coef @ model.coef) + 2.5 * float(np.sum(slack**p))

    verdict = judge_linear(model, (X, y), (X, y), C=2.5, p=p)
    assert verdict.primal == pytest.approx(primal(0.7), rel=1e-13)
    found = minimize_scalar(primal, bounds=(-10.0, 10.0), method="bounded")
    assert verdict.primal_best <= found.fun * (1.0 + 1e-13)
    assert verdict.primal_best == pytest.approx(found.fun, rel=1e-5)
    accuracy = np.mean((X @ model.coef + 0.7 > 0.0) == y)
    assert verdict.train_accuracy == verdict.test_accuracy == accuracy


def test_storage_dtype_and_blocks_do_not_change_the_verdict():
    X, y, model = example()
    X = X.astype(np.float32)
    whole = judge_linear(model, (X, y), (X, y), C=1.0, p=1.5)
    for rows in (X, X.astype(np.float64), sp.csr_matrix(X)):
        decision = linear_decision(rows, model.coef, block_rows=7)
        assert decision == pytest.approx(X.astype(np.float64) @ model.coef, rel=1e-12)
        verdict = judge_linear(model, (rows, y), (rows, y), C=1.0, p=1.5)
        assert verdict.primal == pytest.approx(whole.primal, rel=1e-12)
        assert verdict.primal_best == pytest.approx(whole.primal_best, rel=1e-12)


def test_labels_other_than_0_and_1_are_refused():
    X, y, model = example()
    with pytest.raises(ValueError, match="two classes"):
        judge_linear(model, (X, 2 * y - 1), (X, y), C=1.0, p=1.0)


def record(rival: str, seconds: float, objective: float) -> dict[str, object]:
    quality = {"primal": objective, "primal_best": objective}
    clocks = {"fit_seconds": seconds, "turns": [{"fit_seconds": seconds}]}
    return {**problem(rival, "ok"), **quality, **clocks}


def problem(rival: str, status: str) -> dict[str, object]:
    return {"case": "a", "C": 1.0, "p": 1.0, "rival": rival, "status": status}


def test_only_rivals_close_to_the_optimum_count():
    rows = [record("psvm", 2.0, 100.001), record("psvm-1e-8", 3.0, 100.0)]
    rows += [record("hasty", 0.1, 101.0), record("good", 6.0, 100.005), record("slow", 9.0, 100.0)]
    rows.append(problem("lost", "over 60 s"))
    (standing,) = standings(rows).values()
    assert standing.optimum == 100.0
    assert standing.solved
    assert standing.fastest["rival"] == "good"
    assert standing.closest["rival"] == "slow"
    assert standing.ratio() == pytest.approx(3.0)
    assert [row["rival"] for row in standing.over_limit] == ["lost"]


def test_ladders_name_rivals_of_the_suite():
    names = [name for ladder in LADDERS for name in ladder]
    assert len(names) == len(set(names))
    assert set(names) <= set(RIVALS["linear"])


@pytest.mark.parametrize("name", ["psvm", "sklearn-primal", "sklearn-dual", "lbfgs"])
def test_adapters_solve_the_problem_of_the_referee(name):
    from benchmarks.rivals import Setting

    X, y, _ = example(400)
    rival = RIVALS["linear"][name]
    p = 2.0
    assert rival.why_not(p, X.shape[0]) is None
    model = rival.fit(rival.prepare(X, y), y, Setting(C=10.0, gamma=None, p=p, threads=1))
    verdict = judge_linear(rival.export(model), (X, y), (X, y), C=10.0, p=p)
    exact = RIVALS["linear"]["lbfgs-tighter"]
    reference = exact.fit(X, y, Setting(C=10.0, gamma=None, p=p, threads=1))
    best = judge_linear(exact.export(reference), (X, y), (X, y), C=10.0, p=p)
    assert verdict.primal_best == pytest.approx(best.primal_best, rel=2e-4)
    assert np.mean(rival.predict(model, rival.prepare(X)) == y) == verdict.train_accuracy
