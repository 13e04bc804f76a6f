"""DaskLinearPSVC has the fit of LinearPSVC, whatever the collection and its chunks."""

import asyncio
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import assert_same_fit, noisy_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import psvm
from psvm import LinearPSVC

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
import dask  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402

from psvm.dask import DaskLinearPSVC  # noqa: E402
from psvm.dask.cluster import ClusterError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning")

TIGHT = {"C": 0.1, "tol": 3e-10}


def arrays(X, y, rows=700, columns=4):
    """Chunks that divide nothing, and y in others."""
    return da.from_array(X, chunks=(rows, columns)), da.from_array(y, chunks=rows + 41)


# So close to rounding that it may not be proved.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
def test_it_is_the_fit_of_one_machine(client, p):
    """Many rows: a sample, at p = 1 a band of rows, and the whole Newton method for p > 1."""
    X, y = noisy_classes(60_000, 10)
    options = {"C": 0.1, "tol": 1e-11}
    model = DaskLinearPSVC(p, **options).fit(*arrays(X, y, 9_000))
    assert_same_fit(model, LinearPSVC(p, **options).fit(X, y), gap=3e-10)
    assert model.history_[0][0]["solver"] == "semismooth_newton"
    assert "cluster" in model.history_[0][0]["why"]
    assert model.traffic_["round_trips"] < 30
    assert model.traffic_["rebuilt"] == 0


@pytest.mark.parametrize(
    ("p", "multi_class"),
    [
        pytest.param(1.0, "ovo", marks=pytest.mark.slow),
        (1.5, "ovr"),
        (2.0, "ovo"),
        (3.0, "ovr"),
    ],
)
def test_several_classes_and_weights(client, p, multi_class):
    """Few rows: Newton from nothing; problems share their round trips."""
    X, y = noisy_classes(1500, 5, 3)
    weight = np.random.default_rng(1).uniform(0.0, 2.0, size=y.size)
    weight[::7] = 0.0
    names = np.array(["ant", "bee", "cat"])[y]
    options = {"C": 0.1, "tol": 3e-11, "multi_class": multi_class, "class_weight": "balanced"}
    local = LinearPSVC(p, **options).fit(X, names, weight)
    Xd, yd = arrays(X, names, 400)
    model = DaskLinearPSVC(p, **options).fit(Xd, yd, da.from_array(weight, chunks=333))
    assert_same_fit(model, local)
    longest = max(len(one) for one in model.history_)
    assert model.traffic_["round_trips"] < 8 * longest  # not three times as many for three problems


def test_classes_given_weights_by_name(client):
    X, y = noisy_classes(1200, 4)
    options = {**TIGHT, "class_weight": {0: 3.0}, "fit_intercept": False}
    model = DaskLinearPSVC(2.0, **options).fit(*arrays(X, y, 500))
    assert_same_fit(model, LinearPSVC(2.0, **options).fit(X, y))
    assert model.intercept_[0] == 0.0


@pytest.mark.parametrize("mixed", [False, True])
def test_sparse_blocks(client, mixed):
    X, y = noisy_classes(2000, 30)
    X[np.random.default_rng(2).random(X.shape) < 0.8] = 0.0
    blocks = da.from_array(X, chunks=(600, 30)).map_blocks(
        lambda part: part if mixed and part.shape[0] < 600 else sp.csr_matrix(part), dtype=float
    )
    model = DaskLinearPSVC(1.5, **TIGHT).fit(blocks, da.from_array(y, chunks=600))
    assert_same_fit(model, LinearPSVC(1.5, **TIGHT).fit(sp.csr_matrix(X), y))
    assert np.array_equal(model.predict(blocks).compute(), model.to_local().predict(X))


def test_wide_sparse_rows_are_solved_by_conjugate_gradients(client):
    rng = np.random.default_rng(0)
    X = sp.random(400, 1200, 0.02, format="csr", random_state=rng)
    y = np.asarray(X.sum(axis=1)).ravel() > X.sum() / 400
    blocks = [dask.delayed((X[k : k + 100], y[k : k + 100])) for k in range(0, 400, 100)]
    model = DaskLinearPSVC(2.0, C=1.0, tol=1e-8).fit(blocks)
    local = LinearPSVC(2.0, C=1.0, tol=1e-8).fit(X, y)
    assert model.primal_objective_ == pytest.approx(local.primal_objective_, rel=1e-7)


