"""Rows in blocks: any cut of the rows, loaded on demand or mapped from a file, gives one model."""

import gc
import mmap

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from estimators import each_solver
from linear_referee import check_solutions, weights_of
from messages import assert_mentions
from processes import LINUX, MEMORY, output
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from small_data import blobs, noisy

from psvm import LinearPSVC
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import LinearProblems
from psvm.rows.blocks import split_rows
from psvm.solvers.ledger import Budget, Status
from psvm.solvers.linear.choose import solve_linear

TIGHT = 1e-11


def cut(X, y, sizes, weights=None):
    """Consecutive blocks of the given sizes, the last one taking what is left."""
    ends = [*np.cumsum(sizes), y.size]
    parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    parts = [part for part in parts if part.stop > part.start]
    if weights is None:
        return [(X[part], y[part]) for part in parts]
    return [(X[part], y[part], weights[part]) for part in parts]


def assert_same_model(one, two, tolerance=1e-7):
    (coef, intercept), (found, free) = weights_of(two), weights_of(one)
    size = max(1.0, np.abs(coef).max())
    assert found == pytest.approx(coef, abs=tolerance * size)
    assert free == pytest.approx(intercept, abs=100 * tolerance * size)
    assert one.primal_objective_ == pytest.approx(two.primal_objective_, rel=tolerance)
    assert one.classes_.tolist() == two.classes_.tolist()
    assert one.n_features_in_ == two.n_features_in_


@each_solver
@pytest.mark.parametrize("p", [1, 1.05, 1.5, 2, 3])
@pytest.mark.parametrize(("sparse", "weighted"), [(False, True), (True, False)])
def test_the_cut_does_not_matter(p, sparse, weighted, solver):
    """One block, a few of unequal size, or one per row: the coefficients of fit."""
    X, y = noisy(n=60, d=4, seed=1)
    X = sp.csr_matrix(X * (np.abs(X) > 0.5)) if sparse else X
    weights = np.random.default_rng(0).exponential(size=60) if weighted else None
    model = LinearPSVC(p=p, solver=solver, tol=TIGHT if p > 1 else 1e-10)
    whole = model.fit(X, y, sample_weight=weights)
    tolerance = 1e-6 if p > 1 else 1e-4
    for sizes in ([60], [1, 25, 3, 10], [7] * 8, [1] * 60 if p == 1.5 else [20]):
        blocks = cut(X, y, sizes, weights)
        parts = LinearPSVC(**model.get_params()).fit_blocks(blocks)
        assert parts.status_ == [Status.CONVERGED]
        assert_same_model(parts, whole, tolerance)
        assert parts.n_support_.sum() > 0


@each_solver
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_the_cut_of_several_classes(multi_class, solver):
    """Blocks that hold one class only, or two of four, and labels that are words."""
    X, y = blobs(n=160, classes=4, d=4)
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.array(["ash", "beech", "cedar", "dogwood"])[y[order]]
    model = LinearPSVC(multi_class=multi_class, class_weight="balanced", solver=solver, tol=TIGHT)
    whole = LinearPSVC(**model.get_params()).fit(X, y)
    for sizes in ([40, 40, 40], [60, 60], [13] * 12):
        parts = model.fit_blocks(cut(X, y, sizes))
        assert_same_model(parts, whole, 1e-6)
        assert np.array_equal(parts.predict(X), whole.predict(X))


