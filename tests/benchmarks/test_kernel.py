"""The benchmarks of kernel solvers: referee, limits, floor, targets, and a run from end to end."""

import importlib.util
import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import campaign, cases, competition, growth, kernel_report, row_kernels, run
from benchmarks.cases import Case, Data, check_present
from benchmarks.floor import floor_seconds, merged_support, needed_parts
from benchmarks.kernel_duels import duels
from benchmarks.kernel_targets import target_lines, targets
from benchmarks.kernel_threads import amdahl, serial_share, thread_lines
from benchmarks.objective import DualModel, best_intercept, judge
from benchmarks.rivals import RIVALS, Setting

GAMMA = 0.4


def blobs(n_classes, n=150, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n).astype(np.int64)
    X = rng.standard_normal((n, d))
    X[:, 0] += 1.5 * y
    return X, y


def libsvm_model(X, y, C):
    svc = SVC(C=C, gamma=GAMMA).fit(X, y)
    coef = svc.dual_coef_.toarray() if sp.issparse(svc.dual_coef_) else svc.dual_coef_
    return DualModel(svc.support_.astype(np.intp), coef, svc.intercept_.copy())


# --- the referee ---------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_referee_computes_the_definitions(n_classes, p):
    X, y = blobs(n_classes)
    C, model = 0.7, libsvm_model(*blobs(n_classes), 0.7)
    K = rbf_kernel(X, X[model.support], gamma=GAMMA)
    primal = best = 0.0
    for t, (low, high) in enumerate(combinations(range(n_classes), 2)):
        coef = np.zeros(model.support.size)
        labels = y[model.support]
        coef[labels == low] = model.dual_coef[high - 1, labels == low]
        coef[labels == high] = model.dual_coef[low, labels == high]
        rows = (y == low) | (y == high)
        sign = np.where(y[rows] == (high if n_classes == 2 else low), 1.0, -1.0)
        f = K[rows] @ coef
        norm = coef @ K[model.support] @ coef
        for_b = [model.intercept[t], best_intercept(f, sign, p)]
        own, of_best = (
            0.5 * norm + C * np.sum(np.maximum(0.0, 1.0 - sign * (f + b)) ** p) for b in for_b
        )
        primal, best = primal + own, best + of_best
    (verdict,) = judge([model], [p], (X, y), (X, y), C=C, gamma=GAMMA)
    assert verdict.primal == pytest.approx(primal, rel=1e-11)
    assert verdict.primal_best == pytest.approx(best, rel=1e-11)
    assert verdict.dual <= verdict.primal_best
    if p == 1.0:  # LIBSVM solved this one
        assert verdict.gap < 1e-3
        assert verdict.train_accuracy == verdict.test_accuracy
        assert verdict.train_accuracy == pytest.approx(
            SVC(C=C, gamma=GAMMA).fit(X, y).score(X, y), abs=0.02
        )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_are_judged_together_as_alone_dense_or_sparse(n_classes):
    X, y = blobs(n_classes)
    X[np.abs(X) < 0.5] = 0.0
    models, ps = [libsvm_model(X, y, C) for C in (0.2, 1.0, 9.0)], [1.0, 2.0, 1.25]
    train = (X, y)
    for rows in (X, sp.csr_matrix(X)):
        together = judge(models, ps, (rows, y), (rows, y), C=1.0, gamma=GAMMA, threads=2)
        for model, p, verdict in zip(models, ps, together, strict=True):
            (alone,) = judge([model], [p], train, train, C=1.0, gamma=GAMMA)
            assert verdict.n_support == alone.n_support == model.support.size
            for name in ("primal", "primal_best", "dual", "worst_gap", "train_accuracy"):
                assert getattr(verdict, name) == pytest.approx(getattr(alone, name), rel=1e-9)


# --- the adapters --------------------------------------------------------------------------------