def test_float32_and_a_large_offset(client):
    X, y = noisy_classes(1500, 5)
    X = (X + 30.0).astype(np.float32)
    model = DaskLinearPSVC(1.5, **TIGHT).fit(*arrays(X, y, 400))
    assert_same_fit(model, LinearPSVC(1.5, **TIGHT).fit(X, y), within=1e-5)


def test_unknown_chunks_and_empty_partitions(client):
    X, y = noisy_classes(2000, 5)
    Xd, yd = arrays(X, y, 500, 5)[0], da.from_array(y, chunks=500)
    first = Xd[:, 0]
    kept = (first < 1.0) & (da.arange(2000, chunks=500) >= 500)  # the first block is empty
    inside = (X[:, 0] < 1.0) & (np.arange(2000) >= 500)
    model = DaskLinearPSVC(1.5, **TIGHT).fit(Xd[kept], yd[kept])
    assert_same_fit(model, LinearPSVC(1.5, **TIGHT).fit(X[inside], y[inside]))
    assert model.predict(Xd[kept]).compute().shape == (inside.sum(),)


def test_hard_margin(client):
    X, y = noisy_classes(600, 4)
    X[np.arange(600), y] += 40.0
    model = DaskLinearPSVC(2.0, C=np.inf, tol=1e-6).fit(*arrays(X, y, 250))
    local = LinearPSVC(2.0, C=np.inf, tol=1e-6).fit(X, y)
    assert model.primal_objective_ == pytest.approx(local.primal_objective_, rel=1e-5)
    with pytest.raises(ValueError, match="not separable by a hyperplane"):
        DaskLinearPSVC(C=np.inf).fit(*arrays(*noisy_classes(600, 4), 250))


# --- frames and delayed objects -------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame():
    X, y = noisy_classes(1500, 4)
    return pd.DataFrame(X, columns=list("abcd")), pd.Series(y, name="y")


def test_data_frames(client, frame):
    X, y = frame
    weight = pd.Series(np.linspace(0.5, 1.5, 1500))
    parts = [dd.from_pandas(one, npartitions=4) for one in (X, y, weight)]
    model = DaskLinearPSVC(1.5, **TIGHT).fit(*parts)
    local = LinearPSVC(1.5, **TIGHT).fit(X, y, weight)
    assert_same_fit(model, local)
    assert list(model.feature_names_in_) == list("abcd")
    predicted = model.predict(parts[0])
    assert isinstance(predicted, da.Array)
    assert np.array_equal(predicted.compute(), local.predict(X))
    assert float(model.score(*parts[:2])) == pytest.approx(local.score(X, y))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(parts[0].rename(columns={"a": "z"})).compute()


def test_frames_from_parquet_files(client, frame, tmp_path):
    """Dask reads the one column of y in fewer partitions than the many of X, if it may."""
    X, y = frame
    for k in range(6):
        X[k * 250 : (k + 1) * 250].assign(y=y).to_parquet(tmp_path / f"{k}.parquet")
    rows = dd.read_parquet(str(tmp_path / "*.parquet"))
    model = DaskLinearPSVC(1.5, **TIGHT).fit(rows.drop(columns=["y"]), rows["y"])
    assert_same_fit(model, LinearPSVC(1.5, **TIGHT).fit(X, y))
    assert float(model.score(rows.drop(columns=["y"]), rows["y"])) > 0.5


def test_frames_with_columns_that_are_no_numbers(client, frame):
    X, y = frame
    X = X.assign(b=pd.Categorical(np.where(X.b > 0, "u", "v")))
    with pytest.raises(ValueError, match=r"'b' of type category.*get_dummies"):
        DaskLinearPSVC().fit(dd.from_pandas(X, npartitions=2), dd.from_pandas(y, npartitions=2))


def test_lists_of_delayed(client):
    X, y = noisy_classes(1500, 4)
    local = LinearPSVC(1.5, **TIGHT).fit(X, y)
    cuts = [slice(k, k + 400) for k in range(0, 1500, 400)]
    pairs = [dask.delayed((X[cut], y[cut])) for cut in cuts]
    assert_same_fit(DaskLinearPSVC(1.5, **TIGHT).fit(pairs), local)
    X_parts = [dask.delayed(X[cut]) for cut in cuts]
    y_parts = [dask.delayed(y[cut]) for cut in cuts]
    assert_same_fit(DaskLinearPSVC(1.5, **TIGHT).fit(X_parts, y_parts), local)
    both = list(zip(X_parts, y_parts, strict=True))
    assert_same_fit(DaskLinearPSVC(1.5, **TIGHT).fit(both), local)


