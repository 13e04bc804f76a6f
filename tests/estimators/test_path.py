"""psvm_path: every model as if fitted alone, for less work."""

import dataclasses
import itertools
import logging

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from small_data import blobs, noisy, real

from psvm import PSVC, LinearPSVC
from psvm.estimators.kernel_machine import KernelSettings
from psvm.estimators.path import PSVMPath, psvm_path

PS, CS = (1.0, 1.5, 2.0), (0.1, 1.0, 10.0)


def alone(path, X, y, sample_weight=None, **parameters):
    """Every model of a path, fitted from nothing: its place and the model."""
    estimator = PSVC
    if parameters.get("kernel") == "linear":
        parameters = {k: v for k, v in parameters.items() if k != "kernel"}
        estimator = LinearPSVC
    for (i, p), (j, C) in itertools.product(enumerate(path.ps), enumerate(path.Cs)):
        yield (i, j), estimator(p=p, C=C, **parameters).fit(X, y, sample_weight=sample_weight)


def assert_same_as_alone(path, X, y, sample_weight=None, **parameters):
    tol = path.tol
    for place, model in alone(path, X, y, sample_weight, **parameters):
        found, expected = path.primal_objective[place], model.primal_objective_
        np.testing.assert_allclose(found, expected, rtol=2 * tol)
        # Each is between the other's bounds, up to rounding.
        assert (path.dual_objective[place] <= expected * (1 + 1e-9)).all()
        assert (model.dual_objective_ <= found * (1 + 1e-9)).all()


# --- the same models ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"kernel": "laplacian", "gamma": 0.3},
        {"gamma": "auto", "fit_intercept": False},
        {"kernel": "linear", "fit_intercept": False},
        {"class_weight": "balanced"},
        {"kernel": "linear", "class_weight": {-1.0: 3.0}},
        {"tol": 1e-7},
    ],
    ids=str,
)
def test_models_are_those_fitted_alone(parameters):
    X, y = noisy(90, 4)
    path = psvm_path(X, y, ps=PS, Cs=CS, **parameters)
    assert path.dual_gap.max() <= path.tol == parameters.get("tol", 1e-4)
    assert_same_as_alone(path, X, y, **parameters)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_several_classes(kernel, multi_class):
    X, y = blobs(80, classes=4)
    labels = np.array(["a", "b", "c", "d"])[y]
    path = psvm_path(X, labels, ps=PS, Cs=CS, kernel=kernel, multi_class=multi_class)
    assert path.classes.tolist() == ["a", "b", "c", "d"]
    n_problems = 6 if multi_class == "ovo" else 4
    for name in ("intercept", "primal_objective", "dual_objective", "dual_gap", "n_iter"):
        assert getattr(path, name).shape == (3, 3, n_problems)
    assert path.n_support.shape == (3, 3, 4)
    assert_same_as_alone(path, X, labels, kernel=kernel, multi_class=multi_class)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sample_weights(kernel):
    X, y = noisy(80, 3)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 3.0], 80)
    path = psvm_path(X, y, ps=PS, Cs=CS, kernel=kernel, sample_weight=weight)
    assert_same_as_alone(path, X, y, weight, kernel=kernel)
    if kernel == "rbf":
        assert not path.dual_coef[..., weight == 0.0].any()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows(kernel):
    X, y = real("a9a")
    assert sp.issparse(X)
    path = psvm_path(X, y, ps=(1, 2), Cs=(0.1, 1), kernel=kernel)
    assert_same_as_alone(path, X, y, kernel=kernel)


def test_a_precomputed_kernel_is_the_kernel():
    X, y = noisy(70, 3)
    K = rbf_kernel(X, gamma=0.4)
    path = psvm_path(K, y, ps=PS, Cs=CS, kernel="precomputed")
    same = psvm_path(X, y, ps=PS, Cs=CS, gamma=0.4)
    np.testing.assert_allclose(path.primal_objective, same.primal_objective, rtol=1e-6)