ADAPTERS = [
    ("psvm", 1.0, 1e-4),
    ("psvm-f32", 1.5, 1e-4),
    ("sklearn", 1.0, 5e-4),  # LIBSVM and intelex stop at a violation of 1e-3
    ("sklearn", 2.0, 5e-4),
    ("intelex", 1.0, 5e-4),
    ("libsvm", 1.0, 5e-4),
    ("torchkm", 1.0, 2e-3),
    ("clarabel", 1.0, 1e-6),
    ("clarabel", 1.5, 1e-6),
    ("clarabel", 2.0, 1e-6),
    ("psmo", 1.5, 2e-2),
]
MODULES = {"intelex": "sklearnex", "libsvm": "libsvm", "torchkm": "torchkm", "clarabel": "cvxpy"}


def need(rival):
    module = MODULES.get(rival, "sklearn")
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")


@pytest.mark.filterwarnings("ignore")  # those of the rivals are not ours to fix
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("name", "p", "allowed"), ADAPTERS)
def test_adapters_solve_the_problem_of_the_referee(name, p, allowed, n_classes):
    need(name)
    if name == "torchkm" and n_classes > 2:
        pytest.skip("two classes only")
    X, y = blobs(n_classes, n=90)
    rival = RIVALS["kernel"][name]
    assert rival.why_not(p, X.shape[0]) is None
    setting = Setting(C=2.0, gamma=GAMMA, p=p, threads=1)
    model = rival.fit(rival.prepare(X, y), y, setting)
    (verdict,) = judge([rival.export(model)], [p], (X, y), (X, y), C=2.0, gamma=GAMMA)
    exact = RIVALS["kernel"]["psvm"]
    best = exact.export(exact.fit(X, y, setting))
    (optimum,) = judge([best], [p], (X, y), (X, y), C=2.0, gamma=GAMMA)
    assert optimum.dual * (1.0 - 1e-9) <= verdict.primal_best
    assert verdict.primal_best <= optimum.primal * (1.0 + allowed)
    own = np.mean(rival.predict(model, rival.prepare(X)) == y)
    assert own == pytest.approx(verdict.train_accuracy, abs=0.03)  # votes may tie


def test_small_problems_only_for_solvers_of_the_whole_matrix():
    for name in ("clarabel", "psmo", "torchkm"):
        assert "rows" in RIVALS["kernel"][name].why_not(1.0, 50_000)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")