# --- wrong input ----------------------------------------------------------------------------------


def spoiled(X, row):
    X = X.copy()
    X[row, 1] = np.nan
    return X


def filtered(X):
    X = da.from_array(X, chunks=(200, 4))
    return X[X[:, 0] > 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (arrays(spoiled(X, 450), y, 200)[0], y), "partition 2: Input X contains NaN"),
        (lambda X, y: (arrays(X, y, 200)[0], y[:-1]), "X has 900 rows, y has"),
        (lambda X, y: (arrays(X * 1e120, y, 200)[0], y), "scale X"),
        (lambda X, y: (arrays(X, y, 200)[0], np.zeros(900)), "at least two classes"),
        (lambda X, y: (arrays(X, y, 200)[0], y + 0.5), "Unknown label type"),
        (
            lambda X, y: ([dask.delayed((X, y)), dask.delayed((X[:, :2], y))], None),
            "partition 1.*2",
        ),
        (
            lambda X, y: ([dask.delayed((X, y)), dask.delayed((X, y[1:]))], None),
            "partition 1: X has",
        ),
        (
            lambda X, y: ([dask.delayed((X, y)), dask.delayed((X, y, -y - 1))], None),
            "partition 1:.*>= 0",
        ),
        (lambda X, y: (filtered(X), da.from_array(y, chunks=100)), "partitions"),
        (lambda X, y: (arrays(X, y, 200)[0][:0], da.from_array(y[:0])), "at least one row"),
    ],
)
def test_wrong_rows_name_their_partition(client, change, message):
    model = DaskLinearPSVC()
    with pytest.raises(ValueError, match=message):
        model.fit(*change(*noisy_classes(900, 4)))
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((1, 4)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "coordinate_descent"}, "random order"),
        ({"on_failure": "ignore"}, "on_failure"),
        ({"p": 0.5}, "`p`"),
        ({"max_time": -1}, "max_time"),
        ({"client": 3}, "`client` must be a distributed.Client"),
    ],
)
def test_wrong_parameters(client, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        DaskLinearPSVC(**options).fit(*arrays(*noisy_classes(100, 4)))


def test_rows_of_the_wrong_place(client):
    X, y = noisy_classes(100, 4)
    with pytest.raises(TypeError, match="use LinearPSVC, which is faster"):
        DaskLinearPSVC().fit(X, y)
    for given in (arrays(X, y), (X, da.from_array(y))):
        with pytest.raises(TypeError, match=r"psvm\.dask\.DaskLinearPSVC"):
            LinearPSVC().fit(*given)


# --- an estimator like others ---------------------------------------------------------------------


def test_parameters_are_those_of_the_local_class():
    own, local = DaskLinearPSVC().get_params(), LinearPSVC().get_params()
    assert own == {**local, "client": None, "on_failure": "raise"}


def test_predictions_are_lazy_and_models_travel(client, tmp_path):
    X, y = noisy_classes(900, 4, 3)
    Xd, yd = arrays(X, y, 200)
    model = clone(DaskLinearPSVC(client=client)).fit(Xd, yd)
    assert model.client is client
    local = model.to_local()
    assert type(local) is LinearPSVC
    for method in ("predict", "decision_function"):
        lazy, here = getattr(model, method)(Xd), getattr(local, method)(X)
        assert isinstance(lazy, da.Array)
        assert lazy.shape == here.shape
        assert lazy.dtype == here.dtype
        assert np.array_equal(lazy.compute(), here)
        assert np.array_equal(getattr(model, method)(X), here)
    weight = np.linspace(0.0, 1.0, 900)
    score = model.score(Xd, yd, da.from_array(weight, chunks=300))
    assert isinstance(score, da.Array)
    assert float(score) == pytest.approx(local.score(X, y, weight))
    assert model.score(X, y) == pytest.approx(local.score(X, y))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert np.array_equal(again.predict(X), local.predict(X))
    pytest.importorskip("skops")
    psvm.save(local, tmp_path / "model.psvm")
    assert np.array_equal(psvm.load(tmp_path / "model.psvm").coef_, model.coef_)


def test_warm_start(client):
    X, y = noisy_classes(2000, 5)
    rows = arrays(X, y, 500)
    model = DaskLinearPSVC(2.0, warm_start=True, tol=1e-8).fit(*rows)
    cold = model.n_iter_[0]
    assert model.fit(*rows).n_iter_[0] < cold


def test_limits(client):
    X, y = noisy_classes(1500, 5)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = DaskLinearPSVC(1.5, tol=1e-12, max_iter=1).fit(*arrays(X, y, 500))
    assert model.n_iter_[0] == 1
    # The certificate is of the iterate as it is.
    margins = np.where(y == 1, 1, -1) * (X @ model.coef_[0] + model.intercept_[0])
    primal = 0.5 * model.coef_[0] @ model.coef_[0] + (np.maximum(1 - margins, 0) ** 1.5).sum()
    assert model.primal_objective_[0] == pytest.approx(primal, rel=1e-12)
    best = LinearPSVC(1.5, tol=1e-10).fit(X, y).primal_objective_[0]
    assert model.dual_objective_[0] <= best <= primal
    assert (primal - best) / primal <= model.dual_gap_[0]


# --- what is told ---------------------------------------------------------------------------------


def test_rounds_are_told(client, caplog):
    X, y = noisy_classes(1500, 5)
    with caplog.at_level("INFO", logger="psvm"):
        model = DaskLinearPSVC(2.0, verbose=2).fit(*arrays(X, y, 500))
    told = [one for one in caplog.messages if "relative gap" in one]
    assert len(told) >= len(model.history_[0])
    events = [event for _, event in client.get_events("psvm")]
    assert events[-1]["gap"] == pytest.approx(model.history_[0][-1]["gap"])


class Stopper:
    """A callback of scikit-learn that has seen enough after some rounds."""

    def __init__(self, rounds):
        self.rounds, self.seen = rounds, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata):
        if context.task_name == "round":
            self.seen.append(metadata)
        return len(self.seen) >= self.rounds