# --- the arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_dual_coefficients_give_the_objectives(classes, multi_class):
    """P and D from alpha and b alone, by their formulas, for every binary problem."""
    X, y = blobs(60, classes=classes)
    path = psvm_path(X, y, ps=(1.5, 2), Cs=CS, gamma=0.5, multi_class=multi_class, tol=1e-6)
    K = rbf_kernel(X, gamma=0.5)
    pairs = list(itertools.combinations(range(classes), 2))
    for problem in range(path.intercept.shape[2]):
        dual_coef = path.problem_dual_coef(problem)
        if classes == 2:
            sign = np.where(y == 1, 1.0, -1.0)
        elif multi_class == "ovr":
            sign = np.where(y == problem, 1.0, -1.0)
        else:
            i, j = pairs[problem]
            sign = np.where(y == i, 1.0, np.where(y == j, -1.0, 0.0))
        for (i, p), (j, C) in itertools.product(enumerate(path.ps), enumerate(path.Cs)):
            coef, b = dual_coef[i, j], path.intercept[i, j, problem]
            assert (coef * sign >= 0.0).all()
            assert not coef[sign == 0.0].any()
            squared = coef @ K @ coef
            slack = np.maximum(1.0 - sign * (K @ coef + b), 0.0) * (sign != 0.0)
            primal = 0.5 * squared + C * (slack**p).sum()
            np.testing.assert_allclose(path.primal_objective[i, j, problem], primal, rtol=1e-9)
            q = p / (p - 1.0)
            conjugate = (p - 1.0) * C ** (1.0 - q) * (np.abs(coef) / p) ** q
            dual = np.abs(coef).sum() - 0.5 * squared - conjugate.sum()
            np.testing.assert_allclose(path.dual_objective[i, j, problem], dual, rtol=1e-9)


def test_support_vectors_are_the_rows_with_dual_coefficients():
    X, y = blobs(60)
    path = psvm_path(X, y, ps=(1, 2), Cs=CS)
    assert path.dual_coef.shape == (2, 3, 2, 60)
    assert path.coef is None
    for p, C in itertools.product(path.ps, path.Cs):
        support = path.support(p, C)
        expected = PSVC(p=p, C=C).fit(X, y)
        np.testing.assert_array_equal(support, np.sort(expected.support_))
        counts = np.bincount(path.codes[support], minlength=3)
        np.testing.assert_array_equal(path.n_support[path.index(p, C)], counts)


def test_linear_weights_and_names():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :5] / X.iloc[:, :5].std()
    path = psvm_path(X, y, ps=2, Cs=[1.0], kernel="linear")
    assert path.dual_coef is None
    assert path.feature_names.tolist() == X.columns.tolist()
    model = LinearPSVC(p=2, C=1.0).fit(X, y)
    np.testing.assert_allclose(path.coef[0, 0], model.coef_, rtol=0.05, atol=1e-3)
    with pytest.raises(ValueError, match=r"PSVC\(kernel='linear'\) tells"):
        path.support(2, 1.0)


def test_grids_are_sorted_and_each_value_once():
    X, y = noisy(40, 3)
    path = psvm_path(X, y, ps=[2, 1, 2, 1.5], Cs=np.array([10, 0.1, 10]))
    assert path.ps.tolist() == [1.0, 1.5, 2.0]
    assert path.Cs.tolist() == [0.1, 10.0]
    assert path.seconds.shape == (3, 2)
    assert path.index(1.5, 10) == (1, 1)
    np.testing.assert_allclose(psvm_path(X, y, ps=1.5, Cs=4).Cs, [0.1, 1.0, 10.0, 100.0])


def test_scores_are_those_of_the_models():
    X, y = noisy(120, 3)
    train, rest = slice(0, 80), slice(80, None)
    path = psvm_path(X[train], y[train], ps=PS, Cs=CS, X_val=X[rest], y_val=y[rest])
    by_f1 = psvm_path(X[train], y[train], ps=PS, Cs=CS, X_val=X[rest], y_val=y[rest], scoring="f1")
    for place, model in alone(path, X[train], y[train]):
        assert path.score[place] == model.score(X[rest], y[rest])
        assert by_f1.score[place] == pytest.approx(f1_score(y[rest], model.predict(X[rest])))
    assert psvm_path(X, y, ps=1, Cs=1).score is None


