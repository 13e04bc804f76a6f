"""Strategies of a search on tables of cells with known answers, and the evidence for them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from benchmarks.study import report, running, search_evidence, searches, sets, statistics, store
from benchmarks.study.cells import COSTS, FOLDS, SHAPE, WIDTHS, Cells, compute
from benchmarks.study.machines import EXPONENTS
from benchmarks.study.preparation import preparation
from benchmarks.study.splits import Part
from benchmarks.study.strategies import (
    DEFAULT,
    SMALL,
    STRATEGIES,
    WIDE,
    Asked,
    Box,
    Span,
    grid,
    halving,
    moving,
    p_last,
    refined,
)
from psvm import PSVC, PSVCCV
from psvm.estimators.cost_grid import spread

ONE_P = DEFAULT._replace(ps=(2.0,))


def hill(p, C, gamma, noise=0.0):
    """A table whose score falls with the distance from a place, alike on all folds."""
    at = np.indices(SHAPE).astype(float)
    height = 0.9 - 0.01 * sum((own - top) ** 2 for own, top in zip(at, (p, C, gamma), strict=True))
    score = np.repeat(height[..., None], FOLDS, axis=-1)
    score += noise * np.random.default_rng(0).normal(size=score.shape)
    return Cells(score, height, np.ones(SHAPE), np.full(SHAPE, 0.5), 7.0, 100.0)


def play(strategy, cells):
    asked = Asked(cells)
    return strategy(asked), asked


# --- strategies ----------------------------------------------------------------------------------


def test_the_default_is_in_the_middle_of_the_wide_table():
    np.testing.assert_allclose(COSTS[2:-2], spread("Cs", 6, 1.0, (0.1, 100.0)))
    np.testing.assert_allclose(WIDTHS[2:-2], spread("gammas", 5, 1.0, (0.1, 10.0)))
    assert tuple(PSVCCV().ps) == EXPONENTS
    assert (PSVCCV().Cs, PSVCCV().gammas) == (6, 5)
    assert DEFAULT.mask.sum() == 150
    assert WIDE.mask.all()
    assert SMALL.mask.sum() == 5 * 9
    assert (SMALL.mask <= DEFAULT.mask).all()


def test_a_grid_takes_the_best_of_its_cells_and_costs_all_of_them():
    place, asked = play(grid(DEFAULT), hill(1, 4, 5))
    assert place == (1, 4, 5)
    assert asked.fits == 150 * FOLDS
    # Fits, five widths on all folds, and the start.
    assert asked.seconds == pytest.approx(0.5 * 750 + 5 * 7.0 + 100.0)
    # What lies beyond the grid is not found.
    assert play(grid(DEFAULT), hill(1, 9, 0))[0] == (1, 7, 2)


def test_of_equal_scores_the_fewest_support_vectors_win():
    cells = hill(3, 4, 4)
    cells.score[:] = 0.8
    cells.support[0, 3, 3] = 0.5
    assert play(grid(DEFAULT), cells)[0] == (0, 3, 3)


def test_a_moving_grid_goes_where_the_best_is_and_asks_for_what_it_takes():
    place, asked = play(moving(ONE_P), hill(3, 9, 0))
    assert place == (3, 9, 0)
    assert asked.fits == 8 * 7 * FOLDS  # two costs and two widths more than 6 and 5
    place, asked = play(moving(ONE_P), hill(3, 4, 4))
    assert place == (3, 4, 4)
    assert asked.fits == 30 * FOLDS
    place, asked = play(moving(SMALL._replace(ps=(2.0,))), hill(3, 4, 4))
    assert asked.fits == 4 * 3 * FOLDS  # C is at the edge of the middle, gamma is not


def test_a_sure_grid_moves_only_if_the_score_rises_by_more_than_its_error():
    assert play(moving(ONE_P, sure=True), hill(3, 9, 4))[0] == (3, 9, 4)
    flat = hill(3, 4, 4)
    flat.score[:] = 0.8
    flat.score[3, 7, 4, 0] += 0.01  # better at the edge, by one fold alone
    place, asked = play(moving(ONE_P, sure=True), flat)
    assert place == (3, 7, 4)
    assert asked.fits == 30 * FOLDS
    assert play(moving(ONE_P), flat)[1].fits == 35 * FOLDS


def test_halving_drops_what_is_bad_on_the_first_folds():
    cells = hill(3, 4, 4)
    place, asked = play(halving(ONE_P, ((1, 1 / 3), (2, 1 / 2))), cells)
    assert place == (3, 4, 4)
    assert asked.fits == 30 + 10 + 5 * 3
    cells.score[3, 4, 4] = [0.0, 1.0, 1.0, 1.0, 1.0]  # the best on all folds but the first
    place, asked = play(halving(ONE_P, ((1, 1 / 3),)), cells)
    assert place != (3, 4, 4)
    assert asked.fits == 30 + 10 * 4
    # Matrices of a width are needed on the folds that it is fitted to only.
    assert asked.seconds < 0.5 * asked.fits + 5 * 7.0 + 100.0


def test_a_refined_grid_looks_at_the_neighbours_of_the_best_of_every_second_value():
    place, asked = play(refined(ONE_P), hill(3, 5, 3))
    assert place == (3, 5, 3)
    assert asked.fits == (9 + 5) * FOLDS  # the best of 3 x 3 at a corner (2, 4, 6): 3 x 3 around it


def test_p_last_asks_for_other_p_at_the_best_of_one():
    cells = hill(0, 5, 3)
    place, asked = play(p_last(grid(ONE_P), DEFAULT, neighbours=False), cells)
    assert place == (0, 5, 3)
    assert asked.fits == (30 + 4) * FOLDS
    # The best C of another p is one further: neighbours see it.
    cells.score[1, 6, 3] = 0.99
    assert play(p_last(grid(ONE_P), DEFAULT, neighbours=False), cells)[0] == (0, 5, 3)
    place, asked = play(p_last(grid(ONE_P), DEFAULT, neighbours=True), cells)
    assert place == (1, 6, 3)
    assert asked.fits == (30 + 4 * 9) * FOLDS


def test_neighbours_stay_inside():
    assert Span(2, 7).around(7) == Span(6, 7)
    assert Box((1.0,), Span(2, 7), Span(2, 6), step=2).mask.sum() == 9


def test_all_strategies_end_and_those_that_see_the_summit_find_it():
    cells = hill(3, 5, 4, noise=1e-6)
    for name, strategy in STRATEGIES.items():
        place, asked = play(strategy, cells)
        assert asked.seen[place].all(), name
        fixed = [f"p = {p:g}" for p in EXPONENTS if p != 2.0]
        if not (name.startswith("coarse") or any(text in name.split(", ") for text in fixed)):
            assert place == (3, 5, 4), name


# --- tables of cells -----------------------------------------------------------------------------


def made(n=150, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(2, size=n)
    X = pd.DataFrame({"x": random.normal(size=n) + y, "z": random.normal(size=n)})
    X.loc[3, "x"] = np.nan
    return X, y


def test_a_table_has_the_scores_of_folds_and_the_accuracy_of_a_fit_to_all_training_rows(tmp_path):
    X, y = made()
    train, test = Part(X[:90], y[:90]), Part(X[90:].reset_index(drop=True), y[90:])
    cells = compute(train, test, seed=3)
    assert cells.score.shape == (*SHAPE, FOLDS)
    assert np.isfinite(cells.score).all()
    assert (cells.seconds > 0).all()

    # The default search on the training rows alone has the same scores.
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=3)
    search = PSVCCV(preprocessor=preparation(train.X), cv=folds, refit=False).fit(*train)
    own = cells.score[DEFAULT.mask].mean(axis=1)
    order = np.lexsort([search.cv_results_[f"param_{name}"] for name in ("gamma", "C", "p")])
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][order], own, atol=1e-12)

    # A fit of any cell to the training rows has its accuracy.
    for place in ((0, 4, 4), (3, 7, 6), (4, 9, 0)):
        prepared = preparation(train.X).fit_transform(train.X)
        gamma = WIDTHS[place[2]] / (prepared.shape[1] * prepared.var())
        model = make_pipeline(
            preparation(train.X),
            PSVC(EXPONENTS[place[0]], C=COSTS[place[1]], gamma=gamma, tol=1e-6),
        ).fit(*train)
        assert cells.test[place] == pytest.approx(accuracy_score(test.y, model.predict(test.X)))

    cells.save(tmp_path / "kept" / "one.npz")
    again = Cells.load(tmp_path / "kept" / "one.npz")
    np.testing.assert_array_equal(again.score, cells.score)
    assert again.width_seconds == cells.width_seconds
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["one.npz"]


def test_a_run_goes_on_where_it_was_and_keeps_the_rows_of_other_tables(
    tmp_path, monkeypatch, capsys
):
    X, y = made(60)
    frame = sets.clean("made", X, pd.Series(y.astype(str)))
    monkeypatch.setattr(sets, "n_rows", lambda: {"made": 60, "other": 60})
    monkeypatch.setattr(sets, "load", lambda name: frame)
    calls = []

    def run_here(jobs, processes, on_finish):
        for job in jobs:
            calls.append(job.key)
            job.call()

    monkeypatch.setattr(running, "run_jobs", run_here)
    options = ["--output", str(tmp_path / "out.csv"), "--folder", str(tmp_path / "kept")]
    assert searches.main(["--only", "made", *options]) == 0
    first = (tmp_path / "out.csv").read_text()
    assert searches.main(["--only", "made", *options]) == 0
    assert (tmp_path / "out.csv").read_text() == first
    assert calls == ["made-0", "made-1"]
    assert searches.main(["--only", "other", *options]) == 0
    rows = pd.read_csv(tmp_path / "out.csv")
    assert list(rows.columns) == list(searches.COLUMNS)
    assert (
        rows.groupby(["dataset", "repeat"])["method"]
        .apply(list)
        .map(lambda methods: methods == list(STRATEGIES))
        .all()
    )
    assert sorted(set(rows["dataset"])) == ["made", "other"]
    assert rows.loc[rows["method"] == "default", "fits"].eq(750).all()
    assert searches.main(["--only", "neither", *options]) == 2
    assert "no such tables: neither" in capsys.readouterr().err


# --- evidence ------------------------------------------------------------------------------------


def test_the_half_of_a_table_never_changes():
    assert [search_evidence.half_of(name) for name in ("pima", "sonar", "penguins", "vowel")] == [
        0,
        0,
        1,
        1,
    ]


def results(gains, seconds, n=60):
    """Rows of made tables: a default with noise, and methods beyond it."""
    random = np.random.default_rng(1)
    rows = []
    for number in range(n):
        for repeat in range(2):
            base = 0.8 + 0.1 * random.random()
            for method in ("default", *gains):
                rows.append(
                    {
                        "dataset": f"table {number}",
                        "repeat": repeat,
                        "method": method,
                        "n_train": 700,
                        "accuracy": base
                        + (gains[method] + 0.0005 * random.normal() if method in gains else 0.0),
                        "fits": 100,
                        "seconds": (number + 1) * seconds.get(method, 1.0),
                    }
                )
    return pd.DataFrame(rows)


GAINS = {
    "p = 1": -0.01,
    "p = 1.5": 0.0,
    "p = 2": 0.0001,
    "coarse": 0.0,
    "moving": 0.004,
    "wide": 0.006,
}
SECONDS = {"p = 1": 0.1, "p = 1.5": 0.2, "p = 2": 0.3, "coarse": 0.9, "moving": 1.0, "wide": 3.0}


def test_what_is_cheaper_and_as_good_or_as_dear_and_better_pays():
    pytest.importorskip("baycomp")
    pytest.importorskip("statsmodels")
    found = search_evidence.evidence(results(GAINS, SECONDS))
    assert sum(found.n_tables) == 60
    assert [one.method for one in found.chosen_by] == [
        "p = 1",
        "p = 1.5",
        "p = 2",
        "coarse",
        "default",
        "moving",
        "wide",
    ]
    assert found.chosen_by[1].seconds == pytest.approx(0.2)
    by_name = {one.comparison.first: one for one in found.confirmations}
    # The worse, the dearer and those that another beats in both are no candidates.
    assert {"p = 1", "wide", "coarse"}.isdisjoint(by_name)
    assert by_name["p = 1.5"].cheaper
    assert not by_name["p = 1.5"].better
    assert by_name["moving"].better
    assert not by_name["moving"].cheaper
    assert any(
        "| p = 1.5 |" in line and line.endswith("| yes |") for line in search_evidence.told(found)
    )


def test_the_page_has_what_the_results_say(tmp_path):
    pytest.importorskip("baycomp")
    pytest.importorskip("statsmodels")
    assert report.searches(tmp_path / "none.csv") is None
    path = tmp_path / "study_searches.csv"
    results(GAINS, SECONDS).to_csv(path)
    found = report.searches(path)
    assert (sum(found["tables"]), found["splits"], found["train"]) == (60, 120, 700)
    assert found["sentences"][-1] == 'What pays: "p = 1.5", "p = 2", "moving".'
    page = report.render({**report.gather(study_rows(), tmp_path), "searches": found})
    assert "at most 700 training rows" in page
    assert "a loss of a tenth of a point is ruled out" in page
    assert "\n| coarse | 100 % | 90 % |" in page
    assert "cheaper search" not in report.render(report.gather(study_rows(), tmp_path))
    results({"p = 1": -0.01}, {}).to_csv(path)
    assert report.searches(path)["sentences"] == [
        "No strategy came near the default grid for less on the tables to choose by."
    ]


def study_rows():
    """The smallest results that the page can be made of."""
    return pd.DataFrame(
        [
            {
                **dict.fromkeys(store.COLUMNS, 0.5),
                "dataset": f"table {number}",
                "repeat": 0,
                "method": "dummy",
                "chosen": {},
            }
            for number in range(3)
        ]
    )


def test_what_is_chosen_by_luck_is_not_confirmed():
    pytest.importorskip("baycomp")
    pytest.importorskip("statsmodels")
    rows = results({"moving": 0.0, "p = 2": 0.0}, {"moving": 1.0, "p = 2": 0.2})
    first = rows["dataset"].map(search_evidence.half_of) == 0
    rows.loc[first & (rows["method"] != "default"), "accuracy"] += 0.01
    rows.loc[~first & (rows["method"] == "p = 2"), "accuracy"] -= 0.002
    found = search_evidence.evidence(rows)
    assert {one.comparison.first for one in found.confirmations} <= {"moving", "p = 2"}
    assert found.confirmations
    assert not any(one.pays for one in found.confirmations)


def test_one_half_alone_is_no_evidence():
    with pytest.raises(statistics.Lacking, match="halves"):
        search_evidence.evidence(results({"p = 2": 0.0}, {}, n=1))