def test_callbacks_see_rounds_and_stop_them(client):
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    X, y = noisy_classes(1500, 5)
    stopper = Stopper(3)
    model = DaskLinearPSVC(1.5, tol=1e-9).set_callbacks(stopper)
    with pytest.warns(ConvergenceWarning, match="callback"):
        model.fit(*arrays(X, y, 500))
    assert model.status_[0].name == "STOPPED"
    assert [one["gap"] for one in stopper.seen] == [one["gap"] for one in model.history_[0]]
    assert model.dual_gap_[0] < 1.0  # certified all the same


def test_tasks_have_names(client):
    X, y = noisy_classes(1500, 5)
    client.get_task_stream(count=1)
    with distributed.get_task_stream(client) as stream:
        DaskLinearPSVC(2.0).fit(*arrays(X, y, 500))
    names = {distributed.utils.key_split(one["key"]) for one in stream.data}
    assert {"psvm-block", "psvm-pass", "psvm-gram", "psvm-sums"} <= names


# --- clients --------------------------------------------------------------------------------------


def test_in_another_thread(client):
    X, y = noisy_classes(900, 4)
    found = []
    thread = threading.Thread(
        target=lambda: found.append(DaskLinearPSVC(2.0).fit(*arrays(X, y, 300)))
    )
    thread.start()
    thread.join(60)
    assert found[0].dual_gap_[0] <= 1e-4


def test_an_asynchronous_client_is_refused(client):
    async def fit():
        address = client.scheduler.address
        async with distributed.Client(address, asynchronous=True, set_as_default=False) as own:
            DaskLinearPSVC(client=own).fit(*arrays(*noisy_classes(100, 4)))

    with pytest.raises(ValueError, match="asynchronous"):
        asyncio.run(fit())


def test_a_client_that_is_closed_or_missing(client, monkeypatch):
    with distributed.Client(client.scheduler.address, set_as_default=False) as own:
        pass
    with pytest.raises(ClusterError, match="not connected"):
        DaskLinearPSVC(client=own).fit(*arrays(*noisy_classes(100, 4)))

    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", none)
    with pytest.raises(ValueError, match="there is no Dask client"):
        DaskLinearPSVC().fit(*arrays(*noisy_classes(100, 4)))
