"""Kernel regression beside its rivals: turns, the referee's word, targets and pages."""

import numpy as np
import pytest

from benchmarks.everyday.turns import UNWATCHED, Effort
from benchmarks.regression import __main__ as suite
from benchmarks.regression import kernel
from benchmarks.regression.sets import RegressionSet
from psvm import PSVR

ONCE = Effort(cap=60.0, seconds=0.0, turns=1)


@pytest.fixture
def waves(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=70)
    data = RegressionSet("waves", X, (y - y.mean()) / y.std())
    monkeypatch.setattr(kernel, "table_named", lambda name: data)
    return data


def row(who, seconds, primal=10.0, p=1.0, name="waves", rows=70, **more):
    return {
        "part": "kernel",
        "set": name,
        "rows": rows,
        "features": 2,
        "C": 1.0,
        "p": p,
        "who": who,
        "seconds": seconds,
        "primal": primal,
        **more,
    }


def test_the_referee_agrees_with_the_certificate(waves):
    """Its objective is that of a fit, and no rival has a smaller one."""
    records = {
        one["who"]: one for one in kernel.measure(kernel.Case("waves", 2.0), ONCE, UNWATCHED)
    }
    for p in kernel.PS:
        model = PSVR(p, C=2.0, gamma=1.0 / (2 * waves.X.var())).fit(waves.X, waves.y)
        found = records[f"psvm p={p:g}"]
        assert found["primal"] == pytest.approx(model.primal_objective_[0], rel=1e-6)
        assert found["rows"] == 70
        assert "status" not in found
    rival = records[kernel.LIBSVM]
    ours = records["psvm p=1"]
    assert ours["primal"] <= rival["primal"] * (1.0 + 1e-9)
    assert kernel.excess(ours, rival) <= 1e-9
    assert rival["primal"] <= ours["primal"] * 1.01


def test_ratios_and_what_counts():
    case = {
        "psvm p=1": row("psvm p=1", 0.1),
        "psvm p=2": row("psvm p=2", 0.3, 99.0, p=2.0),
        kernel.LIBSVM: row(kernel.LIBSVM, 2.0, 10.001),
        kernel.INTELEX: row(kernel.INTELEX, 0.6, 9.9),
    }
    assert kernel.ratio(case, kernel.LIBSVM, "psvm p=1").value == pytest.approx(20.0)
    assert kernel.ratio(case, kernel.INTELEX, "psvm p=1") is None  # its objective is better
    assert kernel.ratio(case, "psvm p=2", "psvm p=1").value == pytest.approx(3.0)
    over = {**case, kernel.LIBSVM: {**row(kernel.LIBSVM, 5.0), "over": True, "primal": None}}
    assert kernel.ratio(over, kernel.LIBSVM, "psvm p=1").bound


def test_targets_and_page():
    records = [
        row("psvm p=1", 0.1),
        row("psvm p=1.5", 0.2, p=1.5),
        row("psvm p=2", 0.4, p=2.0),
        row(kernel.INTELEX, 0.6),
        row(kernel.LIBSVM, 1.0),
        row("psvm p=1", 0.1, name="more", rows=9000),
        row(kernel.LIBSVM, 4.0, name="more", rows=9000, over=True),
    ]
    found = {one.text: one for one in suite.targets(records)}
    assert found["PSVR >= 5x intelex's SVR"].verdict == "**met**"
    assert found["PSVR >= 15x SVR (LIBSVM)"].verdict == "met if the lower bounds count"
    assert found["PSVR >= 15x SVR (LIBSVM), from 5,000 rows on"].values[0].bound
    assert found["PSVR p = 2 <= 3x p = 1"].verdict == "**not met**"
    text = "\n".join(kernel.page(records))
    assert "| waves | 70 x 2 | 1 | 0.1 | 0.6 | 6x |" in text
    assert "> 40x" in text


def test_a_run_leaves_records_and_a_page(waves, monkeypatch, tmp_path, capsys):
    def once(quick):
        yield kernel.measure(kernel.Case("waves", 1.0), ONCE, UNWATCHED)

    monkeypatch.setitem(suite.PARTS, "kernel", (once, kernel))
    assert suite.main(["--parts", "kernel", "--name", "try"], folder=tmp_path) == 0
    assert "psvm p=1.5" in capsys.readouterr().out
    assert "| waves | 70 x 2 |" in (tmp_path / "try.md").read_text()
    assert (tmp_path / "try.json").exists()
    assert suite.main(["--parts", "kernel", "--quick", "--name", "quick"], folder=tmp_path) == 0
    assert not (tmp_path / "quick.json").exists()
