"""The benchmarks of kernel solvers: referee, limits, floor, and a run from end to end."""

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

from benchmarks import campaign, cases, competition, growth, row_kernels, run
from benchmarks.cases import Case, Data, check_present
from benchmarks.floor import floor_seconds, merged_support, needed_parts
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
    known = [stored("psvm", 1.0) | {"turns": [{"fit_seconds": ours}]}]  # from an earlier run
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


# --- real tables ---------------------------------------------------------------------------------


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