def test_the_result_is_frozen_and_reads_well():
    X, y = noisy(60, 3)
    path = psvm_path(X, y, ps=PS, Cs=CS, X_val=X, y_val=y)
    assert isinstance(path, PSVMPath)
    with pytest.raises(dataclasses.FrozenInstanceError):
        path.ps = None
    head, columns, *rows = repr(path).splitlines()
    rounds = path.n_iter.sum()
    assert head.startswith(f"PSVMPath of 9 models: rbf kernel, 60 rows, 2 classes, {rounds} rounds")
    assert columns.split("  ")[-1].strip() == "best score"
    assert [row.split()[0] for row in rows] == ["1", "1.5", "2"]
    counts = path.n_support.sum(axis=2)
    assert all(f"{counts[i, 0]} to {counts[i, -1]}" in row for i, row in enumerate(rows))
    assert all("0.1 to 10 " in row for row in rows)
    assert "callable kernel" in repr(psvm_path(X, y, ps=1, Cs=1, kernel=rbf_kernel))
    assert "best score" not in repr(psvm_path(X, y, ps=1, Cs=1))


# --- less work ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_warm_starts_save_rounds(kernel):
    if kernel == "linear":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        X, y = load_digits(return_X_y=True)
        X, y = X[:800] + 0.0, y[:800] % 2
    X = scale(X)
    path = psvm_path(X, y, ps=(1, 1.5, 2), Cs=np.logspace(-1, 2, 7), kernel=kernel)
    rounds = sum(model.n_iter_.sum() for _, model in alone(path, X, y, kernel=kernel))
    assert path.n_iter.sum() <= 0.9 * rounds


def test_kernel_rows_are_shared_by_all_models(monkeypatch):
    built = []
    original = KernelSettings.matrix_over

    def counted(self, *arguments):
        built.append(1)
        return original(self, *arguments)

    monkeypatch.setattr(KernelSettings, "matrix_over", counted)
    X, y = noisy(40, 3)
    psvm_path(X, y, ps=PS, Cs=CS)
    assert len(built) == 1


# --- limits, reports and errors -------------------------------------------------------------------


def test_max_time_ends_the_path_and_says_what_is_missing():
    X, y = noisy(60, 3)
    with pytest.warns(ConvergenceWarning, match="8 models are missing: max_time was over"):
        path = psvm_path(X, y, ps=PS, Cs=CS, max_time=1e-9)
    expected = np.zeros((3, 3), dtype=bool)
    expected[0, 0] = True
    np.testing.assert_array_equal(path.computed, expected)
    assert np.isnan(path.primal_objective[~expected]).all()
    assert not path.n_support[~expected].any()
    assert "PSVMPath of 1 (of 9) models" in repr(path)
    assert repr(path).splitlines()[-1].split(maxsplit=1) == ["2", "not computed"]


def test_scores_that_are_missing_are_nan_even_if_the_scorer_counts():
    X, y = noisy(60, 3)
    with pytest.warns(ConvergenceWarning, match="missing"):
        path = psvm_path(X, y, ps=PS, Cs=CS, max_time=1e-9, X_val=X, y_val=y,
                         scoring=lambda model, X, y: int(model.n_support_.sum()))  # fmt: skip
    assert path.score[0, 0] == path.n_support[0, 0].sum()
    assert np.isnan(path.score[~path.computed]).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_one_warning_for_all_models_above_tol(kernel):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning) as caught:
        path = psvm_path(scale(X), y, ps=(1, 2), Cs=(1, 100), kernel=kernel, max_iter=1, tol=1e-8)
    (warning,) = caught
    above = (path.dual_gap > 1e-8).sum()
    assert above > 0
    worst = f"{path.dual_gap.max():.1e}"
    text = f"psvm_path: {above} of 4 models are above tol 1e-08, the worst at relative gap {worst};"
    assert str(warning.message).startswith(text)
    assert warning.filename == __file__