@pytest.mark.parametrize("rows", [1, 3, 49, 10_000])
@pytest.mark.parametrize("p", [1, 1.5, 3])
def test_the_blocks_of_an_array(rows, p):
    """fit cuts an array by itself; how it does so does not show."""
    X, y = noisy(n=50, d=4, seed=2)
    model = LinearPSVC(p=p, tol=1e-10).fit(X, y)
    problems = LinearProblems(
        signs=np.array([[-1, 1]], dtype=np.int8),
        codes=np.searchsorted(model.classes_, y).astype(np.int32),
        cost=np.ones(50),
        loss=PNormHinge(p),
    )
    (parts,) = solve_linear(
        split_rows(X, rows),
        problems,
        [None],
        Budget(tol=1e-10),
        None,
        solver="auto",
        threads=1,
        in_order=True,
    )
    assert parts.status is Status.CONVERGED
    assert parts.w == pytest.approx(model.coef_[0], abs=1e-4 if p == 1 else 1e-5)
    assert parts.certificate.primal == pytest.approx(model.primal_objective_[0], rel=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 40, 100])
def test_split_rows_does_not_copy(sparse, rows):
    """The blocks are views, in order, and cover every row once."""
    X, _ = noisy(n=40, d=3)
    X = sp.csr_matrix(X * (np.abs(X) > 0.6)) if sparse else X
    blocks = split_rows(X, rows)
    assert len(blocks) == -(-40 // rows)
    stack = sp.vstack if sparse else np.vstack
    together = stack([blocks[k] for k in range(len(blocks))])
    assert np.array_equal(together.toarray() if sparse else together, X.toarray() if sparse else X)
    for k in range(len(blocks)):
        if sparse:
            assert blocks[k].has_canonical_format
            assert blocks[k].nnz == 0 or np.shares_memory(blocks[k].data, X.data)
        else:
            assert np.shares_memory(blocks[k], X)
            assert blocks[k].flags.c_contiguous
    with pytest.raises(IndexError):
        blocks[len(blocks)]


class Loader:
    """Blocks that exist only while they are looked at, and that count how often."""

    def __init__(self, blocks):
        self.blocks, self.loads, self.alive, self.most_alive = blocks, 0, 0, 0

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, k):
        if not 0 <= k < len(self):
            raise IndexError(k)
        self.loads += 1
        X, *rest = self.blocks[k]
        copy = Tracked.of(X, self)
        return copy, *rest


class Tracked(np.ndarray):
    """An array that tells its loader when it is gone."""

    @classmethod
    def of(cls, X, loader):
        array = X.copy().view(cls)
        array.loader = loader
        loader.alive += 1
        loader.most_alive = max(loader.most_alive, loader.alive)
        return array

    def __array_finalize__(self, source):
        self.loader = None

    def __del__(self):
        if self.loader is not None:
            self.loader.alive -= 1


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_blocks_are_loaded_anew_and_let_go(p):
    """Newton keeps no block: each pass loads all of them, a few at a time."""
    X, y = noisy(n=600, d=4, seed=3)
    loader = Loader(cut(X, y, [30] * 19))
    gc.collect()
    model = LinearPSVC(p=p, solver="semismooth_newton", tol=1e-9, n_jobs=1).fit_blocks(loader)
    gc.collect()
    assert loader.loads >= 2 * 20, "once to check, and at least once to solve"
    assert loader.most_alive <= 4
    assert loader.alive == 0
    assert_same_model(model, LinearPSVC(p=p, tol=1e-9).fit(X, y), 1e-4)


@each_solver
def test_certificate_of_blocks(solver, heard):
    """P, D and gap of a fit from blocks are true over all rows."""
    X, y = blobs(n=150, classes=3)
    weights = np.random.default_rng(0).exponential(size=150)
    model = LinearPSVC(solver=solver).fit_blocks(cut(X, y, [33] * 4, weights))
    check_solutions(model, heard)
    assert np.array_equal(heard.X, X)


def test_mixed_blocks():
    """float32 beside float64, dense beside sparse, weights beside none: converted, or refused."""
    X, y = noisy(n=90, d=4, seed=4)
    X = X.astype(np.float32).astype(np.float64)
    blocks = [
        (X[:30], y[:30]),
        (X[30:60].astype(np.float32), y[30:60], np.ones(30)),
        (np.asfortranarray(X[60:]), y[60:]),
    ]
    whole = LinearPSVC(tol=1e-10).fit(X, y)
    assert_same_model(LinearPSVC(tol=1e-10).fit_blocks(blocks), whole, 1e-5)
    blocks[1] = (sp.csr_matrix(X[30:60]), y[30:60])
    try:
        model = LinearPSVC(tol=1e-10).fit_blocks(blocks)
    except ValueError as error:
        assert_mentions(str(error), "blocks[1]", "sparse")
    else:
        assert_same_model(model, whole, 1e-5)


