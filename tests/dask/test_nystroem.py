"""Nystroem features over blocks are those of scikit-learn, of rows from all blocks."""

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402

from psvm.dask import DaskLinearPSVC, make_nystroem  # noqa: E402


def ring(n=3000):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, (X**2).sum(axis=1) < 1.4


def test_a_curved_boundary(client):
    X, y = ring()
    rows = da.from_array(X, chunks=(700, 1))
    features, mapped = make_nystroem(rows, 40, 0.5)
    assert mapped.shape == (3000, 40)
    assert mapped.compute() == pytest.approx(features.transform(X), abs=1e-12)
    model = DaskLinearPSVC(C=10.0).fit(mapped, da.from_array(y, chunks=700))
    assert float(model.score(mapped, da.from_array(y, chunks=700))) > 0.97
    assert DaskLinearPSVC(C=10.0).fit(rows, da.from_array(y, chunks=700)).score(X, y) < 0.8


def test_the_sample_is_of_all_blocks(client):
    X = np.repeat(np.arange(4.0), 500)[:, None]
    features, _ = make_nystroem(da.from_array(X, chunks=(500, 1)), 60)
    assert features.components_.shape == (60, 1)
    counts = np.bincount(features.components_[:, 0].astype(int), minlength=4)
    assert counts.min() >= 5
    again, _ = make_nystroem(da.from_array(X, chunks=(500, 1)), 60)
    assert np.array_equal(again.components_, features.components_)


def test_frames_float32_and_few_rows(client):
    X, _ = ring(50)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=2)
    features, mapped = make_nystroem(frame, 80)
    assert features.n_components == 50
    assert mapped.compute().shape == (50, 50)
    single = da.from_array(X.astype(np.float32), chunks=(20, 2))
    assert make_nystroem(single, 10)[1].compute().dtype == np.float32
    with pytest.raises(TypeError, match="dask array"):
        make_nystroem(X, 10)
