"""``psvm predict`` and ``psvm evaluate`` in this process: what they write and say."""

import json

import numpy as np
import polars as pl
import pytest
from cli_calls import fails, file, run
from cli_data import FEATURES, MATRICES, SPECIES, TABLES, iris, write_iris
from sklearn.datasets import load_iris

from psvm import PSVC
from psvm.cli.files.open_data import ReadOptions
from psvm.cli.predict_blocks import predictions
from psvm.persistence import load, save

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