def test_frames_as_blocks():
    """Names of columns are kept, and must agree."""
    X, y = noisy(n=60, d=3, seed=5)
    table = pd.DataFrame(X, columns=["length", "width", "height"])
    model = LinearPSVC().fit_blocks([(table[:20], y[:20]), (table[20:], pd.Series(y[20:]))])
    assert model.feature_names_in_.tolist() == ["length", "width", "height"]
    assert model.predict(table).tolist() == LinearPSVC().fit(X, y).predict(X).tolist()
    other = table[20:].rename(columns={"width": "weight"})
    with pytest.raises(ValueError, match="feature names"):
        LinearPSVC().fit_blocks([(table[:20], y[:20]), (other, y[20:])])


def test_absent_rows_in_blocks():
    """Weight 0 removes a row, a whole block, and a class that is nowhere else."""
    X, y = noisy(n=90, d=4, seed=6)
    y = y.copy()
    y[40:45] = 3.0  # another class, without weight
    weights = np.ones(90)
    weights[30:60] = 0.0
    kept = weights > 0
    whole = LinearPSVC(tol=1e-10).fit(X[kept], y[kept])
    model = LinearPSVC(tol=1e-10).fit_blocks(cut(X, y, [30, 30, 30], weights))
    assert model.classes_.tolist() == [-1.0, 1.0]
    assert_same_model(model, whole, 1e-5)


@pytest.mark.parametrize("classes", [[-1.0, 1.0], np.array([1.0, -1.0])])
def test_classes_given(classes):
    X, y = noisy(n=60, d=3)
    model = LinearPSVC().fit_blocks(cut(X, y, [20, 20]), classes=classes)
    assert model.classes_.tolist() == [-1.0, 1.0]


def blocks_error(blocks, classes=None, kind=ValueError):
    with pytest.raises(kind) as caught:
        LinearPSVC().fit_blocks(blocks, classes=classes)
    return str(caught.value)


def test_blocks_that_do_not_fit_together():
    """Each message names the block and what is wrong with it."""
    X, y = noisy(n=60, d=3)
    good = (X[:20], y[:20])
    assert_mentions(blocks_error([good, (X[20:, :2], y[20:])]), "blocks[1]", "2 features", "3")
    assert_mentions(blocks_error([good, (X[20:], y[21:])]), "blocks[1]", "40", "39")
    assert_mentions(blocks_error([good, (X[20:],)]), "blocks[1]", "1 item")
    assert_mentions(blocks_error([good, X[20:]]), "blocks[1]", "(X, y)")
    assert_mentions(blocks_error([good, (X[20:], y[20:], np.ones(3))]), "blocks[1]", "weight", "3")
    assert_mentions(blocks_error([good, (X[20:], y[20:], -np.ones(40))]), "blocks[1]", ">= 0")
    assert_mentions(blocks_error([good, (X[20:] * np.nan, y[20:])]), "blocks[1]", "nan")
    assert_mentions(blocks_error([good, (X[20:], np.full(40, np.nan))]), "blocks[1]", "nan")
    assert_mentions(blocks_error([good, (X[20:] * 1e120, y[20:])]), "blocks[1]", "e+1")
    assert_mentions(blocks_error([good, (X[20:], np.array(["no"] * 40))]), "blocks[1]", "label")
    assert_mentions(blocks_error([good, (X[20:], y[20:])], classes=[1.0, 2.0]), "blocks[0]", "-1")
    assert_mentions(blocks_error([good], classes=[1.0, -1.0, 5.0]), "classes", "5")
    assert_mentions(blocks_error([good, (X[:0], y[:0])]), "blocks[1]", "0 sample")


