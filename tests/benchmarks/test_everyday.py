"""The benchmark of everyday problems: draw, turns, referee, ratios, targets, and a run."""

import importlib.util
import json
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import environment
from benchmarks.everyday import __main__ as everyday
from benchmarks.everyday import duels, problems, rows
from benchmarks.everyday.contest import Contest
from benchmarks.everyday.contests import METHODS, ROWS_ASKED, measure
from benchmarks.everyday.linear_contest import DEFAULT_SETTINGS, fit_rival, objective
from benchmarks.everyday.problems import Problem, random_kernel, random_linear
from benchmarks.everyday.process import Measurer
from benchmarks.everyday.report import page
from benchmarks.everyday.rows import Rows, kernel_values, rows_of
from benchmarks.everyday.targets import targets
from benchmarks.everyday.turns import UNWATCHED, Contender, Effort, Watch, take_turns
from benchmarks.objective import judge
from benchmarks.rivals.sklearn_svc import from_svc

ONCE = Effort(turns=1)


# --- the draw ------------------------------------------------------------------------------------


def test_a_problem_depends_on_its_seed_alone():
    name = "300 x 23, 3 classes, rbf, C=0.001, gamma x1, #33858"
    assert random_kernel("rbf", 300, 0).name == name  # in every process and on every machine
    first, again = (rows_of(random_linear(300, 1.0, 1)) for _ in range(2))
    assert abs(first.X - again.X).max() == 0.0
    assert np.array_equal(first.y, again.y)
    other = rows_of(random_linear(300, 1.0, 2))
    assert first.X.shape != other.X.shape or abs(first.X - other.X).sum() > 0.0


def test_the_quick_draw_is_a_part_of_the_full_one():
    whole, quick = (problems.plan(flag, ["a", "b", "c"]) for flag in (False, True))
    assert set(quick) < set(whole)
    keys = [everyday.key_of(problem) for problem in whole]
    assert len(set(keys)) == len(keys)
    drawn = [p for p in whole if p.part == "random"]
    assert {p.kernel for p in drawn} == set(problems.KERNELS)
    assert {p.classes for p in drawn} == set(problems.CLASSES)
    assert {p.C for p in drawn} == set(problems.COSTS)
    assert {p.gamma_factor for p in drawn} == set(problems.GAMMA_FACTORS)
    assert {p.sparse for p in drawn} == {False, True}
    assert not any(p.sparse for p in drawn if p.kernel in ("precomputed", "callable"))


@pytest.mark.parametrize("features", [2, 3, 7, 40])
@pytest.mark.parametrize("classes", problems.CLASSES)
def test_rows_have_the_shape_that_was_drawn(features, classes):
    features = max(features, int(np.ceil(np.log2(classes))))
    shape = {"rows": 200, "features": features, "classes": classes, "sparse": True}
    X, y = rows_of(Problem("random", "PSVC", **shape, seed=features))
    assert X.shape == (200, features)
    assert sp.issparse(X)
    assert X.nnz == pytest.approx(rows.DENSITY * 200 * features, rel=0.05)
    assert np.array_equal(np.unique(y), np.arange(classes))


def test_tables_are_encoded_and_may_be_absent(monkeypatch, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"a": [1.0, np.nan, 3.0, 8.0], "b": pandas.Categorical(["x", "y", "x", "z"])}
    )
    study = type(
        "Study", (), {"load": staticmethod(lambda name: (frame, pandas.Series([7, 5, 5, 7])))}
    )
    monkeypatch.setattr(rows, "study", lambda: study)
    X, y = rows_of(Problem("table", "PSVC", "table made"))
    assert X.shape == (4, 4)
    assert X[1, 0] == pytest.approx((3.0 - 3.75) / np.std([1.0, 3.0, 3.0, 8.0]))  # the median, 3
    assert X.mean(axis=0) == pytest.approx(0.0, abs=1e-15)
    assert X.std(axis=0) == pytest.approx(1.0)
    assert y.tolist() == [1, 0, 0, 1]
    monkeypatch.undo()
    monkeypatch.setenv("PSVM_BENCH_DATA", str(tmp_path))
    rows.study.cache_clear()
    assert rows.table_names() == []
    rows.study.cache_clear()


# --- turns ---------------------------------------------------------------------------------------


