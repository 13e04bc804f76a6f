"""Whatever fails or is interrupted in a fit leaves the estimator exactly as it was."""

import copy
import linecache
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from psvm import PSVC, PSVCCV, PSVR, LinearPSVC, LinearPSVR
from psvm.paper.psmo_classifier import PSMOClassifier

ESTIMATORS = {
    "PSVC": PSVC(warm_start=True),
    "LinearPSVC": LinearPSVC(warm_start=True),
    "LinearPSVC, coordinates": LinearPSVC(solver="coordinate_descent", warm_start=True),
    "PSVCCV": PSVCCV((1, 2), (0.1, 1), (0.5,), cv=2),
    "PSVCCV, linear": PSVCCV((1,), (0.1, 1), kernel="linear", cv=2),
    "PSMOClassifier": PSMOClassifier(max_steps=50),
    "PSVR": PSVR(warm_start=True),
    "LinearPSVR": LinearPSVR(warm_start=True),
    "LinearPSVR, coordinates": LinearPSVR(solver="coordinate_descent", warm_start=True),
}
REGRESSORS = ("PSVR", "LinearPSVR", "LinearPSVR, coordinates")
# Where a kernel is called in the same order every time.
ONE_THREAD = {
    "PSVC": {"n_jobs": 1},
    "PSVCCV": {"n_jobs": 1},
    "PSMOClassifier": {},
    "PSVR": {"n_jobs": 1},
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def rows(n=40, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 4)) + y[:, None], np.array(["a", "b", "c"])[y]


def of_kind(name, y):
    """Labels, or numbers in their place for a regressor."""
    if name not in REGRESSORS or y is None:
        return y
    numbers = np.unique(y, return_inverse=True)[1].astype(float)
    return numbers + 0.3 * np.sin(np.arange(numbers.size))


