"""Kernel entries: every function, storage and precision against the same formula in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from referee import SHAPES, dense, kernel_matrix
from small_data import noisy

from psvm.rows.kernel import KERNELS, Kernel, KernelFacts, facts_of, resolve_gamma
from psvm.rows.kernel_matrix import TrainingKernel

FUNCTIONS = ("linear", "rbf", "poly", "sigmoid", "laplacian", "exponential")


def features(columns, sparse, rows=70, seed=0):
    """Rows that fill a few panels and leave a remainder."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    if sparse:
        X *= rng.random(X.shape) < 0.3
        X[5] = 0.0
    X[3] = X[11]  # a repeated row: distance exactly 0
    return X


@pytest.mark.parametrize("function", FUNCTIONS)
def test_facts_are_true_of_the_formula(function):
    """What the table says of a kernel, read off its matrix; also what it does not say."""
    facts, X = facts_of(function), features(3, sparse=False)
    K = kernel_matrix(function, X)
    unit = np.allclose(np.diag(K), 1.0) and K.min() >= 0.0
    shifted = np.allclose(kernel_matrix(function, X + 1.0), K)
    assert facts.of_difference == (unit and shifted)
    assert facts.is_product == np.allclose(K, X @ X.T)
    _, entries = next(Kernel(function, gamma=0.7, coef0=-1.0).blocks(X, X, 1))
    assert facts.definite == (np.linalg.eigvalsh(entries)[0] > -1e-10)
    squares = np.add.outer((X**2).sum(axis=1), (X**2).sum(axis=1)) - 2.0 * X @ X.T
    assert facts.of_squares == np.allclose(np.exp(-SHAPES["gamma"] * squares), K)
    for name, other in (("gamma", 0.1), ("coef0", 3.0), ("degree", 5)):
        changed = Kernel(function, **{**SHAPES, name: other}).product(X, X, np.ones(70), 1)
        assert (name in facts.parameters) == (not np.allclose(changed, K.sum(axis=1))), name


def test_facts_of_what_is_not_computed_here():
    for function in ("precomputed", lambda X, Z: X @ Z.T):
        facts = facts_of(function)
        assert facts == KernelFacts(of_features=False)
    assert set(KERNELS) == {*FUNCTIONS, "precomputed"}


def training(function, X, starts=None, most_kept=0):
    """Entries are computed from features unless asked for, although there are few rows."""
    kernel = Kernel(function, **SHAPES)
    return TrainingKernel(kernel, X, starts or [0, X.shape[0]], 1e6, 2, most_kept=most_kept)


@pytest.mark.parametrize("columns", [1, 2, 7, 16, 33])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_rows_and_products(function, sparse, columns):
    """Stored rows and applied sums are right for any shape, in float32 and float64."""
    X = features(columns, sparse)
    matrix = training(function, sp.csr_matrix(X) if sparse else X)
    K = kernel_matrix(function, X)
    chosen = np.array([0, 3, 11, 17, 69, 5, 40], dtype=np.int64)
    coef = np.linspace(-1, 1, 7)
    for packed, accuracy in ((matrix.float64, 1e-12), (matrix.float32, 2e-5)):
        size = np.abs(K).max()
        assert packed.rows(chosen, 2) == pytest.approx(K[chosen], abs=accuracy * size)
        coefficients = coef.astype(np.float32 if packed is matrix.float32 else np.float64)
        assert packed.apply(chosen, coefficients, 2) == pytest.approx(
            coef @ K[chosen], abs=10 * accuracy * size
        )
        assert packed.diagonal() == pytest.approx(np.diag(K), abs=accuracy * size)


