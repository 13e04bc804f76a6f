"""Data for the estimators on a cluster, and how a fit there is compared with one here."""

import numpy as np
import pytest


def noisy_classes(n, d=6, k=2, seed=0):
    """Classes that overlap, each with a direction of its own."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d, k))
    return X, (X @ W + 2.0 * rng.normal(size=(n, k))).argmax(axis=1)


def assert_same_fit(model, local, within=1e-6, gap=0.0):
    """The same classes, coefficients and objective, each with a certificate of its own."""
    assert np.array_equal(model.classes_, local.classes_)
    assert model.class_weight_ == pytest.approx(local.class_weight_, rel=1e-14)
    # A gap leaves |w - w*|^2 / 2 <= gap P open.
    open_ = sum(np.sqrt(2.0 * one.dual_gap_ * one.primal_objective_) for one in (model, local))
    for name in local._weight_names:
        off = np.abs(getattr(model, name) - getattr(local, name))
        assert (off.reshape(open_.size, -1).max(axis=1) <= within + open_).all()
    assert model.primal_objective_ == pytest.approx(local.primal_objective_, rel=1e-8)
    assert model.n_features_in_ == local.n_features_in_
    # Rows at the margin may be on either side of it.
    assert model.n_support_ == pytest.approx(local.n_support_, rel=2e-3, abs=2)
    assert (model.dual_gap_ <= max(model.tol, gap)).all()
