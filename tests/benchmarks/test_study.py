"""The study: what is read, split, chosen and kept, on made data."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from benchmarks.study import machines, measures, plan, rules, sets, store
from benchmarks.study.__main__ import main
from benchmarks.study.machines import Family
from benchmarks.study.preparation import MOST_CATEGORIES, preparation
from benchmarks.study.splits import Part, capped, split

PRESENT = pytest.mark.skipif(not sets.names(), reason="the tables are not part of the project")


def made(n=160, seed=0, classes=2):
    """A table with numbers, a text, yes/no, and missing values of each."""
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    frame = pd.DataFrame(
        {
            "x": random.normal(size=n) + y,
            "z": random.normal(size=n),
            "yes": pd.array(random.random(n) < 0.3 + 0.4 * (y > 0), dtype="boolean"),
            "text": pd.Categorical(np.where(random.random(n) < 0.8, y, 0).astype(str)),
        }
    )
    for column in frame:
        frame.loc[random.integers(n, size=4), column] = pd.NA if column == "yes" else None
    return frame, pd.Series([f"class {k}" for k in y])


def table(**of):
    return sets.clean("made", *made(**of))


# --- sets, preparation, splits -------------------------------------------------------------------


def test_a_table_is_numbers_texts_and_codes():
    X, target = made()
    cleaned = sets.clean("made", X, target)
    assert [str(dtype) for dtype in cleaned.X.dtypes] == ["float64"] * 3 + ["object"]
    assert set(cleaned.X["yes"].dropna()) == {0.0, 1.0}
    assert cleaned.X["yes"].isna().sum() == X["yes"].isna().sum() > 0
    np.testing.assert_array_equal(cleaned.y, [int(text[-1]) for text in target])
    assert cleaned.traits["classes"] == 2
    assert cleaned.traits["texts"] == 1


def test_what_is_declared_of_a_table_is_done():
    columns = ["Plas", "Pres", "Skin", "Insu", "Mass", "Age"]
    X = pd.DataFrame([[0.0] * 6, [1.0] * 6], columns=columns)
    cleaned = sets.clean("pima", X, pd.Series(["a", "b"]))
    assert cleaned.X.isna().sum().tolist() == [1, 1, 1, 1, 1, 0]
    X = pd.DataFrame({"Monetary": [1.0, 2.0], "Frequency": [3.0, 4.0]})
    assert list(sets.clean("blood_transfusion", X, pd.Series(["a", "b"])).X) == ["Frequency"]


@PRESENT
def test_every_exception_names_columns_that_exist():
    assert len(sets.names()) == 71
    for name in {*sets.DROPPED, *sets.ZERO_IS_MISSING}:
        X, _ = sets.loader().load(name)
        assert {*sets.DROPPED.get(name, ()), *sets.ZERO_IS_MISSING.get(name, ())} <= set(X)


def test_the_preparation_knows_its_training_rows_only():
    X = table().X
    fitted = preparation(X).fit(X[:100])
    rows = fitted.transform(X[:100])
    np.testing.assert_allclose(rows[:, :3].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(rows[:, :3].std(axis=0), 1.0)
    np.testing.assert_array_equal(rows[:, 3:].sum(axis=1), 1.0)
    assert "missing" in fitted.named_transformers_["texts"][-1].categories_[0]
    strange = X[100:].copy()
    strange["text"] = "never seen"
    np.testing.assert_array_equal(fitted.transform(strange)[:, 3:].sum(axis=1), 0.0)


def test_many_categories_become_at_most_so_many_columns():
    X = pd.DataFrame({"text": np.array([f"t{i}" for i in range(200)], dtype=object)})
    assert preparation(X).fit_transform(X).shape[1] == MOST_CATEGORIES


def test_splits_are_stratified_apart_and_the_same_again():
    of = table(n=400)
    first, again, other = split(of, 0), split(of, 0), split(of, 1)
    assert len(first.train.y) == 280
    assert len(first.test.y) == 120
    assert abs(first.train.y.mean() - of.y.mean()) < 0.01
    pd.testing.assert_frame_equal(first.train.X, again.train.X)
    assert not first.train.X.equals(other.train.X)
    together = pd.concat([first.train.X, first.test.X])["z"]
    np.testing.assert_array_equal(np.sort(together), np.sort(of.X["z"]))


def test_a_cap_keeps_the_shares_of_the_classes():
    y = np.repeat([0, 1, 2], [300, 99, 1])
    part = Part(pd.DataFrame({"x": np.arange(400.0)}), y)
    fewer = capped(part, 80, 0)
    assert np.bincount(fewer.y).tolist() == [60, 20]
    np.testing.assert_array_equal(fewer.y, y[fewer.X["x"].astype(int)])
    assert capped(part, 400, 0) is part


# --- measures ------------------------------------------------------------------------------------


def test_measures_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    y = random.integers(3, size=200)
    probabilities = random.dirichlet([1, 1, 1], 200)
    labels = probabilities.argmax(axis=1)
    found = measures.measured(y, measures.Answers(labels, probabilities))
    assert found["accuracy"] == np.mean(labels == y)
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, labels))
    assert found["auc"] == pytest.approx(roc_auc_score(y, probabilities, multi_class="ovr"))
    assert found["log_loss"] == pytest.approx(log_loss(y, probabilities), rel=1e-6)


def test_a_sure_and_wrong_answer_has_a_finite_loss():
    loss = measures.log_loss(np.array([0]), np.array([[0.0, 1.0]]))
    assert loss == pytest.approx(np.log(1 / measures.LEAST_PROBABILITY))


def test_decision_values_order_two_classes():
    y = np.array([0, 0, 1, 1])
    flat = np.full((4, 2), 0.5)
    answers = measures.Answers(y, flat, np.array([0.1, 0.3, 0.2, 0.4]))
    assert measures.area(y, answers) == 0.75
    assert np.isnan(measures.area(np.zeros(4, dtype=int), answers))


# --- rules ---------------------------------------------------------------------------------------


def scores_of(rows):
    """``cv_results_`` of cells (p, support vectors, scores of ten splits)."""
    results = {
        "param_p": np.ma.MaskedArray([p for p, _, _ in rows], mask=False),
        "mean_n_support": np.array([n for _, n, _ in rows], dtype=float),
    }
    for k in range(10):
        results[f"split{k}_test_score"] = np.array([scores[k] for _, _, scores in rows])
    return results


def test_the_rules_on_scores_whose_choice_is_known():
    flat = [0.80, 0.82, 0.78, 0.84, 0.76]
    results = scores_of(
        [
            (1.0, 10, flat + flat),
            (1.5, 50, [s + 0.010 for s in flat] + flat),
            (2.0, 90, [s + 0.012 for s in flat] + [0.5] * 5),
            (2.0, 80, [s + 0.001 for s in flat] + flat),
        ]
    )
    assert rules.best(results) == 2
    assert rules.best_of(1.0, results) == 0
    assert rules.best_of(2.0, results) == 2
    assert rules.repeated(results) == 1  # the second round is against the winner of the first
    assert rules.one_se(results) == 0  # one error is 0.014; it has the fewest support vectors
    assert rules.prior(results) == 2  # better by 0.002 on every fold: the error is 0


def test_the_prior_stays_where_the_gain_is_within_its_error():
    flat = np.full(10, 0.8)
    shaky = flat + np.tile([0.05, -0.04, 0.03, -0.03, 0.0], 2)  # better by 0.002, give or take
    results = scores_of([(rules.PRIOR_P, 50, flat), (3.0, 60, shaky)])
    assert rules.best(results) == 1
    assert rules.prior(results) == 0


def test_unfinished_cells_are_not_chosen():
    results = scores_of([(1.0, 1, [np.nan] * 10), (1.5, 2, [0.5] * 10)])
    assert rules.best(results) == rules.prior(results) == rules.repeated(results) == 1


# --- machines ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def family():
    parts = split(table(n=120, classes=3), 0)
    found = Family("linear", parts.train, parts.test, 3, 60.0, seed=0)
    found.search()
    return found, dict(found.methods(lambda name: True)), parts


def test_a_family_has_all_its_methods(family):
    found, outcomes, parts = family
    assert list(outcomes) != []
    assert set(outcomes) == set(machines.methods_of("linear"))
    for p in machines.EXPONENTS:
        assert outcomes[f"linear-{p:g}"].chosen["p"] == p
    for name, outcome in outcomes.items():
        accuracy = measures.measured(parts.test.y, outcome.answers)["accuracy"]
        assert accuracy > 0.45, name  # a third by chance
        assert 0 < outcome.support_share <= 1
        assert outcome.chosen["n_train"] == len(parts.train.y)
        np.testing.assert_allclose(outcome.answers.probabilities.sum(axis=1), 1.0)
        tuned = "untuned" not in name
        assert ("C_place" in outcome.chosen) == (tuned and "average" not in name)
    assert len(found.fitted) <= 5 + len(rules.RULES) + 5
    assert outcomes["linear-untuned-3"].chosen["C"] == 1.0
    costs = np.unique(found.results["param_C"])
    chosen = outcomes["linear-best"].chosen
    assert costs[chosen["C_place"]] == chosen["C"]


def test_one_search_gives_what_a_search_of_its_own_would(family):
    """With p fixed: PSVCCV over this p alone, on the first round of folds."""
    from psvm import PSVCCV

    found, outcomes, parts = family
    alone = PSVCCV(
        ps=[2.0], kernel="linear", preprocessor=preparation(parts.train.X), cv=found.folds[:5]
    ).fit(*parts.train)
    chosen = outcomes["linear-2"].chosen
    assert alone.best_params_ == {"p": 2.0, "C": pytest.approx(chosen["C"])}
    np.testing.assert_array_equal(outcomes["linear-2"].answers.labels, alone.predict(parts.test.X))


def test_the_average_is_the_mean_of_the_five(family):
    _, outcomes, _ = family
    five = [outcomes[f"linear-{p:g}"].answers.probabilities for p in machines.EXPONENTS]
    np.testing.assert_allclose(
        outcomes["linear-average"].answers.probabilities, np.mean(five, axis=0)
    )
    assert outcomes["linear-average"].fit_seconds > outcomes["linear-2"].fit_seconds


# --- store and plan ------------------------------------------------------------------------------


def a_row(**other):
    row = dict.fromkeys(store.COLUMNS[3:-1], 0.5)
    return {"dataset": "a", "repeat": 0, "method": "knn", **row, "chosen": {"k": 5}} | other


def test_rows_are_kept_and_the_last_of_a_key_counts(tmp_path):
    path = tmp_path / "study.csv"
    store.prepare(path)
    store.append(path, a_row())
    store.append(path, a_row(accuracy=0.75, support_share=float("nan"), chosen={"p": [1, 2]}))
    store.append(path, a_row(dataset="NA", repeat=1))
    rows = store.read(path)
    assert list(rows.columns) == list(store.COLUMNS)
    assert rows["accuracy"].tolist() == [0.75, 0.5]
    assert np.isnan(rows["support_share"][0])
    assert rows["chosen"].tolist() == [{"p": [1, 2]}, {"k": 5}]
    assert store.finished(path) == {("a", 0, "knn"), ("NA", 1, "knn")}


def test_a_line_cut_short_is_computed_again(tmp_path):
    path = tmp_path / "study.csv"
    store.prepare(path)
    store.append(path, a_row())
    store.append(path, a_row(method="forest"))
    os.truncate(path, path.stat().st_size - 7)
    store.prepare(path)
    assert store.finished(path) == {("a", 0, "knn")}
    store.append(path, a_row(method="dummy"))
    assert store.finished(path) == {("a", 0, "knn"), ("a", 0, "dummy")}
    path.write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match="columns"):
        store.read(path)


def test_the_plan_leaves_out_what_is_finished_and_what_does_not_apply(tmp_path):
    rows = {"small": 500, "middle": 6000, "large": 50_000}
    methods = ["kernel-1", "svc", "lightgbm-same"]
    done = {("small", 0, "kernel-1")}
    found = plan.rounds(rows, methods, repeats=None, done=done, path=tmp_path / "x")
    by_repeat = [{work.dataset: work.methods for work in of_repeat} for of_repeat in found]
    assert len(by_repeat) == 10
    assert by_repeat[0]["small"] == ("svc",)
    assert by_repeat[0]["middle"] == ("kernel-1", "lightgbm-same")
    assert by_repeat[2]["middle"] == ("kernel-1", "lightgbm-same")
    assert by_repeat[3] == {"small": ("kernel-1",)}
    assert "large" in by_repeat[2]


@PRESENT
def test_the_whole_plan_fits_into_three_hours(tmp_path):
    found = plan.rounds(
        sets.n_rows(), plan.METHODS, repeats=None, done=set(), path=tmp_path / "none"
    )
    seconds = sum(work.expected_seconds for of_repeat in found for work in of_repeat)
    assert 3600 < seconds / 2 < 3 * 3600
    assert "71 tables" in plan.told(found, 2)[0]


def test_methods_by_name_and_by_family():
    assert plan.chosen_methods(["kernel"]) == machines.methods_of("kernel")
    assert plan.chosen_methods(["knn", "kernel-1"]) == ["kernel-1", "knn"]
    assert len(plan.chosen_methods(None)) == 40
    with pytest.raises(ValueError, match="no method kernal"):
        plan.chosen_methods(["kernal"])


def test_a_method_that_fails_does_not_stop_the_others(tmp_path, monkeypatch):
    path = tmp_path / "study.csv"
    store.prepare(path)
    of = table(n=100)

    def broken(seed):
        raise RuntimeError("no trees")

    monkeypatch.setitem(plan.rivals.SIMPLE, "forest", lambda seed: None)
    monkeypatch.setattr(plan.rivals, "boosting", broken)
    work = plan.Work("made", 0, ("dummy", "lightgbm", "forest", "logistic", "knn"), 100, path)
    failed = plan.run_split(work, of, split(of, 0))
    assert len(failed) == 2
    assert "made repeat 0 lightgbm: RuntimeError: no trees" in failed[0]
    rows = store.read(path)
    assert rows["method"].tolist() == ["dummy", "logistic", "knn"]
    assert rows["chosen"][0]["smallest_share"] == of.traits["smallest_share"]
    assert rows["accuracy"][1] > rows["accuracy"][0]


def test_boosting_is_tuned_within_its_time():
    pytest.importorskip("lightgbm")
    parts = split(table(n=120), 0)
    short, long = (
        plan.rivals.run_tuned_boosting(parts.train, parts.test, 2, 0, seconds)
        for seconds in (0.0, 1.5)
    )
    assert short.chosen == {"trials": 1, "n_train": len(parts.train.y)}  # the default
    assert long.chosen["trials"] >= 1


def test_a_rerun_is_compared_with_what_was_kept(tmp_path):
    kept, again = tmp_path / "kept.csv", tmp_path / "again.csv"
    for path in (kept, again):
        store.prepare(path)
    store.append(kept, a_row())
    store.append(kept, a_row(method="lightgbm-tuned"))
    store.append(again, a_row(fit_seconds=9.0))
    store.append(again, a_row(method="lightgbm-tuned", accuracy=0.9))
    assert store.differences(kept, again) == []
    store.append(again, a_row(accuracy=0.6))
    store.append(again, a_row(method="dummy"))
    first, second = sorted(store.differences(kept, again))
    assert "('a', 0, 'dummy'): not kept" in first
    assert "accuracy was 0.5 and is 0.6" in second
    assert main(["--check"]) == 2


def test_a_search_that_was_stopped_has_fewer_methods():
    parts = split(table(n=120), 0)
    found = Family("linear", parts.train, parts.test, 2, 60.0, seed=0)
    found.search()
    late = np.asarray(found.results["param_p"], dtype=float) > 1.25
    for name in found.results:
        if name.endswith("_test_score"):
            found.results[name] = np.where(late, np.nan, found.results[name])
    outcomes = dict(found.methods(lambda name: True))
    assert "linear-1.25" in outcomes
    assert "linear-2" not in outcomes
    assert outcomes["linear-average"].chosen["p"] == [1.0, 1.25]
    assert outcomes["linear-prior"].chosen["p"] in (1.0, 1.25)
    assert outcomes["linear-best"].chosen["unfinished"] == late.sum()


def test_work_after_the_deadline_is_not_begun(tmp_path):
    work = plan.Work("nowhere", 0, ("knn",), 100, tmp_path / "x", deadline=0.0)
    assert work() == ["nowhere repeat 0: not begun, the time is up"]


def test_a_set_or_a_method_that_is_not_there(capsys):
    assert main(["--only", "nowhere"]) == 2
    assert "no such tables" in capsys.readouterr().err


@PRESENT
def test_a_run_that_was_stopped_goes_on(tmp_path, capsys):
    """The command on a small table with cheap methods: a second time it computes nothing."""
    path = tmp_path / "study.csv"
    words = ["--only", "penguins", "--methods", "dummy", "knn", "--repeats", "1"]
    words += ["--processes", "1", "--output", str(path)]
    assert main(words) == 0
    before = path.read_bytes()
    assert store.finished(path) == {("penguins", 0, "dummy"), ("penguins", 0, "knn")}
    assert main(words) == 0
    assert path.read_bytes() == before
    assert "0 splits" in capsys.readouterr().out
    lines = before.decode().splitlines()
    path.write_text("\n".join(lines[:2]) + "\n")
    assert main(words) == 0
    assert main([*words, "--check"]) == 0
    assert "0 numbers differ" in capsys.readouterr().out
    told = json.loads(store.read(path)["chosen"].map(json.dumps)[1])
    assert told["n_train"] == 240
