"""Shape and size of rows from a look at some of them."""

import numpy as np
import pytest
import scipy.sparse as sp

from psvm.solvers.linear.summary import summarise


class Blocks(list):
    """Blocks that know their sizes, and count how often one is loaded."""

    def __init__(self, blocks, *, in_memory):
        super().__init__(blocks)
        self.sizes = [block.shape[0] for block in blocks]
        self.in_memory = in_memory
        self.loaded = []

    def __getitem__(self, k):
        self.loaded.append(k)
        return super().__getitem__(k)


def data(n=300, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) + 3.0


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_rows(centred, dtype):
    """So few rows are all looked at."""
    X = data().astype(dtype)
    found = summarise([X[:100], X[100:]], centred=centred)
    shift = X.astype(float).mean(axis=0)
    away = X - shift if centred else X.astype(float)
    assert (found.rows, found.features, found.entries, found.in_memory) == (300, 5, 5, False)
    assert found.largest == pytest.approx((away**2).sum(axis=1).max())
    if centred:
        assert found.shift == pytest.approx(shift)
    else:
        assert found.shift is None


@pytest.mark.parametrize("centred", [True, False])
def test_sparse_rows_are_never_shifted(centred):
    X = sp.csr_array(sp.random(300, 40, density=0.1, format="csr", random_state=0))
    X = X + sp.csr_array(([2.0], ([7], [3])), shape=X.shape)
    found = summarise([X[:50], X[50:]], centred=centred)
    assert (found.rows, found.features, found.shift) == (300, 40, None)
    assert found.entries == pytest.approx(X.nnz / 300)
    assert found.largest == pytest.approx(X.multiply(X).sum(axis=1).max())


def test_of_many_blocks_a_few_are_loaded():
    rows = Blocks(np.array_split(data(10_000), 50), in_memory=True)
    found = summarise(rows, centred=True)
    assert found.rows == 10_000
    assert found.in_memory
    assert len(rows.loaded) == 8
    assert {0, 49} <= set(rows.loaded)
    # About the mean and the largest norm, of a sample.
    assert found.shift == pytest.approx(np.full(5, 3.0), abs=0.2)
    assert 10.0 < found.largest < 40.0


def test_rows_of_zeros_have_a_size():
    """A largest norm of 0 would make sigma infinite."""
    assert summarise([np.zeros((4, 2))], centred=True).largest == 1.0
    assert summarise([sp.csr_array((4, 2))], centred=True).largest == 1.0
