"""Regression from file to file: fit, tune, predict, evaluate, info, export."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from cli_calls import run
from sklearn import metrics
from sklearn.datasets import load_diabetes
from sklearn.pipeline import Pipeline
from small_data import data_dir

from psvm import PSVR, PSVRQuantiles
from psvm.cli import forecast as forecasts
from psvm.cli import main
from psvm.cli.files.training_set import TrainingSet
from psvm.cli.regression import new_regressor, regression_scores_of, spread_of
from psvm.cli.report_pictures import residual_pictures
from psvm.cli.tasks import Task, refuse_options_of_the_other
from psvm.estimators.linear_svr import LinearPSVR
from psvm.persistence import load, save

TOLD = "psvm: regression: the target 'y' has 203 different whole numbers in 400 rows\n"


def fails(capfd, *words, code=1):
    found, out, err = run(capfd, *words)
    assert (found, out) == (code, "")
    assert err.startswith("psvm: ")
    return err.splitlines()[-1]


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    names = [f"x{j}" for j in range(X.shape[1])]
    return pl.DataFrame(X, schema=names).with_columns(y=pl.Series(y))


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """400 rows to fit to, 42 to test with, and a model of them."""
    folder = tmp_path_factory.mktemp("regression")
    table = diabetes()
    table[:400].write_csv(folder / "train.csv")
    table[400:].write_csv(folder / "test.csv")
    assert main(["fit", f"{folder}/train.csv", "-t", "y", "-o", f"{folder}/m.psvm", "-q"]) == 0
    return folder


# --- fit -----------------------------------------------------------------------------------------


def test_fit_makes_the_model_that_python_makes(shared):
    model = load(shared / "m.psvm")
    assert [name for name, _ in model.steps] == ["scale", "regressor"]
    train = diabetes()[:400]
    y = train["y"].to_numpy()
    s = float(np.std(y))
    assert model[-1].get_params()["epsilon"] == pytest.approx(0.1 * s)
    assert model[-1].get_params()["C"] == pytest.approx(s**0.5)
    X = model[0].transform(train.drop("y"))
    twin = PSVR(p=1.5, C=s**0.5, epsilon=0.1 * s).fit(X, y)
    np.testing.assert_allclose(model.predict(train.drop("y")), twin.predict(X), rtol=1e-6)


def test_the_summary_and_its_json(tmp_path, capfd, shared):
    words = ["fit", shared / "train.csv", "-t", "y", "-o", tmp_path / "m.psvm", "--test-size", ".2"]
    code, out, err = run(capfd, *words)
    assert (code, err) == (0, TOLD)
    for part in ("320 rows, 10 columns, target 25 to 346", "regressor", "PSVR(p=1.5, C=",
                 "epsilon=", "quantile=0.5", "relative duality gap", "training R²", "tested on",
                 "80 rows", "mean absolute error", "root mean squared error"):  # fmt: skip
        assert part in out
    assert "class" not in out
    code, out, err = run(capfd, *words, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, TOLD)
    assert (facts["task"], facts["regressor"]) == ("regression", "PSVR")
    assert not {"classes", "classifier", "majority", "support_vectors_per_class"} & facts.keys()
    assert facts["target"]["largest"] == 346.0
    assert facts["within_tol"]
    assert 0.3 < facts["test"]["r2"] < facts["train"]["r2"] < 1
    assert set(facts["test"]) == {"rows", "r2", "mae", "rmse"}


def test_options_reach_the_regressor(tmp_path, capfd, shared):
    words = ["fit", shared / "train.csv", "-t", "y", "-o", tmp_path / "m.psvm", "-q", "--no-scale"]
    given = "--p 2 -C 3 --kernel poly --degree 2 --coef0 1 --gamma 0.5 --epsilon 5 --quantile 0.9"
    assert run(capfd, *words, *given.split(), "--tol", "1e-3", "--max-time", "20") == (0, "", "")
    model = load(tmp_path / "m.psvm")
    assert isinstance(model, PSVR)
    wanted = {"p": 2, "C": 3, "kernel": "poly", "degree": 2, "coef0": 1, "gamma": 0.5}
    wanted |= {"epsilon": 5, "quantile": 0.9, "tol": 1e-3, "max_time": 20}
    assert {name: model.get_params()[name] for name in wanted} == wanted
    assert run(capfd, *words, "--linear", "--quantile", ".1")[0] == 0
    model = load(tmp_path / "m.psvm")
    assert isinstance(model, LinearPSVR)
    assert (model.epsilon, model.quantile) == (0.0, 0.1)  # no tube around a quantile


def test_an_approximate_kernel(tmp_path, capfd, shared):
    words = ["fit", shared / "train.csv", "-t", "y", "-o", tmp_path / "m.psvm", "--json"]
    code, out, _ = run(capfd, *words, "--approximate", "50")
    facts = json.loads(out)
    assert (code, facts["regressor"], facts["approximate"]) == (0, "LinearPSVR", 50)
    assert facts["train"]["r2"] > 0.4


def test_a_fit_does_not_depend_on_the_unit():
    y = np.random.default_rng(0).normal(size=50)
    for unit in (1e-9, 1.0, 1e9):
        model = new_regressor(unit * y, linear=False, p=1.5, C=None, epsilon=None, quantile=None)
        assert model.get_params()["C"] == pytest.approx(spread_of(y) ** 0.5 * unit**0.5)
        assert model.epsilon == pytest.approx(0.1 * spread_of(y) * unit)
    assert new_regressor(1e80 * y, linear=True, p=200, C=None, epsilon=1, quantile=0.2).C > 0


def test_a_fit_that_is_cut_short(tmp_path, capfd, shared):
    words = ["fit", shared / "train.csv", "-t", "y", "-o", tmp_path / "m.psvm", "--max-iter", "1"]
    code, out, err = run(capfd, *words, "--tol", "1e-9", "--kernel", "poly", "-C", "1e6")
    assert code == 3
    assert "NOT FINISHED" in out
    assert "psvm: NOT finished: the relative duality gap is" in err


# --- which task ----------------------------------------------------------------------------------


def test_numbers_can_be_asked_for_as_classes_and_back(tmp_path, capfd):
    table = pl.DataFrame({"x": np.arange(90.0), "y": np.arange(90) // 30})
    table.write_csv(tmp_path / "d.csv")
    words = ["fit", tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.psvm"]
    code, _, err = run(capfd, *words)
    told = "psvm: classification: the target 'y' has 3 different whole numbers in 90 rows\n"
    assert (code, err) == (0, told)
    assert hasattr(load(tmp_path / "m.psvm"), "classes_")
    code, out, err = run(capfd, *words, "--task", "regression")
    assert (code, err) == (0, "")
    assert "regressor" in out
    assert not hasattr(load(tmp_path / "m.psvm"), "classes_")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--class-weight", "balanced"], "--class-weight is for classification"),
        (["--multi-class", "ovr"], "--multi-class is for classification"),
        (["--proba"], "--proba is for classification"),
    ],
)
def test_options_of_classes_are_refused(tmp_path, capfd, shared, words, told):
    fit = ["fit", shared / "train.csv", "-t", "y", "-o", tmp_path / "m.psvm", *words]
    line = fails(capfd, *fit, code=2)
    assert f"{told}, and this is regression (the target has 203 different" in line
    assert "say --task classification" in line
    assert told in fails(capfd, *fit, "--task", "regression", code=2)
    assert not (tmp_path / "m.psvm").exists()


def test_options_of_numbers_are_refused_for_classes(tmp_path, capfd):
    (tmp_path / "d.csv").write_text("x,y\n1,a\n2,b\n")
    words = [tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.psvm"]
    line = fails(capfd, "fit", *words, "--epsilon", "0.1", code=2)
    assert (
        "--epsilon is for regression, and this is classification (the target holds texts)" in line
    )
    assert "--epsilons is for regression" in fails(capfd, "tune", *words, "--epsilons", "0", code=2)
    both = ["--quantile", ".9", "--class-weight", "balanced"]
    assert "leave one out" in fails(capfd, "fit", *words, *both, code=2)
    with pytest.raises(typer.BadParameter, match="--quantile is for regression"):
        refuse_options_of_the_other(Task.classification, {"--quantile": 0.5})
    refuse_options_of_the_other(Task.regression, {"--quantile": 0.5, "--proba": False})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--epsilon", "-1"], "not below 0"),
        (["--quantile", "1"], "between 0 and 1"),
        (["--task", "ranking"], "ranking"),
    ],
)
def test_wrong_values_are_refused(tmp_path, capfd, shared, words, told):
    fit = ["fit", shared / "train.csv", "-t", "y", "-o", tmp_path / "m.psvm"]
    assert told in fails(capfd, *fit, *words, code=2)


# --- predict and evaluate ------------------------------------------------------------------------


def test_predictions_are_numbers(tmp_path, capfd, shared):
    code, out, err = run(capfd, "predict", shared / "m.psvm", shared / "test.csv", "--id", "y")
    assert (code, err) == (0, "")
    found = pl.read_csv(out.encode())
    assert found.columns == ["y", "prediction"]
    expected = load(shared / "m.psvm").predict(diabetes()[400:].drop("y"))
    np.testing.assert_array_equal(found["prediction"].to_numpy(), expected)
    words = ["predict", shared / "m.psvm", shared / "test.csv"]
    assert run(capfd, *words, "-q", "-o", tmp_path / "p.parquet") == (0, "", "")
    assert pl.read_parquet(tmp_path / "p.parquet").schema == {"prediction": pl.Float64}
    (tmp_path / "none.csv").write_text(",".join(diabetes().columns) + "\n")
    assert run(capfd, *words[:2], tmp_path / "none.csv")[:2] == (0, "prediction\n")
    for option in ("--proba", "--decision"):
        assert f"{option} is for classification" in fails(capfd, *words, option, code=2)


def test_scores_are_those_of_scikit_learn(capfd, shared):
    y = diabetes()[400:]["y"].to_numpy()
    predicted = load(shared / "m.psvm").predict(diabetes()[400:].drop("y"))
    code, out, err = run(capfd, "evaluate", shared / "m.psvm", shared / "test.csv", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert (found["task"], found["rows"]) == ("regression", 42)
    assert found["r2"] == pytest.approx(metrics.r2_score(y, predicted))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(y, predicted))
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, predicted))
    code, out, err = run(capfd, "evaluate", shared / "m.psvm", shared / "test.csv")
    assert (code, err) == (0, "")
    assert re.search(r"evaluated on +42 rows\nR² +0\.\d{4} *\nmean absolute error", out)
    assert "pinball" not in out


def test_quantiles_have_their_loss_and_their_share(tmp_path, capfd, shared):
    words = ["fit", shared / "train.csv", "-t", "y", "-o", tmp_path / "m.psvm", "-q"]
    assert run(capfd, *words, "--quantile", ".9", "--p", "1")[0] == 0
    code, out, _ = run(capfd, "evaluate", tmp_path / "m.psvm", shared / "train.csv", "--json")
    found = json.loads(out)
    y, rows = diabetes()[:400]["y"].to_numpy(), diabetes()[:400].drop("y")
    predicted = load(tmp_path / "m.psvm").predict(rows)
    assert (code, found["quantile"]) == (0, 0.9)
    loss = metrics.mean_pinball_loss(y, predicted, alpha=0.9)
    assert found["pinball"] == pytest.approx(loss)
    assert found["below"] == pytest.approx(np.mean(y <= predicted))
    assert 0.85 < found["below"] < 0.95
    out = run(capfd, "evaluate", tmp_path / "m.psvm", shared / "train.csv")[1]
    assert "pinball loss" in out
    assert "(quantile 0.9)" in out
    assert "below the prediction" in out


def test_scores_of_any_size():
    y, predicted = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])
    small = regression_scores_of(y, predicted, 0.25)
    for unit in (1e-200, 1e200):
        large = regression_scores_of(unit * y, unit * predicted, 0.25)
        assert large["r2"] == pytest.approx(small["r2"])
        assert large["rmse"] / unit == pytest.approx(small["rmse"])
        assert large["pinball"] / unit == pytest.approx(small["pinball"])
    assert regression_scores_of(y[:1], predicted[:1])["r2"] is None
    assert regression_scores_of(np.zeros(2), np.zeros(2))["rmse"] == 0.0


def test_messy_targets(tmp_path, capfd):
    """Thousands, decimal commas and units in the target, as in any column."""
    rng = np.random.default_rng(0)
    size = rng.uniform(20, 200, 60).round(1)
    price = (3000 * size + 20000 * rng.normal(size=60)).clip(20000).round(2)
    german = [f"{v:,.2f} €".replace(",", "·").replace(".", ",").replace("·", ".") for v in price]
    size_german = [str(v).replace(".", ",") for v in size]
    pl.DataFrame({"size": size_german, "price": german}).write_csv(
        tmp_path / "d.csv", separator=";"
    )
    model = tmp_path / "m.psvm"
    code, _, err = run(capfd, "fit", tmp_path / "d.csv", "-t", "price", "-o", model)
    assert code == 0
    assert "psvm: regression: the target 'price' has 60 different numbers in 60 rows" in err
    assert "the target 'price': numbers as '" in err
    out = json.loads(run(capfd, "evaluate", model, tmp_path / "d.csv", "--json")[1])
    assert out["r2"] > 0.8
    assert out["mae"] > 1000
    told = run(capfd, "info", model)[1]
    assert "'price' as numbers (decimal ,, thousands ., unit €)" in told
    # A file that is written in another way, and one without a target.
    pl.DataFrame({"size": size, "price": price}).write_csv(tmp_path / "plain.csv")
    assert "--decimal" in fails(capfd, "evaluate", model, tmp_path / "plain.csv")
    words = ["evaluate", model, tmp_path / "plain.csv", "--decimal", ".", "--json"]
    assert json.loads(run(capfd, *words)[1]) == pytest.approx(out)
    pl.DataFrame({"size": size_german, "price": [*german[:-1], None]}).write_csv(
        tmp_path / "hole.csv", separator=";"
    )
    words = [tmp_path / "hole.csv", "-t", "price"]
    line = "line 61, column 'price': the target is missing: fill it in, or remove the row"
    assert line in fails(capfd, "fit", *words, "-o", model)
    assert "line 61, column 'price': the target is missing" in fails(
        capfd, "evaluate", model, *words
    )


# --- info and export -----------------------------------------------------------------------------


def test_info_tells_the_certificate(capfd, shared):
    code, out, err = run(capfd, "info", shared / "m.psvm")
    assert (code, err) == (0, "")
    for part in ("StandardScaler → PSVR", "epsilon=", "target", "relative duality gap",
                 "support vectors"):  # fmt: skip
        assert part in out
    assert "class" not in out


def test_exports(tmp_path, capfd, shared):
    pytest.importorskip("onnx")
    for name in ("m.onnx", "m.json"):
        assert run(capfd, "export", shared / "m.psvm", tmp_path / name, "-q") == (0, "", "")
    assert json.loads((tmp_path / "m.json").read_text())["decision"] == "value"
    line = fails(capfd, "export", shared / "m.psvm", tmp_path / "m.libsvm")
    assert "a LIBSVM model has no preprocessing" in line
    words = ["fit", shared / "train.csv", "-t", "y", "-o", tmp_path / "m.psvm", "-q", "--no-scale"]
    assert run(capfd, *words)[0] == 0
    assert run(capfd, "export", tmp_path / "m.psvm", tmp_path / "m.libsvm", "-q") == (0, "", "")
    assert (tmp_path / "m.libsvm").read_text().startswith("svm_type epsilon_svr\n")


# --- tune ----------------------------------------------------------------------------------------

GRID = ["--ps", "1,2", "--Cs", "10,100", "--gammas", "0.05,0.1", "--cv", "3"]


def test_tune_and_its_report(tmp_path, capfd, shared):
    model, report = tmp_path / "m.psvm", tmp_path / "r.html"
    words = ["tune", shared / "train.csv", "-t", "y", "-o", model, *GRID, "--epsilons", "0,5"]
    code, out, err = run(capfd, *words, "--test-size", ".2", "--report", report, "--json")
    facts = json.loads(out)
    assert (code, err) == (0, TOLD)
    assert len(facts["search"]) == 2**4
    assert set(facts["best_parameters"]) == {"p", "C", "gamma", "epsilon"}
    assert list(facts["best_parameters"])[-1] == "epsilon"
    assert 0.3 < facts["best_score"] < 0.7
    assert facts["test"]["r2"] > 0.3
    search = load(model)
    assert search.best_params_["C"] == facts["best_parameters"]["C"]
    page = report.read_text()
    for part in ("R², test rows", "mean absolute error, test rows", "values of the target",
                 "True against predicted values", "Residuals (true minus predicted)",
                 "Score over C and epsilon.", "root mean squared error", "PSVR"):  # fmt: skip
        assert part in page
    for part in ("Confusion", "Every class", "accuracy", "binary problem", "ROC"):
        assert part not in page
    code, out, _ = run(capfd, "predict", model, shared / "test.csv")
    assert (code, out.count("\n")) == (0, 43)


def test_a_report_without_a_test_has_the_rows_held_out(tmp_path, capfd, shared):
    model, report = tmp_path / "m.psvm", tmp_path / "r.html"
    words = ["tune", shared / "train.csv", "-t", "y", "-o", model, "--report", report]
    grid = ["--ps", "1", "--Cs", "10,100", "--linear", "--cv", "3", "--epsilons", "1"]
    code, out, _ = run(capfd, *words, *grid)
    assert code == 0
    assert "epsilon" in out
    page = report.read_text()
    assert "R², rows held out" in page
    search = load(model)
    y = diabetes()[:400]["y"].to_numpy()
    scores = regression_scores_of(y, search.cross_val_prediction_)
    assert f"{scores['r2']:.4f}" in page


def test_tune_quantiles(tmp_path, capfd, shared):
    words = ["tune", shared / "train.csv", "-t", "y", "-o", tmp_path / "m.psvm", *GRID[:4]]
    words += ["--gammas", "0.05", "--cv", "3", "--quantile", ".9", "--json"]
    code, out, _ = run(capfd, *words)
    facts = json.loads(out)
    assert code == 0
    assert facts["parameters"]["quantile"] == 0.9
    assert facts["parameters"]["epsilon"] == 0.0
    assert 0.8 < facts["train"]["below"] <= 1


def test_pictures_of_many_rows_show_some():
    y = np.arange(5000.0)
    first, second = residual_pictures(y, y + 1)
    assert "(2,000 of 5,000 rows)" in first["caption"]
    svg = base64.b64decode(second["uri"].partition(",")[2]).decode()
    assert svg.count("<use ") >= 2000


# --- real tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["auto_mpg", "yacht", "bodyfat", "auto_price", "forestfires"])
def test_real_tables_from_file_to_file(tmp_path, capfd, name):
    if data_dir() is None:
        pytest.skip("no shared data: set PSVM_DATA_DIR")
    path, model = data_dir() / "regression" / f"{name}.parquet", tmp_path / "m.psvm"
    words = ["fit", path, "-t", "target", "-o", model, "--impute", "--test-size", ".3", "--json"]
    code, out, err = run(capfd, *words)
    assert code == 0, err
    assert "psvm: regression: the target 'target' has " in err
    facts = json.loads(out)
    assert facts["within_tol"]
    assert facts["test"]["r2"] > {"forestfires": -1}.get(name, 0.5)
    code, out, _ = run(capfd, "predict", model, path)
    rows = pl.read_parquet(path)
    predicted = pl.read_csv(out.encode())["prediction"].to_numpy()
    assert (code, predicted.size) == (0, rows.height)
    code, out, _ = run(capfd, "evaluate", model, path, "--json")
    expected = metrics.r2_score(rows["target"].to_numpy(), predicted)
    assert json.loads(out)["r2"] == pytest.approx(expected)


def test_a_real_table_is_tuned(tmp_path, capfd):
    if data_dir() is None:
        pytest.skip("no shared data: set PSVM_DATA_DIR")
    path, model = data_dir() / "regression" / "auto_mpg.parquet", tmp_path / "m.psvm"
    words = ["tune", path, "-t", "target", "-o", model, "--cv", "3", "--ps", "1,2"]
    code, out, _ = run(capfd, *words, "--test-size", ".3", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["test"]["r2"] > 0.8
    assert {"p", "C", "gamma", "epsilon"} == set(facts["best_parameters"])


def test_models_made_in_python_predict_numbers(tmp_path, capfd, shared):
    table = diabetes()[:400]
    model = Pipeline([("r", PSVR())]).fit(table.drop("y"), table["y"].to_numpy())
    save(model, tmp_path / "m.psvm")
    words = ["evaluate", tmp_path / "m.psvm", shared / "test.csv", "-t", "y", "--json"]
    code, out, _ = run(capfd, *words)
    assert (code, json.loads(out)["rows"]) == (0, 42)


def test_several_quantiles_are_columns(tmp_path, capfd, shared):
    table = diabetes()[:400]
    model = PSVRQuantiles(quantiles=(0.9, 0.05)).fit(table.drop("y"), table["y"].to_numpy())
    save(model, tmp_path / "m.psvm")
    code, out, err = run(capfd, "predict", tmp_path / "m.psvm", shared / "test.csv")
    assert (code, err) == (0, "")
    found = pl.read_csv(out.encode())
    assert found.columns == ["prediction_0.9", "prediction_0.05"]
    np.testing.assert_array_equal(found.to_numpy(), model.predict(diabetes()[400:].drop("y")))
    (tmp_path / "none.csv").write_text(",".join(diabetes().columns) + "\n")
    words = ["predict", tmp_path / "m.psvm", tmp_path / "none.csv"]
    assert run(capfd, *words)[:2] == (0, "prediction_0.9,prediction_0.05\n")
    words = ["evaluate", tmp_path / "m.psvm", shared / "test.csv", "-t", "y"]
    assert "predicts several numbers for a row" in fails(capfd, *words, code=2)
    assert "relative duality gap" in run(capfd, "info", tmp_path / "m.psvm")[1]


# --- documentation -------------------------------------------------------------------------------


def test_the_documentation_shows_what_is_printed(tmp_path, monkeypatch, capfd):
    page = (Path(__file__).parents[2] / "docs" / "regression.md").read_text()
    section = page[page.index("## From the command line") :]
    command, shown = re.search(r"    \$ psvm (.*)\n((?:    .*\n)+)", section).groups()
    load_diabetes(as_frame=True).frame.to_csv(tmp_path / "diabetes.csv", index=False)
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capfd, *command.split())
    assert code == 0
    found = [" ".join(line.split()) for line in (err + out).splitlines()]
    for line, printed in zip(shown.splitlines(), found, strict=True):
        line = " ".join(line.split())
        if line.startswith("certificate"):  # the last digits are the machine's
            line, printed = (re.sub(r"\S+e-\d+", "", one) for one in (line, printed))
        if not line.startswith("fit "):
            assert printed == line


# --- long fits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("estimator", "advice"), [(PSVR(), True), (LinearPSVR(), False)])
def test_a_long_fit_is_forecast(estimator, advice, monkeypatch, capsys):
    monkeypatch.setattr(forecasts, "_KERNEL", (200, (40, 80)))
    monkeypatch.setattr(forecasts, "_LINEAR", (200, (40, 80)))
    table = diabetes()
    rows = TrainingSet(
        table.drop("y").to_numpy(), table["y"].to_numpy(), [], [], task=Task.regression
    )
    seconds = forecasts.forecast(estimator, rows, max_time=None)
    assert seconds is not None
    assert seconds > 0
    assert forecasts.forecast(estimator, replace(rows, X=rows.X[:99]), max_time=None) is None
    forecasts.tell(1000.0, 442, estimator, None)
    assert ("--approximate 300" in capsys.readouterr().err) == advice
