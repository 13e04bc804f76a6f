"""Rows of X and places of the kernel matrix: kept, merged, ordered, and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psvm.estimators.labels import encode_labels
from psvm.estimators.training_rows import TrainingRows


def made(n, seed, *, merge=True, by_class=True):
    """Rows with copies, some without weight, of three classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(n, 2)).astype(float)
    y = np.concatenate([[0, 1, 2], rng.integers(3, size=n - 3)])
    weight = rng.integers(3, size=n).astype(float)
    weight[:3] = 1.0
    labels = encode_labels(y, weight, None, 1.0)
    rows = TrainingRows.of(X, labels, weight, merge=merge, by_class=by_class)
    return X, labels, weight, rows


cases = given(
    n=st.integers(3, 40), seed=st.integers(0, 1000), merge=st.booleans(), by_class=st.booleans()
)


@cases
def test_every_kept_row_has_a_place_of_its_like(n, seed, merge, by_class):
    X, labels, weight, rows = made(n, seed, merge=merge, by_class=by_class)
    place = rows.scatter(np.arange(rows.order.size, dtype=float)).astype(int)
    kept = weight > 0.0
    np.testing.assert_array_equal(rows.kept, np.flatnonzero(kept))
    np.testing.assert_array_equal(X[rows.rows][place[kept]], X[kept])
    np.testing.assert_array_equal(rows.pick(labels.codes)[place[kept]], labels.codes[kept])
    assert np.unique(rows.rows).size == rows.rows.size


@cases
def test_gather_adds_up_and_scatter_shares(n, seed, merge, by_class):
    """The shares of equal rows in the sum of their place are by weight, and nothing is lost."""
    _, _, weight, rows = made(n, seed, merge=merge, by_class=by_class)
    gathered = rows.gather(weight)
    assert gathered.sum() == pytest.approx(weight.sum())
    np.testing.assert_allclose(rows.scatter(gathered) * rows.shares, weight, rtol=1e-14)
    values = np.random.default_rng(seed).normal(size=(2, rows.order.size))
    back = np.stack([rows.gather(row) for row in rows.scatter(values) * rows.shares])
    np.testing.assert_allclose(back, values, rtol=1e-12)


@cases
def test_segments_are_the_classes(n, seed, merge, by_class):
    _, labels, _, rows = made(n, seed, merge=merge, by_class=by_class)
    codes = rows.pick(labels.codes)
    assert rows.starts[0] == 0
    assert rows.starts[-1] == codes.size
    if by_class:
        for i in range(3):
            assert (codes[rows.places([i])] == i).all()
        np.testing.assert_array_equal(
            rows.places([2, 0]), np.concatenate([rows.places([2]), rows.places([0])])
        )
    else:
        np.testing.assert_array_equal(rows.places([0]), np.arange(codes.size))


def test_merged_rows_are_fewer_only_if_asked():
    X, labels, weight = np.zeros((6, 1)), np.arange(6) % 2, np.ones(6)
    encoded = encode_labels(labels, weight, None, 1.0)
    merged = TrainingRows.of(X, encoded, weight, merge=True, by_class=False)
    alone = TrainingRows.of(X, encoded, weight, merge=False, by_class=False)
    assert merged.order.size == 2
    assert not merged.unmerged
    assert alone.unmerged


def test_another_order_is_followed():
    X, labels, weight = np.arange(5.0)[:, None], np.arange(5) % 2, np.ones(5)
    rows = TrainingRows.of(
        X, encode_labels(labels, weight, None, 1.0), weight, merge=True, by_class=False
    )
    turned = rows.in_order(np.array([4, 3, 2, 1, 0]))
    np.testing.assert_array_equal(turned.gather(np.arange(5.0)), [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(turned.scatter(np.array([4.0, 3, 2, 1, 0])), np.arange(5))
