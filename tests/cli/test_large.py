"""``psvm fit`` with many rows: what it will take, what takes less, and fits that are cut short."""

import json
import re

import numpy as np
import polars as pl
import pytest
from cli_data import FEATURES, TOLD, iris, psvm, write_iris
from sklearn.kernel_approximation import Nystroem

from psvm import LinearPSVC
from psvm.cli import forecast
from psvm.cli.files.training_set import TrainingSet
from psvm.persistence import info, load


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """So many rows of noise that a kernel machine takes a minute."""
    path = tmp_path_factory.mktemp("noise") / "noise.npz"
    rng = np.random.default_rng(0)
    np.savez(path, X=rng.normal(size=(60_000, 10)), y=rng.integers(0, 2, 60_000))
    return path


@pytest.fixture
def moons(tmp_path):
    from sklearn.datasets import make_moons

    X, y = make_moons(1500, noise=0.2, random_state=0)
    path = tmp_path / "moons.csv"
    frame = pl.DataFrame(X * 100.0, schema=["a", "b"])
    frame.with_columns(pl.Series("y", np.array(["no", "yes"])[y])).write_csv(path)
    return path


# --- cut short -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_fit_that_is_cut_short_does_not_look_like_success(tmp_path, noise):
    model = tmp_path / "m.psvm"
    code, out, err = psvm("fit", noise, "-o", model, "-C", "100", "--max-time", "8", "--p", "1")
    assert code == 3
    task, told, end = err.splitlines()
    assert (
        task == "psvm: classification: the target 'y' has 2 different whole numbers in 60,000 rows"
    )
    assert told.startswith("psvm: the fit of 60,000 rows will take about ")
    for part in ("--approximate 300", "--linear", "--max-time 8 will end it before"):
        assert part in told
    assert re.match(r"psvm: NOT finished: the relative duality gap is (0\.\d+|unknown) ", end)
    for part in ("--tol asks for 0.0001", f"written to {model}", "--max-time", "--approximate"):
        assert part in end
    assert "NOT FINISHED, tol is 0.0001" in out
    assert "the largest class alone: 0.50" in out
    assert info(model)["model"]["status"] == ["max_time"]
    # With --quiet there is nothing but the end, and the code is the same.
    code, out, err = psvm("fit", noise, "-o", model, "--max-time", "1", "-q", "-C", "100")
    assert (code, out, err.count("\n")) == (3, "", 1)
    code, out, _ = psvm("fit", noise, "-o", model, "--max-time", "1", "--json", "-C", "100")
    assert (code, json.loads(out)["finished"]) == (3, False)


def test_a_finished_fit_is_success(tmp_path):
    path = write_iris(tmp_path, "csv")
    words = ["fit", path, "-t", "species", "-o", tmp_path / "m.psvm", "--max-time", "60", "--json"]
    code, out, err = psvm(*words)
    assert (code, err) == (0, TOLD)
    facts = json.loads(out)
    assert facts["finished"]
    assert facts["majority"] == pytest.approx(1 / 3)


def test_the_final_fit_of_a_search_counts_too(monkeypatch, tmp_path, capfd):
    from psvm.cli import main, train_and_test

    monkeypatch.setattr(train_and_test, "_stopped_early", lambda classifier: True)
    path = write_iris(tmp_path, "csv")
    words = ["tune", str(path), "-t", "species", "-o", str(tmp_path / "m.psvm"), "--ps", "1"]
    assert main([*words, "--Cs", "1", "--gammas", "1"]) == 3
    assert "NOT finished" in capfd.readouterr().err


# --- the forecast --------------------------------------------------------------------------------


def test_the_forecast_is_of_the_right_size(monkeypatch):
    """Against the whole fit, with samples as small against it as they are of a large file."""
    import time

    from psvm import PSVC

    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 8))
    y = (np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=4000) > 0).astype(int)
    monkeypatch.setattr(forecast, "_KERNEL", (4000, (500, 1000)))
    rows = TrainingSet(X, y, [], [])
    expected = forecast.forecast(PSVC(), rows, max_time=None)
    began = time.perf_counter()
    PSVC().fit(X, y)
    whole = time.perf_counter() - began
    assert whole / 10 < expected < whole * 10
    few = TrainingSet(X[:3000], y[:3000], [], [])
    assert forecast.forecast(PSVC(), few, max_time=None) is None


def test_durations_as_people_say_them():
    said = [forecast.duration(s) for s in (3.4, 99, 600, 9000, 1e6)]
    assert said == ["3 s", "99 s", "10 min", "2 h", "12 days"]


# --- an approximate kernel -----------------------------------------------------------------------


def test_an_approximate_kernel_from_file_to_predictions(tmp_path, moons):
    model = tmp_path / "m.psvm"
    words = ["fit", moons, "-t", "y", "-o", model, "--test-size", ".3", "--json"]
    exact = json.loads(psvm(*words)[1])["test"]["accuracy"]
    line = json.loads(psvm(*words, "--linear")[1])["test"]["accuracy"]
    code, out, err = psvm(*words, "--approximate", "100")
    facts = json.loads(out)
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("psvm: classification: ")
    assert (facts["classifier"], facts["approximate"]) == ("LinearPSVC", 100)
    assert facts["test"]["accuracy"] > exact - 0.02 > line + 0.03
    features, classifier = load(model)[-2:]
    assert isinstance(features, Nystroem)
    assert isinstance(classifier, LinearPSVC)
    # The width is that of PSVC: columns have variance 1 here.
    assert features.gamma == pytest.approx(0.5, rel=1e-6)
    code, out, _ = psvm("predict", model, moons)
    assert code == 0
    assert out.count("\n") == 1501
    code, out, _ = psvm("evaluate", model, moons, "-t", "y", "--json")
    assert json.loads(out)["accuracy"] > exact - 0.03
    assert "Nystroem" in psvm("info", model)[1]


def test_parameters_of_the_kernel_reach_the_features(tmp_path):
    path, model = write_iris(tmp_path, "csv"), tmp_path / "m.psvm"
    words = ["fit", path, "-t", "species", "-o", model, "-q", "--no-scale", "--approximate", "20"]
    kernel = "--kernel poly --degree 2 --coef0 1 --gamma 0.25 --seed 7 --p 2 -C 3"
    assert psvm(*words, *kernel.split(), "--proba")[0] == 0
    fitted = load(model)
    wanted = {"kernel": "poly", "degree": 2, "coef0": 1, "gamma": 0.25, "random_state": 7}
    assert (wanted | {"n_components": 20}).items() <= fitted[0].get_params().items()
    inside = fitted[-1].calibrated_classifiers_[0].estimator
    assert (inside.p, inside.C) == (2, 3)
    assert fitted.predict_proba(iris().select(FEATURES)).shape == (150, 3)


def test_too_many_features_for_the_memory_are_refused(tmp_path):
    path = write_iris(tmp_path, "csv")
    words = ["fit", path, "-t", "species", "-o", tmp_path / "m.psvm"]
    code, _, err = psvm(*words, "--approximate", str(10**12))
    assert code == 1
    assert "ask for fewer features" in err
