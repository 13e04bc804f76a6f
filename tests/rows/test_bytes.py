"""Rows of whole steps as bytes: which are, and that their kernel is that of the features."""

import numpy as np
import pytest
import scipy.sparse as sp

from psvm import PSVC, _core
from psvm.rows import bytes as rows_of_bytes
from psvm.rows.bytes import as_bytes
from psvm.rows.kernel import Kernel
from psvm.rows.kernel_matrix import TrainingKernel

fast = pytest.mark.skipif(not _core.has_byte_products(), reason="no fast products of bytes here")


def levels(n=2000, d=64, share=1.0, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(256, size=(n, d))
    values[0, :2] = 0, 255
    return np.where(rng.random((n, d)) < share, values, 0)


@fast
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("scale", "lowest"), [(1.0, 0.0), (1 / 255, 0.0), (2 / 255, -1.0)])
def test_pixels_are_bytes_whatever_their_unit(dtype, scale, lowest):
    values = levels()
    found = as_bytes((values * scale + lowest).astype(dtype))
    assert found.step == pytest.approx(scale, rel=1e-6)
    assert np.array_equal(found.values, values)


@fast
@pytest.mark.parametrize("lowest", [0, 100])
def test_what_sparse_rows_do_not_store_is_a_step_too(lowest):
    values = np.where(levels(share=0.3) > 0, levels(), lowest)
    found = as_bytes(sp.csr_matrix((values - lowest) / 51.0))
    assert found.step == pytest.approx(1 / 51.0)
    assert np.array_equal(found.values, values - values.min())


@fast
def test_few_levels_need_not_be_neighbours():
    values = levels() // 64 * 64
    values[0, 1] = 3 * 64
    found = as_bytes(0.1 * values - 7.0)
    assert found.step == pytest.approx(6.4)
    assert np.array_equal(found.values, values // 64)


def one_changed(X, value):
    X[-1, -1] = value
    return X


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(2000, 64)),
        one_changed(levels() / 255, 0.5),  # between two steps
        one_changed(levels() / 255, 256 / 255),  # one level too many
        one_changed(levels() / 255, np.nextafter(np.float32(0.2), 1.0) + 1e-6),
        levels() * np.linspace(1.0, 2.0, 64),  # steps of their own for each feature
        np.ones((2000, 64)),
        levels(d=31) * 1.0,  # few features
        levels(n=200) * 1.0,  # few entries
        sp.csr_matrix(levels(share=0.1) * 1.0),  # mostly zero
    ],
    ids=["normal", "half", "256", "off", "scaled", "equal", "narrow", "small", "sparse"],
)
def test_other_rows_are_not(X):
    assert as_bytes(X) is None


def test_nothing_is_converted_where_it_does_not_pay(monkeypatch):
    monkeypatch.setattr(_core, "has_byte_products", lambda: False)
    assert as_bytes(levels() * 1.0) is None


@fast
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_entries_are_those_of_the_features(form):
    X = levels(n=600, d=200, share=0.4) / 255
    gamma, rows = 0.02, np.arange(0, 600, 7)
    kernel = TrainingKernel(Kernel("rbf", gamma), form(X), [0, 250, 600], 1e8, 2)
    found = kernel.float32.rows(rows, 2)
    squared = ((X[rows][:, None, :] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, np.exp(-gamma * squared), rtol=2e-6)
    assert np.array_equal(found[np.arange(rows.size), rows], np.ones(rows.size))
    whole = kernel.float32.rows(np.arange(600), 1)
    assert np.array_equal(whole, whole.T)


@fast
@pytest.mark.parametrize("p", [1.0, 1.5])
def test_a_fit_on_bytes_is_a_fit(p, monkeypatch):
    values = levels(n=1500, d=100, share=0.5)
    y = values[:, :30].sum(axis=1) > values[:, 30:60].sum(axis=1)
    X = values / 255
    model = PSVC(p, C=3.0).fit(X, y)
    assert model.dual_gap_.max() <= model.tol
    monkeypatch.setattr(rows_of_bytes._core, "has_byte_products", lambda: False)
    other = PSVC(p, C=3.0).fit(X, y)
    assert model.primal_objective_[0] == pytest.approx(other.primal_objective_[0], rel=2e-4)
    assert model.primal_objective_[0] >= other.dual_objective_[0] * (1.0 - 1e-12)
    assert other.primal_objective_[0] >= model.dual_objective_[0] * (1.0 - 1e-12)