def test_verbose_reports_every_model(caplog):
    X, y = noisy(40, 3)
    with caplog.at_level(logging.INFO, logger="psvm"):
        psvm_path(X, y, ps=PS, Cs=CS)
        assert not caplog.messages
        path = psvm_path(X, y, ps=PS, Cs=CS, verbose=1)
        assert len(caplog.messages) == 9
        assert caplog.messages[0].startswith("model 1 of 9, p = 1, C = 0.1: relative gap ")
        assert caplog.messages[-1].endswith(f"{path.n_support[2, 2].sum()} support vectors")
        caplog.clear()
        psvm_path(X, y, ps=1, Cs=[1.0], verbose=2)
        assert [message.split()[0] for message in caplog.messages] == ["problem", "model"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ps": 0.5}, "`ps` must be a float >= 1"),
        ({"ps": []}, r"`ps` must be a number or a list of numbers >= 1, got \[\]"),
        ({"ps": ["two"]}, "`ps` must be a float >= 1"),
        ({"Cs": 0}, "`Cs` must be a list, or a number of values >= 1, got 0"),
        ({"Cs": 1.5}, "`Cs` must be an int or a list of numbers > 0, got 1.5"),
        ({"Cs": True}, "`Cs` must be an int or a list of numbers > 0, got True"),
        ({"Cs": [1, -1]}, "`Cs` must be a float > 0"),
        ({"Cs": [1, np.inf]}, r"`Cs` must be finite, got inf.*Fit PSVC\(C=numpy.inf\)"),
        ({"X_val": [[0.0]]}, "belong together, got X_val without y_val"),
        ({"y_val": [0.0]}, "belong together, got y_val without X_val"),
        ({"scoring": "f1"}, "`scoring` needs rows to score"),
        ({"tol": 2}, "`tol` is a relative duality gap"),
        ({"max_time": -1}, "`max_time` must be a number of seconds > 0"),
        ({"kernel": "cubic"}, "`kernel` must be one of"),
        ({"gamma": -1.0}, "`gamma` must be a finite float > 0"),
        ({"cache_size": 0}, "`cache_size` must be a number of megabytes > 0"),
        ({"n_jobs": 0}, "`n_jobs` must be None or an integer other than 0"),
    ],
    ids=str,
)
def test_errors_say_what_to_do(parameters, message):
    X, y = noisy(30, 3)
    with pytest.raises(ValueError, match=message):
        psvm_path(X, y, **parameters)


def test_errors_of_the_data_name_the_public_class():
    with pytest.raises(ValueError, match=r"\nPSVC does not accept missing values"):
        psvm_path(np.full((4, 1), np.nan), np.arange(4) % 2)


def test_labels_in_a_column_are_told_once():
    X, y = noisy(30, 3)
    with pytest.warns(DataConversionWarning) as caught:
        path = psvm_path(X, y[:, None], ps=(1, 2), Cs=(0.1, 1))
    assert len(caught) == 1
    assert path.codes.tolist() == (y > 0).tolist()


@pytest.mark.parametrize("problem", [-1, 3, 1.0])
def test_problems_that_do_not_exist(problem):
    X, y = blobs(60)
    path = psvm_path(X, y, ps=(1,), Cs=(1,))
    with pytest.raises(ValueError, match=f"`problem` must be from 0 to 2, got {problem}"):
        path.problem_dual_coef(problem)


def test_index_names_the_values_there_are():
    X, y = noisy(30, 3)
    path = psvm_path(X, y, ps=(1, 2), Cs=(0.1, 1))
    with pytest.raises(ValueError, match=r"`p` must be a value of the path \(1, 2\), got 1.5"):
        path.index(1.5, 1)
    with pytest.raises(ValueError, match=r"`C` must be a value of the path \(0.1, 1\), got 10"):
        path.index(1, 10)
