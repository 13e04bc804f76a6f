"""The statistics of the study, on made results whose answer is known."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("autorank")
pytest.importorskip("baycomp")

from benchmarks.study import statistics


def results(differences, *, noise=0.0, sets=30, repeats=2, seed=0):
    """Rows in which method m of data set d has the accuracy 0.7 + d / 1000 + differences[m]."""
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            {
                "dataset": f"set{d:02}",
                "repeat": r,
                "method": method,
                "accuracy": 0.7 + d / 1000 + difference + noise * random.normal(),
                "log_loss": 0.5 - difference,
                "chosen": {"rows": 100 * (d + 1), "features": 5, "smallest_share": 0.3}
                | {"classes": 2},
            }
            for d in range(sets)
            for r in range(repeats)
            for method, difference in differences.items()
        ]
    )


def test_means_take_the_splits_that_all_methods_have():
    rows = results({"a": 0.0, "b": 0.1}, sets=3)
    rows.loc[(rows.dataset == "set00") & (rows.method == "b") & (rows.repeat == 1), "accuracy"] = 0
    rows = rows[~((rows.dataset == "set00") & (rows.method == "a") & (rows.repeat == 1))]
    rows = rows[~((rows.dataset == "set02") & (rows.method == "a"))]
    table = statistics.means(rows, ["a", "b"])
    assert list(table.index) == ["set00", "set01"]
    assert table.loc["set00", "b"] == pytest.approx(0.8)
    with pytest.raises(ValueError, match="no c"):
        statistics.means(rows, ["a", "c"])


def test_ranks_of_a_clear_order():
    """First, second and third on every set: ranks 1, 2, 3, all apart by more than the difference.

    Nemenyi's critical difference is q sqrt(k (k + 1) / (6 N)), q = 2.343 for three methods.
    """
    table = statistics.means(results({"mid": 0.01, "top": 0.02, "low": 0.0}), ["mid", "top", "low"])
    found = statistics.ranks(table)
    assert found.mean.to_dict() == {"top": 1.0, "mid": 2.0, "low": 3.0}
    assert found.critical_difference == pytest.approx(2.343 * np.sqrt(12 / (6 * 30)), rel=1e-3)
    assert found.p_value < 1e-9
    assert found.leaders == ["top"]


def test_ranks_of_a_measure_that_should_be_low():
    rows = results({"a": 0.01, "b": 0.02, "c": 0.0})
    found = statistics.ranks(statistics.means(rows, ["a", "b", "c"], "log_loss"), "log_loss")
    assert list(found.mean.index) == ["b", "a", "c"]


def test_methods_that_are_alike_are_all_leaders():
    rows = results({"a": 0.0, "b": 0.0, "c": 0.0}, noise=0.01, seed=3)
    found = statistics.ranks(statistics.means(rows, ["a", "b", "c"]))
    assert found.p_value > 0.05
    assert set(found.leaders) == {"a", "b", "c"}


def test_ranks_need_enough():
    table = statistics.means(results({"a": 0.0, "b": 0.1, "c": 0.2}, sets=4), ["a", "b", "c"])
    with pytest.raises(ValueError, match="five data sets"):
        statistics.ranks(table)
    with pytest.raises(ValueError, match="three methods"):
        statistics.ranks(table[["a", "b"]])


@pytest.mark.parametrize(
    ("difference", "expected"),
    [(0.03, (1, 0, 0)), (-0.03, (0, 0, 1)), (0.001, (0, 1, 0))],
    ids=["better", "worse", "alike"],
)
def test_the_bayesian_test_knows_its_three_answers(difference, expected):
    rows = results({"a": difference, "b": 0.0}, noise=0.002)
    table = statistics.means(rows, ["a", "b"])
    found = statistics.practical(table["a"].to_numpy(), table["b"].to_numpy())
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_wins_ties_and_losses():
    rows = results({"a": 0.0, "b": 0.0}, sets=6, repeats=1)
    shift = dict(
        zip([f"set{d:02}" for d in range(6)], (0.02, 0.01, 0.01, 0.0001, 0, -0.01), strict=True)
    )
    own = rows["method"] == "a"
    rows.loc[own, "accuracy"] += rows.loc[own, "dataset"].map(shift)
    (one,) = statistics.compare(statistics.means(rows, ["a", "b"]), [("a", "b")])
    assert (one.n_sets, one.wins, one.ties, one.losses) == (6, 3, 2, 1)
    assert one.mean == pytest.approx(0.0301 / 6)
    assert one.median == pytest.approx(0.00505)


def test_a_low_log_loss_wins():
    rows = results({"a": 0.05, "b": 0.0})
    table = statistics.means(rows, ["a", "b"], "log_loss")
    (one,) = statistics.compare(table, [("a", "b")], "log_loss")
    assert (one.wins, one.losses) == (30, 0)
    assert one.better > 0.99


def test_several_comparisons_are_corrected_together():
    """By hand: the smallest of three times 3, the next times 2, never falling."""
    assert statistics.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert statistics.holm([]) == []
    rows = results({"a": 0.02, "b": 0.0, "c": 0.0}, noise=0.01)
    table = statistics.means(rows, ["a", "b", "c"])
    (alone,) = statistics.compare(table, [("a", "b")])
    among = statistics.compare(table, [("a", "b"), ("b", "c"), ("a", "c")])
    assert among[0].p_value >= 2 * alone.p_value > 0
    assert among[1].p_value > 0.05


def test_methods_that_never_differ():
    table = statistics.means(results({"a": 0.0, "b": 0.0}), ["a", "b"])
    (one,) = statistics.compare(table, [("a", "b")])
    assert (one.ties, one.p_value) == (30, 1.0)
    assert one.alike > 0.99


def test_an_effect_of_size_is_found_and_no_other():
    """The gain grows with the rows; the other trait is a coin's."""
    names = [f"set{d:02}" for d in range(30)]
    gain = pd.Series(np.linspace(-0.01, 0.02, 30), names)
    random = np.random.default_rng(1)
    traits = pd.DataFrame({"rows": np.arange(30) ** 2, "coin": random.random(30)}, names)
    traits["same"] = 1.0  # says nothing, and is left out
    size, coin = statistics.effects(gain, traits)
    assert (size.trait, coin.trait) == ("rows", "coin")
    assert size.correlation == pytest.approx(1.0)
    assert size.p_value < 1e-6
    assert size.low < 0 < size.middle < size.high
    assert coin.p_value > 0.05


def test_traits_come_from_the_results():
    rows = results({"dummy": -0.2, "a": 0.0, "b": 0.1}, sets=2)
    traits = statistics.traits_of(rows)
    assert traits["rows"].tolist() == [100, 200]
    np.testing.assert_allclose(traits["balance"], 0.6)
    np.testing.assert_allclose(traits["noise"], [0.2, 0.199])


def test_the_frontier_has_no_method_that_another_beats():
    points = {"slow": (10.0, 0.9), "fast": (1.0, 0.8), "bad": (5.0, 0.7), "late": (11.0, 0.9)}
    assert statistics.frontier(points) == ["fast", "slow"]


def test_halves_share_nothing():
    first, second = statistics.halves(["c", "a", "b", "d", "e"])
    assert (first, second) == (["a", "c", "e"], ["b", "d"])