class Fitted:
    """A fitted estimator, and all that can be seen of it."""

    def __init__(self, name, **parameters):
        self.X, y = rows()
        self.estimator = copy.deepcopy(ESTIMATORS[name]).set_params(**parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.estimator.fit(self.X, of_kind(name, y))
        self.objects = dict(self.estimator.__dict__)
        self.values = copy.deepcopy(self.objects)
        self.predicted = self.estimator.predict(self.X)

    def set_params(self, **parameters):
        self.estimator.set_params(**parameters)
        for name, value in parameters.items():
            self.objects[name] = value
            self.values[name] = copy.deepcopy(value)

    def check(self):
        now = self.estimator.__dict__
        assert now.keys() == self.objects.keys()
        for name, value in now.items():
            assert value is self.objects[name], name
            assert same(value, self.values[name]), name
        np.testing.assert_array_equal(self.estimator.predict(self.X), self.predicted)


def same(a, b):
    """Whether two values are equal, arrays and all inside others too."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if sp.issparse(a):
        return (a != b).nnz == 0
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dict__") and not isinstance(a, type) and not callable(a):
        return same(vars(a), vars(b))
    return bool(a == b) or a is b or callable(a)


# --- parameters -----------------------------------------------------------------------------------

BAD = {
    "p": 0.5,
    "C": -1.0,
    "kernel": "gaussian",
    "degree": -1,
    "gamma": "wide",
    "coef0": np.nan,
    "epsilon": -0.1,
    "quantile": 1.0,
    "fit_intercept": "yes",
    "multi_class": "crammer",
    "decision_function_shape": "ovx",
    "class_weight": "uneven",
    "tol": 2.0,
    "max_iter": 0,
    "max_time": -1.0,
    "cache_size": 0.0,
    "warm_start": 1,
    "solver": "newton",
    "verbose": -1,
    "n_jobs": 0,
    "ps": (0.5,),
    "Cs": (-1.0,),
    "gammas": ("wide",),
    "cv": 1,
    "scoring": "no such score",
    "refit": "yes",
    "rule": "worst",
    "on_interrupt": "ask",
    "eps": -1.0,
    "max_steps": -1,
    "random_state": "luck",
    "preprocessor": "scaled",
}
BAD_OF_KINDS = [
    (name, parameter)
    for name, estimator in ESTIMATORS.items()
    if name in ("PSVC", "LinearPSVC", "PSVCCV", "PSMOClassifier", *REGRESSORS)
    for parameter in estimator.get_params(deep=False)
]


class Untouchable:
    """Data that nobody may look at."""

    def __getattribute__(self, name):
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        raise AssertionError(f"X was looked at: {name}")


@pytest.mark.parametrize(("name", "parameter"), BAD_OF_KINDS)
def test_parameters_are_checked_before_the_data(name, parameter):
    fitted = Fitted(name)
    fitted.set_params(**{parameter: BAD[parameter]})
    with pytest.raises(ValueError, match=parameter):
        fitted.estimator.fit(Untouchable(), Untouchable())
    fitted.set_params(**{parameter: ESTIMATORS[name].get_params(deep=False)[parameter]})
    fitted.check()


@pytest.mark.parametrize("parameter", LinearPSVC().get_params())
def test_parameters_are_checked_before_blocks(parameter):
    fitted = Fitted("LinearPSVC")
    fitted.set_params(**{parameter: BAD[parameter]})
    with pytest.raises(ValueError, match=parameter):
        fitted.estimator.fit_blocks(Untouchable())
    fitted.set_params(**{parameter: ESTIMATORS["LinearPSVC"].get_params()[parameter]})
    fitted.check()


# --- data -----------------------------------------------------------------------------------------

X, Y = rows(30, 2, seed=1)
DATA = {
    "NaN": (np.where(X > 0, np.nan, X), Y, {}),
    "infinite": (np.where(X > 0, np.inf, X), Y, {}),
    "too large": (X * 1e200, Y, {}),
    "texts": (np.full((30, 2), "a"), Y, {}),
    "one axis": (X[:, 0], Y, {}),
    "no rows": (X[:0], Y[:0], {}),
    "other lengths": (X, Y[:-1], {}),
    "one class": (X, Y[:1].repeat(30), {}),
    "continuous": (X, X[:, 0], {}),
    "no labels": (X, None, {}),
    "complex": (X + 1j, Y, {}),
    "negative weight": (X, Y, {"sample_weight": -np.ones(30)}),
    "too few weights": (X, Y, {"sample_weight": np.ones(29)}),
    "no weight": (X, Y, {"sample_weight": np.zeros(30)}),
    "weight in one class": (X, Y, {"sample_weight": (Y == "a") * 1.0}),
}
AS_PUBLISHED = "PSMOClassifier"  # without weights, and for any range of numbers
WEIGHED = [name for name in ESTIMATORS if name != AS_PUBLISHED]
# Nothing is wrong with these where y is a number to predict.
FOR_CLASSES = ("one class", "continuous", "weight in one class")
UNUSABLE = [
    (name, what)
    for name in ESTIMATORS
    for what, (_, _, options) in DATA.items()
    if name in WEIGHED or not (options or what == "too large")
    if name not in REGRESSORS or what not in FOR_CLASSES
]


@pytest.mark.parametrize(("name", "what"), UNUSABLE)
def test_data_that_cannot_be_used(name, what):
    X, y, options = DATA[what]
    fitted = Fitted(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError)):
            fitted.estimator.fit(X, of_kind(name, y), **options)
    fitted.check()


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize(
    "y",
    [
        Y,
        np.where(np.arange(30) == 3, np.nan, 1.0),
        np.where(np.arange(30) == 3, np.inf, 1.0),
        np.ones((30, 2)),
        np.linspace(0, 1e200, 30),
    ],
    ids=["texts", "NaN", "infinite", "two", "too large"],
)
def test_targets_that_cannot_be_used(name, y):
    fitted = Fitted(name)
    with pytest.raises(ValueError, match=r"y|convert"):
        fitted.estimator.fit(X, y)
    fitted.check()


@pytest.mark.parametrize("name", [name for name in WEIGHED if name not in REGRESSORS])
def test_class_weight_without_a_class_of_y(name):
    fitted = Fitted(name)
    fitted.set_params(class_weight={"z": 2.0})
    with pytest.raises(ValueError, match="names no class"):
        fitted.estimator.fit(X, Y)
    fitted.set_params(class_weight=None)
    fitted.check()


@pytest.mark.parametrize("name", ["PSVC", "LinearPSVC", "LinearPSVC, coordinates"])
def test_a_hard_margin_that_does_not_exist(name):
    fitted = Fitted(name)
    fitted.set_params(C=np.inf, **({"kernel": "linear"} if name == "PSVC" else {}))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="not separable"):
        fitted.estimator.fit(rng.normal(size=(60, 2)), np.arange(60) % 2)
    fitted.set_params(C=1.0, **({"kernel": "rbf"} if name == "PSVC" else {}))
    fitted.check()


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_tube_that_holds_no_model(name):
    fitted = Fitted(name)
    linear, usual = ({"kernel": "linear"}, {"kernel": "rbf"}) if name == "PSVR" else ({}, {})
    fitted.set_params(C=np.inf, **linear)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="all rows inside the tube"):
        fitted.estimator.fit(rng.normal(size=(60, 2)), rng.normal(size=60))
    fitted.set_params(C=1.0, **usual)
    fitted.check()


@pytest.mark.parametrize("K", [np.ones((5, 4)), np.triu(np.ones((5, 5)))], ids=["oblong", "skew"])
@pytest.mark.parametrize("name", ["PSVC", "PSVCCV", "PSVR"])
def test_a_matrix_that_is_no_kernel(name, K):
    fitted = Fitted(name)
    fitted.set_params(kernel="precomputed")
    with pytest.raises(ValueError, match="precomputed"):
        fitted.estimator.fit(K, np.arange(5) % 2)
    fitted.set_params(kernel="rbf")
    fitted.check()


@pytest.mark.parametrize("size", [-1, 2])
def test_blocks_that_fail(size):
    """A block that is wrong, or another one when it is read again."""

    class Blocks:
        reads = 0

        def __len__(self):
            return 3

        def __getitem__(self, k):
            self.reads += 1
            if size < 0 and k == 2:
                return X[:, :2], Y
            return X[: size if self.reads > 3 else 30], Y[: size if self.reads > 3 else 30]

    fitted = Fitted("LinearPSVC")
    with pytest.raises(ValueError, match="blocks"):
        fitted.estimator.fit_blocks(Blocks())
    fitted.check()


# --- while it runs --------------------------------------------------------------------------------


class KernelThatFails:
    """Inner products, until the fit calls for them for the n-th time."""

    def __init__(self, error, at):
        self.error, self.left = error, at

    def __call__(self, A, B):
        self.left -= 1
        if self.left == 0:
            raise self.error("told so")
        return np.asarray(A @ B.T)


@pytest.mark.parametrize("name", ["PSVC", "PSVCCV", AS_PUBLISHED, "PSVR"])
@pytest.mark.parametrize("error", [RuntimeError, MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_a_kernel_that_fails(name, error, last):
    """At its first call, or at the last of the fit."""
    counting = KernelThatFails(error, -1)
    y = of_kind(name, Y)
    copy.deepcopy(ESTIMATORS[name]).set_params(kernel=counting, **ONE_THREAD[name]).fit(X, y)
    calls = -1 - counting.left
    assert calls > 0
    fitted = Fitted(name, **ONE_THREAD[name])
    fitted.set_params(kernel=KernelThatFails(error, calls if last else 1))
    with pytest.raises(error, match="told so"):
        fitted.estimator.fit(X, y)
    fitted.set_params(kernel=ESTIMATORS[name].kernel)
    fitted.check()


@pytest.mark.parametrize("name", ["PSVC", "LinearPSVC", "LinearPSVC, coordinates", "PSVR"])
def test_a_warning_that_is_an_error(name):
    """Of a fit that did not converge."""
    fitted = Fitted(name)
    fitted.set_params(max_iter=1, tol=1e-14, warm_start=False)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            fitted.estimator.fit(X, of_kind(name, X[:, 0] + rng.normal(size=900) > 0))
    fitted.set_params(max_iter=-1, tol=1e-4, warm_start=True)
    fitted.check()


@pytest.mark.parametrize("name", ["PSVC", "LinearPSVC", "LinearPSVC, coordinates", "PSVR"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_listener_that_fails_in_a_round(name, error, monkeypatch):
    def fail(*arguments):
        raise error("told so")

    fitted = Fitted(name)
    fitted.set_params(verbose=2)
    monkeypatch.setattr("psvm.estimators.watch.ProgressLog.round", fail)
    with pytest.raises(error, match="told so"):
        fitted.estimator.fit(X, of_kind(name, Y))
    fitted.set_params(verbose=0)
    fitted.check()


class Failing:
    """A callback that counts the calls of one hook, and fails at one of them."""

    def __init__(self, hook, fail_at=None):
        self.hook, self.fail_at, self.calls = hook, fail_at, 0

    def setup(self, estimator, context):
        self.hear("setup")

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **told):
        self.hear("begin")

    def on_fit_task_end(self, estimator, context, **told):
        self.hear("end")
        return False

    def hear(self, hook):
        self.calls += hook == self.hook
        if hook == self.hook and self.calls == self.fail_at:
            raise RuntimeError("told so")


@pytest.mark.parametrize("name", ["PSVC", "LinearPSVC", "PSVCCV", "PSVR"])
@pytest.mark.parametrize("hook", ["setup", "begin", "end"])
@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_a_callback_that_fails(name, hook, last):
    """In a round or a cell, or when the fit as a whole begins or ends."""
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    counting = Failing(hook)
    y = of_kind(name, Y)
    copy.deepcopy(ESTIMATORS[name]).set_callbacks(counting).fit(X, y)
    assert counting.calls > 0
    fitted = Fitted(name)
    fitted.estimator.set_callbacks(Failing(hook, counting.calls if last else 1))
    fitted.objects["_skl_callbacks"] = fitted.estimator.__dict__["_skl_callbacks"]
    fitted.values["_skl_callbacks"] = fitted.objects["_skl_callbacks"]
    with pytest.raises(RuntimeError, match="told so"):
        fitted.estimator.fit(X, y)
    fitted.check()


class Interrupt:
    """Raises KeyboardInterrupt when the n-th line of psvm is about to run; counts them else."""

    def __init__(self, line=-1):
        self.left = self.first = line

    def __enter__(self):
        sys.settrace(self.on_call)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def on_call(self, frame, event, argument):
        return self.on_line if "psvm" in frame.f_globals.get("__name__", "") else None

    def on_line(self, frame, event, argument):
        # No signal is handled between the steps of a with statement, where a lock would stay shut.
        source = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and not source.lstrip().startswith("with "):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.on_line

    @property
    def lines(self):
        return self.first - self.left


@each_estimator
def test_interrupts_anywhere(name):
    """Ctrl-C before any line: the estimator is as it was, or wholly that of the new fit."""
    fitted, other = Fitted(name), Fitted(name)
    y = of_kind(name, Y)
    with Interrupt() as counted:
        other.estimator.fit(X, y)
    expected = other.estimator.predict(X)
    lots = np.random.default_rng(0)
    some = set(lots.integers(1, counted.lines, size=30).tolist())
    some |= {counted.lines - k for k in range(25)}  # where attributes are assigned
    interrupted = 0
    for line in sorted(some):
        try:
            with Interrupt(line):
                fitted.estimator.fit(X, y)
        except KeyboardInterrupt:
            interrupted += 1
        renewed = "intercept_" if name in REGRESSORS else "classes_"
        if fitted.estimator.__dict__[renewed] is fitted.objects[renewed]:
            fitted.check()
        else:
            assert fitted.estimator.__dict__.keys() == other.estimator.__dict__.keys()
            np.testing.assert_array_equal(fitted.estimator.predict(X), expected)
            fitted = Fitted(name)
    assert interrupted >= 40  # a fit takes a few lines more or less