def test_powers_of_two():
    """2^x to the digits of float32 and float64, over whole panels and all exponents."""
    distance = np.arange(0.0, 120.0, 1 / 64)
    kernel = Kernel("laplacian", gamma=np.log(2.0))  # 2^-distance
    packed = TrainingKernel(kernel, distance[:, None], [0, distance.size], 1e6, 1, most_kept=0)
    for matrix, accuracy in ((packed.float64, 4e-16), (packed.float32, 1.5e-7)):
        values = np.asarray(matrix.rows(np.array([0]), 1))[0].astype(float)
        # The exponents are exact but for gamma times log2 e, which is rounded.
        exact = np.exp2(-distance * (np.log(2.0) * 1.4426950408889634))
        assert np.max(np.abs(values / exact - 1.0)) <= accuracy + 120 * 2.3e-16
        assert values[0] == 1.0
        assert np.all(np.diff(values) < 0.0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("function", ["rbf", "laplacian", "exponential"])
def test_equal_rows_have_kernel_1(function, sparse):
    """The distance of a row to its copy is 0, not what cancellation leaves: K = 1 exactly."""
    X = features(6, sparse) * 100.0
    matrix = training(function, sp.csr_matrix(X) if sparse else X)
    values = matrix.float64.rows(np.array([3, 11], dtype=np.int64), 1)
    assert values[0, 11] == pytest.approx(1.0, abs=1e-9)
    assert values[1, 3] == pytest.approx(1.0, abs=1e-9)
    assert np.all(values <= 1.0 + 1e-15)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_segments_are_parts_of_the_matrix(function):
    """Rows over two of three segments are those columns of the whole matrix."""
    X = features(5, sparse=False)
    matrix = training(function, X, starts=[0, 20, 45, 70])
    K = kernel_matrix(function, X)
    columns = np.r_[0:20, 45:70]
    chosen = np.array([1, 50], dtype=np.int64)
    values = matrix.float64.rows(chosen, 1, segments=[0, 2])
    assert values == pytest.approx(K[np.ix_(chosen, columns)], abs=1e-12 * np.abs(K).max())
    assert matrix.columns([0, 2]).tolist() == columns.tolist()
    assert matrix.gram([0, 2], 2) == pytest.approx(
        K[np.ix_(columns, columns)], abs=1e-12 * np.abs(K).max()
    )


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_decision(function, threads):
    """sum_j alpha_j y_j K_ij in float64, whatever the number of threads."""
    X = features(4, sparse=False, rows=200)
    rng = np.random.default_rng(0)
    alpha = rng.exponential(size=200) * (rng.random(200) < 0.5)
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    values = training(function, X).decision([0], alpha * y, threads)
    K = kernel_matrix(function, X)
    assert values == pytest.approx(K @ (alpha * y), abs=1e-11 * np.abs(K).max() * alpha.sum())


@pytest.mark.parametrize("rows", [1, 2, 191, 192, 193, 400])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_product_of_all_rows(function, sparse, rows):
    """Squares above the diagonal and their mirror images make the whole matrix."""
    X = features(7, sparse, rows=400)[:rows]
    packed = training(function, sp.csr_matrix(X) if sparse else X)
    K, coef = kernel_matrix(function, X), np.linspace(-1, 2, rows)
    size = np.abs(K).max() * rows
    for threads in (1, 2, 5):
        values = packed.float64.apply_all(coef, threads)
        assert values == pytest.approx(K @ coef, abs=1e-13 * size)
        values = packed.float32.apply_all(coef.astype(np.float32), threads)
        assert values == pytest.approx(K @ coef, abs=1e-6 * size)


@pytest.mark.parametrize("most", [0, 500])
@pytest.mark.parametrize(
    "asked", ["none", "support", "support and more", "not all support", "no support"]
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_decision_of_some_rows(function, asked, most):
    """Computed from features, and read from the matrix of few rows."""
    X = features(4, sparse=False, rows=200)
    rng = np.random.default_rng(0)
    dual = rng.normal(size=200) * (rng.random(200) < 0.5)
    if asked == "no support":
        dual[:] = 0.0
    rows = dual != 0.0 if asked != "none" else np.zeros(200, dtype=bool)
    if asked in ("support and more", "no support"):
        rows[::3] = True
    elif asked == "not all support":
        rows[::3] = False
    values = training(function, X, most_kept=most).decision([0], dual, 2, rows=rows)
    K = kernel_matrix(function, X)
    assert values == pytest.approx((K @ dual)[rows], abs=1e-11 * np.abs(K).max() * 200)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_product_of_new_rows(function, sparse):
    """K(X, support) @ coef and its blocks for rows outside the training set."""
    X, support = features(9, sparse, seed=1), features(9, sparse, rows=23, seed=2)
    coef = np.linspace(-1, 2, 23)
    kernel = Kernel(function, **SHAPES)
    K = kernel_matrix(function, X, support)
    pack = sp.csr_matrix if sparse else np.asarray
    values = kernel.product(pack(X), pack(support), coef, 2)
    assert values == pytest.approx(K @ coef, abs=1e-11 * np.abs(K).max())
    blocks = list(kernel.blocks(pack(X), pack(support), 2))
    assert np.vstack([dense(values).T for _, values in blocks]) == pytest.approx(
        K, abs=1e-12 * np.abs(K).max()
    )


@pytest.mark.parametrize("function", ["rbf", "linear", "laplacian", "poly"])
def test_very_many_sparse_columns(function):
    """Columns that do not occur are dropped without changing a value, also against new rows."""
    rng = np.random.default_rng(0)
    wide = 2**20
    places = rng.choice(wide, size=40, replace=False)
    X, Z = features(40, sparse=True), features(40, sparse=True, seed=3)

    def spread(A):
        full = sp.coo_matrix(A)
        return sp.csr_matrix((full.data, (full.row, places[full.col])), shape=(len(A), wide))

    K = kernel_matrix(function, X)
    chosen = np.arange(9, dtype=np.int64)
    values = training(function, spread(X)).decision([0], np.ones(70), 2)
    assert values == pytest.approx(K @ np.ones(70), abs=1e-10 * np.abs(K).max())
    kernel = Kernel(function, **SHAPES)
    support = X[chosen] * (np.arange(40) < 25)  # new rows have columns that support has not
    cross = kernel_matrix(function, Z, support)
    values = kernel.product(spread(Z), spread(support), np.ones(9), 2)
    assert values == pytest.approx(cross @ np.ones(9), abs=1e-10 * np.abs(cross).max())


@pytest.mark.parametrize("sparse", [False, True])
def test_gamma_scale(sparse):
    """1 / (d Var X), with the rows counted by their weight; constant data give 1."""
    X = features(6, sparse) + (0.0 if sparse else 100.0)
    times = np.random.default_rng(0).integers(0, 4, size=70)
    pack = sp.csr_matrix if sparse else np.asarray
    expected = 1.0 / (6 * np.repeat(X, times, axis=0).var())
    assert resolve_gamma("scale", pack(X), times.astype(float)) == pytest.approx(expected)
    assert resolve_gamma("auto", pack(X), np.ones(70)) == pytest.approx(1 / 6)
    assert resolve_gamma(0.25, pack(X), np.ones(70)) == 0.25
    for value in (0.0, 7.0, 0.1, 1e8 / 3):
        flat = np.full((70, 6), value)
        assert resolve_gamma("scale", pack(flat), times.astype(float)) == 1.0


def test_gamma_scale_of_float32_data():
    """float32 input gives the gamma of its float64 copy."""
    X = features(6, sparse=False).astype(np.float32) + np.float32(1000.0)
    exact = resolve_gamma("scale", X.astype(np.float64), np.ones(70))
    assert resolve_gamma("scale", X, np.ones(70)) == pytest.approx(exact, rel=1e-4)


def test_float32_is_used_where_it_is_safe():
    """Bounded kernels of well-scaled data at the default tol; never for tight tolerances."""
    X, _ = noisy(n=50, d=4)
    assert training("rbf", X).float32_is_safe(1e-4)
    assert not training("rbf", X).float32_is_safe(1e-9)
    assert not training("rbf", X * 1e3).float32_is_safe(1e-4), "cancellation in the distances"
    assert training("rbf", X + 1e3).float32_is_safe(1e-4), "centred first"
    assert not training("poly", X).float32_is_safe(1e-4), "not bounded"


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("segments", [[0, 1, 2], [0, 2]])
def test_matrix_of_few_rows(function, segments):
    """The whole matrix or that of some segments, computed once or from features."""
    X = features(5, sparse=False)
    for most in (0, 500):
        matrix = training(function, X, [0, 20, 45, 70], most)
        assert matrix.is_at_hand == (most > 0 and function != "linear")
        chosen = matrix.columns(segments)
        K = kernel_matrix(function, X)[np.ix_(chosen, chosen)]
        assert matrix.gram(segments, 2) == pytest.approx(K, abs=1e-12 * np.abs(K).max())