def napping(name, seconds):
    return Contender(
        name, lambda limit: time.sleep(seconds if limit is None else min(seconds, 2 * limit))
    )


def test_turns_are_interleaved_until_the_time_is_over():
    order = []
    contenders = [Contender(name, lambda _, name=name: order.append(name)) for name in "abc"]
    take_turns(contenders, Effort(turns=3, seconds=10.0), UNWATCHED)
    assert "".join(order) == "abc" + "bca" + "cab"
    assert [len(one.seconds) for one in contenders] == [3, 3, 3]
    slow = napping("psvm", 0.02)
    take_turns([slow], Effort(turns=50, seconds=0.05), UNWATCHED)
    assert 2 <= len(slow.seconds) <= 5
    assert min(slow.seconds) >= 0.02


def test_the_first_contender_limits_the_others():
    said = []
    fast, ours = napping("fast", 0.01), napping("psvm", 0.5)
    effort = Effort(cap=9.0, patience=2.0, least=0.05, turns=4, seconds=0.0)
    take_turns([fast, ours], effort, Watch({}, lambda *words: said.append(words), ends=False))
    assert said[0] == ("fast", 9.0)
    assert said[1] == ("psvm", 0.05)
    assert ours.over == 0.05
    assert ours.seconds == []
    known = napping("SVC", 0.0)
    take_turns([known], effort, Watch({"SVC": 3.0}, lambda *words: said.append(words)))
    assert known.over == 3.0  # ended in an earlier process: not tried again
    assert len(said) == 2


def test_a_contender_that_fails_is_recorded():
    def fail(_):
        raise ValueError("scale X")

    ours, rival = Contender("psvm", fail), Contender("SVC", lambda _: None)
    contest = Contest(
        Problem("named", "PSVC", "made"), Rows(np.ones((2, 1)), np.arange(2)), ONCE, UNWATCHED
    )
    contest.take_turns([rival, ours])
    record = contest.record(ours, rival)
    assert record["failed"] == "ValueError: scale X"
    assert duels.why_not(record) == "psvm: ValueError: scale X"
    assert record["rival_seconds"] >= 0.0


def test_only_turns_that_both_took_count():
    contest = Contest(
        Problem("named", "PSVC", "made"), Rows(np.ones((2, 1)), np.arange(2)), ONCE, UNWATCHED
    )
    ours = Contender("psvm", lambda _: None, seconds=[4.0, 3.0])
    rival = Contender("SVC", lambda _: None, seconds=[9.0, 6.0, 1.0])
    assert duels.ratio_of(contest.record(ours, rival)) == 2.0
    ours = Contender("psvm", lambda _: None, over=30.0)
    record = contest.record(ours, rival)
    assert duels.ratio_of(record) == pytest.approx(1.0 / 30.0)
    assert duels.words(record) == "< 0.033x"


# --- the referee ---------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
def test_the_referee_takes_a_matrix_of_any_kernel(classes):
    X, y = rows_of(Problem("random", "PSVC", rows=120, features=5, classes=classes))
    model = from_svc(SVC(C=2.0, gamma=0.3).fit(X, y))
    (by_rows,) = judge([model], [1.0], (X, y), (X, y), C=2.0, gamma=0.3)
    K = rbf_kernel(X, gamma=0.3)
    (by_matrix,) = judge([model], [1.0], (K, y), (K, y), C=2.0, gamma=None)
    for name in ("primal", "primal_best", "dual", "train_accuracy", "test_accuracy"):
        assert getattr(by_matrix, name) == pytest.approx(getattr(by_rows, name), rel=1e-11)