def test_libsvm_is_the_build_with_openmp():
    need("libsvm")
    code = (
        "import numpy as np, re\n"
        "from benchmarks.rivals import RIVALS, Setting\n"
        "rng = np.random.default_rng(0)\n"
        "X, y = rng.normal(size=(300, 5)), rng.integers(2, size=300)\n"
        "rival = RIVALS['kernel']['libsvm']\n"
        "def count():\n"
        "    return int(re.search(r'Threads:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "data, before = rival.prepare(X, y), count()\n"
        "rival.fit(data, y, Setting(C=1.0, gamma=1.0, p=1.0, threads=2))\n"
        "print(count() - before)\n"
    )
    variables = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", code]
    answer = subprocess.run(
        command, cwd=root, env=variables, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "1"  # one more thread than before


# --- the floor -----------------------------------------------------------------------------------


def test_floor_counts_each_kernel_value_of_the_support_vectors_once():
    # Three classes; columns are support vectors of classes 0, 1, 2, 2.
    used = np.array([[True, False, False, True], [True, True, False, False]])
    labels = np.array([0, 1, 2, 2])
    parts = {(tuple(rows.tolist()), segment) for rows, segment in needed_parts(used, labels)}
    # Vector 0 (against 1 and 2) needs all classes, vector 1 only 1 and 2, vector 2 none,
    # vector 3 (against 0) needs 0 and 2.
    assert parts == {((0,), 0), ((0,), 1), ((0,), 2), ((1,), 1), ((1,), 2), ((3,), 0), ((3,), 2)}


def test_floor_merges_equal_support_vectors():
    model = DualModel(np.array([0, 1, 4]), np.array([[0.5, 0.5, -1.0]]), np.zeros(1))
    rows, used = merged_support(model, np.array([0, 0, 1, 1, 2]))
    assert rows.tolist() == [0, 2]
    assert used.tolist() == [[True, True]]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_floor_is_measured(n_classes, storage):
    X, y = blobs(n_classes, n=1500)
    X, y = np.vstack([X, X[:500]]), np.concatenate([y, y[:500]])  # a quarter twice
    few = floor_seconds(storage(X), y, libsvm_model(X, y, 100.0), GAMMA, 1)
    assert 0.0 < few < 5.0


# --- limits, keeping and resuming ----------------------------------------------------------------


def contender(rival, seconds=None, p=1.0):
    turns = [] if seconds is None else [{"fit_seconds": seconds}]
    return SimpleNamespace(task=SimpleNamespace(rival=rival, p=p), turns=turns)


@pytest.mark.parametrize(
    ("ours", "give_up_after", "expected"),
    [(2.0, 40.0, 80.0), (0.01, 40.0, 5.0), (30.0, 40.0, 600.0), (2.0, None, 600.0)],
)
def test_a_rival_has_a_multiple_of_our_time(ours, give_up_after, expected):
    options = SimpleNamespace(time_limit=600.0, give_up_after=give_up_after)
    rival, other_p = contender("sklearn"), contender("psvm", 1e3, p=2.0)
    group = [other_p, contender("psvm", ours), contender("psvm-f32", 1e-9), rival]
    assert competition.limit_of(rival, group, options) == expected
    assert competition.limit_of(group[2], group, options) == 600.0  # psvm has all the time
    assert competition.limit_of(contender("lightgbm"), group, options) == 600.0  # another model
    known = [record("psvm", ours)]  # from an earlier run
    assert competition.limit_of(rival, [rival], options, known) == expected


def command(**changed):
    chosen = {"suite": "kernel", "cases": ["a"], "Cs": [1.0], "gamma_factors": [1.0]}
    chosen |= {"rivals": ["sklearn", "psvm"], "ps": [1.0, 1.5], "resume": False, "max_rows": None}
    return SimpleNamespace(**(chosen | changed))


def stored(rival, p, C=1.0):
    return {"case": "a", "C": C, "gamma_factor": 1.0, "rival": rival, "p": p}


def test_keep_drops_what_is_measured_again_and_resume_drops_nothing():
    rows = [stored("psvm", 1.0), stored("psvm", 3.0), stored("intelex", 1.0), stored("psvm", 1, 9)]
    assert run.kept_records(rows, command()) == rows[1:]
    assert run.kept_records(rows, command(resume=True)) == rows


def test_a_problem_is_done_when_every_contender_has_a_record(monkeypatch):
    empty = np.zeros((3, 1))
    data = Data(empty, np.zeros(3, dtype=np.int64), empty, np.zeros(3, dtype=np.int64))
    monkeypatch.setattr(run, "loaded", lambda case, max_rows: data)
    (problem,) = run.problems(command())
    rows = [stored("psvm", 1.0), stored("psvm", 1.5), stored("sklearn", 1.0)]
    assert run.is_done(problem, rows, command())  # scikit-learn has no p = 1.5
    assert not run.is_done(problem, rows[:2], command())
    assert not run.is_done(problem, rows, command(ps=[1.0, 2.0]))
    assert list(competition.asked(command(), 3)) == [("psvm", 1), ("psvm", 1.5), ("sklearn", 1)]


def test_stages_of_the_campaign_are_commands_that_parse(monkeypatch):
    asked_for = []
    monkeypatch.setattr(run, "check_present", lambda case: None)
    monkeypatch.setattr(run, "main", lambda words: asked_for.append(run.parse(words)) or 0)
    assert campaign.main(["--stages", *campaign.STAGES, "--threads", "1"]) == 0
    assert len(asked_for) == len(campaign.STAGES)
    assert all(options.resume and options.threads == 1 for options in asked_for)
    small = asked_for[list(campaign.STAGES).index("small")]
    assert small.name == "kernel_small"
    names = {options.name for options in asked_for}
    assert names == {"kernel", "kernel_small", "kernel_real"}


# --- targets and report --------------------------------------------------------------------------


def record(rival, seconds, *, p=1.0, C=1.0, n_classes=2, predict=1.0, d=10, floor=None, above=0.0):
    clocks = {"fit_seconds": seconds, "fit_cpu_seconds": seconds, "predict_seconds": predict}
    row = {**stored(rival, p, C), "status": "ok", "n_classes": n_classes, "n_features": d}
    row |= {**clocks, "turns": [clocks], "memory_mb": 1.0, "peak_mb": 2.0, "accuracy": 0.9}
    row |= {"n_train": 100, "n_support": 5, "train_accuracy": 0.9, "gap": 5e-5}
    row |= {"primal": 100.0 * (1.0 + above), "primal_best": 100.0 * (1.0 + above), "dual": 99.995}
    return row if floor is None else row | {"floor_seconds": floor}


def ended(rival, limit, **parameters):
    row = record(rival, 1.0, **parameters)
    kept = ("case", "C", "gamma_factor", "p", "rival", "n_classes", "n_features", "n_train")
    return {key: row[key] for key in kept} | {"status": f"over {limit:g} s", "time_limit": limit}


def by_text(records):
    return {target.text: target for target in targets(records, list(duels(records)))}


def test_float32_input_is_compared_with_float32_input():
    rows = [record("psvm", 1.0), record("psvm-f32", 0.5), record("intelex-f32", 3.0)]
    rows.append(record("intelex", 8.0))
    assert {d.theirs["rival"]: d.fit for d in duels(rows)} == {"intelex-f32": 6.0, "intelex": 8.0}
    assert [duel.fit for duel in duels([rows[0], rows[2]])] == [3.0]  # psvm-f32 was not run


def test_a_ratio_counts_only_at_an_objective_that_is_as_good():
    rows = [record("psvm", 1.0, above=2e-4), record("intelex", 9.0), record("psvm", 1.0, C=2.0)]
    rows += [record("intelex", 4.0, C=2.0, above=-0.5e-4)]
    target = by_text(rows)["fit >= 10x intelex, float64 input"]
    assert [value.value for value in target.values] == [4.0]
    assert target.verdict == "**not met**"


def test_a_rival_over_its_limit_is_a_bound_and_stays_out_of_the_mean():
    rows = [record("psvm", 1.0), record("sklearn", 10.0), record("psvm", 2.0, C=2.0)]
    rows.append(ended("sklearn", 80.0, C=2.0))
    target = by_text(rows)["fit >= 15x LIBSVM (scikit-learn's SVC)"]
    assert [(v.value, v.bound) for v in target.values] == [(10.0, False), (40.0, True)]
    assert target.figure(target.measured) == pytest.approx(10.0)
    assert target.figure(target.values) == pytest.approx(20.0)
    assert target.verdict == "met if the lower bounds count"
    line = next(line for line in target_lines([target]) if "LIBSVM" in line)
    assert "| 10x |" in line
    assert "> 20x (1)" in line

    only_bounds = by_text(rows[2:])["fit >= 15x LIBSVM (scikit-learn's SVC)"]
    assert only_bounds.verdict == "met, by lower bounds only"
    rows[2]["primal"] *= 1.001  # not proven to be as good as a rival that never ended
    assert by_text(rows[2:])["fit >= 15x LIBSVM (scikit-learn's SVC)"].verdict == "not measured"


def test_no_case_may_be_slow_whatever_the_mean():
    rows = [record("psvm", 1.0), record("intelex", 90.0), record("psvm", 1.0, C=2.0, n_classes=3)]
    rows.append(record("libsvm", 1.1, C=2.0, n_classes=3))
    target = by_text(rows)["fit: no case under 2.5x"]
    assert target.verdict == "**not met**"
    assert target.worst.name == "a, C=2, p=1, libsvm"


def test_several_classes_are_compared_with_the_faster_rival():
    several = {"n_classes": 3}
    rows = [record("psvm", 1.0, **several), record("intelex", 30.0, **several)]
    rows += [record("sklearn", 5.0, **several), ended("libsvm", 4.0, **several)]
    target = by_text(rows)["fit, several classes >= 4x the faster of intelex and LIBSVM"]
    assert [value.value for value in target.values] == [5.0]
    assert target.verdict == "**met**"
    assert by_text(rows)["fit >= 15x LIBSVM (scikit-learn's SVC)"].verdict == "not measured"


def test_fits_that_take_no_time_to_speak_of_are_not_counted():
    rows = [record("psvm", 0.03), record("intelex", 0.03), record("psvm", 1.0, C=2.0)]
    rows.append(record("intelex", 12.0, C=2.0))
    assert [v.value for v in by_text(rows)["fit >= 10x intelex, float64 input"].values] == [12.0]


def test_what_threads_gain():
    rows = [record("psvm", 1.0) | {"threads": 2}, record("psvm-1-thread", 1.8)]
    rows += [record("psvm", 1.0, C=10.0) | {"threads": 2}, record("psvm-1-thread", 1.25, C=10.0)]
    rows += [record("psvm", 0.03, C=100.0) | {"threads": 2}]  # too short for threads
    rows += [record("psvm-1-thread", 0.03, C=100.0)]
    rows += [record("psvm", 1.0, p=3.0) | {"threads": 2}, record("psvm-1-thread", 1.0, p=3.0)]
    found = by_text(rows)
    mean, worst = found["all threads >= 1.6x one"], found["all threads: no fit under 1.3x one"]
    assert mean.figure(mean.values) == pytest.approx(1.5)
    assert worst.worst.value == pytest.approx(1.25)
    assert {mean.verdict, worst.verdict} == {"**not met**"}


def test_predict_and_exponents():
    rows = [record("psvm", 1.0), record("intelex", 9.0, predict=3.0)]
    rows += [record("sklearn", 9.0, predict=10.0), record("psvm", 2.0, p=2.0)]
    rows += [record("psvm", 8.0, p=1.25), record("psvm", 3.0, C=2.0, d=100)]
    found = by_text(rows)
    assert found["predict >= 2x intelex"].verdict == "**met**"
    assert found["predict >= 20x LIBSVM"].verdict == "**not met**"
    exponents = found["fit at p = 1.25, 1.5, 2, 3 <= 2x p = 1"]
    assert exponents.figure(exponents.values) == pytest.approx(4.0)
    assert exponents.worst.name == "a, C=1, p=1.25"
    assert found["no fit at these p over 4x p = 1"].verdict == "**not met**"


def test_the_page_names_where_psvm_is_not_faster():
    rows = [record("psvm", 1.0, floor=0.5), record("intelex", 0.8), record("libsvm", 20.0)]
    rows += [record("psvm", 1.0, C=2.0, above=1e-3), ended("sklearn", 40.0, C=2.0)]
    rows.append(ended("psvm", 600.0, C=3.0))
    text = "\n".join(kernel_report.lines(rows))
    part = text.split("## Where psvm is not faster")[1].split("##")[0]
    assert "| a, C=1, p=1 | intelex | 0.8x | 1x |" in part
    assert "libsvm | 20x | 1x" in part  # as fast in predict
    assert "objective 1e-03 above" in part
    assert "| a, C=3, p=1 | psvm |  |  | over 600 s |" in part
    assert "| over 40 s | > 40.0x (not counted) |" in text
    faster = [record("psvm", 1.0), record("intelex", 9.0, predict=2.0)]
    assert "Nowhere in these measurements" in "\n".join(kernel_report.lines(faster))


# --- threads, entries, other models --------------------------------------------------------------


def test_the_serial_share_is_that_of_amdahls_law():
    for share in (0.0, 0.25, 0.6, 1.0):
        assert serial_share(amdahl(share, 2), 2) == pytest.approx(share)
    assert amdahl(0.25, 8) == pytest.approx(1.0 / (0.25 + 0.75 / 8))
    assert serial_share(2.2, 2) == 0.0  # caches of two cores: no less than nothing is serial
    assert serial_share(0.7, 2) is None
    slower = [record("psvm", 2.0) | {"threads": 2}, record("psvm-1-thread", 1.5)]
    assert thread_lines(slower)[3] == "| a, C=1, p=1 | 2 | 1.5 | 0.75x | none |  |  |  |  |"


def test_the_page_tells_what_threads_gain_and_how_many_entries_are_computed():
    two = record("psvm", 1.0) | {"threads": 2, "kernel_entries": 1250}  # 100 rows, 5 vectors
    one = record("psvm-1-thread", 1.6) | {"threads": 2}
    alone = record("psvm", 3.0, C=2.0) | {"threads": 2, "kernel_entries": 2000}
    text = thread_lines([two, one, alone, record("intelex", 9.0)])
    assert text[3].startswith("| a, C=1, p=1 | 1 | 1.6 | 1.60x | 25% | 2.9x | 3.4x | 3.7x | 2.50 |")
    assert text[4] == "| a, C=2, p=1 | 3 |  |  |  |  |  |  | 4.00 |"
    assert text[2].endswith("| 3.16 |")  # of 2.5 and 4
    assert thread_lines([record("psvm", 1.0), one]) == []  # of a file from before


def test_models_of_another_kind_are_shown_beside_and_are_nobodys_rivals():
    trees = record("lightgbm", 0.1) | {"accuracy": 0.95, "memory_mb": 7.0}
    for field in ("primal", "primal_best", "dual", "gap", "train_accuracy"):
        del trees[field]
    rows = [record("psvm", 1.0), record("intelex", 9.0), trees, record("psvm", 2.0, C=2.0)]
    text = "\n".join(kernel_report.lines(rows))
    part = text.split("## Beside other models")[1].split("##")[0]
    assert "| lightgbm | 0.1 | 1 | 7 | 0.9500 |" in part
    assert "C=2" not in part
    assert "## Beside" not in "\n".join(kernel_report.lines(rows[:2]))
    late = {**stored("lightgbm", 1.0), "status": "over 5 s", "time_limit": 5.0}
    assert [duel.theirs["rival"] for duel in duels([*rows, late])] == ["intelex"]


@pytest.mark.parametrize("categories", [3, 60])
def test_tables_become_numbers_by_what_the_training_rows_have(tmp_path, monkeypatch, categories):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(500) < 0.1, np.nan, rng.normal(3.0, 2.0, 500)),
            "text": [f"t{code}" for code in rng.integers(categories, size=500)],
            "target": rng.choice(["no", "yes"], 500),
        }
    )
    (tmp_path / "study").mkdir()
    frame.to_parquet(tmp_path / "study" / "made.parquet")
    monkeypatch.setenv("PSVM_BENCH_DATA", str(tmp_path))
    monkeypatch.setitem(cases.CASES, "made", Case("made", n_train=300, table=True))
    check_present("made")
    data = cases.load("made")
    assert sp.issparse(data.X_train) == (categories > 3)  # 2 of 31 columns, or 2 of 4
    X = data.X_train.toarray() if sp.issparse(data.X_train) else data.X_train
    assert X.shape == (300, 4 if categories == 3 else 31)  # the rarest categories are one
    assert data.X_test.shape == (100, X.shape[1])
    assert abs(X[:, 0].mean()) < 1e-12
    assert X[:, 0].std() == pytest.approx(1.0)
    assert (X[:, 1:].sum(axis=1) == 1.0).all()
    assert set(np.unique(data.y_train)) == {0, 1}
    monkeypatch.setitem(cases.CASES, "absent", Case("absent", table=True))
    with pytest.raises(FileNotFoundError, match=r"absent\.parquet"):
        check_present("absent")


