"""DaskLinearPSVR has the fit of LinearPSVR, whatever the collection and its chunks."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import assert_same_regression, noisy_targets
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import r2_score

from psvm import LinearPSVR

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
import dask  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402

from psvm.dask import DaskLinearPSVR  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
    # So close to rounding that it may not be proved.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

TIGHT = {"C": 0.1, "tol": 1e-12}


def arrays(X, y, rows=700, columns=4):
    """Chunks that divide nothing, and y in others."""
    return da.from_array(X, chunks=(rows, columns)), da.from_array(y, chunks=rows + 41)


@pytest.mark.parametrize("quantile", [0.5, 0.9])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_it_is_the_fit_of_one_machine(client, p, epsilon, quantile):
    """Few rows: Newton from nothing."""
    X, y = noisy_targets(600, 5)
    options = {**TIGHT, "epsilon": epsilon, "quantile": quantile}
    model = DaskLinearPSVR(p, **options).fit(*arrays(X, y, 250))
    assert_same_regression(model, LinearPSVR(p, **options).fit(X, y))
    assert "cluster" in model.history_[0][0]["why"]
    assert model.traffic_["rebuilt"] == 0


@pytest.mark.parametrize(
    ("p", "epsilon", "quantile"),
    [(1.0, 0.0, 0.5), (1.0, 0.1, 0.9), (1.5, 0.1, 0.9), (3.0, 0.0, 0.5)],
)
def test_many_rows(client, p, epsilon, quantile):
    """A sample, and at p = 1 a band of rows."""
    X, y = noisy_targets(60_000, 10)
    options = {"C": 0.1, "tol": 1e-11, "epsilon": epsilon, "quantile": quantile}
    model = DaskLinearPSVR(p, **options).fit(*arrays(X, y, 9_000))
    local = LinearPSVR(p, **options).fit(X, y)
    assert_same_regression(model, local)
    assert model.traffic_["round_trips"] < 30
    assert model.traffic_["bytes_sampled"] > 8 * 10 * 60_000 / 8  # an eighth of the rows, or more
    below = float((y <= model.predict(X)).mean())
    assert below == pytest.approx(quantile, abs=0.05 if p == 1.0 else 0.3)


def test_weights(client):
    X, y = noisy_targets(1500, 5)
    weight = np.random.default_rng(1).uniform(0.0, 2.0, size=y.size)
    weight[::7] = 0.0
    weighed = da.from_array(weight, chunks=333)
    options = {**TIGHT, "epsilon": 0.1, "quantile": 0.7}
    for p, free in ((1.5, True), (2.0, False)):
        local = LinearPSVR(p, fit_intercept=free, **options).fit(X, y, weight)
        model = DaskLinearPSVR(p, fit_intercept=free, **options).fit(*arrays(X, y, 400), weighed)
        assert_same_regression(model, local)
    assert model.intercept_[0] == 0.0


@pytest.mark.parametrize("mixed", [False, True])
def test_sparse_blocks(client, mixed):
    X, y = noisy_targets(2000, 30)
    X[np.random.default_rng(2).random(X.shape) < 0.8] = 0.0
    blocks = da.from_array(X, chunks=(600, 30)).map_blocks(
        lambda part: part if mixed and part.shape[0] < 600 else sp.csr_matrix(part), dtype=float
    )
    model = DaskLinearPSVR(1.5, **TIGHT).fit(blocks, da.from_array(y, chunks=600))
    assert_same_regression(model, LinearPSVR(1.5, **TIGHT).fit(sp.csr_matrix(X), y))
    assert model.predict(blocks).compute() == pytest.approx(model.to_local().predict(X), rel=1e-12)


def test_wide_sparse_rows_are_solved_by_conjugate_gradients(client):
    rng = np.random.default_rng(0)
    X = sp.random(400, 1200, 0.02, format="csr", random_state=rng)
    y = np.asarray(X.sum(axis=1)).ravel()
    blocks = [dask.delayed((X[k : k + 100], y[k : k + 100])) for k in range(0, 400, 100)]
    model = DaskLinearPSVR(2.0, epsilon=0.01, tol=1e-8).fit(blocks)
    local = LinearPSVR(2.0, epsilon=0.01, tol=1e-8).fit(X, y)
    assert model.primal_objective_ == pytest.approx(local.primal_objective_, rel=1e-7)


def test_unknown_chunks_and_empty_partitions(client):
    X, y = noisy_targets(2000, 5)
    Xd, yd = da.from_array(X, chunks=(500, 5)), da.from_array(y, chunks=500)
    kept = (Xd[:, 0] < 1.0) & (da.arange(2000, chunks=500) >= 500)  # the first block is empty
    inside = (X[:, 0] < 1.0) & (np.arange(2000) >= 500)
    model = DaskLinearPSVR(1.5, **TIGHT).fit(Xd[kept], yd[kept])
    assert_same_regression(model, LinearPSVR(1.5, **TIGHT).fit(X[inside], y[inside]))
    assert model.predict(Xd[kept]).compute().shape == (inside.sum(),)


def test_data_frames_and_delayed(client):
    X, y = noisy_targets(1500, 4)
    frame, targets = pd.DataFrame(X, columns=list("abcd")), pd.Series(y, name="y")
    weight = pd.Series(np.linspace(0.5, 1.5, 1500))
    parts = [dd.from_pandas(one, npartitions=4) for one in (frame, targets, weight)]
    model = DaskLinearPSVR(1.5, **TIGHT).fit(*parts)
    local = LinearPSVR(1.5, **TIGHT).fit(frame, targets, weight)
    assert_same_regression(model, local)
    assert list(model.feature_names_in_) == list("abcd")
    assert np.array_equal(model.predict(parts[0]).compute(), model.to_local().predict(frame))
    found = float(model.score(*parts))
    assert found == pytest.approx(r2_score(y, model.predict(frame), sample_weight=weight))
    pairs = [dask.delayed((X[k : k + 400], y[k : k + 400])) for k in range(0, 1500, 400)]
    assert_same_regression(
        DaskLinearPSVR(1.5, **TIGHT).fit(pairs), LinearPSVR(1.5, **TIGHT).fit(X, y)
    )


@pytest.mark.parametrize("unit", [1e9, 1e-9])
def test_the_unit_of_y_does_not_matter(client, unit):
    X, y = noisy_targets(900, 4)
    p, rows = 1.5, da.from_array(X, chunks=(250, 4))
    one = DaskLinearPSVR(p, **TIGHT).fit(rows, da.from_array(y, chunks=250))
    options = {"C": 0.1 * unit ** (2.0 - p), "epsilon": 0.1 * unit, "tol": 1e-12}
    model = DaskLinearPSVR(p, **options).fit(rows, da.from_array(unit * y, chunks=250))
    assert model.coef_ / unit == pytest.approx(one.coef_, rel=1e-6)
    assert model.primal_objective_ / unit**2 == pytest.approx(one.primal_objective_, rel=1e-9)


def test_all_rows_inside_the_tube(client):
    """P = 0, and nothing is to be solved."""
    X, _ = noisy_targets(300, 4)
    y = np.where(np.arange(300) % 2, 7.05, 6.95)
    model = DaskLinearPSVR(1.5, epsilon=0.1).fit(*arrays(X, y, 100))
    assert not model.coef_.any()
    assert model.intercept_[0] == 7.0
    assert model.dual_gap_[0] == model.primal_objective_[0] == 0.0
    assert model.n_support_.tolist() == [0]
    constant = DaskLinearPSVR(1.0, epsilon=0.0).fit(*arrays(X, np.full(300, 2.5), 100))
    assert constant.intercept_[0] == 2.5
    assert float(constant.score(*arrays(X, np.full(300, 2.5), 100))) == 1.0
    assert float(constant.score(*arrays(X, np.full(300, 3.5), 100))) == 0.0


# --- wrong input ----------------------------------------------------------------------------------


def spoiled(values, row, value):
    values = values.copy()
    values[row] = value
    return values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, spoiled(y, 450, np.nan)), "partition 2: Input y contains NaN"),
        (lambda X, y: (X, spoiled(y, 450, 1e200)), "partition 2: y has targets of size 1.0e[+]200"),
        (lambda X, y: (X, np.full(900, "a")), r"partition \d: y must be numbers"),
        (lambda X, y: (X, np.c_[y, y]), "MultiOutputRegressor"),
        (lambda X, y: (X, y, np.zeros(900)), "zeros only"),
        (lambda X, y: (X, y, -np.ones(900)), r"partition \d:.*>= 0"),
        (
            lambda X, y: (np.where(np.arange(900)[:, None] == 450, np.nan, X), y),
            "partition 2: .*NaN",
        ),
    ],
)
def test_wrong_rows_name_their_partition(client, change, message):
    model = DaskLinearPSVR()
    X, *others = change(*noisy_targets(900, 4))
    with pytest.raises(ValueError, match=message):
        model.fit(da.from_array(X, chunks=(200, 4)), *others)
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((1, 4)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "coordinate_descent"}, "random order.*LinearPSVR"),
        ({"C": np.inf}, "finite on a cluster"),
        ({"C": 1e308}, "not sum to more"),
        ({"C": 1e-309}, "at least 2.2e-308"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"quantile": 1.0}, "quantile"),
        ({"on_failure": "ignore"}, "on_failure"),
    ],
)
def test_wrong_parameters(client, options, message):
    with pytest.raises(ValueError, match=message):
        DaskLinearPSVR(**options).fit(*arrays(*noisy_targets(100, 4)))


def test_rows_of_the_wrong_place(client):
    X, y = noisy_targets(100, 4)
    with pytest.raises(TypeError, match="use LinearPSVR, which is faster"):
        DaskLinearPSVR().fit(X, y)
    for given in (arrays(X, y), (X, da.from_array(y))):
        with pytest.raises(TypeError, match=r"psvm\.dask\.DaskLinearPSVR"):
            LinearPSVR().fit(*given)


# --- an estimator like others ---------------------------------------------------------------------


def test_parameters_are_those_of_the_local_class():
    own, local = DaskLinearPSVR().get_params(), LinearPSVR().get_params()
    assert own == {**local, "client": None, "on_failure": "raise"}
    assert is_regressor(DaskLinearPSVR())


def test_predictions_are_lazy_and_models_travel(client):
    X, y = noisy_targets(900, 4)
    Xd, yd = arrays(X, y, 200)
    model = clone(DaskLinearPSVR(client=client)).fit(Xd, yd)
    assert model.client is client
    local = model.to_local()
    assert type(local) is LinearPSVR
    assert local.get_params() == LinearPSVR().get_params()
    lazy, here = model.predict(Xd), local.predict(X)
    assert isinstance(lazy, da.Array)
    assert (lazy.shape, lazy.dtype) == (here.shape, here.dtype)
    assert np.array_equal(lazy.compute(), here)
    assert np.array_equal(model.predict(X), here)
    weight = np.linspace(0.0, 1.0, 900)
    for given in ((), (weight,)):
        score = model.score(Xd, yd, *(da.from_array(one, chunks=300) for one in given))
        assert isinstance(score, da.Array)
        assert float(score) == pytest.approx(local.score(X, y, *given))
    assert model.score(X, y) == pytest.approx(local.score(X, y))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert np.array_equal(again.predict(X), here)
    assert not hasattr(model, "decision_function")


def test_warm_start(client):
    """From the coefficients, also where y has another unit by then."""
    X, y = noisy_targets(2000, 5)
    model = DaskLinearPSVR(2.0, warm_start=True, tol=1e-8).fit(*arrays(X, y, 500))
    cold = model.n_iter_[0]
    model.fit(*arrays(X, 8.0 * y, 500))
    model.fit(*arrays(X, y, 500))
    assert model.fit(*arrays(X, y, 500)).n_iter_[0] < cold


def test_limits_and_records(client):
    """The certificate is of the iterate as it is; events are in the user's units."""
    X, y = noisy_targets(1500, 5)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = DaskLinearPSVR(1.5, tol=1e-12, max_iter=1).fit(*arrays(X, 100.0 * y, 500))
    assert model.n_iter_[0] == 1
    beyond = np.maximum(np.abs(100.0 * y - model.predict(X)) - 0.1, 0.0)
    primal = 0.5 * model.coef_ @ model.coef_ + (beyond**1.5).sum()
    assert model.primal_objective_[0] == pytest.approx(primal, rel=1e-12)
    best = LinearPSVR(1.5, tol=1e-10).fit(X, 100.0 * y).primal_objective_[0]
    assert model.dual_objective_[0] <= best <= primal
    assert (primal - best) / primal <= model.dual_gap_[0]
    events = [event for _, event in client.get_events("psvm")]
    assert events[-1]["primal"] == pytest.approx(model.history_[0][-1]["primal"])