@pytest.mark.parametrize("kernel", problems.KERNELS)
def test_values_are_those_of_the_kernel_that_is_fitted(kernel):
    problem = random_kernel(kernel, 300, 0)
    X = rows_of(problem).X[:40]
    case, K = rows.kernel_case(problem, X), kernel_values(problem, X)
    if kernel == "precomputed":
        assert np.array_equal(case.X, K)
        return
    y = np.arange(40) % 2
    svc = SVC(C=1.0, tol=1e-8, **case.parameters).fit(case.X, y)
    decision = K[:, svc.support_] @ np.ravel(from_svc(svc).dual_coef) + svc.intercept_
    assert decision == pytest.approx(svc.decision_function(case.X), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("library", ["LinearSVC", "LIBLINEAR"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_objectives_are_sums_over_the_classes(library, classes):
    if library == "LIBLINEAR" and importlib.util.find_spec("liblinear") is None:
        pytest.skip("liblinear is not installed")
    problem = Problem("random", "LinearPSVC", ps=(2.0,), rows=200, features=4, classes=classes)
    contest = Contest(problem, rows_of(problem), ONCE, UNWATCHED)
    model = fit_rival(DEFAULT_SETTINGS[library], contest)(None)
    from psvm import LinearPSVC

    ours = LinearPSVC(2.0, multi_class="ovr", tol=1e-8).fit(*contest.data)
    best = float(np.sum(ours.primal_objective_))
    assert objective(contest, ours)[0] == pytest.approx(best, rel=1e-10)
    primal, primal_best = objective(contest, model)
    assert best <= primal_best * (1.0 + 1e-8) <= primal * (1.0 + 2e-8)
    assert primal_best == pytest.approx(best, rel=0.02)  # its tolerance, its penalised intercept


# --- ratios and targets --------------------------------------------------------------------------


def record(seconds, rival_seconds, **more):
    shared = {
        "part": "random",
        "estimator": "PSVC",
        "problem": "made",
        "against": problems.DEFAULTS,
    }
    shape = {"rows": 300, "features": 20, "classes": 2, "storage": "dense"}
    parameters = {"p": 1.0, "rival": "SVC", "kernel": "rbf", "C": 1.0, "gamma_factor": 1.0}
    times = {"seconds": seconds, "rival_seconds": rival_seconds}
    return {**shared, **shape, **parameters, **times, **more}


def test_ratios_and_what_counts():
    rows_ = [record(1.0, 4.0), record(2.0, 1.0, C=10.0), record(1.0, 60.0, rival_over=True)]
    rows_ += [record(1.0, 9.0, excess=2e-4), record(5.0, 5.0, over=True, rival_over=True)]
    good = duels.counted(rows_)
    assert good == rows_[:3]
    assert duels.mean_ratio(good) == pytest.approx(np.sqrt(4.0 * 0.5))  # without the bound
    assert duels.summary(good) == "1.4x (1 of 3)"
    assert duels.summary([]) == ""
    assert duels.words(good[2]) == "> 60x"
    lines = duels.group_table(good, ["C"], {"p = 1": lambda row: row["p"] == 1.0})
    assert lines[2:] == [
        "| all | 1.4x (1 of 3) |",
        "| C 1 | 4x (0 of 2) |",
        "| C 10 | 0.5x (1 of 1) |",
        "",
    ]
    assert [list(duels.groups(rows_, "features"))] == [["11 to 60"]]


def test_targets():
    rows_ = [
        record(1.0, 4.0),
        record(1.0, 4.0, p=1.5, kernel="callable"),
        record(1.0, 4.0, rows=1000),
    ]
    rows_.append(record(0.004, 0.001, kernel="poly", rows=3000))  # short, but its group is slow
    linear = {"estimator": "LinearPSVC", "rival": "LinearSVC", "kernel": "linear"}
    rows_ += [record(1.0, 2.0, **linear), record(1.0, 2.0, p=2.0, **linear)]
    rows_.append(record(1.0, 0.1, **{**linear, "rival": "LIBLINEAR"}))  # has no target
    rows_.append(record(1.0, 0.1, **{**linear, "against": problems.CLOSE}))
    rows_.append(record(1.0, 2.0, part="named", problem="iris, rbf"))
    rows_.append(record(1.0, 0.9, part="named", problem="many classes, rbf"))
    rows_.append(record(1.2, 1.0, part="latency", method="predict", asked=1))
    rows_.append(record(9.0, 1.0, part="latency", method="predict", asked=10))
    found = {target.text: target for target in targets(rows_) if target.values}
    verdicts = {text: target.verdict.strip("*") for text, target in found.items()}
    assert verdicts == {
        "PSVC p = 1 >= 3x SVC": "not met",
        "PSVC p = 1.5 >= 2x SVC": "met",
        "PSVC p = 1: no kernel, size, classes under 1.2x": "not met",
        "PSVC p = 1.5: no kernel, size, classes under 1.2x": "met",
        "PSVC: no problem under 0.8x that takes over 5 ms": "met",
        "callable kernels >= 1x SVC": "met",
        "LinearPSVC p = 1, 2 >= 1.5x LinearSVC": "met",
        "LinearPSVC: no size under 1x": "met",
        "150 classes >= 1x": "not met",
        "iris and wine, p = 1 >= 1x SVC": "met",
        "one row <= 1.2x the rival's seconds": "met",
    }
    worst = found["PSVC p = 1: no kernel, size, classes under 1.2x"].worst
    assert worst == (pytest.approx(0.25), "kernel poly, p=1", False)


# --- from end to end -----------------------------------------------------------------------------

SMALL = {"rows": 60, "features": 4, "classes": 3}
EVERY_KIND = [
    Problem("random", "PSVC", ps=(1.0, 1.5), **SMALL),
    Problem("random", "LinearPSVC", ps=(1.0,), kernel="linear", **SMALL),
    Problem("random", "LinearPSVC", ps=(2.0,), kernel="linear", against=problems.CLOSE, **SMALL),
    Problem("search", "PSVCCV", rows=60, features=2, classes=2),
    *list(problems.latencies())[2:],
]


@pytest.mark.filterwarnings("ignore")  # what does not converge is in the records
def test_every_kind_of_problem_has_records_and_a_place_on_the_page():
    records = [row for problem in EVERY_KIND for row in measure(problem, ONCE, UNWATCHED)]
    by_kind = {}
    for row in records:
        by_kind.setdefault((row["part"], row["estimator"], row["against"]), []).append(row)
    assert [row["p"] for row in by_kind["random", "PSVC", "defaults"]] == [1.0, 1.5]
    assert all(row["gap"] < 1e-4 for row in by_kind["random", "PSVC", "defaults"])
    assert by_kind["random", "PSVC", "defaults"][0]["excess"] < 1e-4
    assert by_kind["random", "LinearPSVC", "defaults"][0]["rival_excess"] > -1e-4
    (close,) = [
        r for r in by_kind["random", "LinearPSVC", problems.CLOSE] if r["rival"] == "LinearSVC"
    ]
    assert close["setting"].startswith("sklearn")
    asked = len(METHODS) * len(ROWS_ASKED)
    assert len(by_kind["latency", "PSVC", "defaults"]) == asked
    assert len(by_kind["latency", "LinearPSVC", "defaults"]) == asked
    assert all(row["seconds"] < 0.1 for row in by_kind["latency", "PSVC", "defaults"])  # of a call
    described = environment.describe(1, [])
    text = "\n".join(page({"environment": described, "records": records}, "picture.png"))
    assert "| kernel rbf |" in text
    assert "PSVC.predict, breast_cancer, beside SVC" in text
    assert "A control that does nothing takes" in text


def test_a_run_leaves_records_page_and_picture_and_can_be_resumed(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    words = ["--quick", "--only", "iris", "--name", "tiny"]
    assert everyday.main(words, tmp_path) == 0
    results = json.loads((tmp_path / "tiny.json").read_text())
    assert [row["p"] for row in results["records"]] == [1.0, 1.5, 2.0]
    assert all(row["rows"] == 150 for row in results["records"])
    assert "| PSVC iris, rbf, p=1.5 | SVC |" in (tmp_path / "tiny.md").read_text()
    assert (tmp_path / "tiny.png").stat().st_size > 10_000
    assert "1 problems in" in capsys.readouterr().out
    assert everyday.main([*words, "--resume"], tmp_path) == 0
    assert "0 problems in" in capsys.readouterr().out
    assert json.loads((tmp_path / "tiny.json").read_text())["records"] == results["records"]


@pytest.mark.slow  # two processes, of which one is ended
@pytest.mark.skipif(sys.platform == "win32", reason="needs timers")
def test_a_rival_that_cannot_be_stopped_is_ended_with_its_process():
    hard = Problem(
        "random", "PSVC", kernel="linear", rows=1000, features=41, classes=5, C=1e6, seed=1
    )
    with closing(Measurer(Effort(cap=0.2, turns=1))) as measurer:
        (found,) = measurer.measure(hard)
        assert found["rival_over"]
        assert found["rival_seconds"] == 0.2
        easy = Problem("random", "PSVC", rows=60, features=4, classes=2)
        assert "rival_over" not in measurer.measure(easy)[0]