def test_things_that_are_no_blocks():
    """No blocks, a generator, one class, continuous labels, X and y themselves."""
    X, y = noisy(n=60, d=3)
    assert_mentions(blocks_error([]), "block")
    assert_mentions(blocks_error(iter([(X, y)]), kind=TypeError), "sequence", "len")
    assert_mentions(blocks_error((block for block in [(X, y)]), kind=TypeError), "sequence")
    assert_mentions(blocks_error((X, y)), "(X, y)")
    assert_mentions(blocks_error([(X, np.ones(60))]), "class", "1")
    assert_mentions(blocks_error([(X, X[:, 0])]), "continuous")
    assert_mentions(blocks_error([(X, y, np.zeros(60))]), "weight", "zero")
    with pytest.raises(ValueError, match="`p` must be"):
        LinearPSVC(p=0.5).fit_blocks([(X, y)])
    with pytest.raises(NotFittedError):
        LinearPSVC().predict(X)


class Changing:
    """A sequence whose second reading is shorter."""

    def __init__(self, X, y):
        self.X, self.y, self.reads = X, y, 0

    def __len__(self):
        return 1

    def __getitem__(self, k):
        self.reads += 1
        return (self.X, self.y) if self.reads == 1 else (self.X[:-1], self.y[:-1])


class Failing(Changing):
    """A sequence whose file is gone at the third reading."""

    def __getitem__(self, k):
        self.reads += 1
        if self.reads >= 3:
            raise OSError("the disk is gone")
        return self.X, self.y


@each_solver
def test_blocks_that_change_or_fail(solver):
    """A change of shape is told; an error of the loader is passed on."""
    X, y = noisy(n=60, d=3)
    model = LinearPSVC(solver=solver, tol=1e-9)
    with pytest.raises(ValueError, match=r"blocks\[0\].*same"):
        model.fit_blocks(Changing(X, y))
    if solver == "semismooth_newton":
        with pytest.raises(OSError, match="the disk is gone"):
            model.fit_blocks(Failing(X, y))
    assert model.fit_blocks([(X, y)]).status_ == [Status.CONVERGED]


@each_solver
def test_budget_and_warm_start_of_blocks(solver):
    """max_iter warns as fit does; warm_start goes on."""
    X, y = noisy(n=1500, d=6, seed=7, noise=2.0)
    blocks = cut(X, y, [400] * 3)
    model = LinearPSVC(C=10.0, tol=1e-8, max_iter=2, warm_start=True, solver=solver)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit_blocks(blocks)
    assert model.status_ == [Status.MAX_ITER]
    first = model.set_params(max_iter=-1).fit_blocks(blocks).n_iter_[0]
    assert model.set_params(C=10.1).fit_blocks(blocks).n_iter_[0] <= first
    cold = LinearPSVC(C=10.1, tol=1e-8, solver=solver).fit(X, y)
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-8)


# --- memory maps ---------------------------------------------------------------------------------


@pytest.fixture
def mapped(tmp_path):
    """A function that writes an array to a file and maps it in the given mode."""

    def write(X, mode="r", name="rows.dat"):
        path = tmp_path / name
        X.tofile(path)
        return np.memmap(path, dtype=X.dtype, mode=mode, shape=X.shape)

    return write


@each_solver
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_memory_map_is_an_array(mode, dtype, solver, mapped):
    """The very same model, and the file is as it was."""
    X, y = noisy(n=200, d=5, seed=8)
    X = X.astype(dtype)
    file = mapped(X, mode)
    one = LinearPSVC(solver=solver, n_jobs=1).fit(X, y)
    two = LinearPSVC(solver=solver, n_jobs=1).fit(file, y)
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.intercept_, two.intercept_)
    assert np.array_equal(two.decision_function(file), one.decision_function(X))
    assert np.array_equal(np.asarray(file), X)


