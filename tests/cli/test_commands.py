"""The commands in this process: what they write, and what they say when they cannot."""

import json
import re
import sys
import warnings

import numpy as np
import polars as pl
import pytest
from cli_calls import fails, file, run
from cli_data import FEATURES, MATRICES, SPECIES, TABLES, TOLD, iris, write_iris
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psvm import PSVC, LinearPSVC
from psvm.cli import app
from psvm.persistence import load, save

# --- fit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES + MATRICES)
def test_every_format_makes_the_model_that_python_makes(tmp_path, capfd, kind):
    path, output = write_iris(tmp_path, kind), tmp_path / "m.psvm"
    words = ["--target", "species"] if kind in TABLES else []
    assert run(capfd, "fit", path, *words, "-o", output, "--scale", "--quiet") == (0, "", "")
    model = load(output)
    X, y = load_iris(return_X_y=True)
    scaler = StandardScaler(with_mean=kind in ("npz", *TABLES))
    twin = make_pipeline(scaler, PSVC()).fit(X, y)
    rows = iris().select(FEATURES) if kind in TABLES else X
    np.testing.assert_allclose(model.decision_function(rows), twin.decision_function(X), atol=1e-6)
    assert model.classes_.tolist() == (SPECIES.tolist() if kind in TABLES else [0, 1, 2])


def test_options_reach_the_classifier(tmp_path, capfd, shared):
    output = tmp_path / "m.psvm"
    words = ["fit", shared / "iris.csv", "-t", "species", "-o", output, "-q", "--no-scale"]
    given = "--p 2 -C 3 --kernel poly --degree 2 --coef0 1 --gamma 0.5 --class-weight balanced"
    given += " --multi-class ovr --tol 1e-6 --max-iter 500 --max-time 50 --jobs 1"
    assert run(capfd, *words, *given.split())[0] == 0
    model = load(output)
    assert isinstance(model, PSVC)
    wanted = {"p": 2, "C": 3, "kernel": "poly", "degree": 2, "coef0": 1, "gamma": 0.5}
    wanted |= {"class_weight": "balanced", "multi_class": "ovr", "tol": 1e-6, "max_iter": 500}
    wanted |= {"max_time": 50, "n_jobs": 1}
    assert wanted.items() <= model.get_params().items()
    assert run(capfd, *words, "--linear", "--p", "1")[0] == 0
    assert isinstance(load(output), LinearPSVC)
    assert load(output).p == 1
    assert load(output).multi_class == "ovo"  # not Python's default: a file is for predictions
    # The same, spelt as in tune.
    assert run(capfd, *words, "--kernel", "linear", "--p", "1")[0] == 0
    assert isinstance(load(output), LinearPSVC)
    assert run(capfd, *words, "--linear", "--multi-class", "ovr")[0] == 0
    assert load(output).coef_.shape == (3, 4)


def test_the_summary_and_its_json(tmp_path, capfd, shared):
    words = ["fit", shared / "iris.csv", "-t", "species", "-o", tmp_path / "m.psvm"]
    code, out, err = run(capfd, *words, "--test-size", ".2")
    assert (code, err) == (0, TOLD)
    for part in ("150 rows", "relative duality gap", "support vectors", "tested on", "30 rows"):
        assert (part in out) == (part != "150 rows")  # 120 are for the fit
    code, out, err = run(capfd, *words, "--test-size", ".2", "--seed", "1", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, TOLD)
    assert facts["task"] == "classification"
    assert facts["rows"] == 120
    assert facts["within_tol"]
    assert facts["dual_gap"] <= 1e-4
    assert facts["classes"] == SPECIES.tolist()
    assert facts["test"]["rows"] == 30
    assert [one["rows"] for one in facts["test"]["classes"]] == [10, 10, 10]
    assert facts["parameters"]["p"] == 1.5
    model = load(tmp_path / "m.psvm")
    assert sum(facts["support_vectors_per_class"]) == len(model[-1].support_)