# --- growth --------------------------------------------------------------------------------------


def test_growth_fits_the_exponent_over_the_sizes_there_are():
    turns = {n: {"fit_seconds": 1e-6 * n**1.5, "memory_mb": 7.0} for n in (100, 1000, 10_000)}
    found = {("psvm", 1.0): turns, ("slow", 1.0): {100: turns[100]}}
    assert growth.exponent(growth.values_of(turns)) == pytest.approx(1.5)
    text = growth.growth_table(found, [100, 1000, 10_000])
    assert text[2].endswith("| 1.50 |")
    assert text[3].endswith("|  |  | nan |")
    assert "exponent" not in growth.growth_table(found, [100], "memory_mb")[0]
    assert growth.spaced(1000, 100_000, 3) == [1000, 10_000, 100_000]


# --- from end to end -----------------------------------------------------------------------------


@pytest.mark.slow  # eight processes
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and timers")
def test_a_run_leaves_records_page_and_picture_and_can_be_resumed(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    try:
        check_present("satimage")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    words = "benchmarks --cases satimage --max-rows 250 --repeats 1 --threads 1 --p 1 1.5"
    words += " --rivals sklearn psvm control --name tiny"
    monkeypatch.setattr(sys, "argv", words.split())
    assert run.main(folder=tmp_path) == 0
    results = json.loads((tmp_path / "tiny.json").read_text())
    rows = {(row["rival"], row["p"]): row for row in results["records"]}
    assert list(rows) == [("psvm", 1), ("psvm", 1.5), ("sklearn", 1), ("control", 1)]
    assert all(row["status"] == "ok" for row in rows.values())
    assert rows["psvm", 1.0]["floor_seconds"] > 0.0
    assert rows["psvm", 1.0]["kernel_entries"] > 0
    assert rows["psvm", 1.0]["threads"] == 1
    assert "floor_seconds" not in rows["sklearn", 1.0]
    assert rows["psvm", 1.5]["gap"] < 2e-4
    assert rows["psvm", 1.0]["accuracy"] == pytest.approx(
        rows["sklearn", 1.0]["accuracy"], abs=0.03
    )
    page = (tmp_path / "tiny.md").read_text()
    assert "## Targets" in page
    assert (tmp_path / "tiny.png").stat().st_size > 10_000
    assert not list(tmp_path.glob("*.part"))

    capsys.readouterr()
    more = words.replace("--rivals", "--C 1 2 --rivals psvm-f32").split()
    monkeypatch.setattr(sys, "argv", [*more, "--resume"])
    assert run.main(folder=tmp_path) == 0
    assert "[2/2," in capsys.readouterr().out
    again = json.loads((tmp_path / "tiny.json").read_text())["records"]
    assert again[:4] == results["records"]  # not measured again
    new = [(row["C"], row["rival"], row["p"]) for row in again[4:]]
    assert new[:2] == [(1, "psvm-f32", 1), (1, "psvm-f32", 1.5)]
    assert len(new) == 2 + 6
    monkeypatch.setattr(sys, "argv", [*more, "--resume"])
    assert run.main(folder=tmp_path) == 0
    assert "satimage" not in capsys.readouterr().out  # nothing is missing


def test_row_kernels_of_every_kernel_are_timed(capsys):
    row_kernels.main(["--quick"])
    lines = capsys.readouterr().out.strip().splitlines()
    kernels = [line.split("|")[1].strip() for line in lines[2:]]
    assert kernels == list(row_kernels.KERNELS)
    cells = [cell.strip() for line in lines[2:] for cell in line.split("|")[2:-1]]
    assert len(cells) == len(kernels) * 4 * len(row_kernels.FEATURES)
    assert all(float(cell.split()[0]) > 0 and cell.endswith(")") for cell in cells)
    assert all(cell.endswith("(1.0)") for cell in cells[: 4 * len(row_kernels.FEATURES)])