def test_a_map_with_changes_of_its_own(mapped):
    """Copy-on-write: what the user changed in memory is fitted, and still there afterwards."""
    X, y = noisy(n=200, d=5, seed=8)
    file = mapped(np.zeros_like(X), "c")
    file[:] = X
    expected = LinearPSVC(n_jobs=1).fit(X, y)
    for rows, labels in ((file, y), (file[:150], y[:150]), (file, y)):
        model = LinearPSVC(n_jobs=1).fit(rows, labels)
        model.predict(rows)
        assert np.array_equal(np.asarray(file), X)
    assert np.array_equal(model.coef_, expected.coef_)


def test_an_array_in_anonymous_shared_memory():
    """An array over mmap(-1) has no file behind it: nothing may be dropped."""
    X, y = noisy(n=200, d=5, seed=8)
    for flags in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
        area = mmap.mmap(-1, X.nbytes, flags=flags)
        shared = np.frombuffer(area, dtype=X.dtype).reshape(X.shape)
        shared[:] = X
        model = LinearPSVC(n_jobs=1).fit(shared, y)
        model.predict(shared)
        assert np.array_equal(shared, X)
        assert np.array_equal(model.coef_, LinearPSVC(n_jobs=1).fit(X, y).coef_)


def test_parts_of_a_memory_map(mapped):
    """Slices, columns and Fortran order of a map are fitted like arrays."""
    X, y = noisy(n=200, d=6, seed=9)
    file = mapped(X, "r")
    for view in (file[20:180], file[:, 1:4], file[::2], file[::-1], np.asarray(file)[5:]):
        labels = y[: len(view)]
        one = LinearPSVC(n_jobs=1).fit(np.array(view), labels)
        other = LinearPSVC(n_jobs=1).fit(view, labels)
        np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-9)


MAPPED_FIT = f"""
    import sys
    import numpy as np
    from psvm import LinearPSVC
    {MEMORY.strip()}
    path, n, d, p = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    X = np.memmap(path, dtype=np.float64, mode="r", shape=(n, d))
    y = np.load(path + ".labels.npy")
    LinearPSVC(p=p).fit(np.asarray(X[:3000]), y[:3000])  # libraries are loaded, threads started

    peak = 0.0
    import threading, time
    done = threading.Event()
    def watch():
        global peak
        while not done.is_set():
            peak = max(peak, megabytes("RssAnon"))
            time.sleep(0.002)
    before = megabytes("RssAnon")
    thread = threading.Thread(target=watch)
    thread.start()
    model = LinearPSVC(p=p).fit(X, y)
    done.set()
    thread.join()
    print(peak - before, model.dual_gap_[0], *model.coef_[0])
"""


@pytest.fixture(scope="module")
def big_file(tmp_path_factory):
    """1,000,000 rows of 20 columns in a file: 160 MB."""
    path = tmp_path_factory.mktemp("big") / "rows.dat"
    rng = np.random.default_rng(0)
    w = rng.normal(size=20)
    labels = []
    with open(path, "wb") as file:
        for _ in range(10):
            X = rng.normal(size=(100_000, 20))
            labels.append(np.where(X @ w + 2.0 * rng.normal(size=100_000) > 0, 1, -1))
            X.tofile(file)
    np.save(f"{path}.labels.npy", np.concatenate(labels).astype(np.int8))
    yield path
    path.unlink()


@LINUX
@pytest.mark.timeout(200)
@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_a_memory_map_is_not_loaded(big_file, p):
    """The fit of 160 MB keeps some numbers per row (less than 100 bytes), never the rows."""
    out = output(MAPPED_FIT, big_file, 1_000_000, 20, p)
    grown, gap, *coef = map(float, out.split())
    assert gap <= 1e-4
    assert grown < 95
    assert len(coef) == 20