def mixed(folder, **changes):
    """Numbers and texts, with holes; the text decides the label."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue [dark]"], 90)
    table = pl.DataFrame(
        {
            "size": [None if i % 10 == 3 else float(v) for i, v in enumerate(rng.normal(size=90))],
            "colour": [None if i % 15 == 7 else c for i, c in enumerate(colour.tolist())],
            "name": [f"n{i}" for i in range(90)],
            "good": np.where(colour == "red", "yes", "no").tolist(),
        }
    ).with_columns(**changes)
    table.write_csv(folder / "mixed.csv")
    return folder / "mixed.csv"


def test_texts_and_missing_values_travel_with_the_model(tmp_path, capfd):
    path, output = mixed(tmp_path), tmp_path / "m.psvm"
    words = ["fit", path, "-t", "good", "-o", output, "-q"]
    assert "line 2, column 'name': 'n0' is no number" in fails(capfd, *words, "--impute")
    code, _, err = run(capfd, *words, "--drop", "name")
    assert code == 1
    assert "column 'size', line 5: 9 of 90 values are missing\n" in err
    assert "column 'colour', line 9: 6 of 90 values are missing\n" in err
    assert not output.exists()
    assert run(capfd, *words, "--drop", "name", "--impute") == (0, "", "")
    assert isinstance(load(output)[0], ColumnTransformer)
    code, out, _ = run(capfd, "evaluate", output, path, "-t", "good", "--json")
    assert code == 0
    assert json.loads(out)["accuracy"] > 0.9
    mixed(tmp_path, colour=pl.lit("mauve"))
    code, out, err = run(capfd, "predict", output, path)
    assert code == 0
    assert out.count("\n") == 91
    assert err.startswith("psvm: warning: ")
    assert "column 'colour': 90 values that the fit did not see" in err


def test_warnings_are_one_line(tmp_path, capfd, shared):
    words = ["fit", shared / "iris.csv", "-t", "species", "-o", tmp_path / "m.psvm", "-q"]
    code, _, err = run(capfd, *words, "--max-iter", "1", "--p", "1", "-C", "1000", "--linear")
    assert code == 3
    assert err.startswith("psvm: NOT finished: the relative duality gap is")
    assert "stopped after max_iter" in err
    assert err.count("\n") == 1


def test_warnings_for_programmers_are_not_shown(capfd, monkeypatch):
    """An import that Ctrl-C ends leaves files open."""

    def interrupted(*_, **__):
        for kind in (ResourceWarning, DeprecationWarning, UserWarning):
            warnings.warn(kind.__name__, kind, stacklevel=2)
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "app", interrupted)
    assert run(capfd, "info") == (130, "", "psvm: warning: UserWarning\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--p", "0.5"], "'--p': must be a finite number of at least 1, got 0.5"),
        (["--C", "0"], "must be above 0, got 0"),
        (["--C", "much"], "'--C' / '-C'"),
        (["--gamma", "wide"], "must be scale, auto or a number, got 'wide'"),
        (["--gamma", "-1"], "must be above 0 and finite"),
        (["--kernel", "spline"], "'spline' is not one of 'rbf'"),
        (["--linear", "--gamma", "1"], "--gamma has no effect with --linear"),
        (["--kernel", "linear", "--degree", "1"], "--degree has no effect with --linear"),
        (["--linear", "--approximate", "9"], "--approximate has no effect with --linear"),
        (["--linear", "--kernel", "rbf"], "--kernel rbf and --linear exclude each other"),
        (["--approximate", "9", "--kernel", "exponential"], "takes the kernels rbf, laplacian"),
        (["--approximate", "0"], "greater than or equal to 1"),
        (["--test-size", "2"], "must be between 0 and 1, got 2"),
        (["--delimiter", "ab"], "must be one character"),
        (["--drop", "stem"], "has no column 'stem'"),
        (["--max-time", "0"], "must be above 0"),
    ],
)
def test_wrong_usage_is_exit_code_2(tmp_path, capfd, shared, words, message):
    output = tmp_path / "m.psvm"
    start = ["fit", shared / "iris.csv", "-t", "species", "-o", output]
    line = fails(capfd, *start, *words, code=2)
    assert message in line
    assert line.endswith("--help)\n")
    assert not output.exists()


def test_the_target_must_be_given_and_exist(tmp_path, capfd, shared):
    words = ["fit", shared / "iris.csv", "-o", tmp_path / "m.psvm"]
    assert "'petal width', 'species'" in fails(capfd, *words, code=2)
    line = fails(capfd, *words, "-t", "specie")
    assert line.startswith(f"psvm: {shared / 'iris.csv'}: there is no column 'specie' (did you")


def test_files_that_are_not_there(tmp_path, capfd, shared):
    model = tmp_path / "m.psvm"
    gone = tmp_path / "gone.csv"
    no_such = f"psvm: {gone}: No such file or directory\n"
    assert fails(capfd, "fit", gone, "-t", "y", "-o", model) == no_such
    assert fails(capfd, "predict", shared / "iris.psvm", gone) == no_such
    assert "gone.psvm" in fails(capfd, "info", tmp_path / "gone.psvm")
    assert f"{tmp_path}: Is a directory" in fails(capfd, "fit", tmp_path, "-t", "y", "-o", model)


def test_an_output_that_cannot_be_written_is_found_out_first(tmp_path, capfd):
    # The data does not exist either: the output was looked at before it.
    words = ["fit", tmp_path / "gone.csv", "-t", "y", "-o"]
    assert "there is no folder" in fails(capfd, *words, tmp_path / "no" / "m.psvm")
    assert "is a folder" in fails(capfd, *words, tmp_path)


def test_debug_shows_where(tmp_path, capfd):
    words = ["fit", file(tmp_path, ""), "-t", "y", "-o", tmp_path / "m.psvm"]
    assert "the file is empty" in fails(capfd, *words)
    _, _, err = run(capfd, *words, "--debug")
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("psvm: ")


# --- info, export, bench, demo -------------------------------------------------------------------


def test_info_tells_the_certificate(capfd, shared):
    code, out, err = run(capfd, "info", shared / "iris.psvm")
    assert (code, err) == (0, "")
    told = (
        "StandardScaler → PSVC",
        "p=1.5",
        "relative duality gap",
        "'virginica'",
        "'petal width'",
    )
    for word in (*told, "support vectors", "scikit-learn"):
        assert word in out
    found = json.loads(run(capfd, "info", shared / "iris.psvm", "--json")[1])
    assert found["model"]["feature_names"] == FEATURES
    assert max(found["model"]["dual_gap"]) <= 1e-4


def test_a_model_that_is_none(tmp_path, capfd, shared):
    whole = (shared / "iris.psvm").read_bytes()
    (tmp_path / "cut.psvm").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "changed.psvm").write_bytes(whole.replace(b"payload", b"payl0ad"))
    for name in ("cut.psvm", "changed.psvm"):
        line = fails(capfd, "predict", tmp_path / name, shared / "iris.csv")
        assert f"{tmp_path / name} is damaged or truncated" in line
    line = fails(capfd, "info", shared / "iris.csv")
    assert "is not a psvm model file" in line


def test_export_by_the_ending(tmp_path, capfd, shared):
    output = tmp_path / "m.json"
    code, out, err = run(capfd, "export", shared / "iris.psvm", output)
    assert (code, out, err) == (0, "", f"{output} written\n")
    assert json.loads(output.read_text())
    line = fails(capfd, "export", shared / "iris.psvm", tmp_path / "m.libsvm")
    assert "a LIBSVM model has no preprocessing" in line
    line = fails(capfd, "export", shared / "iris.psvm", tmp_path / "m.txt", code=2)
    assert "must end in one of .onnx, .libsvm, .model, .json" in line
    bare = tmp_path / "bare.psvm"
    save(PSVC().fit(*load_iris(return_X_y=True)), bare)
    code, out, _ = run(capfd, "export", bare, tmp_path / "m.libsvm", "--json")
    assert code == 0
    assert json.loads(out)["bytes"] == (tmp_path / "m.libsvm").stat().st_size
    assert (tmp_path / "m.libsvm").read_text().startswith("svm_type c_svc")


def test_export_of_words_to_libsvm_numbers_them_and_says_so(tmp_path, capfd, shared):
    bare, output = tmp_path / "bare.psvm", tmp_path / "m.libsvm"
    words = ["fit", shared / "iris.csv", "-t", "species", "-o", bare, "--no-scale", "-q"]
    assert run(capfd, *words)[0] == 0
    code, _, err = run(capfd, "export", bare, output, "-q")
    assert code == 0
    assert err.endswith("whole numbers: 0 is setosa, 1 is versicolor, 2 is virginica\n")
    assert "\nlabel 0 1 2\n" in output.read_text()


def test_export_of_a_tuned_model_to_libsvm_names_what_it_cannot_hold(tmp_path, capfd, shared):
    model = tmp_path / "m.psvm"
    words = ["tune", shared / "iris.csv", "-t", "species", "-o", model, "-q"]
    assert run(capfd, *words, "--ps", "1", "--Cs", "1", "--gammas", "0.1")[0] == 0
    line = fails(capfd, "export", model, tmp_path / "m.libsvm")
    assert "no preprocessing (StandardScaler)" in line
    assert "--no-scale" in line
    assert "write_libsvm" not in line


def test_export_as_onnx(tmp_path, capfd, shared):
    pytest.importorskip("onnx")
    assert run(capfd, "export", shared / "iris.psvm", tmp_path / "m.onnx", "-q") == (0, "", "")
    assert (tmp_path / "m.onnx").stat().st_size > 1000


def test_bench_says_where_the_benchmarks_are(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "psvm.cli.commands.bench.__file__", str(tmp_path / "psvm" / "cli" / "bench.py")
    )
    assert "in a clone of it" in fails(capfd, "bench", "--quick")


def test_bench_passes_its_words_on(tmp_path, capfd, monkeypatch):
    (tmp_path / "src" / "psvm").mkdir(parents=True)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").write_text("")
    program = "import sys\nprint(sys.argv[1:])\nsys.exit(7)\n"
    (tmp_path / "benchmarks" / "__main__.py").write_text(program)
    monkeypatch.chdir(tmp_path / "src")
    code, out, _ = run(capfd, "bench", "--quick", "--p", "1", "--help")
    assert (code, out) == (7, "['--quick', '--p', '1', '--help']\n")


def test_demo_shows_commands_and_their_results(tmp_path, capfd):
    code, out, _ = run(capfd, "demo", "--output", tmp_path / "demo")
    assert code == 0
    for word in ("$ psvm fit", "$ psvm evaluate", "$ psvm predict", "malignant", "duality gap"):
        assert word in out
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    spoilt = "cancer-spoilt.csv"
    files = {"cancer-train.csv", "cancer-test.csv", "cancer.psvm", "predictions.csv", spoilt}
    assert names == files
    # Where p matters: hardly on clean rows, a lot where some are wrong.
    table = re.findall(r"^ +(1|1\.5|2|3) +(0\.\d{4}) +(0\.\d{4}) *$", out, re.M)
    clean, wrong = ({p: float(row[i]) for p, *row in table} for i in (0, 1))
    assert len(table) == 4
    assert max(clean.values()) - min(clean.values()) < 0.02
    assert wrong["1"] > wrong["3"] + 0.1


@pytest.mark.parametrize("package", ["polars", "skops"])
def test_a_missing_package_is_named(tmp_path, capfd, monkeypatch, shared, package):
    for name in [name for name in sys.modules if name.startswith(("psvm.cli.", f"{package}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    words = ["fit", shared / "iris.csv", "-t", "species", "-o", tmp_path / "m.psvm", "--quiet"]
    line = fails(capfd, *words)
    assert package in line
    assert "pip install '.[" in line
