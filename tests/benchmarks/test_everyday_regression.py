"""Everyday regressions beside scikit-learn: which problems, who takes turns, and what is shown."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVR, LinearSVR

from benchmarks import environment
from benchmarks.everyday import __main__ as everyday
from benchmarks.everyday import problems, rows
from benchmarks.everyday import regression_contest as contests
from benchmarks.everyday import regression_problems as drawn
from benchmarks.everyday.contest import Contest
from benchmarks.everyday.contests import ROWS_ASKED, measure
from benchmarks.everyday.problems import Problem
from benchmarks.everyday.report import page
from benchmarks.everyday.rows import kernel_values, rows_of
from benchmarks.everyday.targets import targets
from benchmarks.everyday.turns import UNWATCHED, Contender, Effort
from benchmarks.regression import sets
from benchmarks.regression.referee import judge_matrix
from psvm import PSVR, LinearPSVR

ONCE = Effort(turns=1)
SMALL = {"rows": 60, "features": 3, "epsilon": 0.1}


# --- which problems ------------------------------------------------------------------------------


def test_the_quick_draw_is_a_part_of_the_full_one():
    whole, quick = (drawn.plan(flag, ["a", "b", "c"]) for flag in (False, True))
    assert set(quick) < set(whole)
    keys = [everyday.key_of(problem) for problem in whole]
    assert len(set(keys)) == len(keys)
    assert all(problem.has_targets and problem.classes == 0 for problem in whole)
    random = [p for p in whole if p.part == "random"]
    assert {p.kernel for p in random} == set(problems.KERNELS)
    assert {p.rows for p in random} == {*problems.KERNEL_ROWS, *problems.LINEAR_ROWS}
    assert {p.epsilon for p in random} == set(drawn.TUBES)
    assert {p.sparse for p in random} == {False, True}
    assert {p.estimator for p in whole} == {"PSVR", "LinearPSVR", "PSVRCV"}


def test_the_suite_has_them_and_one_word_chooses_them(monkeypatch):
    monkeypatch.setattr(everyday, "table_names", list)
    monkeypatch.setattr(everyday, "target_table_names", list)
    every = everyday.chosen(everyday.parse(["--quick"]))
    own = everyday.chosen(everyday.parse(["--quick", "--only", "PSVR"]))
    assert own == [problem for problem in every if problem.has_targets]
    assert 0 < len(own) < len(every)


def test_rows_are_those_of_the_regression_suites(monkeypatch):
    thin = Problem("random", "PSVR", rows=200, features=6, sparse=True, seed=4)
    X, y = rows_of(thin)
    assert sp.issparse(X)
    assert X.nnz == pytest.approx(rows.DENSITY * X.shape[0] * X.shape[1], rel=0.05)
    assert np.array_equal(y, sets.curved(200, 6, 4).y)
    assert rows_of(thin).classes == 0
    linear = rows_of(Problem("random", "LinearPSVR", rows=50, features=3, seed=2))
    assert np.array_equal(linear.X, sets.synthetic(50, 3, 2).X)
    made = sets.synthetic(40, 3)
    monkeypatch.setattr(rows, "table_named", {"made": made}.__getitem__)
    assert rows_of(Problem("table", "PSVR", "targets made")).X is made.X


def test_small_tables_come_first_and_large_ones_not_at_all(monkeypatch):
    pytest.importorskip("polars")
    sizes = {"b": 200, "a": 30, "large": problems.TABLE_ROWS + 1}
    made = [sets.RegressionSet(name, np.zeros((n, 1)), np.zeros(n)) for name, n in sizes.items()]
    monkeypatch.setattr(rows, "tables", lambda: iter(made))
    assert rows.target_table_names() == ["a", "b"]


# --- the referee ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "sparse rbf", "poly", "precomputed", "callable"])
def test_the_referee_agrees_with_the_certificate(kernel):
    fields = {"function": "laplacian" if kernel == "callable" else "", "C": 2.0, "seed": 1, **SMALL}
    fields |= {"sparse": kernel.startswith("sparse"), "kernel": kernel.split()[-1]}
    problem = Problem("random", "PSVR", **fields)
    contest = Contest(problem, rows_of(problem), ONCE, UNWATCHED)
    case, K = rows.kernel_case(problem, contest.data.X), kernel_values(problem, contest.data.X)
    for p in (1.0, 1.5):
        model = contests.fit_psvr(contest, case, p)(None)
        assert isinstance(model, PSVR)
        verdict = judge_matrix(K, contest.data.y, model, contests.loss_of(contest, p))
        assert verdict.primal == pytest.approx(model.primal_objective_[0], rel=1e-9)
    theirs = contests.fit_svr(contest, case)(None)
    assert isinstance(theirs, SVR)
    (ours,) = contests.kernel_contest(contest)
    assert abs(ours["excess"]) < 1e-2
    assert ours["excess"] < 1e-4


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_linear_objectives_are_compared(p):
    problem = Problem("random", "LinearPSVR", ps=(p,), kernel="linear", seed=3, **SMALL)
    contest = Contest(problem, rows_of(problem), ONCE, UNWATCHED)
    ours = contests.our_linear(contest).run(None)
    assert isinstance(ours, LinearPSVR)
    verdict = contests.linear_verdict(contest, ours)
    assert verdict.primal == pytest.approx(ours.primal_objective_[0], rel=1e-9)
    theirs = contests.fit_linear_svr(contest)(None)
    assert isinstance(theirs, LinearSVR)
    assert theirs.epsilon == 0.1
    assert contests.linear_verdict(contest, theirs).primal_best >= verdict.primal * (1.0 - 1e-4)
    (record,) = contests.linear_contest(contest)
    assert record["excess"] < 1e-4
    assert record["rival"] == "LinearSVR"


def test_a_worse_objective_does_not_count():
    one = Contender("psvm p=1", lambda _: None, model=PSVR(1.0).fit([[0.0], [1.0]], [0.0, 1.0]))
    verdicts = {"psvm p=1": judged(11.0), "SVR": judged(10.0)}
    found = contests.comparison(one, verdicts["SVR"], verdicts)
    assert found["excess"] == pytest.approx(0.1)
    assert contests.comparison(one, None, {}) == {}
    one.p = 1.5
    assert "excess" not in contests.comparison(one, verdicts["SVR"], verdicts)


def judged(primal):
    from benchmarks.regression.referee import Verdict

    return Verdict(primal, primal, 0.0)


# --- from end to end -----------------------------------------------------------------------------

EVERY_KIND = [
    Problem("random", "PSVR", ps=(1.0, 1.5), **SMALL),
    Problem("random", "LinearPSVR", ps=(2.0,), kernel="linear", **SMALL),
    Problem("search", "PSVRCV", rows=40, features=2),
    *drawn.latencies(),
]


@pytest.mark.filterwarnings("ignore")  # what does not converge is in the records
def test_every_kind_of_problem_has_records_and_a_place_on_the_page(monkeypatch):
    monkeypatch.setattr(rows, "table_named", lambda name: sets.curved(50, 2))
    table = list(drawn.tables(["made"]))[:2]
    records = [row for one in [*EVERY_KIND, *table] for row in measure(one, ONCE, UNWATCHED)]
    by_kind = {}
    for row in records:
        by_kind.setdefault((row["part"], row["estimator"]), []).append(row)
        assert (row["classes"], row["storage"]) == (0, "dense")
    assert [row["p"] for row in by_kind["random", "PSVR"]] == [1.0, 1.5]
    assert all(row["gap"] <= 1e-4 for row in by_kind["random", "PSVR"])
    assert by_kind["search", "PSVRCV"][0]["rival"] == "SVR"
    for estimator in ("PSVR", "LinearPSVR"):
        of_it = by_kind["latency", estimator]
        assert [row["asked"] for row in of_it] == list(ROWS_ASKED)
        assert {row["method"] for row in of_it} == {"predict"}
    described = environment.describe(1, [])
    text = "\n".join(page({"environment": described, "records": records}, "picture.png"))
    for line in (
        "## PSVR beside SVR, random problems",
        "## LinearPSVR beside LinearSVR, random problems",
        "| epsilon 0.1 |",
        "| made, 50 x 2 |",
        "PSVR.predict, diabetes, beside SVR",
        "| PSVRCV 40 x 2, five p | SVR |",
    ):
        assert line in text
    measured = {target.text for target in targets(records) if target.values}
    assert {"PSVR p = 1 >= 3x SVR", "PSVR p = 1: no kernel, size under 1.2x"} <= measured
    assert {"LinearPSVR p = 1, 2 >= 1.5x LinearSVR", "LinearPSVR: no size under 1x"} <= measured
