"""The referee of regression, and what the benchmarks of linear regression write."""

import json

import numpy as np
import pytest
from linear_regression_oracle import Regression, noisy_line

from benchmarks.regression import __main__ as everything
from benchmarks.regression import linear, quantiles, suite
from benchmarks.regression.referee import Loss, best_intercept, judge_linear
from benchmarks.regression.sets import synthetic
from benchmarks.regression.turns import take_turns


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_the_referee_computes_the_objective(p):
    X, y = noisy_line(n=50, d=3)
    w, b = np.array([0.5, -1.0, 2.0]), 0.7
    problem = Regression(X, y, np.full(50, 0.3), p, 0.2, 0.8)
    verdict = judge_linear(X, y, w, [b], Loss(p, 0.3, 0.2, 0.8))
    assert verdict.primal == pytest.approx(problem.primal(w, b), rel=1e-12)
    grid = [problem.primal(w, other) for other in np.linspace(-10, 20, 3001)]
    assert verdict.primal_best <= min(grid) * (1 + 1e-9)
    assert verdict.primal_best >= min(grid) * (1 - 1e-3)


def test_the_best_intercept_is_a_quantile_at_p_1():
    residual = np.random.default_rng(0).normal(size=1001)
    for start in (0.0, 0.8, 5.0):
        found = best_intercept(residual, Loss(1.0, 1.0, 0.0, 0.75), start)
        assert found == pytest.approx(np.quantile(residual, 0.75), abs=1e-2)


def test_contenders_take_turns():
    turns = take_turns({"a": lambda: 1, "b": lambda: 2}, seconds=0.0)
    assert turns["a"].model == 1
    assert turns["b"].model == 2
    assert len(turns["a"].wall) == len(turns["b"].cpu) == 1


@pytest.mark.parametrize("module", [linear, quantiles])
def test_a_run_writes_records_and_a_page(module, tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "RESULTS", tmp_path)
    words = ["--rows", "300", "--no-tables", "--threads", "1", "--name", "small"]
    assert module.SUITE.run(words) == 0
    page = (tmp_path / "small.md").read_text()
    assert "synthetic 300 x" in page
    command = json.loads((tmp_path / "small.json").read_text())["environment"]["command"]
    assert command == " ".join([f"python -m {module.__name__}", *words])


@pytest.mark.parametrize("part", ["linear", "quantiles"])
def test_parts_of_all_of_regression(part, tmp_path, monkeypatch):
    """What the file has of other parts is kept."""
    monkeypatch.setattr(everything, "LINEAR_SETS", ())
    monkeypatch.setattr(everything, "LINEAR_ROWS", (300,))
    monkeypatch.setattr(everything, "QUANTILE_SETS", ())
    monkeypatch.setattr(everything, "QUANTILE_ROWS", (300,))
    file = tmp_path / "regression.json"
    other = {"part": "quantiles" if part == "linear" else "linear"}
    assert everything.main(["--parts", other["part"]], tmp_path) == 0
    before = len(json.loads(file.read_text())["records"])
    assert everything.main(["--parts", part], tmp_path) == 0
    records = json.loads(file.read_text())["records"]
    assert sum(row["part"] == other["part"] for row in records) == before > 0
    assert {row["part"] for row in records} == {"linear", "quantiles"}
    assert "## Targets" in (tmp_path / "regression.md").read_text()


def test_sets_are_standardised():
    data = synthetic(500, 4)
    assert data.X.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert data.y.std() == pytest.approx(1.0)
