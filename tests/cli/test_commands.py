"""The commands in this process: what they write, and what they say when they cannot."""

import json
import re
import sys
import warnings

import numpy as np
import polars as pl
import pytest
from cli_data import FEATURES, MATRICES, SPECIES, TABLES, TOLD, iris, write_iris, write_model
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psvm import PSVC, LinearPSVC
from psvm.cli import app, main
from psvm.cli.files.open_data import ReadOptions
from psvm.cli.predict_blocks import predictions
from psvm.persistence import load, save


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder with iris as CSV, and a model of it."""
    folder = tmp_path_factory.mktemp("shared")
    write_iris(folder, "csv")
    write_model(folder)
    return folder


def run(capfd, *words):
    code = main([str(word) for word in words])
    out, err = capfd.readouterr()
    return code, out, err


def fails(capfd, *words, code=1):
    """The one line that a failing command writes."""
    found, out, err = run(capfd, *words)
    assert (found, out) == (code, "")
    assert err.startswith("psvm: ")
    assert err.count("\n") == 1
    return err


def file(folder, text, name="data.csv"):
    (folder / name).write_text(text)
    return folder / name


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


# --- predict -------------------------------------------------------------------------------------


def test_predictions_are_those_of_python(capfd, shared, tmp_path):
    output = tmp_path / "p.csv"
    words = ["predict", shared / "iris.psvm", shared / "iris.csv", "--decision", "-o", output]
    code, out, err = run(capfd, *words)
    assert (code, out) == (0, "")
    assert err == f"150 rows predicted: {output}\n"
    model, X = load(shared / "iris.psvm"), iris().select(FEATURES)
    found = pl.read_csv(output)
    assert found.columns == ["prediction", *(f"decision_{name}" for name in SPECIES)]
    assert found["prediction"].to_list() == model.predict(X).tolist()
    np.testing.assert_array_equal(found[:, 1:].to_numpy(), model.decision_function(X))
    assert run(capfd, *words[:-2], "-q")[1] == output.read_text()
    assert run(capfd, *words[:-2], "-o", "-", "-q")[1] == output.read_text()
    assert run(capfd, *words[:-1], tmp_path / "p.tsv", "-q") == (0, "", "")
    assert pl.read_csv(tmp_path / "p.tsv", separator="\t").equals(found)
    _, out, _ = run(capfd, *words[:-2], "--json")
    assert pl.read_ndjson(out.encode()).equals(found)


@pytest.mark.parametrize("kind", TABLES + MATRICES)
def test_blocks_keep_the_order(tmp_path, shared, kind):
    model, X = shared / "iris.psvm", load_iris().data
    twin = load(model)
    expected = twin.predict(iris().select(FEATURES))
    if kind in MATRICES:  # these go by position
        model = tmp_path / "bare.psvm"
        twin = PSVC().fit(X, load_iris().target)
        save(twin, model)
        expected = twin.predict(X)
    options = ReadOptions(block_bytes=1500, block_cells=200)
    path = write_iris(tmp_path, kind)
    blocks = list(predictions(model, path, options, proba=False, decision=False))
    assert len(blocks) > 2
    assert pl.concat(blocks)["prediction"].to_list() == expected.tolist()


def test_columns_are_found_by_name(tmp_path, capfd, shared):
    table = iris().select([*reversed(FEATURES)]).with_columns(extra=pl.lit("x"))
    table.write_csv(tmp_path / "turned.csv")
    expected = run(capfd, "predict", shared / "iris.psvm", shared / "iris.csv")[1]
    assert run(capfd, "predict", shared / "iris.psvm", tmp_path / "turned.csv")[1] == expected
    table.drop("sepal width", "petal width").write_csv(tmp_path / "less.csv")
    line = fails(capfd, "predict", shared / "iris.psvm", tmp_path / "less.csv")
    assert "the model expects the columns 'sepal width', 'petal width', which the file" in line
    X, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "plain.npz", X=X, y=y)
    line = fails(capfd, "predict", shared / "iris.psvm", tmp_path / "plain.npz")
    assert "it names no columns" in line
    turned = X[:, ::-1]
    np.savez(tmp_path / "named.npz", X=turned, feature_names=FEATURES[::-1])
    assert run(capfd, "predict", shared / "iris.psvm", tmp_path / "named.npz")[1] == expected


def test_models_without_names_go_by_position(tmp_path, capfd, shared):
    X, y = load_iris(return_X_y=True)
    model = tmp_path / "bare.psvm"
    twin = PSVC().fit(X, y)
    save(twin, model)
    iris().drop("species").write_csv(tmp_path / "x.csv")
    _, out, _ = run(capfd, "predict", model, tmp_path / "x.csv")
    assert out.split()[1:] == [str(one) for one in twin.predict(X)]
    assert "5 columns, but the model" in fails(capfd, "predict", model, shared / "iris.csv")
    # Features that the fit never saw are like further columns; those that are absent are zero.
    svm = file(tmp_path, "0 1:5.1 2:3.5 3:1.4 4:0.2 9:1\n0 4:2.5\n", "new.svm")
    _, out, _ = run(capfd, "predict", model, svm)
    rows = np.array([[5.1, 3.5, 1.4, 0.2], [0, 0, 0, 2.5]])
    assert out.split()[1:] == [str(one) for one in twin.predict(rows)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5,3,x,1", "line 3, column 'petal length': the model expects a number, not 'x'"),
        ("5,3,,1", "line 3, column 'petal length': the value is missing"),
        ("5,3,NaN,1", "line 3, column 'petal length': the value is missing"),
        ("5,3,inf,1", "line 3, column 'petal length': the value is infinite"),
        ("5,3,1", "line 3: 3 fields where there are 4 columns"),
    ],
)
def test_cells_that_cannot_be_predicted(tmp_path, capfd, shared, line, message):
    data = file(tmp_path, f"{','.join(FEATURES)}\n5,3,1,1\n{line}\n")
    output = tmp_path / "p.csv"
    assert message in fails(capfd, "predict", shared / "iris.psvm", data, "-o", output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv"]


def test_no_rows_are_no_predictions(tmp_path, capfd, shared):
    data = file(tmp_path, f"{','.join(FEATURES)}\n")
    words = ["predict", shared / "iris.psvm", data, "--decision"]
    code, out, _ = run(capfd, *words)
    assert code == 0
    assert out == "prediction,decision_setosa,decision_versicolor,decision_virginica\n"


def test_probabilities_where_the_model_has_them(tmp_path, capfd, shared):
    words = ["predict", shared / "iris.psvm", shared / "iris.csv", "--proba"]
    assert "the model knows no probabilities" in fails(capfd, *words, code=2)
    model = tmp_path / "m.psvm"
    given = ["fit", shared / "iris.csv", "-t", "species", "-o", model, "--proba", "--json"]
    code, out, _ = run(capfd, *given, "--test-size", ".3")
    assert code == 0
    assert json.loads(out)["test"]["roc_auc"] > 0.95
    words[1] = model
    _, out, _ = run(capfd, *words, "--decision")
    found = pl.read_csv(out.encode())
    proba = found.select(f"proba_{name}" for name in SPECIES).to_numpy()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert SPECIES[proba.argmax(axis=1)].tolist() == found["prediction"].to_list()
    assert "decision_setosa" in found.columns


def test_a_file_without_a_header(tmp_path, capfd):
    X, y = load_iris(return_X_y=True)
    rows = "".join(f"{','.join(map(str, row))},{label}\n" for row, label in zip(X, y, strict=True))
    data, model = file(tmp_path, rows), tmp_path / "m.psvm"
    line = fails(capfd, "fit", data, "-t", "5", "-o", model)
    assert "use --no-header" in line
    assert run(capfd, "fit", data, "-t", "5", "-o", model, "--no-header", "-q") == (0, "", "")
    words = ["evaluate", model, data, "-t", "5", "--no-header", "--json"]
    assert json.loads(run(capfd, *words)[1])["accuracy"] > 0.95


# --- evaluate ------------------------------------------------------------------------------------


def test_scores_are_those_of_scikit_learn(capfd, shared):
    from sklearn import metrics

    words = ["evaluate", shared / "iris.psvm", shared / "iris.csv", "-t", "species"]
    found = json.loads(run(capfd, *words, "--json")[1])
    model, X, y = load(shared / "iris.psvm"), iris().select(FEATURES), iris()["species"].to_numpy()
    predicted, decision = model.predict(X), model.decision_function(X)
    area = np.mean([metrics.roc_auc_score(y == c, decision[:, i]) for i, c in enumerate(SPECIES)])
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, predicted))
    assert found["balanced_accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(y, predicted)
    )
    assert found["f1"] == pytest.approx(metrics.f1_score(y, predicted, average="macro"))
    assert found["roc_auc"] == pytest.approx(area)
    assert found["confusion"] == metrics.confusion_matrix(y, predicted).tolist()
    code, out, err = run(capfd, *words)
    assert (code, err) == (0, "")
    for word in ("balanced accuracy", "ROC AUC", "precision", "true \\ predicted", "virginica"):
        assert word in out


def test_scores_where_a_class_is_absent(tmp_path, capfd, shared):
    iris()[:100].write_csv(tmp_path / "two.csv")
    words = ["evaluate", shared / "iris.psvm", tmp_path / "two.csv", "-t", "species", "--json"]
    code, out, err = run(capfd, *words)
    assert (code, err) == (0, "")
    assert json.loads(out)["balanced_accuracy"] > 0.9
    iris()[:50].write_csv(tmp_path / "two.csv")
    found = json.loads(run(capfd, *words)[1])
    assert found["accuracy"] == 1
    assert found["roc_auc"] is None


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("rose", "line 2, column 'species': the model knows no class 'rose', only 'setosa',"),
        ("", "line 2, column 'species': the label is missing"),
    ],
)
def test_labels_that_the_model_does_not_know(tmp_path, capfd, shared, label, message):
    data = file(tmp_path, f"{','.join(FEATURES)},species\n5,3,1,1,{label}\n")
    words = ["evaluate", shared / "iris.psvm", data, "-t", "species"]
    assert message in fails(capfd, *words)
    several = "".join(f"5,3,1,1,{one}\n" for one in ("rose", "setosa", "lily", "lily"))
    file(tmp_path, f"{','.join(FEATURES)},species\n{several}")
    assert "no class 'rose' (3 rows, also with 'lily'), only" in fails(capfd, *words)
    empty = file(tmp_path, f"{','.join(FEATURES)},species\n")
    assert "there are no rows" in fails(capfd, *words[:2], empty, "-t", "species")


def test_labels_may_be_written_in_another_way(tmp_path, capfd):
    data, model = file(tmp_path, "a,y\n" + "1,1\n2,-1\n" * 9), tmp_path / "m.psvm"
    assert run(capfd, "fit", data, "-t", "y", "-o", model, "-q")[0] == 0
    other = file(tmp_path, "a,y\n1,+1\n2,-1.0\n", "other.csv")
    found = run(capfd, "evaluate", model, other, "-t", "y", "--json")[1]
    assert json.loads(found)["accuracy"] == 1
    svm = file(tmp_path, "+1 1:1\n-1 1:2\n", "other.svm")
    assert "names no columns" in fails(capfd, "evaluate", model, svm)


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
