"""The part of the study on regression."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.study import regressions, store
from benchmarks.study.regressions import METHODS, Part


def made(n=240, seed=0):
    """A curve in one column, a text that shifts it, a missing number here and there."""
    random = np.random.default_rng(seed)
    x = random.uniform(-3, 3, n)
    text = random.choice(["low", "high"], n)
    y = 1000 + 50 * np.sin(x) + 20 * (text == "high") + 5 * random.normal(size=n)
    X = pd.DataFrame({"x": np.where(random.random(n) < 0.02, np.nan, x), "text": text})
    return Part(X, y)


def test_targets_are_in_units_of_the_training_part():
    table = made()
    train, test = regressions.split(table, 0)
    assert len(train.y) == 168
    assert len(test.y) == 72
    assert abs(train.y.mean()) < 1e-12
    assert train.y.std() == pytest.approx(1.0)
    moved = Part(table.X, 1e6 * table.y - 3)
    np.testing.assert_allclose(regressions.split(moved, 0)[1].y, test.y, rtol=1e-9)
    assert not train.X.equals(regressions.split(table, 1)[0].X)


def test_every_method_is_measured():
    pytest.importorskip("lightgbm")
    train, test = regressions.split(made(), 0)
    rows = dict(regressions.measured(train, test, seed=0))
    assert list(rows) == list(METHODS)
    best = rows["kernel-best"]
    assert best["r2"] > 0.9
    assert best["chosen"]["p"] in (1.0, 1.25, 1.5, 2.0, 3.0)
    # The choice is one of the five winners, and costs as much as all of them.
    assert best["r2"] in [rows[f"kernel-{p:g}"]["r2"] for p in (1.0, 1.25, 1.5, 2.0, 3.0)]
    assert best["fit_seconds"] > rows["kernel-2"]["fit_seconds"]
    assert rows["kernel-untuned-2"]["chosen"] == {"p": 2.0, "n_train": 168}
    assert rows["ridge"]["r2"] < best["r2"]
    assert np.isnan(rows["forest"]["support_share"])
    assert 0 < rows["kernel-1"]["support_share"] <= 1


def test_rows_are_kept_and_read(tmp_path):
    path = tmp_path / "rows.csv"
    store.prepare(path, regressions.COLUMNS)
    row = {"dataset": "a", "repeat": 0, "method": "ridge", "r2": 0.5, "mae": 0.25}
    row |= {"support_share": float("nan"), "fit_seconds": 1.0, "predict_seconds": 0.1}
    store.append(path, row | {"chosen": {"n_train": 5}}, regressions.COLUMNS)
    assert store.finished(path, regressions.COLUMNS) == {("a", 0, "ridge")}
    read = store.read(path, regressions.COLUMNS).iloc[0]
    assert read["mae"] == 0.25
    assert read["chosen"] == {"n_train": 5}
    with pytest.raises(ValueError, match="not those of the study"):
        store.read(path)


def test_a_table_that_is_not_there(capsys):
    assert regressions.main(["--only", "nowhere"]) == 2
    assert "no such tables: nowhere" in capsys.readouterr().err
