"""Every command of the installed ``psvm``, and every format it reads and writes, as processes."""

import gzip
import json
import re

import numpy as np
import polars as pl
import pytest
from cli_data import FEATURES, MATRICES, SPECIES, TABLES, iris, psvm, write_iris, write_model
from sklearn.datasets import load_iris

from psvm import PSVC
from psvm.persistence import load, save

# A process each or several; test_commands and test_data read all formats in one.
pytestmark = pytest.mark.slow

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder with iris in every format, a model that goes by names and one by position."""
    folder = tmp_path_factory.mktemp("shared")
    for kind in TABLES + MATRICES:
        write_iris(folder, kind)
    write_model(folder)
    save(PSVC(p=1).fit(X, Y), folder / "bare.psvm")
    return folder


def succeeds(*words, given=None):
    """The output of a command that ends well and has nothing to complain of.

    ``fit`` and ``tune`` say what the task is, and nothing else.
    """
    code, out, err = psvm(*words, given=given)
    says = words[0] in ("fit", "tune") and "-q" not in words
    told = "psvm: classification: [^\n]*\n" if says else ""
    assert code == 0, err
    assert re.fullmatch(told, err), err
    return out


@pytest.mark.parametrize("kind", TABLES + MATRICES)
def test_rows_and_labels_of_every_format(shared, kind):
    model, path = shared / "iris.psvm", shared / f"iris.{kind}"
    rows, labels = iris().select(FEATURES), iris()["species"].to_numpy()
    words = ["-t", "species"]
    if kind in MATRICES:
        model, rows, labels, words = shared / "bare.psvm", X, Y, []
    found = json.loads(succeeds("evaluate", model, path, *words, "--json"))
    assert found["rows"] == 150
    assert found["accuracy"] == np.mean(load(model).predict(rows) == labels)


@pytest.mark.parametrize("kind", ["tsv", "parquet", "npz", "svm.gz"])
def test_from_a_file_to_predictions(tmp_path, shared, kind):
    path, model, output = shared / f"iris.{kind}", tmp_path / "m.psvm", tmp_path / "p.csv"
    words = ["-t", "species"] if kind in TABLES else []
    facts = json.loads(succeeds("fit", path, *words, "--p", "2", "-o", model, "--json"))
    assert facts["dual_gap"] <= 1e-4
    assert facts["parameters"]["p"] == 2
    assert succeeds("predict", model, path, "--decision", "-q", "-o", output) == ""
    found, loaded = pl.read_csv(output), load(model)
    rows = iris().select(FEATURES) if kind in TABLES else X
    assert found["prediction"].to_list() == loaded.predict(rows).tolist()
    decision = loaded.decision_function(rows)  # dense here, sparse there: sums in another order
    np.testing.assert_allclose(found[:, 1:].to_numpy(), decision, atol=1e-9)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_standard_input(tmp_path, shared, kind):
    given = (shared / f"iris.{kind}").read_bytes()
    out = succeeds("predict", shared / "iris.psvm", "-", given=given)
    expected = load(shared / "iris.psvm").predict(iris().select(FEATURES)).tolist()
    assert out.splitlines() == ["prediction", *expected]


def test_fit_and_evaluate_take_standard_input(tmp_path, shared):
    given, model = (shared / "iris.csv").read_bytes(), tmp_path / "m.psvm"
    assert succeeds("fit", "-", "-t", "species", "-o", model, "-q", given=given) == ""
    out = succeeds("evaluate", model, "-", "-t", "species", "--json", given=gzip.compress(given))
    assert json.loads(out)["accuracy"] > 0.9


def test_tune_to_export(tmp_path, shared):
    """The model of a search goes through the other commands, and leaves for other programs."""
    model = tmp_path / "m.psvm"
    words = ["--ps", "1,2", "--Cs", "1,10", "--gammas", "0.1,1", "--cv", "3", "--no-scale"]
    out = succeeds("tune", shared / "iris.svm", "-o", model, *words, "--json")
    assert len(json.loads(out)["search"]) == 8
    told = succeeds("info", model)
    for word in ("PSVC", "relative duality gap", "support vectors", "scikit-learn"):
        assert word in told
    proba = pl.read_csv(succeeds("predict", model, shared / "iris.svm", "--proba").encode())
    expected = load(model).predict_proba(X)  # of dense rows, which are summed in another order
    np.testing.assert_allclose(proba[:, 1:].to_numpy(), expected, atol=1e-9)
    told = succeeds("export", model, tmp_path / "m.libsvm", "--json")
    assert json.loads(told)["bytes"] == (tmp_path / "m.libsvm").stat().st_size
    svm = pytest.importorskip("libsvm.svmutil")
    read = svm.svm_load_model(str(tmp_path / "m.libsvm"))
    labels, _, _ = svm.svm_predict([], X.tolist(), read, "-q")
    assert np.mean(labels == load(model).predict(X)) > 0.98  # but for ties


def test_exports_of_a_pipeline(tmp_path, shared):
    assert succeeds("export", shared / "iris.psvm", tmp_path / "m.json", "-q") == ""
    assert json.loads((tmp_path / "m.json").read_text())["classes"] == SPECIES.tolist()
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    assert succeeds("export", shared / "iris.psvm", tmp_path / "m.onnx", "-q") == ""
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    label, decision = session.run(["label", "decision"], {"X": X.astype(np.float32)})
    rows = pl.DataFrame(X.astype(np.float32).astype(float), schema=FEATURES)
    model = load(shared / "iris.psvm")
    assert label.tolist() == model.predict(rows).tolist()
    np.testing.assert_allclose(decision, model.decision_function(rows), atol=1e-5)
